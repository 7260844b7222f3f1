"""T20: participants from a platform whose API fails, repeats rows and returns them out of order.

All participants are checked with the platform and reconciled with its list, and their payments are listed and submitted
with retries. Every check and payment must take effect exactly once per person and reason, and the table must list
exactly the planted mismatches.
"""

from __future__ import annotations

import csv
import json
import random
import tempfile
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from platform_stub import FAULTS, PlatformStub
from study_instance import StudyInstance, StudyPerson, items_named, plain_study, running_instance

from sfumato.recruitment import platform_of
from sfumato.recruitment.arrival import admit, check_arrival, entry_key, store_check, unchecked_arrivals
from sfumato.recruitment.payment import Payment
from sfumato.recruitment.payment_inputs import PaymentSources, client_for, pay, reconcile
from sfumato.recruitment.platform import Arrival
from sfumato.recruitment.platform_api import ApiConnection
from sfumato.store.location import StoreLocation
from sfumato.study.study import Bonus, Pay, People, Recruiting, Study

SUBMITTED = {"prolific": "AWAITING REVIEW", "mturk": "Submitted"}
RETURNED = {"prolific": "RETURNED", "mturk": "Returned"}
REJECTED = {"prolific": "REJECTED", "mturk": "Rejected"}
ACTIVE = {"prolific": "ACTIVE", "mturk": "Accepted"}
FAULT_CHANCE = 0.4
PATIENCE = 40


@dataclass(frozen=True)
class PlatformReport:
    """The result; all counts except the first two must be 0."""

    n_people: int
    n_requests: int
    asked_twice: int = 0
    """Checks that took effect more than once per person and visit."""
    not_asked: int = 0
    paid_twice: int = 0
    """Payments that took effect more than once per person and reason."""
    not_paid: int = 0
    missed: int = 0
    """Planted mismatches that are not in the table."""
    made_up: int = 0
    """Mismatches in the table that were not planted."""

    @property
    def passed(self) -> bool:
        wrong = (self.asked_twice, self.not_asked, self.paid_twice, self.not_paid, self.missed, self.made_up)
        return not any(wrong)

    def __str__(self) -> str:
        return (
            f"{self.n_people} people, {self.n_requests:,} requests, {self.asked_twice} checked twice, "
            f"{self.not_asked} not checked, {self.paid_twice} paid twice, {self.not_paid} not paid, "
            f"{self.missed} mismatches missed, {self.made_up} wrongly listed"
        )


class KeylessConnection(ApiConnection):
    """The control: retries with a new key, like a client without keys."""

    def _once(self, request: Any, key: str) -> Any:
        return super()._once(request, f"{key}-{uuid.uuid4()}")


def platform_study(platform: str) -> Study:
    return plain_study(
        recruiting=Recruiting(platform, "DONE", "OUT", "NO"),
        pay=Pay(2.0, "USD", 8.0, Bonus("agreement", 1.0)),
        people=People(answers_per_item=1000, batch_size=2),
    )


def platform_trial(platform: str, *, n_people: int = 24, seed: int = 0, keys: bool = True) -> PlatformReport:
    """Run the trial; without `keys` (control) it must fail."""
    rng = random.Random(seed)
    study = platform_study(platform)
    with tempfile.TemporaryDirectory() as folder, PlatformStub(shuffled=random.Random(seed)) as stub:
        trial = _Trial(study, Path(folder), stub, rng, keys)
        with running_instance(str(trial.store), study, items_named(6)) as at:
            return trial.run(at, n_people)


@dataclass
class _Trial:
    study: Study
    folder: Path
    stub: PlatformStub
    rng: random.Random
    keys: bool
    tokens: list[str] = field(default_factory=list)
    """The first link of each person."""

    @property
    def store(self) -> Path:
        return self.folder / "a.sqlite"

    def run(self, at: StudyInstance, n_people: int) -> PlatformReport:
        planted: dict[str, set[str]] = {}
        people = [f"person{n:03d}" for n in range(n_people)]
        for number, person in enumerate(people):
            planted[person] = self._take_part(at, person, CASES[number % len(CASES)])
        self._check_everybody(at)
        self._add_strangers(planted)
        asked = [n for (what, _), n in self.stub.effects.items() if what == "get"]
        missed, made_up = self._reconcile(planted)
        paid_twice, not_paid = self._pay(at, people)
        return PlatformReport(
            n_people,
            len(self.stub.requests),
            sum(n > 1 for n in asked),
            n_people - len(asked),
            paid_twice,
            not_paid,
            missed,
            made_up,
        )

    def _take_part(self, at: StudyInstance, person: str, plant: Callable[..., set[str]]) -> set[str]:
        """A person arrives once or several times and answers; `plant` sets what the platform says about them."""
        session = f"ses{person}"
        self.stub.add(person, session, ACTIVE[self._name])
        someone = self._arrives(at, person, session)
        self.tokens.append(someone.token)
        for _ in range(self.rng.randrange(3)):
            self._arrives(at, person, session)
        return plant(self, at, someone, person, session)

    @property
    def _name(self) -> str:
        return self.study.recruiting.platform  # type: ignore[union-attr]

    def _arrives(self, at: StudyInstance, person: str, session: str) -> StudyPerson:
        platform = platform_of(self.study)

        def come(running: Any) -> str:
            key = entry_key(running.secret, platform.name)
            return admit(running, platform, key, Arrival(person, "study1", session, "https://www.mturk.com")).token

        someone = StudyPerson(at, at.run(come))
        someone.finish_instructions()
        return someone

    def finishes(self, someone: StudyPerson) -> None:
        while someone.state().stage == "trials":
            someone.answer(self.rng.choice(["cat", "dog"]))

    def says(self, person: str, session: str, status: dict[str, str], code: str = "", study: str = "study1") -> None:
        self.stub.add(person, session, status[self._name], code, study)

    def _with_retries(self, caller: Any) -> Any:
        caller.connection.sleep = lambda _: None
        caller.connection.attempts = PATIENCE
        if not self.keys:
            caller.connection = KeylessConnection(
                caller.connection.base, caller.connection.headers_of, 10.0, PATIENCE, lambda _: None
            )
        return caller

    def _plan_faults(self, n: int) -> None:
        self.stub.faults.extend(self.rng.choice(FAULTS) if self.rng.random() < FAULT_CHANCE else "" for _ in range(n))

    def _check_everybody(self, at: StudyInstance) -> None:
        """Check everybody twice in random order, and store the replies in another order."""
        caller = self._with_retries(client_for(self.study, self.stub.environment))
        asked = [
            each for token in self.tokens for each in at.run(lambda running, t=token: unchecked_arrivals(running, t))
        ]
        replies = []
        for each in self.rng.sample(asked * 2, 2 * len(asked)):
            self._plan_faults(3)
            replies.append((each, check_arrival(caller, each)))
        for each, reply in self.rng.sample(replies, len(replies)):
            at.run(lambda running, each=each, reply=reply: store_check(running, each, reply))
        self.stub.faults.clear()

    def _add_strangers(self, planted: dict[str, set[str]]) -> None:
        for n in range(3):
            self.says(f"stranger{n}", f"sesstranger{n}", SUBMITTED, "DONE")
            planted[f"stranger{n}"] = {"not-here"}
        self.says("looker1", "seslooker1", RETURNED)
        planted["looker1"] = set()

    def _reconcile(self, planted: dict[str, set[str]]) -> tuple[int, int]:
        """Reconcile by the API and by the export; both must give the same result."""
        missed = made_up = 0
        for sources in (
            PaymentSources(client=self._with_retries(client_for(self.study, self.stub.environment))),
            PaymentSources(submissions=self._export()),
        ):
            self._plan_faults(60)
            table = reconcile(StoreLocation.of(str(self.store)), self.study, sources, with_ids=True)
            self.stub.faults.clear()
            found: dict[str, list[str]] = {}
            for case in table.cases:
                found.setdefault(case.person, []).extend(case.mismatches.split())
            for person in {*planted, *found}:
                missed += len(planted.get(person, set()) - set(found.get(person, ())))
                made_up += len(found.get(person, ())) - len(planted.get(person, set()) & set(found.get(person, ())))
        return missed, made_up

    def _export(self) -> Path:
        names = {
            "prolific": ("Participant id", "Submission id", "Status", "Completion code"),
            "mturk": ("WorkerId", "AssignmentId", "AssignmentStatus", "Answer.code", "HITId"),
        }[self._name]
        path = self.folder / "export.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for row in self.rng.sample(list(self.stub.rows.values()), len(self.stub.rows)):
                told = (row["person"], row["session"], row["status"], row["code"], row["study"])
                writer.writerow(told[: len(names)])
        return path

    def _pay(self, at: StudyInstance, people: list[str]) -> tuple[int, int]:
        """Compute and submit the payments twice, and again after others have finished."""
        place = StoreLocation.of(str(self.store))
        for again in range(3):
            if again == 2:
                for person in people[: len(people) // 3]:
                    self.finishes(self._arrives(at, person, f"ses{person}"))
            rows = [
                each for each in pay(place, self.study, PaymentSources(), with_ids=True).payments if each.due == "yes"
            ]
            assert len({(each.annotator, each.reason) for each in rows}) == len(rows)
            for row in self.rng.sample(rows, len(rows)):
                self._plan_faults(2)
                self._submit_payment(row)
        self.stub.faults.clear()
        due = {(each.person, each.reason) for each in rows if each.amount > 0}
        return sum(n > 1 for n in self.stub.paid.values()), len(due - set(self.stub.paid))

    def _submit_payment(self, row: Payment) -> None:
        """Submit a payment until it is confirmed, as a researcher's script would."""
        for _ in range(PATIENCE):
            token = row.key if self.keys else uuid.uuid4().hex
            asked = {"WorkerId": row.person, "Reason": row.reason, "BonusAmount": f"{row.amount:.2f}"}
            request = urllib.request.Request(
                self.stub.url,
                json.dumps(asked | {"UniqueRequestToken": token}).encode(),
                {"X-Amz-Target": "MTurkRequesterServiceV20170117.SendBonus", "Authorization": AUTHORIZED},
            )
            try:
                with urllib.request.urlopen(request, timeout=10) as reply:
                    json.loads(reply.read())
                    return
            except (urllib.error.URLError, OSError, ValueError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()
        raise AssertionError("the stub never accepted the payment")


AUTHORIZED = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x"

# Cases: each sets what the platform says about a person, and returns the mismatches that must be listed.


def no_mismatch(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, SUBMITTED, "DONE")
    return set()


def not_submitted(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, RETURNED)
    return {"finished-not-submitted"}


def submitted_without_finishing(
    trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str
) -> set[str]:
    someone.answer()
    trial.says(person, session, SUBMITTED, "DONE")
    return {"submitted-not-finished"}


def wrong_code(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, SUBMITTED, "NOCODE")
    return {"wrong-code"}


def rejected(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, REJECTED, "DONE")
    return {"rejected-though-finished"}


def invented_id(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    del trial.stub.rows[session]
    return {"not-on-platform", "unknown-at-entry"}


def two_visits(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    trial.says(person, session, RETURNED)
    trial.says(person, f"{session}b", SUBMITTED, "DONE")
    trial.finishes(trial._arrives(at, person, f"{session}b"))
    return {"several-visits", "several-submissions"}


def left_halfway(trial: _Trial, at: StudyInstance, someone: StudyPerson, person: str, session: str) -> set[str]:
    someone.answer()
    trial.says(person, session, RETURNED)
    return set()


CASES: tuple[Callable[..., set[str]], ...] = (
    no_mismatch,
    not_submitted,
    submitted_without_finishing,
    wrong_code,
    rejected,
    invented_id,
    two_visits,
    left_halfway,
)


def summed(reports: list[PlatformReport]) -> PlatformReport:
    """The sums over several trials."""
    names = ("n_people", "n_requests", "asked_twice", "not_asked", "paid_twice", "not_paid", "missed", "made_up")
    return replace(reports[0], **{name: sum(getattr(each, name) for each in reports) for name in names})
