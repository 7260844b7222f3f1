"""The test for camps of annotators: do annotators deviate from the others together?

An answer deviates from the other answers to its item. Careless people, and people who prefer a class, deviate too, so
a skill and a preference per class are first fitted to each annotator. If the remaining deviations of annotators from
the same items are correlated, there are camps: the largest eigenvalue of their products is compared with its values
in draws without camps.

With fewer than `MANY_VOTES` answers per item, a draw gives every deviation a random sign (the wild bootstrap of Wu
1986). Deviations are skewed, because a rare answer deviates more than a frequent one, and random signs are not: with
many answers per item, in which rare answers meet, this finds camps too often. There the answers to each item are
exchanged between annotators, with probabilities that keep the fitted skills and preferences (the conditional
permutation test of Berrett, Wang, Barber and Samworth 2020). Exchanges keep how often each class was chosen for an
item, but find fewer camps if answers are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from sfumato.tables.beliefs import CodedBeliefs

FEWEST_VOTES = 10
"""With fewer answers per item on average, camps are rarely found, so that not finding them would say nothing."""
SIGNIFICANT = 0.05
MOST_ANNOTATORS, MOST_NUMBERS = 300, 100_000
"""The test uses the annotators with the most answers, and as many of their items as have this many probabilities."""
PRIOR_SHARE = 1.0
"""Answers, distributed as all answers, that are added to the others of an item."""
ROUNDS, STEPS = 2, 6
MANY_VOTES = 15
STEPS_AGAIN = 2
"""Steps that fit skills and preferences again after an exchange, from those of the real answers."""
SWEEPS = 10
"""Rounds of exchanges between two draws; in each round an answer is exchanged at most once."""
LEAST_WEIGHT, LOWEST_SKILL = 0.05, -3.0
CARELESS = 0.2
"""Annotators with a slope closer to 0 are not tested: their answers do not depend on the item."""


@dataclass(frozen=True, eq=False)
class SharedAnswers:
    """First answers to the items with at least two annotators, sorted by item; items are numbered as in the beliefs."""

    item: Int[np.ndarray, "rows"]
    annotator: Int[np.ndarray, "rows"]
    belief: Float[np.ndarray, "rows classes"]
    n_items: int
    n_annotators: int

    @classmethod
    def of(cls, coded: CodedBeliefs) -> SharedAnswers:
        pair = coded.item.astype(np.int64) * coded.n_annotators + coded.annotator
        first = np.unique(pair, return_index=True)[1]
        several = np.bincount(coded.item[first], minlength=coded.n_items) > 1
        first = first[several[coded.item[first]]]
        chosen = coded.take(first)
        return cls(chosen.item, chosen.annotator, chosen.probs(), coded.n_items, coded.n_annotators)

    @property
    def votes_per_item(self) -> float:
        """The mean number of annotators of the items with at least two."""
        return len(self.item) / max(self.n_shared, 1)

    @property
    def n_shared(self) -> int:
        """The number of items with at least two annotators."""
        return len(np.unique(self.item))

    def limited(self, rng: np.random.Generator) -> SharedAnswers:
        """At most `MOST_ANNOTATORS`, those with the most answers, and a sample of their items."""
        n_of = np.bincount(self.annotator, minlength=self.n_annotators)
        kept = np.ones(len(self.item), bool)
        if np.count_nonzero(n_of) > MOST_ANNOTATORS:
            chosen = np.zeros(self.n_annotators, bool)
            chosen[np.argsort(-n_of, kind="stable")[:MOST_ANNOTATORS]] = True
            kept = chosen[self.annotator]
        n_rows = MOST_NUMBERS // self.belief.shape[1]
        if kept.sum() > n_rows:
            order = rng.permutation(self.n_items)
            n_kept = np.bincount(self.item[kept], minlength=self.n_items)
            enough = np.zeros(self.n_items, bool)
            enough[order[np.cumsum(n_kept[order]) <= n_rows]] = True
            kept &= enough[self.item]
        return self.only(kept)

    def only(self, kept: Bool[np.ndarray, "rows"]) -> SharedAnswers:
        """The rows `kept`, without items that have a single annotator then."""
        several = np.bincount(self.item[kept], minlength=self.n_items) > 1
        kept = kept & several[self.item]
        return SharedAnswers(self.item[kept], self.annotator[kept], self.belief[kept], self.n_items, self.n_annotators)

    @cached_property
    def totals(self) -> Float[np.ndarray, "items classes"]:
        return self.sums(self.belief)

    @cached_property
    def shares(self) -> Float[np.ndarray, "classes"]:
        """The shares of the classes in all answers."""
        return np.asarray((self.totals.sum(axis=0) + 1) / (len(self.item) + self.belief.shape[1]))

    @cached_property
    def log_others(self) -> Float[np.ndarray, "rows classes"]:
        """The logarithm of the mean of the other answers to the item, with `PRIOR_SHARE` average answers."""
        return _log_mean(self.totals[self.item] - self.belief + PRIOR_SHARE * self.shares)

    def deviations(self, start: FittedHabits | None = None) -> Deviations:
        """The answers minus their prediction from the item's mean, with a skill and a preference per class of each
        annotator: `softmax((1 + skill) log mean + preference)`, with normal priors of variance 1 and 2.

        Both are fitted to the mean of the others, in which people with a skill below 0 count less, from 0 or in few
        steps from `start`. The deviations have the weighted mean 0 for every item: an error of the predictions that
        all annotators of the item have in common is not shared by a camp.
        """
        people, who = np.unique(self.annotator, return_inverse=True)
        habits = self._habits(people, who, start)
        skill, preference = habits.skill, habits.preference
        weight = habits.weight[who]
        log_p = _log_mean(self.sums(weight[:, None] * self.belief) + PRIOR_SHARE * self.shares)[self.item]
        tilt = (1 + skill[who])[:, None] * log_p + preference[who]
        p = np.asarray(softmax(tilt, axis=1))
        in_mean = weight / np.bincount(self.item, weight, self.n_items)[self.item]
        apart = self.belief - p
        apart -= self.sums(in_mean[:, None] * apart)[self.item]
        # How much a prediction changes with the item's mean, relative to the other annotators of the item.
        slope = (1 + skill[who]) / (1 + PRIOR_SHARE * in_mean / weight)
        usual = np.bincount(self.item, in_mean * slope, self.n_items)[self.item]
        variance, on_mean = 1 - (p**2).sum(axis=1), 1 + slope - usual
        return Deviations(people, who, self.item, apart, variance, on_mean, in_mean, habits, tilt)

    def _habits(
        self, people: Int[np.ndarray, "people"], who: Int[np.ndarray, "rows"], start: FittedHabits | None
    ) -> FittedHabits:
        n = len(people)
        sums = scipy.sparse.csr_array((np.ones(len(who)), (who, np.arange(len(who)))), (n, len(who)))
        habits = start or FittedHabits(np.zeros(n), np.zeros((n, self.belief.shape[1])), np.ones(n))
        skill, preference, weight = habits.skill, habits.preference, habits.weight
        prior = PRIOR_SHARE * self.shares

        def predicted(log_p: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
            return np.asarray(softmax((1 + skill[who])[:, None] * log_p + preference[who], axis=1))

        rounds, steps = (1, STEPS_AGAIN) if start else (ROUNDS, STEPS)
        for _ in range(rounds):
            weighed = weight[who][:, None] * self.belief
            log_p = _log_mean(self.sums(weighed)[self.item] - weighed + prior)
            for _ in range(steps):
                p = predicted(log_p)
                # diag(p) bounds the curvature, so that the step for all classes never overshoots.
                preference = preference + (sums @ (self.belief - p) - preference / 2) / (sums @ p + 1 / 2)
                p = predicted(log_p)
                mean = (p * log_p).sum(axis=1)
                slope = sums @ ((self.belief * log_p).sum(axis=1) - mean) - skill
                curvature = sums @ ((p * log_p**2).sum(axis=1) - mean**2) + 1
                skill = np.maximum(skill + np.clip(slope / curvature, -0.5, 0.5), LOWEST_SKILL)
            weight = np.clip(1 + skill, LEAST_WEIGHT, 1.0)
        return FittedHabits(skill, preference, weight)

    def exchanged(
        self, tilt: Float[np.ndarray, "rows classes"], held: Int[np.ndarray, "rows"], rng: np.random.Generator
    ) -> Int[np.ndarray, "rows"]:
        """The row whose answer each row has next: answers are exchanged between annotators of the same item. An
        assignment has a probability in proportion to the product of `exp(tilt)` of the answers: Metropolis steps for
        pairs of annotators, with new pairs in each sweep. `held` has the rows of the answers before."""
        held = held.copy()
        for _ in range(SWEEPS):
            order = np.lexsort((rng.random(len(held)), self.item))
            first = np.zeros(len(held), bool)
            # Neighbors in the order are a pair, beginning at a random end of all.
            first[rng.integers(0, 2) : -1 : 2] = True
            place = np.flatnonzero(first)
            one, two = order[place], order[place + 1]
            same = self.item[one] == self.item[two]
            one, two = one[same], two[same]
            change = self.belief[held[two]] - self.belief[held[one]]
            gain = (change * (tilt[one] - tilt[two])).sum(axis=1)
            accepted = np.log(rng.random(len(gain))) < gain
            one, two = one[accepted], two[accepted]
            held[one], held[two] = held[two], held[one]
        return held

    def sums(self, values: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "items classes"]:
        """The sum of `values` over the answers to each item."""
        return np.stack([np.bincount(self.item, each, self.n_items) for each in values.T], axis=1)


@dataclass(frozen=True, eq=False)
class FittedHabits:
    """What is fitted to each annotator: a skill and a preference per class, and the weight in the mean of an item."""

    skill: Float[np.ndarray, "people"]
    preference: Float[np.ndarray, "people classes"]
    weight: Float[np.ndarray, "people"]


@dataclass(frozen=True, eq=False)
class LeadingDeviation:
    """The largest eigenvalue of the annotators' shared deviations, and its eigenvector."""

    value: float
    direction: Float[np.ndarray, "people"]


@dataclass(frozen=True, eq=False)
class Deviations:
    """The deviation of every answer from its prediction, a vector over classes; `who` is the place of its annotator
    in `people`. `variance` is the expected square of its length, 0 for a certain prediction; `on_mean` is the factor of
    the item's mean in the deviation: an answer minus `on_mean` times the mean, plus what does not depend on answers;
    `in_mean` is the weight of the answer in the mean, `tilt` the logarithm of the prediction up to a constant."""

    people: Int[np.ndarray, "people"]
    who: Int[np.ndarray, "rows"]
    item: Int[np.ndarray, "rows"]
    apart: Float[np.ndarray, "rows classes"]
    variance: Float[np.ndarray, "rows"]
    on_mean: Float[np.ndarray, "rows"]
    in_mean: Float[np.ndarray, "rows"]
    habits: FittedHabits
    tilt: Float[np.ndarray, "rows classes"]

    def leading(self) -> LeadingDeviation:
        """The eigenvalue as observed."""
        values, vectors = np.linalg.eigh(self._scaled(self._products(self.apart) + self._shared_mean()))
        return LeadingDeviation(float(values[-1]), vectors[:, -1])

    def largest_with_signs(self, rng: np.random.Generator) -> float:
        """The eigenvalue with a random sign for every deviation."""
        signs = rng.integers(0, 2, len(self.item)) * 2.0 - 1
        return float(np.linalg.eigvalsh(self._scaled(self._products(self.apart * signs[:, None])))[-1])

    def _products(self, apart: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "people people"]:
        n_classes = apart.shape[1]
        column = (self.item[:, None] * n_classes + np.arange(n_classes)).ravel()
        each = self._by_person(apart.ravel(), np.repeat(self.who, n_classes), column)
        return np.asarray((each @ each.T).toarray())

    def _shared_mean(self) -> Float[np.ndarray, "people people"]:
        """What to add to the products, because deviations from the same mean are dependent: with weights w in the mean
        of an item, variances v and factors c of the mean, they have the covariance
        `c_r c_s sum(w^2 v) - c_r w_s v_s - c_s w_r v_r`."""
        observed = np.bincount(self.item, (self.apart**2).sum(axis=1))
        predicted = np.bincount(self.item, self.variance)
        variance = self.variance * (observed / np.maximum(predicted, 1e-9))[self.item]
        of_mean = np.bincount(self.item, self.in_mean**2 * variance)[self.item]
        factor = self._by_person(self.on_mean, self.who, self.item)
        own = (self._by_person(self.in_mean * variance, self.who, self.item) @ factor.T).toarray()
        both = self._by_person(self.on_mean * of_mean, self.who, self.item) @ factor.T
        return np.asarray(own + own.T - both.toarray())

    def _by_person(self, values: np.ndarray, who: np.ndarray, column: np.ndarray) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array((values, (who, column)), (len(self.people), int(column.max()) + 1))

    def _scaled(self, products: Float[np.ndarray, "people people"]) -> Float[np.ndarray, "people people"]:
        """Without the diagonal, divided by the square roots of how much each person deviates, plus the mean: people
        with many answers do not decide alone, and people with few have little weight."""
        np.fill_diagonal(products, 0)
        return np.asarray(products * np.outer(self._scale, self._scale))

    @cached_property
    def _scale(self) -> Float[np.ndarray, "people"]:
        total = np.bincount(self.who, (self.apart**2).sum(axis=1))
        return np.asarray(1 / np.sqrt(total + total.mean() + 1e-12))


@dataclass(frozen=True, eq=False)
class CampTest:
    """The result of the test; `direction` has a number per annotator, of opposite signs for the two camps."""

    p_value: float
    direction: Float[np.ndarray, "annotators"]
    votes_per_item: float
    n_tested: int
    n_items: int


def camp_test(coded: CodedBeliefs, *, draws: int, rng: np.random.Generator) -> CampTest:
    """The test alone; `direction` is 0 for annotators whose answers it did not use."""
    answers = SharedAnswers.of(coded)
    direction = np.zeros(coded.n_annotators)
    n_items = answers.n_shared
    if answers.votes_per_item < FEWEST_VOTES:
        return CampTest(np.nan, direction, answers.votes_per_item, 0, n_items)
    used = answers.limited(rng)
    deviations = used.deviations()
    careless = np.zeros(coded.n_annotators, bool)
    careless[deviations.people] = np.abs(1 + deviations.habits.skill) < CARELESS
    if careless.any():
        used = used.only(~careless[used.annotator])
        if len(used.item) < FEWEST_VOTES:
            return CampTest(1.0, direction, answers.votes_per_item, 0, n_items)
        deviations = used.deviations()
    observed = deviations.leading()
    direction[deviations.people] = observed.direction
    most = int(SIGNIFICANT * (draws + 1))
    drawn = _exchanges(used, deviations, rng) if answers.votes_per_item >= MANY_VOTES else _signs(deviations, rng)
    larger = 0
    for draw in range(1, draws + 1):
        larger += next(drawn) >= observed.value
        if larger >= most:
            # The sequential p-value of Besag and Clifford (1991).
            return CampTest(larger / draw, direction, answers.votes_per_item, len(deviations.people), n_items)
    p_value = (1 + larger) / (1 + draws)
    return CampTest(p_value, direction, answers.votes_per_item, len(deviations.people), n_items)


def _signs(deviations: Deviations, rng: np.random.Generator) -> Iterator[float]:
    """Eigenvalues with random signs."""
    while True:
        yield deviations.largest_with_signs(rng)


def _exchanges(answers: SharedAnswers, deviations: Deviations, rng: np.random.Generator) -> Iterator[float]:
    """Eigenvalues after exchanges of answers; skills and preferences are fitted again each time."""
    held = np.arange(len(answers.item))
    while True:
        held = answers.exchanged(deviations.tilt, held, rng)
        drawn = replace(answers, belief=answers.belief[held])
        yield drawn.deviations(deviations.habits).leading().value


def _log_mean(sums: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """The logarithm of distributions in proportion to `sums`."""
    return np.asarray(np.log(np.maximum(sums, 1e-12) / np.maximum(sums.sum(axis=1, keepdims=True), 1e-12)))
