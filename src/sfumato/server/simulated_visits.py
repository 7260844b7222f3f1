"""Simulated annotators sent through a study over HTTP, each as a browser would go: join, read, practise, answer.

They see what annotators see. Which item a trial is about is known to the researcher only, who holds the store: that is
what `stimulus_of` is for.
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

import numpy as np

from sfumato.elicitation.kind import Kind
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.simulated_annotator import Annotator, PresentedQuestion, Response, Truth, number_of
from sfumato.planning.costs import DEFAULT_TIMES
from sfumato.server.browser_client import BrowserClient, State
from sfumato.server.http_connection import Reply
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, show
from sfumato.tables.settings import share

POLL_SECONDS = 0.25
AT_ONCE = 32
ENDS = frozenset(("finished", "excluded", "withdrawn", "ended"))
WAITS = frozenset(("empty", "paused"))
LARGEST_NUMBER_OF_TRIES = 2
SHARE_ON_TELEPHONES = 0.3
UNSURE_ABOVE = 0.4
"""Who leaves more than this to all other classes together says that they are not sure, where the page lets them."""
VIEWPORTS = {"mouse": (1440, 900, 1.0), "touch": (390, 844, 3.0)}

StimulusOf = Callable[[str], Stimulus | None]
ProgressCallback = Callable[[int, int, int], None]
"""Told of every answer: annotators done, annotators in all, answers acknowledged."""


@dataclass
class Summary:
    """What became of a crowd: how each one's visit ended, and of every answer whether and how soon it was taken."""

    n_annotators: int
    ended: Counter[str] = field(default_factory=Counter)
    n_sent: int = 0
    n_acknowledged: int = 0
    n_practice: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    n_retries: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list, repr=False)
    """Seconds from submit to acknowledgement, retries included, one an answer."""

    @property
    def answers_per_second(self) -> float:
        return self.n_acknowledged / self.seconds if self.seconds else 0.0

    def latency_ms(self, percent: float) -> float:
        """The time to acknowledgement that `percent` of the answers stay within."""
        return float(1000 * np.percentile(self.latencies, percent)) if self.latencies else 0.0

    def count(self, reply: Reply, code: str, practice: bool, seconds: float) -> None:
        """Take note of what became of one answer."""
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
) -> Summary:
    """Send every annotator through the study served at `base_url`, and say what became of them.

    `pace` scales the seconds people take (0: they take none). `concurrency` of them come at once: 32, or all where
    they have a pace. With `tokens`, one a person, they use their links; otherwise they join. The share `dropouts`
    leave midway. `wait_seconds` is how long one waits when nothing is left for the moment, `deadline` how long for a
    reply. The same seed draws the same answers: each says the same about an item however items are dealt out.
    """
    check_visit(pace=pace, dropouts=dropouts)
    _not_negative("wait_seconds", wait_seconds)
    if tokens and len(tokens) < len(annotators):
        raise BadSetting(
            f"found {len(tokens):,} links for {len(annotators):,} annotators",
            expected="a link for everyone",
            fix="make more links, or send fewer annotators",
            code="too-few-links",
        )
    summary = Summary(len(annotators))
    kinds = kinds_of(study)
    shared = _Shared(study, kinds, _slower(kinds), truth, stimulus_of, pace, wait_seconds, summary, progress)
    drops_out = rng.random(len(annotators)) < dropouts
    leaves_at = np.where(drops_out, rng.random(len(annotators)), np.inf)
    seeds = rng.integers(2**63, size=len(annotators))
    visits = [
        _Visit(shared, annotator, BrowserClient(base_url, token, deadline=deadline), int(seed), float(leaves))
        for annotator, token, seed, leaves in zip(
            annotators, tokens or repeat(None, len(annotators)), seeds, leaves_at, strict=False
        )
    ]
    began_at = time.perf_counter()
    asyncio.run(_run(visits, concurrency or (len(visits) if pace else AT_ONCE)))
    summary.seconds = time.perf_counter() - began_at
    return summary


def check_visit(*, pace: float, dropouts: float) -> None:
    """Raise unless people can come at this pace and leave in this share."""
    share("dropouts", dropouts)
    _not_negative("pace", pace)


@contextmanager
def stimuli_in(store: str | Path) -> Iterator[StimulusOf]:
    """What each trial in a store is about, read beside the server that writes to it."""
    from sfumato.store.database import reading_engine
    from sfumato.store.location import StoreLocation
    from sfumato.store.queries import stimulus_of_trial

    engine = reading_engine(StoreLocation.of(store))

    def stimulus_of(handle: str) -> Stimulus | None:
        with engine.connect() as connection:
            return stimulus_of_trial(connection, handle)

    try:
        yield stimulus_of
    finally:
        engine.dispose()


async def _run(visits: Sequence[_Visit], at_once: int) -> None:
    """All visits, `at_once` of them at a time; the first error ends them all."""
    waiting = iter(visits)

    async def one_after_another() -> None:
        for visit in waiting:
            await visit.made()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(visits))):
                group.create_task(one_after_another())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


@dataclass(frozen=True)
class _Shared:
    """What all visits of a simulation have in common."""

    study: Study
    kinds: Sequence[Kind]
    slower: Sequence[float]
    """How many times as long as the first each question takes."""
    truth: Truth
    stimulus_of: StimulusOf
    pace: float
    wait_seconds: float
    summary: Summary
    progress: ProgressCallback | None


class _Visit:
    """One annotator on their way through the study."""

    def __init__(
        self, shared: _Shared, annotator: Annotator, visitor: BrowserClient, seed: int, leaves_at: float
    ) -> None:
        self.shared = shared
        self.annotator = annotator
        self.visitor = visitor
        self.seed = seed
        self.leaves_at = leaves_at
        """The share of their trials after which the person leaves."""
        self.rng = np.random.default_rng(seed)
        self.tries: Counter[str] = Counter()
        self.times_shown: Counter[int] = Counter()
        self.record: dict[str, Any] = {}
        self.may_be_unsure = False
        self.waited_since: float | None = None

    async def made(self) -> None:
        """Go through the study to the end; how it ended goes into the summary."""
        summary = self.shared.summary
        async with self.visitor as visitor:
            if visitor.token is None:
                await visitor.join()
            config = await visitor.config()
            self.record, self.may_be_unsure = self._record(config), bool(config.get("unsure"))
            state = await visitor.state()
            while (ending := self._ending(state)) is None:
                state = await self._step(state)
            summary.ended[ending] += 1
            summary.n_retries += visitor.n_retries
        self._tell()

    def _ending(self, state: State) -> str | None:
        """How the visit ends here, or None where it goes on."""
        stage = state["stage"]
        if stage in ENDS:
            return str(stage)
        if stage in WAITS or (stage == "trials" and not state["trials"]):
            now = time.monotonic()
            self.waited_since = self.waited_since or now
            return None if now - self.waited_since < self.shared.wait_seconds else str(stage)
        self.waited_since = None
        if stage == "trials":
            if state["answered"] >= self.leaves_at * state["wanted"]:
                return "dropped out"
            if self.tries[state["trials"][0]["trial"]] >= LARGEST_NUMBER_OF_TRIES:
                return "stuck"
        return None

    async def _step(self, state: State) -> State:
        """Do what the state asks for: the state after it."""
        stage = state["stage"]
        if stage == "trials" and state["trials"]:
            return await self._answer(state["trials"][0])
        if stage in WAITS or stage == "trials":
            await asyncio.sleep(POLL_SECONDS)
            return await self.visitor.trials()
        if stage == "consent":
            return await self.visitor.consent()
        if stage == "instructions":
            return await self.visitor.instructions()
        if stage == "comprehension":
            return await self.visitor.comprehension(self._understood())
        raise BadSetting(
            f"found the stage {show(stage)}",
            expected="a stage this client knows",
            fix="use the same version on both sides",
            code="unknown-stage",
        )

    async def _answer(self, trial: dict[str, Any]) -> State:
        shared, handle = self.shared, trial["trial"]
        stimulus = shared.stimulus_of(handle)
        if stimulus is None:
            raise BadSetting(
                f"found the trial {show(handle)}, which is not in this store",
                expected="the store of the server that is being answered",
                fix="give the store that the server at this address writes to",
                code="wrong-store",
            )
        self.tries[handle] += 1
        response, opened = self._answered(stimulus, trial)
        await self._take(response.seconds)
        record = self.record | {"elapsed_ms": round(1000 * response.seconds)} | opened
        pressed_at = time.perf_counter()
        reply = await self.visitor.submit(handle, response.raw, record)
        body = reply.body if isinstance(reply.body, dict) else {}
        code = str(body.get("code", reply.status))
        shared.summary.count(reply, code, trial["practice"], time.perf_counter() - pressed_at)
        self._tell()
        return body.get("state") or await self.visitor.state()

    def _answered(self, stimulus: Stimulus, trial: dict[str, Any]) -> tuple[Response, dict[str, Any]]:
        """What the person sends, and how the deeper form opened where it did: they see the item but once, so both
        answers come of one belief."""
        shared, seed = self.shared, self._seed_for(stimulus)

        def answered(question: int) -> Response:
            asked = PresentedQuestion(shared.kinds[question], stimulus, shared.study)
            said = self.annotator.answer(shared.truth.shown(stimulus), asked, np.random.default_rng(seed))
            return replace(said, seconds=said.seconds * shared.slower[question])

        first = answered(trial["question"])
        is_unsure = self.may_be_unsure and trial["question"] == 0 and first.doubt > UNSURE_ABOVE
        if not (is_unsure or trial.get("deeper")):
            return first, {}
        rich = answered(1)
        how = {"opened": "unsure"} if is_unsure else {"opened": "asked", "first": first.raw}
        return Response(rich.raw, first.seconds + rich.seconds, rich.doubt), how

    def _seed_for(self, stimulus: Stimulus) -> tuple[int, int, int]:
        """The chance in one answer: of the person, the item, and how often they have seen it."""
        about = number_of(*stimulus.shown)
        self.times_shown[about] += 1
        return self.seed, about, self.times_shown[about]

    async def _take(self, seconds: float) -> None:
        """Let the time pass that the person takes, telling the server now and then that they are there."""
        left = seconds * self.shared.pace
        between_pulses = 60 * self.shared.study.limits.lease_minutes / 3
        while left > between_pulses:
            await asyncio.sleep(between_pulses)
            await self.visitor.pulse()
            left -= between_pulses
        if left > 0:
            await asyncio.sleep(left)

    def _understood(self) -> list[str]:
        """Answers to the questions about the instructions: right where the person looked."""
        return [
            each.answer if self.rng.random() < self.annotator.attention else str(self.rng.choice(each.choices))
            for each in self.shared.study.comprehension
        ]

    def _record(self, config: dict[str, Any]) -> dict[str, Any]:
        """What the page would record of this person's trials, but for the time each takes."""
        pointer = "touch" if self.rng.random() < SHARE_ON_TELEPHONES else "mouse"
        classes = config["classes"]
        return {
            "hidden": [],
            "idle": [],
            "events": [],
            "pointer": pointer,
            "viewport": VIEWPORTS[pointer],
            "keys": {each["name"]: each["key"] for each in classes if each.get("key")},
            "order": [each["name"] for each in classes],
            "shortcuts": pointer == "mouse",
            "resumed": False,
            "cut": 0,
        }

    def _tell(self) -> None:
        summary = self.shared.summary
        if self.shared.progress is not None:
            self.shared.progress(summary.ended.total(), summary.n_annotators, summary.n_acknowledged)


def _slower(kinds: Sequence[Kind]) -> list[float]:
    """How many times as long as the first each kind takes, by the times that are known of people."""
    known = [DEFAULT_TIMES[kind.name].seconds if kind.name in DEFAULT_TIMES else None for kind in kinds]
    return [each / known[0] if each and known[0] else 1.0 for each in known]


def _not_negative(name: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise BadSetting(
            f"found {name} = {value}", expected="0 or more", fix=f"choose another {name}", code="bad-setting"
        )
