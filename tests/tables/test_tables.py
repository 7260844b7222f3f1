"""Tables in and out of other libraries, what they refuse, and how they look in a notebook."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Annotations, Beliefs, SfumatoWarning, SoftLabels
from sfumato.tables.errors import BadProbabilities, BadTable, InvalidAnswer, MissingExtra, UnknownName

CLASSES = ("cat", "dog")
SOFT = [[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]
BELIEFS = Beliefs.from_numpy(["007", "7", "007"], ["NA", "b", "b"], SOFT, CLASSES)
LABELS = SoftLabels.from_numpy(["007", "7", "1e5"], SOFT, CLASSES, [3, 0, 9])


def answers(**columns: list[object]) -> pa.Table:
    filled = {"item": ["i"], "annotator": ["a"], "kind": ["choice/1"], "payload": ['{"class": "cat"}'], **columns}
    return pa.table(filled)


@pytest.mark.parametrize("frame", [BELIEFS.to_arrow(), BELIEFS.to_polars(), BELIEFS.to_pandas(), BELIEFS], ids=type)
def test_beliefs_from_any_library(frame: object) -> None:
    again = Beliefs.from_arrow(frame, CLASSES)
    assert again.item.text().to_pylist() == ["007", "7", "007"]
    assert again.annotator.text().to_pylist() == ["NA", "b", "b"]
    assert np.array_equal(again.probs, SOFT)


@pytest.mark.parametrize("frame", [LABELS.to_arrow(), LABELS.to_polars(), LABELS.to_pandas(), LABELS], ids=type)
def test_soft_labels_from_any_library(frame: object) -> None:
    again = SoftLabels.from_arrow(frame, CLASSES)
    assert again.items.to_pylist() == ["007", "7", "1e5"]
    assert np.array_equal(again.probs, SOFT)
    assert again.n_annotators is not None
    assert again.n_annotators.tolist() == [3, 0, 9]


def test_other_libraries_take_our_tables() -> None:
    assert isinstance(pl.DataFrame(BELIEFS), pl.DataFrame)
    assert pa.table(LABELS).column_names == ["item", "probs", "n_annotators"]
    assert list(LABELS.to_pandas().columns) == ["item", "p:cat", "p:dog", "n_annotators"]


def test_annotations_keep_what_was_said() -> None:
    frame = pd.DataFrame(
        {
            "item": ["1", "2"],
            "annotator": ["a", "b"],
            "kind": ["choice/1"] * 2,
            "payload": ['{"class":   "cat"}', '{"class": "dog"}'],
            "trial": [4, 5],
            "purpose": ["check", "label"],
            "started_at": pd.to_datetime(["2026-01-31T12:00:00.123Z", None]),
            "seconds": [1.5, None],
        }
    )
    table = Annotations.from_arrow(frame, CLASSES).to_arrow()
    assert table.schema.field("started_at").type == pa.timestamp("ms", "UTC")
    row = table.to_pylist()[0]
    assert row["payload"] == '{"class":   "cat"}'
    assert (row["trial"], row["purpose"], row["seconds"]) == (4, "check", 1.5)
    assert row["started_at"].isoformat() == "2026-01-31T12:00:00.123000+00:00"
    assert table.to_pylist()[1]["seconds"] is None


def test_hard_votes_cost_an_integer() -> None:
    hard = Beliefs.from_numpy(["x"] * 1000, [f"a{i}" for i in range(1000)], np.arange(1000) % 2, CLASSES)
    spelled_out = Beliefs.from_numpy(
        ["x"] * 1000, [f"a{i}" for i in range(1000)], np.eye(2)[np.arange(1000) % 2], CLASSES
    )
    for beliefs in (hard, spelled_out):
        assert beliefs.soft is None
        assert beliefs.hard is not None
        assert beliefs.hard.nbytes + beliefs.item.codes.nbytes + beliefs.annotator.codes.nbytes == 10 * 1000
    assert np.array_equal(hard.probs, spelled_out.probs)
    assert hard.coded().n_annotators == 1000


def test_one_soft_row_among_hard_ones() -> None:
    rows = np.eye(2)[[0, 1, 1, 0]]
    rows[2] = [0.5, 0.5]
    assert np.array_equal(Beliefs.from_numpy(list("abcd"), list("wxyz"), rows, CLASSES).probs, rows)


def test_integers_become_their_digits_and_floats_do_not() -> None:
    table = pa.table(
        {"item": pa.array([7, 2**53 + 1]), "annotator": pa.array([1, 2]), "p:cat": [1.0, 0], "p:dog": [0.0, 1]}
    )
    assert Beliefs.from_arrow(table).item.names.to_pylist() == ["7", str(2**53 + 1)]
    with pytest.raises(BadTable, match="convert the column to text"):
        Beliefs.from_arrow(table.set_column(0, "item", pa.array([7.0, 8.0])))


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ([0.5, 0.4], "bad-sum"),
        ([1.5, -0.5], "negative"),
        ([np.nan, 1.0], "not-finite"),
        ([np.inf, 0.0], "not-finite"),
        ([0.0, 0.0], "all-zero"),
        ([60.0, 40.0], "percentages"),
    ],
)
def test_rows_that_are_no_distribution_are_refused(row: list[float], code: str) -> None:
    with pytest.raises(BadProbabilities) as caught:
        SoftLabels.from_numpy(["a", "b"], [[0.5, 0.5], row], CLASSES)
    assert (caught.value.code, caught.value.where.row) == (code, 1)


def test_rows_are_kept_as_they_are() -> None:
    rows = np.array([[0.333333, 0.666666]])
    assert np.array_equal(SoftLabels.from_numpy(["a"], rows, CLASSES).probs, rows)


def test_an_item_stands_once_in_soft_labels() -> None:
    with pytest.raises(BadTable, match="item 'a' a second time") as caught:
        SoftLabels.from_numpy(["a", "b", "a"], SOFT, CLASSES)
    assert caught.value.where.row == 2


@pytest.mark.parametrize("classes", [("cat",), ("cat", "cat"), ("cat", " ")])
def test_classes_must_be_two_or_more_names(classes: tuple[str, ...]) -> None:
    with pytest.raises(BadTable, match="at least two different classes"):
        SoftLabels.from_numpy(["a"], [[1.0] + [0.0] * (len(classes) - 1)], classes)


def test_annotations_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(InvalidAnswer, match="JSON object"):
        Annotations.from_arrow(answers(payload=["[1]"]))
    with pytest.raises(UnknownName, match="did you mean 'choice/1'"):
        Annotations.from_arrow(answers(kind=["choise/1"]))
    with pytest.raises(UnknownName, match="one of label, check, repeat"):
        Annotations.from_arrow(answers(purpose=["test"]))
    with pytest.raises(BadTable, match="'payload'"):
        Annotations.from_arrow(answers().drop_columns("payload"))
    with pytest.warns(SfumatoWarning, match="are ignored: colour"):
        Annotations.from_arrow(answers(colour=["red"]))


def test_labels_are_matched_by_name() -> None:
    assert LABELS.rows_of(["1e5", "007"]).tolist() == [2, 0]
    with pytest.raises(BadTable, match="no label for item '8'"):
        LABELS.rows_of(["7", "8"])


def test_tables_are_frozen_and_leave_your_arrays_alone() -> None:
    mine = np.array(SOFT)
    table = SoftLabels(pa.array(["a", "b", "c"]), CLASSES, mine, None)
    coded = BELIEFS.coded()
    annotations = Annotations.from_arrow(answers(seconds=[1.0]))
    for array in (table.probs, coded.soft, coded.item, coded.annotator, annotations.seconds):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    mine[0] = 0


def test_notebooks_show_distributions_and_run_nothing() -> None:
    nasty = SoftLabels.from_numpy(["<script>alert(1)</script>"], [[0.25, 0.75]], ("<b>cat</b>", "dog"))
    html = nasty._repr_html_()
    assert "<script>" not in html
    assert "<b>cat" not in html
    assert "width:25.00%" in html
    assert "SoftLabels: 1 rows" in html
    assert "choice/1" in Annotations.from_arrow(answers())._repr_html_()


names = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1).filter(str.strip)


@given(
    items=st.lists(names, min_size=1, max_size=8, unique=True),
    classes=st.lists(names, min_size=2, max_size=4, unique=True),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_any_names_survive_arrow(items: list[str], classes: list[str], seed: int) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.ones(len(classes)), len(items))
    labels = SoftLabels.from_numpy(items, probs, classes)
    again = SoftLabels.from_arrow(labels.to_arrow())
    assert again.items.to_pylist() == items
    assert again.classes == tuple(classes)
    assert np.array_equal(again.probs, probs)
    assert json.loads(labels.to_arrow().schema.metadata[b"sfumato.classes"]) == classes


def test_without_pandas_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.tables.base_table.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        LABELS.to_pandas()


def test_own_files_with_many_classes_are_no_bombs(tmp_path: Path) -> None:
    classes = [f"class {k}" for k in range(1000)]
    labels = SoftLabels.from_numpy([f"i{i}" for i in range(20_000)], np.eye(1000)[np.arange(20_000) % 1000], classes)
    labels.write(tmp_path / "own.parquet")
    assert np.array_equal(SoftLabels.read(tmp_path / "own.parquet").probs, labels.probs)


def test_classes_are_matched_by_name_or_refused() -> None:
    with pytest.raises(BadTable, match="in the table itself"):
        SoftLabels.from_arrow(LABELS.to_arrow(), classes=["dog", "cat"])
    wide = SoftLabels.from_arrow(LABELS.to_pandas(), classes=["dog", "cat"])
    assert wide.classes == ("dog", "cat")
    assert np.array_equal(wide.probs[:, ::-1], LABELS.probs)
    with pytest.raises(BadTable, match="columns for the classes"):
        SoftLabels.from_arrow(LABELS.to_pandas(), classes=["x", "y"])


def test_one_text_for_all_classes_is_refused() -> None:
    for make in (
        lambda: Annotations.from_arrow(answers(), classes="cat,dog"),
        lambda: SoftLabels.from_numpy(["a"], [[1, 0]], "cat,dog"),
        lambda: Beliefs.from_numpy(["a"], ["x"], [[1, 0]], "cat,dog"),
    ):
        with pytest.raises(BadTable, match=r"write \['cat', 'dog'\]"):
            make()


def test_a_bad_payload_is_found_in_its_own_row(tmp_path: Path) -> None:
    n = 300_000
    payloads = ['{"class": "cat"}'] * n
    payloads[n - 5] = "oops"
    table = pa.table({"item": ["i"] * n, "annotator": ["a"] * n, "kind": ["choice/1"] * n, "payload": payloads})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InvalidAnswer) as caught:
        Annotations.read(tmp_path / "a.parquet")
    assert caught.value.where.row == n - 5


def test_beliefs_must_fit_together() -> None:
    coded = BELIEFS.item
    with pytest.raises(BadTable, match="classes numbered 0 to 1"):
        Beliefs(coded, coded, CLASSES, hard=np.array([0, 1, 2]))


def test_errors_survive_a_process_pool() -> None:
    with pytest.raises(BadTable) as caught:
        LABELS.rows_of(["8"])
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (type(again), str(again), again.where) == (BadTable, str(caught.value), caught.value.where)
