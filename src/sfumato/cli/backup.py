"""`sfumato backup`, `sfumato restore` and `sfumato verify`: copies of a store, and whether its answers were changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, output_option, server_packages
from sfumato.cli.output import printable, say_written
from sfumato.study.study_file import read_study

if TYPE_CHECKING:
    from sfumato.store.backup import BackupResult
    from sfumato.store.location import StoreLocation

SHOWN = 50
"""How many faults are listed; the rest are counted."""


@click.command("backup")
@click.argument("store")
@output_option("The copy, an SQLite file that only you can read.")
def backup(store: str, output: Path) -> None:
    """Copy STORE (its file, a study's folder, or postgresql://...) into one file, also while the study is served.

    The copy contains every answer acknowledged before the command started, and is verified before it is saved. Serve
    it with --store, or restore it with sfumato restore. Exit code 1 if answers differ from what was stored; sfumato
    verify lists them.
    """
    with server_packages():
        from sfumato.store.backup import backup as copy_store
    copied = copy_store(_location(store), output)
    say_written(output, f"{copied.n_answers:,} answers, {copied.n_bytes / 1e6:,.1f} MB")
    _warn_of_faults(copied)


@click.command("restore")
@click.argument("backup", type=PATH)
@click.argument("store")
def restore(backup: Path, store: str) -> None:
    """Create STORE (a file, a study's folder, or postgresql://...) from BACKUP, a file written by sfumato backup.

    An existing store is never overwritten. Exit code 1 if answers differ from what was stored; sfumato verify lists
    them.
    """
    with server_packages():
        from sfumato.store.backup import restore as restore_store
    place = _location(store)
    copied = restore_store(backup, place)
    click.echo(f"{printable(str(place))}: {copied.n_answers:,} answers")
    _warn_of_faults(copied)


def _location(store: str) -> StoreLocation:
    """The store itself, or the default store of a study given by its folder or file."""
    from sfumato.store.location import StoreLocation

    path = Path(store)
    if "://" not in store and (path.is_dir() or path.suffix == ".toml"):
        return StoreLocation.of_study(read_study(path))
    return StoreLocation.of(store)


def _warn_of_faults(copied: BackupResult) -> None:
    if copied.n_faults:
        click.echo(f"warning: {copied.n_faults:,} answers differ from what was stored", err=True)
        sys.exit(1)


@click.command("verify")
@click.argument("store")
@click.option("--head", help="The head printed by an earlier verify, if there were no new answers since.")
def verify(store: str, head: str | None) -> None:
    """Check STORE (its file, a study's folder, or postgresql://...) for answers that were changed, removed or added by
    hand, and list them.

    Every answer has a hash of itself and of the previous one. The head is the last hash: keep it in another place to
    detect a rebuilt store. Exit code 1 if something is wrong.
    """
    with server_packages():
        from sfumato.store.verification import verify as verify_store
    is_right = True
    for found in verify_store(_location(store)):
        n_faults = len(found.faults)
        result = "all unchanged" if not n_faults else f"{n_faults:,} faults"
        result += f" ({found.n_erased:,} without their records, which were erased)" if found.n_erased else ""
        click.echo(f"{printable(found.study)}: {found.n_answers:,} answers, {result}; head {found.head or 'none yet'}")
        for fault in found.faults[:SHOWN]:
            whose = f"{printable(fault.annotator or '?')} about {printable(fault.item or '?')}"
            click.echo(f"  {fault.what:<8} answer {fault.id}, {whose}")
        if n_faults > SHOWN:
            click.echo(f"  and {n_faults - SHOWN:,} more")
        if head is not None and head != found.head:
            click.echo("  the head differs from --head: there are new answers, or the chain was rebuilt")
        is_right &= not n_faults and head in (None, found.head)
    sys.exit(0 if is_right else 1)
