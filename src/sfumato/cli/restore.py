"""`sfumato restore`: create a store from a backup."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import printable
from sfumato.store.location import named_location


@click.command("restore")
@click.argument("backup", type=PATH)
@click.argument("store")
def command(backup: Path, store: str) -> None:
    """Create STORE (a file, a study's folder, or postgresql://...) from BACKUP, a file written by sfumato backup.

    An existing store is never overwritten. Exit code 1 if answers differ from what was stored; sfumato verify lists
    them.
    """
    from sfumato.cli.serve import missing_extra

    try:
        from sfumato.store.backup import restore
        from sfumato.store.location import StoreLocation
    except ImportError as error:
        raise missing_extra(error) from error
    place = StoreLocation.of(named_location(store))
    copied = restore(backup, place)
    click.echo(f"{printable(str(place))}: {copied.n_answers:,} answers")
    if copied.n_faults:
        click.echo(f"warning: {copied.n_faults:,} answers differ from what was stored", err=True)
        sys.exit(1)
