"""Goals: what labels are wanted for. A kind of label worth much for one goal may be worth little for another.

Utilities: what recovering so much of the truth is worth to whoever plans. `UTILITIES` lists all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from typing import ClassVar, Protocol, final, runtime_checkable

from sfumato.tables.errors import unknown
from sfumato.tables.settings import above_0, not_negative


class Goal(StrEnum):
    """What the labels are wanted for; `meaning` says it in a line."""

    DISTRIBUTION = "distribution"
    CLASS = "class"
    GEOMETRY = "geometry"
    CALIBRATION = "calibration"

    @property
    def meaning(self) -> str:
        """The goal in a line."""
        return MEANINGS[self]


MEANINGS = {
    Goal.DISTRIBUTION: "how people judge each item: the crowd's distribution over the classes",
    Goal.CLASS: "the class of each item: the true one, or the one named most often",
    Goal.GEOMETRY: "which items are alike: for representations and few-shot learning",
    Goal.CALIBRATION: "how well a model trained on the labels knows when to doubt",
}


def goal_named(name: str) -> Goal:
    """The goal called `name`; the one place where a name becomes a goal."""
    if name not in list(Goal):
        raise unknown("goal", name, [goal.value for goal in Goal])
    return Goal(name)


NEAR = 1e-3


@runtime_checkable
class Utility(Protocol):
    """`of(rho)` for a recovery `rho`; only differences matter."""

    name: ClassVar[str]

    def of(self, rho: float) -> float: ...


@final
@dataclass(frozen=True)
class LinearUtility:
    """`rho`: every bit of recovery is worth the same. The default."""

    name: ClassVar[str] = "linear"

    def of(self, rho: float) -> float:
        return rho


@final
@dataclass(frozen=True)
class SigmoidUtility:
    """`1 / (1 + exp(-steepness (rho - middle)))`: what counts is to come past the middle.

    Sucholutsky et al. (2023) have steepness 1 and middle 0, which is nearly linear; prefer a steep one around what your
    use needs.
    """

    steepness: float = 1.0
    middle: float = 0.0

    name: ClassVar[str] = "sigmoid"

    def __post_init__(self) -> None:
        above_0("steepness", self.steepness)

    def of(self, rho: float) -> float:
        return 1 / (1 + exp(-self.steepness * (rho - self.middle)))


@final
@dataclass(frozen=True)
class LogitUtility:
    """`log(rho / (1 - rho))`: the last bits are worth most. Recovery is kept within .001 and .999."""

    name: ClassVar[str] = "logit"

    def of(self, rho: float) -> float:
        kept = min(max(rho, NEAR), 1 - NEAR)
        return log(kept / (1 - kept))


UTILITIES: tuple[type[LinearUtility] | type[SigmoidUtility] | type[LogitUtility], ...] = (
    LinearUtility,
    SigmoidUtility,
    LogitUtility,
)


def utility_named(name: str) -> Utility:
    """The utility called `name`; the one place where a name becomes an object."""
    for utility in UTILITIES:
        if utility.name == name:
            return utility()
    raise unknown("utility", name, [utility.name for utility in UTILITIES])


def subjective_loss(rho: float, cost: float, *, utility: Utility | None = None, beta: float) -> float:
    """`L = beta c - u(rho)`, to be made small (Sucholutsky et al. 2023): `beta` says how much cost hurts.

    The cost is in hard labels, for the same items: 1 for a hard label. The paper takes a soft label to cost as many as
    there are classes; measured times say otherwise.
    """
    return not_negative("beta", beta) * not_negative("cost", cost) - (utility or LinearUtility()).of(rho)
