"""`sfumato plan simulate` as a user types it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from sfumato.cli import plan_simulate
from sfumato.planning.informativeness.label_types import (
    COUNTED,
    PLAIN,
    HardLabels,
    SoftLabelType,
    SparseLabels,
    label_kind_named,
)
from sfumato.planning.informativeness.simulation import SimulationGrid
from sfumato.tables.errors import SfumatoError


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: object) -> str:
    done = CliRunner().invoke(plan_simulate.command, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines())) <= 105
    return done.output


def refused(*arguments: object) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(plan_simulate.command, list(map(str, arguments)), catch_exceptions=False)
    return caught.value


def test_the_cells_are_those_of_the_grid() -> None:
    shown = run(
        "--n", "8,10-11", "--k", "3,5", "--d", 4, "--kinds", "soft,hard,sparse:2", "--noise", 0.1, "--seeds", 2,
        "--seed", 7, "--spread", 0.5, "-o", "cells.parquet",
    )  # fmt: skip
    assert "cells.parquet: 36 cells of 12 worlds" in shown
    table = pl.read_parquet("cells.parquet")
    expected = SimulationGrid(
        n=(8, 10, 11), k=(3, 5), d=(4,), kinds=(SoftLabelType(), HardLabels(), SparseLabels(2)), n_seeds=2, seed=7,
        spread=0.5, noise=0.1,
    ).run()  # fmt: skip
    assert table["rho"].to_list() == [cell.rho for cell in expected.cells]
    soft = table.filter(kind="soft")["rho"]
    assert f"   4  soft{soft.mean():>17.2f}{soft.min():>8.2f}{soft.max():>9.2f}" in shown
    better = (table.filter(kind="hard")["rho"] > soft).mean()
    assert next(line for line in shown.splitlines() if "hard" in line).endswith(f"{better:.1%}")


def test_processes_and_more_classes_than_points() -> None:
    given = ("--n", 3, "--k", "3,6", "--d", 2, "--kinds", "soft,similarity", "--less-than-one-shot")
    run(*given, "-o", "one.csv")
    run(*given, "--processes", 2, "-o", "two.csv")
    one, two = (pl.read_csv(name).drop("seconds") for name in ("one.csv", "two.csv"))
    assert one.equals(two)
    assert one["k"].to_list() == [3, 3, 6, 6]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--n", "3", "--k", "5"), "bad-setting", "--less-than-one-shot"),
        (("--k", "1"), "bad-setting", "k = 1"),
        (("--d", "0"), "bad-setting", "d = 0"),
        (("--n", "3x"), "bad-setting", "3,13,20-30"),
        (("--n", "9-3"), "bad-setting", "'9-3'"),
        (("--n", ""), "bad-setting", "--n = ''"),
        (("--kinds", "sfot"), "unknown-kind-of-label", "did you mean 'soft'"),
        (("--kinds", "sparse"), "bad-setting", "as in sparse:3"),
        (("--kinds", "sparse:0"), "bad-setting", "1 or more"),
        (("--kinds", "soft:3"), "bad-setting", "without a number"),
        (("--kinds", "sparse:6"), "bad-setting", "kept = 6"),
        (("--engine", "rya"), "unknown-engine", "did you mean 'ray'"),
        (("--noise", "-1"), "bad-setting", "noise"),
        (("--spread", "nan"), "bad-setting", "spread"),
        (("--seeds", "0"), "bad-setting", "n_seeds"),
        (("--seed", "-1"), "bad-setting", "seed"),
        (("--processes", "0"), "bad-setting", "n_processes"),
    ],
)
def test_grids_that_cannot_be(arguments: tuple[str, ...], code: str, says: str) -> None:
    error = refused(*arguments, "-o", "none.csv")
    assert error.code == code
    assert says in str(error)
    assert not Path("none.csv").exists()


def test_a_file_that_cannot_be_written() -> None:
    assert refused("-o", "nowhere/cells.csv").code
    assert refused("-o", "cells.xyz").code


def test_every_kind_has_a_name() -> None:
    named = [label_kind_named(each) for each in ("hard", "soft", "sparse:2", "top-class:2", "similarity", "triplets:9")]
    assert set(map(type, named)) == {*map(type, PLAIN.values()), *COUNTED.values()}
    assert [each.title for each in named[2:4]] == ["sparse(2)", "top-class(2)"]
