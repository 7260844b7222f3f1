"""`sfumato shift`: what trained networks predict when pictures get worse, or come from elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, NameList, check_folder, check_torch_installed
from sfumato.cli.output import drawing, say_written

if TYPE_CHECKING:
    from sfumato.tables.inputs import Inputs

KIND_LINES = """\b
Kinds of corruption:
  gaussian-noise  a sensor in poor light
  shot-noise      light in single photons
  impulse-noise   salt and pepper
  speckle-noise   noise that grows with the light
  gaussian-blur   out of focus
  contrast        all pixels nearer to their mean
  brightness      too much light
  saturate        too little colour, or too much; not for grey pictures
  jpeg            compressed
  pixelate        too few pixels"""


@click.command(
    "shift",
    help="Show networks their test items again, corrupted in several ways and severities, and keep what each "
    "predicts.\n\nRUNS is the folder of a run, or one that holds several. A folder a condition goes out, with a folder "
    "a run in it: sfumato evaluate scores them. The constants are those of CIFAR-10-C (Hendrycks & Dietterich 2019). "
    f"What is done is never done twice.\n\n{KIND_LINES}",
)
@click.argument("runs", type=PATH)
@click.option("--inputs", type=PATH, help="The npz the networks learnt from; their test items alone are shown again.")
@click.option("--kinds", type=NameList(), help="Kinds of corruption, with commas between them.  [default: all]")
@click.option("--severities", default="1,2,3,4,5", show_default=True, help="From 1 to 5, with commas between them.")
@click.option(
    "--extra", multiple=True, metavar="NAME=FILE", help="Another npz, all of it, as a condition of this name."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The luck of all noise.")
@click.option("--device", metavar="NAME", default="cpu", show_default=True, help="Where to predict.")
@click.option("--processes", type=int, default=0, help="How many at once.  [default: one a core]")
@click.option("-o", "--output", type=PATH, required=True, help="The folder the conditions go to, a folder each.")
def command(
    runs: Path,
    inputs: Path | None,
    kinds: tuple[str, ...] | None,
    severities: str,
    extra: tuple[str, ...],
    seed: int,
    device: str,
    processes: int,
    output: Path,
) -> None:
    from sfumato.cli.options import check_not_negative
    from sfumato.tables.inputs import Inputs

    check_not_negative("processes", processes)
    check_folder(output)
    _check_asked(inputs, kinds, extra)
    pictures = Inputs.read(inputs) if inputs else None
    others = _extra(extra)
    check_torch_installed()
    from sfumato.training.corruptions import CORRUPTIONS, corruption_named
    from sfumato.training.dealing import run_jobs
    from sfumato.training.grid import check_device
    from sfumato.training.robustness_runs import ShiftExperiment, corruptions_for
    from sfumato.training.trained_runs import TrainedRuns

    check_device(device)
    named = None if kinds is None else [corruption_named(name) for name in kinds]
    corrupted = () if pictures is None else corruptions_for(pictures, named, _severities(severities))
    ready = TrainedRuns.in_folder(runs)
    shifting = ShiftExperiment(ready.runs, output, pictures, corrupted, others, seed, device)
    with progress("conditions") as told:
        run_jobs(shifting, processes=processes, on_progress=told)
    notes = list(ready.notes)
    done = {each.corruption.name for each in corrupted if each.corruption is not None}
    if pictures is not None and kinds is None and len(done) < len(CORRUPTIONS):
        left = ", ".join(each.name for each in CORRUPTIONS if each.name not in done)
        notes.append(f"left out {left}: the pictures are grey")
    n_runs, n_shifts = len(shifting.runs), len(shifting.shifts)
    say_written(output, f"{n_runs:,} run{'s' * (n_runs != 1)} under {n_shifts:,} conditions", notes)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to be told how many of `what` are done, and of how many."""
    started_at = time.monotonic()
    with drawing() as draw:

        def show(done: int, of: int) -> None:
            draw(done / of if of else 1.0, f"{done} of {of} {what}, {time.monotonic() - started_at:.0f} s")

        yield show


def _check_asked(inputs: Path | None, kinds: tuple[str, ...] | None, extra: tuple[str, ...]) -> None:
    from sfumato.tables.errors import BadSetting

    if inputs is None and (kinds is not None or not extra):
        raise BadSetting(
            "found no --inputs",
            expected="pictures to corrupt, or other ones to predict",
            fix="give --inputs X.npz, or --extra NAME=FILE",
            code="missing-source",
        )


def _severities(text: str) -> list[int]:
    from sfumato.tables.errors import unknown
    from sfumato.training.corruptions import SEVERITIES

    known = [str(each) for each in SEVERITIES]
    for part in text.split(","):
        if part.strip() not in known:
            raise unknown("severity", part.strip(), known, fix="choose 1 (least) to 5 (most)")
    return [int(part) for part in text.split(",")]


def _extra(named: tuple[str, ...]) -> dict[str, Inputs]:
    """Other sets by name, read."""
    from sfumato.tables.errors import BadSetting, show
    from sfumato.tables.inputs import Inputs

    found: dict[str, Inputs] = {}
    for text in named:
        name, equals, path = text.partition("=")
        if not name.strip() or not equals or not path or name.strip() in found:
            raise BadSetting(
                f"found --extra {show(text)}{' with a name that is taken' if name.strip() in found else ''}",
                expected="a name and a file, each name once",
                fix="write for example --extra cinic=cinic.npz",
                code="bad-setting",
            )
        found[name.strip()] = Inputs.read(path)
    return found
