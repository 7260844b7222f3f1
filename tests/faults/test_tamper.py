"""Rows changed, deleted and put in by hand are named, each of them and no other, on both databases."""

from __future__ import annotations

from pathlib import Path

from tamper_trial import CHANGES, tamper_trial

from sfumato.store.verification import COLUMNS


def test_every_row_that_was_tampered_with_is_named(store: str) -> None:
    report = tamper_trial(store, 12, seed=1)
    print(report)
    assert report.clean, report


def test_a_chain_that_leaves_a_column_out_is_found_out(tmp_path: Path) -> None:
    report = tamper_trial(str(tmp_path / "a.sqlite"), 2, seed=2, unseen=("payload",))
    print(report)
    assert report.named == 0


def test_what_is_not_a_number_of_another_row_is_tampered_with() -> None:
    assert {*CHANGES} == {*COLUMNS, "chain"} - {"id", "study", "annotator", "item", "trial", "number", "purpose"}
