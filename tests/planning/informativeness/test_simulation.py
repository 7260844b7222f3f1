"""Grids of simulations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.planning.informativeness.embedding import Gnmds
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TripletLabels,
)
from sfumato.planning.informativeness.simulation import GridCell, SimulationGrid
from sfumato.tables.errors import BadSetting

SMALL = SimulationGrid(
    n=(4, 12), k=(3, 6), d=(2, 5), kinds=(SoftLabelType(), HardLabels(), SparseLabels(2)), n_seeds=2, noise=0.2
)


def figures(cells: tuple[GridCell, ...]) -> list[tuple[object, ...]]:
    """Everything but the time."""
    return [
        (c.n, c.k, c.d, c.kind, c.seed, c.n_triplets, c.information_ratio, c.rho, c.effective_dimensionality)
        for c in cells
    ]


def test_every_cell_once_and_in_order() -> None:
    done: list[tuple[int, int]] = []
    cells = SMALL.run(progress=lambda n, of: done.append((n, of))).cells
    assert len(cells) == 2 * 2 * 2 * 2 * 3
    assert done == [(i + 1, 16) for i in range(16)]
    assert [(c.n, c.k, c.d, c.seed, c.kind) for c in cells[:4]] == [
        (4, 3, 2, 0, "soft"),
        (4, 3, 2, 0, "hard"),
        (4, 3, 2, 0, "sparse:2"),
        (4, 3, 2, 1, "soft"),
    ]
    for cell in cells:
        if cell.kind == "soft":
            assert cell.n_triplets == SoftLabelType().n_triplets(cell.n, cell.k)
        if cell.kind == "hard":
            assert cell.n_triplets <= HardLabels().n_triplets(cell.n, cell.k)
        assert -1 <= cell.rho <= 1
        assert 1 <= cell.effective_dimensionality <= cell.d


def test_a_world_does_not_depend_on_the_rest_of_the_grid() -> None:
    alone = SimulationGrid(n=(12,), k=(6,), d=(5,), kinds=(SoftLabelType(),), noise=0.2).run().cells
    among = [c for c in SMALL.run().cells if (c.n, c.k, c.d, c.kind, c.seed) == (12, 6, 5, "soft", 0)]
    assert figures(alone) == figures(tuple(among))
    assert figures(
        SimulationGrid(n=(12,), k=(6,), d=(5,), kinds=(SoftLabelType(),), noise=0.2, seed=1).run().cells
    ) != figures(alone)


def test_soft_labels_recover_more_than_hard_ones() -> None:
    cells = SimulationGrid(n=(20, 40), k=(8, 20), d=(5,), n_seeds=2).run().cells
    soft, hard = ([c.rho for c in cells if c.kind == kind] for kind in ("soft", "hard"))
    assert (np.array(soft) > np.array(hard)).all()


def test_initial_values_know_nothing_of_the_truth() -> None:
    # A start that shared the world's stream would be the world: one step from it must recover next to nothing.
    grid = SimulationGrid(
        n=(30,),
        k=(10,),
        d=(25,),
        kinds=(HardLabels(),),
        n_seeds=4,
        embedder=Gnmds(25, n_iterations=1, random_start=True),
    )
    assert abs(np.mean([c.rho for c in grid.run().cells])) < 0.2


def test_kinds_without_classes_have_points_alone() -> None:
    cells = (
        SimulationGrid(n=(12,), k=(4,), d=(3,), kinds=(SimilarityLabels(), TripletLabels(100), SoftLabelType()))
        .run()
        .cells
    )
    assert [c.rho == c.points_rho for c in cells] == [True, True, False]
    assert cells[0].information_ratio == pytest.approx(12 * 11 * 10 / (16 * 15 * 14))


def test_it_is_a_table(tmp_path: Path) -> None:
    cells = SimulationGrid(n=(4,), k=(3,), d=(2,)).run()
    cells.write(tmp_path / "grid.parquet")
    read = pq.read_table(tmp_path / "grid.parquet")
    assert read.column_names[:5] == ["n", "k", "d", "kind", "seed"]
    assert read.column("rho").to_pylist() == [c.rho for c in cells.cells]
    assert "2 rows" in repr(cells)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"d": (0,)}, "d = 0"),
        ({"k": (1, 3)}, "k = 1"),
        ({"noise": -1.0}, "noise"),
        ({"spread": -1.0}, "spread"),
        ({"kinds": ()}, "kinds"),
        ({"n": ()}, "n, k or d"),
        ({"n_seeds": 0}, "n_seeds"),
        ({"kinds": (SoftLabelType(), SparseLabels(4)), "k": (3, 5)}, "kept = 4"),
    ],
)
def test_bad_grids(settings: dict[str, object], found: str) -> None:
    with pytest.raises(BadSetting, match=found):
        SimulationGrid(**settings)  # type: ignore[arg-type]


def test_bad_number_of_processes() -> None:
    with pytest.raises(BadSetting, match="n_processes"):
        SMALL.run(n_processes=0)
