"""Paid strangers with something to gain: pay without work, somebody else's session, a second turn, the right answers.

Each test does what an attacker did, over HTTP as everybody can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from picture_study import write_picture_study
from platform_stub import PlatformStub
from platform_study import (
    CODES,
    Browser,
    arrives,
    assignment_id,
    comes,
    door,
    hex_id,
    mturk,
    prolific,
    through,
    worker_id,
    write_platform_study,
)
from site_client import AskedSite, Visit, asked_site

from sfumato.elicitation.researcher_actions import erase_participant, set_paused
from sfumato.recruitment.payment_inputs import PaymentSources, pay, reconcile
from sfumato.store.schema import items
from sfumato.tables.errors import BadSetting

HTML = {"accept": "text/html"}
FULL = {**CODES, "full": "FULL-4"}


def write_small(folder: Path, platform: str = "prolific", *, codes: dict[str, str] = CODES, **changed: str) -> Path:
    """A study that one person fills: seven items, one answer each. `changed` replaces lines of the file."""
    write_platform_study(folder, platform, codes=codes)
    file = folder / "study.toml"
    text = file.read_text().replace("answers_per_item = 97\nbatch_size = 4", "answers_per_item = 1\nbatch_size = 7")
    for old, new in changed.items():
        text = text.replace(old, new)
    file.write_text(text)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Iterator[AskedSite]:
    with asked_site(write_small(tmp_path / "pets")) as asked:
        yield asked


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    """A study that stays open."""
    with asked_site(write_platform_study(tmp_path_factory.mktemp("large"))) as asked:
        yield asked


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_platform_study(tmp_path_factory.mktemp("framed"), "mturk")) as asked:
        yield asked


def fill(asked: AskedSite) -> Visit:
    """The one person who gives all answers."""
    visit = through(arrives(asked, prolific(hex_id("first"), hex_id("first visit"))))
    assert visit.state()["stage"] == "finished"
    return visit


def owed(asked: AskedSite, sources: PaymentSources | None = None) -> list[str]:
    """The pseudonyms of people whose base pay is listed."""
    listed = pay(asked.site.place, asked.study, sources or PaymentSources())
    return [each.annotator for each in listed.payments if each.reason == "base"]


def confirm_all(asked: AskedSite, path: Path) -> PaymentSources:
    """The platform's list, in which everybody who is stored submitted with the completion code."""
    rows = [
        f"{json.loads(row['refs'])['session']},{row['person']},AWAITING REVIEW,DONE-1"
        for row in asked.stored("platform_ids")
    ]
    path.write_text("\n".join(["Submission id,Participant id,Status,Completion code", *rows]) + "\n")
    return PaymentSources(path)


def attempt_everything(visit: Visit) -> dict[str, Any]:
    """Go through all steps and answer whatever is offered; returns the last state."""
    for step in ("consent", "instructions"):
        visit.step(step)
    visit.comprehension(["yes", "2"])
    while (state := visit.state())["stage"] == "trials":
        visit.submit(visit.body({"class": "cat"}, trial=state["trials"][0]["trial"]))
    return state


# A full, paused or ended study pays for nothing.


def test_a_full_study_gives_no_code_and_owes_nothing(small: AskedSite, tmp_path: Path) -> None:
    fill(small)
    before = small.rows()
    for number in range(5):
        reply = comes(small, prolific(hex_id(f"late {number}"), hex_id(f"late visit {number}")), **HTML)
        if reply.status == 303:  # let in: take whatever can be had
            token = (reply.header("location") or "").removeprefix("/s/")
            state = attempt_everything(Visit(small.client, token))
            assert CODES["completed"] not in json.dumps(state)
        assert (reply.status, "DONE-1" in reply.text) == (409, False)
        assert "OUT-2" in reply.text  # the way back for people who were not needed
    assert small.rows() == before
    assert len(owed(small, confirm_all(small, tmp_path / "list.csv"))) == 1


def test_a_full_study_has_its_own_way_back(tmp_path: Path) -> None:
    with asked_site(write_small(tmp_path / "pets", codes=FULL)) as asked:
        fill(asked)
        reply = comes(asked, prolific(hex_id("late")), **HTML)
        assert "submissions/complete?cc=FULL-4" in reply.text
        assert "Do you agree?" not in reply.text
    with asked_site(write_small(tmp_path / "without", codes={"completed": "DONE-1"})) as asked:
        fill(asked)
        reply = comes(asked, prolific(hex_id("late")), **HTML)
        assert "return your submission on Prolific" in reply.text
        assert "submissions/complete" not in reply.text


def test_who_was_let_in_before_the_study_was_full_gets_no_code_for_practice(small: AskedSite, tmp_path: Path) -> None:
    """They consent while there is room, and it fills before their first item."""
    late = through(arrives(small, prolific(hex_id("late"), hex_id("late visit"))), until=1)  # practice alone
    assert late.state()["answered"] == 0
    small.site.writer.run(lambda running: [running.lease_book.release(each) for each in list(running.state.leases)])
    fill(small)
    state = attempt_everything(late)
    assert (state["stage"], state["back"]["code"]) == ("full", "OUT-2")
    assert "DONE-1" not in json.dumps(state)
    sources = confirm_all(small, tmp_path / "list.csv")
    assert len(owed(small, sources)) == 1
    # They hand in the code all the same: somebody passed it on.
    (case,) = [case for case in reconcile(small.site.place, small.study, sources).cases if case.outcome == "study full"]
    assert (case.pay, case.mismatches) == ("no", "submitted-not-finished")


def test_who_did_some_of_it_before_the_study_was_full_is_paid_for_the_batch(tmp_path: Path) -> None:
    with asked_site(write_small(tmp_path / "pets")) as asked:
        half = through(arrives(asked, prolific(hex_id("half"), hex_id("half visit"))), until=3)
        asked.site.writer.run(lambda running: [running.lease_book.release(each) for each in list(running.state.leases)])
        rest = through(arrives(asked, prolific(hex_id("rest"), hex_id("rest visit"))))
        assert [visit.state()["stage"] for visit in (half, rest)] == ["finished"] * 2
        listed = pay(asked.site.place, asked.study, confirm_all(asked, tmp_path / "list.csv"))
        assert [(each.reason, each.amount) for each in listed.payments] == [("base", 2.5)] * 2


def test_who_left_before_the_study_was_full_is_paid_without_reopening_the_page(tmp_path: Path) -> None:
    with asked_site(write_small(tmp_path / "pets")) as asked:
        through(arrives(asked, prolific(hex_id("half"), hex_id("half visit"))), until=3)
        asked.site.writer.run(lambda running: [running.lease_book.release(each) for each in list(running.state.leases)])
        sources = confirm_all(asked, tmp_path / "list.csv")
        # Other items still need answers: they could continue.
        assert [case.outcome for case in reconcile(asked.site.place, asked.study, sources).cases] == ["under way"]
        through(arrives(asked, prolific(hex_id("rest"), hex_id("rest visit"))))
        sources = confirm_all(asked, tmp_path / "list.csv")
        cases = reconcile(asked.site.place, asked.study, sources).cases
        assert [(case.outcome, case.pay) for case in cases] == [("finished", "yes")] * 2
        listed = pay(asked.site.place, asked.study, sources)
        assert [(each.reason, each.amount, each.due) for each in listed.payments] == [("base", 2.5, "yes")] * 2

        # An item that needs more answers gives them something to do only if they have not answered it.
        first, *_, last = [row for row in asked.stored() if row["purpose"] == "label"]
        for row, outcome in ((first, "finished"), (last, "under way")):
            more = sa.update(items).where(items.c.id == row["item"]).values(quota=2)
            asked.site.writer.run(lambda running, more=more: running.connection().execute(more) and None)
            assert reconcile(asked.site.place, asked.study, sources).cases[0].outcome == outcome


def test_a_stored_completion_without_answers_that_count_is_not_paid(small: AskedSite, tmp_path: Path) -> None:
    """As an earlier version stored it."""
    late = through(arrives(small, prolific(hex_id("late"), hex_id("late visit"))), until=1)
    hashed = small.stored("annotators")[0]["token_hash"]
    small.site.writer.run(
        lambda running: running.sessions._set(running.sessions._participant(hashed), finished_at=1, code="DONE-1")
    )
    assert owed(small, confirm_all(small, tmp_path / "list.csv")) == []
    assert late.state()["stage"] == "trials"


def test_people_erased_with_their_answers_are_owed_nothing_and_come_back_for_nothing(
    small: AskedSite, tmp_path: Path
) -> None:
    browser = Browser(small)
    through(browser.arrives(prolific(hex_id("first"), hex_id("first visit"))))
    name = small.stored("annotators")[0]["pseudonym"]
    small.site.writer.run(lambda running: erase_participant(running, "test", pseudonym=name, answers=True))
    assert owed(small, confirm_all(small, tmp_path / "list.csv")) == []
    for again in (browser, Browser(small)):
        reply = again.comes(prolific(hex_id("first"), hex_id("second visit")), **HTML)
        assert reply.status == 409
        assert "already taken part" in reply.text
        # Nobody need have asked for it: `--expired` erases too. And answers are kept.
        assert "Your id and your link were deleted." in reply.text
    # Their answers count no more: the items are open for others, who are paid.
    assert small.stored("platform_ids") == []
    other = through(arrives(small, prolific(hex_id("other"), hex_id("other visit"))))
    assert other.state()["stage"] == "finished"
    assert len(owed(small, confirm_all(small, tmp_path / "list.csv"))) == 1


@pytest.mark.parametrize("entry", ["open", "links"])
def test_a_full_or_paused_study_says_so_at_every_door(tmp_path: Path, entry: str) -> None:
    from sfumato.elicitation.study_registration import new_links

    folder = write_picture_study(tmp_path / "pets", entry=entry)
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("answers_per_item = 97", "answers_per_item = 1").replace("= 4", "= 7"))
    with asked_site(folder) as asked:
        tokens = new_links(asked.study, 3)

        def new() -> str:
            """What somebody new finds."""
            if entry == "open":
                reply = asked.client.send("POST", "/join", headers=HTML)
            else:
                reply = asked.client.get(f"/s/{tokens.pop()}", HTML)
            assert (reply.status, "Do you agree?" in reply.text) == (409, False)
            return reply.text

        before = asked.rows()["annotators"]
        asked.site.writer.run(lambda running: set_paused(running, True, "test"))
        assert "paused" in new()
        assert asked.rows()["annotators"] == before
        asked.site.writer.run(lambda running: set_paused(running, False, "test"))
        token = tokens.pop()
        first = asked.join() if entry == "open" else Visit(asked.client, token)
        asked.client.get(first.base)
        attempt_everything(first)
        assert "No more answers are needed" in new()
        assert "No more answers are needed" in asked.client.get("/").text or entry == "links"


def test_a_paused_study_is_paused_before_consent(large: AskedSite) -> None:
    visit = arrives(large, prolific(hex_id("patient"), hex_id("patient visit")))
    large.site.writer.run(lambda running: set_paused(running, True, "test"))
    try:
        assert visit.state()["stage"] == "paused"
        reply = comes(large, prolific(hex_id("newcomer"), hex_id("newcomer visit")), **HTML)
        assert (reply.status, "paused" in reply.text) == (409, True)
    finally:
        large.site.writer.run(lambda running: set_paused(running, False, "test"))
    assert visit.state()["stage"] == "consent"


# A platform id is not a password.


def test_somebody_elses_id_does_not_open_their_session(large: AskedSite) -> None:
    victim = Browser(large)
    query = prolific(hex_id("victim"), hex_id("victim visit"))
    visit = through(victim.arrives(query), until=3)
    large.client.get(visit.base)
    before = large.rows()
    for stolen in (query, prolific(hex_id("victim"), hex_id("another visit"))):
        reply = comes(large, stolen, **HTML)
        if reply.status == 303:
            thief = Visit(large.client, (reply.header("location") or "").removeprefix("/s/"))
            assert thief.state()["answered"] == 0, "somebody else's session"
        assert (reply.status, "/s/" in reply.text) == (409, False)
        assert "link you saved" in reply.text
    assert large.rows() == before
    # The person goes on: in the same browser, or by the link.
    assert victim.arrives(query).state()["answered"] == visit.state()["answered"] == 2


def test_the_link_does_not_follow_from_the_id(tmp_path: Path) -> None:
    places = []
    for name in ("one", "two"):
        with asked_site(write_platform_study(tmp_path / name)) as asked:
            first = Browser(asked).arrives(prolific())
            places.append(first.token)
            # Also within a study: two arrivals whose first page was never shown.
            places.append(Browser(asked).arrives(prolific()).token)
            assert len(asked.stored("annotators")) == 1
    assert len(set(places)) == 4


def test_a_victims_form_does_not_post_another_assignment(framed: AskedSite) -> None:
    victim = Browser(framed, "mturk")
    visit = through(victim.arrives(mturk(worker_id("victim"), assignment_id("own"))), until=2)
    framed.client.get(visit.base)
    comes(framed, mturk(worker_id("victim"), assignment_id("attacker's")), "mturk")
    state = through(visit).state()
    assert state["back"]["fields"]["assignmentId"] == assignment_id("own")


def test_a_visit_after_the_end_hands_in_nothing_a_second_time(framed: AskedSite) -> None:
    """Somebody accepts another assignment of the same HIT after they have finished."""
    browser = Browser(framed, "mturk")
    first = through(browser.arrives(mturk(worker_id("twice"), assignment_id("first"))))
    again = browser.arrives(mturk(worker_id("twice"), assignment_id("second")))
    assert first.state()["back"]["fields"]["assignmentId"] == assignment_id("first")
    assert again.state()["back"]["fields"]["assignmentId"] == assignment_id("first")
    (row,) = [row for row in framed.stored("platform_ids") if row["person"] == worker_id("twice")]
    assert assignment_id("second") in row["refs"]  # listed: reconciliation reports several visits


@pytest.mark.parametrize(
    "query",
    [
        prolific("madeup0001"),
        prolific(hex_id("a").upper()),
        prolific(hex_id("a") + "0"),
        prolific(session="session1"),
        prolific(study="study1"),
        prolific(hex_id("a")[:-1] + "g"),
    ],
)
def test_ids_of_the_wrong_form_are_refused(large: AskedSite, query: str) -> None:
    before = large.rows()
    assert comes(large, query).status == 404
    assert large.rows() == before


@pytest.mark.parametrize(
    "query",
    [
        mturk("WORKER1"),
        mturk("B" + worker_id("x")[1:]),
        mturk(worker_id("x").lower()),
        mturk(session="ASSIGNMENT1"),
        mturk(study="HIT1"),
        mturk(session=assignment_id("x").lower()),
    ],
)
def test_ids_of_the_wrong_form_are_refused_in_the_frame(framed: AskedSite, query: str) -> None:
    before = framed.rows()
    assert comes(framed, query, "mturk").status == 404
    assert framed.rows() == before


def test_invented_ids_get_nothing_to_answer_where_the_platform_can_be_asked(
    small: AskedSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with PlatformStub() as stub:
        stub.add(hex_id("real"), hex_id("real visit"), "ACTIVE", study=hex_id("study1"))
        for name, value in stub.environment.items():
            monkeypatch.setenv(name, value)
        invented = [(hex_id(f"pid {n}"), hex_id(f"ses {n}")) for n in range(10)]
        for ids in invented:
            state = attempt_everything(arrives(small, prolific(*ids)))
            assert (state["stage"], "back" in state) == ("refused", False)
        # A real person's id with an invented visit is no better.
        assert attempt_everything(arrives(small, prolific(hex_id("other"), hex_id("x"))))["stage"] == "refused"
        assert small.stored() == []
        assert attempt_everything(arrives(small, prolific(hex_id("real"), hex_id("real visit"))))["stage"] == "finished"
    cases = reconcile(small.site.place, small.study, PaymentSources()).cases
    assert [case.pay for case in cases] == ["no"] * 11 + ["yes"]


def test_invented_ids_are_not_paid_where_nobody_was_asked(small: AskedSite, tmp_path: Path) -> None:
    fill(small)
    assert owed(small) == []
    (case,) = reconcile(small.site.place, small.study, PaymentSources()).cases
    assert (case.pay, case.mismatches) == ("confirm", "not-confirmed")
    empty = tmp_path / "empty.csv"
    empty.write_text("Submission id,Participant id,Status,Completion code\na,b,APPROVED,DONE-1\n")
    assert owed(small, PaymentSources(empty)) == []
    assert len(owed(small, confirm_all(small, tmp_path / "list.csv"))) == 1


def test_a_platform_that_is_down_loses_nothing_and_confirms_nothing(
    small: AskedSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sfumato.recruitment.platform_api.FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setenv("SFUMATO_PROLIFIC_TOKEN", "t")
    monkeypatch.setenv("SFUMATO_PROLIFIC_API", "http://127.0.0.1:9")
    visit = arrives(small, prolific(hex_id("first"), hex_id("first visit")))
    assert visit.state()["stage"] == "checking"
    assert visit.step("consent").json["stage"] == "checking"
    monkeypatch.setattr("sfumato.elicitation.session.CHECK_MS", 0)
    assert visit.state()["stage"] == "consent"
    assert attempt_everything(visit)["stage"] == "finished"
    assert len(small.stored()) == 8
    assert owed(small) == []
    assert len(owed(small, confirm_all(small, tmp_path / "list.csv"))) == 1


def test_the_researcher_gives_a_new_link_to_the_same_session(large: AskedSite) -> None:
    from click.testing import CliRunner

    from sfumato.cli import group

    visit = through(arrives(large, prolific(hex_id("forgetful"), hex_id("forgetful visit"))), until=3)
    name = large.stored("annotators")[-1]["pseudonym"]
    shown = CliRunner().invoke(group, ["study", "links", str(large.study.path), "--for", name])
    assert shown.exit_code == 0, shown.output
    by_id = ["study", "links", str(large.study.path), "--platform-id", hex_id("forgetful")]
    other = CliRunner().invoke(group, by_id).output.strip().rpartition("/s/")[2]
    assert large.client.get(f"/s/{other}").status == 200
    assert Visit(large.client, other).state()["answered"] == visit.state()["answered"] == 2
    unknown = CliRunner().invoke(group, [*by_id[:-1], hex_id("nobody")])
    assert getattr(unknown.exception, "code", "") == "unknown-person"
    assert hex_id("nobody") not in str(unknown.exception)
    assert isinstance(CliRunner().invoke(group, [*by_id, "--for", name]).exception, BadSetting)
    token = shown.output.strip().rpartition("/s/")[2]
    assert token != visit.token
    assert name not in token
    n_people = len(large.stored("annotators"))
    assert large.client.get(f"/s/{token}").status == 200
    again = Visit(large.client, token)
    assert again.state()["trials"][0]["trial"] == visit.state()["trials"][0]["trial"]
    picture = again.state()["trials"][0]["pictures"][0]
    assert large.client.get(picture).status == 200
    assert len(large.stored("annotators")) == n_people
    wrong = CliRunner().invoke(group, ["study", "links", str(large.study.path), "--for", "Anobody"])
    assert "no participant called" in str(wrong.exception)
    assert large.client.get(f"/s/{token[:-2]}AA").status == 404


# One turn each, whatever they did before.


def test_nobody_gets_a_second_turn_in_another_browser(large: AskedSite) -> None:
    """Screened out, withdrawn, declined: the id opens nothing in a new browser, and the old one shows what it was."""
    browsers = {name: Browser(large) for name in ("screened", "withdrew", "declined")}
    ids = {name: prolific(hex_id(name), hex_id(f"{name} visit")) for name in browsers}
    visits = {name: browser.arrives(ids[name]) for name, browser in browsers.items()}
    for visit in visits.values():
        large.client.get(visit.base)
    for name in ("screened", "withdrew"):
        visits[name].step("consent")
        visits[name].step("instructions")
    for _ in range(2):
        visits["screened"].comprehension(["no", "1"])
    visits["withdrew"].step("withdraw")
    stages = {"screened": "excluded", "withdrew": "withdrawn", "declined": "consent"}
    n_people = len(large.stored("annotators"))
    for name, stage in stages.items():
        assert comes(large, ids[name]).status == 409
        again = browsers[name].arrives(prolific(hex_id(name), hex_id(f"{name} later")))
        assert again.state()["stage"] == stage
        assert "DONE-1" not in json.dumps(again.state())
    assert len(large.stored("annotators")) == n_people


def test_looking_ahead_makes_no_annotators(large: AskedSite) -> None:
    from sfumato.elicitation.study_registration import new_links

    (token,) = new_links(large.study, 1)
    before = large.rows()
    for target in (f"{door(large)}?{prolific(hex_id('ahead'), hex_id('ahead visit'))}", f"/s/{token}"):
        assert large.client.send("HEAD", target).status < 400
        for header in ({"sec-purpose": "prefetch;prerender"}, {"purpose": "prefetch"}, {"sec-purpose": "prefetch"}):
            assert large.client.get(target, header).status < 400
    assert large.rows() == before


# No hints for scripts.


def test_the_reply_to_wrong_answers_does_not_say_which_were_wrong(large: AskedSite) -> None:
    replies = []
    for number, given in enumerate((["no", "2"], ["yes", "1"], ["no", "1"])):
        visit = arrives(large, prolific(hex_id(f"guess {number}"), hex_id(f"guess visit {number}")))
        visit.step("consent")
        visit.step("instructions")
        replies.append(visit.comprehension(given).json)
    assert replies[0] == replies[1] == replies[2]
    assert replies[0]["attempts_left"] == 1


def test_choices_are_in_another_order_for_each_person(large: AskedSite) -> None:
    orders = set()
    for number in range(12):
        visit = arrives(large, prolific(hex_id(f"order {number}"), hex_id(f"order visit {number}")))
        page = large.client.get(visit.base).text
        config = json.loads(page.split('id="config">')[1].split("</script>")[0])
        asked = config.get("comprehension") or config["study"]["comprehension"]
        assert [sorted(each["choices"]) for each in asked] == [["no", "yes"], ["1", "2"]]
        orders.add(tuple(asked[0]["choices"]))
    assert len(orders) == 2


def test_nothing_that_counts_is_offered_before_practice_is_over(large: AskedSite) -> None:
    visit = arrives(large, prolific(hex_id("eager"), hex_id("eager visit")))
    visit.step("consent")
    visit.step("instructions")
    state = visit.comprehension(["yes", "2"]).json
    assert [trial["practice"] for trial in state["trials"]] == [True]
    reply = visit.submit(visit.body({"class": "cat"}, trial=state["trials"][0]["trial"]))
    assert not any(trial["practice"] for trial in reply.json["state"]["trials"])
    assert large.stored()[-1]["purpose"] == "practice"


# What is stated is what is paid.


def test_the_pages_state_the_pay_of_everything_and_of_a_part(tmp_path: Path) -> None:
    changed = {"answers_per_item = 1\nbatch_size = 7": "answers_per_item = 9\nbatch_size = 2\nbatches = 3"}
    changed |= {"amount = 2.5": "amount = 0.6", "minutes = 8": "minutes = 2"}
    with asked_site(write_small(tmp_path / "pets", "mturk", **changed)) as asked:
        preview = asked.client.get(f"{door(asked, 'mturk')}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE").text
        visit = through(arrives(asked, mturk(), "mturk"))
        for text in (asked.client.get(visit.base).text, preview):
            assert "EUR 1.80 for about 6 minutes: EUR 0.60 for each of 3 parts of 2 questions" in text
        path = tmp_path / "batch.csv"
        path.write_text(
            "WorkerId,AssignmentId,AssignmentStatus,Answer.code\n"
            f"{worker_id('worker1')},{assignment_id('assignment1')},Submitted,DONE-1\n"
        )
        listed = pay(asked.site.place, asked.study, PaymentSources(path))
        assert [(each.reason, each.amount) for each in listed.payments] == [("base", 1.8)]
