"""A PostgreSQL cluster in a temporary folder on a local port."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = Path("/usr/lib/postgresql")


def programs() -> Path | None:
    """The folder of the newest PostgreSQL programs installed, or None."""
    found = sorted(PROGRAMS.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).parent if on_path else None


class Cluster:
    """A running cluster. `stop` and `start` restart it; `new_database` gives the URL of an empty database."""

    def __init__(self, folder: Path, bin: Path) -> None:
        self.folder, self._bin = folder, bin
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._n_databases = 0
        # PostgreSQL refuses to run as root.
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        self._run("initdb", "--auth=trust", "--username=sfumato", "--encoding=UTF8", "--no-locale", "-D", self.data)
        self.start()

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self, *settings: str) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' " + " ".join(settings)
        self._run("pg_ctl", "start", "-w", "-D", self.data, "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "-w", "-m", mode, "-D", self.data)

    def postmaster(self) -> int:
        """The process id of the postmaster."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        self._n_databases += 1
        name = f"study{self._n_databases}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "sfumato", name)
        return f"postgresql://sfumato@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as, str(self._bin / program), *arguments]
        done = subprocess.run(
            command, cwd="/", stdin=subprocess.DEVNULL, capture_output=program != "pg_ctl", check=False
        )
        if done.returncode:
            log = self.folder / "log"
            detail = (done.stderr or b"").decode() + (log.read_text() if log.exists() else "")
            raise RuntimeError(f"{program} ended with {done.returncode}: {detail[-2000:]}")


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """A running cluster while the context is open."""
    bin = programs()
    if bin is None:
        raise FileNotFoundError("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="sfumato-pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = Cluster(Path(folder), bin)
        try:
            yield running
        finally:
            with contextlib.suppress(RuntimeError):
                running.stop("immediate")
