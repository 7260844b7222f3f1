"""The item selector of an adaptive study: passes answers to `sfumato.planning.allocation` and asks it for the next
item.

The state is rebuilt from the stored answers when a server starts. The prior over items is fitted again from time to
time in a background thread, while participants continue under the previous prior.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sfumato.aggregation.posterior_figures import AUDITED_VOTES
from sfumato.elicitation.assignment import AnswerEvent, NextTrial
from sfumato.elicitation.kinds import kinds_of
from sfumato.labeling.default_labeler import beliefs_of_payloads
from sfumato.planning.allocation import RISKS, Allocation, Form, Stopping
from sfumato.planning.answer_value import AcquisitionIndex, ItemPosteriors, LeadIndex, index_named
from sfumato.study.study import ABOUT_ONE_ITEM, Study
from sfumato.tables.errors import BadSetting, NotNow, listing


@dataclass(frozen=True)
class Savings:
    """Progress of an adaptive study, compared with one that collects equally many answers for every item."""

    n_items: int
    n_finished: int
    n_answers: int
    n_most: int
    """Answers that all items would get without early stopping."""
    n_saved: int
    """Answers that finished items no longer need."""
    answers_of_items: tuple[int, ...]
    """How many items have 0, 1, 2, ... answers."""
    error: float | None
    """The mean expected error that remains per item; None if the index does not estimate one."""
    n_on_average: float


def rule_of(study: Study) -> tuple[AcquisitionIndex, Stopping]:
    """The index and stopping rule of an adaptive study; raises if its settings do not fit together."""
    rule = study.adaptive
    index = index_named(rule.index, {"lead": rule.lead} if rule.index == LeadIndex.name and rule.lead else None)
    if rule.target is not None and index.name not in RISKS:
        raise BadSetting(
            f"target = {rule.target:g} with index = {index.name!r}",
            f"an error threshold (target) with {listing(list(RISKS))}, which estimate the error",
            "choose one of these, or stop by lead",
            "no-risk",
        )
    deeper = study.deeper
    if deeper is not None and index.name not in RISKS and not deeper.items and not deeper.follows:
        raise BadSetting(
            f"[deeper] with index = {index.name!r}, which cannot decide when it is worth its time",
            f"{listing(list(RISKS))}, or a list of items, or another rule for when it opens",
            "choose one of these, list the items in [deeper], or write unsure = true or a share there",
            "no-risk",
        )
    wrong = [each.name for each in kinds_of(study) if each.name not in ABOUT_ONE_ITEM]
    if wrong or len(study.classes) < 2:
        raise BadSetting(
            f"assignment = adaptive with {'the kind ' + wrong[0] if wrong else 'one class'}",
            f"two classes or more, and a kind that gives class probabilities: {listing(list(ABOUT_ONE_ITEM))}",
            'choose another kind, or assignment = "fewest"',
            "not-adaptive",
        )
    most = study.people.answers_per_item
    return index, Stopping.by(index, rule.target, rule.lead, most, min(rule.fewest, most))


class AdaptiveSelector:
    """Chooses the next item of an adaptive study. Used by the writer thread only; with `background`, the prior is
    fitted in another thread."""

    def __init__(self, study: Study, *, background: bool = True) -> None:
        self._index, self._stopping = rule_of(study)
        self._study = study
        self._kinds = kinds_of(study)
        self._classes = {name: k for k, name in enumerate(study.class_names)}
        deeper = study.deeper
        weighed = deeper is not None and self._index.name in RISKS
        self._deeper = Form(deeper.votes, deeper.seconds) if deeper is not None and weighed else None
        self._votes = (1.0,) if deeper is None else (1.0, deeper.votes)
        self._executor = ThreadPoolExecutor(1, "prior") if background else None
        self._state: Allocation | None = None
        self._fit: Future[Allocation] | None = None

    # --- updates from the assignment ---

    def begin(
        self,
        items: Iterable[tuple[int, int, int]],
        names: Mapping[int, str],
        answers: Iterable[AnswerEvent],
        secret: str = "",
    ) -> None:
        rows = list(items)
        always = set(self._study.deeper.items) if self._study.deeper else set()
        self._always = np.array([names[item] in always for item, _, _ in rows], np.bool_)
        self._numbers = np.array([item for item, _, _ in rows], np.int64)
        self._place = {item: place for place, (item, _, _) in enumerate(rows)}
        self._quota = np.array([quota for _, quota, _ in rows], np.int64)
        self._taken = np.array([taken for _, _, taken in rows], np.int64)
        self._answered = np.zeros(len(rows), np.int64)
        self._audits = self._audits_wanted([names[item] for item, _, _ in rows], bytes.fromhex(secret))
        self._new_events: list[AnswerEvent] = []
        self._since_fit: list[tuple[np.ndarray, np.ndarray]] = []
        self._fit = None
        counts = np.zeros((len(rows), len(self._classes)))
        events = [each for each in answers if each.item in self._place]
        self._count(events)
        if deciding := [each for each in events if _decides(each)]:
            np.add.at(counts, self._places(deciding), self._rows(deciding))
        # Answers may have been added to the store, but the prior over items hardly changes.
        prior = None if self._state is None else self._state.prior
        rule = self._study.adaptive
        self._state = None
        if rows:
            self._state = Allocation.of(
                counts,
                self._index,
                seconds=rule.seconds,
                stopping=self._stopping,
                prior=prior,
                deeper=self._deeper,
            )
        self._rng: np.random.Generator | None = None

    def set_item(self, item: int, quota: int, taken: int) -> None:
        place = self._place.get(item)
        assert place is not None, "an item that the selector does not know"
        self._quota[place], self._taken[place] = quota, taken

    def add_answer(self, answer: AnswerEvent) -> None:
        self._new_events.append(answer)

    # --- requests from the assignment ---

    def choose(self, seen: Collection[int], rng: random.Random) -> NextTrial | None:
        state = self._updated_state()
        if state is None or self._left() <= 0:
            return None
        if self._rng is None:
            self._rng = np.random.default_rng(rng.getrandbits(64))
        apart = np.array([place for item in seen if (place := self._place.get(item)) is not None], np.int64)
        pending = np.maximum(self._taken - self._answered, 0)
        # Both numbers are always drawn, so that one choice does not shift later draws.
        is_audit, draw = self._rng.random() < self._study.adaptive.audit, self._rng.random()
        to_audit = np.setdiff1d(np.flatnonzero((self._audits > pending) & (self._taken < self._quota)), apart)
        try:
            full = np.flatnonzero(self._taken >= self._quota - self._audits)
            # Also before an audit, so that the time of the reply does not tell one.
            choice = state.choose(self._rng, np.append(full, apart), pending)
        except NotNow:
            choice = None
        if choice is not None and not (is_audit and len(to_audit)):
            question = int(choice.is_deeper or bool(self._always[choice.item]))
            return NextTrial(int(self._numbers[choice.item]), question, choice.probability)
        if not len(to_audit):
            return None
        audited = int(to_audit[int(draw * len(to_audit))])
        return NextTrial(int(self._numbers[audited]), int(self._always[audited]), 1 / len(to_audit), is_audit=True)

    @property
    def room(self) -> int:
        state = self._updated_state()
        if state is None:
            return 0
        free = np.maximum(self._quota - self._taken, 0)
        wanted = np.where(state.finished, np.minimum(self._audits, free), free)
        return int(min(wanted.sum(), max(self._left(), 0)))

    def savings(self) -> Savings:
        """Progress, and the answers saved."""
        state = self._updated_state()
        asked = self._quota > 0
        n = self._answered[asked]
        if state is None or not asked.any():
            return Savings(0, 0, 0, 0, 0, (), None, 0.0)
        finished = state.finished[asked]
        error = None
        if self._index.name in RISKS:
            counts, times = np.unique(state.counts[asked], axis=0, return_counts=True)
            risk = getattr(ItemPosteriors(counts, state.prior), RISKS[self._index.name])
            error = float((risk * times).sum() / times.sum())
        return Savings(
            n_items=int(asked.sum()),
            n_finished=int(finished.sum()),
            n_answers=int(n.sum()),
            n_most=int(self._quota.sum()),
            n_saved=int((self._quota[asked] - n)[finished].sum()),
            answers_of_items=tuple(np.bincount(n).tolist()),
            error=error,
            n_on_average=float(n.mean()),
        )

    def _updated_state(self) -> Allocation | None:
        """The state with all answers so far, and with the newly fitted prior once it is ready."""
        if self._state is None:
            return None
        if self._new_events:
            events, self._new_events = self._new_events, []
            events = [each for each in events if each.item in self._place]
            self._count(events)
            if deciding := [each for each in events if _decides(each)]:
                places, rows = self._places(deciding), self._rows(deciding)
                self._state = self._state.with_answers(places, rows)
                if self._fit is not None:
                    self._since_fit.append((places, rows))
            if others := [each for each in events if not _decides(each)]:
                # The result is not used: the reply to an audit, a check or a repeat takes as long as to any answer.
                self._state.with_answers(self._places(others), self._rows(others))
        if self._fit is not None and self._fit.done():
            # If the fit failed, the previous prior stays: no answer waits for it.
            if self._fit.exception() is None:
                self._state = self._fit.result()
                for places, rows in self._since_fit:
                    self._state = self._state.with_answers(places, rows)
            self._fit, self._since_fit = None, []
        if self._fit is None and self._index.uses_prior and self._state.is_stale():
            if self._executor is None:
                self._state = self._state.refit()
            else:
                self._fit = self._executor.submit(self._state.refit)
        return self._state

    def _audits_wanted(self, names: Sequence[str], key: bytes) -> np.ndarray:
        """The audit votes that each item still needs: two for a random share of all items, always the same ones. They
        follow from the study's secret, so that nobody can compute which items are audited.

        They are part of the item's quota; items whose quota has no room for them are not audited.
        """
        rule, name = self._study.adaptive, self._study.name
        digests = [hashlib.blake2b(f"{name}\0{item}".encode(), digest_size=8, key=key).digest() for item in names]
        draw = np.array([int.from_bytes(digest, "big") / 2**64 for digest in digests])
        has_room = self._quota >= max(rule.fewest, 1) + AUDITED_VOTES
        return np.where((draw < rule.audit) & has_room, AUDITED_VOTES, 0)

    def _count(self, events: Sequence[AnswerEvent]) -> None:
        """Count `events` as answered, and those that are audits as audits."""
        np.add.at(self._answered, self._places(events), np.array([each.n for each in events], np.int64))
        audits = [each.n if each.is_audit else 0 for each in events]
        np.subtract.at(self._audits, self._places(events), np.array(audits, np.int64))
        self._audits = np.maximum(self._audits, 0)

    def _left(self) -> float:
        """Answers that may still be collected in total; infinite without a limit."""
        wanted = self._study.adaptive.answers
        return np.inf if wanted is None else wanted - int(self._taken[self._quota > 0].sum())

    def _places(self, events: Sequence[AnswerEvent]) -> np.ndarray:
        return np.array([self._place[each.item] for each in events], np.int64)

    def _rows(self, events: Sequence[AnswerEvent]) -> np.ndarray:
        """Each answer as votes: a choice is one vote, a richer answer spreads its votes over the classes."""
        rows = np.zeros((len(events), len(self._classes)))
        for question, kind in enumerate(self._kinds):
            of_it = [i for i, each in enumerate(events) if each.question == question]
            if of_it:
                votes = self._votes[question] * np.array([events[i].n for i in of_it])[:, None]
                rows[of_it] = votes * beliefs_of_payloads(
                    kind, [events[i].payload for i in of_it], tuple(self._classes)
                )
        return rows


def _decides(event: AnswerEvent) -> bool:
    """Whether the answer decides what is asked next: audits, and answers that count for no item, do not."""
    return event.n > 0 and not event.is_audit
