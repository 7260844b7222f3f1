"""Python that has loaded the libraries of others already: runs each script in a process forked from its own.

A script meets what it would meet in `python -W error -c`, but for the seconds that those libraries take to load.
Nothing of ours is loaded beforehand, so a script that lacks an import fails. One request per line on stdin, one reply
per line on stdout, both JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOADED = ("numpy", "pyarrow.parquet", "polars", "scipy.stats", "torch")
"""Only loaded, never used: no thread may run in a process that forks."""


class LoadedPython:
    """The running program, asked from a test."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._out, self._err = process, folder / "stdout", folder / "stderr"

    def run(self, script: str, folder: Path) -> str:
        """What `script` writes to stdout, run in `folder`; it must end well."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"script": script, "folder": str(folder), "out": str(self._out), "err": str(self._err)}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        exit_code = json.loads(self._process.stdout.readline())
        assert exit_code == 0, self._err.read_text()
        return self._out.read_text()


@contextmanager
def loaded_python(folder: Path) -> Iterator[LoadedPython]:
    """The program for the block; it keeps what scripts write in `folder`."""
    command = [sys.executable, "-W", "error", __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield LoadedPython(process, folder)


def main() -> None:
    for name in LOADED:
        __import__(name)
    assert threading.active_count() == 1
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            become(**request)
            return
        _, status = os.waitpid(child, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


def become(script: str, folder: str, out: str, err: str) -> None:
    """Be the script: in its folder, with nothing to read, writing to its files."""
    os.chdir(folder)
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv, sys.path[0] = ["-c"], ""
    sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(script, "<string>", "exec"), sys.modules["__main__"].__dict__)


if __name__ == "__main__":
    main()
