"""Acquisition indices: the value of one more answer about each item. `INDICES` lists them all. `allocation.py` compares
the values and chooses the next item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy

from sfumato.aggregation.dirichlet_mixture import DirichletMixture, Posteriors
from sfumato.tables.setting_checks import at_least
from sfumato.tables.strategies import strategy_from_name


@dataclass(frozen=True, eq=False)
class ItemPosteriors:
    """The answers about some items and the prior they share; derived values are computed on first use.

    Under a Dirichlet mixture everything about the next two answers has a closed form. With posterior weights `w_j`,
    parameters `a_j = alpha_j + counts` and their sums `A_j`, the next two answers are classes k and l with probability

        pair[k, l] = sum_j w_j a_jk (a_jl + [k = l]) / (A_j (A_j + 1)).

    The information in an answer is what it says about the next one, so this matrix is all an index needs.
    """

    counts: Float[np.ndarray, "items classes"]
    prior: DirichletMixture

    @cached_property
    def n_answers(self) -> Float[np.ndarray, "items"]:
        """Answers so far; a belief counts as one, split over its classes."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def lead(self) -> Float[np.ndarray, "items"]:
        return lead_of(self.counts)

    @cached_property
    def posteriors(self) -> Posteriors:
        return self.prior.given(self.counts)

    @cached_property
    def mean(self) -> Float[np.ndarray, "items classes"]:
        """The probability of each class to be the next answer."""
        # Per item, not as one matrix product: an item then gets the same number alone and among others.
        a = self.posteriors.alpha + self.counts[:, None]
        mean = (a * (self.posteriors.weights / a.sum(axis=2))[:, :, None]).sum(axis=1)
        return np.asarray(mean / mean.sum(axis=1, keepdims=True))

    @cached_property
    def pair(self) -> Float[np.ndarray, "items classes classes"]:
        """The joint probability of the next two answers."""
        a = self.posteriors.alpha + self.counts[:, None]
        mass = a.sum(axis=2)
        weighted = a * (self.posteriors.weights / (mass * (mass + 1)))[:, :, None]
        pair = np.matmul(weighted.transpose(0, 2, 1), a)
        diagonal = np.arange(a.shape[2])
        pair[:, diagonal, diagonal] += weighted.sum(axis=1)
        return np.asarray(pair / pair.sum(axis=(1, 2), keepdims=True))

    @cached_property
    def l2_risk(self) -> Float[np.ndarray, "items"]:
        """The expected squared distance between the mean and the true distribution."""
        second = np.trace(self.pair, axis1=1, axis2=2)
        return np.asarray(np.maximum(second - (self.mean**2).sum(axis=1), 0.0))

    @cached_property
    def kl_risk(self) -> Float[np.ndarray, "items"]:
        """The expected KL divergence of the true distribution from the mean, in nats."""
        return self.posteriors.expected_kl()


def lead_of(counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items"]:
    """Answers by which the most frequent class of each item is ahead of the second."""
    most = np.sort(counts, axis=1)
    return np.asarray(most[:, -1] - most[:, -2])


def posterior_means(counts: Float[np.ndarray, "items classes"], prior: DirichletMixture) -> np.ndarray:
    """The posterior mean of each item, computed once per distinct row of counts."""
    rows, place = np.unique(counts, axis=0, return_inverse=True)
    return np.asarray(ItemPosteriors(rows, prior).mean[place.ravel()])


ENOUGH = -np.inf
"""The value of another answer when an index wants no more."""


@runtime_checkable
class AcquisitionIndex(Protocol):
    """Gives every item a number. The item with the highest number is next; ties go to the item with the fewest answers.

    The number depends only on the item's own answers and on the prior, so after an answer only that item is recomputed
    until the prior is fitted again. `ENOUGH` means that no more answers are wanted.
    """

    @property
    def name(self) -> str: ...

    @property
    def per_second(self) -> bool:
        """Whether the value is divided by the seconds per answer."""

    @property
    def uses_prior(self) -> bool:
        """Whether the value depends on the prior."""

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        """The value of one more answer about each item."""


@dataclass(frozen=True)
class EntropyIndex:
    """The entropy of the expected label per second, `-sum_k m_k log m_k`, in nats.

    The usual first choice in active learning (Settles 2009, Active Learning Literature Survey), here for comparison. It
    does not separate uncertainty that answers would resolve from disagreement that they would only confirm, and keeps
    asking about items that are known to be contested. Prefer `kl` or `l2`, or limit the answers per item.
    """

    name: ClassVar[str] = "entropy"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.asarray(-xlogy(known.mean, known.mean).sum(axis=1))


@dataclass(frozen=True)
class KLIndex:
    """The expected KL risk that one more answer removes, per second: `H(m) - sum_k m_k H(m^(k))`, in nats.

    `m` is the posterior mean, `m^(k)` the mean after an answer of class k. It is the mutual information between the
    next two answers: `sum_kl pair_kl log(pair_kl / (m_k m_l))`. Use it for soft labels that are scored with log-loss;
    `l2` gives less weight to rare classes.

    MacKay 1992, Information-based objective functions for active data selection.
    """

    name: ClassVar[str] = "kl"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        alone = known.mean[:, :, None] * known.mean[:, None]
        ratio = known.pair / alone
        # No term is negative, so nothing cancels when an answer would say almost nothing.
        return np.asarray((alone * (xlogy(ratio, ratio) - ratio + 1)).sum(axis=(1, 2)))


@dataclass(frozen=True)
class L2Index:
    """The expected squared error that one more answer removes, per second: `sum_k m_k |m^(k) - m|^2`.

    `m` is the posterior mean, `m^(k)` the mean after an answer of class k. The expected risk falls by exactly this
    amount (law of total variance). It prefers items whose large probabilities are uncertain; prefer `kl` for labels
    that are scored or trained on with log-loss, where small probabilities count.

    Frazier, Powell and Dayanik 2008, A knowledge-gradient policy for sequential information collection.
    """

    name: ClassVar[str] = "l2"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        after = known.pair / known.mean[:, :, None]
        moved = ((after - known.mean[:, None]) ** 2).sum(axis=2)
        return np.asarray((known.mean * moved).sum(axis=1))


@dataclass(frozen=True)
class LeadIndex:
    """Fewest answers first, until the most frequent class is `lead` answers ahead of the second.

    For the most frequent label only: a sequential probability ratio test between the two leading classes (Wald 1945,
    Sequential tests of statistical hypotheses). Prefer `kl` for soft labels. Without a maximum number of answers, an
    item that divides people evenly may never be finished.
    """

    lead: int = 8

    name: ClassVar[str] = "lead"
    per_second: ClassVar[bool] = False
    uses_prior: ClassVar[bool] = False

    def __post_init__(self) -> None:
        at_least("lead", self.lead, 1)

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.where(known.lead >= self.lead - 1e-9, ENOUGH, 1 / (1 + known.n_answers))


@dataclass(frozen=True)
class NotUnanimousIndex:
    """The probability that `panel` people, including those who answered already, do not all give the same answer, per
    second.

    It is 1 for items on which people differed already (fewest answers first), else one minus `sum_k sum_j w_j prod_t
    (a_jk + t) / (A_j + t)` over the missing answers. Use it to find contested items; prefer `kl` to measure how
    contested they are.
    """

    panel: int = 10

    name: ClassVar[str] = "not-unanimous"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("panel", self.panel, 2)

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        a = known.posteriors.alpha + known.counts[:, None]
        mass = a.sum(axis=2, keepdims=True)
        missing = np.maximum(self.panel - known.n_answers, 0)[:, None, None]
        agree = np.ones(a.shape)
        for t in range(self.panel):
            agree *= np.where(t < missing, (a + t) / (mass + t), 1.0)
        of_class = (known.posteriors.weights[:, :, None] * agree).sum(axis=1)
        # A class can still be unanimous only if no other class was chosen.
        possible = known.n_answers[:, None] - known.counts < 1e-9
        return np.asarray(np.clip(1 - (of_class * possible).sum(axis=1), 0.0, 1.0))


@dataclass(frozen=True)
class UniformIndex:
    """Fewest answers first: `1 / (1 + n)`, regardless of the answers and their cost. The baseline.

    Prefer it when items must be comparable, or when a later analysis cannot know how answers were assigned.
    """

    name: ClassVar[str] = "uniform"
    per_second: ClassVar[bool] = False
    uses_prior: ClassVar[bool] = False

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.asarray(1 / (1 + known.n_answers))


INDICES: tuple[Any, ...] = (UniformIndex, L2Index, KLIndex, EntropyIndex, NotUnanimousIndex, LeadIndex)


def index_named(name: str, settings: Mapping[str, Any] | None = None) -> AcquisitionIndex:
    """The index called `name`, with these settings."""
    return strategy_from_name("policy", INDICES, name, settings or {})  # type: ignore[no-any-return]
