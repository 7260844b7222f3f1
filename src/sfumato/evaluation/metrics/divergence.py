"""Divergences between predictions and people's labels. p is the prediction, q is people's label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import NOT_NEGATIVE, SHARE, Better, Estimate, mean_over_items
from sfumato.evaluation.score_floor import (
    Floor,
    bound,
    floor_of_votes,
    jsd_of_constant,
    kl_of_constant,
    total_variation_of_constant,
)
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.setting_checks import one_of


@dataclass(frozen=True)
class CrossEntropy:
    """The mean over items of `-sum_k q_k ln p_k`, in nats.

    Never clipped: it is infinite if people chose a class of probability 0. Unbiased for any number of votes, so compare
    models by it. It contains the entropy of the label (its floor), so do not compare it between groups of items; there,
    compare `kl_divergence` minus its floor.
    """

    name, better, bounds = "cross_entropy", Better.LOW, NOT_NEGATIVE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(matched.cross_entropies, bootstrap, floor=bound(float(matched.people_entropy.mean())))


@dataclass(frozen=True)
class KLDivergence:
    """The mean over items of `sum_k q_k ln(q_k / p_k)`, in nats: people are the reference (Kullback & Leibler 1951).

    `cross_entropy` minus the entropy of the label. Infinite if people chose a class of probability 0; prefer `jsd`
    where this must not decide. The entropy of a label of few votes is too low, and the divergence too high by the same
    amount for every model: the floor, the value of the crowd's own distribution against the same number of votes.
    Differences between models are those of `cross_entropy`, which has no such bias.
    """

    name, better, bounds = "kl_divergence", Better.LOW, NOT_NEGATIVE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        excess = np.maximum(matched.cross_entropies - matched.people_entropy, 0.0)
        return mean_over_items(excess, bootstrap, floor=floor_of_votes(matched, _kl_terms, kl_of_constant))


def _kl_terms(q: Float[np.ndarray, "nodes n"], p: Float[np.ndarray, "nodes n"]) -> Float[np.ndarray, "nodes n"]:
    return np.asarray(q * np.log(q / p, out=np.zeros(q.shape), where=q > 0))


UNITS = {"nats": 1.0, "bits": np.log(2)}
"""Nats per unit."""


@dataclass(frozen=True)
class JSD:
    """The mean over items of the Jensen-Shannon divergence `H(m) - (H(p) + H(q)) / 2` with m = (p + q) / 2, in nats
    or, with `base="bits"`, in bits (Lin 1991).

    Symmetric and finite: at most ln 2 nats, or 1 bit. Prefer `kl_divergence` where predicting probability 0 for a
    class that people chose should cost most. The floor is the value of the crowd's own distribution against the same
    number of votes, if `people` are votes.
    """

    base: str = "nats"

    name, better, bounds = "jsd", Better.LOW, SHARE

    def __post_init__(self) -> None:
        one_of("base", self.base, tuple(UNITS))

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        unit = UNITS[self.base]
        nats = floor_of_votes(matched, _jsd_terms, jsd_of_constant)
        return mean_over_items(matched.js_divergences / unit, bootstrap, floor=Floor(nats.value / unit, nats.note))


def _jsd_terms(q: Float[np.ndarray, "nodes n"], p: Float[np.ndarray, "nodes n"]) -> Float[np.ndarray, "nodes n"]:
    middle = (p + q) / 2
    logs = np.log(q / middle, out=np.zeros(q.shape), where=q > 0)
    return np.asarray((q * logs + p * np.log(p / middle)) / 2)


@dataclass(frozen=True)
class JSDistance:
    """The mean over items of the square root of the Jensen-Shannon divergence, in nats or bits: a metric in the
    mathematical sense (Endres & Schindelin 2003), at most sqrt(ln 2) or 1.

    Small differences count more than in `jsd`. Prefer `jsd` to average information over items.
    """

    base: str = "nats"

    name, better, bounds = "js_distance", Better.LOW, SHARE

    def __post_init__(self) -> None:
        one_of("base", self.base, tuple(UNITS))

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        return mean_over_items(np.sqrt(matched.js_divergences / UNITS[self.base]), bootstrap)


@dataclass(frozen=True)
class TotalVariation:
    """The mean over items of `sum_k |p_k - q_k| / 2`: the probability mass that differs, from 0 to 1.

    Bounded, symmetric and easy to explain. The Manhattan distance of LeWiDi is twice this value, and DistCE (Baan et
    al. 2022) is this value. Prefer a proper score (`cross_entropy`, `brier`) to choose between models. The floor is the
    value of the crowd's own distribution against the same number of votes, if `people` are votes.
    """

    name, better, bounds = "total_variation", Better.LOW, SHARE

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        distances = np.abs(matched.predicted - matched.people).sum(axis=1) / 2
        floor = floor_of_votes(matched, _total_variation_terms, total_variation_of_constant)
        return mean_over_items(distances, bootstrap, floor=floor)


def _total_variation_terms(
    q: Float[np.ndarray, "nodes n"], p: Float[np.ndarray, "nodes n"]
) -> Float[np.ndarray, "nodes n"]:
    return np.asarray(np.abs(q - p) / 2)


@dataclass(frozen=True)
class Wasserstein:
    """The mean over items of `sum_j |P_j - Q_j|`, P and Q the cumulative distributions: how many classes the
    probability mass has to move.

    Only for ordered classes (ratings, grades), one step apart: those of tables that say so, or with `ordered=True` in
    the order of the table. For unordered classes prefer `total_variation`. Also known as earth mover's distance, and as
    the absolute form of the ranked probability score (Vallender 1974).
    """

    ordered: bool = False

    name, better, bounds = "wasserstein", Better.LOW, NOT_NEGATIVE

    @property
    def needs(self) -> tuple[str, ...]:
        return () if self.ordered else ("class_order",)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        columns = slice(None) if matched.class_order is None else list(matched.class_order)
        apart = np.cumsum((matched.predicted - matched.people)[:, columns], axis=1)[:, :-1]
        return mean_over_items(np.abs(apart).sum(axis=1), bootstrap)
