"""Figures 5, top, and 9, Section 7.2: networks that learned each label set, tested on each."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.evaluation.metrics import Accuracy, CrossEntropy
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.sucholutsky_2023 import label_sets as sets
from sfumato_papers.sucholutsky_2023 import training
from sfumato_papers.sucholutsky_2023.set_comparison import Values, band, by_set, paired, u_shape

S = "CIFAR-10S"
TESTED_ON = (sets.HARD, S, sets.H, sets.LOW, sets.HIGH)
PUBLISHED_TESTS = (sets.DS, sets.T, sets.S_DENSE)
"""Label types that the paper tests on and that are not public."""


def cross_label(rerun: Rerun) -> Part:
    """Cross-entropy on the labels of images that were not learned from."""
    runs = training.predictions(rerun)
    tests = test_labels(rerun)
    found = {name: by_set(runs, labels, CrossEntropy()) for name, labels in tests.items()}
    right = {name: by_set(runs, labels, Accuracy()) for name, labels in tests.items() if name in (sets.HARD, sets.H)}
    findings: list[Finding | Statement] = [
        Finding.over_seeds(name, f"on {test}", None, values)
        for test, each in found.items()
        for name, values in each.items()
    ]
    findings += [
        Finding.over_seeds(name, f"top-1 on {test} (Figure 9)", None, values)
        for test, each in right.items()
        for name, values in each.items()
    ]
    findings += [
        Finding("every training set", f"on {name}", None, needs=sets.NOT_PUBLIC[name]) for name in PUBLISHED_TESTS
    ]
    findings += [u_shape(f"U-shape, tested on {test}", found[test], sets.BY_SOFTNESS) for test in TESTED_ON]
    findings.append(_item_level(found[sets.H]))
    about = (
        "The same networks for all label sets: equal weights and batches within a seed. To see both sides of a U, "
        "CIFAR-10H is also learned with temperatures and mixed with uniform labels; CIFAR-10S is filled in from "
        "CIFAR-10H, which replaces CIFAR-10DS. Shuffled: people's labels on other images of their class."
    )
    return Part(
        "Figure 5, top; Figure 9",
        "Cross-label performance",
        tuple(findings),
        about=about,
        scaled_down=training.scaled_down(rerun.scale),
        charts=(_softness_chart(rerun, found),),
    )


def test_labels(rerun: Rerun) -> dict[str, SoftLabels]:
    """What predictions are tested on, under the paper's names."""
    every = sets.label_sets(rerun)
    return {name: sets.cifar_10s(rerun.data) if name == S else every[name] for name in TESTED_ON}


def _item_level(values: Values) -> Statement:
    gain = paired(values[sets.SHUFFLED], values[sets.H])
    return Statement(
        "Control: whose doubt it is",
        "soft labels carry information about the image",
        holds=gain.low > 0,
        ours=f"on CIFAR-10H, shuffled within class minus own: {gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
        how="a control the paper lacks",
    )


def _softness_chart(rerun: Rerun, found: Mapping[str, Values]) -> Chart:
    every = sets.label_sets(rerun)
    rows = [
        (test, float(entropy(every[name].probs).mean()), name, *band(found[test][name]))
        for test in TESTED_ON
        for name in sets.BY_SOFTNESS
    ]
    return curve(
        "figure-5-top",
        title="Cross-entropy by how soft the labels are that were learned from",
        caption="CIFAR-10H from hard labels over temperatures to half uniform, tested on five label sets. Bands: 95% "
        "over seeds.",
        data=dict(zip(("tested", "entropy", "labels", "loss", "low", "high"), zip(*rows, strict=True), strict=True)),
        x=Field("entropy", "mean entropy of labels learned from (nats)", ".1f"),
        y=Field("loss", "cross-entropy (nats)", ".2f"),
        low="low",
        high="high",
        panel="tested",
        own_y=True,
    )
