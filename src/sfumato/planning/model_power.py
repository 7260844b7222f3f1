"""The power to tell two models apart by a metric against people's labels: how it depends on the number of items and of
answers per item. Called by `sfumato plan models`.

The verdict is that of `sfumato evaluate`: a t-test of the mean difference over items, and over people where they are
known. With `d` the difference of one item under the shares of K answers, J people and N items,

    V = Var d(K) / N + V_person / J        power = P(noncentral t(df, |E d(K)| / sqrt(V)) > t(df))

From a pilot, `d(K)` is computed from K of each item's own votes, drawn without replacement. Beyond the pilot's number
of votes, mean and variance are extrapolated linearly in 1 / K from half of the votes and all of them. A difference that
is linear in the votes, such as that of cross-entropies or Brier scores, has the same mean at every K, and a variance of
`between items + within items / K`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Float, Int
from scipy.special import nctdtr, stdtrit

from sfumato.evaluation.comparison import tested_difference
from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.people_jackknife import PeopleLabels, plain
from sfumato.evaluation.run_predictions import RunPredictions
from sfumato.evaluation.run_scores import measure_runs
from sfumato.evaluation.variance_components import FEWEST_ITEMS
from sfumato.tables.base_table import RecordTable
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, BadTable, listing
from sfumato.tables.setting_checks import above_0, at_least, between_0_and_1, not_negative
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.two_way import satterthwaite

ANSWERS = (1, 2, 3, 5, 10, 20, 50)
REPEATS = 20
"""Draws of votes per item, for a metric that is not linear in the votes."""
MOST_NUMBERS = 2**27
MOST_ITEMS = 10_000_000
LEAST_SHARE = 0.1
"""An extrapolated variance is at least this share of the pilot's."""
SURE = 1.645
"""Standard errors on each side of the pilot's difference: a 90% interval."""
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class ModelDifference:
    """The difference of two models' scores, and how much it varies over items and people.

    `mean_and_sd` are the mean and the standard deviation over items of the difference, by answers per item.
    """

    metric: str
    one: str
    other: str
    mean_and_sd: Callable[[int], tuple[float, float]]
    person_sd: float = 0.0
    """Standard deviation of the difference between people; 0 if they are not known."""
    answers_per_person: float = np.inf
    error: float = 0.0
    """Standard error of the difference in the pilot; 0 if the difference was stated."""
    n_items: int = 0
    """Items of the pilot."""
    n_answers: float = np.nan
    """Answers per item of the pilot."""

    def power(self, n_items: int, n_answers: int, *, level: float = 0.95, shift: float = 0.0) -> float:
        """The probability of a verdict for the model that is better; `shift` is added to the size of the difference."""
        if n_items < FEWEST_ITEMS:
            return 0.0
        mean, sd = self.mean_and_sd(n_answers)
        people = max(n_items * n_answers / self.answers_per_person, float(n_answers), 2.0)
        of_items, of_people = sd**2 / n_items, self.person_sd**2 / people
        variance = of_items + of_people
        parts = ((of_items, n_items - 1.0), (of_people, people - 1.0))
        df = satterthwaite(variance, *(each for each in parts if each[0] > 0))
        critical = float(stdtrit(df, (1 + level) / 2))
        found = 1 - float(nctdtr(df, max(abs(mean) + shift, 0.0) / np.sqrt(variance), critical))
        return found if np.isfinite(found) else 1.0

    def items_needed(self, n_answers: int, power: float, *, level: float = 0.95) -> int | None:
        """The fewest items with this power; None if not even ten million are enough."""
        low, high = FEWEST_ITEMS - 1, FEWEST_ITEMS
        while self.power(high, n_answers, level=level) < power:
            low, high = high, high * 2
            if high > MOST_ITEMS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(middle, n_answers, level=level) >= power else (middle, high)
        return high

    def cell(self, n_items: int, n_answers: int, level: float) -> PowerCell:
        """The power for this many items and answers per item, with its interval given the pilot."""
        found = [self.power(n_items, n_answers, level=level, shift=shift * self.error) for shift in (0.0, -SURE, SURE)]
        mean, sd = self.mean_and_sd(n_answers)
        return PowerCell(n_items, n_answers, n_items * n_answers, mean, sd, *found)


@dataclass(frozen=True)
class PowerCell:
    """The power of a study; `low` and `high` are a 90% interval, as far as the pilot shows the difference."""

    n_items: int
    n_answers: int
    answers: int
    difference: float
    item_sd: float
    power: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class ModelPlan(RecordTable):
    """Power curves: one row per number of items and of answers per item.

    `needed` has the fewest items that reach the wanted power at each number of answers per item (fewer rows if some
    cannot), `at_budget` what a budget in answers buys, at most `most_items` items.
    """

    record = PowerCell
    cells: tuple[PowerCell, ...]
    difference: ModelDifference
    needed: tuple[PowerCell, ...]
    at_budget: tuple[PowerCell, ...]
    wanted: float
    level: float

    @property
    def cheapest(self) -> PowerCell | None:
        """The fewest answers in total that reach the wanted power."""
        return min(self.needed, key=lambda cell: cell.answers, default=None)

    @property
    def best_at_budget(self) -> PowerCell | None:
        """The highest power for the budget; of equal ones the one with fewer items."""
        return max(self.at_budget, key=lambda cell: (round(cell.power, 3), cell.n_answers), default=None)


def plan_models(
    difference: ModelDifference,
    *,
    power: float = 0.8,
    level: float = 0.95,
    n_answers: Sequence[int] = ANSWERS,
    budget: int | None = None,
    most_items: int | None = None,
) -> ModelPlan:
    """How many items and answers per item a verdict needs, and the power of every combination at the same budget."""
    between_0_and_1("power", power)
    between_0_and_1("level", level)
    for each in n_answers:
        at_least("answers", each, 1)
    most = most_items if most_items is None else at_least("items", most_items, 1)
    needed = []
    for k in n_answers:
        n = difference.items_needed(k, power, level=level)
        if n is not None and (most is None or n <= most):
            needed.append(difference.cell(n, k, level))
    bought = []
    if budget is not None:
        at_least("budget", budget, 1)
        sizes = [(min(budget // k, most or budget // k), k) for k in n_answers if budget // k > 0]
        bought = [difference.cell(n, k, level) for n, k in dict.fromkeys(sizes)]
    largest = max([cell.n_items for cell in (*needed, *bought)] or [most or 1000])
    steps = np.unique(np.geomspace(min(FEWEST_ITEMS, largest), largest, 12).round().astype(np.int64))
    cells = [difference.cell(int(n), k, level) for k in n_answers for n in steps]
    return ModelPlan(tuple(cells), difference, tuple(needed), tuple(bought), power, level)


def stated_difference(
    metric: str, difference: float, *, item_sd: float, answer_sd: float = 0.0, person_sd: float = 0.0,
    answers_per_person: float = np.inf,
) -> ModelDifference:  # fmt: skip
    """A difference that is assumed: its standard deviation between items, between answers about the same item, and
    between people."""
    above_0("item_sd + answer_sd", not_negative("item_sd", item_sd) + not_negative("answer_sd", answer_sd))
    above_0("difference", abs(difference))
    if answers_per_person != np.inf:
        above_0("answers_per_person", answers_per_person)
    return ModelDifference(
        metric, "one model", "the other",
        lambda k: (difference, float(np.sqrt(item_sd**2 + answer_sd**2 / k))),
        not_negative("person_sd", person_sd),
        answers_per_person,
    )  # fmt: skip


def pilot_difference(
    people: SoftLabels | Beliefs,
    models: dict[str, SoftLabels],
    metric: Metric,
) -> ModelDifference:
    """The difference between two models' predictions on the items of a pilot, the first minus the second.

    The models may predict more items than the pilot has. If `people` are single answers, the variance between people is
    estimated too.
    """
    if len(models) != 2:
        found = "predictions of one model" if len(models) == 1 else f"predictions of {len(models) or 'no'} models"
        raise BadSetting(found, "the predictions of two models", "give --predicted twice: a=a.csv and b=b.csv")
    judged = PeopleLabels.of(people)
    pair = [_matched(name, predicted, judged.labels) for name, predicted in models.items()]
    one, other = models
    if np.abs(pair[0].predicted - pair[1].predicted).max() <= NOTHING:
        fix = "compare other models; if these should differ, check the files"
        raise BadTable(f"identical predictions of {one} and {other}", "two models that differ", fix, "same-models")
    counts = _vote_counts(pair[0])
    curve = _DifferenceByVotes(pair, counts, metric)
    person_sd, each, error = 0.0, np.inf, np.sqrt(curve.full[1] / len(counts))
    if judged.answers is not None:
        runs = [RunPredictions(name, "", 0, table) for name, table in models.items()]
        measured = measure_runs(runs, people=people, metrics=[metric], resamples=100, common=True)
        parts = tested_difference(*measured.figures[:2]).parts
        if parts is not None and parts.people == parts.people:
            n_people = parts.people_df + 1
            person_sd = float(np.sqrt(max(parts.people - parts.people_items, 0.0) * n_people))
            each, error = counts.sum() / measured.n_people, parts.error
    return ModelDifference(
        metric.name,
        one,
        other,
        cache(curve),
        person_sd,
        float(each),
        float(error),
        len(counts),
        counts.sum() / len(counts),
    )  # fmt: skip


def _matched(name: str, predicted: SoftLabels, people: SoftLabels) -> MatchedLabels:
    """A model's predictions with the labels of the pilot, in its order; an error if it lacks an item."""
    known = pc.is_in(people.items, value_set=predicted.items).to_numpy(zero_copy_only=False)
    if not known.all():
        lacking = [str(people.items[int(i)]) for i in np.flatnonzero(~known)]
        raise BadTable(
            f"no prediction of {name} for {len(lacking):,} of {len(people):,} items: {listing(lacking, 3)}",
            "a prediction of both models for every item of the pilot",
            "predict these items too, or leave them out of the pilot (sfumato select)",
            "missing-items",
        )
    found = match_labels(predicted=predicted, people=people, common=True)
    return found.take(np.asarray(pc.index_in(people.items, value_set=found.items)))


@dataclass(frozen=True, eq=False)
class _DifferenceByVotes:
    """Mean and variance over items of the difference, by answers per item."""

    pair: Sequence[MatchedLabels]
    counts: Int[np.ndarray, "items classes"]
    metric: Metric

    @cached_property
    def totals(self) -> Int[np.ndarray, "items"]:
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def full(self) -> tuple[float, float]:
        """Mean and variance under all votes."""
        values = self._values(self.counts)
        return float(values.mean()), float(values.var(ddof=1))

    @cached_property
    def half(self) -> tuple[float, float]:
        """Mean and variance under half of the votes."""
        return self._moments((self.totals + 1) // 2)

    @cached_property
    def within(self) -> Float[np.ndarray, "items"] | None:
        """The variance between single answers about each item, if the difference is linear in them; otherwise None."""
        n_classes = self.counts.shape[1]
        if self.counts.size * n_classes > MOST_NUMBERS:
            return None
        one_vote = np.eye(n_classes, dtype=np.int64)
        rows = (np.broadcast_to(vote, self.counts.shape) for vote in one_vote)
        of_answer = np.stack([self._values(votes, may_be_infinite=True) for votes in rows], axis=1)
        shares = self.counts / self.totals[:, None]
        mean = np.where(shares > 0, shares * np.where(shares > 0, of_answer, 0.0), 0.0).sum(axis=1)
        if not np.allclose(mean, self._values(self.counts), atol=1e-9):
            return None
        squares = (shares * np.where(shares > 0, of_answer, 0.0) ** 2).sum(axis=1) - mean**2
        has_two = self.totals > 1
        found = np.where(has_two, squares * self.totals / np.maximum(self.totals - 1, 1), np.nan)
        return np.asarray(np.where(has_two, found, np.nanmean(found)))

    def __call__(self, k: int) -> tuple[float, float]:
        """Mean and standard deviation with `k` answers per item."""
        mean, variance = self.full
        if self.within is not None:
            variance += float((self.within * (1 / k - 1 / self.totals)).mean())
        elif k < self.totals.min():
            mean, variance = self._moments(np.full(len(self.totals), k))
        elif (self.totals != k).any():
            full, half = float((1 / self.totals).mean()), float((2 / (self.totals + self.totals % 2)).mean())
            part = (1 / k - full) / (half - full)
            mean, variance = (a + (b - a) * part for a, b in zip(self.full, self.half, strict=True))
        return mean, float(np.sqrt(max(variance, LEAST_SHARE * self.full[1])))

    def _moments(self, sizes: Int[np.ndarray, "items"]) -> tuple[float, float]:
        """Mean and variance over items of the difference under this many of each item's votes."""
        rng = np.random.default_rng(int(sizes.sum()))
        found = np.stack([self._values(drawn_votes(self.counts, sizes, rng)) for _ in range(REPEATS)])
        return float(found.mean()), float(found.var(axis=1, ddof=1).mean())

    def _values(
        self, votes: Int[np.ndarray, "items classes"], *, may_be_infinite: bool = False
    ) -> Float[np.ndarray, "items"]:
        n = votes.sum(axis=1)
        values = []
        for matched in self.pair:
            given = replace(matched, people=votes / n[:, None], n_annotators=n.astype(np.int32), answers=None)
            found = self.metric.estimate(given, plain(len(n)))
            if found.linear is None and not np.isfinite(found.value):
                if may_be_infinite:
                    return np.full(len(n), np.nan)
                raise BadTable(
                    f"an infinite {self.metric.name}: a model gives probability 0 to a class that people chose",
                    "predictions above 0",
                    "choose --metric brier or total_variation, or smooth the predictions (sfumato transform)",
                    "infinite",
                )
            linear = found.linear
            if linear is None or linear.per_item is None or not np.allclose(linear.per_item.weights, 1):
                raise BadSetting(
                    f"the metric {self.metric.name}, which is no mean over all items",
                    "one that is: accuracy, expected_accuracy, cross_entropy, kl_divergence, brier, total_variation",
                    "choose another --metric",
                )
            values.append(linear.per_item.values)
        return np.asarray(values[0] - values[1])


def _vote_counts(matched: MatchedLabels) -> Int[np.ndarray, "items classes"]:
    """The votes behind people's labels; an error if they are not known, or no item has two."""
    if matched.n_annotators is None:
        fix = "give the votes, counts, or labels with a column n_annotators"
        raise BadTable("labels without the number of annotators", "people's votes", fix, "no-counts")
    counts = matched.people * matched.n_annotators[:, None]
    whole = np.rint(counts)
    if np.abs(counts - whole).max() > 1e-3:
        raise BadTable("answers that are distributions", "one class per answer", "give votes (choice)", "no-votes")
    totals = whole.sum(axis=1)
    if (totals < 1).any():
        empty = [str(matched.items[int(i)]) for i in np.flatnonzero(totals < 1)[:3]]
        raise BadTable(f"no answer about {listing(empty)}", "an answer about every item", "leave them out", "no-votes")
    if totals.max() < 2:
        raise BadTable(
            "a pilot with one answer per item, which does not show how much people disagree",
            "two or more answers about the same items",
            "ask a second person about 50 items or more, or state the variances (--difference, --item-sd, --answer-sd)",
            "one-answer",
        )
    return np.asarray(whole.astype(np.int64))


def drawn_votes(
    counts: Int[np.ndarray, "items classes"], sizes: Int[np.ndarray, "items"], rng: np.random.Generator
) -> Int[np.ndarray, "items classes"]:
    """This many of each item's votes, drawn without replacement."""
    left, rest, drawn = sizes.copy(), counts.sum(axis=1), np.zeros_like(counts)
    for k in range(counts.shape[1] - 1):
        rest = rest - counts[:, k]
        drawn[:, k] = rng.hypergeometric(counts[:, k], rest, left)
        left = left - drawn[:, k]
    drawn[:, -1] = left
    return np.asarray(drawn)
