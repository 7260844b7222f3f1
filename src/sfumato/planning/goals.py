"""Goals: what labels are wanted for. A kind of label worth much for one goal may be worth little for another."""

from __future__ import annotations

from enum import StrEnum

from sfumato.tables.errors import unknown


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
