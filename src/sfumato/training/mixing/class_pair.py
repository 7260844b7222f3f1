"""Class-pair mixup: labels in the proportion that people see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import expit
from torch import Tensor

from sfumato.tables.settings import above_0
from sfumato.training.mixing.curve import Curves, CurveTable, PairCurve, ShareCurve
from sfumato.training.mixing.mixed import MixedBatch, Pairing, check_endpoints, cross_entropies, with_endpoints


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
