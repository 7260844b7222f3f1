"""The figures of the researcher's page: equal to the library's on the same store, and to what one counts by hand."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from filled_store import fill
from picture_study import write_picture_study
from researcher import Researcher, recompute
from site_client import AskedSite, Visit, asked_site
from study_server import write_texts_study

from sfumato.cli import group
from sfumato.elicitation.researcher_actions import erase_participant
from sfumato.labeling import TokensLabeler
from sfumato.labeling.agreement import agreement
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.collection import _facts
from sfumato.server import dashboard_cache
from sfumato.server.dashboard_cache import CacheProcess, DashboardCache
from sfumato.server.dashboard_counts import (
    AWAY_MS,
    TIMES_KEPT,
    AnnotatorCounts,
    AnswerCounts,
    answers_of_items,
    cost,
    progress,
    times,
)
from sfumato.server.server import open_site
from sfumato.store import researcher_queries
from sfumato.store.export import export
from sfumato.study import read_study
from sfumato.tables.annotations import Annotations

CLASSES = ("cat", "dog", "ship")
STUDY = """\
title = "Texts"
name = "texts"
classes = ["cat", "dog", "ship"]
[items]
csv = "texts.csv"
{question}
[people]
answers_per_item = 6
batch_size = 5
repeats = 2
{more}
[pay]
amount = 2.0
currency = "GBP"
{end}
"""
CHECKS = """
[[checks]]
item = "t0"
classes = ["cat"]
at_least = 0.5
[[checks]]
item = "t1"
none_on = ["ship"]
[quality]
most_failed = 1
"""
ARMS = """
[[arms]]
kind = "choice"
[[arms]]
name = "with tokens"
kind = "tokens"
"""


def write_study(folder: Path, *, question: str = '[question]\nkind = "tokens"', more: str = "", end: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"t{i},text number {i}\n" for i in range(12))
    (folder / "texts.csv").write_text("item,text\n" + rows)
    (folder / "study.toml").write_text(STUDY.format(question=question, more=more, end=end))
    return folder


@dataclass
class Crowd:
    """People who answer by chance, each leaning their own way."""

    asked: AskedSite
    rng: np.random.Generator

    def comes(self, n: int = 1) -> list[Visit]:
        return [self._through() for _ in range(n)]

    def _through(self, limit: int = 100) -> Visit:
        visit = self.asked.ready()
        leaning = int(self.rng.integers(3))
        for _ in range(limit):
            state = visit.state()
            if state["stage"] != "trials" or not state["trials"]:
                break
            trial = state["trials"][0]
            reply = visit.submit(visit.body(self._answer(trial, leaning), trial=trial["trial"], record=self._record()))
            assert reply.status == 201, reply.body
        return visit

    def _record(self) -> dict[str, Any]:
        return {"elapsed_ms": int(self.rng.integers(500, 20_000))}

    def _answer(self, trial: dict[str, Any], leaning: int) -> dict[str, Any]:
        chosen = leaning if self.rng.random() < 0.5 else int(self.rng.integers(3))
        if self.asked.study.questions[trial["question"]].kind == "choice":
            return {"class": CLASSES[chosen]}
        n = int(self.rng.integers(4, 11))
        other = {CLASSES[(chosen + 1) % 3]: 10 - n} if n < 10 else {}
        return {"tokens": {CLASSES[chosen]: n} | other, "others": False}


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    with asked_site(write_study(tmp_path / "study", end=CHECKS)) as asked:
        yield Crowd(asked, np.random.default_rng(1))


def figures(crowd: Crowd) -> dict[str, Any]:
    return Researcher.by_link(crowd.asked).figures()


def exported(crowd: Crowd, folder: Path) -> Annotations:
    """The answers as `sfumato export` writes them."""
    path = folder / "answers.parquet"
    export(crowd.asked.site.place, crowd.asked.study.name, path, exact_times=True)
    return Annotations.read(path)


# --- equal to the library's ---


def test_agreement_is_that_of_the_library(crowd: Crowd, tmp_path: Path) -> None:
    crowd.comes(7)
    table = exported(crowd, tmp_path)
    beliefs = TokensLabeler().label(table.for_purposes("label", "repeat"), CLASSES)
    theirs = agreement(beliefs)
    ours = {each["measure"]: each for each in figures(crowd)["opinions"]["agreement"]}
    assert set(ours) == set(theirs.measure) == {
        "alpha-nominal", "alpha-distributions", "total-variation", "retest-same-class", "retest-total-variation",
    }  # fmt: skip
    for i, name in enumerate(theirs.measure):
        for field in ("value", "low", "high"):
            assert ours[name][field] == pytest.approx(float(getattr(theirs, field)[i]), abs=5.1e-5), (name, field)
        assert (ours[name]["n_items"], ours[name]["n_answers"]) == (theirs.n_items[i], theirs.n_answers[i])
        assert ours[name]["over"] == "annotators and items"
        assert ours[name]["half"]["twice_the_annotators"] == pytest.approx(theirs.half_twice_annotators[i], abs=5.1e-5)
        assert ours[name]["shares"][1] == pytest.approx(theirs.share_annotators[i], abs=5.1e-5)
    # It would be seen if they looked at other answers.
    fewer = agreement(beliefs.take(np.arange(len(beliefs)) > 0))
    assert abs(float(fewer.value[0]) - ours["alpha-nominal"]["value"]) > 5e-5


def test_doubt_is_that_of_the_library(crowd: Crowd, tmp_path: Path) -> None:
    crowd.comes(7)
    beliefs = TokensLabeler().label(exported(crowd, tmp_path).for_purposes("label"), CLASSES)
    theirs = beliefs.doubt()
    several = theirs.n_answers > 1
    said = figures(crowd)["opinions"]
    for ours, name in (("dissent", "dissent"), ("within", "dissent_within"), ("between", "dissent_between")):
        assert said["doubt"][ours]["value"] == pytest.approx(getattr(theirs, name)[several].mean(), abs=5.1e-5)
    assert said["doubt"]["n_items"] == several.sum()
    assert said["doubt"]["over"] == "over people and items"
    assert said["doubt"]["dissent"]["low"] < said["doubt"]["dissent"]["value"] < said["doubt"]["dissent"]["high"]
    assert said["doubt"]["within"]["value"] > 0.05
    # The most disputed, in order, each with the mean of its answers and the answers themselves.
    names = theirs.items.to_pylist()
    expected = sorted(np.flatnonzero(several), key=lambda i: (-theirs.dissent_between[i], -theirs.n_answers[i]))[:12]
    assert [each["item"] for each in said["disputed"]] == [names[i] for i in expected]
    for each in said["disputed"]:
        mine = beliefs.probs[np.array(beliefs.item.names.to_pylist())[beliefs.item.codes] == each["item"]]
        assert each["shares"] == pytest.approx(mine.mean(axis=0).tolist(), abs=5.1e-5)
        assert np.array(each["each"]) == pytest.approx(mine, abs=0.0051)
        assert each["text"] == f"text number {each['item'][1:]}"
        assert not each["has_picture"]


def test_people_have_their_checks_repeats_and_speed(crowd: Crowd, tmp_path: Path) -> None:
    crowd.comes(7)
    table = exported(crowd, tmp_path).to_arrow().to_pylist()
    rows = {row["name"]: row for row in figures(crowd)["people"]["rows"]}
    assert set(rows) == {each["annotator"] for each in table}
    for name, row in rows.items():
        mine = [each for each in table if each["annotator"] == name]
        assert row["answers"] == len(mine) == 9
        assert row["seconds"] == pytest.approx(np.median([each["seconds"] for each in mine]), abs=0.0051)
        given = {(each["item"], each["purpose"]): json.loads(each["payload"])["tokens"] for each in mine}
        failed = (given["t0", "check"].get("cat", 0) < 5) + (given["t1", "check"].get("ship", 0) > 0)
        assert row["checks"] == {"passed": 2 - failed, "failed": failed}
        assert row["marked"] == (failed >= 1)
        assert ("checks_passed" in row["flags"]) == ((2 - failed) / 2 < 0.75)
        again = [(given[item, "label"], tokens) for (item, purpose), tokens in given.items() if purpose == "repeat"]
        assert row["repeats"]["n"] == len(again) == 2
        assert row["repeats"]["same"] == sum(bool(_top(before) & _top(after)) for before, after in again)
        moved = [sum(abs(a.get(k, 0) - b.get(k, 0)) for k in CLASSES) / 20 for a, b in again]
        assert row["repeats"]["moved"] == pytest.approx(np.mean(moved), abs=5.1e-4)
    assert any(row["checks"]["failed"] for row in rows.values()), "nobody failed, so nothing was tried"


def test_flags_are_the_reasons_of_the_command(crowd: Crowd, tmp_path: Path) -> None:
    crowd.comes(9)
    rows = {row["name"]: row for row in figures(crowd)["people"]["rows"]}
    exported(crowd, tmp_path)
    screening, command = tmp_path / "screening.csv", ["screen", str(tmp_path / "answers.parquet")]
    done = CliRunner().invoke(group, [*command, "--study", str(tmp_path / "study"), "-o", str(screening)])
    assert done.exit_code == 0, done.output
    with screening.open() as file:
        found = {row["annotator"]: row for row in csv.DictReader(file)}
    assert found.keys() == rows.keys()
    for name, row in rows.items():
        assert "; ".join(row["flags"]) == found[name]["reasons"]
        assert row["checks"]["passed"] / 2 == float(found[name]["checks_passed"])
        assert 1 - row["repeats"]["same"] / row["repeats"]["n"] == float(found[name]["repeats_changed"])
        assert row["seconds"] == pytest.approx(float(found[name]["median_seconds"]), abs=0.0051)
    # Who changes a repeated answer is left to chance; without any flag nothing would have been compared.
    assert any(row["flags"] for row in rows.values())


def test_test_retest_of_the_study_is_that_of_its_people(crowd: Crowd) -> None:
    crowd.comes(7)
    told = figures(crowd)
    rows = [row["repeats"] for row in told["people"]["rows"]]
    ours = {each["measure"]: each for each in told["opinions"]["agreement"]}
    n = sum(row["n"] for row in rows)
    assert ours["retest-same-class"]["value"] == pytest.approx(sum(row["same"] for row in rows) / n, abs=5.1e-5)
    moved = sum(row["moved"] * row["n"] for row in rows) / n
    assert ours["retest-total-variation"]["value"] == pytest.approx(moved, abs=5.1e-4)


def test_figures_follow_the_answers(crowd: Crowd) -> None:
    researcher = Researcher.by_link(crowd.asked)
    before = researcher.figures()
    assert before["opinions"]["state"] == "none"
    assert (before["progress"]["answers"], before["progress"]["wanted"]) == (0, 60)
    crowd.comes(4)
    between = researcher.figures()
    crowd.comes(2)
    after = researcher.figures()
    assert [each["progress"]["answers"] for each in (between, after)] == [20, 30]
    assert between["opinions"]["doubt"] != after["opinions"]["doubt"]
    stored = Counter(row["item"] for row in crowd.asked.stored() if row["purpose"] == "label")
    bars = Counter({bar["first"]: bar["n"] for bar in after["items"] if bar["n"]})
    assert bars == Counter(Counter(stored.values()) + Counter({0: 10 - len(stored)}))
    assert sum(bar["n"] for bar in after["times"]["bars"]) == after["times"]["n"] == 30


def test_who_is_left_out_of_exports_is_left_out_here(crowd: Crowd, tmp_path: Path) -> None:
    crowd.comes(6)
    name = figures(crowd)["people"]["rows"][0]["name"]
    before = figures(crowd)["opinions"]
    crowd.asked.site.writer.run(lambda running: erase_participant(running, "test", pseudonym=name, answers=True))
    after = figures(crowd)["opinions"]
    assert after["n_answers"] == before["n_answers"] - 7
    assert len(exported(crowd, tmp_path)) == 9 * 5
    assert after["doubt"] != before["doubt"]


# --- arms, adaptive, other kinds ---


def test_arms_are_distinguished(tmp_path: Path) -> None:
    with asked_site(write_study(tmp_path / "study", question="", end=ARMS)) as asked:
        crowd = Crowd(asked, np.random.default_rng(2))
        crowd.comes(10)
        told = figures(crowd)
        rows = {row["pseudonym"]: row["arm"] for row in asked.stored("annotators")}
        kinds = Counter(row["kind"].split("/")[0] for row in asked.stored() if row["purpose"] == "label")
        assert [(arm["name"], arm["kind"]) for arm in told["arms"]] == [("choice", "choice"), ("with tokens", "tokens")]
        assert [arm["people"] for arm in told["arms"]] == [list(rows.values()).count(0), list(rows.values()).count(1)]
        assert [arm["answers"] for arm in told["arms"]] == [kinds["choice"], kinds["tokens"]]
        assert min(arm["people"] for arm in told["arms"]) > 0
        for number, arm in enumerate(told["arms"]):
            people = {row["id"] for row in asked.stored("annotators") if row["arm"] == number}
            seconds = [row["seconds"] for row in asked.stored() if row["annotator"] in people]
            assert arm["median_seconds"] == pytest.approx(np.median(seconds), abs=0.0051)
        # Quotas are of each arm.
        assert told["progress"]["wanted"] == 12 * 6 * 2
        assert told["progress"]["answers_per_item"] == 6
        assert told["opinions"]["state"] == "there"
        assert {row["repeats"]["n"] for row in told["people"]["rows"]} == {2}
        assert "arms" not in json.loads(asked.client.get("/studio/state").body)


def test_an_adaptive_study_says_what_it_saved(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", more='assignment = "adaptive"')
    with asked_site(study) as asked:
        crowd = Crowd(asked, np.random.default_rng(3))
        crowd.comes(3)
        researcher = Researcher.by_link(asked)
        told = researcher.figures()
        assert told["adaptive"]["items"] == 12
        assert told["adaptive"]["answers"] == told["progress"]["answers"] == 15
        assert told["adaptive"]["most"] == 72
        refused = researcher.post("/studio/extend", {"answers_per_item": 99})
        assert refused.json["code"] == "adaptive-study"


def test_a_question_without_classes_has_no_opinions(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", question='[question]\nkind = "similarity"\npairs = 8')
    with asked_site(study) as asked:
        told = Researcher.by_link(asked).figures()
        assert told["opinions"]["state"] == "no-classes"


# --- counted by hand ---


def _person(id: int, *, seen: int | None = None, finished: bool = False, withdrawn: bool = False) -> Any:
    return SimpleNamespace(
        id=id, pseudonym=f"A{id}", arm=0, created_at=0, seen_at=seen, excluded_at=None,
        withdrawn_at=1 if withdrawn else None, finished_at=1 if finished else None,
    )  # fmt: skip


def _tally(*answers: tuple[int, int, float, int], last: int = 0) -> AnswerCounts:
    """Answers for a label: item, annotator, seconds, received_at."""
    tally = AnswerCounts(1)
    for item, annotator, seconds, at in answers:
        given = tally.annotators.setdefault(annotator, AnnotatorCounts())
        given.n_answers += 1
        given.n_labels += 1
        given.seconds.append(seconds)
        tally._count_label(item, seconds, at)
    tally.seconds.sort()
    return tally


def test_progress_by_hand() -> None:
    minute = 60_000
    # Six answers within ten minutes are 36 an hour; of 2 x 4 wanted, three are on an item that needs no more.
    tally = _tally(*((1 if i < 3 else 2, i, 2.0, 100 * minute + i * 2 * minute) for i in range(6)))
    people = [_person(0, finished=True), _person(1, seen=109 * minute), _person(2, seen=1), _person(3, withdrawn=True)]
    quotas = {1: 3, 2: 4, 3: 1, 4: 0}
    told = progress(tally, quotas, people, now=110 * minute, paused_at=None)
    assert (told["answers"], told["counted"], told["wanted"]) == (6, 6, 8)
    assert (told["items"], told["items_done"], told["answers_per_item"]) == (3, 1, 4)
    assert told["people"] == {"all": 4, "working": 1, "away": 1, "finished": 1, "withdrawn": 1, "excluded": 0}
    assert (told["pace"], told["left_seconds"]) == (36.0, 200.0)
    assert progress(tally, quotas, people, now=110 * minute, paused_at=5)["left_seconds"] is None
    # A quarter of an hour later only the answers since then count, and then none.
    assert progress(tally, quotas, people, now=119 * minute, paused_at=None)["pace"] == 12.0
    assert progress(tally, quotas, people, now=200 * minute, paused_at=None)["left_seconds"] is None


def test_cost_by_hand(tmp_path: Path) -> None:
    study = read_study(write_study(tmp_path / "study"))
    answers = [(item, 0, 1.0, 0) for item in range(1, 6)] + [(1, 1, 1.0, 0)] + [(item, 2, 1.0, 0) for item in (1, 2, 3)]
    people = [_person(0, finished=True), _person(1, seen=0), _person(2, withdrawn=True)]
    told = cost(study, _tally(*answers), dict.fromkeys(range(1, 13), 2), people, now=1)
    # One batch of five is earned, one is pending; the one who withdrew gave 3 of 5 answers. 16 of 24 are still to come:
    # four batches more.
    assert told == {"currency": "GBP", "fee": 0.0, "so_far": 2.0, "under_way": 2.0, "left": 1.2, "to_the_end": 11.2}


def test_the_report_states_the_cost_of_the_dashboard(crowd: Crowd, tmp_path: Path) -> None:
    """Two people finish five items with two checks and two repeats each; a third leaves after two answers."""

    def reported() -> str:
        evidence = ReportInputs(study=crowd.asked.study, annotations=exported(crowd, tmp_path))
        (fact,) = (each for each in _facts(evidence) if each.label == "estimated cost")
        return fact.value

    crowd.comes(2)
    told = figures(crowd)["cost"]
    assert (told["so_far"], told["under_way"], told["left"]) == (4.0, 0.0, 0.0)
    assert reported() == "GBP 4.00"
    crowd._through(limit=2)
    n_labels = sum(row["purpose"] == "label" for row in exported(crowd, tmp_path).to_arrow().to_pylist()) - 10
    # In proportion or in full: the answers do not say whether people finished; the dashboard expects them to.
    assert reported() == f"GBP {4 + 2 * n_labels / 5:.2f} to 6.00"
    assert figures(crowd)["cost"]["under_way"] == 2.0


def test_who_left_early_is_not_counted_as_a_whole_batch(tmp_path: Path) -> None:
    study = read_study(write_study(tmp_path / "study"))
    # Of 24 answers wanted ten people gave one each and left without a word.
    people = [_person(number, seen=1) for number in range(10)]
    answers = [(number + 1, number, 1.0, 0) for number in range(10)]
    told = cost(study, _tally(*answers), dict.fromkeys(range(1, 13), 2), people, now=AWAY_MS + 2)
    # Two batches' worth of parts, and three batches for the fourteen that are still to come.
    assert told is not None
    assert (told["under_way"], told["left"], told["to_the_end"]) == (0.0, 4.0, 10.0)
    # While they were there, each was about to earn a batch.
    before = cost(study, _tally(*answers), dict.fromkeys(range(1, 13), 2), people, now=2)
    assert before is not None
    assert (before["under_way"], before["left"], before["to_the_end"]) == (20.0, 0.0, 20.0)


def test_bars_hold_every_item_and_every_answer() -> None:
    tally = _tally(*((item, k, 0.5 + item * k % 50, 0) for item in range(1, 40) for k in range(item)))
    quotas = dict.fromkeys(range(1, 41), 40) | {41: 0}
    bars = answers_of_items(tally, quotas)
    assert sum(bar["n"] for bar in bars) == 40
    assert len(bars) <= 24
    for bar in bars:
        assert bar["n"] == sum(bar["first"] <= tally.labels_of_item[item] <= bar["last"] for item in range(1, 41))
    told = times(tally)
    assert sum(bar["n"] for bar in told["bars"]) == told["n"] == tally.n_labels
    for bar in told["bars"]:
        to = np.inf if bar["to"] is None else bar["to"]
        assert bar["n"] == sum(bar["from"] <= second < to for second in tally.seconds)
    assert told["median"] == pytest.approx(np.median(tally.seconds), abs=0.0051)


def test_times_are_a_sample_where_there_are_very_many() -> None:
    tally = _tally()
    for i in range(TIMES_KEPT + 1000):
        tally._count_label(1, float(i % 100), 0)
    assert len(tally.seconds) == TIMES_KEPT
    assert times(tally)["is_sample"]
    assert not times(_tally((1, 1, 2.0, 0)))["is_sample"]


# --- what it costs, and what happens when it goes wrong ---


def test_a_look_reads_only_what_is_new(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = researcher_queries.answers_since

    def counted(*arguments: Any) -> Iterator[Any]:
        rows = list(real(*arguments))
        read.append(len(rows))
        yield from rows

    monkeypatch.setattr(researcher_queries, "answers_since", counted)
    books = DashboardCache(crowd.asked.site.place, crowd.asked.study, crowd.asked.site.number)
    for n_people in (3, 0, 1):
        crowd.comes(n_people)
        books._due_at.clear()
        books.figures()
    books.close()
    assert read == [27, 0, 9]


def test_figures_are_computed_once_per_second_for_all_viewers(crowd: Crowd) -> None:
    books = DashboardCache(crowd.asked.site.place, crowd.asked.study, crowd.asked.site.number)
    first = books.figures()
    crowd.comes(1)
    assert books.figures()["progress"] == first["progress"]
    # And less often where they take longer: ten times as long as the work took.
    books._delay("all", 5.0)
    assert books._due_at["all"] - time.monotonic() == pytest.approx(50, abs=1)
    books.close()


def test_very_many_answers_are_looked_at_by_a_sample_of_items(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crowd.comes(7)
    whole = figures(crowd)["opinions"]
    monkeypatch.setattr(dashboard_cache, "MOST_ANSWERS", 30)
    said = figures(crowd)["opinions"]
    assert said["every"] == 3
    rows = crowd.asked.stored()
    kept = [row for row in rows if row["item"] % 3 == 0 and row["purpose"] in ("label", "repeat")]
    assert (said["n_answers"], whole["every"]) == (len(kept), 1)


def test_a_store_that_cannot_be_read_is_said(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    researcher = Researcher.by_link(crowd.asked)
    crowd.comes(2)
    before = researcher.figures()
    assert before["trouble"] is None
    with monkeypatch.context() as broken:
        broken.setattr(researcher_queries, "quotas", _raise)
        during = researcher.figures()
    assert during["trouble"]
    assert during["progress"] == before["progress"]
    assert researcher.figures()["trouble"] is None


def test_the_stream_sends_what_changed_and_ends_with_the_session(crowd: Crowd) -> None:
    feed = crowd.asked.site.dashboard.feed
    crowd.comes(1)
    is_open = [True]

    async def watched() -> list[list[str]]:
        stream = feed.stream(lambda: is_open[0])
        heard: list[list[str]] = []
        async for part in stream:
            heard.append([line[7:] for line in part.decode().split("\n") if line.startswith("event: ")])
            if "progress" in heard[-1] and len(heard) == 2:
                crowd.asked.site.writer.run(lambda running: running.pause(True))
                feed.cache._due_at.clear()
            elif "progress" in heard[-1]:
                is_open[0] = False
        return heard

    first, whole, *news, last = crowd.asked.runner.run(asyncio.wait_for(watched(), 30))
    assert first == []
    assert {"progress", "items", "times", "cost", "people", "happenings"} <= set(whole)
    assert any("progress" in each for each in news)
    assert not any("times" in each for each in news), "nothing was answered, so no time changed"
    assert last == ["ended"]
    assert feed.n_listeners == 0


def test_the_page_does_not_wait_for_its_figures(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.server.dashboard_feed.FIRST_PAGE_SECONDS", 0.0)
    page = Researcher.by_link(crowd.asked).get("/studio")
    assert page.status == 200
    config = page.text.partition('id="config">')[2].partition("</script>")[0]
    assert json.loads(config)["sections"] == {}
    assert json.loads(config)["study"]["classes"] == list(CLASSES)


# --- aside ---


def test_aside_the_same_figures_are_made(crowd: Crowd) -> None:
    crowd.comes(5)
    site = crowd.asked.site
    here = DashboardCache(site.place, site.study, site.number)
    aside = CacheProcess(site.place, site.study, site.number)
    expected = recompute(here)
    told = _until(lambda: aside.figures(), lambda each: "opinions" in each)
    assert aside._process is not None
    assert aside._process.pid != os.getpid()
    for name in ("items", "times", "cost", "opinions"):
        assert told[name] == expected[name], name
    aside.close()
    here.close()


def test_a_process_that_was_killed_is_begun_again(crowd: Crowd) -> None:
    site = crowd.asked.site
    site.dashboard.feed.use_process()
    researcher = Researcher.by_link(crowd.asked)
    assert researcher.get("/studio/state").json["trouble"] is None
    aside = site.dashboard.feed.cache
    assert isinstance(aside, CacheProcess)
    assert aside._process is not None
    killed = aside._process.pid
    assert killed
    os.kill(killed, signal.SIGKILL)
    during = researcher.get("/studio/state")
    assert (during.status, bool(during.json["trouble"])) == (200, True)
    crowd.comes(1)
    after = researcher.get("/studio/state").json
    assert (after["trouble"], after["progress"]["answers"]) == (None, 5)
    assert aside._process is not None
    again = aside._process.pid
    assert again not in (None, killed)
    site.dashboard.feed.close()
    with pytest.raises(ProcessLookupError):
        os.kill(again or 0, 0)


@pytest.mark.slow
def test_a_hundred_thousand_answers_cost_little(tmp_path: Path) -> None:
    folder = write_texts_study(tmp_path / "study", 10_000, answers_per_item=1000, batch_size=10_000)
    fill(folder, 100_000, until=time.time_ns() // 1_000_000)
    with open_site(read_study(folder)) as site:
        books = site.dashboard.feed.cache
        assert isinstance(books, DashboardCache)
        recompute(books)
        taken = []
        for _ in range(5):
            books._due_at = {"opinions": np.inf}
            begun = time.thread_time()
            sections = books.figures()
            taken.append(time.thread_time() - begun)
        assert json.loads(sections["progress"])["answers"] == 100_000
        assert json.loads(sections["opinions"])["state"] == "there"
        assert min(taken) < 0.25
        assert sum(map(len, sections.values())) < 300_000


# --- doing ---


def test_pausing_extending_and_downloading(tmp_path: Path) -> None:
    with asked_site(write_picture_study(tmp_path / "study")) as asked:
        researcher, person = Researcher.by_link(asked), asked.ready()
        assert person.submit(person.body({"class": "cat"})).status == 201  # practice
        assert person.submit(person.body({"class": "cat"})).status == 201
        assert researcher.post("/studio/pause").status == 200
        assert researcher.post("/studio/pause").status == 200
        assert researcher.figures()["progress"]["paused_at"] is not None
        assert asked.client.send("POST", "/join").status == 409
        assert researcher.post("/studio/resume").status == 200
        assert researcher.figures()["progress"]["paused_at"] is None
        assert researcher.post("/studio/extend", {"answers_per_item": 100}).status == 200
        assert researcher.figures()["progress"]["answers_per_item"] == 100
        made = researcher.post("/studio/downloads", {"what": "annotations", "format": "csv"})
        assert made.status == 201
        stranger = asked.client.get(made.json["path"])
        assert stranger.status == 401
        file = researcher.get(made.json["path"])
        assert "pets-annotations.csv" in (file.header("content-disposition") or "")
        assert len(file.text.splitlines()) == 2
        assert researcher.get(made.json["path"]).status == 404
        assert researcher.post("/studio/downloads", {"what": "records"}).status == 201
        blocked = researcher.post("/studio/downloads", {"what": "records"})
        assert (blocked.status, blocked.json["code"]) == (429, "too-many")
        told = [each["what"] for each in researcher.figures()["happenings"]]
        assert told == ["exported", "denied", "exported", "extended", "resumed", "paused", "logged in"]


def test_an_item_has_its_picture(tmp_path: Path) -> None:
    with asked_site(write_picture_study(tmp_path / "study")) as asked:
        researcher = Researcher.by_link(asked)
        number = asked.stored("items")[0]["id"]
        shown = researcher.get(f"/studio/pictures/{number}")
        assert (shown.status, shown.header("content-type"), shown.body[:4]) == (200, "image/png", b"\x89PNG")
        for wrong in ("0", "-1", "x", str(number + 999), "9" * 30):
            assert researcher.get(f"/studio/pictures/{wrong}").status == 404, wrong


def _top(tokens: dict[str, int]) -> set[str]:
    return {name for name, n in tokens.items() if n == max(tokens.values())}


def _raise(*_: object) -> Any:
    import sqlalchemy as sa

    raise sa.exc.OperationalError("select", {}, Exception("away"))


def _until(make: Callable[[], Any], is_there: Callable[[Any], bool], seconds: float = 60) -> Any:
    limit = time.monotonic() + seconds
    while not is_there(made := make()):
        assert time.monotonic() < limit
        time.sleep(0.02)
    return made
