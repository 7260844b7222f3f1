"""What is known of items when the next one is chosen: their answers, and what the prior makes of them.

The Index protocol: what one more answer about an item is worth.

Entropy: how much people are expected to disagree.

KL: what an answer takes off the expected log-loss.

L2: what an answer takes off the expected squared error.

Lead: enough is asked once one class is well ahead.

Not unanimous: how probable it is that a panel would not be of one mind.

Uniform: as many answers for every item.

What one more answer about an item is worth. One index a file; `INDICES` lists them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy

from sfumato.aggregation.dirichlet_mixture import DirichletMixture, Posteriors
from sfumato.tables.settings import at_least
from sfumato.tables.strategies import strategy_from_name


@dataclass(frozen=True, eq=False)
class ItemPosteriors:
    """The answers about some items and the prior that all items share; the rest is worked out when first asked for.

    Under a Dirichlet mixture everything about the next two answers has a closed form. With posterior weights `w_j`,
    parameters `a_j = alpha_j + counts` and their sums `A_j`, the next answers are classes k and then l with probability

        pair[k, l] = sum_j w_j a_jk (a_jl + [k = l]) / (A_j (A_j + 1)).

    What an answer teaches is what it says about the one after it, so that this matrix is all an index needs.
    """

    counts: Float[np.ndarray, "items classes"]
    prior: DirichletMixture

    @cached_property
    def n_answers(self) -> Float[np.ndarray, "items"]:
        """Answers so far; a belief counts as one, its classes as fractions."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def lead(self) -> Float[np.ndarray, "items"]:
        """Answers by which the most frequent class is ahead of the second."""
        most = np.sort(self.counts, axis=1)
        return np.asarray(most[:, -1] - most[:, -2])

    @cached_property
    def posteriors(self) -> Posteriors:
        """What is known of each item's distribution."""
        return self.prior.given(self.counts)

    @cached_property
    def mean(self) -> Float[np.ndarray, "items classes"]:
        """How probable each class is to be the next answer."""
        # Item by item, not as one product of matrices: an item alone then gets the very number it gets among others.
        a = self.posteriors.alpha + self.counts[:, None]
        mean = (a * (self.posteriors.weights / a.sum(axis=2))[:, :, None]).sum(axis=1)
        return np.asarray(mean / mean.sum(axis=1, keepdims=True))

    @cached_property
    def pair(self) -> Float[np.ndarray, "items classes classes"]:
        """How probable each class is to be the next answer and each to be the one after it."""
        a = self.posteriors.alpha + self.counts[:, None]
        mass = a.sum(axis=2)
        weighted = a * (self.posteriors.weights / (mass * (mass + 1)))[:, :, None]
        pair = np.matmul(weighted.transpose(0, 2, 1), a)
        diagonal = np.arange(a.shape[2])
        pair[:, diagonal, diagonal] += weighted.sum(axis=1)
        return np.asarray(pair / pair.sum(axis=(1, 2), keepdims=True))

    @cached_property
    def l2_risk(self) -> Float[np.ndarray, "items"]:
        """The squared distance still expected between the mean and the true distribution."""
        second = np.trace(self.pair, axis1=1, axis2=2)
        return np.asarray(np.maximum(second - (self.mean**2).sum(axis=1), 0.0))

    @cached_property
    def kl_risk(self) -> Float[np.ndarray, "items"]:
        """The KL divergence still expected of the true distribution from the mean, in nats."""
        return self.posteriors.expected_kl()


ENOUGH = -np.inf
"""The worth of another answer where an index wants no more."""


@runtime_checkable
class AcquisitionIndex(Protocol):
    """Gives every item a number; the highest goes next, among equals the one with the fewest answers.

    A number depends on the item's own answers and on the prior alone: only the item just answered has to be looked at
    again, until the prior is fitted anew. `ENOUGH` stands where no more is wanted.
    """

    @property
    def name(self) -> str: ...

    @property
    def per_second(self) -> bool:
        """Whether the worth is weighed against what an answer costs; where not, costs are nothing to it."""

    @property
    def uses_prior(self) -> bool:
        """Whether the worth depends on the prior; where not, nothing is gained by fitting it anew."""

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        """What one more answer about each item is worth."""


@dataclass(frozen=True)
class EntropyIndex:
    """The entropy of the expected label, a second: `-sum_k m_k log m_k`, in nats.

    What active learning asks for first (Settles 2009, Active Learning Literature Survey), here for comparison: it does
    not tell doubt that answers would settle from disagreement that they would only confirm, and keeps asking about
    items that are known well to be contested. Prefer `kl` or `l2`; or give items a most of answers.
    """

    name: ClassVar[str] = "entropy"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.asarray(-xlogy(known.mean, known.mean).sum(axis=1))


@dataclass(frozen=True)
class KLIndex:
    """The expected KL risk that one more answer takes away, a second: `H(m) - sum_k m_k H(m^(k))`, in nats.

    `m` is the posterior mean, `m^(k)` what it becomes if the next answer is class k. It is the mutual information
    between the next answer and the one after it: `sum_kl pair_kl log(pair_kl / (m_k m_l))`. The index of choice for
    soft labels that log-loss will judge; `l2` is less drawn to rare classes.

    MacKay 1992, Information-based objective functions for active data selection.
    """

    name: ClassVar[str] = "kl"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        alone = known.mean[:, :, None] * known.mean[:, None]
        ratio = known.pair / alone
        # Term by term not negative, so that nothing cancels where an answer would teach next to nothing.
        return np.asarray((alone * (xlogy(ratio, ratio) - ratio + 1)).sum(axis=(1, 2)))


@dataclass(frozen=True)
class L2Index:
    """The expected squared error that one more answer takes away, a second: `sum_k m_k |m^(k) - m|^2`.

    `m` is the posterior mean, `m^(k)` what it becomes if the next answer is class k. The risk after the answer is
    smaller by exactly this in expectation (law of total variance). Goes for items whose large probabilities are in
    doubt; prefer `kl` for labels that will be judged or trained on by log-loss, where small probabilities count.

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

    For the most frequent label alone: a sequential probability ratio test between the two leading classes (Wald 1945,
    Sequential tests of statistical hypotheses). What is wanted of soft labels is more than who leads: prefer `kl` then.
    Without a most of answers an item that divides people evenly may never be done.
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
    """The probability that `panel` people, those asked already among them, do not all say the same, a second.

    1 for items on which people differed already (those with the fewest answers go first), else one minus
    `sum_k sum_j w_j prod_t (a_jk + t) / (A_j + t)` over the answers that are still missing. To find contested items;
    prefer `kl` to learn how contested they are.
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
        # A class can still be everybody's only if nobody said another.
        possible = known.n_answers[:, None] - known.counts < 1e-9
        return np.asarray(np.clip(1 - (of_class * possible).sum(axis=1), 0.0, 1.0))


@dataclass(frozen=True)
class UniformIndex:
    """Fewest answers first: `1 / (1 + n)`, whatever was answered and whatever it costs. The baseline.

    Prefer it where items must be comparable, or where a later analysis cannot know how answers were allotted.
    """

    name: ClassVar[str] = "uniform"
    per_second: ClassVar[bool] = False
    uses_prior: ClassVar[bool] = False

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        return np.asarray(1 / (1 + known.n_answers))


INDICES: tuple[Any, ...] = (UniformIndex, L2Index, KLIndex, EntropyIndex, NotUnanimousIndex, LeadIndex)

__all__ = [
    "ENOUGH",
    "INDICES",
    "AcquisitionIndex",
    "EntropyIndex",
    "ItemPosteriors",
    "KLIndex",
    "L2Index",
    "LeadIndex",
    "NotUnanimousIndex",
    "UniformIndex",
    "index_named",
]


def index_named(name: str, settings: Mapping[str, Any] | None = None) -> AcquisitionIndex:
    """The index called `name`; the one place where a name becomes an object."""
    return strategy_from_name("policy", INDICES, name, settings or {})  # type: ignore[no-any-return]
