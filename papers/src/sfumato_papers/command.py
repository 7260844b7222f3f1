"""`sfumato reproduce`: a paper's own tables next to ours, from the released data."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_folder, check_torch_installed
from sfumato.cli.output import drawing, printable, say_written

if TYPE_CHECKING:
    from sfumato_papers.paper import Part
    from sfumato_papers.reproduction import Outcome, Reproduction

ALL = "all"
WIDE = 116
NAME, COLUMN, PRINTED, OURS = 44, 22, 9, 20


@click.command("reproduce", short_help="Re-run published results and compare.")
@click.argument("papers", nargs=-1, metavar="PAPER...")
@click.option(
    "--scale",
    type=click.Choice(["small", "cpu", "full"]),
    default="small",
    show_default=True,
    help="small: minutes on two cores. cpu: up to an hour. full: the published protocol, for a graphics card.",
)
@click.option("--data", type=PATH, help="The released data, a folder per set.  [default: $SFUMATO_DATA, or downloaded]")
@click.option("--only", multiple=True, metavar="PART", help="One part alone, such as table-1; several times.")
@click.option("--parts", "list_parts", is_flag=True, help="List the parts of the papers, and do nothing.")
@click.option(
    "-o", "--output", type=PATH, default=Path("reproduced"), show_default=True, help="The folder for pages and CSV."
)
@click.option("--runs", type=PATH, help="Where trainings are kept, to be done once.  [default: OUTPUT/runs]")
@click.option("--device", default="cpu", show_default=True, help="Where networks are trained: cpu, cuda, mps.")
@click.option("--processes", default=0, help="How many trainings at once.  [default: one a core]")
@click.option("--download/--no-download", default=True, help="Fetch what data is missing from its public home.")
def command(
    papers: tuple[str, ...],
    scale: str,
    data: Path | None,
    only: tuple[str, ...],
    list_parts: bool,
    output: Path,
    runs: Path | None,
    device: str,
    processes: int,
    download: bool,
) -> None:
    """Run published results again: every table and figure of PAPER next to ours, from the released data, with a verdict
    on each figure that is computed.

    PAPER is peterson-2019, collins-2022, collins-mixup, soft-digits, sucholutsky-2023, or all. Pages go to OUTPUT as
    Markdown with their figures, every verdict with its reason as CSV. What was trained is kept: a rerun that was
    stopped goes on where it was.
    """
    names = _names(papers)
    check_torch_installed()
    from sfumato_papers import paper_named

    if list_parts:
        from sfumato_papers.paper import name_of

        for name in names:
            paper = paper_named(name)
            click.echo(f"{name}: {paper.title} ({paper.year})")
            click.echo("\n".join(f"  {name_of(step)}" for step in paper.steps))
        return
    check_folder(output)
    from sfumato_papers.paper import Scale
    from sfumato_papers.published_data import PublishedData
    from sfumato_papers.reproduction import reproduce

    released = PublishedData.found(data, download=download, say=lambda line: click.echo(line, err=True))
    for name in names:
        with drawing() as draw:
            found = reproduce(
                name,
                data=released,
                runs=runs or output / "runs",
                scale=Scale(scale),
                only=only,
                device=device,
                processes=processes,
                command=_asked(name, scale, only),
                say=draw,
            )
        _show(found)
        page = found.write(output)
        say_written(page, f"{len(found.parts)} parts, {sum(len(part.charts) for part in found.parts)} figures")


def _names(papers: Sequence[str]) -> list[str]:
    from sfumato.tables.errors import BadSetting, unknown
    from sfumato_papers import PAPERS

    if not papers:
        expected = f"one or more of {', '.join(PAPERS)}, or {ALL}"
        raise BadSetting("no paper", expected, "give the name of a paper", "usage")
    for name in papers:
        if name != ALL and name not in PAPERS:
            raise unknown("paper", name, [*PAPERS, ALL])
    return list(PAPERS) if ALL in papers else list(dict.fromkeys(papers))


def _asked(name: str, scale: str, only: Sequence[str]) -> str:
    """The command as a reader gives it; where data and runs stand is their own matter."""
    words = ["sfumato", "reproduce", name, "--scale", scale]
    return shlex.join([*words, *(word for part in only for word in ("--only", part))])


def _show(found: Reproduction) -> None:
    from sfumato_papers.paper_page import tally_in_words

    click.secho(f"\n{found.paper.title} ({found.paper.authors} {found.paper.year})", bold=True)
    outcomes = found.outcomes()
    rows = iter(outcomes.outcomes)
    for part in found.parts:
        _show_part(part, [next(rows) for _ in part.findings])
    click.secho(f"\n{tally_in_words(outcomes.tally())}", bold=True)
    click.echo(found.cost)


def _show_part(part: Part, rows: Sequence[Outcome]) -> None:
    click.secho(f"\n{part.place}: {part.title}", bold=True)
    if part.scaled_down:
        click.secho(textwrap.fill(f"scaled down: {part.scaled_down}", WIDE), dim=True)
    for row in rows:
        if row.value != row.value and row.published and not row.column and row.ours:
            said = f"{printable(row.row, NAME)}: {row.published} | {row.ours} | {row.verdict}"
            click.echo(textwrap.fill(said, WIDE, initial_indent="  ", subsequent_indent="      "))
            continue
        half = (row.high - row.low) / 2
        decimals = len(row.ours.partition(".")[2])
        ours = f"{row.ours or '-'}{f' ± {half:.{decimals}f}' if half == half else ''}"
        names = f"{printable(row.row, NAME):{NAME}}  {printable(row.column, COLUMN):{COLUMN}}"
        click.echo(f"  {names}  {row.published or '-':>{PRINTED}}  {ours:>{OURS}}  {row.verdict}")
