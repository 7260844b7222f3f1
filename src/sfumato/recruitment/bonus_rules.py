"""Bonus rules: a score from 0 to 1 per annotator, from how their answers compare with those of others.

`BONUS_RULES` lists them all: agreement with other answers, the Brier score against the others' mean, and correlated
agreement (peer prediction). Each annotator is compared only with others.
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
    """The answers of all annotators, one row per annotator and item.

    `is_peer` says whether others are compared with an annotator: excluded annotators are scored too, but do not affect
    the scores of others.
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
        """The rows of peers."""
        return np.asarray(self.is_peer[self.annotator])

    @cached_property
    def n_others(self) -> Int[np.ndarray, "rows"]:
        """The number of peers each answer is compared with."""
        per_item = np.bincount(self.item[self.counts], minlength=self.n_items)
        return np.asarray(per_item[self.item] - self.counts)

    @cached_property
    def has_others(self) -> Bool[np.ndarray, "rows"]:
        """The answers with at least one peer."""
        return np.asarray(self.n_others > 0)

    def pooled(self, probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
        """For each answer the mean of the others' answers about the same item; NaN without others."""
        sums = np.zeros((self.n_items, probs.shape[1]))
        np.add.at(sums, self.item[self.counts], probs[self.counts])
        others = sums[self.item] - np.where(self.counts[:, None], probs, 0.0)
        n_others = self.n_others[:, None]
        return np.where(n_others > 0, others / np.maximum(n_others, 1), np.nan)

    def mean_of(self, values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "annotators"]:
        """Each annotator's mean over the answers with peers; NaN if there are none."""
        rows = self.has_others
        n_rows = np.bincount(self.annotator[rows], minlength=self.n_annotators)
        total = np.bincount(self.annotator[rows], weights=values[rows], minlength=self.n_annotators)
        return np.where(n_rows > 0, total / np.maximum(n_rows, 1), np.nan)

    def n_compared(self) -> Int[np.ndarray, "annotators"]:
        """The number of each annotator's answers with peers."""
        return np.asarray(np.bincount(self.annotator[self.has_others], minlength=self.n_annotators))


@runtime_checkable
class BonusRule(Protocol):
    """A bonus rule. Its settings are the further keys of `[pay.bonus]` in the study file."""

    name: ClassVar[str]
    said: ClassVar[str]
    """The rule in one sentence, which people read before they begin: in English here, and for every language in
    `server/locale`."""

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        """A score from 0 to 1 for each annotator; NaN without comparable answers."""


@dataclass(frozen=True)
class AgreementBonus:
    """The mean overlap of an answer with each other annotator's answer about the same item (shared probability).

    For single choices it is the share of others who chose the same. Easy to explain, as in CIFAR-10S; but it rewards
    answers that most others will give, so an unsure annotator gains by hiding it. Prefer `brier` if you ask for
    uncertainty, and this rule if you ask what others would say.

    Mean over an annotator's items of the mean over the others j of `sum_c min(p_c, q_jc)`, which is 1 less the total
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
    """The quadratic score of each answer against the mean of the others' answers.

    A proper scoring rule: the expected score is highest for the annotator's true belief about the others' mean,
    including its uncertainty, and an annotator's own answer does not change what it is compared with. It rewards
    knowing the crowd; an annotator who alone is right earns less. For single choices it rewards the class most others
    choose.

    Mean over an annotator's items of `1 - sum_c (p_c - q_c)^2 / 2`, q the mean of the others' answers. Up to a term
    without p it is the mean quadratic score over votes drawn from q. Brier, "Verification of forecasts expressed in
    terms of probability" (1950); Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation"
    (2007).
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
"""Classes whose probabilities differ by less are tied."""


@dataclass(frozen=True)
class CorrelatedAgreementBonus:
    """How much more often than by chance an annotator's top class fits the others': same item minus different items.

    Two classes fit if others give them for the same item more often than their frequencies predict; this is learned
    from the others' answers. Always giving the most frequent class, or a random one, has expected score 0, and for many
    items no strategy without looking scores higher than truthful answers (informed truthfulness). Only the top class of
    an answer counts, shared among ties, so prefer `brier` if you ask for uncertainty. It needs items that differ, and
    many answers.

    With x the top class, q the share of others with each top class, S_ab = 1 where a and b fit and otherwise 0, over an
    annotator's n items: `mean_t x_t S q_t - mean_(t != u) x_t S q_u`, divided by `1 - mean_(t != u) q_t S q_u`, which
    is the score of always fitting, and at least 0. Shnayder, Agarwal, Frongillo and Parkes, "Informed
    Truthfulness in Multi-Task Peer Prediction" (EC 2016).
    """

    name: ClassVar[str] = "correlated-agreement"
    said: ClassVar[str] = (
        "You get a higher bonus when your answer to each question matches what other people answer to the same "
        "question. Giving the same answer every time earns no bonus."
    )

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        first = top_class_shares(answers.probs)
        others = answers.pooled(first)
        learned = _Fit.of(answers, first, others)
        scores = np.full(answers.n_annotators, np.nan)
        order = np.argsort(answers.annotator, kind="stable")
        rows_of = np.split(order, np.searchsorted(answers.annotator[order], np.arange(1, answers.n_annotators)))
        for annotator, own in enumerate(rows_of):
            rows = own[answers.has_others[own]]
            if len(rows) > 1:
                fits = learned.without(annotator, rows, first)
                scores[annotator] = _score(first[rows], others[rows], fits)
        return scores


def top_class_shares(probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """All probability on the top class of each row, shared among ties."""
    leads = probs >= probs.max(axis=1, keepdims=True) - TIE
    return np.asarray(leads / leads.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Fit:
    """How often two peers give two classes for one item, and the same without one annotator."""

    answers: PeerAnswers
    others: Float[np.ndarray, "rows classes"]
    together: Float[np.ndarray, "classes classes"]
    """Sum over items and ordered pairs of peers."""
    alone: Float[np.ndarray, "classes"]
    """Sum over the answers in these pairs, once per pair."""

    @classmethod
    def of(cls, answers: PeerAnswers, first: np.ndarray, others: np.ndarray) -> _Fit:
        rows = answers.counts & answers.has_others
        weights = answers.n_others[rows, None]
        return cls(answers, others, first[rows].T @ (weights * others[rows]), (weights * first[rows]).sum(axis=0))

    def without(
        self, annotator: int, rows: Int[np.ndarray, "own"], first: Float[np.ndarray, "rows classes"]
    ) -> Bool[np.ndarray, "classes classes"]:
        """Which classes fit, without this annotator's answers."""
        together, alone = self.together, self.alone
        if self.answers.is_peer[annotator]:
            weights = self.answers.n_others[rows, None]
            theirs = first[rows].T @ (weights * self.others[rows])
            together = together - theirs - theirs.T
            # Both halves of every pair with this annotator are removed.
            alone = alone - (weights * first[rows]).sum(axis=0) - (weights * self.others[rows]).sum(axis=0)
        n_pairs = alone.sum()
        if n_pairs < 0.5:
            # No other annotator has the same items: only equal classes fit.
            return np.eye(len(alone), dtype=bool)
        shares = alone / n_pairs
        return np.asarray(together / n_pairs - np.outer(shares, shares) > TIE)


Shares = Float[np.ndarray, "items classes"]
Fits = Bool[np.ndarray, "classes classes"]


def _score(own: Shares, others: Shares, fits: Fits) -> float:
    same_item = _fit_probability(own, others, fits).mean()
    by_chance = _on_different_items(own, others, fits)
    others_by_chance = _on_different_items(others, others, fits)
    if not fits.any() or 1 - others_by_chance < TIE:
        # All answers are equal, so the score is undefined.
        return float("nan")
    return float(np.clip((same_item - by_chance) / (1 - others_by_chance), 0.0, 1.0))


def _fit_probability(own: Shares, others: Shares, fits: Fits) -> Float[np.ndarray, "items"]:
    """The probability that two answers about the same item fit, per item."""
    return np.asarray((own @ fits.astype(np.float64) * others).sum(axis=1))


def _on_different_items(own: Shares, others: Shares, fits: Fits) -> float:
    """The mean probability that two answers fit, over all ordered pairs of different items."""
    n = len(own)
    every_pair = own.sum(axis=0) @ fits.astype(np.float64) @ others.sum(axis=0)
    return float((every_pair - _fit_probability(own, others, fits).sum()) / (n * (n - 1)))


BONUS_RULES: tuple[Any, ...] = (AgreementBonus, BrierBonus, CorrelatedAgreementBonus)


def rule_of(study: Study) -> BonusRule | None:
    """The bonus rule of a study, with its settings."""
    if study.pay is None or study.pay.bonus is None:
        return None
    bonus = study.pay.bonus
    return strategy_from_name("bonus rule", BONUS_RULES, bonus.rule, bonus.settings)  # type: ignore[no-any-return]


def check_bonus(study: Study, mistakes: Mistakes) -> None:
    """Check `[pay.bonus]`: the rule, its settings, and whether it supports the kind."""
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
        found = f"a bonus by {rule.name} with the kind {asked[0]}"
        expected = f"a kind that gives class probabilities: {', '.join(ABOUT_ONE_ITEM)}"
        mistakes.add((*table, "rule"), found, expected, "leave [pay.bonus] out, or choose another kind", "wrong-kind")
