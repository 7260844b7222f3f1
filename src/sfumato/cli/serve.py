"""`sfumato serve`: serves a study to participants in the browser."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.checked_study import asked_as_planned, checked_study
from sfumato.cli.options import PATH, server_packages, store_option
from sfumato.cli.output import printable
from sfumato.cli.study_erasure import expiry_note
from sfumato.tables.errors import BadFile, BadSetting

if TYPE_CHECKING:
    from sfumato.study.study import Study


@click.command("serve")
@click.argument("study", type=PATH)
@click.option("--port", default=8000, show_default=True, help="The port to listen on; 0 takes any free one.")
@click.option("--host", help="The address to listen on (default: this machine only, or all with --public).")
@click.option("--public", is_flag=True, help="Accept other machines, through a proxy with https: see --proxy.")
@click.option(
    "--proxy", multiple=True, help="The address of the https proxy; client addresses are accepted from it only."
)
@click.option("--plain-http", is_flag=True, help="With --public: no https. Others on the network can read the answers.")
@click.option(
    "--pace", default=5.0, show_default=True, help="Answers per second of one participant, after a burst; 0: no limit."
)
@store_option
@click.option("--plan", type=PATH, help="Use this plan (written by sfumato plan).")
@click.option("--password", is_flag=True, help="Ask for a password for the dashboard. Later starts remember it.")
@click.option("--password-file", type=PATH, help="Read the password from the first line of a file.")
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

    An answer is acknowledged only after it is stored on disk. You can stop or kill the server at any time; when you
    start it again, the study continues.
    """
    with server_packages():
        from sfumato.elicitation.researcher_actions import expired_of, set_password
        from sfumato.server.rate_limit import ServerLimits
        from sfumato.server.server import LOOPBACK, bind_socket, open_site, serve
    check_public(host, public, LOOPBACK)
    check_https(public, proxy, plain_http)
    planned, items = asked_as_planned(checked_study(study), plan)
    hashed = new_password(planned, password, password_file)
    listener = bind_socket(host or ("0.0.0.0" if public else "127.0.0.1"), port)
    with listener, open_site(planned, store, items, public=public and not plain_http) as site:
        if hashed is not None:
            site.writer.run(lambda running: set_password(running, hashed, "terminal"))
        name = "this machine's name or address" if public and not host else listener.getsockname()[0]
        address = f"http://{name}:{listener.getsockname()[1]}"
        own = "https://your proxy's name" if public and not plain_http else address
        click.echo(f"{printable(planned.title)}: open {address} (Ctrl-C stops)")
        site.dashboard.on_new_link = lambda path: click.echo(f"your dashboard, link works once: {own}{path}")
        site.dashboard.on_new_link(site.dashboard.new_link())
        if note := expiry_note(site.writer.run(expired_of), study):
            click.echo(f"note: {note}")
        if plain_http:
            click.echo("warning: without https, others on the network can read and change the answers", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            serve(site, listener, () if public else LOOPBACK, ServerLimits.per_participant(pace), proxy)
    click.echo("stopped; every acknowledged answer is stored")


def new_password(study: Study, ask: bool, file: Path | None) -> str | None:
    """The hash of the researcher's new password, typed twice or read from a file; None if none is set."""
    if not ask and file is None:
        return None
    from sfumato.server.passwords import ADVISED, check_password, hash_password

    entered = click.prompt("Password", hide_input=True, confirmation_prompt=True) if file is None else read_line(file)
    check_password(entered, study)
    if len(entered) < ADVISED:
        click.echo(f"advice: {ADVISED} characters or more are better", err=True)
    return hash_password(entered)


def read_line(file: Path) -> str:
    """The first line of a text file."""
    try:
        with file.open(encoding="utf-8") as stream:
            return stream.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        found = f"a file that cannot be read ({getattr(error, 'strerror', None) or 'not UTF-8'})"
        expected, fix = "a text file whose first line is the password", "check its name and its permissions"
        raise BadFile(found, expected, fix, "unreadable-file", file) from error


def check_public(host: str | None, public: bool, loopback: tuple[str, ...]) -> None:
    """Raise if other machines could reach the address without --public."""
    if host is not None and not public and host not in loopback:
        expected = "a loopback address, unless other machines may connect"
        raise BadSetting(f"--host {host}", expected, "add --public, and use a proxy with https", "not-public")


def check_https(public: bool, proxies: Sequence[str], plain_http: bool) -> None:
    """Raise if --public has neither a proxy with https nor --plain-http."""
    if public and not proxies and not plain_http:
        expected = "a proxy with https for a study that other machines reach"
        fix = "name it: --proxy 127.0.0.1 if it runs on this machine; or --plain-http on your own network"
        raise BadSetting("--public without a proxy", expected, fix, "no-https")
    for each in proxies:
        try:
            ipaddress.ip_network(each)
        except ValueError:
            expected = "the address or network of the proxy, such as 127.0.0.1 or 10.0.0.0/24"
            raise BadSetting(f"--proxy {each}", expected, "give the address, not the name", "bad-proxy") from None
