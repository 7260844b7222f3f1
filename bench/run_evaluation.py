"""Evaluation of the runs of published_runs.py: every target and metric, by stratum, under attack, and by label set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pages import markdown
from published_runs import TARGETS, Published, published_runs
from sfumato.evaluation import read_runs
from sfumato.evaluation.comparison import compare_runs, scores_over_seeds
from sfumato.evaluation.cross_label import ORIGINAL, PEOPLE, kinds_of_labels, measure_against
from sfumato.evaluation.gain_decomposition import mode_shift
from sfumato.evaluation.metrics import Accuracy, Brier, CrossEntropy, KLDivergence
from sfumato.evaluation.run_metric_values import RunMeasurements
from sfumato.evaluation.run_scores import measure_runs
from sfumato.evaluation.strata import AgreementStrata, EntropyStrata
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.scores import ALL, Difference
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.attacks import Fgsm
from sfumato.training.robustness_runs import AttackExperiment, run_missing
from sfumato.training.trained_runs import TrainedRuns

RUNS = Path(os.environ.get("SFUMATO_BENCH_RUNS", "bench-runs"))
"""The folder of the runs."""
STRATA = {"cifar": AgreementStrata(), "fashion": EntropyStrata(3)}
"""How items are divided into strata. On Fashion-MNIST-H all people agree on only five of 3,000 items."""
BY_STRATUM = (
    "accuracy", "second_best_accuracy", "kl_divergence", "brier", "total_variation", "entropy_spearman",
    "overconfidence", "smooth_ece", "excess_aurc",
)  # fmt: skip
MARK = {"better": " ▲", "worse": " ▼", "differs": " ◆", "": ""}


def evaluation_section(name: str) -> str:
    """The section of docs/evaluate.md on one protocol, in Markdown."""
    published = published_runs(name, RUNS)
    people, original = SoftLabels.read(published.labels), _original(published)
    runs = read_runs(published.runs)
    measured = measure_runs(runs, people=people, original=original, strata=[STRATA[name]])
    differences = compare_runs(measured, baseline="hard").differences
    n_items = {figures.condition: figures.n_items for figures in measured.figures if figures.metric.name == "brier"}
    parts = [
        f"{len(TARGETS)} targets x {published.protocol.seeds} seeds, network `{published.protocol.network}`, "
        f"{n_items[ALL]:,} test items. ▲ better and ▼ worse than `hard`, ◆ different where neither direction is "
        "better: the interval over seeds and items excludes 0, Holm over all comparisons of a metric, 5% level.",
        _target_table(measured, differences, ALL),
    ]
    for stratum, n in n_items.items():
        if stratum != ALL:
            parts += [
                f"**{stratum[:1].upper()}{stratum[1:]}** ({n:,} items):",
                _target_table(measured, differences, stratum, BY_STRATUM),
            ]
    parts += [
        "**`soft` against the controls**, mean difference (95% CI over seeds and items):",
        _controls_table(measured),
    ]
    parts += ["**Under FGSM** (eps 4/255, attacking the original label):", _attack_table(published, people, original)]
    parts += [
        "**Changed classes and uncertainty**, scored against people's labels and the original ones (`doubt` is the "
        "gain from uncertainty).",
        _mode_shift_table(runs, people, original),
    ]
    return "\n\n".join(parts)


def _original(published: Published) -> SoftLabels:
    inputs = Inputs.read(published.inputs)
    assert inputs.labels is not None
    return SoftLabels.one_hot(inputs.items, inputs.labels, SoftLabels.read(published.labels).classes)


def _target_table(
    measured: RunMeasurements, differences: Sequence[Difference], condition: str, only: Sequence[str] = ()
) -> str:
    """One row per metric, one column per target: the mean over seeds, marked if it differs from hard."""
    verdicts = {(each.metric, each.target): each.verdict for each in differences if each.condition == condition}
    values = {
        (each.metric, each.target): each.value
        for each in scores_over_seeds(measured).scores
        if each.condition == condition
    }
    rows = []
    for metric in dict.fromkeys(metric for metric, _ in values):
        row = [values.get((metric, target), np.nan) for target in TARGETS]
        if np.isnan(row).all() or (only and metric not in only):
            continue
        rows.append(
            [
                metric,
                *(f"{v:.3f}{MARK[verdicts.get((metric, target), '')]}" for v, target in zip(row, TARGETS, strict=True)),
            ]
        )
    return markdown(["", *TARGETS], rows)


def _controls_table(measured: RunMeasurements) -> str:
    """Differences of `soft` from the controls: other items of the class, the class mean, and the same entropy only."""
    controls = ("shuffled", "class-level", "entropy-matched")
    found = {
        (each.metric, control): each
        for control in controls
        for each in compare_runs(measured, baseline=control).differences
        if each.target == "soft" and each.condition == ALL and each.metric in BY_STRATUM
    }
    rows = [
        [
            metric,
            *(
                f"{each.difference:+.3f} ({each.low:+.3f} to {each.high:+.3f}){MARK[each.verdict]}"
                for each in (found[metric, control] for control in controls)
            ),
        ]
        for metric in dict.fromkeys(metric for metric, _ in found)
    ]
    return markdown(["", *controls], rows)


def _attack_table(published: Published, people: SoftLabels, original: SoftLabels) -> str:
    inputs = Inputs.read(published.inputs)
    place = published.runs.parent / "attacked"
    run_missing(AttackExperiment(TrainedRuns.in_folder(published.runs).runs, place, Fgsm(), inputs), processes=2)
    folder = next(path for path in sorted(place.iterdir()) if path.name.startswith("fgsm"))
    metrics = [Accuracy(), CrossEntropy(), KLDivergence()]
    measured = measure_runs(read_runs(folder), people=people, original=original, metrics=metrics)
    condition = measured.figures[0].condition
    return _target_table(measured, compare_runs(measured, baseline="hard").differences, condition)


def _mode_shift_table(runs: Sequence[object], people: SoftLabels, original: SoftLabels) -> str:
    kinds = {name: labels for name, labels in kinds_of_labels(people, original).items() if name in (PEOPLE, ORIGINAL)}
    measured = measure_against(runs, kinds, metrics=[CrossEntropy(), Brier(), Accuracy()])
    rows = [
        [each.metric, each.against, each.part, f"{each.difference:+.3f} ({each.low:+.3f} to {each.high:+.3f})"]
        for each in mode_shift(measured).shifts
    ]
    return markdown(["metric", "scored against", "step", "difference (95% CI over seeds and items)"], rows)
