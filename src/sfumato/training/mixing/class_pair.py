"""Class-pair mixup: labels mixed in the proportion that people see.

Also the curve from the share of an image in a mixture to the share that people see, and its fit to judgments.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import least_squares
from scipy.special import expit
from torch import Tensor

from sfumato.tables.errors import BadTable
from sfumato.tables.setting_checks import above_0, at_least, bad_setting, not_negative, one_of, share
from sfumato.training.mixing.mixture_judgments import Judgments
from sfumato.training.mixing.mixup import (
    ENDPOINTS,
    Labels,
    MixedBatch,
    Pairing,
    Pictures,
    cross_entropies,
    with_endpoints,
)

FLATTEST, STEEPEST = 0.001, 100.0
"""Bounds of the slope: without them, judgments that jump would give an infinite slope."""
N_ANCHORS = 21


@dataclass(frozen=True)
class ShareCurve:
    """`1 / (1 + exp(-k (share - x0)))`: at the share x0 people see the same amount of both images."""

    k: float = 4.59
    x0: float = 0.522

    def __post_init__(self) -> None:
        if not FLATTEST <= self.k <= STEEPEST:
            raise bad_setting("k", self.k, f"a number from {FLATTEST:g} to {STEEPEST:g}")
        share("x0", self.x0)

    def at(self, shares: Float[np.ndarray, "shares"]) -> Float[np.ndarray, "shares"]:
        return np.asarray(expit(self.k * (shares - self.x0)))


@dataclass(frozen=True)
class PairCurve:
    """The curve of two class numbers, `first` < `second`; shares are of the first."""

    first: int
    second: int
    curve: ShareCurve

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.second:
            raise bad_setting("pair", f"{self.first}, {self.second}", "two class numbers, the smaller first")


@dataclass(frozen=True)
class Curves:
    """Fitted curves: one for all pairs, and one per pair with enough judgments."""

    pooled: ShareCurve
    pairs: tuple[PairCurve, ...]
    n_judgments: tuple[int, ...]
    """The number of judgments of each of `pairs`."""


@dataclass(frozen=True)
class CurveFit:
    """Fits curves to judgments by least squares (Collins 2022, appendix C).

    A pair of classes with fewer than `at_least` judgments has no curve of its own. The others are pulled towards the
    pooled curve as if it had `prior` more judgments, spread evenly over the shares; 0 is the published method. Pairs
    of the same class are left out.
    """

    prior: float = 10.0
    at_least: int = 10

    def __post_init__(self) -> None:
        not_negative("prior", self.prior)
        at_least("at_least", self.at_least, 1)

    def fit(self, judgments: Judgments) -> Curves:
        item = judgments.item_of_rows()
        first, second = judgments.first[item], judgments.second[item]
        given, seen = judgments.generating[item], judgments.share
        # With the smaller class first, every pair has one curve: the share of the second is 1 - that of the first.
        swapped = first > second
        given, seen = np.where(swapped, 1 - given, given), np.where(swapped, 1 - seen, seen)
        low, high = np.minimum(first, second), np.maximum(first, second)
        differ = low < high
        if len(np.unique(given[differ])) < 2:
            found = f"{int(differ.sum()):,} judgments of {len(np.unique(given[differ]))} different shares"
            fix, code = "give more judgments, or use the published curve (k = 4.59, x0 = 0.522)", "too-few-judgments"
            raise BadTable(found, "judgments of mixtures of two classes in at least two different shares", fix, code)
        pooled = _fitted(given[differ], seen[differ], ShareCurve(), 0.0)
        pairs, counts = [], []
        for i, j in sorted(set(zip(low[differ].tolist(), high[differ].tolist(), strict=True))):
            rows = (low == i) & (high == j)
            if rows.sum() >= self.at_least:
                pairs.append(PairCurve(i, j, _fitted(given[rows], seen[rows], pooled, self.prior)))
                counts.append(int(rows.sum()))
        return Curves(pooled, tuple(pairs), tuple(counts))


def _fitted(
    given: Float[np.ndarray, "rows"], seen: Float[np.ndarray, "rows"], start: ShareCurve, prior: float
) -> ShareCurve:
    """The least-squares curve, pulled towards `start` with the weight of `prior` judgments."""
    anchors = np.linspace(0, 1, N_ANCHORS)
    expected, weight = start.at(anchors), np.sqrt(prior / N_ANCHORS)

    def residuals(settings: Float[np.ndarray, "two"]) -> Float[np.ndarray, "residuals"]:
        k, x0 = settings
        return np.concatenate([expit(k * (given - x0)) - seen, weight * (expit(k * (anchors - x0)) - expected)])

    found = least_squares(residuals, [start.k, start.x0], bounds=([FLATTEST, 0], [STEEPEST, 1]), xtol=1e-12, ftol=1e-12)
    return ShareCurve(float(found.x[0]), float(found.x[1]))


@dataclass(frozen=True)
class ClassPair:
    """Mixup whose labels are mixed by `lambda_g = 1 / (1 + exp(-k (lambda - x0)))` (Collins 2022, appendix C).

    k and x0 are those of all pairs of H-Mix; `pairs` holds curves of single pairs of classes from `CurveFit`, for the
    share of the smaller class number. The class of an item is the most probable class of its label; items of the same
    class are mixed as in `mixup`. The published curve maps a share of 0 to 0.08 and a share of 1 to 0.90; `anchored`
    stretches it to 0 and 1.
    """

    alpha: float = 1.0
    k: float = 4.59
    x0: float = 0.522
    anchored: bool = False
    pairs: tuple[PairCurve, ...] = ()
    endpoints: str = "soft"

    name: ClassVar[str] = "class-pair"

    def __post_init__(self) -> None:
        above_0("alpha", self.alpha)
        one_of("endpoints", self.endpoints, ENDPOINTS)
        ShareCurve(self.k, self.x0)

    @classmethod
    def fitted(
        cls, curves: Curves, *, alpha: float = 1.0, anchored: bool = False, endpoints: str = "soft"
    ) -> ClassPair:
        """The mixing with curves fitted to people's judgments."""
        return cls(alpha, curves.pooled.k, curves.pooled.x0, anchored, curves.pairs, endpoints)

    def mixed(self, x: Pictures, y: Labels, draw: torch.Generator) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        y = with_endpoints(y, self.endpoints)
        seen, first = self.seen_shares(y.shape[-1], pairing.share).to(y.device), y.argmax(dim=-1)
        own = seen[first, first[:, pairing.partner]][..., None].to(y.dtype)
        return MixedBatch(pairing.of_items(x), own * y + (1 - own) * y[:, pairing.partner], pairing.share)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)

    def seen_shares(self, n_classes: int, share: float) -> Float[Tensor, "classes classes"]:
        """The share that people see of the first class in a mixture with `share` of its image.

        For two items of the same class it is `share`.
        """
        k, x0 = _pair_settings(self.k, self.x0, self.pairs, n_classes)
        seen = expit(k * (share - x0))
        if self.anchored:
            low, high = expit(-k * x0), expit(k * (1 - x0))
            seen = (seen - low) / (high - low)
        np.fill_diagonal(seen, share)
        return torch.from_numpy(seen)


@lru_cache(maxsize=16)
def _pair_settings(k: float, x0: float, pairs: tuple[PairCurve, ...], n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """k and x0 of every ordered pair of classes. For the reverse order, `1 - tau(1 - share)`, x0 is 1 - x0."""
    ks, x0s = np.full((n_classes, n_classes), k), np.full((n_classes, n_classes), x0)
    for pair in pairs:
        if pair.second >= n_classes:
            raise bad_setting("pairs", f"{pair.first}, {pair.second}", f"class numbers below {n_classes}")
        ks[pair.first, pair.second], x0s[pair.first, pair.second] = pair.curve.k, pair.curve.x0
    below = np.tril_indices(n_classes, -1)
    ks[below], x0s[below] = ks.T[below], 1 - x0s.T[below]
    return ks, x0s
