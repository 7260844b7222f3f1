"""Items of a study, and stimuli: what one trial shows and asks about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Item:
    """An item: its id, the picture or text that is shown, and its class if the source has one."""

    id: str
    picture: Path | None = None
    row: int | None = None
    """The row of the picture in an npz."""
    text: str | None = None
    given: str | None = None
    """The class in the source: the name of its folder, or its `class` column."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The other columns of its row in a CSV: `other`, `a`, `b`, `first`, `second` ..."""


@dataclass(frozen=True)
class Stimulus:
    """What one trial asks about: an item, items shown with it (`others`), and the `context` of the question.

    `context` is `{"class": "cat"}` for typicality, `{"classes": ["cat", "dog"]}` for mixture. For most kinds a stimulus
    is just its item.
    """

    item: str
    others: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """The ids of every item shown, the one asked about first."""
        return (self.item, *self.others)
