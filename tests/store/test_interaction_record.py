"""Record: time on an answer with hidden and idle stretches taken out, and what a browser may send."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicitation import codebook
from sfumato.store.export import RECORDS
from sfumato.store.interaction_record import InteractionRecord

SPANS = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 120)), max_size=6)


@pytest.mark.parametrize(
    ("hidden", "idle", "seconds"),
    [
        ((), (), 10.0),
        (((1000, 3000),), (), 8.0),
        (((1000, 3000),), ((2000, 5000),), 6.0),
        (((1000, 5000),), ((2000, 3000),), 6.0),
        (((1000, 3000), (3000, 4000)), (), 7.0),
        (((9000, 99_000),), (), 9.0),
        (((20_000, 30_000),), (), 10.0),
        (((0, 10_000),), ((0, 10_000),), 0.0),
        (((5000, 2000),), (), 10.0),
    ],
)
def test_seconds_by_hand(hidden: tuple, idle: tuple, seconds: float) -> None:
    assert InteractionRecord(elapsed_ms=10_000, hidden=hidden, idle=idle).seconds() == pytest.approx(seconds)


@given(st.integers(0, 100), SPANS, SPANS)
def test_seconds_as_counted_on_a_grid_of_milliseconds(
    elapsed: int, hidden: list[tuple[int, int]], idle: list[tuple[int, int]]
) -> None:
    record = InteractionRecord(elapsed_ms=elapsed, hidden=tuple(hidden), idle=tuple(idle))
    here = [ms for ms in range(elapsed) if not any(start <= ms < stop for start, stop in (*hidden, *idle))]
    assert record.seconds() == pytest.approx(len(here) / 1000)


@given(st.floats(0, 1e12), st.lists(st.tuples(st.floats(0, 1e12), st.floats(0, 1e12)), max_size=5))
def test_seconds_are_never_negative_nor_more_than_elapsed(elapsed: float, spans: list[tuple[float, float]]) -> None:
    seconds = InteractionRecord(elapsed_ms=elapsed, hidden=tuple(spans)).seconds()
    assert 0 <= seconds <= elapsed / 1000


def test_every_exported_field_has_a_meaning() -> None:
    assert set(", ".join(codebook.RECORDS).split(", ")) == set(RECORDS.names)


def test_a_record_survives_being_stored() -> None:
    record = InteractionRecord(
        1234.5,
        hidden=((1.0, 2.0),),
        events=((5.0, "keydown", "class:cat", "1"), (6.0, "input", "percent", 40.0)),
        pointer="touch",
        viewport=(360.0, 640.0, 2.0),
        keys={"cat": "1"},
        order=("dog", "cat"),
    )
    assert msgspec.json.decode(msgspec.json.encode(record), type=InteractionRecord) == record


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"elapsed_ms": -1}',
        b'{"elapsed_ms": 1e13}',
        b'{"elapsed_ms": 1, "annotator": "A1"}',
        b'{"elapsed_ms": 1, "pointer": "foot"}',
        b'{"elapsed_ms": 1, "hidden": [[1]]}',
        b'{"elapsed_ms": 1, "cut": -1}',
        b'{"elapsed_ms": 1, "events": [' + b",".join([b'[1, "a", "b", null]'] * 501) + b"]}",
        b'{"elapsed_ms": 1, "order": ["' + b"x" * 201 + b'"]}',
    ],
)
def test_what_no_browser_of_ours_sends_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=InteractionRecord)
