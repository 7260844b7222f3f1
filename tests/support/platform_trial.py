"""T20: a crowd from a platform whose API fails, repeats itself and answers out of order.

Everybody is asked about at the platform, reconciled with its list, and their pay is listed and handed in by somebody
who tries again and again. What must come out: every question and every payment happened exactly once for each person
and reason, and every planted mismatch is in the table, and no other.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from platform_stub import FAULTS, PlatformStub
from study_at_work import AtWork, Someone, at_work, items_named, plain_study

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
    """What came out; everything but the first two must be 0."""

    n_people: int
    n_requests: int
    asked_twice: int = 0
    """Questions that happened more than once for a person and visit."""
    not_asked: int = 0
    paid_twice: int = 0
    """Payments that happened more than once for a person and reason."""
    not_paid: int = 0
    missed: int = 0
    """Planted mismatches that the table does not list."""
    made_up: int = 0
    """Mismatches of the table that were not planted."""

    @property
    def passed(self) -> bool:
        wrong = (self.asked_twice, self.not_asked, self.paid_twice, self.not_paid, self.missed, self.made_up)
        return not any(wrong)


class KeylessLine(ApiConnection):
    """The negative control: tries again under another key, as a client without one does."""

    def _once(self, request: Any, key: str) -> Any:
        return super()._once(request, f"{key}-{uuid.uuid4()}")


def platform_study(platform: str) -> Study:
    return plain_study(
        recruiting=Recruiting(platform, "DONE", "OUT", "NO"),
        pay=Pay(2.0, "USD", 8.0, Bonus("agreement", 1.0)),
        people=People(answers_per_item=1000, batch_size=2),
    )


def platform_trial(platform: str, *, n_people: int = 24, seed: int = 0, keys: bool = True) -> PlatformReport:
    """Run the trial; without `keys` retries are without a key, and it must fail."""
    rng = random.Random(seed)
    study = platform_study(platform)
    with tempfile.TemporaryDirectory() as folder, PlatformStub(shuffled=random.Random(seed)) as stub:
        trial = _Trial(study, Path(folder), stub, rng, keys)
        with at_work(str(trial.store), study, items_named(6)) as at:
            return trial.run(at, n_people)


@dataclass
class _Trial:
    study: Study
    folder: Path
    stub: PlatformStub
    rng: random.Random
    keys: bool

    @property
    def store(self) -> Path:
        return self.folder / "a.sqlite"

    def run(self, at: AtWork, n_people: int) -> PlatformReport:
        planted: dict[str, set[str]] = {}
        people = [f"person{n:03d}" for n in range(n_people)]
        for number, person in enumerate(people):
            planted[person] = self._takes_part(at, person, PLANTS[number % len(PLANTS)])
        self._ask_about_everybody(at)
        self._strangers(planted)
        asked = [n for (what, _), n in self.stub.happened.items() if what == "get"]
        missed, made_up = self._reconciled(planted)
        paid_twice, not_paid = self._paid(at, people)
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

    def _takes_part(self, at: AtWork, person: str, plant: Callable[..., set[str]]) -> set[str]:
        """Somebody comes, once or several times, and answers; what the platform says of them is as `plant` has it."""
        session = f"ses{person}"
        self.stub.add(person, session, ACTIVE[self._name])
        someone = self._arrives(at, person, session)
        for _ in range(self.rng.randrange(3)):
            self._arrives(at, person, session)
        return plant(self, at, someone, person, session)

    @property
    def _name(self) -> str:
        return self.study.recruiting.platform  # type: ignore[union-attr]

    def _arrives(self, at: AtWork, person: str, session: str) -> Someone:
        platform = platform_of(self.study)

        def come(running: Any) -> str:
            key = entry_key(running.secret, platform.name)
            return admit(running, platform, key, Arrival(person, "study1", session, "https://www.mturk.com"))

        someone = Someone(at, at.run(come))
        someone.finish_instructions()
        return someone

    def finishes(self, someone: Someone) -> None:
        while someone.state().stage == "trials":
            someone.answer(self.rng.choice(["cat", "dog"]))

    def says(self, person: str, session: str, status: dict[str, str], code: str = "", study: str = "study1") -> None:
        self.stub.add(person, session, status[self._name], code, study)

    def _line(self, caller: Any) -> Any:
        caller.connection.sleep = lambda _: None
        caller.connection.attempts = PATIENCE
        if not self.keys:
            caller.connection = KeylessLine(
                caller.connection.base, caller.connection.headers_of, 10.0, PATIENCE, lambda _: None
            )
        return caller

    def _break(self, n: int) -> None:
        self.stub.faults.extend(self.rng.choice(FAULTS) if self.rng.random() < FAULT_CHANCE else "" for _ in range(n))

    def _ask_about_everybody(self, at: AtWork) -> None:
        """Twice over and in any order: a reply may come after the next question was asked."""
        caller = self._line(client_for(self.study, self.stub.environment))
        asked = at.run(lambda running: unchecked_arrivals(running, platform_of(self.study)))  # type: ignore[arg-type]
        heard = []
        for each in self.rng.sample(asked * 2, 2 * len(asked)):
            self._break(3)
            heard.append((each, check_arrival(caller, each)))
        for each, said in self.rng.sample(heard, len(heard)):
            at.run(lambda running, each=each, said=said: store_check(running, each, said))
        self.stub.faults.clear()

    def _strangers(self, planted: dict[str, set[str]]) -> None:
        for n in range(3):
            self.says(f"stranger{n}", f"sesstranger{n}", SUBMITTED, "DONE")
            planted[f"stranger{n}"] = {"not-here"}
        self.says("looker1", "seslooker1", RETURNED)
        planted["looker1"] = set()

    def _reconciled(self, planted: dict[str, set[str]]) -> tuple[int, int]:
        """By the API and by the export: both must tell the same."""
        missed = made_up = 0
        for sources in (
            PaymentSources(client=self._line(client_for(self.study, self.stub.environment))),
            PaymentSources(submissions=self._export()),
        ):
            self._break(60)
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

    def _paid(self, at: AtWork, people: list[str]) -> tuple[int, int]:
        """The list is computed and handed in twice, and once more after others have finished."""
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
                self._break(2)
                self._hand_in(row)
        self.stub.faults.clear()
        due = {(each.person, each.reason) for each in rows if each.amount > 0}
        return sum(n > 1 for n in self.stub.paid.values()), len(due - set(self.stub.paid))

    def _hand_in(self, row: Payment) -> None:
        """What a researcher's script does with the list: tries until it hears that it worked."""
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
        raise AssertionError("the stub never took it")


AUTHORIZED = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x"

# What the platform says of somebody, and what of it does not fit. Each is given a trial, a server and a person.


def all_is_well(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, SUBMITTED, "DONE")
    return set()


def forgot_to_hand_in(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, RETURNED)
    return {"finished-not-submitted"}


def passed_the_code_on(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    someone.answer()
    trial.says(person, session, SUBMITTED, "DONE")
    return {"submitted-not-finished"}


def typed_another_code(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, SUBMITTED, "NOCODE")
    return {"wrong-code"}


def was_rejected(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    trial.says(person, session, REJECTED, "DONE")
    return {"rejected-though-finished"}


def made_up_an_id(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    trial.finishes(someone)
    del trial.stub.rows[session]
    return {"not-on-platform", "unknown-at-entry"}


def came_in_two_visits(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    trial.says(person, session, RETURNED)
    trial.says(person, f"{session}b", SUBMITTED, "DONE")
    trial.finishes(trial._arrives(at, person, f"{session}b"))
    return {"several-visits", "several-submissions"}


def left_halfway(trial: _Trial, at: AtWork, someone: Someone, person: str, session: str) -> set[str]:
    someone.answer()
    trial.says(person, session, RETURNED)
    return set()


PLANTS: tuple[Callable[..., set[str]], ...] = (
    all_is_well,
    forgot_to_hand_in,
    passed_the_code_on,
    typed_another_code,
    was_rejected,
    made_up_an_id,
    came_in_two_visits,
    left_halfway,
)


def summed(reports: list[PlatformReport]) -> PlatformReport:
    """Several trials as one."""
    names = ("n_people", "n_requests", "asked_twice", "not_asked", "paid_twice", "not_paid", "missed", "made_up")
    return replace(reports[0], **{name: sum(getattr(each, name) for each in reports) for name in names})
