"""`sfumato demo`: run the whole workflow on a small example, as commands that users can type."""

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
@click.option("--quick", is_flag=True, help="Fewer images, people and seeds, for a first look.")
def command(output: Path, quick: bool) -> None:
    """Run the whole workflow on a small example: a study of handwritten digits with three question types, labels,
    models, scores, a plan and a report.

    The images are real. The annotators are simulated and answer over HTTP. Every command is printed. The files are
    kept, and steps whose inputs and outputs are unchanged are not repeated. On a terminal the study stays open at the
    end for you to answer.
    """
    from sfumato.cli.demo.demo_steps import QUICK, Size, chapters
    from sfumato.cli.demo.step_journal import begin, check_installed, run_step

    check_installed()
    journal = begin(output)
    began = time.perf_counter()
    cpu_seconds, n_reused, n_steps = 0.0, 0, 0
    for number, chapter in enumerate(chapters(QUICK if quick else Size()), 1):
        click.secho(f"{number}. {chapter.title}", bold=True)
        for step in chapter.steps:
            click.secho(f"   $ {step.line(shlex.quote(str(output)))}", dim=True)
            journal, result = run_step(step, journal)
            took = "reused" if result.is_reused else f"{result.seconds:.1f} s"
            click.echo(f"     {took:>9}  {result.summary}")
            cpu_seconds += result.cpu_seconds
            n_reused += result.is_reused
            n_steps += 1
    reused = f"; {n_reused} of {n_steps} steps reused (same command, inputs and outputs)" if n_reused else ""
    click.echo(f"\n{n_steps} steps in {time.perf_counter() - began:.0f} s ({cpu_seconds:.0f} s CPU time){reused}")
    _print_findings(output)
    _leave_open(output)


def _print_findings(folder: Path) -> None:
    from sfumato.cli.demo.demo_findings import findings

    click.secho("\nFindings (with 95% intervals; simulated annotators, real images)", bold=True)
    for finding in findings(folder):
        click.echo("\n".join(textwrap.wrap(finding, WIDE, initial_indent=" - ", subsequent_indent="   ")))


def _leave_open(folder: Path) -> None:
    """Print where the results are; on a terminal, serve the study for the user."""
    from sfumato.cli.demo.step_journal import run

    click.echo(f"\nReport: {(folder / 'report.html').absolute()}")
    click.echo(f"Output of the commands: {folder / 'logs'}/")
    click.secho("Next: answer the study yourself. Your answers go to a separate store.", bold=True)
    line = f"sfumato serve {shlex.quote(str(folder))} --store {shlex.quote(str(folder / 'yours.sqlite'))}"
    if sys.stdout.isatty():
        click.secho(f"   $ {line} --port 0", dim=True)
        run(f"{line} --port 0")
    else:
        click.echo(f"   $ {line}   then open http://127.0.0.1:8000")
