"""Figure 2 and Appendix F.3: data maps of items, and how much predictions change from epoch to epoch.

Both come from trainings of a fixed length that kept the predictions of every epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from sfumato import SoftLabels
from sfumato.evaluation.data_map import REGIONS, DataMap, MapRegion, data_map
from sfumato.evaluation.epoch_predictions import EpochPredictions, TrainingDynamics, find_runs
from sfumato.reporting.charts import Chart, Field, curve, shaded_scatter
from sfumato.tables.text_columns import CodedText
from sfumato_papers.finding import Estimate, Finding, Statement, chart_columns, in_words
from sfumato_papers.paper import Part, Rerun, once
from sfumato_papers.soft_digits import training
from sfumato_papers.soft_digits.run_scores import audited_sets, differences, is_below, smaller
from sfumato_papers.soft_digits.sets import HLV, NO_HLV, Audited

LAST = 5
"""Epochs that a data map is drawn from, of every seed."""


@once
def watched(rerun: Rerun, audited: Audited) -> Mapping[tuple[str, str], Mapping[int, EpochPredictions]]:
    named = {ours: name for name, ours in training.NETWORKS.items()}
    runs: dict[tuple[str, str], dict[int, EpochPredictions]] = {}
    for run in find_runs([training.dynamics(rerun, audited)]):
        runs.setdefault((named[run.network], run.target), {})[run.seed] = EpochPredictions.read(run.path)
    return runs


@once
def maps(rerun: Rerun, audited: Audited) -> Mapping[tuple[str, str], DataMap]:
    """The data map of every network and target: its last epochs of all seeds together.

    Confidence is the probability of the class that the target itself puts first.
    """
    gold = {target: _first(labels) for target, labels in labels_of(rerun, audited).items()}
    return {
        (network, target): data_map([_dynamics(run, gold[target]) for run in runs.values()])
        for (network, target), runs in watched(rerun, audited).items()
    }


def labels_of(rerun: Rerun, audited: Audited) -> Mapping[str, SoftLabels]:
    """What each target of these trainings teaches."""
    labels = {
        training.ORIGINAL: audited.original,
        training.MAJORITY: audited.weighted,
        training.WEIGHTED: audited.weighted,
    }
    made = training.ORIGINAL if audited.is_synthetic else training.SYNTHETIC
    if any(target == made for _, target in watched(rerun, audited)):
        labels[made] = training.model_made(rerun, audited)
    return labels


def _first(labels: SoftLabels) -> dict[str, int]:
    return dict(zip(labels.items.to_pylist(), labels.probs.argmax(axis=1).tolist(), strict=True))


def _dynamics(run: EpochPredictions, gold: Mapping[str, int]) -> TrainingDynamics:
    last = run.probs[-LAST:]
    right = np.array([gold[item] for item in run.items])
    n_epochs, n_items, _ = last.shape
    item = CodedText(np.tile(np.arange(n_items, dtype=np.int32), n_epochs), pa.array(run.items, pa.string()))
    return TrainingDynamics(
        item,
        np.repeat(np.arange(len(run.probs) - n_epochs + 1, len(run.probs) + 1), n_items),
        last[:, np.arange(n_items), right].ravel(),
        (last.argmax(axis=2) == right).ravel().astype(np.float64),
        "end",
    )


DRAWN = "LeNet"
"""The network of the maps drawn; the paper has the others in its appendix."""
NEAR_0 = 0.01
"""Nats: predictions that move less from one epoch to the next have settled."""


def figure_2(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = []
    charts = []
    for audited in audited_sets(rerun):
        found = maps(rerun, audited)
        for (network, target), drawn in found.items():
            for stratum in (NO_HLV, HLV):
                own = _in(audited, drawn.items.to_pylist(), stratum)
                row = f"{audited.name}, {network}, {stratum}: {target}"
                for column, value in _averages(drawn, own).items():
                    covers = "items and seeds, not shown"
                    findings.append(Finding(row, column, None, Estimate(value, covers=covers)))
        findings += _of_maps(audited, {target: drawn for (n, target), drawn in found.items() if n == DRAWN})
        charts.append(_map_chart(audited, found))
    about = (
        f"The last {LAST} epochs of every seed together, on items that were learned from. Confidence is the mean "
        "probability of the class that the target itself puts first, variability its standard deviation. The "
        "paper's thresholds and average confidences did not survive in its text: easy is a confidence of 0.75 "
        "and more, hard one of 0.25 and less, ambiguous a variability of 0.2 and more. Sentences are about LeNet."
    )
    return Part("Figure 2", "Data maps by human label variation", findings, about, smaller(rerun), tuple(charts))


def appendix_f_3(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = []
    rows: list[tuple[str, str, int, float]] = []
    networks = list(training.watched_networks(rerun.scale))
    for audited in audited_sets(rerun):
        for stratum in (NO_HLV, HLV):
            moved = {key: _moved(audited, runs, stratum) for key, runs in watched(rerun, audited).items()}
            early = differences(
                *({n: _early(moved[n, t]) for n in networks} for t in (training.WEIGHTED, training.MAJORITY))
            )
            findings.append(
                Statement(
                    f"{audited.name}, {stratum}: early epochs",
                    "predictions move less from epoch to epoch with soft targets than with the majority's",
                    is_below(early), in_words(early), "mean JSD of the first quarter of epochs, nats",
                )
            )  # fmt: skip
            late = {
                (n, t): float(np.mean([each[-LAST:].mean() for each in moved[n, t].values()]))
                for n in networks
                for t in (training.MAJORITY, training.WEIGHTED)
            }
            findings.append(
                Statement(
                    f"{audited.name}, {stratum}: late epochs", "both come to a near stable state in the end",
                    max(late.values()) < NEAR_0, ", ".join(f"{n}, {t} {v:.4f}" for (n, t), v in late.items()),
                    f"mean JSD of the last {LAST} epochs below {NEAR_0} nats",
                )
            )  # fmt: skip
            for (network, target), by_seed in moved.items():
                if network == DRAWN:
                    mean = np.mean(list(by_seed.values()), axis=0)
                    rows += [(f"{audited.name}, {stratum}", target, k + 2, float(v)) for k, v in enumerate(mean)]
    chart = curve(
        "appendix-f-3",
        title="How far predictions still move",
        caption=f"{DRAWN}: Jensen-Shannon divergence between the predictions of an epoch and of the one before, the "
        "mean over items and seeds, in nats (at most ln 2).",
        data=chart_columns(("where", "target", "epoch", "jsd"), rows),
        x=Field("epoch", "epoch", "d"),
        y=Field("jsd", "JSD, nats", ".3f", zero=True),
        series="target",
        panel="where",
    )
    title = "Training dynamics: shifts between epochs"
    scaled_down = smaller(rerun)
    about = "On items that were learned from; differences are paired by seed."
    return Part("Appendix F.3", title, findings, about, scaled_down, (chart,))


def _in(audited: Audited, items: Iterable[str], stratum: str) -> Bool[np.ndarray, "items"]:
    return np.array([audited.stratum[item] == stratum for item in items])


def _averages(drawn: DataMap, own: Bool[np.ndarray, "items"]) -> dict[str, float]:
    region = drawn.region[own]
    shares = {
        f"{each} share": float(np.mean(region == REGIONS.index(each))) for each in (MapRegion.EASY, MapRegion.HARD)
    }
    between = float(np.sum(drawn.between_runs[own] ** 2) / max(float(np.sum(drawn.variability[own] ** 2)), 1e-12))
    return {
        "confidence": float(drawn.confidence[own].mean()),
        "variability": float(drawn.variability[own].mean()),
        **shares,
        "variance between seeds": between,
    }


def _of_maps(audited: Audited, found: Mapping[str, DataMap]) -> list[Statement]:
    at = {
        (t, s): _averages(drawn, _in(audited, drawn.items.to_pylist(), s))
        for t, drawn in found.items()
        for s in (NO_HLV, HLV)
    }
    made = training.ORIGINAL if audited.is_synthetic else training.SYNTHETIC
    people = (training.MAJORITY, training.WEIGHTED)
    name = audited.name
    lower = {s: at[training.WEIGHTED, s]["confidence"] - at[training.MAJORITY, s]["confidence"] for s in (NO_HLV, HLV)}
    says = [
        Statement(
            f"{name}: NoHLV", "items that all agree on lie mostly in the easy region",
            all(at[t, NO_HLV]["easy share"] > 0.5 for t in people),
            ", ".join(f"{t} {at[t, NO_HLV]['easy share']:.0%} easy" for t in people),
        ),
        Statement(
            f"{name}: HLV", "where people disagree, confidence is lower",
            all(at[t, HLV]["confidence"] < at[t, NO_HLV]["confidence"] for t in people),
            ", ".join(f"{t} {at[t, HLV]['confidence']:.3f} for {at[t, NO_HLV]['confidence']:.3f}" for t in people),
        ),
        Statement(
            f"{name}: soft for majority", "soft targets lower confidence, more so where people disagree",
            lower[HLV] < min(lower[NO_HLV], 0.0),
            ", ".join(f"{s} {lower[s]:+.3f}" for s in (NO_HLV, HLV)),
        ),
        Statement(
            f"{name}: variability",
            "with the majority's labels items vary more than with soft ones, where people disagree",
            at[training.MAJORITY, HLV]["variability"] > at[training.WEIGHTED, HLV]["variability"],
            ", ".join(f"{t} {at[t, HLV]['variability']:.3f}" for t in people),
        ),
        Statement(
            f"{name}: what varies", "seeds differ from each other more than late epochs of a seed do",
            all(at[t, HLV]["variance between seeds"] > 0.5 for t in people),
            ", ".join(f"{t} {at[t, HLV]['variance between seeds']:.0%} of variance between seeds" for t in people),
        ),
    ]  # fmt: skip
    if made in found:
        says.append(
            Statement(
                f"{name}: model-made labels", "no item that people disagree on lies in the hard region",
                at[made, HLV]["hard share"] == 0, f"{at[made, HLV]['hard share']:.1%} hard",
            )
        )  # fmt: skip
    return says


def _map_chart(audited: Audited, found: Mapping[tuple[str, str], DataMap]) -> Chart:
    doubt = dict(zip(audited.doubt.items.to_pylist(), np.asarray(audited.doubt.mean_doubt).tolist(), strict=True))
    rows = []
    for stratum in (NO_HLV, HLV):
        for (network, target), drawn in found.items():
            for k in np.flatnonzero(_in(audited, drawn.items.to_pylist(), stratum)) if network == DRAWN else ():
                item, place = drawn.items[int(k)].as_py(), (float(drawn.confidence[k]), float(drawn.variability[k]))
                rows.append((item, f"{target}, {stratum}", *place, doubt[item]))
    return shaded_scatter(
        f"figure-2-{audited.name.lower()}",
        title=f"Data maps of {audited.name}",
        caption=f"{DRAWN}: each point per item that was learned from, colored by people's mean uncertainty about it.",
        data=chart_columns(("item", "panel", "confidence", "variability", "doubt"), rows),
        x=Field("variability", "variability", ".2f", domain=(0.0, 0.5)),
        y=Field("confidence", "confidence", ".1f", domain=(0.0, 1.0)),
        value=Field("doubt", "mean uncertainty", ".2f"),
        of="item",
        panel="panel",
    )


def _moved(audited: Audited, runs: Mapping[int, EpochPredictions], stratum: str) -> dict[int, np.ndarray]:
    """By seed, the mean JSD of every epoch from the second on."""
    return {seed: run.shifts()[:, _in(audited, run.items, stratum)].mean(axis=1) for seed, run in runs.items()}


def _early(moved: Mapping[int, np.ndarray]) -> dict[int, float]:
    return {seed: float(each[: max(len(each) // 4, 1)].mean()) for seed, each in moved.items()}
