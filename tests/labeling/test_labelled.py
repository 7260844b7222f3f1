"""Answers of any kind as votes: what each counts, alone and together."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations
from sfumato.elicitation.kinds import kind_asked
from sfumato.labeling.default_labeler import as_votes, beliefs_of_payloads, label_by_default
from sfumato.planning.pilot_answers import Pilot
from sfumato.study.study import Question
from sfumato.tables.errors import BadTable

CLASSES = ("cat", "dog", "fox")
ANSWERS = [
    ("a", "1", "choice/1", {"class": "dog"}),
    ("a", "2", "tokens/1", {"tokens": {"cat": 3, "dog": 1}, "others": False}),
    ("b", "1", "plausible/1", {"cat": "yes", "dog": "no", "fox": "yes"}),
    ("b", "2", "plausible/1", {"cat": "no", "dog": "no", "fox": "no"}),
    (
        "b", "3", "top_two/1",
        {"first": "cat", "first_percent": 60, "second": "fox", "second_percent": 40, "impossible": []},
    ),
]  # fmt: skip


def annotations(rows: list[tuple]) -> Annotations:
    columns = dict(zip(("item", "annotator", "kind"), ([row[i] for row in rows] for i in range(3)), strict=True))
    return Annotations.from_arrow(pa.table(columns | {"payload": [json.dumps(row[3]) for row in rows]}), CLASSES)


def test_kinds_together_count_item_by_item() -> None:
    votes = as_votes(annotations(ANSWERS))
    assert votes.classes == CLASSES
    # "None of these" is nobody's vote; the class named first is one whole vote.
    assert len(votes) == 4
    pilot = Pilot.of(annotations(ANSWERS))
    np.testing.assert_allclose(pilot.counts, [[0.75, 1.25, 0], [1.5, 0, 0.5]], atol=1e-12)


@pytest.mark.parametrize("row", ANSWERS[:3] + ANSWERS[4:], ids=lambda row: row[2])
def test_one_answer_is_one_vote(row: tuple) -> None:
    votes = as_votes(annotations([row]))
    np.testing.assert_allclose(votes.probs.sum(axis=1), 1)


MORE = [
    ("c", "1", "sliders/1", {"cat": 0.8, "dog": 0.4, "fox": 0.0}),
    ("c", "1", "sliders/1", {"cat": 0, "dog": 0, "fox": 0}),
    ("c", "1", "tokens/1", {"tokens": {"cat": 7, "dog": 3}, "others": True}),
    ("c", "1", "typicality/1", {"class": "dog", "typicality": 0.9}),
    ("c", "1", "mixture/1", {"classes": ["cat", "dog"], "share": 0.6, "confidence": 0.8}),
    (
        "c", "1", "top_two/1",
        {"first": "cat", "first_percent": 70, "second": None, "second_percent": None, "impossible": ["fox"]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ANSWERS + MORE, ids=lambda row: f"{row[2]} {row[3]}")
def test_a_single_answer_is_read_as_in_a_table(row: tuple) -> None:
    """The server judges single answers, `sfumato label` tables."""
    by_table = label_by_default(annotations([row])).probs[:, :3]
    single = beliefs_of_payloads(kind_asked(Question(row[2].split("/")[0])), [row[3]], CLASSES)
    np.testing.assert_array_equal(single, by_table)


def test_a_single_answer_without_valid_percents_is_nothing() -> None:
    wrong = {"first": "cat", "first_percent": 170, "second": None, "second_percent": None, "impossible": []}
    right = wrong | {"first_percent": 100}
    found = beliefs_of_payloads(kind_asked(Question("top_two")), [wrong, right, wrong], CLASSES)
    assert found.sum(axis=1).tolist() == [0, 1, 0]


def test_kinds_that_say_nothing_of_classes_are_refused() -> None:
    similar = annotations([("a", "1", "similarity/1", {"other": "b", "rating": 5})])
    with pytest.raises(BadTable, match="is about classes"):
        as_votes(similar)
    with pytest.raises(BadTable, match="of one kind"):
        label_by_default(annotations(ANSWERS))
