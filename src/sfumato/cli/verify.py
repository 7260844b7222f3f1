"""`sfumato verify`: check that no stored answer was changed."""

from __future__ import annotations

import sys

import click

from sfumato.cli.output import printable
from sfumato.store.location import named_location

SHOWN = 50
"""How many faults are listed; the rest are counted."""


@click.command("verify")
@click.argument("store")
@click.option("--head", help="The head printed by an earlier verify, if there were no new answers since.")
def command(store: str, head: str | None) -> None:
    """Check STORE (its file, a study's folder, or postgresql://...) for answers that were changed, removed or added by
    hand, and list them.

    Every answer has a hash of itself and of the previous one. The head is the last hash: keep it in another place to
    detect a rebuilt store. Exit code 1 if something is wrong.
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
        result = "all unchanged" if not n_faults else f"{n_faults:,} faults"
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
