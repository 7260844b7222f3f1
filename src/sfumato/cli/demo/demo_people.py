"""Simulated annotators who answer the demo's studies over HTTP.

They answer one after the other, and the server's random numbers come from a seed, so that the answers are always the
same. (`sfumato simulate` sends many kinds of annotators through any study in parallel.)
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
from sfumato.tables.errors import BadSetting
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.setting_checks import at_least

if TYPE_CHECKING:
    from sfumato.server.simulated_visits import Summary
    from sfumato.study.study import Study

SECONDS = {"choice": 2.0, "tokens": 10.0, "top_two": 25.0}
"""The approximate time of a certain answer per form: 2 s as in CIFAR-10H, the others by their number of inputs."""
PART = ".store.part"
"""The temporary folder of answers."""
CARELESS_EVERY, CARELESS_FIRST = 20, 7
CONCENTRATION = 60.0
"""How close an annotator's belief is to their view of an image: the sum of Dirichlet parameters."""


@dataclass(frozen=True, eq=False)
class SimulatedPerson:
    """An annotator who sees digits in one of the views, with individual variation; or a careless one who always gives
    the same answer."""

    number: int
    views: Float[np.ndarray, "views items classes"]
    row: dict[str, int]
    """The row of each item in the views."""
    attention: float = 1.0

    @property
    def looks(self) -> bool:
        return self.number % CARELESS_EVERY != CARELESS_FIRST

    def belief(self, item: str) -> Float[np.ndarray, "classes"]:
        """The belief of this annotator about an image, the same if it is repeated."""
        row = self.row[item]
        view = self.views[self.number % len(self.views), row]
        own = np.random.default_rng([SEED, self.number, row]).gamma(CONCENTRATION * view + 1e-3)
        return np.asarray(own / own.sum())

    def answer(self, truths: Sequence[np.ndarray], asked: PresentedQuestion, rng: np.random.Generator) -> Response:
        """The answer, and its time in seconds."""
        kind, usual = asked.kind, SECONDS[asked.kind.name]
        belief = self.belief(asked.stimulus.item) if self.looks else np.eye(len(truths[0]))[0]
        raw = kind.simulate([belief.tolist()], asked.stimulus, asked.study, rng)
        slowdown = 1 + 1.5 * (1 - float(belief.max())) if self.looks else 0.2
        return Response(raw, float(usual * slowdown * rng.lognormal(0, 0.25)))


class SeededChance(SecureRandom):
    """Random numbers from a seed, for a study without real participants."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._source = random.Random(seed)

    def randbytes(self, n: int) -> bytes:
        return self._source.randbytes(n)


def answer_study(folder: Path, n_people: int) -> Summary:
    """Serve the study in `folder`, let simulated annotators answer it, and keep the answers in its `store`.

    The store appears only when all have answered.
    """
    from sfumato.server.simulated_visits import simulate, stimuli_in
    from sfumato.store.location import default_location
    from sfumato.study.study_file import read_study

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
    """Serve the study on a free local port with seeded random numbers; yields its address."""
    from sfumato.server.server import open_site, serve_site

    store.parent.mkdir(parents=True)
    rng, chance = SeededChance(SEED), SeededChance(SEED + 1)
    with open_site(study, store, rng=rng, secure_random=chance) as site, serve_site(site) as address:
        yield address


def answer_studies(folders: Sequence[Path], n_people: int) -> None:
    """Answer all studies in parallel, with one process per study; if interrupted, stop them and delete their output."""
    command = [sys.executable, "-m", "sfumato.cli.demo.demo_people", "--people", str(n_people)]
    # Each in its own session, so that Ctrl-C reaches only this process, which stops them.
    processes = [
        subprocess.Popen(
            [*command, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        for folder in folders
    ]
    try:
        for folder, process in zip(folders, processes, strict=True):
            printed, _ = process.communicate()
            if process.returncode:
                last_line = (printed.decode("utf-8", "replace").strip().splitlines() or ["no output"])[-1]
                found = f"a study that could not be answered ({last_line})"
                fix = f"check it with: sfumato study check {folder}"
                raise BadSetting(found, "a study that can be served and answered", fix, "not-answered", folder)
            click.echo(printed.decode(), nl=False)
    finally:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        for folder in folders:
            shutil.rmtree(folder / PART, ignore_errors=True)


@click.command()
@click.argument("studies", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--people", default=60, show_default=True, help="Annotators per study.")
def main(studies: tuple[Path, ...], people: int) -> None:
    """Let the same simulated annotators answer all STUDIES, each a folder."""
    if len(studies) > 1:
        answer_studies(studies, people)
        return
    summary = answer_study(studies[0], people)
    median = summary.latency_ms(50)
    click.echo(f"{studies[0]}: {summary.n_acknowledged:,} answers of {people:,} annotators (median {median:.1f} ms)")


if __name__ == "__main__":
    main()
