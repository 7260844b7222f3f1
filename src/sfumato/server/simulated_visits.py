"""Visits of simulated annotators over HTTP, with the same requests as a browser: join, read, practice, answer.

They get the same data as annotators. Only the store knows the item of a trial, which `stimulus_of` looks up.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from sfumato.elicitation.kind import Kind
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.simulated_annotator import Annotator, Response, Truth, number_of
from sfumato.elicitation.simulated_cheats import Account, Script, drawn_window
from sfumato.planning.costs import DEFAULT_TIMES
from sfumato.server.browser_client import BrowserClient, State
from sfumato.server.client_connection import Reply
from sfumato.server.simulated_checks import CheckResponder
from sfumato.store.database import reading_engine
from sfumato.store.location import StoreLocation
from sfumato.store.queries import stimulus_of_trial
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, Refused, show
from sfumato.tables.setting_checks import not_negative, share

POLL_SECONDS = 0.25
CONCURRENCY = 32
ENDS = frozenset(("finished", "excluded", "full", "refused", "withdrawn", "ended"))
WAITS = frozenset(("checking", "empty", "paused"))
CLOSED = {"study-full": "full", "study-paused": "paused"}
"""How a visit ends that a server refuses at the door, by its error."""
MOST_ATTEMPTS = 2
DEVICES = 5
"""Seed of the simulated windows."""
UNSURE_ABOVE = 0.4
"""An annotator who gives all other classes together more than this presses "I am not sure", if the page has it."""

StimulusOf = Callable[[str], Stimulus | None]
ProgressCallback = Callable[[int, int, int], None]
"""Called after every answer: annotators done, annotators in total, answers acknowledged."""


@dataclass
class Summary:
    """Result of a simulation: how the visits ended, and the number and latency of the answers."""

    n_annotators: int
    ended: Counter[str] = field(default_factory=Counter)
    n_sent: int = 0
    n_acknowledged: int = 0
    n_practice: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    n_retries: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list, repr=False)
    """Seconds from submit to acknowledgment with retries, one per answer."""
    tokens: list[str] = field(default_factory=list, repr=False)
    """The token of each annotator, in order."""

    @property
    def answers_per_second(self) -> float:
        return self.n_acknowledged / self.seconds if self.seconds else 0.0

    def latency_ms(self, percent: float) -> float:
        """The given percentile of the time to acknowledgment, in milliseconds."""
        return float(1000 * np.percentile(self.latencies, percent)) if self.latencies else 0.0

    def count(self, reply: Reply, code: str, practice: bool, seconds: float) -> None:
        """Count the result of one answer."""
        self.n_sent += 1
        if reply.status in (200, 201):
            self.n_acknowledged += 1
            self.n_practice += practice
            self.latencies.append(seconds)
        else:
            self.refused[code] += 1


def simulate(
    base_url: str,
    study: Study,
    annotators: Sequence[Annotator],
    truth: Truth,
    stimulus_of: StimulusOf,
    rng: np.random.Generator,
    *,
    pace: float = 0.0,
    concurrency: int | None = None,
    tokens: Sequence[str] = (),
    dropouts: float = 0.0,
    wait_seconds: float = 0.0,
    deadline: float | None = 60.0,
    progress: ProgressCallback | None = None,
    accounts: Sequence[Account] | None = None,
    entry: str | None = None,
) -> Summary:
    """Send every annotator through the study served at `base_url`.

    `pace` scales the time people take (0: none). `concurrency` is the number of simultaneous visits: by default 32, or
    all if `pace` is not 0. With `tokens`, annotators use these links, one each; otherwise they join. The share
    `dropouts` leaves early. `wait_seconds` is the waiting time when no trial is available, `deadline` that for a reply.
    With the same seed an annotator gives the same answers about an item, whatever the assignment of items. `accounts`
    has the device and the network of each annotator, if these matter, and with `entry` (the entry address of a platform
    with its placeholders) the id by which each arrives.
    """
    check_visit(pace=pace, dropouts=dropouts)
    not_negative("wait_seconds", wait_seconds)
    if tokens and len(tokens) < len(annotators):
        found = f"{len(tokens):,} links for {len(annotators):,} annotators"
        raise BadSetting(found, "one link per annotator", "make more links, or send fewer annotators", "too-few-links")
    summary = Summary(len(annotators))
    kinds = kinds_of(study)
    times, responder = _relative_times(kinds), CheckResponder(study, kinds)
    shared = _Shared(study, responder, times, truth, stimulus_of, pace, wait_seconds, summary, progress)
    drops_out = rng.random(len(annotators)) < dropouts
    leaves_at = np.where(drops_out, rng.random(len(annotators)), np.inf)
    seeds = rng.integers(2**63, size=len(annotators))
    visits = []
    for number, (annotator, token, seed, leaves) in enumerate(
        zip(annotators, tokens or repeat(None, len(annotators)), seeds, leaves_at, strict=False)
    ):
        account = None if accounts is None else accounts[number]
        source = None if account is None else _address(account.network)
        client = BrowserClient(base_url, token, deadline=deadline, source=source)
        device = number if account is None else account.device
        arrival = None if account is None or entry is None else _arrival(entry, account.person, study)
        visits.append(_Visit(shared, annotator, client, int(seed), float(leaves), device, arrival))
    if accounts is not None:
        owners = {account.person: visit for account, visit in zip(accounts, visits, strict=True) if account.is_owner}
        for account, visit in zip(accounts, visits, strict=True):
            visit.comes_after = None if account.is_owner else owners[account.person]
    started_at = time.perf_counter()
    asyncio.run(_run(visits, concurrency or (len(visits) if pace else CONCURRENCY)))
    summary.seconds = time.perf_counter() - started_at
    summary.tokens = [visit.client.token or "" for visit in visits]
    return summary


def check_visit(*, pace: float, dropouts: float) -> None:
    """Raise if the pace is negative or the share of dropouts is not between 0 and 1."""
    share("dropouts", dropouts)
    not_negative("pace", pace)


@contextmanager
def stimuli_in(store: str | Path) -> Iterator[StimulusOf]:
    """The function that looks up the stimulus of a trial in a store, while the server writes to it."""
    engine = reading_engine(StoreLocation.of(store))

    def stimulus_of(handle: str) -> Stimulus | None:
        with engine.connect() as connection:
            return stimulus_of_trial(connection, handle)

    try:
        yield stimulus_of
    finally:
        engine.dispose()


async def _run(visits: Sequence[_Visit], concurrency: int) -> None:
    """Run all visits, `concurrency` at a time; the first error ends all of them."""
    remaining = iter(visits)

    async def run_in_turn() -> None:
        for visit in remaining:
            await visit.run()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(visits))):
                group.create_task(run_in_turn())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


@dataclass(frozen=True)
class _Shared:
    """What all visits of a simulation share."""

    study: Study
    responder: CheckResponder
    relative_times: Sequence[float]
    """Time of each question relative to the first."""
    truth: Truth
    stimulus_of: StimulusOf
    pace: float
    wait_seconds: float
    summary: Summary
    progress: ProgressCallback | None


class _Visit:
    """The visit of one annotator, who leaves after the share `leaves_at` of their trials."""

    def __init__(
        self,
        shared: _Shared,
        annotator: Annotator,
        client: BrowserClient,
        seed: int,
        leaves_at: float,
        device: int,
        arrival: str | None = None,
    ) -> None:
        self.shared, self.annotator, self.client = shared, annotator, client
        self.seed, self.leaves_at, self.device, self.arrival = seed, leaves_at, device, arrival
        self.comes_after: _Visit | None = None
        """The owner of the account that this visit borrows."""
        self.has_begun = asyncio.Event()
        self.rng = np.random.default_rng(seed)
        self.attempts: Counter[str] = Counter()
        self.times_shown: Counter[int] = Counter()
        self.record: dict[str, Any] = {}
        self.may_be_unsure = False
        self.waiting_since: float | None = None

    async def run(self) -> None:
        """Go through the study to the end, and count how the visit ended."""
        summary = self.shared.summary
        async with self.client as client:
            try:
                if self.comes_after is not None:
                    await self.comes_after.has_begun.wait()
                if self.arrival is not None:
                    await client.arrive(self.arrival)
                elif client.token is None:
                    await client.join()
                config = await client.config()
            except Refused as error:
                if error.code not in CLOSED and self.comes_after is None:
                    raise
                summary.ended[CLOSED.get(error.code, "refused")] += 1
                return
            finally:
                self.has_begun.set()
            self.record, self.may_be_unsure = self._record(config), bool(config.get("unsure"))
            state = await client.state()
            while (ending := self._ending(state)) is None:
                state = await self._step(state)
            summary.ended[ending] += 1
            summary.n_retries += client.n_retries
        self._report_progress()

    def _ending(self, state: State) -> str | None:
        """How the visit ends in this state, or None if it continues."""
        stage = state["stage"]
        if stage in ENDS:
            return str(stage)
        if stage in WAITS or (stage == "trials" and not state["trials"]):
            now = time.monotonic()
            self.waiting_since = self.waiting_since or now
            return None if now - self.waiting_since < self.shared.wait_seconds else str(stage)
        self.waiting_since = None
        if stage == "trials":
            if state["answered"] >= self.leaves_at * state["wanted"]:
                return "dropped out"
            if self.attempts[state["trials"][0]["trial"]] >= MOST_ATTEMPTS:
                return "stuck"
        return None

    async def _step(self, state: State) -> State:
        """Take the next step; returns the new state."""
        stage = state["stage"]
        if stage == "trials" and state["trials"]:
            return await self._answer(state["trials"][0])
        if stage in WAITS or stage == "trials":
            await asyncio.sleep(POLL_SECONDS)
            return await self.client.step("trials")
        if stage in ("consent", "instructions"):
            return await self.client.step(stage)
        if stage == "comprehension":
            return await self.client.comprehension(self._comprehension_answers())
        fix = "use the same version of sfumato for client and server"
        raise BadSetting(f"the stage {show(stage)}", "a stage that this client knows", fix, "unknown-stage")

    async def _answer(self, trial: dict[str, Any]) -> State:
        shared, handle = self.shared, trial["trial"]
        stimulus = shared.stimulus_of(handle)
        if stimulus is None:
            found = f"the trial {show(handle)}, which is not in this store"
            expected = "the store of the server at this address"
            raise BadSetting(found, expected, "give the store that the server at this address writes to", "wrong-store")
        self.attempts[handle] += 1
        response, opened = self._draw_answer(stimulus, trial)
        await self._spend_time(response.seconds if response.spent is None else response.spent)
        elapsed_ms = round(1000 * response.seconds)
        events = [(elapsed_ms / 2, "click", "answer", None)] if response.has_inputs else []
        record = self.record | {"elapsed_ms": elapsed_ms, "events": events} | opened
        submitted_at = time.perf_counter()
        reply = await self.client.submit(handle, response.raw, record)
        body = reply.body if isinstance(reply.body, dict) else {}
        code = str(body.get("code", reply.status))
        shared.summary.count(reply, code, trial["practice"], time.perf_counter() - submitted_at)
        self._report_progress()
        return body.get("state") or await self.client.state()

    def _draw_answer(self, stimulus: Stimulus, trial: dict[str, Any]) -> tuple[Response, dict[str, Any]]:
        """The answer, and how the deeper form opened; the answers in both forms come from the same belief."""
        shared, seed = self.shared, self._seed_for(stimulus)

        def answer(question: int) -> Response:
            truths, rng = shared.truth.shown(stimulus), np.random.default_rng(seed)
            response = shared.responder.answer(self.annotator, truths, question, stimulus, rng)
            return replace(response, seconds=response.seconds * shared.relative_times[question])

        first = answer(trial["question"])
        is_unsure = self.may_be_unsure and trial["question"] == 0 and first.doubt > UNSURE_ABOVE
        if not (is_unsure or trial.get("deeper")):
            return first, {}
        rich = answer(1)
        how = {"opened": "unsure"} if is_unsure else {"opened": "asked", "first": first.raw}
        return Response(rich.raw, first.seconds + rich.seconds, rich.doubt), how

    def _seed_for(self, stimulus: Stimulus) -> tuple[int, int, int]:
        """The seed of one answer: annotator, item, and how often the annotator has seen it."""
        about = number_of(*stimulus.shown)
        self.times_shown[about] += 1
        return self.seed, about, self.times_shown[about]

    async def _spend_time(self, seconds: float) -> None:
        """Wait as long as the annotator takes, with heartbeats."""
        left = seconds * self.shared.pace
        interval = 60 * self.shared.study.limits.lease_minutes / 3
        while left > interval:
            await asyncio.sleep(interval)
            await self.client.step("pulse")
            left -= interval
        if left > 0:
            await asyncio.sleep(left)

    def _comprehension_answers(self) -> list[str]:
        """Correct answers with the annotator's probability of paying attention, otherwise random ones; scripts know
        the answers."""
        knows = 1.0 if isinstance(self.annotator, Script) else self.annotator.attention
        return [
            each.answer if self.rng.random() < knows else str(self.rng.choice(each.choices))
            for each in self.shared.study.comprehension
        ]

    def _record(self, config: dict[str, Any]) -> dict[str, Any]:
        """The interaction record of a trial without its time."""
        pointer, *viewport = drawn_window(np.random.default_rng((DEVICES, self.device)))
        classes = config["classes"]
        return {
            "hidden": [],
            "idle": [],
            "pointer": pointer,
            "viewport": viewport,
            "keys": {each["name"]: each["key"] for each in classes if each.get("key")},
            "order": [each["name"] for each in classes],
            "shortcuts": pointer == "mouse",
            "resumed": False,
            "cut": 0,
        }

    def _report_progress(self) -> None:
        summary = self.shared.summary
        if self.shared.progress is not None:
            self.shared.progress(summary.ended.total(), summary.n_annotators, summary.n_acknowledged)


def _address(network: int) -> str:
    """The address of a simulated network: one of those of the loopback interface."""
    high, low = divmod(network, 256)
    return f"127.7.{high % 256}.{low}"


def _arrival(entry: str, person: int, study: Study) -> str:
    """The path by which Prolific sends a person."""
    path = urlsplit(entry)._replace(scheme="", netloc="").geturl()
    known = str(study.recruiting.settings.get("study", "")).split() if study.recruiting else []
    own_study = known[0] if known else "5" * 24
    ids = {"PROLIFIC_PID": f"{person:024x}", "STUDY_ID": own_study, "SESSION_ID": f"{person + 2**64:024x}"}
    for name, value in ids.items():
        path = path.replace(f"{{{{%{name}%}}}}", value)
    return path


def _relative_times(kinds: Sequence[Kind]) -> list[float]:
    """Time of each question type relative to the first, from the default times."""
    known = [DEFAULT_TIMES[kind.name].seconds if kind.name in DEFAULT_TIMES else None for kind in kinds]
    return [each / known[0] if each and known[0] else 1.0 for each in known]
