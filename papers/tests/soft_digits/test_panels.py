"""Panels of three votes: checked against votes counted by hand."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from sfumato.aggregation import Mean
from sfumato.labeling.kind_labelers import PlausibleEqual, PlausibleWeighted
from sfumato.tables.errors import BadTable
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.soft_digits.sets import ANNOTATIONS_PER_IMAGE, PANEL, panel_answers

CLASSES = ("a", "b", "c", "d")


def votes(*counts: tuple[int, ...]) -> SoftLabels:
    array = np.array(counts, float)
    n = array.sum(axis=1).astype(int)
    return SoftLabels.from_numpy([str(i) for i in range(len(n))], array / n[:, None], CLASSES, n)


def marks(answers) -> list[dict[str, str]]:
    return [json.loads(text) for chunk in answers.payload.chunks for text in chunk.to_pylist()]


def test_what_two_or_three_name_is_a_yes_what_one_names_is_unsure():
    """Where all 60 votes are for one class, and where every panel has one vote of each of three classes."""
    sure = marks(panel_answers(votes((60, 0, 0, 0)), ("0",), np.random.default_rng(0)))
    assert all(mark == {"a": "yes", "b": "no", "c": "no", "d": "no"} for mark in sure)
    seen = Counter(
        tuple(sorted(Counter(mark.values()).items()))
        for seed in range(40)
        for mark in marks(panel_answers(votes((20, 20, 20, 0)), ("0",), np.random.default_rng(seed)))
    )
    assert set(seen) == {
        (("no", 3), ("yes", 1)),
        (("no", 2), ("unsure", 1), ("yes", 1)),
        (("no", 1), ("unsure", 3)),
    }


def test_weighted_is_the_share_of_the_votes_drawn():
    """All 9 votes are used where there are no more: 5, 3 and 1 of 9, whatever the panels."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        answers = panel_answers(votes((5, 3, 1, 0)), ("0",), rng)
        assert len(answers) == 3
        label = Mean().aggregate(PlausibleWeighted().label(answers)).labels
        assert label.probs[0] == pytest.approx([5 / 9, 3 / 9, 1 / 9, 0, 0], abs=1e-12)


def test_equal_forgets_which_class_was_named_twice():
    label = Mean().aggregate(
        PlausibleEqual().label(panel_answers(votes((2, 1, 0, 0)), ("0",), np.random.default_rng(0)))
    )
    assert label.labels.probs[0].tolist() == [0.5, 0.5, 0, 0, 0]


def test_items_have_as_many_panels_as_soft_digits_has_answers():
    n = 4000
    table = votes(*[(30, 20, 10, 0)] * n)
    answers = panel_answers(table, tuple(map(str, range(n))), np.random.default_rng(0))
    found = Counter(np.bincount(answers.item.codes).tolist())
    whole = sum(ANNOTATIONS_PER_IMAGE.values())
    for k, times in ANNOTATIONS_PER_IMAGE.items():
        expected = times / whole
        assert found[k] / n == pytest.approx(expected, abs=4 * np.sqrt(expected / n) + 1e-9)
    assert max(found) * PANEL <= 60


def test_the_same_draws_give_the_same_answers():
    one, other = (marks(panel_answers(votes((9, 9, 9, 9)), ("0",), np.random.default_rng(3))) for _ in range(2))
    assert one == other


def test_shares_without_counts_are_refused():
    labels = SoftLabels.from_numpy(["0"], [[0.5, 0.5, 0, 0]], CLASSES)
    with pytest.raises(BadTable, match="expected votes that can be counted"):
        panel_answers(labels, ("0",), np.random.default_rng(0))
