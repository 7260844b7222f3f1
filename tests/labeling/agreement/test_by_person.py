"""Test-retest of each person, by hand, and against the same figure over all people together."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Beliefs
from sfumato.labeling.agreement import RetestSameClass, RetestTotalVariation, agreement
from sfumato.labeling.agreement.test_retest import retest_by_annotator

ROWS = [
    ("i", "a", (0.8, 0.2)),
    ("j", "a", (0.4, 0.6)),
    ("i", "b", (1.0, 0.0)),
    ("i", "c", (0.3, 0.7)),
    ("i", "a", (0.6, 0.4)),  # kept the class, moved .2
    ("j", "a", (0.7, 0.3)),  # changed it, moved .3
    ("i", "c", (0.5, 0.5)),  # both lead now: the class before is still among them; moved .2
]


def beliefs() -> Beliefs:
    items, people, probs = zip(*ROWS, strict=True)
    return Beliefs.from_numpy(list(items), list(people), np.array(probs), ("cat", "dog"))


def test_by_hand() -> None:
    a, c = retest_by_annotator(beliefs()).people  # b was shown nothing twice
    assert (a.annotator, a.n_repeats, a.n_same_class) == ("a", 2, 1)
    assert (c.annotator, c.n_repeats, c.n_same_class) == ("c", 1, 1)
    assert (a.total_variation, c.total_variation) == pytest.approx((0.25, 0.2))


def test_together_people_are_the_study() -> None:
    found = retest_by_annotator(beliefs())
    whole = agreement(beliefs(), measures=(RetestSameClass(), RetestTotalVariation()))
    n = sum(each.n_repeats for each in found.people)
    assert whole.value[1] == pytest.approx(sum(each.n_repeats * each.total_variation for each in found.people) / n)
    assert found.to_polars()["n_repeats"].sum() == whole.n_answers[1]


def test_nobody_was_asked_again() -> None:
    assert len(retest_by_annotator(Beliefs.from_numpy(["i"], ["a"], np.array([[1.0, 0.0]]), ("cat", "dog")))) == 0
