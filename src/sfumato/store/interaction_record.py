"""How an answer was made, as recorded by the browser: timing, every input, time away from the page."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
Span = tuple[Milliseconds, Milliseconds]
Event = tuple[Milliseconds, Name, Name, Name | float | bool | None]
"""Milliseconds since the image was painted, the type of event, the control, and the key or value."""


class InteractionRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The record of one answer. Times count from the first painted frame, on a monotonic clock."""

    elapsed_ms: Milliseconds
    hidden: Annotated[tuple[Span, ...], msgspec.Meta(max_length=1000)] = ()
    """Intervals in which the page was not visible."""
    idle: Annotated[tuple[Span, ...], msgspec.Meta(max_length=1000)] = ()
    """Intervals without any input, beyond the first 30 seconds of each."""
    events: Annotated[tuple[Event, ...], msgspec.Meta(max_length=500)] = ()
    cut: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How many more events there were."""
    pointer: Literal["mouse", "touch", "pen", "none"] = "none"
    viewport: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Width, height, and device pixels per CSS pixel."""
    keys: Annotated[dict[Name, Name], msgspec.Meta(max_length=1000)] = {}
    order: Annotated[tuple[Name, ...], msgspec.Meta(max_length=1000)] = ()
    """Classes (or sides) in the order on the screen."""
    shortcuts: bool = True
    resumed: bool = False
    opened: Literal["", "asked", "unsure"] = ""
    """Why the deeper form opened after the usual one: the trial asked for it, or the participant was not sure."""
    first: dict[str, Any] | None = None
    """The answer in the usual form, where the deeper one opened after it."""

    def seconds(self) -> float:
        """Time on the answer, without hidden and idle intervals (overlaps counted once)."""
        away = 0.0
        reached = 0.0
        for start, stop in sorted((*self.hidden, *self.idle)):
            fresh = min(stop, self.elapsed_ms) - max(start, reached)
            if fresh > 0:
                away += fresh
                reached = stop
        # 0.0 comes first: of 0.0 and -0.0, `max` returns the first.
        return max(0.0, self.elapsed_ms - away) / 1000
