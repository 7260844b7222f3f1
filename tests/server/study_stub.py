"""A study server in memory for tests of the client; it can be set to fail in every way a network can."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.study.stimulus import Stimulus
from sfumato.tables.errors import InvalidAnswer

FAULTS = ("drop", "lose", "half head", "half body", "garbage", "endless", "500", "502", "404", "429", "503")


@dataclass
class Person:
    stages: list[str]
    trials: list[tuple[str, Stimulus]]
    answered: int = 0
    attempts: int = 0
    handed: int = 0


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class StudyStub:
    """`deal(number of the person)` gives a person's stimuli; `parse` refuses an answer by raising `InvalidAnswer`.

    One of `faults` is used per submitted answer. `requests` holds every request, `stored` every stored answer.
    """

    deal: Callable[[int], Sequence[Stimulus]]
    parse: Callable[[Any, Stimulus], Any] = lambda raw, stimulus: raw
    right: Sequence[str] | None = None
    classes: Sequence[str] = ("cat", "dog", "ship")
    faults: deque[str] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    stored: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    stimuli: dict[str, Stimulus] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    n_connections: int = 0
    abort_all_every: int = 0
    empty_for: int = 0
    """How often "empty" is said before the first trials."""

    def __enter__(self) -> StudyStub:
        self.loop = asyncio.new_event_loop()
        self.port = 0
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def answers(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith("/answers")]

    def start(self) -> None:
        self._wait(self._start())

    def stop(self) -> None:
        self._wait(self._stop())

    def person(self, token: str) -> Person:
        if token not in self.people:
            number = len(self.people)
            trials = [(f"{token}-{n}", stimulus) for n, stimulus in enumerate(self.deal(number))]
            self.stimuli |= dict(trials)
            self.people[token] = Person(
                ["consent", "instructions", *(["comprehension"] if self.right else []), "trials"], trials
            )
        return self.people[token]

    def _wait(self, doing: Any) -> None:
        asyncio.run_coroutine_threadsafe(doing, self.loop).result(10)

    async def _start(self) -> None:
        self.writers: set[asyncio.StreamWriter] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self.server.close()
        self._abort_all()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _abort_all(self) -> None:
        for writer in list(self.writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        self.writers.add(writer)
        self.tasks.add(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *lines = head.strip().split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines)
                body = await reader.readexactly(int(headers.get("Content-Length", 0)))
                request = Request(line.split(" ")[1], headers, body)
                self.requests.append(request)
                if not await self._reply(request, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.writers.discard(writer)
            self.tasks.discard(asyncio.current_task())
            writer.transport.abort()

    async def _reply(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        is_answer = request.path.endswith("/answers")
        fault = self.faults.popleft() if is_answer and self.faults else ""
        if fault == "drop":
            return False
        if fault.isdigit():
            writer.write(_http(int(fault), {"code": "later"}, "Retry-After: 2\r\n" if fault in ("429", "503") else ""))
            return True
        status, body, more = self._answered(request)
        whole = _http(status, body, more) if not isinstance(body, bytes) else _raw(status, body, more)
        split = whole.index(b"\r\n\r\n") + 4
        if is_answer and self.abort_all_every and len(self.answers) % self.abort_all_every == 0:
            # Stored, but the connection closes without a reply, also for other waiting requests.
            self._abort_all()
            return False
        if fault == "silence":
            return True
        if fault == "pieces":
            for at in range(len(whole)):
                writer.write(whole[at : at + 1])
                await writer.drain()
                await asyncio.sleep(0)
            return True
        if fault == "close":
            writer.write(whole.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            return False
        cut = {
            "lose": b"",
            "half head": whole[: split // 2],
            "half body": whole[: (split + len(whole)) // 2],
            "garbage": b"SSH-2.0-OpenSSH\r\n\r\n",
            "endless": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        }.get(fault)
        writer.write(whole if cut is None else cut)
        await writer.drain()
        return cut is None

    def _answered(self, request: Request) -> tuple[int, Any, str]:
        path = request.path.strip("/").split("/")
        if path == ["join"]:
            token = f"{len(self.people):032d}"
            self.person(token)
            return 303, b"", f"Location: /s/{token}\r\n"
        if path[0] != "s" or path[1] == "nobody":
            return 404, {"code": "no-such-link", "found": "found no such link", "expected": "a link", "fix": "ask"}, ""
        person = self.person(path[1])
        if path[2:3] == ["pictures"]:
            return 200, bytes(range(256)) * 2_000, ""
        if len(path) == 2:
            classes = [{"name": name, "key": str(n)} for n, name in enumerate(reversed(self.classes), 1)]
            config = json.dumps({"classes": classes})
            return 200, f'<html><script type="application/json" id="config">{config}</script></html>'.encode(), ""
        if path[3] == "answers":
            return self._taken(path[1], person, request.body)
        wrong = self._step(person, path[3], json.loads(request.body))
        return 200, self._state(person) | wrong, ""

    def _step(self, person: Person, step: str, body: dict[str, Any]) -> dict[str, Any]:
        if step != person.stages[0] or step == "trials":
            return {}
        if step == "comprehension" and body["answers"] != list(self.right or ()):
            person.attempts += 1
            if person.attempts == 3:
                person.stages = ["excluded"]
            return {"failed": True}
        person.stages.pop(0)
        return {}

    def _taken(self, token: str, person: Person, body: bytes) -> tuple[int, Any, str]:
        sent = json.loads(body)
        assert set(sent) == {"key", "trial", "answer", "record"}
        known = self.stored.get((token, sent["key"]))
        if known is not None:
            if known["body"] != body:
                return 422, {"code": "other-body", "found": "", "expected": "", "fix": ""}, ""
            return 200, {"answer": known["id"], "state": self._state(person)}, ""
        if sent["trial"] not in [handle for handle, _ in person.trials]:
            return 409, {"code": "already-answered", "state": self._state(person)}, ""
        try:
            payload = self.parse(sent["answer"], self.stimuli[sent["trial"]])
        except InvalidAnswer as error:
            return 422, error.as_dict(), ""
        number = len(self.stored) + 1
        self.stored[token, sent["key"]] = sent | {"body": body, "id": number, "payload": payload}
        person.trials = [each for each in person.trials if each[0] != sent["trial"]]
        person.answered += 1
        return 201, {"answer": number, "state": self._state(person)}, ""

    def _state(self, person: Person) -> dict[str, Any]:
        stage = person.stages[0]
        if stage == "trials" and not person.trials:
            stage = "finished"
        if stage == "trials" and self.empty_for > 0:
            self.empty_for -= 1
            stage = "empty"
        state: dict[str, Any] = {
            "stage": stage,
            "answered": person.answered,
            "wanted": person.answered + len(person.trials),
            "batch_size": 5,
        }
        if stage == "trials":
            state["trials"] = [
                {
                    "trial": handle,
                    "number": 1,
                    "practice": False,
                    "question": 0,
                    "feedback": "",
                    "pictures": [],
                    "texts": [],
                    "told": {},
                }
                for handle, _ in person.trials[:3]
            ]
        return state


def _http(status: int, body: Any, more: str) -> bytes:
    return _raw(status, json.dumps(body).encode(), f"Content-Type: application/json\r\n{more}")


def _raw(status: int, body: bytes, more: str) -> bytes:
    return f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body
