"""`sfumato serve`: serves a study to participants in the browser."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import shlex
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from sfumato.cli.checked_study import asked_as_planned, checked_study
from sfumato.cli.options import LOCAL_ADDRESS, PATH, server_packages, store_option
from sfumato.cli.output import printable
from sfumato.cli.study_erasure import expiry_note
from sfumato.tables.errors import BadFile, BadSetting

if TYPE_CHECKING:
    from sfumato.server.dashboard_access import Dashboard
    from sfumato.study.study import Study

HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*")


@click.command("serve")
@click.argument("study", type=PATH)
@click.option("--port", default=8000, show_default=True, help="The port to listen on; 0 takes any free one.")
@click.option("--host", help="The address to listen on (default: this machine only; all if others must reach it).")
@click.option("--public", is_flag=True, help="Accept other machines, through a proxy with https: see --proxy, --name.")
@click.option("--name", multiple=True, help="With --public: the study's host name, such as study.example.org.")
@click.option("--proxy", multiple=True, help="The address of the https proxy; nobody else can connect to the server.")
@click.option("--plain-http", is_flag=True, help="With --public: no https. Others on the network can read the answers.")
@click.option(
    "--pace",
    default=5.0,
    show_default=True,
    help="Answers per second of one participant, after a burst; 0: no limit, and times as claimed (for simulations).",
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
    name: tuple[str, ...],
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
        from sfumato.elicitation.researcher_actions import expired_of
        from sfumato.server.dashboard_access import LockedFolder
        from sfumato.server.rate_limit import ServerLimits
        from sfumato.server.server import LOOPBACK, bind_socket, open_site, serve
    check_public(host, public, LOOPBACK)
    check_https(public, proxy, plain_http)
    names = host_names(public, name)
    planned, items = asked_as_planned(checked_study(study), plan)
    entered = new_password(planned, password, password_file)
    LockedFolder.remove_left()
    listener = bind_socket(host or listening_address(public, proxy), port)
    with listener, open_site(planned, store, items, public=public and not plain_http, trusts_times=pace <= 0) as site:
        if entered is not None:
            set_password(site.dashboard, entered)
        own_host, own_port = listener.getsockname()[:2]
        own = (
            f"http://{_in_url(names[0] if names else own_host)}:{own_port}"
            if not site.public
            else f"https://{names[0]}"
        )
        click.echo(f"{printable(planned.title)}: open {own} (Ctrl-C stops)")
        if site.public:
            click.echo(f"listening on {_in_url(own_host)}:{own_port} for the proxy")
        site.dashboard.on_new_link = lambda path: click.echo(
            f"your dashboard, link expires in one hour and works once: {own}{path}"
        )
        site.dashboard.on_new_link(site.dashboard.new_link())
        address = [] if own == LOCAL_ADDRESS else ["--address", own]
        # Without a password in it.
        given_store = ["--store", str(site.place)] if store else []
        click.echo(f"for another link: {shlex.join(['sfumato', 'study', 'login', str(study), *address, *given_store])}")
        if note := expiry_note(site.writer.run(expired_of), [str(study), *given_store]):
            click.echo(f"note: {note}")
        if plain_http:
            click.echo("warning: without https, others on the network can read and change the answers", err=True)
        with contextlib.suppress(KeyboardInterrupt), interrupted_by_sigterm():
            serve(site, listener, names or LOOPBACK, ServerLimits.per_participant(pace), proxy)
    click.echo("stopped; every acknowledged answer is stored")


@contextlib.contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """In this block, SIGTERM stops the server as Ctrl-C does, so that its files are cleaned up."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def host_names(public: bool, names: Sequence[str]) -> tuple[str, ...]:
    """The host names that a public server replies to, in lower case; empty for a server on this machine only."""
    if public != bool(names):
        found = "--public without --name" if public else "--name without --public"
        expected = "the host name in the address of a study that other machines reach"
        raise BadSetting(found, expected, "give both: --public --name study.example.org", "no-name")
    for each in names:
        if not HOST_NAME.fullmatch(each.lower()) and not _is_address(each):
            expected = "a host name or address, without https:// and without a port"
            raise BadSetting(f"--name {printable(each)}", expected, "such as --name study.example.org", "bad-name")
    return tuple(each.lower() for each in names)


def listening_address(public: bool, proxies: Sequence[str]) -> str:
    """Where to listen: on this machine only, unless other machines, or a proxy on one, must reach the server."""
    networks = [ipaddress.ip_network(each) for each in proxies]
    is_version_6 = any(each.version == 6 for each in networks)
    if not public or (networks and all(each.is_loopback for each in networks)):
        return "::1" if is_version_6 else "127.0.0.1"
    return "::" if is_version_6 else "0.0.0.0"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def new_password(study: Study, ask: bool, file: Path | None) -> str | None:
    """The researcher's new password, typed twice or read from a file; None if none is set."""
    if not ask and file is None:
        return None
    from sfumato.server.passwords import ADVISED, check_password

    entered = click.prompt("Password", hide_input=True, confirmation_prompt=True) if file is None else read_line(file)
    check_password(entered, study)
    if len(entered) < ADVISED:
        click.echo(f"advice: {ADVISED} characters or more are better", err=True)
    if file is not None and file.stat().st_mode & 0o077:
        click.echo(f"warning: others on this machine can read {printable(str(file))}: chmod 600 it", err=True)
    return str(entered)


def set_password(dashboard: Dashboard, entered: str) -> None:
    """Set the password, unless it is the same as before: another one ends every session."""
    from sfumato.server.passwords import hash_password, is_password

    if not is_password(entered, dashboard.credentials().password):
        dashboard.set_password(hash_password(entered))


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
    """Raise unless --public has a proxy with https or --plain-http, and not both; without --public there is neither."""
    if not public and (proxies or plain_http):
        found = f"{'--proxy' if proxies else '--plain-http'} without --public"
        fix = "add --public --name study.example.org, or remove it to serve this machine only"
        raise BadSetting(found, "--public, for a study that other machines reach", fix, "not-public")
    if proxies and plain_http:
        fix = "remove --plain-http if the proxy has https; otherwise remove --proxy"
        raise BadSetting("--proxy together with --plain-http", "https by a proxy, or no https", fix, "proxy-or-http")
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
