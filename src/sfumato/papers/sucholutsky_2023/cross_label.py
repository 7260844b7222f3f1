"""Figures 5, 7 and 9, Sections 7.2 and 7.3, Table 3: trained on each label set, tested on each, and elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.doubt import entropy
from sfumato.evaluate import Trained, read_runs
from sfumato.evaluate.measuring import measure_runs
from sfumato.evaluate.metric import Metric
from sfumato.evaluate.metrics import Accuracy, CrossEntropy
from sfumato.imports.imported import CIFAR_10
from sfumato.inputs import Inputs
from sfumato.papers.estimate import Estimate
from sfumato.papers.finding import Finding, Statement
from sfumato.papers.part import Part
from sfumato.papers.published import published_cells
from sfumato.papers.rerun import Rerun
from sfumato.papers.scale import Scale
from sfumato.papers.sucholutsky_2023 import label_sets as sets
from sfumato.papers.sucholutsky_2023 import training
from sfumato.report.chart import Chart
from sfumato.report.charts import Field, curve, scatter
from sfumato.soft_labels import SoftLabels

S = "CIFAR-10S"
TESTED_ON = (sets.HARD, S, sets.H, sets.LOW, sets.HIGH)
PUBLISHED_TESTS = (sets.DS, sets.T, sets.S_DENSE)
"""Label types that the paper tests on and that are not public."""
BY_SOFTNESS = (sets.HARD, sets.H, *sets.TEMPERED.values(), sets.SMOOTHED)
"""One set of people's labels from hard to softest: the axis of a U."""
NEAR, FAR = "CIFAR10-50k", "CINIC10"
N_NEAR = {Scale.SMALL: 1000, Scale.CPU: 10_000, Scale.FULL: 10_000}
NOT_PUBLIC = ("CIFAR10.1v4", "CIFAR10.1v6", "ImageNet-Far")
TABLE_3 = published_cells(
    """
            CIFAR10-50k  CIFAR10.1v4  CIFAR10.1v6  CINIC10  ImageNet-Far
    k = 2   0.46         0.77         0.76         1.32     1.57
    k = 3   0.48         0.77         0.76         1.30     1.51
    k = 4   0.49         0.77         0.77         1.26     1.47
    k = 10  0.76         1.09         1.08         1.40     1.60
    """
)
STAND_INS = {"k = 2": sets.S_TOP_TWO, "k = 10": sets.S_ALL}

Values = Mapping[str, Mapping[int, float]]
"""By label set and seed."""


def cross_label(rerun: Rerun) -> Part:
    """Cross-entropy on the labels of images that were not learnt from."""
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
    findings += [u_shape(f"U-shape, tested on {test}", found[test], BY_SOFTNESS) for test in TESTED_ON]
    findings.append(_item_level(found[sets.H]))
    about = (
        "The same networks for all label sets: equal weights and batches within a seed. To see both sides of a U, "
        "CIFAR-10H is also learnt with temperatures and mixed with uniform labels; CIFAR-10S is filled in from "
        "CIFAR-10H, which stands in for CIFAR-10DS. Shuffled: people's labels on other images of their class."
    )
    return Part(
        "Figure 5, top; Figure 9",
        "Cross-label performance",
        tuple(findings),
        about=about,
        scaled_down=training.scaled_down(rerun.scale),
        charts=(_softness_chart(rerun, found),),
    )


def generalization(rerun: Rerun) -> Part:
    """Cross-entropy on pictures from elsewhere, of the same networks."""
    found = elsewhere(rerun)
    findings: list[Finding | Statement] = [
        Finding.over_seeds(name, place, None, values) for place, each in found.items() for name, values in each.items()
    ]
    findings += [Finding("every training set", place, None, needs=place) for place in NOT_PUBLIC]
    findings.append(u_shape(f"U-shape, near: {NEAR}", found[NEAR], BY_SOFTNESS))
    gains = {place: paired(each[sets.HARD], each[sets.H]) for place, each in found.items()}
    findings.append(
        Statement(
            "Distribution shift",
            "soft labels increasingly outperform hard labels as distribution shift increases",
            holds=gains[FAR].value > gains[NEAR].value > 0,
            ours=", ".join(f"{place}: {gain.value:+.3f}" for place, gain in gains.items()),
            how="cross-entropy of hard-trained minus that of CIFAR-10H-trained networks",
        )
    )
    about = (
        f"{NEAR} is here the first {rerun.scale.of(N_NEAR):,} of CIFAR-10's training images; {FAR} is 1,532 images of "
        "CINIC-10's ImageNet part, for 210,000. CIFAR10.1 and ImageNet-Far are not here."
    )
    return Part(
        "Figure 5, bottom; Section 7.3",
        "Zero-shot generalization",
        tuple(findings),
        about=about,
        scaled_down=_far_scaled_down(rerun),
        charts=(_shift_chart(found),),
    )


def table_3(rerun: Rerun) -> Part:
    """Cross-entropy by the classes over which uncertainty is permitted."""
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
    gain = {place: paired(found[place][sets.S_TOP_TWO], found[place][sets.S_ALL]) for place in (NEAR, FAR)}
    findings.append(
        Statement(
            "More classes, near and far",
            "extra softness adds little near, and helps far out of the domain",
            holds=not gain[NEAR].low > 0 and gain[FAR].low > 0,
            ours=f"two classes minus all: {gain[NEAR].value:+.3f} on {NEAR}, {gain[FAR].value:+.3f} on {FAR}",
            how="CIFAR-10H, filled in for CIFAR-10DS, has more than two classes on 23% of the images alone",
        )
    )
    return Part(
        "Table 3",
        "Classes over which uncertainty is permitted",
        tuple(findings),
        about="CIFAR-10S filled in with the k largest of CIFAR-10DS, which is not public; CIFAR-10H stands in below.",
        scaled_down=_far_scaled_down(rerun),
    )


def predicted_entropy(rerun: Rerun) -> Part:
    """The entropy of predictions beside that of the labels they were learnt from."""
    runs, every = training.predictions(rerun), sets.label_sets(rerun)
    gaps: dict[str, dict[int, float]] = {}
    rows: list[tuple[str, float, float]] = []
    for run in runs:
        labels = every[run.target]
        learnt = float(entropy(labels.probs[labels.rows_of(run.predictions.items)]).mean())
        own = float(entropy(run.predictions.probs).mean())
        gaps.setdefault(run.target, {})[run.seed] = own - learnt
        rows.append((run.target, learnt, own))
    mean = {name: float(np.mean(list(each.values()))) for name, each in gaps.items()}
    closest = min((sets.S_HARD, sets.H, sets.HARD, sets.LOW, sets.HIGH), key=lambda name: abs(mean[name]))
    findings: list[Finding | Statement] = [
        Finding.over_seeds(name, "entropy of predictions minus that of labels", None, values)
        for name, values in gaps.items()
    ]
    findings.append(
        Statement(
            "Resonance",
            "remarkable alignment for networks trained on the CIFAR-10S varieties",
            holds=closest == sets.S_HARD,
            ours=f"nearest among the paper's sets: {closest} ({mean[closest]:+.2f}); {sets.S_HARD} "
            f"{mean[sets.S_HARD]:+.2f}",
            how="networks of few epochs doubt more than any label, so the softest labels come nearest here",
        )
    )
    chart = scatter(
        "figure-7",
        title="Entropy of predictions beside that of the labels learnt from",
        caption="Mean over the images that were not learnt from; a point a training.",
        data=dict(zip(("labels", "learnt", "predicted"), zip(*rows, strict=True), strict=True)),
        x=Field("learnt", "mean entropy of labels (nats)", ".2f"),
        y=Field("predicted", "mean entropy of predictions (nats)", ".2f"),
        series="labels",
    )
    return Part(
        "Figure 7; Appendix C",
        "Elicited-human against model-predicted entropy",
        tuple(findings),
        scaled_down=training.scaled_down(rerun.scale),
        charts=(chart,),
    )


def test_labels(rerun: Rerun) -> dict[str, SoftLabels]:
    """What predictions are tested on, under the paper's names."""
    every = sets.label_sets(rerun)
    return {name: sets.cifar_10s(rerun.data) if name == S else every[name] for name in TESTED_ON}


def by_set(runs: Sequence[Trained], labels: SoftLabels, metric: Metric) -> dict[str, dict[int, float]]:
    """A metric by label set and seed, the mean of networks."""
    measured = measure_runs(runs, people=labels, metrics=[metric], common=True, resamples=100)
    found: dict[str, dict[int, list[float]]] = {}
    for figures in measured.figures:
        for seed, value in zip(figures.seeds, figures.values, strict=True):
            found.setdefault(figures.target, {}).setdefault(seed, []).append(float(value))
    return {name: {seed: float(np.mean(each)) for seed, each in own.items()} for name, own in found.items()}


def elsewhere(rerun: Rerun) -> dict[str, dict[str, dict[int, float]]]:
    """Cross-entropy by place, label set and seed, on pictures from elsewhere."""
    return rerun.once("elsewhere", lambda: _elsewhere(rerun))


def _elsewhere(rerun: Rerun) -> dict[str, dict[str, dict[int, float]]]:
    from sfumato.learn.dealing import carry_out_work
    from sfumato.learn.ready_runs import ReadyRuns
    from sfumato.learn.shifting import Shifting

    places = other_pictures(rerun)
    runs: list[Trained] = []
    for folder in training.trained(rerun):
        output = folder.parent / f"{folder.name}-elsewhere"
        work = Shifting(ReadyRuns.in_folder(folder).runs, output, extra=places, device=rerun.device)
        carry_out_work(work, processes=rerun.processes)
        runs += read_runs(output)
    found = {}
    for place, inputs in places.items():
        assert inputs.labels is not None
        own = [run for run in runs if run.condition == place]
        found[place] = by_set(own, SoftLabels.one_hot(inputs.items, inputs.labels, CIFAR_10), CrossEntropy())
    return found


def other_pictures(rerun: Rerun) -> dict[str, Inputs]:
    """Pictures that nobody here learnt from: CIFAR-10's training images, and CINIC-10's from ImageNet."""
    near = rerun.data.pictures("cifar10-train-batch1", "images.npz", classes=CIFAR_10)
    far = rerun.data.pictures("cinic10-sample", "images.npz", classes=CIFAR_10)
    with np.load(rerun.data.path("cinic10-sample", "images.npz")) as file:
        is_new = ~file["in_cifar10"]
    n = rerun.scale.of(N_NEAR)
    return {NEAR: near.take(np.arange(n)), FAR: far.take(np.flatnonzero(is_new))}


def paired(reference: Mapping[int, float], other: Mapping[int, float]) -> Estimate:
    """How much lower `other` is, seed by seed."""
    return Estimate.over_seeds([reference[seed] - other[seed] for seed in sorted(reference.keys() & other.keys())])


def u_shape(row: str, values: Values, names: Sequence[str]) -> Statement:
    """Whether the lowest cross-entropy along `names`, from hard to softest, is at neither end."""
    mean = {name: float(np.mean(list(values[name].values()))) for name in names}
    best = min(mean, key=lambda name: mean[name])
    ends = [paired(values[end], values[best]) for end in (names[0], names[-1])]
    return Statement(
        row,
        "a U-shaped relationship between label entropy and performance",
        holds=best not in (names[0], names[-1]) and min(each.low for each in ends) > 0,
        ours=f"{mean[names[0]]:.3f} hard, {mean[best]:.3f} {best}, {mean[names[-1]]:.3f} softest",
        how="lowest at neither end, by the paired interval over seeds",
    )


def _item_level(values: Values) -> Statement:
    gain = paired(values[sets.SHUFFLED], values[sets.H])
    return Statement(
        "Control: whose doubt it is",
        "soft labels carry information about the image",
        holds=gain.low > 0,
        ours=f"on CIFAR-10H, shuffled within class minus own: {gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
        how="a control the paper lacks",
    )


def _far_scaled_down(rerun: Rerun) -> str:
    base = training.scaled_down(rerun.scale)
    return f"{base}; parts of CIFAR10-50k and CINIC10" if base else "parts of CIFAR10-50k and CINIC10"


def _softness_chart(rerun: Rerun, found: Mapping[str, Values]) -> Chart:
    every = sets.label_sets(rerun)
    rows = [
        (test, float(entropy(every[name].probs).mean()), name, *_band(found[test][name]))
        for test in TESTED_ON
        for name in BY_SOFTNESS
    ]
    return curve(
        "figure-5-top",
        title="Cross-entropy by how soft the labels are that were learnt from",
        caption="CIFAR-10H from hard labels over temperatures to half uniform, tested on five label sets. Bands: 95% "
        "over seeds.",
        data=dict(zip(("tested", "entropy", "labels", "loss", "low", "high"), zip(*rows, strict=True), strict=True)),
        x=Field("entropy", "mean entropy of labels learnt from (nats)", ".1f"),
        y=Field("loss", "cross-entropy (nats)", ".2f"),
        low="low",
        high="high",
        panel="tested",
        own_y=True,
    )


def _band(values: Mapping[int, float]) -> tuple[float, float, float]:
    found = Estimate.over_seeds(list(values.values()))
    return found.value, found.low, found.high


def _shift_chart(found: Mapping[str, Values]) -> Chart:
    from sfumato.report.charts import dots

    rows = [
        (f"{name}, {place}", place, *_band(values)) for place, each in found.items() for name, values in each.items()
    ]
    return dots(
        "figure-5-bottom",
        title="Cross-entropy on pictures from elsewhere",
        caption="Mean over seeds with its 95% interval; lower is better.",
        data=dict(zip(("labels", "pictures", "loss", "low", "high"), zip(*rows, strict=True), strict=True)),
        of="labels",
        value=Field("loss", "cross-entropy (nats)", ".2f"),
        low="low",
        high="high",
        series="pictures",
    )
