"""Goals: what labels are for, and utilities: the value of recovering a share of the true similarities. A label type may
serve one goal well and another one badly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from typing import ClassVar, Protocol, final, runtime_checkable

from sfumato.tables.errors import unknown
from sfumato.tables.settings import above_0, not_negative


class Goal(StrEnum):
    """What the labels are for; `meaning` describes it in one line."""

    DISTRIBUTION = "distribution"
    CLASS = "class"
    GEOMETRY = "geometry"
    CALIBRATION = "calibration"

    @property
    def meaning(self) -> str:
        return MEANINGS[self]


MEANINGS = {
    Goal.DISTRIBUTION: "how people judge each item: the crowd's distribution over the classes",
    Goal.CLASS: "the class of each item: the true one, or the most frequent one",
    Goal.GEOMETRY: "which items are similar: for representations and few-shot learning",
    Goal.CALIBRATION: "how well a model trained on the labels is calibrated",
}


def goal_named(name: str) -> Goal:
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
    """`rho`: every gain is worth the same. The default."""

    name: ClassVar[str] = "linear"

    def of(self, rho: float) -> float:
        return rho


@final
@dataclass(frozen=True)
class SigmoidUtility:
    """`1 / (1 + exp(-steepness (rho - middle)))`: the value is in passing the middle.

    Sucholutsky et al. (2023) use steepness 1 and middle 0, which is nearly linear; prefer a steep one around the value
    that your application needs.
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
    """`log(rho / (1 - rho))`: the last gains are worth most. Recovery is limited to 0.001 to 0.999."""

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
    for utility in UTILITIES:
        if utility.name == name:
            return utility()
    raise unknown("utility", name, [utility.name for utility in UTILITIES])


def subjective_loss(rho: float, cost: float, *, utility: Utility | None = None, beta: float) -> float:
    """`L = beta c - u(rho)`, to be minimized (Sucholutsky et al. 2023); `beta` is the weight of the cost.

    The cost is in hard labels for the same items: 1 for a hard label. The paper assumes that a soft label costs as many
    hard labels as there are classes; measured times differ.
    """
    return not_negative("beta", beta) * not_negative("cost", cost) - (utility or LinearUtility()).of(rho)
