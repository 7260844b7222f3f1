"""Table 1 of Peterson et al. (2019) as printed, for the architectures whose figures can be read."""

from __future__ import annotations

from sfumato_papers.finding import Cells, published_cells

TRAINED, CONTROL_ROW = "Trained CIFAR10", "FT CIFAR10"
MIXUP_ROW = "FT CIFAR10 with mixup"
CATEGORY_ROW = "FT CIFAR10H category soft targets"
SOFT_ROW = "FT CIFAR10H soft targets"
SAMPLED_ROW = "FT CIFAR10H sampled hard targets"
COLUMNS = ("c10H", "c10", "v4", "v6")

TABLE_1: dict[str, Cells] = {
    "ResNet": published_cells("""
                                      c10H  c10   v4    v6
Trained CIFAR10                       0.82  0.25  0.84  0.82
FT CIFAR10                            0.57  0.19  0.60  0.58
"""),
    "ResNet preact": published_cells("""
                                      c10H  c10   v4    v6
Trained CIFAR10                       0.75  0.20  0.69  0.66
FT CIFAR10                            0.65  0.19  0.61  0.59
FT CIFAR10 with mixup                 0.40  0.18  0.45  0.43
FT CIFAR10H category soft targets     0.44  0.23  0.47  0.46
FT CIFAR10H soft targets              0.35  0.21  0.49  0.48
FT CIFAR10H sampled hard targets      0.34  0.19  0.42  0.41
"""),
    "VGG": published_cells("""
                                      c10H  c10   v4    v6
Trained CIFAR10                       0.71  0.26  0.79  0.76
FT CIFAR10                            0.54  0.20  0.62  0.59
FT CIFAR10 with mixup                 0.47  0.20  0.56  0.53
FT CIFAR10H category soft targets     0.42  0.22  0.51  0.49
FT CIFAR10H soft targets              0.34  0.21  0.49  0.48
FT CIFAR10H sampled hard targets      0.35  0.21  0.49  0.47
"""),
    "DenseNet": published_cells("""
                                      c10H  c10   v4    v6
Trained CIFAR10                       0.61  0.15  0.54  0.54
FT CIFAR10                            0.59  0.14  0.51  0.50
FT CIFAR10 with mixup                 0.36  0.13  0.43  0.42
FT CIFAR10H category soft targets     0.39  0.18  0.42  0.42
FT CIFAR10H soft targets              0.32  0.17  0.40  0.40
FT CIFAR10H sampled hard targets      0.31  0.16  0.40  0.39
"""),
}
"""By architecture. Of ResNet only two rows can be read with certainty in the text this was taken from; of PyramidNet,
ResNext, Wide ResNet and Shake-Shake no row can be distinguished from its neighbors."""
