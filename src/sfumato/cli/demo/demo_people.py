"""Simulated people who judge digits, and their way through a study: over HTTP, as people come.

They come one after the other, and what the server leaves to chance is drawn from a seed: the answers are the same
every time. (`sfumato simulate` sends people of all sorts through any study, many at once.)
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from jaxtyping import Float

from sfumato.cli.demo.demo_digits import SEED
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.elicitation.simulated_annotator import PresentedQuestion, Response, Truth
from sfumato.tables.errors import BadSetting, ErrorLocation
from sfumato.tables.files import read_arrays
from sfumato.tables.settings import at_least

if TYPE_CHECKING:
    from sfumato.server.simulated_visits import Summary
    from sfumato.study.study import Study

SECONDS = {"choice": 2.0, "tokens": 10.0, "top_two": 25.0}
"""About how long an answer without doubt takes in each form: 2 s as in CIFAR-10H, the others by what there is to do."""
PART = ".store.part"
"""Where answers are until all are there."""
CARELESS_EVERY, CARELESS_FIRST = 20, 7
OWN = 60.0
"""How near a person's belief is to their view of an image: the sum of a Dirichlet's parameters."""


@dataclass(frozen=True, eq=False)
class SimulatedPerson:
    """Somebody who sees digits in one of the views, a little in their own way; or who does not look, and always
    presses the same key."""

    number: int
    views: Float[np.ndarray, "views items classes"]
    row: dict[str, int]
    """The row of each item in the views."""
    attention: float = 1.0

    @property
    def looks(self) -> bool:
        return self.number % CARELESS_EVERY != CARELESS_FIRST

    def belief(self, item: str) -> Float[np.ndarray, "classes"]:
        """What this person believes of an image: the same when it comes again."""
        row = self.row[item]
        view = self.views[self.number % len(self.views), row]
        own = np.random.default_rng([SEED, self.number, row]).gamma(OWN * view + 1e-3)
        return np.asarray(own / own.sum())

    def answer(self, truths: Sequence[np.ndarray], asked: PresentedQuestion, rng: np.random.Generator) -> Response:
        """The form as this person fills it in, and the seconds that takes."""
        kind, usual = asked.kind, SECONDS[asked.kind.name]
        belief = self.belief(asked.stimulus.item) if self.looks else np.eye(len(truths[0]))[0]
        raw = kind.simulate([belief.tolist()], asked.stimulus, asked.study, rng)
        hurry = 1 + 1.5 * (1 - float(belief.max())) if self.looks else 0.2
        return Response(raw, float(usual * hurry * rng.lognormal(0, 0.25)))


class SeededChance(SecureRandom):
    """Chance that can be foreseen: for a study that nobody real takes."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._source = random.Random(seed)

    def randbytes(self, n: int) -> bytes:
        return self._source.randbytes(n)


def answer_study(folder: Path, n_people: int) -> Summary:
    """Serve the study in `folder`, send the people through it, and keep what they answered in its `store`.

    The store takes its place when all have answered; before, and if this is stopped, there is none.
    """
    from sfumato.server.simulated_visits import simulate, stimuli_in
    from sfumato.store.location import default_location
    from sfumato.study import read_study

    at_least("people", n_people, 1)
    study = read_study(folder)
    assert study.items.npz is not None
    arrays = read_arrays(study.items.npz.with_name("views.npz"))
    row = {str(name): i for i, name in enumerate(arrays["items"])}
    people = [SimulatedPerson(number, arrays["views"], row) for number in range(n_people)]
    mean = arrays["views"].mean(axis=0)
    truth = Truth(study.class_names, lambda item: np.asarray(mean[row[item]]))
    store = default_location(study)
    part = store.parent.with_name(PART)
    shutil.rmtree(part, ignore_errors=True)
    try:
        with _serving(study, part / store.name) as address, stimuli_in(part / store.name) as stimulus_of:
            summary = simulate(address, study, people, truth, stimulus_of, np.random.default_rng(SEED), concurrency=1)
        shutil.rmtree(store.parent, ignore_errors=True)
        part.rename(store.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return summary


@contextlib.contextmanager
def _serving(study: Study, store: Path) -> Iterator[str]:
    """The study served on a free port of the loopback, all of its chance from a seed; yields its address."""
    from sfumato.server.server import open_site, serve_site

    store.parent.mkdir(parents=True)
    rng, chance = SeededChance(SEED), SeededChance(SEED + 1)
    with open_site(study, store, rng=rng, secure_random=chance) as site, serve_site(site) as address:
        yield address


def answer_studies(folders: Sequence[Path], n_people: int) -> None:
    """Every study answered, as `answer_study` has it, all at once: a process each.

    If this is stopped they are stopped, and nothing is left of what they had begun.
    """
    command = [sys.executable, "-m", "sfumato.cli.demo.demo_people", "--people", str(n_people)]
    processes = [_begun([*command, str(folder)]) for folder in folders]
    try:
        for folder, process in zip(folders, processes, strict=True):
            printed, _ = process.communicate()
            if process.returncode:
                raise BadSetting(
                    f"found that nobody could answer ({_last_line(printed)})",
                    expected="a study that can be served and answered",
                    fix=f"see what is wrong with: sfumato study check {folder}",
                    code="not-answered",
                    where=ErrorLocation(str(folder)),
                )
            click.echo(printed.decode(), nl=False)
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        for folder in folders:
            shutil.rmtree(folder / PART, ignore_errors=True)


def _begun(command: list[str]) -> subprocess.Popen[bytes]:
    """A process in a session of its own: Ctrl-C comes to us alone, and we end it."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def _last_line(printed: bytes) -> str:
    return (printed.decode("utf-8", "replace").strip().splitlines() or ["without a word"])[-1]


@click.command()
@click.argument("studies", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--people", default=60, show_default=True, help="How many.")
def main(studies: tuple[Path, ...], people: int) -> None:
    """Send simulated people through the STUDIES, each a folder: the same people through all of them."""
    if len(studies) > 1:
        answer_studies(studies, people)
        return
    summary = answer_study(studies[0], people)
    half = summary.latency_ms(50)
    click.echo(
        f"{studies[0]}: {summary.n_acknowledged:,} answers of {people:,} people, half of them safe in {half:.1f} ms"
    )


if __name__ == "__main__":
    main()
