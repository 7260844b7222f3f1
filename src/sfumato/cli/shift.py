"""`sfumato shift`: test trained models on corrupted or different images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import (
    PATH,
    NameList,
    check_folder,
    check_not_negative,
    check_torch_installed,
    input_options,
    same_rows_option,
)
from sfumato.cli.output import counted, counting, say_written
from sfumato.tables.errors import BadSetting, show, unknown

if TYPE_CHECKING:
    from sfumato.tables.model_inputs import InputOptions, Inputs

KIND_LINES = """\b
Kinds of corruption:
  gaussian-noise  sensor noise in poor light
  shot-noise      photon noise
  impulse-noise   salt and pepper
  speckle-noise   noise proportional to brightness
  gaussian-blur   out of focus
  contrast        lower contrast
  brightness      overexposed
  saturate        too little color, or too much; not for gray images
  jpeg            JPEG compression
  pixelate        low resolution"""


@click.command(
    "shift",
    help="Predict the test items of trained models again after corruptions of several kinds and severities.\n\n"
    "RUNS is the folder of a run, or a folder of runs. The output has one folder per condition with one folder per "
    "run, which sfumato evaluate scores. The constants are those of CIFAR-10-C (Hendrycks & Dietterich 2019). "
    f"Predictions that exist are not computed again.\n\n{KIND_LINES}",
)
@click.argument("runs", type=PATH)
@click.option("--inputs", type=PATH, help="The images the models were trained on; only their test items are used.")
@click.option("--kinds", type=NameList(), help="Kinds of corruption, separated by commas.  [default: all]")
@click.option("--severities", default="1,2,3,4,5", show_default=True, help="From 1 to 5, separated by commas.")
@click.option(
    "--extra", multiple=True, metavar="NAME=FILE", help="Other images; all of them become a condition of this name."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the noise.")
@click.option("--device", metavar="NAME", default="cpu", show_default=True, help="Device to predict on.")
@click.option("--processes", type=int, default=0, help="Number of parallel processes.  [default: one per core]")
@click.option("-o", "--output", type=PATH, required=True, help="The folder for the conditions, with one folder each.")
@input_options
@same_rows_option
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
    reading: InputOptions,
) -> None:
    check_not_negative("processes", processes)
    check_folder(output)
    if inputs is None and (kinds is not None or not extra):
        expected, fix = "images to corrupt, or other images to predict", "give --inputs X.npz, or --extra NAME=FILE"
        raise BadSetting("no --inputs", expected, fix, "missing-source")
    images = reading.read(inputs) if inputs else None
    others = _extra(extra, reading)
    check_torch_installed()
    from sfumato.training.corruptions import CORRUPTIONS, corruption_named
    from sfumato.training.grid import check_device
    from sfumato.training.robustness_runs import ShiftExperiment, corruptions_for, run_missing
    from sfumato.training.trained_runs import TrainedRuns

    check_device(device)
    named = None if kinds is None else [corruption_named(name) for name in kinds]
    corrupted = () if images is None else corruptions_for(images, named, _severities(severities))
    trained = TrainedRuns.in_folder(runs)
    experiment = ShiftExperiment(trained.runs, output, images, corrupted, others, seed, device)
    with counting("conditions") as on_progress:
        run_missing(experiment, processes=processes, on_progress=on_progress)
    notes = list(trained.notes)
    done = {each.corruption.name for each in corrupted if each.corruption is not None}
    if images is not None and kinds is None and len(done) < len(CORRUPTIONS):
        left = ", ".join(each.name for each in CORRUPTIONS if each.name not in done)
        notes.append(f"left out {left}: the images are gray")
    what = f"{counted(len(experiment.runs), 'run')} under {len(experiment.shifts):,} conditions"
    say_written(output, what, notes)


def _severities(text: str) -> list[int]:
    from sfumato.training.corruptions import SEVERITIES

    known = [str(each) for each in SEVERITIES]
    for part in text.split(","):
        if part.strip() not in known:
            raise unknown("severity", part.strip(), known, fix="choose 1 (least) to 5 (most)")
    return [int(part) for part in text.split(",")]


def _extra(named: tuple[str, ...], reading: InputOptions) -> dict[str, Inputs]:
    """Other data sets by name."""
    found: dict[str, Inputs] = {}
    for text in named:
        name, equals, path = text.partition("=")
        if not name.strip() or not equals or not path or name.strip() in found:
            used = " with a name that was already used" if name.strip() in found else ""
            fix = "write for example --extra cinic=cinic.npz"
            raise BadSetting(f"--extra {show(text)}{used}", "a name and a file, each name once", fix)
        found[name.strip()] = reading.read(path)
    return found
