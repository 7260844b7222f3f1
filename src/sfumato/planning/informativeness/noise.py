"""Noise: what triplets are worth when some of the answers are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Protocol, final, runtime_checkable

from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.tables.settings import share


@runtime_checkable
class NoiseModel(Protocol):
    """How much of a triplet is left when it is wrong with probability `flip_rate`."""

    def kept(self, flip_rate: float) -> float:
        """The share of a triplet's information that is left."""


@final
@dataclass(frozen=True)
class ChannelCapacity:
    """`1 - H2(e)`, the capacity of a channel that flips bits with probability `e` (Shannon 1948). The default.

    Nothing is left at 1/2, where answers are coin flips; all is left at 1, for who always errs can be read backwards.
    It takes the rate to be known and the flips to be independent.
    """

    def kept(self, flip_rate: float) -> float:
        return 1 - sum(-p * log2(p) for p in (share("flip_rate", flip_rate), 1 - flip_rate) if p > 0)


@final
@dataclass(frozen=True)
class TrueTriplets:
    """`1 - e`, the triplets that are right (Sucholutsky et al. 2023).

    As published; it leaves half at 1/2, as though somebody knew which half. Prefer `ChannelCapacity`.
    """

    def kept(self, flip_rate: float) -> float:
        return 1 - share("flip_rate", flip_rate)


NOISE_MODELS = (ChannelCapacity, TrueTriplets)


def noisy_triplets(n_triplets: float, flip_rate: float, model: NoiseModel | None = None) -> float:
    """What `n_triplets` are worth, in triplets without noise."""
    return n_triplets * (model or ChannelCapacity()).kept(flip_rate)


def flip_rate(*, judged: RankedLists, true: RankedLists) -> float:
    """The share of judged triplets that are false; those the truth leaves tied count half. NaN where none was judged.

    Both must be about the same objects, and the truth must know every pair. Writes the triplets out: for simulations.
    """
    n = true.n_objects
    wins = {tuple(each) for each in true.triplets().tolist()}
    triplets = judged.triplets().tolist()
    assert judged.n_objects == n
    wrong = sum(((a, c, b) in wins) + 0.5 * ((a, c, b) not in wins and (a, b, c) not in wins) for a, b, c in triplets)
    return wrong / len(triplets) if triplets else float("nan")
