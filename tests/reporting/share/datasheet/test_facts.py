"""What tables say of each question, against sums done by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.reporting.share.datasheet import QUESTIONS, DatasheetSources, datasheet
from sfumato.reporting.share.datasheet.composition_facts import difference_from_mean
from sfumato.reporting.share.datasheet.datasheet import FACTS
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable, SfumatoWarning
from sfumato.tables.shifted_times import shift_times
from sfumato.tables.soft_labels import SoftLabels

ALL = ("annotations", "study", "beliefs", "inputs", "screening", "scores")


def told(folder, question, *options):
    return FACTS[question](folder.sources(*options))


def test_facts_are_about_questions():
    ids = [question.id for question in QUESTIONS]
    assert set(FACTS) <= set(ids)
    assert len(set(ids)) == len(ids)


def test_items_and_classes(folder):
    assert told(folder, "items", "inputs").points == ("2 labeled items.", "2 gray images of 8 x 8 pixels.")
    found = told(folder, "classes")
    # (2/3 + 1) / 2 = 5/6 and (1/3 + 0) / 2 = 1/6
    assert found.grid.rows == (("`cat`", "83.33%", "2"), ("`dog|wolf`", "16.67%", "0"), ("`<never>`", "0.00%", "0"))
    assert found.points[-1] == "Classes without any probability: `<never>`."


def test_doubt_by_hand(folder):
    found = told(folder, "doubt", "beliefs")
    # -(2/3) ln(2/3) - (1/3) ln(1/3) = 0.6365; the other item has none: 0.318 on average, of ln 3 = 1.099
    assert found.points[0].startswith("Entropy of a label: 0.318 nats on average, of at most 1.099")
    assert found.points[1] == "50.0% of the labels have all probability on one class."
    assert found.points[2].startswith("People disagree about 1 of 2 items: 50%")
    # Two of three pairs of votes about one item differ, none about the other: a third on average.
    assert found.points[3].startswith("Two people give different answers in 33")
    # ln 3 in fifths: 0.6365 lies in the third, 0.44 to 0.66
    assert [row[1] for row in found.grid.rows] == ["1", "0", "1", "0", "0"]
    assert found.command == "sfumato doubt beliefs.parquet"


def test_the_mean_is_recognised_and_nothing_else(folder):
    assert "They are the mean of people's beliefs (`mean`)" in told(folder, "labels", "beliefs").points[2]
    sources = folder.sources("beliefs")
    other = SoftLabels.from_numpy(["1", "2"], [[0.5, 0.5, 0], [1, 0, 0]], sources.labels.classes, [3, 2])
    said = FACTS["labels"](replace(sources, labels=other))
    assert "differ by up to 0.167" in said.points[-1]  # 1/2 - 1/3
    assert not said.settled
    assert "The file does not record" in said.points[0]


def test_the_mean_belief_against_a_plain_loop():
    rng = np.random.default_rng(0)
    items, people = rng.integers(0, 5, 40).astype(str), np.arange(40).astype(str)
    probs = rng.dirichlet([1, 1, 1], 40)
    beliefs = Beliefs.from_probs(item=items, annotator=people, probs=probs, classes=["a", "b", "c"])
    names = sorted(set(items.tolist()))
    mean = np.array([probs[items == name].mean(axis=0) for name in names])
    labels = SoftLabels.from_numpy(names, mean[:, [2, 0, 1]], ["c", "a", "b"])
    assert difference_from_mean(labels, beliefs) == pytest.approx(0, abs=1e-12)
    moved = mean + [[0.25, -0.25, 0]] * (mean[:, [1]] > 0.25)
    labels = SoftLabels.from_numpy(names, moved, ["a", "b", "c"])
    assert difference_from_mean(labels, beliefs) == pytest.approx(0.25)
    assert difference_from_mean(SoftLabels.from_numpy(["x"], [[1, 0, 0]], ["a", "b", "c"]), beliefs) is None


def test_people_times_and_pay(folder):
    assert told(folder, "people", "annotations").points == (
        "4 annotators gave 6 answers about 2 items.",
        "Answers per annotator: 1 to 2 (median 1.5).",
        "Purposes: 5 `label`, 1 `check`.",
    )
    # Day 20,000 of Unix time is 4 October 2024; five answers of 6 s are half a minute.
    assert told(folder, "when", "annotations").points == (
        "From 2024-10-04 to 2024-10-09 (UTC).",
        "Time per answer: median 6.0 s, middle 80% 6.0 to 6.0 s, 0.0 hours in total.",
    )
    # 2 EUR for 10 minutes are 12 an hour. Six answers for 5 labels, half a batch: 12 of 6 s per batch, 100 an hour.
    paid = told(folder, "pay", "study", "annotations").points
    assert paid[0] == "2 EUR per batch of 10 items."
    assert paid[1] == "Announced as 10 minutes: 12.00 EUR per hour."
    assert "a batch with its checks and repeats takes 1.2 minutes: 100.00 EUR per hour" in paid[2]
    assert told(folder, "missing", "annotations").points == ("1 of 6 answers have no time.",)


def test_times_without_dates_give_no_days(folder):
    shift_times(Annotations.read(folder.annotations)).write(folder.annotations)
    found = told(folder, "when", "annotations")
    assert found.points == ("Time per answer: median 6.0 s, middle 80% 6.0 to 6.0 s, 0.0 hours in total.",)
    assert not found.settled


def test_how_people_were_asked(folder):
    found = told(folder, "asked", "study", "annotations")
    assert found.points[0] == "6 answers to questions of type `choice/1`."
    assert found.points[1] == "`choice/1` asks for their own view: “What do *you* see?”"
    assert "Look at the picture." in found.quote
    assert told(folder, "consent", "study").quote == "I take part of my own will."
    assert not told(folder, "asked", "annotations").settled


def test_agreement_is_what_the_command_says(folder):
    found = told(folder, "agreement", "beliefs")
    rows = {row[0]: row[1] for row in found.grid.rows}
    # Pairs that disagree: 2 of 3 on the first item, none of 1 on the second; their mean is 1/3.
    assert rows["`total-variation`"] == "0.333"
    assert found.command == "sfumato agreement beliefs.parquet"


def test_who_was_set_aside_is_counted_not_named(folder):
    found = told(folder, "set-aside", "screening", "beliefs")
    assert found.points == ("1 of 4 annotators were excluded.", "None of them is in the beliefs.")
    assert found.grid.rows == (("`checks`", "1"), ("`too-fast`", "1"))


def test_duplicates_scores_and_the_rest(folder):
    assert told(folder, "duplicates", "inputs").points == (
        "1 pairs of exact duplicates.",
        "Removing 1 items would leave one per group.",
    )
    assert told(folder, "used", "scores").grid.rows == (("`accuracy`", "all", "0.7500", "0.5000 to 1.0000", "2"),)
    assert told(folder, "steps", "annotations", "beliefs").points[:2] == (
        "6 answers gave 5 beliefs.",
        "1 annotators with answers are not in the beliefs.",
    )
    assert told(folder, "answers-per-item").points == ("2 to 3 (median 2.5) annotators per item, 2.50 on average.",)


def test_labels_alone_leave_the_rest_open(folder):
    sheet = datasheet(folder.sources())
    ids = {question.id for question in sheet.open_points}
    assert {"asked", "agreement", "set-aside", "duplicates", "doubt", "labels", "raw", "when", "purpose"} <= ids
    assert {"classes", "answers-per-item", "software"} & ids == set()
    full = {question.id for question in datasheet(folder.sources(*ALL)).open_points}
    assert {"asked", "agreement", "set-aside", "duplicates", "doubt", "labels", "raw", "when"} & full == set()
    assert {"purpose", "licence", "contact", "ethics"} <= full


def test_rows_without_people_are_told():
    labels = SoftLabels.from_numpy(["a", "b"], [[1, 0], [0, 1]], ["x", "y"], [0, 4])
    assert FACTS["missing"](DatasheetSources(labels)).points == ("1 labels have no annotators: they are predictions.",)
    unsaid = SoftLabels.from_numpy(["a", "b"], [[1, 0], [0, 1]], ["x", "y"])
    assert FACTS["missing"](DatasheetSources(unsaid)).points == ("The number of annotators per label is not recorded.",)
    assert not FACTS["answers-per-item"](DatasheetSources(unsaid))


def test_tables_without_rows_are_refused(folder):
    sources = folder.sources("annotations", "beliefs")
    with pytest.raises(BadTable, match=r"annotations.parquet found no rows; expected at least one row of annotations"):
        replace(sources, annotations=sources.annotations.take(np.zeros(6, bool)))
    with pytest.raises(BadTable, match="one row of beliefs"):
        replace(sources, beliefs=sources.beliefs.take(np.zeros(0, np.int64)))


def test_agreement_that_is_undefined_is_said_to_be():
    same = Beliefs.from_votes(item=[1, 1, 2, 2], annotator=list("abab"), label=["x"] * 4, classes=["x", "y"])
    labels = SoftLabels.from_numpy(["1", "2"], [[1, 0], [1, 0]], ["x", "y"], 2)
    with pytest.warns(SfumatoWarning, match="alpha-nominal is undefined"):
        rows = FACTS["agreement"](DatasheetSources(labels, beliefs=same)).grid.rows
    assert rows[0][:3] == ("`alpha-nominal`", "undefined", "–")
