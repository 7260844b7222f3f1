"""Erasing a participant: the platform id is deleted, also from the file; counts and the chain of answers stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from study_instance import StudyInstance, StudyPerson, plain_study, running_instance

from sfumato.elicitation.researcher_actions import erase_participant
from sfumato.recruitment import Prolific
from sfumato.recruitment.arrival import admit, check_arrival, entry_key, store_check, unchecked_arrivals
from sfumato.recruitment.participant_outcomes import outcomes_of
from sfumato.recruitment.platform import Arrival
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.study.study import People, Recruiting
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadSetting, NotNow, NotThere

STUDY = plain_study(recruiting=Recruiting("prolific", "DONE"))
PERSON, SESSION = "pid5f0a9c1e77", "ses60d1b2aa77"


def arrives(at: StudyInstance, person: str = PERSON, session: str = SESSION) -> StudyPerson:
    platform = Prolific()

    def come(running: object) -> str:
        key = entry_key(running.secret, platform.name)  # type: ignore[attr-defined]
        return admit(running, platform, key, Arrival(person, "study1", session)).token  # type: ignore[arg-type]

    someone = StudyPerson(at, at.run(come))
    someone.finish_instructions()
    return someone


def erase(at: StudyInstance, **who: object) -> str:
    return at.run(lambda running: erase_participant(running, "tests", **who))  # type: ignore[arg-type]


def test_the_id_goes_and_the_counts_stay(store: str) -> None:
    with running_instance(store, STUDY) as at:
        person, other = arrives(at), arrives(at, "pidother12", "sesother12")
        for _ in range(3):
            person.answer()
            other.answer()
        before = (
            at.one("SELECT count(*) FROM answers"),
            at.one("SELECT count(*) FROM annotators"),
            at.answers_by_item(),
        )
        pseudonym = erase(at, platform_id=PERSON)
        assert at.rows("SELECT person FROM platform_ids") == [("pidother12",)]
        after = (
            at.one("SELECT count(*) FROM answers"),
            at.one("SELECT count(*) FROM annotators"),
            at.answers_by_item(),
        )
        assert after == before
        assert [found.faults for found in verify(StoreLocation.of(store))] == [()]
        ((who, about),) = at.rows("SELECT who, about FROM happenings WHERE what = 'erased'")
        assert (who, json.loads(about)) == ("tests", {"annotator": pseudonym, "answers": "kept"})
        assert PERSON not in about


def test_nothing_of_the_id_is_left_in_the_file(tmp_path: Path) -> None:
    """Not in a free page, nor in the log: what is deleted is overwritten."""
    store = tmp_path / "a.sqlite"
    study = replace(STUDY, people=People(answers_per_item=50))
    with running_instance(str(store), study) as at:
        for n in range(20):
            arrives(at, f"pidother{n}", f"sesother{n}")
        arrives(at).answer()
        arrives(at, PERSON, "another9").answer()
    assert any(PERSON.encode() in file.read_bytes() for file in tmp_path.iterdir())
    with running_instance(str(store), study) as at:
        # As SQLite is by itself; some systems' is stricter.
        at.run(lambda running: running.action()[0].exec_driver_sql("PRAGMA secure_delete = OFF"))
        erase(at, platform_id=PERSON)
    for file in tmp_path.iterdir():
        assert PERSON.encode() not in file.read_bytes(), file.name
        assert SESSION.encode() not in file.read_bytes(), file.name


def test_their_link_is_dead_and_their_turn_goes_back(store: str) -> None:
    with running_instance(store, STUDY) as at:
        person = arrives(at)
        person.answer()
        assert at.one("SELECT count(*) FROM trials WHERE state = 0") > 0
        erase(at, platform_id=PERSON)
        with pytest.raises(NotThere) as error:
            person.state()
        assert error.value.code == "unknown-link"
        assert at.one("SELECT count(*) FROM trials WHERE state = 0") == 0
        # Coming again from the platform is no new person.
        with pytest.raises(NotNow):
            arrives(at)
        assert at.one("SELECT count(*) FROM annotators") == 1
        assert at.one("SELECT count(*) FROM platform_ids") == 0
        assert at.restarted().one("SELECT count(*) FROM platform_ids") == 0


def test_answers_stay_in_exports_or_are_left_out(store: str, tmp_path: Path) -> None:
    def exported() -> set[str]:
        export(StoreLocation.of(store), STUDY.name, tmp_path / "a.parquet")
        return set(Annotations.read(tmp_path / "a.parquet").annotator.names.to_pylist())

    with running_instance(store, STUDY) as at:
        for n in range(2):
            arrives(at, f"pid{n}12345", f"ses{n}12345").answer()
        first, second = (name for (name,) in at.rows("SELECT pseudonym FROM annotators ORDER BY id"))
        assert erase(at, pseudonym=first) == first
        assert exported() == {first, second}
        assert erase(at, pseudonym=first, answers=True) == first  # who was erased can still be left out
        assert exported() == {second}
        assert at.one("SELECT count(*) FROM answers") == 2
        assert erase(at, pseudonym=first, answers=True) == first  # a second time changes nothing
        assert at.one("SELECT count(*) FROM happenings WHERE what = 'erased'") == 2
        (one, _) = outcomes_of(StoreLocation.of(store), STUDY).people
        assert (one.is_erased, one.is_left_out, one.arrival, one.n_answers) == (True, True, None, 1)


@pytest.mark.parametrize("who", [{"pseudonym": "Anobody"}, {"platform_id": "nobody1"}])
def test_nobody_of_that_name_is_said_without_repeating_an_id(tmp_path: Path, who: dict[str, str]) -> None:
    with running_instance(str(tmp_path / "a.sqlite"), STUDY) as at:
        arrives(at)
        with pytest.raises(NotThere) as error:
            erase(at, **who)
        assert error.value.code == "unknown-person"
        assert "nobody1" not in str(error.value)
        assert at.one("SELECT count(*) FROM platform_ids") == 1


@pytest.mark.parametrize("who", [{}, {"pseudonym": "A", "platform_id": "B"}])
def test_one_name_and_not_two(tmp_path: Path, who: dict[str, str]) -> None:
    with running_instance(str(tmp_path / "a.sqlite"), STUDY) as at, pytest.raises(BadSetting):
        erase(at, **who)


def test_no_form_takes_free_text() -> None:
    """What people write themselves would have to be erased, too; there is no kind in which they do."""
    from sfumato.elicitation.kind import folder_of
    from sfumato.elicitation.kinds import KINDS

    for kind in KINDS:
        form = (folder_of(kind()) / "form.html").read_text()
        assert "<textarea" not in form, kind.name
        assert form.count('type="text"') == form.count('type="text" inputmode="decimal"'), kind.name
        assert "contenteditable" not in form.lower(), kind.name


class OldWord:
    """A platform whose answer about the first visit comes when the second has begun."""

    def knows(self, arrival: Arrival, key: str) -> bool:
        return bool(arrival.session == SESSION and key)


def test_a_word_about_an_earlier_visit_is_not_taken_for_the_last(store: str) -> None:
    with running_instance(store, STUDY) as at:
        token = arrives(at).token
        (first,) = at.run(lambda running: unchecked_arrivals(running, token))
        said = check_arrival(OldWord(), first)  # type: ignore[arg-type]
        arrives(at, PERSON, "another9")
        (second,) = at.run(lambda running: unchecked_arrivals(running, token))
        assert first.key != second.key
        at.run(lambda running: store_check(running, second, check_arrival(OldWord(), second)))  # type: ignore[arg-type]
        at.run(lambda running: store_check(running, first, said))  # comes late
        (one,) = outcomes_of(StoreLocation.of(store), STUDY).people
        assert (one.checked, one.arrival.session, one.earlier) == ("unknown", "another9", (SESSION,))  # type: ignore[union-attr]
        # The first visit was confirmed, so the person is; what the platform says later of the second one counts.
        assert one.is_confirmed
        at.run(lambda running: store_check(running, second, "known"))
        assert outcomes_of(StoreLocation.of(store), STUDY).people[0].checked == "known"
        assert at.run(lambda running: unchecked_arrivals(running, token)) == []
