"""Figure 5, bottom, and Table 3: the same networks on pictures from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.evaluation import RunPredictions, read_runs
from sfumato.evaluation.metrics import CrossEntropy
from sfumato.importers.importer import CIFAR_10
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, dots
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.finding import Finding, Statement, published_cells
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.sucholutsky_2023 import label_sets as sets
from sfumato_papers.sucholutsky_2023 import training
from sfumato_papers.sucholutsky_2023.set_comparison import Values, band, by_set, paired, u_shape

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


def generalization(rerun: Rerun) -> Part:
    """Cross-entropy on pictures from elsewhere, of the same networks."""
    found = elsewhere(rerun)
    findings: list[Finding | Statement] = [
        Finding.over_seeds(name, place, None, values) for place, each in found.items() for name, values in each.items()
    ]
    findings += [Finding("every training set", place, None, needs=place) for place in NOT_PUBLIC]
    findings.append(u_shape(f"U-shape, near: {NEAR}", found[NEAR], sets.BY_SOFTNESS))
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
        about="CIFAR-10S filled in with the k largest of CIFAR-10DS, which is not public; CIFAR-10H replaces it below.",
        scaled_down=_far_scaled_down(rerun),
    )


def elsewhere(rerun: Rerun) -> dict[str, dict[str, dict[int, float]]]:
    """Cross-entropy by place, label set and seed, on pictures from elsewhere."""
    return rerun.once("elsewhere", lambda: _elsewhere(rerun))


def _elsewhere(rerun: Rerun) -> dict[str, dict[str, dict[int, float]]]:
    from sfumato.training.robustness_runs import ShiftExperiment, run_missing
    from sfumato.training.trained_runs import TrainedRuns

    places = other_pictures(rerun)
    runs: list[RunPredictions] = []
    for folder in training.trained(rerun):
        output = folder.parent / f"{folder.name}-elsewhere"
        work = ShiftExperiment(TrainedRuns.in_folder(folder).runs, output, extra=places, device=rerun.device)
        run_missing(work, processes=rerun.processes)
        runs += read_runs(output)
    found = {}
    for place, inputs in places.items():
        assert inputs.labels is not None
        own = [run for run in runs if run.condition == place]
        found[place] = by_set(own, SoftLabels.one_hot(inputs.items, inputs.labels, CIFAR_10), CrossEntropy())
    return found


def other_pictures(rerun: Rerun) -> dict[str, Inputs]:
    """Pictures that nobody here learned from: CIFAR-10's training images, and CINIC-10's from ImageNet."""
    near = rerun.data.pictures("cifar10-train-batch1", "images.npz", classes=CIFAR_10)
    far = rerun.data.pictures("cinic10-sample", "images.npz", classes=CIFAR_10)
    with np.load(rerun.data.path("cinic10-sample", "images.npz")) as file:
        is_new = ~file["in_cifar10"]
    n = rerun.scale.of(N_NEAR)
    return {NEAR: near.take(np.arange(n)), FAR: far.take(np.flatnonzero(is_new))}


def _far_scaled_down(rerun: Rerun) -> str:
    base = training.scaled_down(rerun.scale)
    return f"{base}; parts of CIFAR10-50k and CINIC10" if base else "parts of CIFAR10-50k and CINIC10"


def _shift_chart(found: Mapping[str, Values]) -> Chart:
    rows = [
        (f"{name}, {place}", place, *band(values)) for place, each in found.items() for name, values in each.items()
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
