"""`sfumato study entry`: the address to give to a platform; `sfumato study forget`: who somebody is, erased."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import printable
from sfumato.cli.serve import STORE_HELP, missing_extra


@click.command("entry")
@click.argument("study", type=PATH)
@click.option("--address", default="http://127.0.0.1:8000", show_default=True, help="Where people reach the server.")
@click.option("--store", help=STORE_HELP)
def entry(study: Path, address: str, store: str | None) -> None:
    """Print the address at which people come to STUDY from the platform in its [platform], to be entered there.

    Give it to the platform alone: whoever knows it can come in under an id they made up, which shows when the people
    are reconciled with the platform's list.
    """
    try:
        from sfumato.server.entering import entry_address
    except ImportError as error:
        raise missing_extra(error) from error
    from sfumato.study import read_study

    click.echo(entry_address(read_study(study), address, store))


@click.command("forget")
@click.argument("study", type=PATH)
@click.argument("annotator", required=False)
@click.option("--platform-id", help="The person by what the platform calls them, instead of ANNOTATOR.")
@click.option("--answers", is_flag=True, help="Leave their answers out of every export from now on, too.")
@click.option("--store", help=STORE_HELP)
def forget(study: Path, annotator: str | None, platform_id: str | None, answers: bool, store: str | None) -> None:
    """Erase who ANNOTATOR (a pseudonym) of STUDY is: what the platform calls them goes, their link is dead.

    Answers stay, as numbers of nobody, so that counts and the chain of answers hold. Pay them first: afterwards nobody
    can tell who they are. A file that is being served must be let go of first; browsers keep what is not yet sent.
    """
    try:
        from sfumato.elicitation.researcher_actions import erased
        from sfumato.server.server import opened
    except ImportError as error:
        raise missing_extra(error) from error
    from sfumato.study import read_study

    with opened(read_study(study), store) as site:
        who = site.writer.run(
            lambda work: erased(work, "terminal", pseudonym=annotator, platform_id=platform_id, answers=answers)
        )
    kept = "their answers are in no export from now on" if answers else "their answers stay"
    click.echo(f"{printable(who)}: who they are elsewhere is forgotten, their link is dead, {kept}")
