"""Prediction sets calibrated on people's votes: sets of classes that contain a person's answer with a given
probability.

A set has every class whose predicted probability is at least a threshold, which gives the smallest sets (Sadinle et
al. 2019). The threshold is the largest for which, over the items used for calibration, people's answers are inside
often enough. With `n` such items and a wanted coverage `c`, the mean share of people inside must be at least
`c (n + 1) / n`: then sets of new items contain a new person's answer with probability at least `c`, whatever the model
is (conformal risk control, Angelopoulos et al. 2024; for one vote per item it is split conformal prediction). Sets
calibrated on the most frequent class contain that class as often, and people's answers less often (Stutz et al. 2023).

Every item gets a set from the items of other folds, so its own votes never calibrate it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.tables.base_table import ColumnTable, RecordTable
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadTable
from sfumato.tables.printed_text import PrintedResult, printable, wrapped
from sfumato.tables.setting_checks import at_least, between_0_and_1

VOTES, LABELS, MOST_FREQUENT, ORIGINAL = "votes", "labels", "most frequent class", "original class"
"""What thresholds are set on; `labels` if people's labels are not shares of whole votes."""
MOSTLY = 0.8
"""Items on which at least this share of the other people agree are listed separately."""
EVERYONE, ALL_AGREE, MOST_AGREE, FEWER_AGREE = (
    "any", "all agree", f"{MOSTLY:.0%} or more agree", f"fewer than {MOSTLY:.0%} agree",
)  # fmt: skip
ROUNDING = 1e-9


@dataclass(frozen=True)
class SetFigure:
    """How often the sets contain a person's answer, by how much the other people agree about the item.

    `calibrated_on` says which labels set the thresholds. `single` and `empty` are the shares of items whose set has one
    class or none.
    """

    model: str
    calibrated_on: str
    others: str
    coverage: float
    low: float
    high: float
    mean_size: float
    single: float
    empty: float
    n_items: int


@dataclass(frozen=True, eq=False, repr=False)
class SetCoverage(RecordTable):
    """One row per kind of calibration and group of items."""

    figures: tuple[SetFigure, ...]

    record = SetFigure

    def of(self, calibrated_on: str, others: str = EVERYONE, model: str = "") -> SetFigure:
        """The row of these."""
        wanted = (model, calibrated_on, others)
        return next(each for each in self.figures if (each.model, each.calibrated_on, each.others) == wanted)


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(ColumnTable):
    """The set of every item, calibrated on the votes about other items: its size, and its classes as a JSON array, the
    most probable first."""

    item: pa.StringArray
    size: Int[np.ndarray, "items"]
    classes_inside: tuple[str, ...]

    renamed: ClassVar[Mapping[str, str]] = {"classes_inside": "classes"}


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedSets(PrintedResult):
    """The sets of one model and how often they contain people's answers; `wanted` is the coverage asked for, `level`
    that of the intervals."""

    sets: PredictionSets
    coverage: SetCoverage
    wanted: float
    level: float

    def __repr__(self) -> str:
        return f"<CalibratedSets: {len(self.sets):,} items, for {100 * self.wanted:g}% of people's answers>"

    def lines(self) -> list[str]:
        """How often the sets contain a person's answer, by what they are calibrated on and what others say."""
        first = self.coverage.figures[0]
        of = f" of {printable(first.model)}" if first.model else ""
        lines = [f"prediction sets{of} for {100 * self.wanted:g}% of people's answers"]
        others = "the other people" if first.calibrated_on == VOTES else "people"
        head = f"{'calibrated on':20}  {others:21}  {'inside':>7}"
        lines.append(f"{head}  {f'{100 * self.level:g}% interval':>16}  {'classes':>7}  {'items':>7}")
        for row in self.coverage.figures:
            between = "-" if row.low != row.low else f"{row.low:6.1%} to {row.high:6.1%}"
            inside, size = (f"{row.coverage:.1%}", f"{row.mean_size:.2f}") if row.n_items else ("-", "-")
            start = f"{row.calibrated_on if row.others == EVERYONE else '':20}  {row.others:21}"
            lines.append(f"{start}  {inside:>7}  {between:>16}  {size:>7}  {row.n_items:>7,}")
        shares = f"{first.single:.0%} of the sets calibrated on {first.calibrated_on} have one class"
        explained = (
            f"{shares}, {first.empty:.0%} have none. Intervals are over items. "
            "docs/evaluate.md#prediction-sets explains the columns"
        )
        return [*lines, *wrapped(explained)]


def threshold_of(
    predicted: Float[np.ndarray, "items classes"], labels: Float[np.ndarray, "items classes"], coverage: float
) -> float:
    """The largest probability with which sets of new items contain a draw from their label with probability `coverage`;
    0 if there are too few items."""
    wanted = coverage * (len(predicted) + 1)
    if wanted > len(predicted) + ROUNDING:
        return 0.0
    some = labels > 0
    order = np.argsort(-predicted[some], kind="stable")
    inside = np.cumsum(labels[some][order])
    last = min(int(np.searchsorted(inside, wanted - ROUNDING)), len(order) - 1)
    return float(predicted[some][order][last])


def calibrate_sets(
    matched: MatchedLabels,
    coverage: float = 0.9,
    *,
    folds: int = 10,
    level: float = 0.95,
    model: str = "",
    rng: np.random.Generator | None = None,
) -> CalibratedSets:
    """The sets of all items, calibrated on the votes of other folds, and their coverage next to that of sets calibrated
    on the most frequent class and, if known, on the original class.

    The groups by agreement look at the *other* people: each vote is counted in the group of the remaining votes about
    its item, so a vote does not choose the group in which it is scored. Labels that are not whole votes are grouped by
    their largest probability. With fewer items than `folds`, each item is a fold.
    """
    between_0_and_1("coverage", coverage)
    at_least("folds", folds, 2)
    n = len(matched)
    if n < 2:
        fix = "give more items: the set of an item is set on the answers about other items"
        raise BadTable(f"{n} item{'s' * (n != 1)}", "at least 2 for prediction sets", fix, "few-items")
    folds = min(folds, n)
    rng = np.random.default_rng(0) if rng is None else rng
    fold = rng.permutation(n) % folds
    bootstrap = Bootstrap.of(n, level=level, draws=1000, rng=rng)
    predicted = matched.predicted
    groups = _groups_by_others(matched)
    figures: list[SetFigure] = []
    kept = np.zeros(predicted.shape, bool)
    for calibrated_on, labels in _calibration_labels(matched).items():
        inside = np.zeros(predicted.shape, bool)
        for k in range(folds):
            own = fold == k
            inside[own] = predicted[own] >= threshold_of(predicted[~own], labels[~own], coverage)
        if calibrated_on in (VOTES, LABELS):
            kept = inside
        figures += [
            _figure(model, calibrated_on, others, inside, weights, bootstrap) for others, weights in groups.items()
        ]
    return CalibratedSets(_table_of(matched, kept), SetCoverage(tuple(figures)), coverage, level)


def _calibration_labels(matched: MatchedLabels) -> dict[str, Float[np.ndarray, "items classes"]]:
    """The labels on which thresholds are set; of tied most frequent classes each has an equal part."""
    first = matched.people_first
    on = LABELS if matched.vote_problem else VOTES
    found = {on: matched.people, MOST_FREQUENT: first / first.sum(axis=1, keepdims=True)}
    if matched.original is not None:
        found[ORIGINAL] = np.eye(len(matched.classes))[matched.original]
    return found


def _groups_by_others(matched: MatchedLabels) -> Mapping[str, Float[np.ndarray, "items classes"]]:
    """The share of an item's people who chose each class, in each group by the agreement of the other people."""
    people = matched.people
    if matched.vote_problem:
        agreed = np.broadcast_to(people.max(axis=1, keepdims=True), people.shape)
    else:
        assert matched.n_annotators is not None
        n = matched.n_annotators[:, None].astype(np.float64)
        counts = np.rint(people * n)
        ordered = np.sort(counts, axis=1)
        most, second = ordered[:, -1:], ordered[:, -2:-1]
        # The largest count without one vote for class k: the largest of the others, or one less of its own.
        without = np.where(counts == most, np.maximum(most - 1, np.where(most == second, most, second)), most)
        agreed = np.divide(without, n - 1, out=np.full(people.shape, np.nan), where=n > 1)
    return {
        EVERYONE: people,
        ALL_AGREE: np.where(agreed >= 1 - ROUNDING, people, 0.0),
        MOST_AGREE: np.where((agreed >= MOSTLY - ROUNDING) & (agreed < 1 - ROUNDING), people, 0.0),
        FEWER_AGREE: np.where(agreed < MOSTLY - ROUNDING, people, 0.0),
    }


def _figure(
    model: str,
    calibrated_on: str,
    others: str,
    inside: Bool[np.ndarray, "items classes"],
    weights: Float[np.ndarray, "items classes"],
    bootstrap: Bootstrap,
) -> SetFigure:
    """The share of people inside the sets, and their size, in one group."""
    weight, size = weights.sum(axis=1), inside.sum(axis=1)
    total = float(weight.sum())
    n_items = int((weight > 0).sum())
    if not total:
        nan = float("nan")
        return SetFigure(model, calibrated_on, others, nan, nan, nan, nan, nan, nan, 0)
    covered = np.einsum("ik,ik->i", weights, inside.astype(np.float64))
    interval = bootstrap.resampled_ratio(bootstrap.sums(covered, weight)).interval.within((0.0, 1.0))
    mean = float(covered.sum() / total)
    mean_size, single, empty = (float((weight * each).sum() / total) for each in (size, size == 1, size == 0))
    ends = interval.low, interval.high
    return SetFigure(model, calibrated_on, others, mean, *ends, mean_size, single, empty, n_items)


def _table_of(matched: MatchedLabels, inside: Bool[np.ndarray, "items classes"]) -> PredictionSets:
    order = np.argsort(-matched.predicted, axis=1, kind="stable")
    listed = [
        json.dumps([matched.classes[k] for k in row if chosen[k]], ensure_ascii=False)
        for row, chosen in zip(order, inside, strict=True)
    ]
    return PredictionSets(matched.items, inside.sum(axis=1), tuple(listed))
