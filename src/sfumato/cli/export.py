"""`sfumato export`: exports the answers of a study as Annotations, with a codebook."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from sfumato.cli.options import (
    EXACT_TIMES_NOTES,
    PATH,
    check_outputs,
    exact_times_option,
    output_option,
    server_packages,
    store_option,
)
from sfumato.cli.output import say_written
from sfumato.study.study import ABOUT_ONE_ITEM
from sfumato.study.study_file import read_study


@click.command("export")
@click.argument("study", type=PATH)
@output_option("Annotations as Parquet or CSV.")
@click.option("--records", type=PATH, help="Details of each answer: every input, times, and what was shown where.")
@exact_times_option
@store_option
def command(study: Path, output: Path, records: Path | None, exact_times: bool, store: str | None) -> None:
    """Write the answers of STUDY (study.toml, or its folder) as one consistent snapshot, also while it is being served.

    Participants are pseudonyms, and times have no dates: the first answer of each person starts at 2000-01-01, and rows
    are sorted by item and pseudonym. A codebook that explains every field is written next to the output.
    """
    with server_packages():
        from sfumato.store.export import export
        from sfumato.store.location import StoreLocation
    from sfumato.elicitation.codebook import codebook
    from sfumato.elicitation.items import row_sources
    from sfumato.elicitation.kinds import kinds_of
    from sfumato.tables.files.atomic_write import atomic_write

    found = read_study(study)
    # The CSV of items must not be overwritten either.
    check_outputs(found.items.csv or found.items.texts or study, output=output, records=records)
    place = StoreLocation.of_study(found, store)
    written = export(
        place,
        found.name,
        output,
        records,
        exact_times=exact_times,
        ordered=found.ordered,
        row_sources=row_sources(found.items),
    )
    say_written(output, f"{written.n_answers:,} answers ({written.kind})", EXACT_TIMES_NOTES if exact_times else ())
    if records is not None:
        say_written(records, "details of each answer")
    book = output.with_name(output.name.split(".")[0] + ".codebook.md")
    with atomic_write(book) as part:
        part.write_text(codebook(found, kinds_of(found), exact_times=exact_times), "utf-8")
    say_written(book, "explanation of every field")
    if found.question.kind in ABOUT_ONE_ITEM:
        table, screening = shlex.quote(str(output)), shlex.quote(str(output.with_name("screening.csv")))
        more = f" --records {shlex.quote(str(records))}" if records is not None else ""
        command = f"sfumato screen {table} --study {shlex.quote(str(study))}{more} -o {screening}"
        click.echo(f"To list annotators to exclude: {command}")
