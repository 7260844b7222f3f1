"""Cross-entropy.

Kullback-Leibler divergence.

Jensen-Shannon divergence.

Jensen-Shannon distance.

Total variation distance.

Wasserstein distance between ordered classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Better, Estimate, floor_of_votes, mean_over_items
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.settings import one_of


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over items of `-sum_k q_k ln p_k`, in nats.

    Never clipped: one impossible thing that happened makes it infinite. It holds the label's own entropy (its floor),
    so it must not be compared between groups of items; `kl_divergence` can be.
    """

    name: ClassVar[str] = "cross_entropy"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        floor = float(compared.people_entropy.mean())
        return mean_over_items(compared.cross_entropies, resampling, floor=floor)


@dataclass(frozen=True)
class KLDivergence:
    """The mean over items of `sum_k q_k ln(q_k / p_k)`, in nats: people are the reference (Kullback & Leibler 1951).

    What `cross_entropy` is above its floor, so it may be compared between groups of items. Infinite where something
    people saw was held to be impossible; prefer `jsd` where that must not decide alone. The floor is what the crowd's
    own distribution would get against as many votes, where `people` are votes (see `votes`).
    """

    name: ClassVar[str] = "kl_divergence"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        divergences = np.maximum(compared.cross_entropies - compared.people_entropy, 0.0)
        return mean_over_items(divergences, resampling, floor=floor_of_votes(compared, _kl_terms))


def _kl_terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    return q * np.log(q / p, out=np.zeros(len(q)), where=q > 0)


UNITS = {"nats": 1.0, "bits": np.log(2)}
"""Nats in a unit."""


@dataclass(frozen=True)
class JSD:
    """The mean over items of `H(m) - (H(p) + H(q)) / 2` with m = (p + q) / 2, in nats or, with `base="bits"`, in bits
    (Lin 1991).

    Symmetric and finite: at most ln 2, or 1 bit. Prefer `kl_divergence` where holding the possible for impossible
    should cost most. The floor is what the crowd's own distribution would get against as many votes, where `people` are
    votes (see `votes`).
    """

    name: ClassVar[str] = "jsd"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    base: str = "nats"

    def __post_init__(self) -> None:
        one_of("base", self.base, tuple(UNITS))

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        unit = UNITS[self.base]
        floor = floor_of_votes(compared, _jsd_terms) / unit
        return mean_over_items(compared.js_divergences / unit, resampling, floor=floor)


def _jsd_terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    middle = (p + q) / 2
    logs = np.log(q / middle, out=np.zeros(len(q)), where=q > 0)
    return np.asarray((q * logs + p * np.log(p / middle)) / 2)


@dataclass(frozen=True)
class JSDistance:
    """The mean over items of the square root of the Jensen-Shannon divergence, in nats or bits: a metric in the
    mathematical sense (Endres & Schindelin 2003), at most sqrt(ln 2) or 1.

    Small differences weigh more than in `jsd`, which is the one to average when items are to be weighed by information.
    """

    name: ClassVar[str] = "js_distance"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    base: str = "nats"

    def __post_init__(self) -> None:
        one_of("base", self.base, tuple(UNITS))

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        return mean_over_items(np.sqrt(compared.js_divergences / UNITS[self.base]), resampling)


@dataclass(frozen=True)
class TotalVariation:
    """The mean over items of `sum_k |p_k - q_k| / 2`: the mass that lies elsewhere, from 0 to 1.

    Bounded, symmetric, easy to say; LeWiDi's Manhattan distance is twice it, and DistCE (Baan et al. 2022) is it.
    Prefer a proper score (`cross_entropy`, `brier`) to choose between models. The floor is what the crowd's own
    distribution would get against as many votes, where `people` are votes (see `votes`).
    """

    name: ClassVar[str] = "total_variation"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return ""

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        distances = np.abs(compared.predicted - compared.people).sum(axis=1) / 2
        return mean_over_items(
            np.asarray(distances), resampling, floor=floor_of_votes(compared, _total_variation_terms)
        )


def _total_variation_terms(q: Float[np.ndarray, "n"], p: float) -> Float[np.ndarray, "n"]:
    return np.asarray(np.abs(q - p) / 2)


@dataclass(frozen=True)
class Wasserstein:
    """The mean over items of `sum_j |P_j - Q_j|`, P and Q the cumulated distributions: how many steps the mass has to
    move.

    Only for classes with an order (ratings, grades), which must be said: `ordered=True` takes them from first to last
    as the table has them, one step apart. For classes without, prefer `total_variation`. Also known as earth mover's
    distance, and as the ranked probability score's absolute form (Vallender 1974).
    """

    name: ClassVar[str] = "wasserstein"
    better: ClassVar[Better] = Better.LOW
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    ordered: bool = False

    def missing(self, compared: MatchedLabels) -> str:  # noqa: ARG002
        return "" if self.ordered else "needs classes that have an order: say so with the setting ordered"

    def estimate(self, compared: MatchedLabels, resampling: Bootstrap) -> Estimate:
        apart = np.cumsum(compared.predicted - compared.people, axis=1)[:, :-1]
        return mean_over_items(np.asarray(np.abs(apart).sum(axis=1)), resampling)
