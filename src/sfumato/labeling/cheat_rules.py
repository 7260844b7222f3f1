"""Screening rules against cheating: answers unrelated to the items, answers of one source under several names, times
that no person has. Rules that need the records of the answers are in `record_rules.py`.

All compare an annotator with the others, so they need several answers per item. A rule is a reason to look at a person,
not a proof: `docs/screen.md` says what each one can and cannot detect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.labeling.screening import RuleResult, ScreeningData, names_classes
from sfumato.tables.setting_checks import above_0, at_least
from sfumato.tables.setting_checks import share as check_share

ONE_SIDED_99 = 2.326
"""The 99% point of the normal distribution."""


@dataclass(frozen=True)
class UnrelatedAnswers:
    """The annotator's answers fit the others' answers about the same items much less than those of a typical annotator:
    with 99% confidence, less than `at_least` times as well.

    The number is a z score: how much better the top classes fit the others' about the same item than about a different
    item, by a permutation test. Random answers, one answer for everything and answers by anything but the content have
    an expected value of 0, whatever classes are frequent. A person who is merely less accurate is not excluded.
    """

    at_least: float = 0.5

    name: ClassVar[str] = "crowd_fit"

    def __post_init__(self) -> None:
        check_share("at_least", self.at_least)

    def find(self, data: ScreeningData) -> RuleResult:
        answers = LabelAnswers.of(data)
        score = np.full(data.n_annotators, np.nan)
        n_items = np.zeros(data.n_annotators)
        for annotator, own, others in answers.with_others():
            n_items[annotator] = len(own)
            score[annotator] = permutation_score(own, others)
        known = ~np.isnan(score)
        if known.sum() < FEWEST_ANNOTATORS:
            return RuleResult.without_data(data.n_annotators)
        # The score of a fixed effect grows with the square root of the number of items.
        typical = np.median(score[known] / np.sqrt(n_items[known])) * np.sqrt(n_items)
        offends = known & (np.nan_to_num(score) + ONE_SIDED_99 < self.at_least * typical)
        return RuleResult(score, offends)


FEWEST_ANNOTATORS = 5
"""With fewer annotators nobody is typical."""
SMALLEST_VARIANCE = 1e-12


def permutation_score(own: Float[np.ndarray, "items classes"], others: Float[np.ndarray, "items classes"]) -> float:
    """How far the agreement of two sets of answers about the same items exceeds that of a random pairing of items, in
    standard deviations of the random pairing (exact mean and variance). 0 for one answer to everything; NaN where the
    others give the same answer about all items, so that nothing can be seen."""
    n = len(own)
    if n < 2:
        return float("nan")
    # With the agreement matrix M = own others', the sum along a random permutation has mean sum(M) / n, and variance
    # sum of (M centered by row and column) squared / (n - 1), which needs only sums over classes.
    a, b = own - own.mean(axis=0), others - others.mean(axis=0)
    if float((b**2).sum()) < SMALLEST_VARIANCE:
        return float("nan")
    variance = float(((a.T @ a) * (b.T @ b)).sum()) / (n - 1)
    return float((a * b).sum() / np.sqrt(variance)) if variance > SMALLEST_VARIANCE else 0.0


@dataclass(frozen=True)
class CopiedAnswers:
    """Two annotators gave the same answers much more often than two independent people would: one person or program
    under two names, or one copied. Both are excluded.

    The number is the largest log10 likelihood ratio with any other annotator of "the same answers with probability
    0.98" over "independent", where independent people agree as often as others agree about items with the same votes,
    adjusted for how often either of the two agrees with people in general. Excluded if it exceeds the number of pairs
    compared divided by `chance`: so in a study without copies, anybody is excluded with at most that probability. Pairs
    from the same network are counted separately, so that less evidence is enough for them.
    """

    chance: float = 0.01

    name: ClassVar[str] = "copied"

    def __post_init__(self) -> None:
        above_0("chance", self.chance)
        check_share("chance", self.chance)

    def find(self, data: ScreeningData) -> RuleResult:
        answers = LabelAnswers.of(data)
        pairs = answers.pairs()
        if not len(pairs.left):
            return RuleResult.without_data(data.n_annotators)
        keys, ratio = pairs.likelihood_ratios(answers)
        first, second = np.divmod(keys, data.n_annotators)
        near = np.zeros(len(keys), bool)
        if data.records is not None:
            network = data.records.network
            near = (network[first] == network[second]) & (network[first] >= 0)
        limit = np.where(near, max(near.sum(), 1), max((~near).sum(), 1)) / self.chance
        value = np.full(data.n_annotators, np.nan)
        offends = np.zeros(data.n_annotators, bool)
        for side in (first, second):
            np.fmax.at(value, side, ratio / np.log(10))
            np.logical_or.at(offends, side, ratio > np.log(limit))
        return RuleResult(value, offends)


@dataclass(frozen=True)
class RegularTimes:
    """The times of the annotator's answers vary less than any person's: the standard deviation of their logarithms is
    below `spread`, over `least_answers` or more. In CIFAR-10S the smallest of 248 people is 0.19."""

    spread: float = 0.1
    least_answers: int = 10

    name: ClassVar[str] = "time_spread"

    def __post_init__(self) -> None:
        above_0("spread", self.spread)
        at_least("least_answers", self.least_answers, 2)

    def find(self, data: ScreeningData) -> RuleResult:
        who, seconds = data.annotations.annotator.codes, data.annotations.seconds
        timed = np.nan_to_num(seconds) > 0
        logs, n = np.log(seconds[timed]), data.per_annotator(timed)
        sums = np.bincount(who[timed], logs, data.n_annotators)
        means = sums / np.maximum(n, 1)
        squares = np.bincount(who[timed], (logs - means[who[timed]]) ** 2, data.n_annotators)
        spread = np.where(n >= self.least_answers, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)
        return RuleResult(spread, spread < self.spread)


# --- answers for a label, by item ---


@dataclass(frozen=True, eq=False)
class LabelAnswers:
    """The answers for a label that name classes, sorted by item: annotator, the set of top classes, and the answer."""

    item: Int[np.ndarray, "answers"]
    annotator: Int[np.ndarray, "answers"]
    top: Int[np.ndarray, "answers"]
    said: Int[np.ndarray, "answers"]
    top_shares: Float[np.ndarray, "sets classes"]
    """Each set of top classes as a distribution over the classes."""

    @classmethod
    def of(cls, data: ScreeningData) -> LabelAnswers:
        """The first answer of each annotator about each item."""
        import polars as pl

        table = data.annotations
        rows = np.flatnonzero(data.is_for("label") & names_classes(table))
        key = table.item.codes[rows].astype(np.int64) * data.n_annotators + table.annotator.codes[rows]
        _, first = np.unique(key, return_index=True)
        rows = rows[first]
        payload = pl.Series(table.payload.cast(pa.string())).hash().to_numpy()
        _, said = np.unique(payload[rows], return_inverse=True)
        sets = list(data.leading.sets)
        names = sorted({name for each in sets for name in each})
        shares = np.array([[(name in each) / max(len(each), 1) for name in names] for each in sets])
        item, annotator = table.item.codes[rows], table.annotator.codes[rows]
        return cls(item, annotator, data.leading.code[rows], said, shares.reshape(len(sets), len(names)))

    def with_others(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Each annotator with their top classes and the mean of the others', for items with others."""
        probs = self.top_shares[self.top]
        n_items = int(self.item.max()) + 1 if len(self.item) else 0
        sums = np.zeros((n_items, probs.shape[1]))
        np.add.at(sums, self.item, probs)
        n_others = np.bincount(self.item, minlength=n_items)[self.item] - 1
        others = (sums[self.item] - probs) / np.maximum(n_others, 1)[:, None]
        order = np.argsort(self.annotator, kind="stable")
        order = order[n_others[order] > 0]
        for rows in np.split(order, np.flatnonzero(np.diff(self.annotator[order])) + 1):
            if len(rows):
                yield int(self.annotator[rows[0]]), probs[rows], others[rows]

    def pairs(self) -> AnswerPairs:
        """Every pair of answers about the same item, at most `MOST_PAIRS`, items with few answers first."""
        starts = np.flatnonzero(np.diff(self.item, prepend=-1))
        n_each = np.diff(np.append(starts, len(self.item)))
        by_size = np.argsort(n_each, kind="stable")
        n_pairs = np.cumsum(n_each[by_size].astype(np.int64) * (n_each[by_size] - 1) // 2)
        used = by_size[: int(np.searchsorted(n_pairs, MOST_PAIRS, side="right"))]
        left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for n in np.unique(n_each[used]):
            one, other = np.triu_indices(n, 1)
            begin = starts[used[n_each[used] == n]][:, None]
            left.append((begin + one).ravel())
            right.append((begin + other).ravel())
        return AnswerPairs(np.concatenate(left), np.concatenate(right), *self._support())

    def _support(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Per answer, how many answers about its item name the same top classes and how many there are, and how common
        the answer is among all with these top classes."""
        key = self.item.astype(np.int64) * len(self.top_shares) + self.top
        _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
        n_item = np.bincount(self.item)[self.item]
        wordings = np.bincount(self.said)[self.said] / np.bincount(self.top)[self.top]
        return count[inverse], n_item, wordings


MOST_PAIRS = 5_000_000
SAME_BY_ONE_SOURCE = 0.98
"""The probability that one person or program gives the same answer twice, in the alternative."""
SUPPORT_EDGES = np.concatenate([np.geomspace(1e-4, 0.05, 10), np.linspace(0.1, 0.95, 18)])
"""Bins of how many of the others answer the same, fine where answers are rare."""
PRIOR_PAIRS = 5


@dataclass(frozen=True, eq=False)
class AnswerPairs:
    """Pairs of answers about the same item: rows of `LabelAnswers`."""

    left: Int[np.ndarray, "pairs"]
    right: Int[np.ndarray, "pairs"]
    n_same_top: Int[np.ndarray, "answers"]
    n_item: Int[np.ndarray, "answers"]
    wordings: Float[np.ndarray, "answers"]

    def likelihood_ratios(self, answers: LabelAnswers) -> tuple[np.ndarray, np.ndarray]:
        """For every two annotators with common items, the key `first * n_annotators + second` and the natural logarithm
        of the likelihood ratio: the mean of those of the second's answers given the first's, and the reverse."""
        n_annotators = int(answers.annotator.max()) + 1
        same = answers.said[self.left] == answers.said[self.right]
        directions = ((self.left, self.right), (self.right, self.left))
        support = [self._support_of(answers, *rows) for rows in directions]
        expected = _share_by_support(np.concatenate(support), np.tile(same, 2)).reshape(2, -1)
        one, other = answers.annotator[self.left], answers.annotator[self.right]
        ability = _abilities(one, other, same, expected.mean(axis=0), n_annotators)
        logit = np.log(expected / (1 - expected)) + ability[one] + ability[other]
        # Two people who answer without looking still agree as often as each gives the answer to anything.
        by_habit = np.stack([_habit(answers, mate, answers.said[row], same) for row, mate in directions])
        independent = np.clip(np.maximum(1 / (1 + np.exp(-logit)), by_habit), 1e-4, SAME_BY_ONE_SOURCE)
        ratio = np.where(
            same, np.log(SAME_BY_ONE_SOURCE / independent), np.log((1 - SAME_BY_ONE_SOURCE) / (1 - independent))
        )
        key = np.minimum(one, other).astype(np.int64) * n_annotators + np.maximum(one, other)
        keys, inverse = np.unique(key, return_inverse=True)
        return keys, np.bincount(inverse, ratio.mean(axis=0))

    def _support_of(self, answers: LabelAnswers, row: np.ndarray, mate: np.ndarray) -> Float[np.ndarray, "pairs"]:
        """How many of the people other than the two give the answer `row`: the share with its top classes about the
        item, times how common the answer is among all answers with these top classes."""
        n_others = np.maximum(self.n_item[row] - 2, 0)
        n_agree = self.n_same_top[row] - 1 - (answers.top[row] == answers.top[mate])
        return np.asarray((n_agree + 0.5) / (n_others + 1) * self.wordings[row])


def _habit(answers: LabelAnswers, row: np.ndarray, said: np.ndarray, same: np.ndarray) -> Float[np.ndarray, "pairs"]:
    """How often the annotator of each row gives the answer `said` to their other items."""
    n_said = int(answers.said.max()) + 1
    keys, counts = np.unique(answers.annotator.astype(np.int64) * n_said + answers.said, return_counts=True)
    wanted = answers.annotator[row].astype(np.int64) * n_said + said
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    n_times = np.where(keys[at] == wanted, counts[at], 0) - same
    n_answers = np.bincount(answers.annotator)[answers.annotator[row]] - 1
    return np.asarray(n_times / np.maximum(n_answers, 1))


def _share_by_support(support: Float[np.ndarray, "pairs"], same: Bool[np.ndarray, "pairs"]) -> np.ndarray:
    """The chance that another person gives the same answer: as often as it happened for answers with as much support. A
    bin with few pairs falls back on the support itself."""
    bins = np.searchsorted(SUPPORT_EDGES, support, side="right")
    n_bin = np.bincount(bins, minlength=len(SUPPORT_EDGES) + 1)
    mean_support = np.bincount(bins, support, len(n_bin)) / np.maximum(n_bin, 1)
    share = (np.bincount(bins, same, len(n_bin)) + PRIOR_PAIRS * mean_support) / (n_bin + PRIOR_PAIRS)
    return np.asarray(np.clip(share, 1e-3, 1 - 1e-3)[bins])


def _abilities(
    one: np.ndarray, other: np.ndarray, same: np.ndarray, expected: np.ndarray, n_annotators: int
) -> Float[np.ndarray, "annotators"]:
    """How much more often than expected an annotator agrees with people in general, on the scale of logits: one Newton
    step of a Rasch model from 0, shrunk toward 0 by a normal prior with standard deviation 1."""
    gradient, information = np.zeros(n_annotators), np.ones(n_annotators)
    for side in (one, other):
        gradient += np.bincount(side, same - expected, n_annotators)
        information += np.bincount(side, expected * (1 - expected), n_annotators)
    return np.asarray(np.clip(gradient / information, -3, 3))
