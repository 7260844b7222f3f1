"""`sfumato serve`: a study open to people, in their browser."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import printable
from sfumato.cli.study_options import asked_as_planned, checked_study
from sfumato.tables.errors import MissingExtra

if TYPE_CHECKING:
    from sfumato.server.site import Site
    from sfumato.study.study import Study

STORE_HELP = "Where answers are kept: a file, or postgresql://... (default: store/answers.sqlite beside the study)."


@click.command("serve")
@click.argument("study", type=PATH)
@click.option("--port", default=8000, show_default=True, help="The port to listen on; 0 takes any free one.")
@click.option("--host", help="The address to listen on (default: this machine only, or all with --public).")
@click.option("--public", is_flag=True, help="Let other machines in, through a proxy with https: see --proxy.")
@click.option(
    "--proxy", multiple=True, help="The address of the proxy with https before this; it says where people come from."
)
@click.option("--plain-http", is_flag=True, help="With --public: do without https. Anybody on the way can read along.")
@click.option(
    "--pace", default=5.0, show_default=True, help="Answers a second from one person, beyond a burst; 0: no limit."
)
@click.option("--store", help=STORE_HELP)
@click.option("--plan", type=PATH, help="Ask as this plan has it (sfumato plan writes one).")
@click.option("--password", is_flag=True, help="Ask for a password to log in to /studio with. Later starts know it.")
@click.option("--password-file", type=PATH, help="The same, read from the first line of a file.")
def command(
    study: Path,
    port: int,
    host: str | None,
    public: bool,
    proxy: tuple[str, ...],
    plain_http: bool,
    pace: float,
    store: str | None,
    plan: Path | None,
    password: bool,
    password_file: Path | None,
) -> None:
    """Serve STUDY (study.toml, or its folder) until stopped with Ctrl-C.

    An answer is acknowledged only after it is safe on disk; stop or kill the server whenever you like, and start it
    again where it was.
    """
    try:
        from sfumato.server.rate_limit import ServerLimits
        from sfumato.server.server import LOOPBACK, listening, opened, serve
    except ImportError as error:
        raise missing_extra(error) from error
    check_public(host, public, LOOPBACK)
    check_https(public, proxy, plain_http)
    checked = checked_study(study)
    asked, items = asked_as_planned(checked, plan)
    hashed = hashed_password(asked, password, password_file)
    listener = listening(host or ("0.0.0.0" if public else "127.0.0.1"), port)
    with listener, opened(asked, store, items, public=public and not plain_http) as site:
        if hashed is not None:
            set_password(site, hashed)
        name = "this machine's name or address" if public and not host else listener.getsockname()[0]
        address = f"http://{name}:{listener.getsockname()[1]}"
        own = "https://your proxy's name" if public and not plain_http else address
        click.echo(f"{printable(asked.title)}: open {address} (Ctrl-C stops)")
        site.desk.say_link = lambda path: click.echo(f"for you alone, works once: {own}{path}")
        site.desk.say_link(site.desk.new_link())
        if plain_http:
            click.echo("warning: without https anybody on the way can read and change what people send", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            serve(site, listener, () if public else LOOPBACK, ServerLimits.usual(pace), proxy)
    click.echo("stopped; every acknowledged answer is stored")


def hashed_password(study: Study, ask: bool, file: Path | None) -> str | None:
    """The researcher's password as it is kept, typed twice or read from a file; None where none is to be set."""
    if not ask and file is None:
        return None
    from sfumato.server.passwords import ADVISED, check_password, hashed

    given = click.prompt("Password", hide_input=True, confirmation_prompt=True) if file is None else read_line(file)
    check_password(given, study)
    if len(given) < ADVISED:
        click.echo(f"advice: {ADVISED} characters or more are better", err=True)
    return hashed(given)


def read_line(file: Path) -> str:
    """The first line of a text file."""
    from sfumato.tables.errors import BadFile, ErrorLocation

    try:
        with file.open(encoding="utf-8") as stream:
            return stream.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(
            f"found a file that cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})",
            expected="a text file whose first line is the password",
            fix="check its name and its permissions",
            code="unreadable-file",
            where=ErrorLocation(str(file)),
        ) from error


def set_password(site: Site, hashed: str) -> None:
    """Keep the password with the study."""
    from sfumato.elicitation.researcher_actions import set_password as store_password

    site.writer.run(lambda running: store_password(running, hashed, "terminal"))


def check_public(host: str | None, public: bool, loopback: tuple[str, ...]) -> None:
    """Raise if the address would let others in and nobody said they may."""
    if host is None or public or host in loopback:
        return
    from sfumato.tables.errors import BadSetting

    raise BadSetting(
        f"found --host {host}",
        expected="an address of this machine alone, unless others are meant to come in",
        fix="add --public, and put a proxy with https before it",
        code="not-public",
    )


def check_https(public: bool, proxies: Sequence[str], plain_http: bool) -> None:
    """Raise if others are to come in and neither a proxy with https is named nor done without on purpose."""
    from sfumato.tables.errors import BadSetting

    if public and not proxies and not plain_http:
        raise BadSetting(
            "found --public without a proxy",
            expected="a proxy with https before a study that others reach",
            fix="name it: --proxy 127.0.0.1 if it runs on this machine; --plain-http does without, on your own network",
            code="no-https",
        )
    for each in proxies:
        try:
            ipaddress.ip_network(each)
        except ValueError:
            raise BadSetting(
                f"found --proxy {each}",
                expected="the address the proxy asks from, or its network: 127.0.0.1, 10.0.0.0/24",
                fix="give the address, not the name",
                code="bad-proxy",
            ) from None


def missing_extra(error: ImportError) -> MissingExtra:
    """The error for a server that is not installed."""
    return MissingExtra(
        f"found no {error.name or 'package'}",
        expected="the packages of the study server",
        fix='pip install "sfumato[serve]" (and "sfumato[postgres]" for PostgreSQL)',
        code="missing-extra",
    )
