"""Goals: what labels are for, and utilities: the value of recovering a share of the true similarities. A label type may
serve one goal well and another one badly."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import exp, log

from sfumato.tables.errors import unknown
from sfumato.tables.setting_checks import above_0, not_negative


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


Utility = Callable[[float], float]
"""The value of a recovery `rho`; only differences matter."""
NEAR = 1e-3


def linear_utility(rho: float) -> float:
    """`rho`: every gain is worth the same. The default."""
    return rho


def sigmoid_utility(rho: float, steepness: float = 1.0, middle: float = 0.0) -> float:
    """`1 / (1 + exp(-steepness (rho - middle)))`: the value is in passing the middle.

    Sucholutsky et al. (2023) use steepness 1 and middle 0, which is nearly linear; prefer a steep one around the value
    that your application needs.
    """
    return 1 / (1 + exp(-above_0("steepness", steepness) * (rho - middle)))


def logit_utility(rho: float) -> float:
    """`log(rho / (1 - rho))`: the last gains are worth most. Recovery is limited to 0.001 to 0.999."""
    kept = min(max(rho, NEAR), 1 - NEAR)
    return log(kept / (1 - kept))


UTILITIES: dict[str, Utility] = {"linear": linear_utility, "sigmoid": sigmoid_utility, "logit": logit_utility}


def utility_named(name: str) -> Utility:
    if name not in UTILITIES:
        raise unknown("utility", name, list(UTILITIES))
    return UTILITIES[name]


def subjective_loss(rho: float, cost: float, *, utility: Utility = linear_utility, beta: float) -> float:
    """`L = beta c - u(rho)`, to be minimized (Sucholutsky et al. 2023); `beta` is the weight of the cost.

    The cost is in hard labels for the same items: 1 for a hard label. The paper assumes that a soft label costs as many
    hard labels as there are classes; measured times differ.
    """
    return not_negative("beta", beta) * not_negative("cost", cost) - utility(rho)
