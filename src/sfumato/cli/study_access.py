"""`sfumato study login`: a link to the dashboard; `second-factor`: codes from an app in addition to the password."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, address_option, server_packages, store_option
from sfumato.cli.output import say
from sfumato.study.study_file import read_study
from sfumato.tables.errors import BadSetting, CannotWrite

if TYPE_CHECKING:
    from sfumato.store.credentials import SecondFactor

TRIES = 3
"""How often a code of the app can be typed."""


@click.command("login")
@click.argument("study", type=PATH)
@address_option
@store_option
def login(study: Path, address: str, store: str | None) -> None:
    """Print a link that logs you in to the dashboard of STUDY, while it is served.

    The link works once and expires after an hour; a link made before with this command ends. Run it on the machine of
    the server, as the user who runs the server.
    """
    with server_packages():
        from sfumato.server.login_links import leave_link, link_file
        from sfumato.store.location import StoreLocation
    read = read_study(study)
    file = link_file(read, StoreLocation.of_study(read, store))
    try:
        path = leave_link(file)
    except OSError as error:
        expected = "the user who runs the server, on its machine"
        found, fix = f"a folder that cannot be written ({error.strerror})", "run the command as that user"
        raise CannotWrite(found, expected, fix, "cannot-write", file.parent) from error
    click.echo(f"{address}{path}")
    click.echo("works once, within one hour, while the study is served", err=True)


@click.command("second-factor")
@click.argument("study", type=PATH)
@click.option("--remove", is_flag=True, help="Remove the second factor.")
@store_option
def second_factor(study: Path, remove: bool, store: str | None) -> None:
    """Ask for a code from an authenticator app when you log in to the dashboard of STUDY by password.

    Prints the key for the app and ten recovery codes, and asks for a code of the app before it is stored. Every session
    ends. Login links need no code. Stop the server first if the store is a file.
    """
    with server_packages():
        from sfumato.elicitation.researcher_actions import check_has_password, set_second_factor
        from sfumato.server.server import open_site
        from sfumato.store.credentials import new_second_factor, otpauth_url
        from sfumato.store.database import reading
        from sfumato.store.export import check_stored
        from sfumato.store.location import StoreLocation
    asked = read_study(study)
    place = StoreLocation.of_study(asked, store)
    # Opening the site would add the study to a store that does not hold it.
    with reading(place, any_version=True) as connection:
        check_stored(connection, place, asked.name)
    with open_site(asked, store) as site:
        if remove:
            site.writer.run(lambda running: set_second_factor(running, None, "terminal"))
            click.echo("second factor removed: the password is enough")
            return
        check_has_password(site.dashboard.credentials())
        factor, recovery = new_second_factor()
        click.echo(f"key for the app: {factor.secret}")
        click.echo(f"as an address: {otpauth_url(factor, site.study.name)}")
        used = _after_code(factor)
        site.writer.run(lambda running: set_second_factor(running, used, "terminal"))
    say("Second factor set. Keep these recovery codes in a safe place: each replaces a code of the app once.")
    for each in recovery:
        click.echo(f"  {each}")


def _after_code(factor: SecondFactor) -> SecondFactor:
    """The second factor after a code of the app was typed, in one of `TRIES`; that code is used up."""
    for n_left in reversed(range(TRIES)):
        used = factor.after(click.prompt("Code that the app shows"), time.time())
        if used is not None:
            return used
        if n_left:
            tries = "one more try" if n_left == 1 else f"{n_left} more tries"
            click.echo(f"that code does not match; type the code that the app shows now ({tries})", err=True)
    fix = (
        "check the clocks of this machine and of the phone, and run the command again, which makes a new key; "
        "nothing was changed"
    )
    raise BadSetting(f"{TRIES} codes that do not match", "the code that the app shows", fix, "wrong-code")
