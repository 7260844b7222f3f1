"""`sfumato backup`: copy a store into one file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sfumato.cli.options import output_option
from sfumato.cli.output import say_written
from sfumato.store.location import named_location


@click.command("backup")
@click.argument("store")
@output_option("The copy, an SQLite file that only you can read.")
def command(store: str, output: Path) -> None:
    """Copy STORE (its file, a study's folder, or postgresql://...) into one file, also while the study is served.

    The copy contains every answer acknowledged before the command started, and is verified before it is saved. Serve
    it with --store, or restore it with sfumato restore. Exit code 1 if answers differ from what was stored; sfumato
    verify lists them.
    """
    from sfumato.cli.serve import missing_extra

    try:
        from sfumato.store.backup import backup
        from sfumato.store.location import StoreLocation
    except ImportError as error:
        raise missing_extra(error) from error
    copied = backup(StoreLocation.of(named_location(store)), output)
    say_written(output, f"{copied.n_answers:,} answers, {copied.n_bytes / 1e6:,.1f} MB")
    if copied.n_faults:
        click.echo(f"warning: {copied.n_faults:,} answers differ from what was stored", err=True)
        sys.exit(1)
