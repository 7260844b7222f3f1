"""Simulated participants over HTTP without a browser, for tests of the dashboard."""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from typing import Any

from study_server import StudyServer


def wait_until_reachable(server: StudyServer, seconds: float = 30) -> StudyServer:
    """Wait until the server accepts connections; it prints its address a moment before."""
    limit = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"{server.url}/health"):
                return server
        except urllib.error.URLError:
            assert time.monotonic() < limit, server.log.read_text()
            time.sleep(0.02)


class SimulatedParticipant:
    """A participant who answers questions of the kinds choice and tokens at random."""

    def __init__(self, server: StudyServer, classes: Sequence[str], kinds: Sequence[str], seed: int) -> None:
        self._classes, self._kinds, self._rng = classes, kinds, random.Random(seed)
        request = urllib.request.Request(f"{server.url}/join", b"", {"Sec-Fetch-Site": "same-origin"})
        with urllib.request.urlopen(request) as page:
            self._base = page.url
        self._token = self._base.rsplit("/", 1)[1]
        self._server = server
        for step in ("consent", "instructions"):
            self.ask(step)

    def ask(self, step: str, value: Any = None) -> dict[str, Any]:
        """The reply of the API, also for errors."""
        url = f"{self._server.url}/s/{self._token}/api/{step}"
        body = json.dumps({} if value is None else value).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as reply:
                content: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                content = json.load(error)
        return content

    @property
    def stage(self) -> str:
        return str(self.ask("state")["stage"])

    def answers(self, n: int = 1000) -> int:
        """Answer at most `n` questions; returns the number of answers."""
        for done in range(n):
            state = self.ask("state")
            if state["stage"] != "trials" or not state["trials"]:
                return done
            trial = state["trials"][0]
            record = {"elapsed_ms": self._rng.randint(800, 15_000)}
            value = {"key": str(uuid.uuid4()), "trial": trial["trial"], "answer": self._answer(trial), "record": record}
            assert "state" in self.ask("answers", value)
        return n

    def _answer(self, trial: dict[str, Any]) -> dict[str, Any]:
        first, second = self._rng.sample(list(self._classes), 2)
        if self._kinds[trial["question"]] == "choice":
            return {"class": first}
        n = self._rng.randint(5, 10)
        return {"tokens": {first: n} | ({second: 10 - n} if n < 10 else {}), "others": False}
