"""`sfumato serve` as a separate process that can be killed and restarted.

It is forked from a Python process that has already imported it, unless another program starts it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from loaded_python import ForkedProcess, loaded_sfumato

TEXTS_STUDY = """\
title = "Texts"
name = "texts"
classes = ["cat", "dog", "ship"]
[items]
csv = "texts.csv"
[question]
kind = "tokens"
[people]
answers_per_item = {answers_per_item}
batch_size = {batch_size}
assignment = "{assignment}"
[limits]
lease_minutes = {lease_minutes}
"""


def write_texts_study(
    folder: Path,
    n_items: int,
    *,
    answers_per_item: int = 5,
    batch_size: int = 25,
    lease_minutes: float = 10,
    assignment: str = "fewest",
) -> Path:
    """Write a study of short texts with the token form to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"t{i},text number {i}\n" for i in range(n_items))
    (folder / "texts.csv").write_text("item,text\n" + rows)
    settings = {
        "answers_per_item": answers_per_item,
        "batch_size": batch_size,
        "lease_minutes": lease_minutes,
        "assignment": assignment,
    }
    (folder / "study.toml").write_text(TEXTS_STUDY.format(**settings))
    return folder


class StudyServer:
    """A server process on a port that stays the same after restarts."""

    def __init__(
        self,
        study: Path,
        *,
        store: str | None = None,
        program: Sequence[str] = ("-m", "sfumato"),
        port: int = 0,
        python: str | Path | None = None,
        pace: float = 0,
        options: Sequence[str] = (),
    ) -> None:
        self.study, self.port = study, port
        self._store = ["--store", store] if store else []
        self._options = list(options)
        self._pace = ["--pace", str(pace)]
        """No rate limit by default, because simulated clients answer faster than people."""
        self._python, self._program = python, program
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self.log = study / "server.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, timeout: float = 120.0) -> float:
        """Start and wait until it is ready; returns the seconds it took."""
        begun = time.monotonic()
        command = [*self._program, "serve", str(self.study), "--port", str(self.port), *self._options]
        command += [*self._store, *self._pace]
        env = os.environ | {"PYTHONUNBUFFERED": "1"}
        if self._python is None:
            self._process = loaded_sfumato().start(command, self.log, env=env)
        else:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    [str(self._python), *command], stdout=log, stderr=subprocess.STDOUT, env=env
                )
        while not (found := re.search(rb"(?:http://|listening on )\S+:(\d+)", text := self.log.read_bytes())):
            if self._process.poll() is not None or time.monotonic() - begun > timeout:
                self.kill()
                raise RuntimeError(f"the server did not start: {text.decode()}")
            time.sleep(0.01)
        self.port = int(found[1])
        return time.monotonic() - begun

    def kill(self, how: int = signal.SIGKILL) -> None:
        """Send a signal (by default SIGKILL) and wait until the process has exited."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        self._process.wait(30)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the process (SIGSTOP) when its system calls have ended."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            while any(_state_of(task) != "T" for task in Path(f"/proc/{self.pid}/task").iterdir()):
                time.sleep(0.001)
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> StudyServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill(signal.SIGINT)


def _state_of(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def serving(study: Path, **options: object) -> Iterator[StudyServer]:
    """Serve the study while the context is open."""
    with StudyServer(study, **options) as server:  # type: ignore[arg-type]
        yield server
