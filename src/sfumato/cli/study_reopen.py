"""`sfumato study reopen`: ask again about items whose annotators were excluded."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH, server_packages, store_option
from sfumato.cli.output import counted, say
from sfumato.study.study_file import read_study


@click.command("reopen")
@click.argument("study", type=PATH)
@click.option("--screening", type=PATH, required=True, help="The excluded annotators, from sfumato screen.")
@store_option
def reopen(study: Path, screening: Path, store: str | None) -> None:
    """Ask again about the items of STUDY whose annotators a screening excluded.

    Their answers no longer count toward the number of answers per item, so that sfumato serve offers these items to
    other people. Nothing is deleted: exports still have the answers. A later screening replaces this one. Stop the
    server first if the store is a file.
    """
    with server_packages():
        from sfumato.elicitation.researcher_actions import set_aside
        from sfumato.server.server import open_site
        from sfumato.store.database import reading
        from sfumato.store.export import check_stored
        from sfumato.store.location import StoreLocation
    from sfumato.labeling.screening import read_excluded

    asked = read_study(study)
    excluded = read_excluded(screening)
    place = StoreLocation.of_study(asked, store)
    # Opening the site would add the study to a store that does not hold it.
    with reading(place, any_version=True) as connection:
        check_stored(connection, place, asked.name)
    with open_site(asked, store) as site:
        n = site.writer.run(lambda running: set_aside(running, excluded, "terminal"))
    size, more = abs(n), "fewer" if n >= 0 else "more"
    again = f"{size:,} {more} {'answer counts' if size == 1 else 'answers count'}"
    say(f"{counted(len(excluded), 'annotator')} excluded: {again} toward the number of answers per item.")
    click.echo(f"Serve the study to ask for them: sfumato serve {study}")
