"""Cross-label scores: every training target scored against every kind of label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.evaluation.comparison import scores_over_seeds
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.run_metric_values import RunMeasurements
from sfumato.evaluation.run_predictions import RunPredictions, match_runs
from sfumato.evaluation.run_scores import Progress, measure_runs
from sfumato.evaluation.strata import Stratification, Stratum, strata_by_item
from sfumato.labeling.transforms import ClassMeans
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import unknown
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.scores import RunScore
from sfumato.tables.soft_labels import SoftLabels

PEOPLE, ORIGINAL, MAJORITY, CLASS_LEVEL = "people", "original", "majority", "class-level"
LABEL_SETS = "label-sets"
"""The folder, inside that of the runs, with the label sets that they were trained on."""
KINDS = (ORIGINAL, MAJORITY, PEOPLE, CLASS_LEVEL)


@dataclass(frozen=True)
class CrossScore(RunScore):
    """A score over seeds of `target`, `against` one kind of label."""

    against: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class CrossLabel(RecordTable):
    """One row per target, network, kind of label, metric and condition."""

    scores: tuple[CrossScore, ...]

    record = CrossScore

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        columns = super().chunk(start, stop, wide=wide)
        first = ["target", "network", "against"]
        return columns.select([*first, *(name for name in columns.column_names if name not in first)])


def kinds_of_labels(people: SoftLabels, original: SoftLabels | None = None) -> dict[str, SoftLabels]:
    """People's labels, labels derived from them, and the original labels if given.

    `majority` is people's most frequent class (ties shared), `class-level` the mean label of the item's class: its
    original class if known, else people's most frequent class.
    """
    first = people.probs == people.probs.max(axis=1, keepdims=True)
    majority = replace(people, probs=first / first.sum(axis=1, keepdims=True), n_annotators=None)
    if original is None:
        return {MAJORITY: majority, PEOPLE: people, CLASS_LEVEL: _class_means(people, None)}
    one_hot = _as_people(original, people)
    return {ORIGINAL: one_hot, MAJORITY: majority, PEOPLE: people, CLASS_LEVEL: _class_means(people, one_hot)}


def label_sets_in(runs: str | Path) -> dict[str, SoftLabels]:
    """The label sets that the runs in a folder were trained on, by name, as `sfumato train` writes them; none if they
    were trained on one. The set `people` is `people (trained on)`: `people` are the labels given for scoring."""
    found = {path.stem: SoftLabels.read(path) for path in sorted((Path(runs) / LABEL_SETS).glob("*.parquet"))}
    return {f"{PEOPLE} (trained on)" if name == PEOPLE else name: each for name, each in found.items()}


def measure_against(
    runs: Sequence[RunPredictions],
    labels: Mapping[str, SoftLabels],
    *,
    original: SoftLabels | None = None,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    common: bool = False,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> dict[str, RunMeasurements]:
    """The values of `runs` against each of `labels`, with the same draws of items.

    The strata are those of people's labels, whatever the runs are scored against.
    """
    own: Sequence[Stratification | Stratum] = ()
    if strata:
        first = [run for run in runs if run.condition == runs[0].condition]
        matched = match_runs(first, people=labels[PEOPLE], original=original, common=common, any_estimand=True)
        own = strata_by_item(matched[0], strata)
    measured = {}
    for k, (against, table) in enumerate(labels.items()):

        def progress(done: int, of: int, before: int = k) -> None:
            if on_progress:
                on_progress(before * of + done, len(labels) * of)

        measured[against] = measure_runs(
            runs, people=table, original=original, metrics=metrics, strata=own, common=common, level=level,
            resamples=resamples,
            rng=np.random.default_rng(seed), on_progress=progress, any_estimand=True,
        )  # fmt: skip
    return measured


def cross_label(measured: Mapping[str, RunMeasurements]) -> CrossLabel:
    """The scores over seeds of every target against every kind of label (the keys of `measured`)."""
    return CrossLabel(
        tuple(
            CrossScore(**vars(score), against=against)
            for against, each in measured.items()
            for score in scores_over_seeds(each).scores
        )
    )


def _class_means(people: SoftLabels, original: SoftLabels | None) -> SoftLabels:
    table = people
    if original is not None:
        check_same_rows(people, original)
        known = pc.is_in(people.items, value_set=original.items)
        rows = known.to_numpy(zero_copy_only=False)
        table = replace(people, items=people.items.filter(known), probs=people.probs[rows], n_annotators=None)
    found = ClassMeans(original).apply(replace(table, n_annotators=None))
    assert isinstance(found, SoftLabels)
    return found


def _as_people(original: SoftLabels, people: SoftLabels) -> SoftLabels:
    """Original labels over people's classes, in their order."""
    for name in original.classes:
        if name not in people.classes:
            raise unknown("class", name, people.classes, fix="use the same class names in both tables")
    probs = np.zeros((len(original), len(people.classes)))
    probs[:, [people.classes.index(name) for name in original.classes]] = original.probs
    return replace(original, classes=people.classes, probs=probs, n_annotators=None, estimand=None, made_by=None)
