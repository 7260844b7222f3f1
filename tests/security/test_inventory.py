"""The page docs/security-inventory.md lists what the code does: cryptography, events, hosts, limits. And what it says
about certificates and about the log of events is true."""

from __future__ import annotations

import ast
import base64
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from documented_tests import ROOT
from picture_study import write_picture_study
from researcher import Researcher
from site_client import asked_site

import sfumato
from sfumato.elicitation import participant_link
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.recruitment.platform_api import ApiConnection, ApiRequest
from sfumato.server import dashboard_access, dashboard_routes, researcher_sessions
from sfumato.store import credentials, writer
from sfumato.store.database import writing_engine
from sfumato.tables import errors
from sfumato.tables.errors import NoReply

PACKAGE = Path(sfumato.__file__).parent
SERVED = [path for part in ("server", "elicitation", "store", "recruitment") for path in (PACKAGE / part).rglob("*.py")]
TEXT = (ROOT / "docs" / "security-inventory.md").read_text("utf-8")
CRYPTOGRAPHY = re.compile(r"^(?:import|from) (?:hashlib|hmac|secrets|ssl)\b|import PasswordHasher|os\.urandom", re.M)
LOGGERS = ("log_event", "_log_refusal", "add_event")


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def event_names(text: str) -> set[str]:
    """Every word with which a module logs an event: what happened, and who did it if that is a fixed word."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    logging = [each for each in calls if getattr(each.func, "attr", getattr(each.func, "id", "")) in LOGGERS]
    values = [*(arg for call in logging for arg in call.args)]
    values += [each.value for call in logging for each in call.keywords if each.arg in ("who", "what")]
    plain = [each for each in values if not isinstance(each, (ast.Dict, ast.JoinedStr))]
    found = {node.value for each in plain for node in ast.walk(each) if isinstance(node, ast.Constant)}
    return {each for each in found if isinstance(each, str)}


def test_every_use_of_cryptography_is_in_the_inventory() -> None:
    used = {path.relative_to(PACKAGE).as_posix() for path in SERVED if CRYPTOGRAPHY.search(path.read_text("utf-8"))}
    assert "server/passwords.py" in used
    assert "elicitation/secure_random.py" in used
    listed = set(re.findall(r"`([a-z_]+/\w+\.py)`", section("Keys and algorithms")))
    assert used - listed == set()


def test_every_event_is_in_the_inventory() -> None:
    names = {name for path in SERVED for name in event_names(path.read_text("utf-8"))}
    assert {"logged in", "denied", "erased", "somebody", "quota changed"} <= names
    assert {name for name in names if f"`{name}`" not in section("Logs")} == set()


def test_an_event_of_any_form_is_found() -> None:
    assert event_names('log_event(who, "a" if x else "b", {"c": 1})') == {"a", "b"}
    assert event_names('queries.add_event(c, 1, at=now, who="d", what="e", about={})') == {"d", "e"}


def test_every_host_that_is_called_is_in_the_inventory() -> None:
    hosts = {
        host
        for path in (PACKAGE / "recruitment").rglob("*.py")
        for host in re.findall(r"\"https://([\w.-]+)[\"/]|\"((?:www|worker\w*)\.mturk\.com)\"", path.read_text("utf-8"))
        for host in host
        if host
    } - {"worker.mturk.com"}
    assert "api.prolific.com" in hosts
    assert {host for host in hosts if f"`{host}`" not in section("Connections")} == set()


def test_the_numbers_are_those_of_the_code() -> None:
    hours = [each // 3600 for each in (researcher_sessions.IDLE_SECONDS, researcher_sessions.LONGEST_SECONDS)]
    assert f"{hours[0]} hours without activity and {hours[1]} hours in any case" in TEXT
    assert f"at most {researcher_sessions.MOST_SESSIONS};" in TEXT
    assert f"downloads {dashboard_access.DOWNLOAD_SECONDS // 60} minutes" in TEXT
    assert f"{dashboard_routes.MOST_STREAMS} open pages" in TEXT
    assert f"{writer.MOST_WAITING:,} waiting" in TEXT
    assert f"more than {errors.MAX_EXPANSION} times (beyond {errors.FREE_EXPANSION_BYTES >> 20} MB)" in TEXT


@pytest.mark.parametrize("statement", [sa.text("UPDATE happenings SET who = 'x'"), sa.text("DELETE FROM happenings")])
def test_no_event_can_be_changed_or_deleted(tmp_path: Path, statement: sa.TextClause) -> None:
    with asked_site(write_picture_study(tmp_path)) as asked:
        Researcher.by_link(asked)
        before = asked.stored("happenings")
        place = asked.site.place
    assert before
    engine = writing_engine(place)
    with pytest.raises(sa.exc.DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(statement)
    engine.dispose()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody vouches for, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    made = folder / "own.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", folder / "key.pem", "-out", made]
    subprocess.run([openssl, "req", "-x509", *curve, *name, *files], check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + (folder / "key.pem").read_bytes())
    return made


@pytest.fixture
def platform(certificate: Path) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a platform with that certificate, and what it is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    received: list[bytes] = []

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(connection, server_side=True) as secured:
                    received.append(secured.recv(10_000))
                    secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue")
            except OSError:
                continue

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}", received
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_certificates_of_platforms_are_checked(
    platform: tuple[str, list[bytes]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, received = platform
    connection = ApiConnection(address, lambda _: {"Authorization": "Token secret"}, attempts=1)
    with pytest.raises(NoReply, match="SSLCertVerificationError"):
        connection.ask(ApiRequest("/"), "key")
    assert received == []
    # The control: the same platform, once its certificate is trusted.
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert ApiConnection(address, lambda _: {}, attempts=1).ask(ApiRequest("/"), "key") is True
    assert len(received) == 1


def test_random_values_and_signatures_are_long_enough() -> None:
    """At least 128 bits where guessing would help."""
    lengths = {
        "random part of a link": participant_link.N_RANDOM,
        "signature of a link": participant_link.N_SIGNED,
        "key of a browser": participant_link.N_BROWSER_KEY,
        "name of a trial": len(base64.urlsafe_b64decode(SecureRandom().handle())),
        "recovery code": credentials.N_RECOVERY_BYTES,
        "secret": len(bytes.fromhex(participant_link.new_secret())),
    }
    assert {name for name, n_bytes in lengths.items() if 8 * n_bytes < 128} == set()
    secret = participant_link.new_secret()
    tokens = [participant_link.new_token(secret, *more) for more in ((), (1,), (1, "Aone"))]
    # No link ends with `=`, which programs that recognize addresses in texts may leave out.
    assert [len(token) for token in tokens] == [44, 52, 64]
    assert all(participant_link.is_signed(token, secret) and "=" not in token for token in tokens)
