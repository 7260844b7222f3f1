"""Which key stands for which class: the study's own, else digits and letters by the place a class is shown at."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.study.study import StudyClass

FREE = "1234567890qwertyasdghjkzxcvbpilm"
"""Keys handed out in this order; those that forms use themselves (`o` others, `n` none, `f` full, `u`) are left out."""


def keys_for(classes: Sequence[StudyClass]) -> list[str]:
    """A key for each class in the order shown; an empty text where there are more classes than keys."""
    given = {each.key.lower() for each in classes if each.key}
    free = iter([key for key in FREE if key not in given])
    return [each.key.lower() if each.key else next(free, "") for each in classes]
