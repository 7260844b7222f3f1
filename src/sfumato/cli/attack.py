"""`sfumato attack`: test trained models with FGSM and PGD attacks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import (
    PATH,
    any_estimand_option,
    check_folder,
    check_not_negative,
    check_torch_installed,
    given,
    input_options,
    same_rows_option,
)
from sfumato.cli.output import counted, counting, say_written
from sfumato.tables.errors import BadSetting, show

if TYPE_CHECKING:
    from sfumato.tables.model_inputs import InputOptions

ATTACK_LINES = """\b
Attacks:
  fgsm  one step along the sign of the gradient
  pgd   many steps, from a random start; alpha, steps, norm

\b
Labels whose loss the attack increases:
  hard      the original class
  majority  people's first choice
  soft      people's soft label"""


class Number(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A number, or a fraction: `4/255`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        try:
            return float(Fraction(value.replace(" ", ""))) if isinstance(value, str) else float(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            option = param.opts[0] if param else "a number"
            fix = f"write for example {option} 4/255"
            raise BadSetting(f"{option} {show(value)}", "a number or a fraction", fix) from None


@click.command(
    "attack",
    help="Change the test images of trained models by small amounts that increase the loss, and write the predictions."
    "\n\nRUNS is the folder of a run, or a folder of runs. The output has one folder per condition with one folder per "
    "run, which sfumato evaluate scores. Pixels are in 0..1, whatever the scale of the model. Predictions that exist "
    f"are not computed again.\n\n{ATTACK_LINES}",
)
@click.argument("runs", type=PATH)
@click.option("--inputs", type=PATH, required=True, help="The images the models were trained on.")
@click.option("--labels", type=PATH, help="People's soft labels (SoftLabels).")
@click.option("--original", type=PATH, help="The original class of each item: a table with item and label.")
@click.option("--by", "name", default="fgsm", show_default=True, metavar="NAME", help="The attack: fgsm or pgd.")
@click.option("--eps", type=Number(), help="Largest change of a pixel.  [default: 4/255]")
@click.option("--alpha", type=Number(), help="Step size of pgd.  [default: 2/255]")
@click.option("--steps", type=int, help="Number of pgd steps.  [default: 10]")
@click.option("--norm", metavar="NAME", help="Norm that pgd bounds by eps: linf or l2.  [default: linf]")
@click.option("--targets", default="hard", show_default=True, metavar="NAME", help="hard, majority or soft.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random start of pgd.")
@click.option("--device", metavar="NAME", default="cpu", show_default=True, help="Device to compute on.")
@click.option("--batch-size", type=click.IntRange(1), help="Images attacked at a time.  [default: 64]")
@click.option("--processes", type=int, default=0, help="Number of parallel processes.  [default: one per core]")
@any_estimand_option
@same_rows_option
@click.option("-o", "--output", type=PATH, required=True, help="The folder for the conditions, with one folder each.")
@input_options
def command(
    runs: Path,
    inputs: Path,
    labels: Path | None,
    original: Path | None,
    name: str,
    targets: str,
    seed: int,
    device: str,
    batch_size: int | None,
    processes: int,
    any_estimand: bool,
    output: Path,
    reading: InputOptions,
    **settings: Any,
) -> None:
    from sfumato.importers.hard_labels import read_hard_labels
    from sfumato.importers.label_file import read_labels

    check_not_negative("processes", processes)
    check_folder(output)
    images = reading.read(inputs)
    people = read_labels(labels) if labels else None
    if people is not None and any_estimand:
        people = replace(people, estimand=None, n_annotators=None)
    original_labels = read_hard_labels(original).of if original else None
    check_torch_installed()
    from sfumato.training.attacks import ATTACKED_AT_ONCE, attack_named
    from sfumato.training.grid import check_device
    from sfumato.training.robustness_runs import AttackExperiment, run_missing
    from sfumato.training.trained_runs import TrainedRuns

    check_device(device)
    attack = attack_named(name, given(settings))
    trained = TrainedRuns.in_folder(runs)
    at_once = batch_size or ATTACKED_AT_ONCE
    experiment = AttackExperiment(
        trained.runs, output, attack, images, targets, people, original_labels, seed, device, at_once
    )
    with counting("runs") as on_progress:
        run_missing(experiment, processes=processes, on_progress=on_progress)
    what = f"{counted(len(experiment.runs), 'run')} under {experiment.name_of(attack.n_steps)}"
    say_written(output, what, trained.notes)
