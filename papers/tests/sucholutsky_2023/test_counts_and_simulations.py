"""What is counted and simulated, against triplets written out by hand and against verdicts that must change."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.simulation import GridCell, SimulationGrid
from sfumato_papers.finding import Statement
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.published_data import PublishedData
from sfumato_papers.sucholutsky_2023 import dimensions, simulated_worlds, sparsity, triplets
from sfumato_papers.verdict import Verdict


@pytest.fixture
def rerun(tmp_path: Path) -> Rerun:
    return Rerun(PublishedData(tmp_path / "data"), Scale.SMALL, tmp_path / "runs", processes=1)


def verdicts(part: Part) -> dict[str, Verdict]:
    return {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}


def mined(labels: np.ndarray) -> int:
    """Triplets by the paper's words: pairs of classes of a point, pairs of points of a class, one above the other."""
    n, k = labels.shape
    of_points = sum(labels[i, a] > labels[i, b] for i in range(n) for a, b in permutations(range(k), 2))
    return of_points + sum(labels[i, c] > labels[j, c] for c in range(k) for i, j in permutations(range(n), 2))


@pytest.mark.parametrize(("n", "k"), [(4, 3), (12, 4), (5, 9)])
def test_the_formulas_against_triplets_written_out(n: int, k: int) -> None:
    world = LatentWorld.sample(n, k, 3, rng=np.random.default_rng(n))
    soft = world.soft_labels()
    assert mined(soft) == SoftLabelType().n_triplets(n, k)
    hard = HardLabels().labels(soft)
    assert mined(hard) == n * (k - 1) + n**2 - (hard.sum(axis=0) ** 2).sum()
    if n % k == 0:
        assert mined(np.eye(k)[np.arange(n) % k]) == HardLabels().n_triplets(n, k)


def test_what_section_3_says_holds_but_for_uneven_classes(rerun: Rerun, monkeypatch: pytest.MonkeyPatch) -> None:
    before = verdicts(triplets.triplet_constraints(rerun))
    assert before.pop("Hard labels of the worlds simulated") == Verdict.NOT_REPRODUCED
    assert set(before.values()) == {Verdict.REPRODUCED}
    monkeypatch.setattr(SoftLabelType, "n_triplets", lambda self, n, k: k * n * (k + n - 2) / 2 + 1)
    assert verdicts(triplets.triplet_constraints(rerun))["Soft labels"] == Verdict.NOT_REPRODUCED


def test_the_phases(rerun: Rerun) -> None:
    part = triplets.information_ratios(rerun)
    statements = [row for row in part.findings if isinstance(row, Statement)]
    assert len(statements) == 8
    assert all(each.holds for each in statements)
    ratio = {(row.row, row.column): row.ours.value for row in part.findings if not isinstance(row, Statement)}
    # nk / ((n + k)(n + k - 1)) and 2n(k - 1) / (k (n + k - 1)(n + k - 2)), by hand.
    assert ratio["n = 80, k = 20", "soft"] == pytest.approx(1600 / 9900)
    assert ratio["n = 80, k = 20", "hard"] == pytest.approx(160 * 19 / (20 * 99 * 98))


def test_false_triplets_are_those_that_distances_turn_round() -> None:
    world = LatentWorld.sample(9, 4, 2, rng=np.random.default_rng(1))
    every = SoftLabelType().judge(world).triplets()
    at = world.objects
    by_hand = [np.linalg.norm(at[a] - at[b]) > np.linalg.norm(at[a] - at[c]) for a, b, c in every]
    np.testing.assert_array_equal(triplets.wrong_of(world, every), by_hand)
    assert 0 < np.mean(by_hand) < 0.5


def test_a_sixth_to_a_quarter_of_noise_free_triplets_about_classes_are_false() -> None:
    for (name, _), share in triplets.false_triplets(2).items():
        assert share == 0 if name == "point-anchored" else 0.15 <= share <= 0.23


@pytest.mark.slow
def test_half_wrong_is_nothing_and_the_published_model_says_otherwise(rerun: Rerun) -> None:
    part = triplets.signal_and_noise(rerun)
    found = {(row.row, row.column): row.ours for row in part.findings if not isinstance(row, Statement)}
    assert abs(found[triplets.MEASURED, "ρ at ε = 0.5"].value) < 0.15
    assert found["(1 - ε) T, as published", "ρ at ε = 0.5"].value > 0.7
    assert verdicts(part)["Bits that are flipped"] == Verdict.NOT_REPRODUCED


def cell(n: int, k: int, d: int, kind: str, rho: float, ratio: float = 0.1, needed: int = 3) -> GridCell:
    return GridCell(n, k, d, kind, 0, 10, ratio, rho, rho, needed, 0.0)


def test_the_share_of_worlds_where_soft_labels_are_ahead() -> None:
    cells = [cell(n, 3, 5, "soft", 0.5) for n in (3, 4, 5, 6)]
    cells += [cell(n, 3, 5, "hard", rho) for n, rho in ((3, 0.4), (4, 0.5), (5, 0.6), (6, 0.1))]
    assert simulated_worlds.share_better(cells) == 0.75


def test_a_gain_is_the_difference_of_two_losses() -> None:
    cells = [
        cell(90, 45, d, kind, rho) for d in simulated_worlds.DIMENSIONS for kind, rho in (("soft", 0.8), ("hard", 0.2))
    ]
    gains = simulated_worlds.gains_of(cells)
    # Hard: 90 of 8,100 labels; soft: 45 times as many.
    assert gains["linear", 1.0][90, 45] == pytest.approx((90 / 8100 - 0.2) - (4050 / 8100 - 0.8))
    assert gains["logit", 0.01][90, 45] == pytest.approx(0.01 * (90 - 4050) / 8100 + np.log(4) - np.log(0.25))


def test_r_is_numpys_with_fishers_interval() -> None:
    rng = np.random.default_rng(0)
    cells = [cell(3, 3, 5, "soft", 0.5, float(x), int(20 * x + y)) for x, y in rng.random((50, 2)) * [1, 8]]
    found = dimensions.correlated(cells)
    r = np.corrcoef([c.information_ratio for c in cells], [c.effective_dimensionality for c in cells])[0, 1]
    assert found.value == pytest.approx(r)
    assert found.low == pytest.approx(np.tanh(np.arctanh(r) - 1.959964 / np.sqrt(47)), abs=1e-6)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(simulated_worlds.N_SIZES, Scale.SMALL, 4)
    monkeypatch.setitem(sparsity.N_WORLDS, Scale.SMALL, 2)
    monkeypatch.setattr(sparsity, "SIZES", ((12, 5), (90, 30)))


@pytest.mark.usefixtures("few")
def test_a_grid_is_run_once_and_kept_by_its_settings(rerun: Rerun) -> None:
    tiny = SimulationGrid(n=(5,), k=(3,), d=(2,))
    first = simulated_worlds.run_once(tiny, rerun)
    kept = simulated_worlds.kept_at(tiny, rerun)
    replace(first, cells=tuple(replace(each, rho=0.125) for each in first.cells)).write(kept)
    assert {each.rho for each in simulated_worlds.run_once(tiny, rerun).cells} == {0.125}
    assert {each.rho for each in simulated_worlds.run_once(replace(tiny, seed=1), rerun).cells} != {0.125}
    assert simulated_worlds.kept_at(replace(tiny, spread=2.0), rerun) != kept


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_every_simulated_part_and_what_it_says(rerun: Rerun) -> None:
    parts = [
        step(rerun)
        for step in (
            simulated_worlds.simulations,
            simulated_worlds.cost_benefit,
            dimensions.effective_dimensionality,
            sparsity.sparsity_curves,
            sparsity.label_optimization,
        )
    ]
    said = {row: verdict for part in parts for row, verdict in verdicts(part).items()}
    assert said["Soft against hard labels"] == Verdict.SAME_DIRECTION
    assert said["High β, linear utility"] == said["Low β, linear utility"] == Verdict.SAME_DIRECTION
    names = [chart.name for part in parts for chart in part.charts]
    assert len(names) == len(set(names)) == 7
    # Hard labels in the place of soft ones: the claim must fall.
    turned = {"soft": "hard", "hard": "soft"}
    swapped = tuple(replace(each, kind=turned.get(each.kind, each.kind)) for each in simulated_worlds.worlds(rerun))
    other = replace(rerun)
    other.known[simulated_worlds.worlds,] = swapped
    assert verdicts(simulated_worlds.simulations(other))["Soft against hard labels"] == Verdict.NOT_REPRODUCED
    assert verdicts(simulated_worlds.cost_benefit(other))["Low β, linear utility"] == Verdict.NOT_REPRODUCED


def test_who_wins_is_counted_where_some_classes_are_dropped() -> None:
    def row(kept: int, way: str, rho: float, points: float) -> sparsity.Recovered:
        return sparsity.Recovered(10, 4, 0, kept, way, rho, points)

    rows = [row(kept, "sparse", 0.5, 0.5) for kept in (1, 2, 3, 4)]
    rows += [row(kept, "top-class, zeros", 0.4, 0.6) for kept in (1, 2)]
    rows += [row(kept, "top-class, zeros", 0.6, 0.4) for kept in (3, 4)]
    assert sparsity.wins(rows, "sparse", "top-class, zeros", "rho") == 0.5
    rows = [each if each.way == "sparse" else replace(each, rho=0.1) for each in rows]
    assert sparsity.wins(rows, "sparse", "top-class, zeros", "rho") == 1.0


def test_the_whole_grid_is_the_published_one() -> None:
    whole = simulated_worlds.grid(Scale.FULL)
    assert whole.n == whole.k == tuple(range(3, 91))
    assert whole.d == (5, 25, 125)
    assert len(simulated_worlds.grid(Scale.SMALL).worlds()) == 300
