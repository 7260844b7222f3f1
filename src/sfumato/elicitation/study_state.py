"""Judging checks: whether an answer lies where it must. What an answer means is not known here, so a judge is asked.

Memory: what the store says of a running study, kept at hand so that answering needs no look-ups.

Made from the store when a server starts, and anew whenever the store may say otherwise (after a failed group, or when
another server of the same PostgreSQL database has written).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec
import sqlalchemy as sa

from sfumato.elicitation.assignment import AnswerEvent, ItemSelector
from sfumato.elicitation.deeper_form import DeeperFormRule
from sfumato.elicitation.kind import label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.lease import LeaseTable
from sfumato.elicitation.participant import AnswerReceipt, Participant, Trial
from sfumato.elicitation.trial_sequence import TrialSequence
from sfumato.store import queries
from sfumato.store.verification import linked
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Region, Study


class CheckJudge(Protocol):
    """Knows what an answer means."""

    def passes(self, region: Region, question: int, payload: Any) -> bool:
        """Whether an answer (plain JSON values) to one of the study's questions lies in the region."""


PEOPLE_AT_HAND = 10_000
"""People remembered at once; who has been away longest goes first, and is read anew when they come back."""
FINISHED_AT_HAND = 200
"""How many of them have finished; hardly anybody asks again."""


class StudyState:
    """The items, the leases and the people of one study. `now` is in milliseconds, `at` on the clock of leases.

    A guide, where there is one, is told all that was answered.
    """

    def __init__(
        self,
        connection: sa.Connection,
        study: Study,
        number: int,
        *,
        now: int,
        at: float,
        guide: ItemSelector | None = None,
        judge: CheckJudge | None = None,
    ) -> None:
        self._judge = judge
        known = queries.stimuli(connection, number)
        taken = queries.taken(connection, number)
        first = {stimulus.item: item for item, (stimulus, _) in reversed(known.items())}
        row = queries.study_row(connection, study.name)
        self.number = number
        self.stimuli: dict[int, Stimulus] = {item: stimulus for item, (stimulus, _) in known.items()}
        self.course = TrialSequence(
            study.people,
            {first[each.item]: int(each.deeper) for each in study.practice if each.item in first},
            {first[each.item]: each.at for each in study.checks if each.item in first},
            sum(quota > 0 and stimulus.item not in study.set_aside for stimulus, quota in known.values()) or None,
        )
        """What people are led through."""
        told = [(each.item, each.region) for each in study.checks]
        told += [(each.item, each.region) for each in study.practice if each.region is not None]
        self.regions = {first[item]: region for item, region in told if item in first}
        """Where the answer to each check must lie, and to practice items that say so."""
        assert row is not None, "a study is registered before it is remembered"
        self.paused = row["paused_at"] is not None
        self.secret: str = row["secret"]
        self.head: str = row["head"]
        """The link of the last answer."""
        self.n_answers: int = row["n_answers"]
        self.next_id = queries.next_ids(connection, number)
        n_forms = max(len(study.questions), 1)
        # Arms have quotas of their own; the deeper form of an adaptive study takes from the same as the usual one.
        forms = [(arm,) for arm in range(n_forms)] if study.arms else [tuple(range(n_forms))]
        openings = [
            [(item, quota, sum(taken.get((item, form), 0) for form in each)) for item, (_, quota) in known.items()]
            for each in forms
        ]
        if guide is not None:
            names = {item: stimulus.item for item, (stimulus, _) in known.items()}
            guide.begin(openings[0], names, _heard(connection, study, number))
        self.leases = LeaseTable(*openings, guide=guide)
        self.depth = DeeperFormRule(study.deeper, [first[each] for each in _listed(study) if each in first])
        """When the deeper form opens."""
        if study.deeper is not None and study.deeper.disagreement is not None:
            for item, chosen in queries.first_chosen(connection, number):
                self.depth.heard(item, chosen)
        self._in_arms = queries.people_in_arms(connection, number) if study.arms else {}
        self._n_arms = len(study.arms)
        self._lease = 60.0 * study.limits.lease_minutes
        self._people: dict[str, Participant] = {}
        self._by_id: dict[int, Participant] = {}
        self._finished: dict[str, None] = {}
        for row in queries.open_trials(connection, number):
            if row["purpose"] == "label":
                self.leases.restore(self._trial(row, now, at))

    @property
    def aside(self) -> set[int]:
        """Items that are for practice or checks, and not asked about otherwise."""
        return {*self.course.practice, *self.course.checks}

    def person(self, connection: sa.Connection, token_hash: str, now: int, at: float) -> Participant | None:
        """Who has this link, with everything they did; None if nobody has."""
        person = self._people.pop(token_hash, None)
        if person is None:
            row = queries.annotator_by_token(connection, self.number, token_hash)
            if row is None:
                return None
            person = self._recalled(connection, Participant.of(row), now, at)
        # Put last, so that the first in the dictionary is who has been away longest.
        self.keep(person)
        return person

    def keep(self, person: Participant) -> None:
        """Remember a person."""
        self._people[person.token_hash] = person
        self._by_id[person.id] = person

    def owner(self, trial: Trial) -> Participant | None:
        """Whose trial it is, if they are remembered."""
        return self._by_id.get(trial.annotator)

    def new_id(self, table: str) -> int:
        """A number for a new row of `table`."""
        number = self.next_id[table]
        self.next_id[table] = number + 1
        return number

    def chain(self, row: queries.Row) -> str:
        """The link of a new answer, which is the last from now on."""
        self.head = linked(self.head, row)
        self.n_answers += 1
        return self.head

    def passed(self, trial: Trial, payload: Any) -> bool:
        """Whether an answer lies where it must; yes, where the study does not (or no longer) say where that is."""
        region = self.regions.get(trial.item)
        if region is None or self._judge is None:
            return True
        return self._judge.passes(region, trial.question, payload)

    def new_arm(self, rng: random.Random) -> int:
        """The arm of a new person: by chance among those with the fewest people."""
        if not self._n_arms:
            return 0
        fewest = min(self._in_arms.get(arm, 0) for arm in range(self._n_arms))
        arm = rng.choice([arm for arm in range(self._n_arms) if self._in_arms.get(arm, 0) == fewest])
        self._in_arms[arm] = fewest + 1
        return arm

    def trim(self) -> None:
        """Forget who has been away longest when there are too many; between groups only, when all is written."""
        while len(self._people) > PEOPLE_AT_HAND:
            self._let_go(next(iter(self._people)))
        while len(self._finished) > FINISHED_AT_HAND:
            self._let_go(next(iter(self._finished)))

    def finished(self, person: Participant) -> None:
        """Somebody has given all they were asked for, and need not be remembered for long."""
        self._finished[person.token_hash] = None

    def _let_go(self, token_hash: str) -> None:
        self._finished.pop(token_hash, None)
        if (gone := self._people.pop(token_hash, None)) is not None:
            del self._by_id[gone.id]

    def _recalled(self, connection: sa.Connection, person: Participant, now: int, at: float) -> Participant:
        for row in queries.trials_of(connection, person.id):
            person.add(self.leases.get(row["id"]) or self._trial(row, now, at))
            if row["key"] is not None:
                person.note(row["key"], AnswerReceipt(row["digest"], row["answer"]))
        if self.regions:
            for row in queries.checks_of(connection, person.id):
                trial = self._trial(row, now, at)
                person.failed += not self.passed(trial, msgspec.json.decode(row["payload"]))
        for row in queries.refused_of(connection, person.id):
            person.note(row["key"], AnswerReceipt(row["digest"], None, row["code"]))
        return person

    def _trial(self, row: queries.Row, now: int, at: float) -> Trial:
        # What is left of a lease by the clock of the day, and never more than a whole one: that clock may have jumped.
        left = min(max((row["expires_at"] - now) / 1000, 0.0), self._lease)
        return Trial(
            id=row["id"],
            handle=row["handle"],
            annotator=row["annotator"],
            item=row["item"],
            number=row["number"],
            purpose=row["purpose"],
            state=row["state"],
            leased_at=row["leased_at"],
            expires=at + left,
            answer=row.get("answer"),
            question=row["question"],
            probability=row["probability"],
            audit=row["audit"],
            deeper=row["deeper"],
            deeper_probability=row["deeper_probability"],
        )


def _listed(study: Study) -> tuple[str, ...]:
    """Items about which the deeper form is asked in any case."""
    return () if study.deeper is None else study.deeper.items


def _heard(connection: sa.Connection, study: Study, number: int) -> Iterator[AnswerEvent]:
    """Every answer for a label, equal ones together."""
    questions = {label_of(kind): place for place, kind in enumerate(kinds_of(study))}
    for row in queries.answer_rows(connection, number):
        if row["kind"] in questions:
            yield AnswerEvent(row["item"], questions[row["kind"]], msgspec.json.decode(row["payload"]), row["n"])
