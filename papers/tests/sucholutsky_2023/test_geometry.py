"""The figures of label geometry show what was simulated, and say it rightly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from sfumato.planning.costs import CostModel
from sfumato.planning.informativeness.simulation import Cells, SimulationGrid
from sfumato.planning.label_type_comparison import value_map
from sfumato.tables.errors import BadTable
from sfumato_papers.finding import Estimate
from sfumato_papers.sucholutsky_2023 import geometry_runs
from sfumato_papers.sucholutsky_2023.geometry_figures import (
    dimensionality_plot,
    geometry_page,
    loss_curves,
    loss_maps,
    noise_curves,
    recovery_maps,
    sparsity_curves,
    value_maps,
)
from sfumato_papers.sucholutsky_2023.geometry_runs import GeometryRuns, averaged, noise_runs, read_cells, sparsity_runs


@pytest.fixture(scope="module")
def cells() -> Cells:
    return SimulationGrid(n=(3, 8, 20), k=(3, 8, 20), d=(5, 25)).run()


@pytest.fixture(scope="module")
def runs(cells: Cells) -> GeometryRuns:
    values = value_map(
        ("choice", "sliders"), CostModel(), yours=(300, 4), n=(10, 20), k=(2, 5), seeds=1, rng=np.random.default_rng(0)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry_runs, "NOISES", (0.0, 0.5, 2.0))
        patch.setattr(geometry_runs, "NOISY_SEEDS", 4)
        patch.setattr(geometry_runs, "SPARSE_SIZES", ((30, 10), (90, 30)))
        patch.setattr(geometry_runs, "SPARSE_SEEDS", 2)
        return GeometryRuns((300, 4), cells, noise_runs(), sparsity_runs(), values)


def test_intervals_are_students() -> None:
    values = np.random.default_rng(0).normal(size=12).tolist()
    low, high = t.interval(0.95, 11, np.mean(values), np.std(values, ddof=1) / np.sqrt(12))
    found = Estimate.over_seeds(values)
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(values), low, high))


def test_cells_are_read_as_they_were_written(cells: Cells, tmp_path: Path) -> None:
    for name in ("cells.parquet", "cells.csv"):
        cells.write(tmp_path / name)
        read = read_cells(tmp_path / name).cells
        assert len(read) == len(cells.cells)
        for found, written in zip(read, cells.cells, strict=True):
            assert replace(found, points_rho=0.0) == replace(written, points_rho=0.0)
            assert found.points_rho == pytest.approx(written.points_rho, nan_ok=True)


def test_other_tables_are_no_cells(cells: Cells, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("item,p:cat\na,1\n")
    with pytest.raises(BadTable, match="a column 'n'"):
        read_cells(tmp_path / "other.csv")
    Cells(tuple(cell for cell in cells.cells if cell.kind == "soft")).write(tmp_path / "soft.csv")
    with pytest.raises(BadTable, match=r"none of hard ones.*Grid\(\.\.\.\)\.run\(\)"):
        read_cells(tmp_path / "soft.csv")
    text = (tmp_path / "soft.csv").read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([text[0], text[1].replace("3", "three", 1)]))
    with pytest.raises(BadTable, match=r"n found .three.; expected a whole number"):
        read_cells(tmp_path / "bad.csv")


def test_maps_show_the_cells(runs: GeometryRuns) -> None:
    chart = recovery_maps(runs, None)
    soft = [cell for cell in runs.cells.cells if cell.kind == "soft"]
    hard = [cell for cell in runs.cells.cells if cell.kind == "hard"]
    assert chart.columns["rho"] == tuple(cell.rho for cell in (*soft, *hard))
    assert f"{np.mean([cell.rho for cell in soft]):.2f} on average with soft labels" in chart.caption
    better = np.mean([a.rho >= b.rho for a, b in zip(soft, hard, strict=True)])
    assert f"in {better:.0%} of the worlds" in chart.caption


def test_worlds_of_one_size_are_averaged() -> None:
    cells = SimulationGrid(n=(8,), k=(3,), d=(5,), n_seeds=3).run().cells
    (mean,) = averaged(cells, "hard")
    hard = [cell for cell in cells if cell.kind == "hard"]
    assert len(hard) == 3
    assert mean.rho == pytest.approx(sum(cell.rho for cell in hard) / 3)
    assert (mean.n, mean.k, mean.d) == (8, 3, 5)


def test_correlations_are_those_of_the_points(runs: GeometryRuns) -> None:
    chart = dimensionality_plot(runs, None)
    for d in (5, 25):
        cells = [cell for cell in runs.cells.cells if cell.kind == "soft" and cell.d == d]
        r = np.corrcoef([cell.information_ratio for cell in cells], [cell.effective_dimensionality for cell in cells])
        assert f"{r[0, 1]:.2f} in {d} dimensions" in chart.caption


def test_losses_by_hand(runs: GeometryRuns) -> None:
    chart = loss_maps(runs, None, beta=0.1)
    rho = {(cell.kind, cell.n, cell.k): cell.rho for cell in runs.cells.cells if cell.d == 5}
    gains = dict(
        zip(zip(*(chart.columns[c] for c in ("utility", "n", "k")), strict=True), chart.columns["gain"], strict=True)
    )
    by_hand = (0.1 - rho["hard", 20, 8]) - (0.8 - rho["soft", 20, 8])
    assert gains["linear utility", 20, 8] == pytest.approx(by_hand)
    assert max(map(abs, chart.columns["relative"])) == pytest.approx(1)


def test_the_best_number_of_classes_is_where_the_loss_is_least(runs: GeometryRuns) -> None:
    chart = loss_curves(runs, None)
    linear = [i for i, name in enumerate(chart.columns["utility"]) if name == "linear utility"]
    least = min(linear, key=lambda i: chart.columns["loss"][i])
    kind, kept = chart.columns["kind"][least], chart.columns["kept"][least]
    assert f"{kind} labels of {kept} class" in chart.caption


def test_more_classes_and_less_noise_recover_more(runs: GeometryRuns) -> None:
    sparse = sparsity_curves(runs, None).columns
    for size in dict.fromkeys(sparse["size"]):
        rho = {
            (kind, kept): value
            for name, kind, kept, value in zip(*(sparse[c] for c in ("size", "kind", "kept", "rho")), strict=True)
            if name == size
        }
        most = max(kept for _, kept in rho)
        # With all classes kept, both are soft labels.
        assert rho["sparse", most] == pytest.approx(rho["soft", most])
        assert rho["top-class", most] == pytest.approx(rho["soft", most])
    noise = noise_curves(runs, None).columns
    soft = [rho for kind, rho in zip(noise["kind"], noise["rho"], strict=True) if kind == "soft"]
    assert soft == sorted(soft, reverse=True)


def test_your_own_data_are_marked(runs: GeometryRuns) -> None:
    chart = value_maps(runs, None)
    rows = list(zip(*(chart.columns[c] for c in ("comparison", "n", "k", "gain")), strict=True))
    yours = {cell.kind: cell for cell in runs.values.cells if cell.yours}
    gain = yours["sliders"].rho_items - yours["choice"].rho_items
    assert ("at equal items", 300, 4, pytest.approx(gain)) in rows
    assert f"{gain:+.2f}".replace("-", "−") in chart.caption
    marked = [rows for name, rows in chart.spec["datasets"].items() if name != "rows"]
    assert marked == [[{"n": 300, "k": 4}]]


def test_the_page_has_every_figure_and_says_how_it_was_made(runs: GeometryRuns) -> None:
    page = geometry_page(runs, command="sfumato plan figures", cells="cells.parquet")
    assert len(page.charts) == 8
    assert all("<svg" in chart.svg() for chart in page.charts)
    html = page.html()
    assert "300 items of 4 classes" in html
    assert "<code>cells.parquet</code>" in html
