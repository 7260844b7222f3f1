"""Rows that are changed, deleted or inserted by hand are listed, and no others, on both databases."""

from __future__ import annotations

from pathlib import Path

from tamper_trial import CHANGES, tamper_trial

from sfumato.store.verification import COLUMNS


def test_all_tampered_rows_are_listed(store: str) -> None:
    report = tamper_trial(store, 12, seed=1)
    print(report)
    assert report.clean, report


def test_control_a_chain_without_a_column_is_detected(tmp_path: Path) -> None:
    report = tamper_trial(str(tmp_path / "a.sqlite"), 2, seed=2, ignored=("payload",))
    print(report)
    assert report.listed == 0


def test_all_columns_except_ids_are_tampered_with() -> None:
    assert {*CHANGES} == {*COLUMNS, "chain"} - {"id", "study", "annotator", "item", "trial", "number", "purpose"}
