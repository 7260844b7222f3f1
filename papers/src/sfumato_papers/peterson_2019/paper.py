"""Peterson, Battleday, Griffiths and Russakovsky (2019), part by part in its own order."""

from __future__ import annotations

from sfumato_papers.paper import Paper
from sfumato_papers.peterson_2019.attacks import figure_4, table_2
from sfumato_papers.peterson_2019.dataset import concentration, dataset
from sfumato_papers.peterson_2019.fashion import fashion, fashion_attacked
from sfumato_papers.peterson_2019.figures_2_and_3 import figure_2, figure_3
from sfumato_papers.peterson_2019.released_networks import figure_1, section_6_3
from sfumato_papers.peterson_2019.table_1 import table_1

PAPER = Paper(
    name="peterson-2019",
    title="Human uncertainty makes classification more robust",
    authors="Joshua C. Peterson, Ruairidh M. Battleday, Thomas L. Griffiths, Olga Russakovsky",
    year=2019,
    venue="International Conference on Computer Vision",
    data=(
        "cifar10h", "cifar10-test", "cifar10-train-batch1", "cifar10-model-predictions", "cifar10s", "cinic10-sample",
        "fashion-mnist", "fashion-mnist-h",
    ),
    steps=(
        figure_1, dataset, figure_2, figure_3, table_1, section_6_3, table_2, figure_4, concentration, fashion,
        fashion_attacked,
    ),
)  # fmt: skip
