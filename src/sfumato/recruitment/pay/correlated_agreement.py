"""Correlated agreement: peer prediction, which pays for saying of each item what fits that item and not just any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.recruitment.pay.rule import PeerAnswers

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
        "The bonus is the higher, the more your answer to each item fits what others say of that very item; "
        "giving the same answer everywhere earns nothing."
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
