"""Helpers of importers: finding files, and locations of errors."""

from __future__ import annotations

import pytest

from sfumato.importers.importer import find_file, located_in
from sfumato.tables.errors import BadFile, BadTable, ErrorLocation


def test_a_file_is_itself_whatever_its_name(written):
    path = written("other.csv", "x")
    assert find_file(path, ("a.csv",)) == path
    assert find_file(str(path), ("a.csv",)) == path


def test_a_folder_holds_the_first_known_name(written, tmp_path):
    second = written("b.csv", "x")
    assert find_file(tmp_path, ("a.csv", "b.csv")) == second
    first = written("a.csv", "x")
    assert find_file(tmp_path, ("a.csv", "b.csv")) == first


def test_what_is_not_there_is_an_error(tmp_path, written):
    with pytest.raises(BadFile, match=r"no files; expected a file named a\.csv or b\.csv"):
        find_file(tmp_path, ("a.csv", "b.csv"))
    written("near.csv", "x")
    with pytest.raises(BadFile, match=r"found no such file.*'near.csv'") as caught:
        find_file(tmp_path / "far.csv", ("a.csv",))
    assert caught.value.code == "no-such-file"


def fault(where: ErrorLocation) -> BadTable:
    return BadTable("found x", expected="y", fix="z", code="some-code", where=where)


def test_an_error_without_a_file_is_given_one(tmp_path):
    path = tmp_path / "a.csv"
    with pytest.raises(BadTable) as caught, located_in(path):
        raise fault(ErrorLocation(row=3, column="item"))
    assert caught.value.where == ErrorLocation(str(path), row=3, column="item")
    assert str(caught.value).startswith(f"error[some-code] {path}:row 3:item found x")


def test_an_error_that_names_its_file_keeps_it(tmp_path):
    with pytest.raises(BadTable) as caught, located_in(tmp_path / "a.csv", "item"):
        raise fault(ErrorLocation("b.csv", line=7))
    assert caught.value.where == ErrorLocation("b.csv", line=7)


def test_a_column_is_named_where_the_error_names_none(tmp_path):
    path = tmp_path / "a.csv"
    with pytest.raises(BadTable) as caught, located_in(path, "probs"):
        raise fault(ErrorLocation(row=3))
    assert caught.value.where == ErrorLocation(str(path), row=3, column="probs")
