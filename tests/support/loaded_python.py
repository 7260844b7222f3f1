"""A Python process that has already imported libraries, and forks a new process for each program.

A program runs as in a new Python, without the CPU time of the imports. Its process can be signaled and waited for like
one of `subprocess`. One connection per process: the request is a line of JSON, the process id is sent back at once, the
exit code when the process has ended.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NoReturn

LIBRARIES = (
    "altair",
    "jaxtyping",
    "msgspec",
    "numpy",
    "pandas",
    "polars",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.parquet",
    "scipy.stats",
    "torch",
)
"""Third-party libraries only, so that a script that lacks an import of sfumato fails."""
SFUMATO = (
    "alembic.command",
    "numpy",
    "pandas",
    "polars",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.parquet",
    "scipy.stats",
    "sfumato.cli.serve",
    "sfumato.elicitation.study_check",
    "sfumato.server.server",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlite3",
    "uvicorn.lifespan.off",
    "uvicorn.loops.uvloop",
)
"""The libraries that commands on tables import, and all modules that `sfumato serve` imports.

They are only imported, never used: no thread may run in a process that forks.
"""
LONGEST_SECONDS = 300
"""Programs that should end by themselves are killed after this time."""


class ForkedProcess:
    """A running program, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        with connection:
            self._replies = connection.makefile()
        self._exit_code: int | None = None
        self.pid = int(self._replies.readline())

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""
        if self._exit_code is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._replies, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._exit_code = int(self._replies.readline())
            self._replies.close()
        return self._exit_code


class LoadedPython:
    """The forking process, which has imported `modules`."""

    def __init__(self, modules: Sequence[str], *options: str) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            # With an empty name, Linux chooses an abstract address that is not a file.
            listener.bind("")
            listener.listen()
            self._address = listener.getsockname()
            command = [sys.executable, *options, __file__, str(listener.fileno()), *modules]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])

    def start(
        self,
        arguments: Sequence[object],
        out: Path,
        err: Path | None = None,
        *,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ForkedProcess:
        """Start what `python *arguments` would run: `-c` and a script, `-m` and a module, or a file.

        It has nothing to read, and writes to `out` and `err`, or both to `out`.
        """
        for file in (out, err or out):
            file.write_bytes(b"")
        request = {
            "arguments": [str(argument) for argument in arguments],
            "out": str(out),
            "err": str(err or out),
            "folder": str(folder or Path.cwd()),
            "env": dict(env or os.environ),
        }
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        connection.sendall(json.dumps(request).encode() + b"\n")
        return ForkedProcess(connection)

    def run(
        self,
        arguments: Sequence[object],
        *,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program until it ends, like `subprocess.run` with captured text."""
        with tempfile.TemporaryDirectory() as place:
            out, err = Path(place, "stdout"), Path(place, "stderr")
            process = self.start(arguments, out, err, folder=folder, env=env)
            try:
                exit_code = process.wait(LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                raise
            return subprocess.CompletedProcess(arguments, exit_code, out.read_text(), err.read_text())

    def end(self) -> None:
        """End the forking process and the processes that it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def loaded_python(modules: Sequence[str], *options: str) -> Iterator[LoadedPython]:
    """A forking process while the context is open, started with `options` of Python."""
    running = LoadedPython(modules, *options)
    try:
        yield running
    finally:
        running.end()


@cache
def loaded_sfumato() -> LoadedPython:
    """The forking process of this test process, with the imports of `sfumato serve`; conftest.py ends it."""
    return LoadedPython(SFUMATO)


def end_loaded_sfumato() -> None:
    if loaded_sfumato.cache_info().currsize:
        loaded_sfumato().end()


def main(number: str, *modules: str) -> None:
    """Fork a process per request from the listening socket `number`, until stdin is closed."""
    for name in modules:
        __import__(name)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = socket.socket(fileno=int(number))
    running: dict[int, tuple[int, socket.socket]] = {}
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                for child, _ in running.values():
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                listener.close()
                return
            if key.fileobj is listener:
                connection, _ = listener.accept()
                request = json.loads(connection.makefile().readline())
                child = os.fork()
                if child == 0:
                    for each in (selector, listener, connection, *(other for _, other in running.values())):
                        each.close()
                    for process in running:
                        os.close(process)
                    become(**request)
                connection.sendall(b"%d\n" % child)
                process = os.pidfd_open(child)
                running[process] = child, connection
                selector.register(process, selectors.EVENT_READ)
            else:
                selector.unregister(key.fd)
                os.close(key.fd)
                child, connection = running.pop(key.fd)
                _, status = os.waitpid(child, 0)
                with connection:
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def become(arguments: list[str], out: str, err: str, folder: str, env: dict[str, str]) -> NoReturn:
    """Run the program in this process: in its folder, without stdin, with output to its files."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, out, os.O_WRONLY | os.O_APPEND),
        (2, err, os.O_WRONLY | os.O_APPEND),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout.reconfigure(write_through="PYTHONUNBUFFERED" in env)  # type: ignore[union-attr]
    exit_code: object = None
    try:
        execute(arguments)
    except SystemExit as end:
        exit_code = end.code
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        exit_code = 1
    # The steps of the interpreter's exit, without freeing all modules.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if exit_code is not None and not isinstance(exit_code, int):
        print(exit_code, file=sys.stderr)
        exit_code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code or 0)


def execute(arguments: list[str]) -> None:
    """Run what `python *arguments` would run."""
    first, *rest = arguments
    if first == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
    elif first == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = arguments, str(Path(first).parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
