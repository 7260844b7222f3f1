"""Paper: what can be run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sfumato.papers.part import Part
from sfumato.papers.rerun import Rerun

Step = Callable[[Rerun], Part]
"""Makes one part of a paper: reads, trains or simulates what it needs."""


@dataclass(frozen=True)
class Paper:
    """A published paper as a list of its parts, in its own order."""

    name: str
    title: str
    authors: str
    year: int
    venue: str
    data: tuple[str, ...]
    """The data sets it needs, by the names of their folders."""
    steps: tuple[Step, ...]

    def parts(self, rerun: Rerun) -> Iterator[Part]:
        """Every part, run as `rerun` says."""
        for number, step in enumerate(self.steps):
            rerun.say(number / len(self.steps), f"{self.name}: {step.__name__.replace('_', ' ')}")
            yield step(rerun)
