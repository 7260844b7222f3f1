"""What a running study says of each person's checks, repeats and pace: live, by its own rules, nothing deleted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from msgspec import structs
from study_instance import LEASE, StudyInstance, StudyPerson, items_named, plain_study, sent

from sfumato.cli import group
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.researcher_actions import erase_participant
from sfumato.labeling.answer_records import read_records
from sfumato.labeling.attention_checks import RegionCheckJudge, screen_study
from sfumato.labeling.screening_rules import IdenticalRuns, TooFast, rules_of
from sfumato.recruitment.participant_outcomes import outcomes_of
from sfumato.server.dashboard_agreement import AgreementSummary, needs_records, summarize_agreement
from sfumato.server.dashboard_cache import DashboardCache
from sfumato.store.erasure import erased_records
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.store.researcher_queries import sampled_answers
from sfumato.study import read_study
from sfumato.study.stimulus import Item
from sfumato.study.study import Check, People, Quality, Question, Region
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadStudy

CHECKS = (Check("i0", Region(("cat",), 0.9), 2), Check("i1", Region(none_on=("dog",)), 5))


def running_instance(store: str, **quality: object) -> StudyInstance:
    people = People(answers_per_item=50, batch_size=20, repeats=4, repeat_distance=8)
    study = replace(plain_study(people=people), checks=CHECKS, quality=Quality(**quality))  # type: ignore[arg-type]
    at = StudyInstance(store, study, items_named(30))
    at.running.check_judge = RegionCheckJudge(study)
    return at.start()


def seen_live(at: StudyInstance, *, every: int = 1) -> AgreementSummary:
    """As the dashboard shows it, read next to the writer."""
    engine = sa.create_engine(StoreLocation.of(at.store).url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        number, records = at.running.number, needs_records(at.study)
        rows = sampled_answers(connection, number, every=every, records=records)
        return summarize_agreement(rows, at.study, every=every, erased=erased_records(connection, number))


def answers(person: StudyPerson, *, always: str = "", ms: float = 3000) -> None:
    """Everything, as the item's number has it, or always the same."""
    n = 0
    while (state := person.state()).stage == "trials":
        item = state.trials[0].stimulus.item
        chosen = always or ("cat" if int(item[1:]) % 3 < 2 else "dog")
        assert person.submit(sent(state.trials[0].handle, chosen, elapsed_ms=ms + n)).code is None
        n += 1


def test_checks_repeats_and_pace_of_each_person_and_of_the_study(store: str) -> None:
    at = running_instance(store, rules="standard")
    steady, careless = at.new(), at.new()
    answers(steady)
    early = seen_live(at)
    assert early.people[steady.pseudonym]["repeats"] == {"n": 4, "same": 4, "moved": 0.0}
    answers(careless, always="dog", ms=200)
    for _ in range(3):
        answers(at.new())
    found = seen_live(at)
    assert found.people[steady.pseudonym]["checks"] == {"passed": 2, "failed": 0}
    assert found.people[careless.pseudonym]["checks"] == {"passed": 0, "failed": 2}
    assert "flags" not in found.people[steady.pseudonym]
    assert "median_seconds" in found.people[careless.pseudonym]["flags"]
    figures = {each["measure"]: each for each in found.all["agreement"]}
    assert figures["retest-same-class"]["value"] == 1.0
    assert figures["retest-same-class"]["n_answers"] == 5 * 4
    assert figures["retest-total-variation"]["value"] == 0.0
    # In a sample of the items all checks are counted.
    sample = seen_live(at, every=7)
    assert sample.people[careless.pseudonym]["checks"] == {"passed": 0, "failed": 2}
    assert sample.all["n_answers"] < found.all["n_answers"]
    # Nothing is deleted, and nobody stopped: what follows from a flag is decided later.
    assert at.one("SELECT count(*) FROM answers") == 5 * (20 + 4 + 2)
    assert at.one("SELECT count(*) FROM annotators WHERE excluded_at IS NOT NULL") == 0
    at.stop()


def test_inconsistent_repeats_are_flagged(store: str) -> None:
    at = running_instance(store)
    person = at.new()
    n = 0
    while (state := person.state()).stage == "trials":
        # Another class every time the item is seen again.
        again = at.one(
            "SELECT count(*) FROM answers JOIN items ON items.id = answers.item"
            f" WHERE items.item = '{state.trials[0].stimulus.item}'"
        )
        person.submit(sent(state.trials[0].handle, "dog" if again else "cat"))
        n += 1
    assert n == 26
    found = seen_live(at)
    assert found.people[person.pseudonym]["repeats"] == {"n": 4, "same": 0, "moved": 1.0}
    at.stop()


@pytest.mark.parametrize("kind", ["choice", "top_two", "plausible", "sliders", "tokens", "similarity"])
def test_flags_are_the_reasons_of_screening_for_every_question_type(kind: str, tmp_path: Path) -> None:
    """The dashboard reads the store, `sfumato screen --study` the export: same rules, same numbers."""
    study = replace(
        plain_study(people=People(answers_per_item=50, batch_size=16, repeats=4)),
        question=Question(kind),
        checks=CHECKS if kind != "similarity" else (),
    )
    asked = kinds_of(study)[0]
    at = StudyInstance(str(tmp_path / "a.sqlite"), study, asked.stimuli([Item(f"i{n}") for n in range(24)], study))
    at.running.check_judge = RegionCheckJudge(study)
    at.start()
    rng = np.random.default_rng(2)
    for number in range(6):
        person = at.new()
        while (state := person.state()).stage == "trials":
            shown = state.trials[0]
            # Few distinct beliefs, so that some classes are tied.
            beliefs = [(1 - p, p) for p in rng.integers(3, size=1 + len(shown.stimulus.others)) / 2]
            raw = asked.simulate(beliefs, shown.stimulus, study, rng)
            answer = structs.replace(sent(shown.handle, elapsed_ms=4000 if number else 300), answer=raw)
            assert person.submit(answer).code is None
    live = seen_live(at).people
    at.stop()
    export(StoreLocation.of(at.store), study.name, tmp_path / "a.parquet")
    found = screen_study(study, Annotations.read(tmp_path / "a.parquet"))
    assert any(found.reasons)
    for i, name in enumerate(found.annotators.to_pylist()):
        mine = live.get(name, {})
        assert "; ".join(mine.get("flags", [])) == found.reasons[i]
        if kind != "similarity":
            assert mine["checks"]["passed"] / 2 == found.findings["checks_passed"][i]
            assert 1 - mine["repeats"]["same"] / mine["repeats"]["n"] == found.findings["repeats_changed"][i]


def test_people_who_left_before_the_study_was_full_have_finished(tmp_path: Path) -> None:
    """The dashboard showed them as away, and `study reconcile` as finished."""
    study = plain_study(people=People(answers_per_item=2, batch_size=4))
    at = StudyInstance(str(tmp_path / "a.sqlite"), study, items_named(4)).start()
    first, second, third = (at.new() for _ in range(3))
    # The second holds the last items when the first asks for more, and the first leaves.
    for _ in range(3):
        first.answer()
    for person in (second, third):
        person.answer_all(limit=2)
    at.clock.advance(2 * LEASE)
    while any(person.state().stage == "trials" for person in (second, third)):
        for person in (second, third):
            if person.state().stage == "trials":
                person.answer()
    cache = DashboardCache(StoreLocation.of(at.store), study, at.running.number, at.clock.now)
    shown = json.loads(cache.figures()["people"])["rows"]
    cache.close()
    found = {each.annotator: each.outcome for each in outcomes_of(StoreLocation.of(at.store), study).people}
    at.stop()
    assert found[first.pseudonym] == "finished"
    assert {each["name"]: each["state"] for each in shown} == found


def test_flags_and_signs_of_rules_that_need_records_are_those_of_screening(tmp_path: Path) -> None:
    """The dashboard found nothing by these rules, and `sfumato screen --records` did."""
    people = People(answers_per_item=50, batch_size=8)
    study = replace(plain_study(people=people), quality=Quality(rules="paid"))
    at = StudyInstance(str(tmp_path / "a.sqlite"), study, items_named(24)).start()
    everybody = [at.new() for _ in range(13)]
    for number, person in enumerate(everybody):
        # Eight people come from one network, of whom one is erased; the last never presses a key.
        network = "campus" if number < 8 else f"net {number}"
        at.run(lambda running, person=person, network=network: running.sessions.open_link(person.token, None, network))
        events = [] if number == 12 else [(20.0, "click", "answer", None)]
        while (state := person.state()).stage == "trials":
            shown = state.trials[0]
            answer = sent(shown.handle, "cat" if int(shown.stimulus.item[1:]) % 3 else "dog", elapsed_ms=900 + number)
            record = structs.replace(answer.record, events=events, viewport=(1000.0 + number // 2, 700.0, 1.0))
            at.clock.advance(2)
            assert person.submit(structs.replace(answer, record=record)).code is None
    at.run(lambda running: erase_participant(running, "test", pseudonym=everybody[3].pseudonym))
    live = seen_live(at).people
    at.stop()
    files = tmp_path / "a.parquet", tmp_path / "r.parquet"
    export(StoreLocation.of(at.store), study.name, *files)
    table = Annotations.read(files[0])
    found = screen_study(study, table, records=read_records(files[1], table), must_apply=False)
    reasons, signs = set(filter(None, found.reasons)), set(filter(None, found.signs))
    assert any("without_input" in each for each in reasons)
    assert signs == {"same_network", "same_device; same_network"}
    for name, why, sign in zip(found.annotators.to_pylist(), found.reasons, found.signs, strict=True):
        mine = live.get(name, {})
        assert ("; ".join(mine.get("flags", [])), "; ".join(mine.get("signs", []))) == (why, sign)


@pytest.mark.parametrize("command", [("study", "check"), ("serve",)])
def test_rules_that_there_are_not_are_a_mistake_in_the_file(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "items.csv").write_text("item,text\na,one\nb,two\n")
    text = 'title = "Pets"\nclasses = ["cat", "dog"]\nitems = { csv = "items.csv" }\n[quality]\nrules = "strict"\n'
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(BadStudy, match=r"study.toml:5:quality.rules .*one of standard") as caught:
        CliRunner().invoke(group, [*command, str(tmp_path)], catch_exceptions=False)
    assert caught.value.mistakes[0].code == "unknown-rule-set"


OWN_RULES = """title = "Pets"
classes = ["cat", "dog"]
items = { csv = "items.csv" }
[quality.rules]
median_seconds = { crowd = 0.01, own = 0 }
longest_run = { at_most = 19 }
"""


def written(folder: Path, text: str = OWN_RULES) -> Path:
    (folder / "items.csv").write_text("item,text\na,one\nb,two\n")
    (folder / "study.toml").write_text(text)
    return folder


def test_a_study_has_rules_with_numbers_of_its_own(tmp_path: Path) -> None:
    quality = read_study(written(tmp_path)).quality
    assert rules_of(quality.rules) == (TooFast(crowd=0.01, own=0.0), IdenticalRuns(at_most=19))
    # In half a second what takes others two is too fast by the usual rule, and not by this one.
    found = {}
    for name, rules in (("usual", "standard"), ("own", quality.rules)):
        at = running_instance(str(tmp_path / f"{name}.sqlite"), rules=rules)
        people = [at.new() for _ in range(3)]
        for person, ms in zip(people, (2000, 2000, 500), strict=True):
            answers(person, ms=ms)
        found[name] = seen_live(at).people[people[-1].pseudonym].get("flags")
        at.stop()
    assert found == {"usual": ["median_seconds"], "own": None}


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("median_seconds", "median_second", 5, r"quality.rules.median_second .*did you mean 'median_seconds'"),
        ("crowd", "crowds", 5, r"quality.rules.median_seconds .*the setting crowds"),
        ("own = 0", "own = 2", 5, r"quality.rules.median_seconds .*own = 2"),
        ("= 19", '= "many"', 6, r"quality.rules.longest_run.at_most .*a number"),
        ("{ at_most = 19 }", "19", 6, r"quality.rules.longest_run .*a table"),
    ],
)
def test_a_mistake_in_a_rule_has_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    assert OWN_RULES.count(old) == 1
    with pytest.raises(BadStudy, match=rf"study.toml:{line}:{said}"):
        CliRunner().invoke(
            group, ["study", "check", str(written(tmp_path, OWN_RULES.replace(old, new)))], catch_exceptions=False
        )
