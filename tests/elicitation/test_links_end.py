"""Links end: so long after they were made or last used, by a clock set by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from study_instance import DAY, LEASE, StudyInstance, StudyPerson, plain_study, running_instance, sent

from sfumato.elicitation.participant_link import LEEWAY_MS, LinkEnded, is_signed, made_at, new_secret, new_token
from sfumato.study.study import Entry, Limits, People

WEEK = replace(
    plain_study(people=People(entry=Entry.LINKS, answers_per_item=2, batch_size=4)),
    limits=Limits(lease_minutes=LEASE / 60, remind_after_minutes=1e7, link_days=7),
)
LEEWAY = LEEWAY_MS / 1000


def new_link(at: StudyInstance) -> StudyPerson:
    return StudyPerson(at, new_token(at.one("SELECT secret FROM studies"), at.clock.now()))


def opened(person: StudyPerson) -> StudyPerson:
    person.at.run(lambda running: running.sessions.open_link(person.token))
    return person


def test_a_link_nobody_opened_ends_so_long_after_it_was_made(tmp_path: Path) -> None:
    with running_instance(str(tmp_path / "answers.sqlite"), WEEK) as at:
        early, late, undated = (
            new_link(at),
            new_link(at),
            StudyPerson(at, new_token(at.one("SELECT secret FROM studies"))),
        )
        at.clock.advance(7 * DAY + LEEWAY)
        opened(early)
        at.clock.advance(1)
        with pytest.raises(LinkEnded) as caught:
            opened(late)
        assert caught.value.code == "link-ended"
        assert at.one("SELECT count(*) FROM annotators") == 1
        # Links without a date are older than dated links, or belong to existing participants.
        opened(undated)
        # More days in the study file make links that are out there hold again.
        more = at.restarted(study=replace(WEEK, limits=replace(WEEK.limits, link_days=8)))
        opened(more.same(late))
        more.clock.advance(100 * DAY)
        with pytest.raises(LinkEnded):
            opened(more.same(late))
        never = more.restarted(study=replace(WEEK, limits=replace(WEEK.limits, link_days=0)))
        assert opened(never.same(late)).state().stage == "instructions"


def test_links_of_active_people_do_not_expire(tmp_path: Path) -> None:
    with running_instance(str(tmp_path / "answers.sqlite"), WEEK) as at:
        person = opened(new_link(at))
        person.finish_instructions()
        for _ in range(4):
            at.clock.advance(6.9 * DAY)
            person.answer()
        assert person.state().stage == "finished"


def test_what_was_answered_is_stored_though_the_link_has_ended(store: str) -> None:
    with running_instance(store, WEEK) as at:
        person = opened(new_link(at))
        person.finish_instructions()
        first, second, *_ = person.state().trials
        at.clock.advance(8 * DAY)
        for ask in (StudyPerson.state, StudyPerson.finish_instructions, StudyPerson.heartbeat, StudyPerson.consent):
            with pytest.raises(LinkEnded):
                ask(person)
        later = at.restarted()
        outcomes = [later.same(person).submit(sent(each.handle)) for each in (first, second)]
        assert [(each.code, each.again, each.state.stage) for each in outcomes] == [(None, False, "ended")] * 2
        assert [each.state.trials for each in outcomes] == [(), ()]
        assert sum(later.answers_by_item().values()) == 2
        # Neither that, nor leaving, makes the link hold again.
        with pytest.raises(LinkEnded):
            later.same(person).state()
        assert later.same(person).withdraw().stage == "ended"
        assert later.one("SELECT count(*) FROM annotators WHERE withdrawn_at IS NOT NULL") == 1


def test_no_clock_that_is_set_ends_a_link(tmp_path: Path) -> None:
    with running_instance(
        str(tmp_path / "answers.sqlite"), replace(WEEK, people=replace(WEEK.people, entry=Entry.OPEN))
    ) as at:
        before = at.new()
        for seconds in (365 * DAY, -2 * 365 * DAY):
            at.clock.jump(seconds)
            assert before.state().stage == "trials"
            assert at.new().state().stage == "trials"


def test_the_date_of_a_link_is_signed_with_it() -> None:
    secret = new_secret()
    dated, undated = new_token(secret, 1_800_000_000_123), new_token(secret)
    assert (made_at(dated), made_at(undated)) == (1_800_000_000_123, None)
    assert is_signed(dated, secret)
    # Neither a date taken out, nor one put in, nor another one.
    other = new_token(secret, 1_900_000_000_123)
    assert not any(
        is_signed(wrong, secret)
        for wrong in (
            dated[:12] + dated[20:],
            undated[:12] + dated[12:20] + undated[12:],
            dated[:12] + other[12:20] + dated[20:],
        )
    )
