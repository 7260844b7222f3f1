"""`sfumato agreement` as a user types it, and what its page says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sfumato_command import sfumato

from sfumato import Beliefs
from sfumato.labeling.agreement import MEASURES, agreement

PAGE = Path(__file__).parents[3] / "docs" / "agreement.md"


def measured(*arguments: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    return sfumato("agreement", *arguments, cwd=cwd, code=code)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 3, 40), 3)
    chosen = np.where(rng.random(120) < 0.6, truth, rng.integers(0, 3, 120))
    items, people = [f"i{k}" for k in np.repeat(np.arange(40), 3)], list("xyz") * 40
    Beliefs.from_numpy(items, people, chosen, ["cat", "dog", "fox"]).write(tmp_path / "b.parquet")
    return tmp_path


def test_the_table_is_shown_and_written(folder: Path) -> None:
    shown = measured("b.parquet", "-o", "a.csv", cwd=folder).stdout.splitlines()
    ours = agreement(Beliefs.read(folder / "b.parquet"))
    written = pl.read_csv(folder / "a.csv")
    assert written.columns == [
        "measure", "value", "low", "high", "n_items", "n_annotators", "n_answers", "interval", "share_items",
        "share_annotators", "share_answers", "half_same_annotators", "half_twice_items", "half_twice_annotators",
    ]  # fmt: skip
    assert written["value"].to_list() == pytest.approx(ours.value.tolist(), abs=1e-12)
    assert written["high"].to_list() == pytest.approx(ours.high.tolist(), abs=1e-12)
    assert shown[0] == "a.csv: Agreement, 2 measures"
    assert shown[2].split() == [
        "alpha-nominal", f"{ours.value[0]:.3f}", f"{ours.low[0]:.3f}", f"{ours.high[0]:.3f}", "40", "3", "120",
    ]  # fmt: skip
    assert len({len(line) for line in shown[1:4]}) == 1
    assert shown[4] == "interval of alpha-nominal: 95% jackknife of Fisher's z over people and items"
    assert shown[5] == "interval of total-variation: 95% jackknife of logit over people and items"
    half = (ours.high[0] - ours.low[0]) / 2
    widths = [half, ours.half_same_annotators[0], ours.half_twice_items[0], ours.half_twice_annotators[0]]
    shares = [ours.share_items[0], ours.share_annotators[0], ours.share_answers[0]]
    expected = ["alpha-nominal", *(f"{each:.3f}" for each in widths), *(f"{each:.0%}" for each in shares)]
    assert shown[8].split() == expected
    assert sum(shares) == pytest.approx(1)
    assert str(ours).splitlines() == shown[1:]


def test_counts_say_that_annotators_are_taken_as_fixed(folder: Path) -> None:
    (folder / "c.csv").write_text("item,n:cat,n:dog\n1,3,2\n2,5,0\n3,1,4\n4,0,5\n")
    shown = measured("c.csv", cwd=folder).stdout.splitlines()
    assert shown[1].split()[5] == "-"
    fixed = "over items; people are taken as fixed: counts have no annotators"
    assert shown[3:] == [
        f"interval of alpha-nominal: 95% jackknife of Fisher's z {fixed}",
        f"interval of total-variation: 95% jackknife of logit {fixed}",
    ]


def test_measures_by_name(folder: Path) -> None:
    done = measured(
        "b.parquet", "--measure", "alpha-ordinal", "--measure", "retest-same-class", "--level", 0.8, cwd=folder
    )
    assert done.stdout.splitlines()[1].startswith("alpha-ordinal")
    assert "interval of alpha-ordinal: 80% jackknife of Fisher's z over people and items" in done.stdout
    assert "interval of retest-same-class: none: nothing to compare" in done.stdout
    said = done.stderr.splitlines()
    assert said[0].startswith(
        "warning: alpha-ordinal used the order of the classes in the table, cat < dog < fox, which"
    )
    assert said[1:] == ["warning: retest-same-class cannot be computed: nobody answered about the same item twice"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--measure", "kappa"), "error[unknown-measure] found measure 'kappa'; expected one of alpha-nominal"),
        (("--level", 95), "error[bad-setting] found level = 95.0"),
        (("-o", "b.parquet"), "error[bad-setting] found the same file"),
    ],
)
def test_errors(arguments: tuple[object, ...], error: str, folder: Path) -> None:
    assert measured("b.parquet", *arguments, cwd=folder, code=2).stderr.startswith(error)


def test_errors_as_json_and_empty_tables(folder: Path) -> None:
    (folder / "none.csv").write_text("item,annotator,p:cat,p:dog\n")
    assert json.loads(measured("none.csv", "--json", cwd=folder, code=2).stderr)["code"] == "no-rows"


def test_help_and_page_name_every_measure(folder: Path) -> None:
    shown, page = measured("--help", cwd=folder).stdout, PAGE.read_text()
    assert [each.name for each in MEASURES if f"  {each.name} " not in shown] == []
    assert [each.name for each in MEASURES if f"`{each.name}`" not in page] == []


def test_one_annotator_has_nobody_to_compare_with(folder: Path) -> None:
    (folder / "one.csv").write_text("item,annotator,label\na,x,cat\nb,x,dog\n")
    assert measured("one.csv", cwd=folder).stdout == "nothing to compare: no item was answered by two people\n"
