"""`sfumato datasheet`: write a datasheet for a labeled data set."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import counted, say_written, write_table
from sfumato.tables.errors import BadFile


@click.command("datasheet")
@click.option("--labels", type=PATH, required=True, help="The SoftLabels or Counts to describe.")
@click.option("-o", "--output", type=PATH, required=True, help="The datasheet for you to complete: .md.")
@click.option("--html", type=PATH, help="Also write an HTML page.")
@click.option("--annotations", type=PATH, help="The answers: annotators, question types, dates, times.")
@click.option("--study", type=PATH, help="The study (study.toml, or its folder): prompt, instructions, consent, pay.")
@click.option("--counts", type=PATH, help="Counts of votes: agreement and disagreement, if there are no beliefs.")
@click.option("--beliefs", type=PATH, help="Beliefs: agreement, uncertainty within and between annotators.")
@click.option("--inputs", type=PATH, help="The items (images, texts or features): their size, and duplicates.")
@click.option("--screening", type=PATH, help="Excluded annotators: output of sfumato screen.")
@click.option("--scores", type=PATH, help="Scores of predictions: output of sfumato evaluate.")
@click.option("--title", help="The name of the data set.  [default: the name of the labels file]")
def command(labels: Path, output: Path, html: Path | None, title: str | None, **others: Path | None) -> None:
    """Write a datasheet for a labeled data set. Questions that the tables cannot answer are marked for you.

    Run it again at any time: your text between the comment lines is kept.
    """
    from sfumato.reporting.share.datasheet import datasheet
    from sfumato.reporting.share.datasheet.datasheet import words_in, write_markdown
    from sfumato.reporting.share.datasheet.datasheet_sources import DatasheetSources
    from sfumato.tables.files.atomic_write import check_place

    _check_ending(output, ".md", "-o", "choose another name; the HTML page goes to --html")
    check_place(output)
    if html is not None:
        _check_ending(html, ".html", "--html", "choose another name")
        check_place(html)
    words = words_in(output)
    sources = DatasheetSources.read(labels, **others)
    sheet = datasheet(sources, title=title or labels.name.split(".")[0], file=output.name, words=words)
    write_markdown(sheet, output)
    n_open, n_all = len(sheet.open_points), len(sheet.answers)
    notes = [f"{len(words)} answers of yours kept"] if words else []
    say_written(output, f"{n_all - n_open} of {n_all} questions answered", notes)
    if html is not None:
        from sfumato.reporting.share.datasheet.datasheet_page import datasheet_page

        write_table(datasheet_page(sheet), html, "the same as an HTML page")
    click.echo(f"{counted(n_open, 'open point')}{':' if n_open else ''}")
    for question in sheet.open_points:
        click.echo(f"  - {question.text}  ({question.id})")


def _check_ending(path: Path, ending: str, option: str, fix: str) -> None:
    if not path.name.lower().endswith(ending):
        raise BadFile(f"{option} {path.name!r}", f"a name ending in {ending}", fix, "file-kind", path)
