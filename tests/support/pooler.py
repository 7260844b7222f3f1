"""PgBouncer in front of PostgreSQL, in a temporary folder on a local port."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

SETTINGS = """\
[databases]
* = host={host} port={at} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 50
logfile = {folder}/log
"""
START_SECONDS = 20.0


def program() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def skip_reason() -> str | None:
    """Why PgBouncer cannot run here, or None."""
    return None if program() else "PgBouncer is not installed"


class Pooler:
    """A running pooler; `url` is the address of a database through it."""

    def __init__(self, folder: Path, url: str) -> None:
        parts = urlsplit(url)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = url.replace(f":{parts.port}/", f":{self.port}/")
        self._settings = folder / "pgbouncer.ini"
        self._settings.write_text(
            SETTINGS.format(host=parts.hostname, at=parts.port, user=parts.username, port=self.port, folder=folder)
        )
        # It refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            os.chown(folder, pwd.getpwnam(self._user).pw_uid, -1)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        found = program()
        assert found is not None
        self._process = subprocess.Popen(
            [found, "-q", str(self._settings)], user=self._user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        ends_at = time.monotonic() + START_SECONDS
        while not self._listens():
            assert self._process.poll() is None, (self._settings.parent / "log").read_text()
            assert time.monotonic() < ends_at, "the pooler did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextlib.contextmanager
def pooler(url: str) -> Iterator[Pooler]:
    """A pooler in front of the database at `url`, while the context is open."""
    with tempfile.TemporaryDirectory(prefix="sfumato-pooler-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = Pooler(Path(folder), url)
        try:
            yield running
        finally:
            running.kill()
