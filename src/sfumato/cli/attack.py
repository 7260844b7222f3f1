"""`sfumato attack`: what trained networks predict of pictures that are changed to mislead them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import PATH, check_folder, check_torch_installed, given
from sfumato.cli.output import say_written

ATTACK_LINES = """\b
Attacks:
  fgsm  one step along the sign of the gradient
  pgd   many steps, from a random start; alpha, steps, norm

\b
What networks are led away from:
  hard      the original class
  majority  people's first choice
  soft      all that people see"""


class Number(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A number, or a fraction: `4/255`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        from sfumato.tables.errors import BadSetting, show

        try:
            return float(Fraction(value.replace(" ", ""))) if isinstance(value, str) else float(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            option = param.opts[0] if param else "a number"
            raise BadSetting(
                f"found {option} {show(value)}",
                expected="a number or a fraction",
                fix=f"write for example {option} 4/255",
                code="bad-setting",
            ) from None


@click.command(
    "attack",
    help="Change the test items of networks as little as eyes can tell, so that each network errs as much as it can, "
    "and keep what it predicts then.\n\nRUNS is the folder of a run, or one that holds several. A folder a condition "
    "goes out, with a folder a run in it: sfumato evaluate scores them. Pixels lie in 0..1, whatever scale a network "
    f"learnt with. What is done is never done twice.\n\n{ATTACK_LINES}",
)
@click.argument("runs", type=PATH)
@click.option("--inputs", type=PATH, required=True, help="The npz the networks learnt from.")
@click.option("--labels", type=PATH, help="SoftLabels: how people judge.")
@click.option("--original", type=PATH, help="The class every item came with: a table with item and label.")
@click.option("--by", "name", default="fgsm", show_default=True, metavar="NAME", help="The attack: fgsm or pgd.")
@click.option("--eps", type=Number(), help="How far a pixel may move.  [default: 4/255]")
@click.option("--alpha", type=Number(), help="How far a step of pgd goes.  [default: 2/255]")
@click.option("--steps", type=int, help="How many steps of pgd.  [default: 10]")
@click.option("--norm", metavar="NAME", help="What pgd keeps below eps: linf, or l2.  [default: linf]")
@click.option("--targets", default="hard", show_default=True, metavar="NAME", help="hard, majority or soft.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The luck of where pgd starts.")
@click.option("--device", metavar="NAME", default="cpu", show_default=True, help="Where to attack.")
@click.option("--batch-size", type=click.IntRange(1), help="Pictures attacked at once.  [default: 64]")
@click.option("--processes", type=int, default=0, help="How many at once.  [default: one a core]")
@click.option("-o", "--output", type=PATH, required=True, help="The folder the conditions go to, a folder each.")
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
    output: Path,
    **settings: Any,
) -> None:
    from sfumato.cli.options import check_not_negative
    from sfumato.cli.shift import progress
    from sfumato.tables.inputs import Inputs
    from sfumato.tables.soft_labels import SoftLabels
    from sfumato.training.item_join import read_original

    check_not_negative("processes", processes)
    check_folder(output)
    pictures = Inputs.read(inputs)
    people = SoftLabels.read(labels) if labels else None
    came_with = read_original(original) if original else None
    check_torch_installed()
    from sfumato.training.attacks import ATTACKED_AT_ONCE, attack_named
    from sfumato.training.dealing import run_jobs
    from sfumato.training.grid import check_device
    from sfumato.training.robustness_runs import AttackExperiment
    from sfumato.training.trained_runs import TrainedRuns

    check_device(device)
    attack = attack_named(name, given(settings))
    ready = TrainedRuns.in_folder(runs)
    attacking = AttackExperiment(
        ready.runs, output, attack, pictures, targets, people, came_with, seed, device, batch_size or ATTACKED_AT_ONCE
    )
    with progress("runs") as told:
        run_jobs(attacking, processes=processes, on_progress=told)
    n_runs = len(attacking.runs)
    what = f"{n_runs:,} run{'s' * (n_runs != 1)} under {attacking.name_of(attack.n_steps)}"
    say_written(output, what, ready.notes)
