"""`sfumato datasheet`: what is known of a labelled set, and what is still to be said."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import say_written


@click.command("datasheet")
@click.option("--labels", type=PATH, required=True, help="The SoftLabels that are described.")
@click.option("-o", "--output", type=PATH, required=True, help="The datasheet: .md, to be completed by you.")
@click.option("--html", type=PATH, help="Also write it as a page for reading.")
@click.option("--annotations", type=PATH, help="The answers: who, how asked, when, how long.")
@click.option("--study", type=PATH, help="The study (study.toml, or its folder): prompt, instructions, consent, pay.")
@click.option("--beliefs", type=PATH, help="What each person believes: agreement, doubt within and between people.")
@click.option("--inputs", type=PATH, help="The items, an npz: their make, and duplicates among them.")
@click.option("--screening", type=PATH, help="Who was set aside, and why: what sfumato screen wrote.")
@click.option("--scores", type=PATH, help="What predictions reached: what sfumato evaluate wrote.")
@click.option("--title", help="What the set is called.  [default: the name of the labels' file]")
def command(
    labels: Path,
    output: Path,
    html: Path | None,
    annotations: Path | None,
    study: Path | None,
    beliefs: Path | None,
    inputs: Path | None,
    screening: Path | None,
    scores: Path | None,
    title: str | None,
) -> None:
    """Write the datasheet of a labelled set, with all that its tables know; what only you can know is marked.

    Run it again as often as you like: what you wrote between the comment lines stays.
    """
    from sfumato.reporting.share.datasheet import DatasheetSources, datasheet, words_in, write_markdown
    from sfumato.tables.files import check_place

    _check_ending(output, ".md", "-o", "the page for reading goes to --html")
    check_place(output)
    if html is not None:
        _check_ending(html, ".html", "--html", "choose such a name")
        check_place(html)
    words = words_in(output)
    sources = DatasheetSources.read(
        labels,
        annotations=annotations,
        study=study,
        beliefs=beliefs,
        inputs=inputs,
        screening=screening,
        scores=scores,
    )
    sheet = datasheet(sources, title=title or labels.name.split(".")[0], file=output.name, words=words)
    write_markdown(sheet, output)
    n_open, n_all = len(sheet.open_points), len(sheet.answers)
    say_written(
        output, f"{n_all - n_open} of {n_all} questions answered", [f"{len(words)} in your words, kept"] * bool(words)
    )
    if html is not None:
        from sfumato.reporting.share.datasheet.datasheet_page import datasheet_page

        datasheet_page(sheet).write(html)
        say_written(html, "the same as a page")
    click.echo(f"{n_open} open point{'s' * (n_open != 1)}{':' if n_open else ''}")
    for question in sheet.open_points:
        click.echo(f"  - {question.text}  ({question.id})")


def _check_ending(path: Path, ending: str, option: str, fix: str) -> None:
    if not path.name.lower().endswith(ending):
        from sfumato.tables.errors import BadFile, ErrorLocation

        raise BadFile(
            f"found {option} {path.name!r}",
            expected=f"a name ending in {ending}",
            fix=fix,
            code="file-kind",
            where=ErrorLocation(str(path)),
        )
