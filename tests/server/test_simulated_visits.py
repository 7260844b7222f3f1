"""Simulated annotators go through a study as people do, and the summary says what the server saw."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from study_stub import StudyStub

from sfumato import SoftLabels
from sfumato.elicitation.kinds import KINDS, kind_of
from sfumato.elicitation.simulated_annotator import SimulatedAnnotator, Truth, drawn_annotators
from sfumato.server import simulated_visits
from sfumato.server.simulated_visits import Summary, simulate
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import ComprehensionQuestion, ItemSource, Question, Study, StudyClass
from sfumato.tables.errors import BadSetting, InvalidAnswer, NoReply

CLASSES = ("cat", "dog", "ship")
ITEMS = [Item(f"item-{n}", picture=Path(f"{n}.png"), given=CLASSES[n % 3]) for n in range(24)]
TRUTH = Truth.built_in(CLASSES, ITEMS)
QUESTIONS = (ComprehensionQuestion("Sure?", ("yes", "no"), "yes"),)


def study(kind: str = "choice", comprehension: tuple[ComprehensionQuestion, ...] = ()) -> Study:
    return Study("s", "S", tuple(map(StudyClass, CLASSES)), ItemSource(), Question(kind), comprehension=comprehension)


def stub_for(asked: Study, n_trials: int = 6) -> StudyStub:
    kind = kind_of(asked)
    stimuli = kind.stimuli(ITEMS, asked)[:n_trials]
    return StudyStub(
        lambda number: stimuli,
        lambda raw, stimulus: kind.parse(raw, stimulus, asked),
        tuple(each.answer for each in asked.comprehension) or None,
        CLASSES,
    )


def run(stub: StudyStub, asked: Study, annotators: Any = 5, seed: int = 3, **settings: Any) -> Summary:
    if isinstance(annotators, int):
        annotators = [SimulatedAnnotator(skill=1.0)] * annotators
    rng = np.random.default_rng(seed)
    return simulate(stub.url, asked, annotators, TRUTH, stub.stimuli.get, rng, **({"deadline": 20} | settings))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_answered_to_the_end(kind: type) -> None:
    asked = study(kind.name, QUESTIONS)
    with stub_for(asked) as stub:
        people = drawn_annotators(6, 3, np.random.default_rng(3), careless=0)
        summary = run(stub, asked, people, concurrency=3)
    assert summary.ended == {"finished": 6}
    assert (summary.n_sent, summary.n_acknowledged, summary.refused) == (36, 36, {})
    assert len(stub.stored) == 36 == len({(token, sent["trial"]) for (token, _), sent in stub.stored.items()})
    assert len(summary.latencies) == 36
    assert 0 < summary.latency_ms(50) <= summary.latency_ms(99) <= 1000 * summary.seconds
    assert summary.answers_per_second == pytest.approx(36 / summary.seconds)


def test_what_is_recorded_could_be_a_persons() -> None:
    import msgspec

    from sfumato.store.interaction_record import InteractionRecord

    with stub_for(study()) as stub:
        run(stub, study(), [SimulatedAnnotator(median_seconds=5.0)] * 30)
    records = [msgspec.convert(sent["record"], InteractionRecord) for sent in stub.stored.values()]
    assert np.median([record.seconds() for record in records]) == pytest.approx(6, rel=0.3)
    # In the order of the page, which the stub turns round, and not in that of the study.
    assert {record.order for record in records} == {("ship", "dog", "cat")}
    assert {record.pointer for record in records} == {"mouse", "touch"}


def test_answers_follow_the_truth() -> None:
    with stub_for(study(), n_trials=12) as stub:
        run(stub, study(), [SimulatedAnnotator(skill=1.0, overconfidence=50.0)] * 4)
    for sent in stub.stored.values():
        assert sent["payload"].chosen == CLASSES[int(stub.stimuli[sent["trial"]].item.removeprefix("item-")) % 3]


def test_the_same_seed_gives_the_same_answers_for_any_assignment() -> None:
    tokens = [f"person-{n}" for n in range(8)]
    people = drawn_annotators(8, 3, np.random.default_rng(1))
    given = []
    for at_once, seed, step in ((1, 3, 1), (8, 3, -1), (1, 4, 1)):
        with StudyStub(lambda number, step=step: [Stimulus(item.id) for item in ITEMS[::step]]) as stub:
            run(stub, study("tokens"), people, seed=seed, concurrency=at_once, tokens=tokens)
        given.append(
            {(token, stub.stimuli[sent["trial"]].item): sent["answer"] for (token, _), sent in stub.stored.items()}
        )
    assert given[0] == given[1] != given[2]
    assert list(given[0]) == list(given[2]) != list(given[1])


def test_a_repeated_item_gets_a_new_answer() -> None:
    with StudyStub(lambda number: [Stimulus("item-1")] * 40) as stub:
        run(stub, study(), [SimulatedAnnotator(skill=0.1)])
    assert len({str(sent["answer"]) for sent in stub.stored.values()}) > 1


def test_who_does_not_look_does_not_pass() -> None:
    asked = study(comprehension=QUESTIONS * 5)
    with stub_for(asked) as stub:
        people = [SimulatedAnnotator(attention=0.0)] * 5 + [SimulatedAnnotator()] * 5
        assert run(stub, asked, people).ended == {"excluded": 5, "finished": 5}


def test_who_drops_out_leaves_something_undone() -> None:
    with stub_for(study()) as stub:
        summary = run(stub, study(), 40, dropouts=0.5)
    done = Counter(token for token, _ in stub.stored)
    n_left = summary.ended["dropped out"]
    assert 10 < n_left < 30
    assert summary.ended["finished"] == 40 - n_left == sum(done[token] == 6 for token in stub.people)
    assert len({done[token] for token in stub.people}) > 3


def test_answers_are_sent_again_until_they_are_stored() -> None:
    with stub_for(study()) as stub:
        stub.faults = deque(["lose", "half body", "drop", "500"] * 3)
        summary = run(stub, study(), 4)
    assert summary.n_acknowledged == len(stub.stored) == 24
    assert summary.n_retries == 12 == len(stub.answers) - 24


def test_refused_answers_are_counted_by_code_and_not_sent_for_ever() -> None:
    def parse(raw: Any, stimulus: Stimulus) -> Any:
        raise InvalidAnswer("found it", expected="another", fix="none", code="invalid-answer")

    with StudyStub(lambda number: [Stimulus("item-1")], parse) as stub:
        summary = run(stub, study(), 3)
    assert summary.ended == {"stuck": 3}
    assert (summary.refused, summary.n_sent, summary.n_acknowledged) == ({"invalid-answer": 6}, 6, 0)
    assert summary.latency_ms(99) == 0


def test_a_trial_lost_to_somebody_else_is_let_go() -> None:
    with stub_for(study()) as stub:
        person = stub.person("late")

        def lose_first_trial(handle: str) -> Stimulus:
            person.trials = [each for each in person.trials if each[0] != "late-0"]
            return stub.stimuli[handle]

        rng = np.random.default_rng(3)
        summary = simulate(
            stub.url, study(), [SimulatedAnnotator()], TRUTH, lose_first_trial, rng, tokens=["late"], deadline=20
        )
    assert (summary.refused, summary.ended, summary.n_acknowledged) == ({"already-answered": 1}, {"finished": 1}, 5)


def test_waits_for_items_only_if_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_visits, "POLL_SECONDS", 0)
    for wait_seconds, ended in ((0.0, {"empty": 1}), (20.0, {"finished": 1})):
        with stub_for(study()) as stub:
            stub.empty_for = 5
            assert run(stub, study(), 1, wait_seconds=wait_seconds).ended == ended


def test_pace_takes_the_time_people_take_and_says_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(simulated_visits.asyncio, "sleep", sleep)
    with stub_for(study(), n_trials=4) as stub:
        run(stub, study(), [SimulatedAnnotator(median_seconds=500.0)], pace=2.0)
    taken = sum(sent["record"]["elapsed_ms"] for sent in stub.stored.values()) / 1000
    assert sum(slept) == pytest.approx(2 * taken, abs=0.01)
    # Ten minutes of lease: nobody is silent for more than a third of it.
    assert max(slept) <= 200
    assert sum(request.path.endswith("/pulse") for request in stub.requests) == slept.count(200)


def test_progress_is_reported_for_every_answer_and_person() -> None:
    told: list[tuple[int, int, int]] = []
    with stub_for(study()) as stub:
        run(stub, study(), 3, progress=lambda *now: told.append(now))
    assert told == sorted(told, key=lambda now: now[2])
    assert told[-1] == (3, 3, 18)
    assert len(told) == 18 + 3


def test_a_store_of_another_study_is_named() -> None:
    rng = np.random.default_rng(3)
    with stub_for(study()) as stub, pytest.raises(BadSetting, match="wrong-store"):
        simulate(stub.url, study(), [SimulatedAnnotator()], TRUTH, lambda handle: None, rng, deadline=20)


def test_no_server_is_one_error() -> None:
    with stub_for(study()) as stub:
        stub.stop()
        with pytest.raises(NoReply):
            run(stub, study(), 5, deadline=0.05)
        stub.start()


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"tokens": ["one"]}, "too-few-links"),
        ({"pace": -1}, "bad-setting"),
        ({"dropouts": 2}, "bad-setting"),
        ({"wait_seconds": float("nan")}, "bad-setting"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], code: str) -> None:
    with stub_for(study()) as stub, pytest.raises(BadSetting, match=code):
        run(stub, study(), 5, **settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of texts, asking for the top two."""
    rows = "".join(f"item-{n},Text {n}\n" for n in range(12))
    (tmp_path / "items.csv").write_text(f"item,text\n{rows}")
    (tmp_path / "study.toml").write_text(
        'title = "Pond"\nclasses = ["cat", "dog", "ship"]\n[items]\ncsv = "items.csv"\n[question]\nkind = "top_two"\n'
    )
    return tmp_path


def typed(monkeypatch: pytest.MonkeyPatch, stub: StudyStub, *arguments: object) -> str:
    """What `sfumato simulate` prints, with the stub in place of our own server and its store."""
    from sfumato.cli.simulate import command

    served: list[tuple[str, str]] = []

    @contextmanager
    def serve_study(study: Study, store: str, items: Sequence[Item], *, pace: float) -> Iterator[str]:
        served.append((study.name, store))
        yield stub.url

    @contextmanager
    def stimuli_in(store: str) -> Iterator[Any]:
        yield stub.stimuli.get

    serving = SimpleNamespace(serve_study=serve_study)
    monkeypatch.setitem(sys.modules, "sfumato.server.server", serving)
    made = lambda study, number, store: [f"new-{n}" for n in range(number)]  # noqa: E731
    monkeypatch.setattr("sfumato.elicitation.study_registration.new_links", made)
    monkeypatch.setattr(simulated_visits, "stimuli_in", stimuli_in)
    done = CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert len(served) == ("--url" not in arguments)
    return done.output


def test_the_command_starts_a_server_and_says_how_it_went(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    asked = study("top_two")
    kind = kind_of(asked)
    with StudyStub(
        lambda number: [Stimulus(f"item-{n}") for n in range(12)], lambda raw, shown: kind.parse(raw, shown, asked)
    ) as stub:
        said = typed(monkeypatch, stub, folder, "--annotators", 20, "--seed", 2)
    assert "20 annotators in " in said
    assert ": 20 finished\n240 answers stored, " in said
    assert f"{folder}/store/answers.sqlite: the answers" in said.replace("\n", "")
    assert len(stub.stored) == 240
    # A quarter are CIFAR-10S annotators, slower by far than the rest.
    slow = Counter(token for (token, _), sent in stub.stored.items() if sent["record"]["elapsed_ms"] > 25_000)
    assert 1 <= sum(n >= 6 for n in slow.values()) <= 12


def test_the_command_takes_a_truth_and_an_address(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    # Everything is a ship, so who looks says ship.
    ids = [f"item-{n}" for n in range(12)]
    SoftLabels.one_hot(ids, ["ship"] * 12, ["ship", "cat", "dog"]).write(folder / "truth.parquet")
    with StudyStub(lambda number: [Stimulus(item) for item in ids]) as stub:
        typed(monkeypatch, stub, folder, "--url", stub.url, "--truth", folder / "truth.parquet", "--annotators", 10)
    assert np.mean([sent["answer"]["first"] == "ship" for sent in stub.stored.values()]) > 0.85


@pytest.mark.parametrize("from_file", [True, False])
def test_a_study_entered_by_links_is_entered_by_links(
    monkeypatch: pytest.MonkeyPatch, folder: Path, from_file: bool
) -> None:
    with (folder / "study.toml").open("a") as file:
        file.write('[people]\nentry = "links"\n')
    (folder / "links.txt").write_text("http://127.0.0.1:1/s/one\nhttp://127.0.0.1:1/s/two/\n\nthree\n")
    options = ("--links", folder / "links.txt") if from_file else ()
    with StudyStub(lambda number: [Stimulus("item-1")]) as stub:
        typed(monkeypatch, stub, folder, "--annotators", 3, *options)
    assert {token for token, _ in stub.stored} == (
        {"one", "two", "three"} if from_file else {"new-0", "new-1", "new-2"}
    )
    assert "/join" not in [request.path for request in stub.requests]


def test_the_real_server_keeps_what_the_summary_says(folder: Path) -> None:
    import sqlite3

    from sfumato.cli.simulate import command

    done = CliRunner().invoke(command, [str(folder), "--annotators", "6", "--seed", "4"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with sqlite3.connect(folder / "store" / "answers.sqlite") as store:
        (stored,) = store.execute("SELECT count(*) FROM answers").fetchone()
    store.close()
    # Twelve items, five answers each, and everyone may answer all twelve.
    assert stored == 60
    assert "60 answers stored, " in done.output
    assert "refused" not in done.output


# --- cheats ---


@pytest.mark.parametrize(
    ("seed", "windows", "doubles"),
    [
        # The window of one person with two accounts: a common one in the first study, one of its own in the second.
        (0, 5, "double identities 0 of 2 found (0.0%); 2 more with signs"),
        (1, 9, "double identities 2 of 2 found (100.0%) same_device 2"),
    ],
)
def test_cheats_are_found_and_honest_people_are_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, windows: int, doubles: str
) -> None:
    """A small study through the real server, whose clock runs faster: `bench/cheats.py` has the large ones."""
    from sfumato.cli.simulate import command

    monkeypatch.setattr(simulated_visits, "DEVICES", windows)

    with (folder / "study.toml").open("a") as file:
        file.write(
            '[people]\nentry = "links"\nanswers_per_item = 30\n[platform]\nname = "prolific"\ncompleted = "C1"\n'
            'study = "65f0a1b2c3d4e5f6a7b8c9d0"\n'
        )
    arguments = [str(folder), "--annotators", "24", "--cheats", "--pace", "0.005", "--seed", str(seed)]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    lines = {line.split("  ")[0]: " ".join(line.split()) for line in done.output.splitlines()}
    # These five scripts send no input events.
    assert "scripts 5 of 5 found (100.0%)" in lines["scripts"]
    assert doubles in lines["double identities"]
    assert lines["borrowed accounts"] == "borrowed accounts 1 of 1 found (100.0%) refused at the entrance 1"
    assert "honest people 0 of 16 falsely excluded" in lines["honest people"]


def test_cheats_need_a_server_of_their_own(folder: Path) -> None:
    from sfumato.cli.simulate import command

    with pytest.raises(BadSetting) as caught:
        CliRunner().invoke(command, [str(folder), "--cheats", "--url", "http://127.0.0.1:1"], catch_exceptions=False)
    assert caught.value.code == "cheats-with-url"
