"""What networks learn from each label set: cross-label and small-data performance, and entropy of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato import SoftLabels
from sfumato.evaluation import Metric, RunPredictions, measure_runs
from sfumato.evaluation.metrics import Accuracy, CrossEntropy
from sfumato.importers.importer import CIFAR_10
from sfumato.reporting.charts import Chart, Field, curve, dots, scatter
from sfumato.tables.doubt import entropy
from sfumato_papers.finding import Estimate, Finding, Reference, Statement, chart_columns, with_intervals
from sfumato_papers.paper import Part, Rerun, Scale, once
from sfumato_papers.published_data import original_labels
from sfumato_papers.published_table import published_tables
from sfumato_papers.sucholutsky_2023 import label_sets as sets
from sfumato_papers.sucholutsky_2023 import training

Values = Mapping[str, Mapping[int, float]]
"""By label set and seed."""


def by_set(runs: Sequence[RunPredictions], labels: SoftLabels, metric: Metric) -> dict[str, dict[int, float]]:
    """A metric by label set and seed, the mean of networks; a seed may have test images of its own."""
    found: dict[str, dict[int, list[float]]] = {}
    for seed in sorted({run.seed for run in runs}):
        own = [run for run in runs if run.seed == seed]
        for figures in measure_runs(own, people=labels, metrics=[metric], common=True, resamples=100).figures:
            found.setdefault(figures.target, {}).setdefault(seed, []).append(float(figures.values[0]))
    return {name: {seed: float(np.mean(each)) for seed, each in own.items()} for name, own in found.items()}


def unpublished(columns: Mapping[str, Values]) -> list[Finding]:
    """Columns that the paper does not print, a row for each label set."""
    return [
        Finding.over_seeds(name, column, None, values)
        for column, each in columns.items()
        for name, values in each.items()
    ]


def u_shape(row: str, values: Values, names: Sequence[str]) -> Statement:
    """Whether the lowest cross-entropy along `names`, from hard to softest, is at neither end."""
    mean = {name: float(np.mean(list(values[name].values()))) for name in names}
    best = min(mean, key=lambda name: mean[name])
    ends = [Estimate.paired(values[end], values[best]) for end in (names[0], names[-1])]
    return Statement(
        row,
        "a U-shaped relationship between label entropy and performance",
        holds=best not in (names[0], names[-1]) and min(each.low for each in ends) > 0,
        ours=f"{mean[names[0]]:.3f} hard, {mean[best]:.3f} {best}, {mean[names[-1]]:.3f} softest",
        how="lowest at neither end, by the paired interval over seeds",
    )


S = "CIFAR-10S"
TESTED_ON = (sets.HARD, S, sets.H, sets.LOW, sets.HIGH)
PUBLISHED_TESTS = (sets.DS, sets.T, sets.S_DENSE)
"""Label types that the paper tests on and that are not public."""


def cross_label(rerun: Rerun) -> Part:
    runs = training.predictions(rerun)
    every = sets.label_sets(rerun)
    tests = {name: sets.cifar_10s(rerun.data) if name == S else every[name] for name in TESTED_ON}
    found = {name: by_set(runs, labels, CrossEntropy()) for name, labels in tests.items()}
    right = {name: by_set(runs, labels, Accuracy()) for name, labels in tests.items() if name in (sets.HARD, sets.H)}
    columns = {f"on {test}": each for test, each in found.items()}
    columns |= {f"top-1 on {test} (Figure 9)": each for test, each in right.items()}
    findings: list[Finding | Statement] = [*unpublished(columns)]
    findings += [
        Finding("every training set", f"on {name}", None, needs=sets.NOT_PUBLIC[name]) for name in PUBLISHED_TESTS
    ]
    findings += [u_shape(f"U-shape, tested on {test}", found[test], sets.BY_SOFTNESS) for test in TESTED_ON]
    gain = Estimate.paired(found[sets.H][sets.SHUFFLED], found[sets.H][sets.H])
    ours = f"on CIFAR-10H, shuffled within class minus own: {gain.signed()}"
    row, says = "Control: whose doubt it is", "soft labels carry information about the image"
    findings.append(Statement(row, says, gain.low > 0, ours, "a control the paper lacks"))
    about = (
        "The same networks for all label sets: equal weights and batches within a seed. To see both sides of a U, "
        "CIFAR-10H is also learned with temperatures and mixed with uniform labels; CIFAR-10S is filled in from "
        "CIFAR-10H, which replaces CIFAR-10DS. Shuffled: people's labels on other images of their class."
    )
    title = "Cross-label performance"
    smaller = training.scaled_down(rerun.scale)
    return Part("Figure 5, top; Figure 9", title, findings, about, smaller, (_softness_chart(rerun, found),))


def _softness_chart(rerun: Rerun, found: Mapping[str, Values]) -> Chart:
    every = sets.label_sets(rerun)
    rows = [
        (test, float(entropy(every[name].probs).mean()), name, Estimate.over_seeds(found[test][name].values()))
        for test in TESTED_ON
        for name in sets.BY_SOFTNESS
    ]
    return curve(
        "figure-5-top",
        title="Cross-entropy by how soft the labels are that were learned from",
        caption="CIFAR-10H from hard labels over temperatures to half uniform, tested on five label sets. Bands: 95% "
        "over seeds.",
        **with_intervals(("tested", "entropy", "labels", "loss"), rows),
        x=Field("entropy", "mean entropy of labels learned from (nats)", ".1f"),
        y=Field("loss", "cross-entropy (nats)", ".2f"),
        panel="tested",
        own_y=True,
    )


NEAR, FAR = "CIFAR10-50k", "CINIC10"
N_NEAR = {Scale.SMALL: 1000, Scale.CPU: 10_000, Scale.FULL: 10_000}
NOT_PUBLIC = ("CIFAR10.1v4", "CIFAR10.1v6", "ImageNet-Far")
TABLE_3 = published_tables("sucholutsky_2023")["Table 3"].cells
STAND_INS = {"k = 2": sets.S_TOP_TWO, "k = 10": sets.S_ALL}


def generalization(rerun: Rerun) -> Part:
    found = elsewhere(rerun)
    findings: list[Finding | Statement] = [*unpublished(found)]
    findings += [Finding("every training set", place, None, needs=place) for place in NOT_PUBLIC]
    findings.append(u_shape(f"U-shape, near: {NEAR}", found[NEAR], sets.BY_SOFTNESS))
    gains = {place: Estimate.paired(each[sets.HARD], each[sets.H]) for place, each in found.items()}
    says = "soft labels increasingly outperform hard labels as distribution shift increases"
    ours = ", ".join(f"{place}: {gain.value:+.3f}" for place, gain in gains.items())
    how = "cross-entropy of hard-trained minus that of CIFAR-10H-trained networks"
    findings.append(Statement("Distribution shift", says, gains[FAR].value > gains[NEAR].value > 0, ours, how))
    about = (
        f"{NEAR} is here the first {rerun.scale.of(N_NEAR):,} of CIFAR-10's training images; {FAR} is 1,532 images of "
        "CINIC-10's ImageNet part, for 210,000. CIFAR10.1 and ImageNet-Far are not here."
    )
    title = "Zero-shot generalization"
    return Part(
        "Figure 5, bottom; Section 7.3", title, findings, about, _far_scaled_down(rerun), (_shift_chart(found),)
    )


def table_3(rerun: Rerun) -> Part:
    found = elsewhere(rerun)
    findings: list[Finding | Statement] = [
        Finding(row, column, published, needs=sets.NOT_PUBLIC[sets.S_DENSE])
        for (row, column), published in TABLE_3.items()
    ]
    findings += [
        Finding.over_seeds(f"{row}, filled in from CIFAR-10H", place, None, found[place][name])
        for row, name in STAND_INS.items()
        for place in (NEAR, FAR)
    ]
    gain = {place: Estimate.paired(found[place][sets.S_TOP_TWO], found[place][sets.S_ALL]) for place in (NEAR, FAR)}
    findings.append(
        Statement(
            "More classes, near and far",
            "extra softness adds little near, and helps far out of the domain",
            holds=not gain[NEAR].low > 0 and gain[FAR].low > 0,
            ours=f"two classes minus all: {gain[NEAR].value:+.3f} on {NEAR}, {gain[FAR].value:+.3f} on {FAR}",
            how="CIFAR-10H, filled in for CIFAR-10DS, has more than two classes on 23% of the images alone",
        )
    )
    title = "Classes over which uncertainty is permitted"
    smaller = _far_scaled_down(rerun)
    about = "CIFAR-10S filled in with the k largest of CIFAR-10DS, which is not public; CIFAR-10H replaces it below."
    return Part("Table 3", title, findings, about, smaller)


@once
def elsewhere(rerun: Rerun) -> dict[str, dict[str, dict[int, float]]]:
    """Cross-entropy by place, label set and seed, on pictures that nobody here learned from: CIFAR-10's training
    pictures, and CINIC-10's from ImageNet."""
    near = rerun.data.pictures("cifar10-train-batch1", "images.npz", classes=CIFAR_10)
    places = {NEAR: near.take(np.arange(rerun.scale.of(N_NEAR))), FAR: rerun.data.cinic_10}
    runs: list[RunPredictions] = []
    for folder in training.trained(rerun):
        runs += rerun.shifted(folder, f"{folder.name}-elsewhere", extra=places)
    found = {}
    for place, inputs in places.items():
        own = [run for run in runs if run.condition == place]
        found[place] = by_set(own, original_labels(inputs), CrossEntropy())
    return found


def _far_scaled_down(rerun: Rerun) -> str:
    base = training.scaled_down(rerun.scale)
    return f"{base}; parts of CIFAR10-50k and CINIC10" if base else "parts of CIFAR10-50k and CINIC10"


def _shift_chart(found: Mapping[str, Values]) -> Chart:
    rows = [
        (f"{name}, {place}", place, Estimate.over_seeds(values.values()))
        for place, each in found.items()
        for name, values in each.items()
    ]
    return dots(
        "figure-5-bottom",
        title="Cross-entropy on pictures from elsewhere",
        caption="Mean over seeds with its 95% interval; lower is better.",
        **with_intervals(("labels", "pictures", "loss"), rows),
        of="labels",
        value=Field("loss", "cross-entropy (nats)", ".2f"),
        series="pictures",
    )


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
    findings: list[Finding | Statement] = [*unpublished({"entropy of predictions minus that of labels": gaps})]
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


def table_1(rerun: Rerun) -> Part:
    names = (*(name for name in sets.PAPER_SETS if name not in sets.NOT_PUBLIC), *OURS)
    every = sets.label_sets(rerun)
    runs = {column: training.trained_on_few(rerun, per_class, names) for column, per_class in COLUMNS.items()}
    found, against_people = (
        {column: by_set(own, every[labels], CrossEntropy()) for column, own in runs.items()}
        for labels in (sets.HARD, sets.H)
    )
    findings: list[Finding | Statement] = [finding for column in COLUMNS for finding in cells(column, found[column])]
    findings += unpublished({f"{column}, against CIFAR-10H": each for column, each in against_people.items()})
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


def cells(column: str, values: Values) -> list[Finding]:
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


def soft_beats_hard(column: str, values: Values) -> Statement:
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
