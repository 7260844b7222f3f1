"""Goals: each has a meaning, and a name that leads to it."""

from __future__ import annotations

import pytest

from sfumato.planning.goals import Goal, goal_named
from sfumato.tables.errors import SfumatoError


def test_every_goal_has_its_own_meaning() -> None:
    assert len({goal.meaning for goal in Goal}) == 4
    assert all(goal_named(goal.value) is goal for goal in Goal)


def test_an_unknown_goal_lists_the_goals() -> None:
    with pytest.raises(SfumatoError, match=r"distribution, class, geometry, calibration.*did you mean 'geometry'"):
        goal_named("geometri")
