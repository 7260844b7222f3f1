"""The keystroke-level model, by hand: K 0.28, P 1.1, B 0.1, H 0.4, M 1.35 seconds."""

from __future__ import annotations

import numpy as np
import pytest
from keystroke_model import (
    nearest_tokens,
    operators,
    planned_tokens,
    planned_top_two,
    seconds,
)

from sfumato.labeling import TopTwoClamp
from sfumato.tables.annotations import Annotations
from sfumato.tables.payloads import TokensPayload, TopTwoPayload, payload_kind

CLEAR = TopTwoPayload("cat", 100, None, None, ())


def keys(*pressed: str, control: str = "form") -> list[tuple[float, str, str, str]]:
    return [(0.0, "keydown", control, key) for key in pressed]


def clicks(*controls: str) -> list[tuple[float, str, str, str]]:
    """Clicks as a browser reports them, with what follows from them."""
    parts = ("pointerdown", "focus", "pointerup", "click")
    return [(0.0, what, control, "mouse") for control in controls for what in parts]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], ""),
        # A class key, Enter.
        (keys("1", "Enter"), "MKK"),
        # A second class that gets three tokens: one M for it; others: one more.
        (keys("1", "2", "2", "2", "o", "Enter"), "MKMKKKMKK"),
        # Back to the first is a decision of its own.
        (keys("1", "2", "1"), "MKMKMK"),
        # Shift is a key; the modified key has the M.
        (keys("1", "Shift", "!", "Shift", "!"), "MKKMKKK"),
        # A click is pointing, pressing and letting go; again on the same control needs no pointing and no M.
        (clicks("class:cat", "class:dog", "class:dog", "submit"), "MPBBMPBBBBPBB"),
        # Into a field, over to the keyboard, two digits, back to the pointer.
        (clicks("first:cat", "first_percent") + keys("7", "0", control="first_percent") + clicks("second:none"),
         "MPBBMPBBHKKHMPBB"),
        # Typed into a field that a key led to: the number has an M of its own, Tab has none.
        (keys("1") + keys("7", "0", "Tab", control="first_percent") + keys("2", control="second:cat"), "MKMKKKMK"),
        # Boxes of one question are one chunk, by pointer and by keys.
        (clicks("impossible:cat", "impossible:dog"), "MPBBPBB"),
        (keys("1", control="impossible:cat") + keys("2", control="impossible:cat"), "MKK"),
        # Press on one class, let go over another: pointing twice.
        ([(0, "pointerdown", "class:cat", "mouse"), (0, "pointerup", "class:dog", "mouse")], "MPBPB"),
    ],
)  # fmt: skip
def test_operators_by_hand(events: list[tuple[float, str, str, str]], expected: str) -> None:
    assert operators(events) == expected


def test_seconds_by_hand() -> None:
    assert seconds(keys("1", "Enter")) == pytest.approx(1.35 + 2 * 0.28)
    assert seconds(clicks("class:cat") + keys("Enter")) == pytest.approx(1.35 + 1.1 + 0.2 + 0.4 + 0.28)


def test_tokens_are_placed_largest_first() -> None:
    planned = planned_tokens(TokensPayload({"dog": 3, "cat": 7}, True), {"cat": "1", "dog": "2"})
    assert [event[3] for event in planned] == ["1", "2", "2", "2", "o", "Enter"]
    assert operators(planned_tokens(TokensPayload({"cat": 10}, False))) == "MKK"


def test_the_published_form_by_hand() -> None:
    # Class, field and 100, no other class, submit.
    assert operators(planned_top_two(CLEAR)) == "MPBB" + "MPBBHKKK" + "HMPBB" + "PBB"
    doubtful = TopTwoPayload("cat", 70, "dog", 20, ("ship", "frog"))
    expected = "MPBB" + "MPBBHKK" + "HMPBB" + "MPBBHKK" + "HMPBB" + "PBB" + "PBB"
    assert operators(planned_top_two(doubtful)) == expected


def test_nearest_tokens() -> None:
    classes = ("cat", "dog", "ship")
    assert nearest_tokens((0.7, 0.3, 0), classes) == TokensPayload({"cat": 7, "dog": 3}, False)
    assert nearest_tokens((0.61, 0.36, 0.03), classes) == TokensPayload({"cat": 6, "dog": 4}, True)
    assert nearest_tokens((1, 0, 0), classes) == TokensPayload({"cat": 10}, False)


def test_published_answers_take_seconds_as_tokens(first_pass: Annotations) -> None:
    [(answers, inverse, _)] = first_pass.decoded(payload_kind("top_two/1"))
    soft = TopTwoClamp().label(first_pass).soft
    assert soft is not None
    tokens = [seconds(planned_tokens(nearest_tokens(belief, first_pass.classes))) for belief in soft.tolist()]
    top_two = [seconds(planned_top_two(answers[k])) for k in inverse.tolist()]
    assert len(tokens) == len(top_two) == 6200
    assert np.median(tokens) == pytest.approx(3.54)
    assert np.mean(tokens) == pytest.approx(4.21, abs=0.005)
    assert np.median(top_two) == pytest.approx(23.94)
    assert np.mean(top_two) == pytest.approx(23.70, abs=0.005)
