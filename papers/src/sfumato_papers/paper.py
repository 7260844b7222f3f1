"""Paper: what can be run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sfumato.tables.errors import unknown
from sfumato_papers.part import Part
from sfumato_papers.rerun import Rerun

Step = Callable[[Rerun], Part]
"""Produces a part of a paper: reads, trains or simulates what it needs."""


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

    def step(self, name: str) -> Step:
        """The step called `name`: `table-1`."""
        found = next((step for step in self.steps if name_of(step) == name.lower().replace("_", "-")), None)
        if found is None:
            raise unknown("part", name, [name_of(step) for step in self.steps])
        return found

    def parts(self, rerun: Rerun, steps: Sequence[Step] = ()) -> Iterator[Part]:
        """Every part, or those of `steps`, run as `rerun` says."""
        todo = steps or self.steps
        for number, step in enumerate(todo):
            rerun.say(number / len(todo), f"{self.name}: {name_of(step)}, {number + 1} of {len(todo)}")
            yield step(rerun)


def name_of(step: Step) -> str:
    """What a part is called on the command line: `table-1`."""
    return step.__name__.replace("_", "-")
