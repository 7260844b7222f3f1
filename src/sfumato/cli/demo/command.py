"""`sfumato demo`: the whole path walked on handwritten digits, every step a command you could type."""

from __future__ import annotations

import shlex
import sys
import textwrap
import time
from pathlib import Path

import click

from sfumato.cli.options import PATH

WIDE = 116


@click.command("demo")
@click.option("-o", "--output", type=PATH, default=Path("demo-out"), show_default=True, help="The folder to write to.")
@click.option("--quick", is_flag=True, help="Fewer images, people and seeds: for a first look, and for tests.")
def command(output: Path, quick: bool) -> None:
    """Walk the whole path: a study of handwritten digits served and answered with three forms, labels, networks,
    scores, a plan and a report.

    The images are real, the people are simulated, and answer over HTTP as people do. Every command is shown as one
    would type it. The files stay; what is there already, and is what it would be, is not made again. On a terminal the
    study stays open in the end, for you to answer.
    """
    from sfumato.cli.demo.demo_steps import QUICK, Size, chapters
    from sfumato.cli.demo.step_journal import begin, check_installed, walk

    check_installed()
    journal = begin(output)
    began = time.perf_counter()
    cpu_seconds, n_stood, n_steps = 0.0, 0, 0
    for number, chapter in enumerate(chapters(QUICK if quick else Size()), 1):
        click.secho(f"{number}. {chapter.why}", bold=True)
        for step in chapter.steps:
            click.secho(f"   $ {step.line(shlex.quote(str(output)))}", dim=True)
            journal, walked = walk(step, journal)
            took = "as before" if walked.stood else f"{walked.seconds:.1f} s"
            click.echo(f"     {took:>9}  {walked.said}")
            cpu_seconds += walked.cpu_seconds
            n_stood += walked.stood
            n_steps += 1
    _say_time(time.perf_counter() - began, cpu_seconds, n_stood, n_steps)
    _say_findings(output)
    _leave_open(output)


def _say_time(seconds: float, cpu_seconds: float, n_stood: int, n_steps: int) -> None:
    reused = ""
    if n_stood:
        reused = f"; {n_stood} of {n_steps} steps reused: the same command, inputs and outputs, by their hashes"
    click.echo(f"\n{n_steps} steps in {seconds:.0f} s ({cpu_seconds:.0f} s of CPU){reused}")


def _say_findings(folder: Path) -> None:
    from sfumato.cli.demo.demo_findings import findings

    click.secho("\nWhat came out of it (in brackets 95% intervals; people simulated, images real)", bold=True)
    for finding in findings(folder):
        click.echo("\n".join(textwrap.wrap(finding, WIDE, initial_indent=" - ", subsequent_indent="   ")))


def _leave_open(folder: Path) -> None:
    """Where to look, and where to answer: on a terminal the study stays open."""
    from sfumato.cli.demo.step_journal import run

    click.echo(f"\nThe report: {(folder / 'report.html').absolute()}")
    click.echo(f"What each command printed: {folder / 'logs'}/")
    click.secho("Now you: answer the study yourself. Your answers go to a store of their own.", bold=True)
    line = f"sfumato serve {shlex.quote(str(folder))} --store {shlex.quote(str(folder / 'yours.sqlite'))}"
    if sys.stdout.isatty():
        click.secho(f"   $ {line} --port 0", dim=True)
        run(f"{line} --port 0")
    else:
        click.echo(f"   $ {line}   then open http://127.0.0.1:8000")
