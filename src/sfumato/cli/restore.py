"""`sfumato restore`: a store made from a backup."""

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
    """Make STORE (a file, a study's folder, or postgresql://...) from BACKUP, which sfumato backup wrote.

    Where there is a store already nothing is done. Exit code 1 where answers are not as they were stored; sfumato
    verify names them.
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
        click.echo(f"warning: {copied.n_faults:,} answers are not as they were stored", err=True)
        sys.exit(1)
