"""`sfumato verify`: whether every stored answer is as it was stored."""

from __future__ import annotations

import sys

import click

from sfumato.cli.output import printable
from sfumato.store.location import named_location

SHOWN = 50
"""Faults named one by one; of more there is the number."""


@click.command("verify")
@click.argument("store")
@click.option("--head", help="The head that an earlier verify printed, if the study has not gone on since.")
def command(store: str, head: str | None) -> None:
    """Look through STORE (its file, a study's folder, or postgresql://...) for answers that were changed, taken out or
    put in by hand, and name them.

    Every answer carries a hash of itself and of the one before. The head printed is the hash of the last: kept
    elsewhere, it shows whether the whole store was made anew. Exit code 1 where something is wrong.
    """
    from sfumato.cli.serve import missing_extra

    try:
        from sfumato.store.location import StoreLocation
        from sfumato.store.verification import verify
    except ImportError as error:
        raise missing_extra(error) from error
    is_right = True
    for found in verify(StoreLocation.of(named_location(store))):
        n_faults = len(found.faults)
        said = "every one as it was stored" if not n_faults else f"{n_faults:,} not as stored"
        click.echo(f"{printable(found.study)}: {found.n_answers:,} answers, {said}; head {found.head or 'none yet'}")
        for fault in found.faults[:SHOWN]:
            whose = f"{printable(fault.annotator or '?')} about {printable(fault.item or '?')}"
            click.echo(f"  {fault.what:<8} answer {fault.id}, {whose}")
        if n_faults > SHOWN:
            click.echo(f"  and {n_faults - SHOWN:,} more")
        if head is not None and head != found.head:
            click.echo("  the head is not the one given: answers came since, or the chain was made anew")
        is_right &= not n_faults and head in (None, found.head)
    sys.exit(0 if is_right else 1)
