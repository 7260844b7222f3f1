"""The curve from how much of an image went into a mixture to how much of it people see, and its fit to judgments.

Class-pair mixup: labels in the proportion that people see.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from sfumato.tables.settings import above_0, bad_setting, not_negative, share
from sfumato.training.mixing.batch import MixedBatch, Pairing, check_endpoints, cross_entropies, with_endpoints
from sfumato.training.mixing.mixture_judgments import Judgments

FLATTEST, STEEPEST = 0.001, 100.0
"""Between these every curve is a curve: judgments that jump would make the steepest infinite."""
N_ANCHORS = 21


@dataclass(frozen=True)
class ShareCurve:
    """`1 / (1 + exp(-k (share - x0)))`: x0 is the share at which people see as much of one image as of the other."""

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
    """The curve of two classes by number, `first` < `second`; shares are of the first."""

    first: int
    second: int
    curve: ShareCurve

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.second:
            raise bad_setting("pair", f"{self.first}, {self.second}", "two class numbers, the smaller first")


@dataclass(frozen=True)
class Curves:
    """What was fitted: one curve for all pairs, and those of the pairs that people judged often enough."""

    pooled: ShareCurve
    pairs: tuple[PairCurve, ...]
    n_judgments: tuple[int, ...]
    """How many judgments each of `pairs` rests on."""


@dataclass(frozen=True)
class CurveFit:
    """Fits curves to judgments by least squares (Collins 2022, appendix C).

    A pair of classes with fewer than `at_least` judgments gets no curve of its own. The others are drawn towards the
    pooled curve as if `prior` further judgments, spread evenly over the shares, lay on it; 0 is the published method.
    Pairs of one class say nothing and are left out.
    """

    prior: float = 10.0
    at_least: int = 10

    def __post_init__(self) -> None:
        not_negative("prior", self.prior)
        if self.at_least < 1:
            raise bad_setting("at_least", self.at_least, "1 or more")

    def fit(self, judgments: Judgments) -> Curves:
        item = judgments.item_of_rows()
        first, second = judgments.first[item], judgments.second[item]
        given, seen = judgments.generating[item], judgments.share
        # In canonical order, every pair has one curve: a share of the second is what is left of the first.
        turned = first > second
        given, seen = np.where(turned, 1 - given, given), np.where(turned, 1 - seen, seen)
        low, high = np.minimum(first, second), np.maximum(first, second)
        told = low < high
        if len(np.unique(given[told])) < 2:
            raise BadTable(
                f"found {int(told.sum()):,} judgments of {len(np.unique(given[told]))} different shares",
                expected="judgments of mixtures of two classes in at least two different shares",
                fix="give more judgments, or take the published curve (k = 4.59, x0 = .522)",
                code="too-few-judgments",
            )
        pooled = _fitted(given[told], seen[told], ShareCurve(), 0.0)
        pairs, counts = [], []
        for i, j in sorted(set(zip(low[told].tolist(), high[told].tolist(), strict=True))):
            rows = (low == i) & (high == j)
            if rows.sum() >= self.at_least:
                pairs.append(PairCurve(i, j, _fitted(given[rows], seen[rows], pooled, self.prior)))
                counts.append(int(rows.sum()))
        return Curves(pooled, tuple(pairs), tuple(counts))


def _fitted(
    given: Float[np.ndarray, "rows"], seen: Float[np.ndarray, "rows"], start: ShareCurve, prior: float
) -> ShareCurve:
    """The least-squares curve, drawn towards `start` with the weight of `prior` judgments."""
    anchors = np.linspace(0, 1, N_ANCHORS)
    expected, weight = start.at(anchors), np.sqrt(prior / N_ANCHORS)

    def residuals(settings: Float[np.ndarray, "two"]) -> Float[np.ndarray, "residuals"]:
        k, x0 = settings
        return np.concatenate([expit(k * (given - x0)) - seen, weight * (expit(k * (anchors - x0)) - expected)])

    found = least_squares(residuals, [start.k, start.x0], bounds=([FLATTEST, 0], [STEEPEST, 1]), xtol=1e-12, ftol=1e-12)
    return ShareCurve(float(found.x[0]), float(found.x[1]))


@dataclass(frozen=True, eq=False)
class CurveTable:
    """k and x0 of every ordered pair of classes."""

    k: Float[np.ndarray, "classes classes"]
    x0: Float[np.ndarray, "classes classes"]

    @classmethod
    def of(cls, curve: ShareCurve, pairs: Sequence[PairCurve], n_classes: int) -> CurveTable:
        """`curve` for all but `pairs`. Turned round, `1 - tau(1 - share)` keeps its k, and x0 becomes 1 - x0."""
        k, x0 = np.full((n_classes, n_classes), curve.k), np.full((n_classes, n_classes), curve.x0)
        for pair in pairs:
            if pair.second >= n_classes:
                raise bad_setting("pairs", f"{pair.first}, {pair.second}", f"class numbers below {n_classes}")
            k[pair.first, pair.second], x0[pair.first, pair.second] = pair.curve.k, pair.curve.x0
        below = np.tril_indices(n_classes, -1)
        k[below], x0[below] = k.T[below], 1 - x0.T[below]
        return cls(k, x0)


@dataclass(frozen=True)
class ClassPair:
    """Mixup whose labels are mixed by `lambda_g = 1 / (1 + exp(-k (lambda - x0)))` (Collins 2022, appendix C).

    k and x0 are those of H-Mix, all pairs together; `pairs` holds the curves of single pairs of classes, as
    `CurveFit` finds them. A curve is about the smaller class number of the two. The class of an item is the most
    probable of its label; two items of one class mix as in `mixup`. The published curve gives a share of 0 still .08
    and a share of 1 only .90: `anchored` stretches it from 0 to 1.
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
        check_endpoints(self.endpoints)
        ShareCurve(self.k, self.x0)

    @classmethod
    def fitted(
        cls, curves: Curves, *, alpha: float = 1.0, anchored: bool = False, endpoints: str = "soft"
    ) -> ClassPair:
        """The mixing with the curves that people's judgments gave."""
        return cls(alpha, curves.pooled.k, curves.pooled.x0, anchored, curves.pairs, endpoints)

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        pairing = Pairing.drawn(len(x), self.alpha, draw, x.device)
        y = with_endpoints(y, self.endpoints)
        own = self._shares(y, pairing)[..., None].to(y.dtype)
        return MixedBatch(pairing.of_items(x), own * y + (1 - own) * y[:, pairing.partner], pairing.share)

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)

    def _shares(self, y: Float[Tensor, "members batch classes"], pairing: Pairing) -> Float[Tensor, "members batch"]:
        """How much of its own label every item keeps."""
        seen = _seen(self, y.shape[-1], pairing.share).to(y.device)
        first = y.argmax(dim=-1)
        return seen[first, first[:, pairing.partner]]


def _seen(mixing: ClassPair, n_classes: int, share: float) -> Float[Tensor, "classes classes"]:
    """How much people see of the first class where `share` of its image went in; one class alone stays as it is."""
    table = _table(mixing.k, mixing.x0, mixing.pairs, n_classes)
    seen = expit(table.k * (share - table.x0))
    if mixing.anchored:
        low, high = expit(-table.k * table.x0), expit(table.k * (1 - table.x0))
        seen = (seen - low) / (high - low)
    np.fill_diagonal(seen, share)
    return torch.from_numpy(seen)


@lru_cache(maxsize=16)
def _table(k: float, x0: float, pairs: tuple[PairCurve, ...], n_classes: int) -> CurveTable:
    return CurveTable.of(ShareCurve(k, x0), pairs, n_classes)
