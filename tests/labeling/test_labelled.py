"""Answers of any kind as votes: what each counts, alone and together."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations
from sfumato.labeling.default_labeler import as_votes, label_by_default
from sfumato.planning.pilot_answers import Pilot
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


def test_kinds_that_say_nothing_of_classes_are_refused() -> None:
    similar = annotations([("a", "1", "similarity/1", {"other": "b", "rating": 5})])
    with pytest.raises(BadTable, match="is about classes"):
        as_votes(similar)
    with pytest.raises(BadTable, match="of one kind"):
        label_by_default(annotations(ANSWERS))
