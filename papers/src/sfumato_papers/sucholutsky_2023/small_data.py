"""Training on small data sets, and the entropy of predictions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.evaluation import RunPredictions
from sfumato.evaluation.metrics import CrossEntropy
from sfumato.reporting.charts import Field, dots, scatter
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.finding import Finding, Reference, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_table import published_tables
from sfumato_papers.sucholutsky_2023 import cross_label, training
from sfumato_papers.sucholutsky_2023 import label_sets as sets


def predicted_entropy(rerun: Rerun) -> Part:
    runs, every = training.predictions(rerun), sets.label_sets(rerun)
    gaps: dict[str, dict[int, float]] = {}
    rows: list[tuple[str, float, float]] = []
    for run in runs:
        labels = every[run.target]
        learned = float(entropy(labels.probs[labels.rows_of(run.predictions.items)]).mean())
        own = float(entropy(run.predictions.probs).mean())
        gaps.setdefault(run.target, {})[run.seed] = own - learned
        rows.append((run.target, learned, own))
    mean = {name: float(np.mean(list(each.values()))) for name, each in gaps.items()}
    closest = min((sets.S_HARD, sets.H, sets.HARD, sets.LOW, sets.HIGH), key=lambda name: abs(mean[name]))
    findings: list[Finding | Statement] = [
        Finding.over_seeds(name, "entropy of predictions minus that of labels", None, values)
        for name, values in gaps.items()
    ]
    says = "remarkable alignment for networks trained on the CIFAR-10S varieties"
    nearest = f"nearest among the paper's sets: {closest} ({mean[closest]:+.2f})"
    ours = f"{nearest}; {sets.S_HARD} {mean[sets.S_HARD]:+.2f}"
    findings.append(Statement("Resonance", says, closest == sets.S_HARD, ours, _of_all(mean)))
    chart = scatter(
        "figure-7",
        title="Entropy of predictions next to that of the labels learned from",
        caption="Mean over the images that were not learned from; a point a training.",
        data=chart_columns(("labels", "learned", "predicted"), rows),
        x=Field("learned", "mean entropy of labels (nats)", ".2f"),
        y=Field("predicted", "mean entropy of predictions (nats)", ".2f"),
        series="labels",
    )
    title = "Elicited-human against model-predicted entropy"
    return Part("Figure 7; Appendix C", title, findings, scaled_down=training.scaled_down(rerun.scale), charts=(chart,))


def _of_all(gaps: Mapping[str, float]) -> str:
    """What the gaps have in common, where they do."""
    if min(gaps.values()) > 0:
        return "after so few epochs networks doubt more than any of the labels they learned from"
    if max(gaps.values()) < 0:
        return "all networks are surer than the labels they learned from"
    return ""


TABLE_1 = published_tables("sucholutsky_2023")["Table 1"].cells
COLUMNS = {"80 l/c": 80, "8 l/c": 8}
OURS = (sets.S_TOP_TWO, sets.SHUFFLED)
"""Rows that the paper has not: what replaces CIFAR-10S+dense, and the control."""

BySet = dict[str, dict[int, float]]
"""Cross-entropy by label set and seed."""


def table_1(rerun: Rerun) -> Part:
    names = (*(name for name in sets.PAPER_SETS if name not in sets.NOT_PUBLIC), *OURS)
    every = sets.label_sets(rerun)
    found: dict[str, BySet] = {}
    against_people: dict[str, BySet] = {}
    for column, per_class in COLUMNS.items():
        runs = training.trained_on_few(rerun, per_class, names)
        found[column], against_people[column] = by_set(runs, every[sets.HARD]), by_set(runs, every[sets.H])
    findings: list[Finding | Statement] = [finding for column in COLUMNS for finding in cells(column, found[column])]
    findings += [
        Finding.over_seeds(name, f"{column}, against CIFAR-10H", None, values)
        for column, each in against_people.items()
        for name, values in each.items()
    ]
    findings += [soft_beats_hard(column, found[column]) for column in COLUMNS]
    about = (
        "Every seed draws its own 80 or 8 images of each class from CIFAR-10's test set, the same for all label sets, "
        "and predicts others. The paper does not say which labels the cross-entropy of Table 1 is against: here the "
        "hard labels, and CIFAR-10H next to it. **CIFAR-10DS and CIFAR-10T are not public; CIFAR-10H replaces them "
        "where CIFAR-10DS fills in CIFAR-10S.** The shuffled row is a control: people's labels on other images of the "
        "class."
    )
    rows = [
        (f"{name}, {column}", column, float(np.mean(list(values.values()))))
        for column, each in found.items()
        for name, values in each.items()
    ]
    chart = dots(
        "table-1",
        title="Cross-entropy after learning from few images",
        caption="Mean over seeds, against the hard labels of images that were not learned from; lower is better.",
        data=chart_columns(("labels", "images", "loss"), rows),
        of="labels",
        value=Field("loss", "cross-entropy (nats)", ".2f"),
        series="images",
    )
    title = "Small data regime results (crossentropy)"
    return Part("Table 1", title, findings, about, training.few_scaled_down(rerun.scale), (chart,))


def cells(column: str, values: BySet) -> list[Finding]:
    """A column of the table, measured from its first row."""
    reference = Reference(sets.HARD, TABLE_1[sets.HARD, column], values[sets.HARD])
    rows = []
    for name in (*sets.PAPER_SETS, *OURS):
        published = TABLE_1.get((name, column))
        if name in sets.NOT_PUBLIC:
            rows.append(Finding(name, column, published, needs=sets.NOT_PUBLIC[name]))
        else:
            first = reference if name != sets.HARD else None
            rows.append(Finding.over_seeds(name, column, published, values[name], reference=first))
    return rows


def soft_beats_hard(column: str, values: BySet) -> Statement:
    """The paper's sentence, over the soft label sets it has that are public."""
    hard = float(np.mean(list(values[sets.HARD].values())))
    soft = {name: float(np.mean(list(values[name].values()))) for name in (sets.S_HARD, sets.H)}
    control = float(np.mean(list(values[sets.SHUFFLED].values())))
    return Statement(
        f"Soft against hard labels, {column}",
        "soft labels outperform hard labels",
        holds=max(soft.values()) < hard,
        ours=f"hard {hard:.2f}; " + ", ".join(f"{name} {value:.2f}" for name, value in soft.items()),
        how=f"people's labels on other images of the class: {control:.2f}",
    )


def by_set(runs: list[RunPredictions], labels: SoftLabels) -> BySet:
    """Cross-entropy against `labels`, by label set and seed; each seed has test images of its own."""
    found: BySet = {}
    for seed in sorted({run.seed for run in runs}):
        own = cross_label.by_set([run for run in runs if run.seed == seed], labels, CrossEntropy())
        for name, values in own.items():
            found.setdefault(name, {}).update(values)
    return found
