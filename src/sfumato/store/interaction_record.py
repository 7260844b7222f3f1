"""Record: how an answer came about, as the browser saw it: when the picture stood there, every input, time away."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
Span = tuple[Milliseconds, Milliseconds]
Event = tuple[Milliseconds, Name, Name, Name | float | bool | None]
"""Milliseconds since the picture was painted, what happened, to which control, with which key or value."""


class InteractionRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer's making. Times run from the first painted frame, on a clock that never jumps."""

    elapsed_ms: Milliseconds
    hidden: Annotated[tuple[Span, ...], msgspec.Meta(max_length=1000)] = ()
    """Stretches in which the page was not visible."""
    idle: Annotated[tuple[Span, ...], msgspec.Meta(max_length=1000)] = ()
    """Stretches without any input, beyond the first thirty seconds of each."""
    events: Annotated[tuple[Event, ...], msgspec.Meta(max_length=500)] = ()
    cut: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Events beyond those listed."""
    pointer: Literal["mouse", "touch", "pen", "none"] = "none"
    viewport: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Width, height, and device pixels to a CSS pixel."""
    keys: Annotated[dict[Name, Name], msgspec.Meta(max_length=1000)] = {}
    order: Annotated[tuple[Name, ...], msgspec.Meta(max_length=1000)] = ()
    """Classes (or sides) as they stood on the screen."""
    shortcuts: bool = True
    resumed: bool = False
    opened: Literal["", "asked", "unsure"] = ""
    """Whether the deeper form opened after the usual one: the trial asked for it, or the person was not sure."""
    first: dict[str, Any] | None = None
    """The answer in the usual form, where the deeper one opened after it."""

    def seconds(self) -> float:
        """Time on the answer: what is left when hidden and idle stretches are taken out, each moment once."""
        away = 0.0
        reached = 0.0
        for start, stop in sorted((*self.hidden, *self.idle)):
            fresh = min(stop, self.elapsed_ms) - max(start, reached)
            if fresh > 0:
                away += fresh
                reached = stop
        return max(self.elapsed_ms - away, 0.0) / 1000


MEANINGS = {
    "elapsed_ms": "milliseconds from the first painted frame of the picture to submit",
    "hidden": "stretches [from, to] in milliseconds in which the page was hidden",
    "idle": "stretches [from, to] without input, beyond the first thirty seconds of each",
    "events": "every input: [milliseconds, what happened, to which control, key or value]",
    "cut": "inputs beyond those listed",
    "pointer": "the pointing device last used: mouse, touch, pen or none",
    "viewport": "width and height of the page in CSS pixels, and device pixels to one of them",
    "keys": "which key stood for which class",
    "order": "the classes, or sides, in the order shown",
    "shortcuts": "whether shortcut keys were on",
    "resumed": "whether the page was loaded anew during the trial",
    "opened": "how the deeper form opened: asked after the choice, or unsure because the person said so",
    "first": "the choice before the deeper form opened; null for who was not sure",
}
"""What each field means, for the codebook."""
