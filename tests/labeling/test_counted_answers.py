"""Which answers count: the first pass in labels and uncertainty, repeats for test-retest only, checks never."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.aggregate import command as aggregate_command
from sfumato.cli.agreement import command as agreement_command
from sfumato.cli.doubt import command as doubt_command
from sfumato.cli.label import command as label_command
from sfumato.planning.pilot_answers import Pilot
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable, SfumatoWarning

LABELS = {"a": "cat", "b": "cat", "c": "dog", "d": "dog", "e": "dog"}
"""The first answer of five annotators; two of them are asked again and change their mind."""
REPEATS = {"a": "dog", "b": "dog"}


def annotations(purposes: tuple[str, ...] = ("label", "repeat", "check")) -> Annotations:
    rows = [("pet", name, label, "label") for name, label in LABELS.items()]
    rows += [("pet", name, label, "repeat") for name, label in REPEATS.items()]
    rows += [("test", name, "cat", "check") for name in LABELS]
    kept = [row for row in rows if row[3] in purposes]
    item, annotator, label, purpose = zip(*kept, strict=True)
    columns = {
        "item": item,
        "annotator": annotator,
        "kind": ["choice/1"] * len(kept),
        "payload": [json.dumps({"class": each}) for each in label],
        "purpose": purpose,
    }
    return Annotations.from_arrow(pa.table({name: list(values) for name, values in columns.items()}), ("cat", "dog"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    annotations().write(tmp_path / "annotations.parquet")
    monkeypatch.chdir(tmp_path)
    return "annotations.parquet"


def run(command: object, *arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    return result.output


def test_every_function_counts_the_first_pass() -> None:
    answers = annotations()
    labels = sf.aggregate(answers)
    assert labels.items.to_pylist() == ["pet"]
    np.testing.assert_allclose(labels.probs, [[0.4, 0.6]])
    assert labels.n_annotators is not None
    assert labels.n_annotators.tolist() == [5]
    doubt = sf.doubt(answers)
    assert doubt.total == pytest.approx(-0.4 * np.log(0.4) - 0.6 * np.log(0.6))
    inputs = ReportInputs(annotations=answers)
    assert inputs.mean_labels is not None
    np.testing.assert_allclose(inputs.mean_labels.probs, labels.probs)
    np.testing.assert_allclose(Pilot.of(answers).counts, [[2, 3]])


def test_repeats_count_if_asked_for_and_annotators_are_counted_once() -> None:
    with pytest.warns(SfumatoWarning, match="2 repeated answers"):
        labels = sf.aggregate(annotations(), repeats=True)
    np.testing.assert_allclose(labels.probs, [[2 / 7, 5 / 7]])
    assert labels.n_annotators is not None
    assert labels.n_annotators.tolist() == [5]
    assert sf.doubt(annotations(), repeats=True).total != sf.doubt(annotations()).total


def test_agreement_uses_repeats_for_test_retest_only() -> None:
    both, first = (
        {row["measure"]: row for row in sf.agreement(answers).to_polars().to_dicts()}
        for answers in (annotations(), annotations(("label",)))
    )
    assert both["retest-same-class"]["value"] == 0
    assert both["retest-same-class"]["n_answers"] == 2
    assert "retest-same-class" not in first
    assert both["total-variation"] == first["total-variation"]


def test_every_command_counts_the_first_pass(file: str) -> None:
    run(label_command, file, "--by", "one-hot", "-o", "beliefs.parquet")
    run(aggregate_command, "beliefs.parquet", "-o", "labeled.csv")
    assert "7 of 12 answers not counted (checks or repeats)" in run(aggregate_command, file, "-o", "labels.csv")
    assert Path("labels.csv").read_text() == Path("labeled.csv").read_text()
    run(doubt_command, "beliefs.parquet", "-o", "labeled-doubt.csv")
    run(doubt_command, file, "-o", "doubt.csv")
    assert Path("doubt.csv").read_text() == Path("labeled-doubt.csv").read_text()
    run(doubt_command, file, "--repeats", "-o", "all.csv")
    assert pl.read_csv("all.csv")["total"].to_list() != pl.read_csv("doubt.csv")["total"].to_list()
    output = run(agreement_command, file)
    assert "5 of 12 answers not counted (checks)" in output
    assert "retest-same-class" in output


def test_repeats_can_be_averaged(file: str) -> None:
    run(aggregate_command, file, "--average-repeats", "-o", "labels.csv")
    row = pl.read_csv("labels.csv").row(0, named=True)
    # a and b count once each, half for each class.
    assert (row["p:cat"], row["n_annotators"]) == (pytest.approx(0.2), 5)


def test_checks_alone_are_an_error() -> None:
    with pytest.raises(BadTable, match="only answers with purpose check; expected answers with purpose label"):
        sf.aggregate(annotations(("check",)))
