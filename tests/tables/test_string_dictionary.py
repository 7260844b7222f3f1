"""Ids joined by compiled code are the ids a dictionary would give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Beliefs
from sfumato.tables import text_columns
from sfumato.tables.string_dictionary import StringDictionary, coded_texts


def by_dictionary(chunks: Sequence[Sequence[str]]) -> tuple[list[list[int]], list[str]]:
    known: dict[str, int] = {}
    codes = [[known.setdefault(text, len(known)) for text in chunk] for chunk in chunks]
    return codes, list(known)


@given(chunks=st.lists(st.lists(st.text(max_size=6), max_size=40), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_numbers_are_those_of_a_dictionary(chunks: list[list[str]]) -> None:
    chunks = [[text.encode("utf-8", "replace").decode() for text in chunk] for chunk in chunks]
    expected, names = by_dictionary(chunks)
    joined = StringDictionary(pa.array([], pa.string()))
    assert [joined.codes_of(pa.array(chunk, pa.string())).tolist() for chunk in chunks] == expected
    assert joined.names().to_pylist() == names


def test_many_texts_over_many_growths() -> None:
    rng = np.random.default_rng(0)
    chunks = [[f"item-{i}" for i in rng.integers(0, 60_000, 20_000)] for _ in range(8)]
    expected, names = by_dictionary(chunks)
    joined = StringDictionary(pa.array(names[:10], pa.string()))
    assert [joined.codes_of(pa.array(chunk)).tolist() for chunk in chunks] == expected
    assert joined.names().to_pylist() == names


def test_a_long_column_is_coded_as_a_dictionary_would() -> None:
    rng = np.random.default_rng(2)
    column = [f"item-{i}" for i in rng.integers(0, 30_000, 300_001)]
    (expected,), names = by_dictionary([column])
    for kind in (pa.string(), pa.large_string()):
        coded = coded_texts(pa.array(column, kind))
        assert coded.indices.to_pylist() == expected
        assert coded.dictionary.to_pylist() == names


def test_a_slice_is_read_from_where_it_begins() -> None:
    joined = StringDictionary(pa.array(["a"], pa.string()))
    assert joined.codes_of(pa.array(["x", "bb", "a", "bb"]).slice(1)).tolist() == [1, 0, 1]
    assert joined.names().to_pylist() == ["a", "bb"]


def test_texts_that_share_their_beginning_or_length_stay_apart() -> None:
    names = ["", "a", "aa", "aaa", "ab", "ba", "\u00e9", "e\u0301"]
    joined = StringDictionary(pa.array([], pa.string()))
    assert joined.codes_of(pa.array(names)).tolist() == list(range(len(names)))


def test_files_are_read_alike_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    items, people = rng.integers(0, 500, 5_000).astype(str), rng.integers(0, 40, 5_000).astype(str)
    Beliefs.from_votes(item=items, annotator=people, label=rng.integers(0, 3, 5_000)).write(tmp_path / "b.csv")
    plain = Beliefs.read(tmp_path / "b.csv")
    monkeypatch.setattr(text_columns, "MANY_ROWS", -1)
    joined = Beliefs.read(tmp_path / "b.csv")
    assert joined.item.text().to_pylist() == plain.item.text().to_pylist() == items.tolist()
    assert joined.annotator.text().to_pylist() == people.tolist()
    assert joined.item.names.to_pylist() == plain.item.names.to_pylist()
