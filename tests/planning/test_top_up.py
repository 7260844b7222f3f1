"""Items to top up after screening, counted by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato import Annotations
from sfumato.planning.costs import CostModel
from sfumato.planning.top_up import plan_top_up
from sfumato.tables.errors import SfumatoError

COSTS = CostModel.plain(36, 10)


def answers() -> Annotations:
    """a: x, y, z; b: x, y; c: x; and z answered about b only as a check."""
    pairs = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("b", "y"), ("c", "x"), ("b", "z")]
    rows = {
        "item": [item for item, _ in pairs],
        "annotator": [who for _, who in pairs],
        "kind": ["choice/1"] * 7,
        "payload": ['{"class": "cat"}'] * 7,
        "purpose": ["label"] * 6 + ["check"],
    }
    return Annotations.from_arrow(pa.table(rows), ["cat", "dog"])


def test_what_is_missing_without_an_annotator() -> None:
    found = plan_top_up(answers(), ["x"], 2, costs=COSTS)
    assert found.items == ("b", "c")  # a still has y and z
    assert found.answers.tolist() == [1, 0]
    assert found.set_aside.tolist() == [1, 1]
    assert found.missing.tolist() == [1, 2]
    assert found.can_answer.tolist() == [1, 2]  # z about b, y and z about c
    assert (found.n_answers, found.n_people, found.n_by_kept) == (3, 2, 3)
    assert found.money == pytest.approx(0.3)  # ten cents per answer
    assert found.to_polars().columns == ["item", "answers", "set_aside", "missing", "can_answer"]


def test_items_without_any_answer_and_nothing_to_do() -> None:
    found = plan_top_up(answers(), [], 1, costs=COSTS, items=["a", "b", "c", "d"])
    assert (found.items, found.n_people, found.n_items) == (("d",), 1, 4)
    assert len(plan_top_up(answers(), ["z"], 1, costs=COSTS)) == 0


def test_a_screening_of_other_answers() -> None:
    with pytest.raises(SfumatoError, match="no answer of w") as caught:
        plan_top_up(answers(), ["w"], 2, costs=COSTS)
    assert caught.value.code == "unknown-person"
