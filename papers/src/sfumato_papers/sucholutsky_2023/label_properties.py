"""Section 7.1 and appendix D: what the label sets are, counted; and Table 2, the networks that learn them."""

from __future__ import annotations

from math import comb

import numpy as np

from sfumato.reporting.charts import Field, dots
from sfumato.tables.doubt import entropy
from sfumato_papers.finding import Estimate, Finding, Published, Statement, published_cells
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.sucholutsky_2023.label_sets import DS, NOT_PUBLIC, S_DENSE, H, T, cifar_10s, label_sets

TABLE_2 = published_cells(
    """
                Parameters
    VGG         14,728,266
    WRN         36,479,194
    DenseNet    769,162
    Shake shake  11,709,514
    """
)
"""ResNet has no figure there."""
TABLE_2_NAMES = {
    "VGG": "vgg-15-bn",
    "WRN": "wrn-28-10",
    "DenseNet": "densenet-bc-100-12",
    "Shake shake": "shake-shake-26",
}
CIFAR_SHAPE, N_CLASSES = (3, 32, 32), 10


def experimental_setup(rerun: Rerun) -> Part:
    """How many judgments stand behind the label sets, and how soft they are."""
    people, elicited = rerun.data.cifar_10h, cifar_10s(rerun.data)
    assert people.n_annotators is not None
    n_votes, n_each = int(people.n_annotators.sum()), float(people.n_annotators.mean())
    every = {name: float(entropy(labels.probs).mean()) for name, labels in label_sets(rerun).items()}
    findings: tuple[Finding | Statement, ...] = (
        Statement(
            "CIFAR-10H, judgments",
            "over 500,000 hard labels, roughly 50 an image",
            holds=n_votes > 500_000 and abs(n_each - 50) < 2.5,
            ours=f"{n_votes:,}, {n_each:.1f} an image",
        ),
        Finding(
            "CIFAR-10LS (Low)",
            "ε: mass on the nine other classes of CIFAR-10H",
            Published("0.05"),
            Estimate(float(1 - people.probs.max(axis=1).mean())),
        ),
        Finding(
            "CIFAR-10LS (High)",
            "ε: mass on the nine other classes of CIFAR-10DS",
            Published("0.2"),
            needs=NOT_PUBLIC[DS],
        ),
        Finding("CIFAR-10S", "images", Published("1,000"), Estimate(float(len(elicited))), places=0),
        Finding(
            "CIFAR-10S",
            "mean entropy (D.2)",
            Published("0.69"),
            Estimate(float(entropy(elicited.probs).mean())),
            how="of the mean of all 6,723 released labels, repeats among them; of the first-pass answers alone 0.696",
        ),
        Finding("CIFAR-10DS, top two", "mean entropy (D.2)", Published("0.75"), needs=NOT_PUBLIC[DS]),
        Statement(
            "Similarity judgments",
            "49,500 in all: 5 for each pair within two sets of 100 images",
            holds=2 * comb(100, 2) * 5 == 49_500,
            ours=f"2 x C(100, 2) x 5 = {2 * comb(100, 2) * 5:,}",
            how="the arithmetic alone: the judgments are not public",
        ),
        Finding("CIFAR-10DS", "judgments", Published("500,000"), needs=NOT_PUBLIC[DS]),
        Finding("CIFAR-10T", "judgments", Published("350,000"), needs=NOT_PUBLIC[T]),
        *(Finding(name, "mean entropy, 10,000 images", None, Estimate(value)) for name, value in every.items()),
    )
    chart = dots(
        "section-7-1-entropies",
        title="How soft the label sets are",
        caption=f"Mean entropy over the 10,000 test images, in nats. {S_DENSE}, {DS} and {T} are not public; what "
        f"replaces the first is made of {H}.",
        data={"labels": list(every), "entropy": list(every.values())},
        of="labels",
        value=Field("entropy", "mean entropy (nats)", ".2f", zero=True),
    )
    about = (
        "Counted from the released CIFAR-10H and CIFAR-10S. CIFAR-10DS, CIFAR-10T and the similarity judgments were "
        "collected for the paper and are not public."
    )
    return Part("Section 7.1; Appendix D", "The label sets", findings, about=about, charts=(chart,))


def table_2(rerun: Rerun) -> Part:  # noqa: ARG001
    """The image classifiers, by their number of parameters."""
    from sfumato.training.networks import NAMED

    findings = []
    for (row, column), published in TABLE_2.items():
        network = NAMED[TABLE_2_NAMES[row]].build(CIFAR_SHAPE, N_CLASSES)
        n = sum(int(np.prod(each.shape)) for each in network.parameters())
        findings.append(Finding(row, column, published, Estimate(float(n)), how=TABLE_2_NAMES[row], places=0))
    return Part(
        "Table 2",
        "Image classifiers",
        tuple(findings),
        about="The networks here of those names, counted; ResNet has no figure in the paper.",
    )
