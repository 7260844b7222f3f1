"""BonusRule: how well somebody's answers earn, as a number from 0 to 1; and the answers it looks at.

A rule is one file here, listed once in `BONUS_RULES`. It sees everybody's answers as distributions over the classes,
and compares each person with the others alone: what somebody says never helps them against themselves.

Agreement: the more an answer is like the others' answers, the more it earns.

Brier: the nearer an answer is to what all others together say, the more it earns.

Correlated agreement: peer prediction, which pays for saying of each item what fits that item and not just any.

Pay: who is owed what, computed and listed, never sent.

One bonus rule a file; `BONUS_RULES` lists them all. `reconciling` sets what we know beside what the platform knows,
`paying` lists base and bonus, `asking` reads both from a study's store.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.study.study import ABOUT_ONE_ITEM, Study
from sfumato.study.toml_mistakes import Mistakes
from sfumato.tables.errors import BadSetting, UnknownName
from sfumato.tables.strategies import strategy_from_name


@dataclass(frozen=True, eq=False)
class PeerAnswers:
    """Everybody's answer about every item, and who counts as somebody to be compared with.

    One row a person and item. `is_peer` says of each annotator whether others are compared with them: those whose
    answers are set aside are scored like everybody else, but nobody is measured by them.
    """

    item: Int[np.ndarray, "rows"]
    annotator: Int[np.ndarray, "rows"]
    probs: Float[np.ndarray, "rows classes"]
    is_peer: Bool[np.ndarray, "annotators"]

    @property
    def n_annotators(self) -> int:
        return len(self.is_peer)

    @cached_property
    def n_items(self) -> int:
        return int(self.item.max()) + 1 if len(self.item) else 0

    @cached_property
    def counts(self) -> Bool[np.ndarray, "rows"]:
        """Which rows others are compared with."""
        return np.asarray(self.is_peer[self.annotator])

    @cached_property
    def n_others(self) -> Int[np.ndarray, "rows"]:
        """With how many others each answer is compared."""
        per_item = np.bincount(self.item[self.counts], minlength=self.n_items)
        return np.asarray(per_item[self.item] - self.counts)

    @cached_property
    def has_others(self) -> Bool[np.ndarray, "rows"]:
        """Which answers there is anything to compare with."""
        return np.asarray(self.n_others > 0)

    def pooled(self, probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
        """For each answer the mean of the others' about the same item: the label without them. NaN without others."""
        sums = np.zeros((self.n_items, probs.shape[1]))
        np.add.at(sums, self.item[self.counts], probs[self.counts])
        others = sums[self.item] - np.where(self.counts[:, None], probs, 0.0)
        n_others = self.n_others[:, None]
        return np.where(n_others > 0, others / np.maximum(n_others, 1), np.nan)

    def mean_of(self, values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "annotators"]:
        """Each person's mean over the answers that can be compared; NaN where none can."""
        rows = self.has_others
        n_rows = np.bincount(self.annotator[rows], minlength=self.n_annotators)
        total = np.bincount(self.annotator[rows], weights=values[rows], minlength=self.n_annotators)
        return np.where(n_rows > 0, total / np.maximum(n_rows, 1), np.nan)

    def n_compared(self) -> Int[np.ndarray, "annotators"]:
        """How many of each person's answers can be compared."""
        return np.asarray(np.bincount(self.annotator[self.has_others], minlength=self.n_annotators))


@runtime_checkable
class BonusRule(Protocol):
    """A rule by which answers earn. Its settings are the further keys of `[pay.bonus]` in the study file."""

    name: ClassVar[str]
    said: ClassVar[str]
    """The rule in one sentence, which people are told before they begin: in English here, and in the catalogue of every
    language (`web/texts`)."""

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        """From 0 to 1 for each annotator; NaN for whom there is nothing to go by."""
        ...


@dataclass(frozen=True)
class AgreementBonus:
    """The mean share of probability mass that an answer has in common with each other person's about the same item.

    On single choices it is the share of the others who chose the same. Easy to tell people, as CIFAR-10S did; but who
    wants most of it says what most others will say, not what they see: a person in doubt gains by hiding it. Prefer
    `brier` where doubt is what you ask for, and this one where people are asked what others would say.

    Mean over a person's items of the mean over the others j of `sum_c min(p_c, q_jc)`, which is 1 less the total
    variation between the two. Collins, Bhatt and Weller, "Eliciting and Learning with Soft Labels from Every Annotator"
    (HCOMP 2022).
    """

    name: ClassVar[str] = "agreement"
    said: ClassVar[str] = "You get a higher bonus when your answers are closer to other people’s answers."

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        shared = np.zeros(len(answers.item))
        order = np.argsort(answers.item, kind="stable")
        starts = np.flatnonzero(np.diff(answers.item[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            probs, counts = answers.probs[rows], answers.counts[rows]
            common = np.minimum(probs[:, None], probs[None, counts]).sum(axis=2).sum(axis=1)
            own = np.where(counts, probs.sum(axis=1), 0.0)
            shared[rows] = (common - own) / np.maximum(answers.n_others[rows], 1)
        return answers.mean_of(np.clip(shared, 0.0, 1.0))


@dataclass(frozen=True)
class BrierBonus:
    """The quadratic score of each answer against the pooled label of the others, the person's own answer left out.

    A proper scoring rule: whoever wants most of it in expectation says exactly what they believe the others' mean to
    be, doubt included, and no answer of theirs moves what they are measured by. It pays for knowing the crowd; somebody
    who alone sees rightly earns less. For single choices it pays for the class most others choose.

    Mean over a person's items of `1 - sum_c (p_c - q_c)^2 / 2`, q the mean of the others' answers. Up to a term without
    p it is the mean quadratic score over votes drawn from q. Brier, "Verification of forecasts expressed in terms of
    probability" (1950); Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation" (2007).
    """

    name: ClassVar[str] = "brier"
    said: ClassVar[str] = (
        "You get a higher bonus when your answers are closer to the average of other people’s answers. "
        "The bonus is highest when you report exactly how sure you are."
    )

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        apart = answers.probs - answers.pooled(answers.probs)
        return answers.mean_of(1 - (apart**2).sum(axis=1) / 2)


TIE = 1e-9
"""Classes whose probabilities differ by less stand equally high."""


@dataclass(frozen=True)
class CorrelatedAgreementBonus:
    """How much oftener than by chance a person's class fits the others': on the same item, less on different items.

    Two classes fit where other people say them of one item oftener than their shares alone would make it; which ones
    do is learnt from the others' answers. Always naming the commonest class, or answering at random, earns nothing in
    expectation, and no way of answering without looking earns more than looking: it is informed truthful, for many
    items. Only the class an answer puts first is looked at, equal ones sharing it: how the rest is spread neither
    helps nor harms, so where you ask for doubt prefer `brier`. It needs items that differ, and many answers.

    With x the class put first, q the share of others who put each class first, S_ab = 1 where a and b fit and else 0,
    over a person's n items: `mean_t x_t S q_t - mean_(t != u) x_t S q_u`, divided by `1 - mean_(t != u) q_t S q_u`,
    which is what always fitting would bring, and not below 0. Shnayder, Agarwal, Frongillo and Parkes, "Informed
    Truthfulness in Multi-Task Peer Prediction" (EC 2016).
    """

    name: ClassVar[str] = "correlated-agreement"
    said: ClassVar[str] = (
        "You get a higher bonus when your answer to each question matches what other people answer to the same "
        "question. Giving the same answer every time earns no bonus."
    )

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        first = put_first(answers.probs)
        others = answers.pooled(first)
        learnt = _Fit.of(answers, first, others)
        scores = np.full(answers.n_annotators, np.nan)
        order = np.argsort(answers.annotator, kind="stable")
        rows_of = np.split(order, np.searchsorted(answers.annotator[order], np.arange(1, answers.n_annotators)))
        for person, own in enumerate(rows_of):
            rows = own[answers.has_others[own]]
            if len(rows) > 1:
                fits = learnt.without(person, rows, first)
                scores[person] = _score(first[rows], others[rows], fits)
        return scores


def put_first(probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """All mass on the most probable class of each row, shared where several are."""
    leads = probs >= probs.max(axis=1, keepdims=True) - TIE
    return np.asarray(leads / leads.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Fit:
    """How often two people say two classes of one item, summed over all peers, and how to leave one person out."""

    answers: PeerAnswers
    others: Float[np.ndarray, "rows classes"]
    together: Float[np.ndarray, "classes classes"]
    """Sum over items and ordered pairs of different peers."""
    alone: Float[np.ndarray, "classes"]
    """Sum over the answers of peers that are in such pairs, as often as they are."""

    @classmethod
    def of(cls, answers: PeerAnswers, first: np.ndarray, others: np.ndarray) -> _Fit:
        rows = answers.counts & answers.has_others
        weights = answers.n_others[rows, None]
        return cls(answers, others, first[rows].T @ (weights * others[rows]), (weights * first[rows]).sum(axis=0))

    def without(
        self, person: int, rows: Int[np.ndarray, "own"], first: Float[np.ndarray, "rows classes"]
    ) -> Bool[np.ndarray, "classes classes"]:
        """Which classes fit, in the eyes of everybody but this person."""
        together, alone = self.together, self.alone
        if self.answers.is_peer[person]:
            weights = self.answers.n_others[rows, None]
            theirs = first[rows].T @ (weights * self.others[rows])
            together = together - theirs - theirs.T
            # Of every pair with this person both halves go: theirs, and the other's.
            alone = alone - (weights * first[rows]).sum(axis=0) - (weights * self.others[rows]).sum(axis=0)
        n_pairs = alone.sum()
        if n_pairs < 0.5:
            # Nobody else was asked about the same items: agreeing is all that can be said to fit.
            return np.eye(len(alone), dtype=bool)
        shares = alone / n_pairs
        return np.asarray(together / n_pairs - np.outer(shares, shares) > TIE)


def _score(
    own: Float[np.ndarray, "items classes"],
    others: Float[np.ndarray, "items classes"],
    fits: Bool[np.ndarray, "classes classes"],
) -> float:
    same_item = _fitting(own, others, fits).mean()
    by_chance = _on_different_items(own, others, fits)
    others_by_chance = _on_different_items(others, others, fits)
    if not fits.any() or 1 - others_by_chance < TIE:
        # Everybody says the same of everything: there is nothing to tell looking from not looking.
        return float("nan")
    return float(np.clip((same_item - by_chance) / (1 - others_by_chance), 0.0, 1.0))


def _fitting(
    said: Float[np.ndarray, "items classes"],
    others: Float[np.ndarray, "items classes"],
    fits: Bool[np.ndarray, "classes classes"],
) -> Float[np.ndarray, "items"]:
    """How probable it is that two answers about the same item fit, item by item."""
    return np.asarray((said @ fits.astype(np.float64) * others).sum(axis=1))


def _on_different_items(
    said: Float[np.ndarray, "items classes"],
    others: Float[np.ndarray, "items classes"],
    fits: Bool[np.ndarray, "classes classes"],
) -> float:
    """The mean over all ordered pairs of different items of how probable it is that two answers about them fit."""
    n = len(said)
    every_pair = said.sum(axis=0) @ fits.astype(np.float64) @ others.sum(axis=0)
    return float((every_pair - _fitting(said, others, fits).sum()) / (n * (n - 1)))


BONUS_RULES: tuple[Any, ...] = (AgreementBonus, BrierBonus, CorrelatedAgreementBonus)

__all__ = [
    "BONUS_RULES",
    "AgreementBonus",
    "BonusRule",
    "BrierBonus",
    "CorrelatedAgreementBonus",
    "PeerAnswers",
    "check_bonus",
    "rule_of",
]


def rule_of(study: Study) -> BonusRule | None:
    """The rule by which answers to a study earn a bonus; the one place where a name becomes an object."""
    if study.pay is None or study.pay.bonus is None:
        return None
    bonus = study.pay.bonus
    return strategy_from_name("bonus rule", BONUS_RULES, bonus.rule, bonus.settings)  # type: ignore[no-any-return]


def check_bonus(study: Study, mistakes: Mistakes) -> None:
    """Note what is wrong with `[pay.bonus]`: a rule we do not know, its settings, a kind it cannot look at."""
    table = ("pay", "bonus")
    if mistakes.about(*table, "rule"):
        return
    try:
        rule = rule_of(study)
    except (BadSetting, UnknownName) as error:
        words = error.found.replace("-", "_").split()
        settings = study.pay.bonus.settings if study.pay and study.pay.bonus else {}
        mistakes.place((*table, next((key for key in settings if key in words), "rule")), error)
        return
    asked = [question.kind for question in study.questions if question.kind not in ABOUT_ONE_ITEM]
    if rule is not None and asked:
        mistakes.add(
            (*table, "rule"),
            f"a bonus by {rule.name} with the kind {asked[0]}",
            expected=f"a kind that tells how likely each class is: {', '.join(ABOUT_ONE_ITEM)}",
            fix="leave [pay.bonus] out, or choose another kind",
            code="wrong-kind",
        )
