"""Data maps by hand, against loops, and their correlations with people's doubt."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

from sfumato import SoftLabels
from sfumato.evaluation.data_map import REGIONS, DataMap, MapRegion, Shares, Thresholds, data_map
from sfumato.evaluation.doubt_correlation import HumanDoubt, doubt_correlations
from sfumato.evaluation.epoch_predictions import TrainingDynamics, epoch_shifts, find_runs, runs_of_model
from sfumato.evaluation.rank_correlation import pulls, rank_correlation, spearman
from sfumato.tables.errors import BadFile, BadSetting, BadTable, SfumatoWarning, UnknownName
from sfumato.tables.files import Rows

BY_HAND = {"a": [0.2, 0.4, 0.9], "b": [1.0, 1.0, 1.0], "c": [0.1, 0.0, 0.2]}


def table(values: dict[str, list[float]], when: str = "end") -> pa.Table:
    rows = [(item, e + 1, when, p, p / 2, p > 0.3) for item, row in values.items() for e, p in enumerate(row)]
    names = ("item", "epoch", "when", "gold", "agreement", "correct")
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})


def dynamics(values: dict[str, list[float]], **options: str) -> TrainingDynamics:
    return TrainingDynamics.from_rows(Rows.of(table(values)), **options)


def write_run(folder: Path, values: dict[str, list[float]], **said: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"target": "soft", "network": "ffn", "seed": 0, "fold": 0} | said))
    pq.write_table(table(values), folder / "dynamics.parquet")
    return folder


def test_by_hand() -> None:
    drawn = data_map([dynamics(BY_HAND)])
    assert drawn.items.to_pylist() == ["a", "b", "c"]
    # (.2 + .4 + .9) / 3 = .5; deviations -.3, -.1, .4: (.09 + .01 + .16) / 3 = .0866...
    np.testing.assert_allclose(drawn.confidence, [0.5, 1.0, 0.1], atol=1e-15)
    np.testing.assert_allclose(drawn.variability, [np.sqrt(0.26 / 3), 0, np.sqrt(0.02 / 3)], atol=1e-15)
    assert drawn.correctness.tolist() == [2, 3, 0]
    assert drawn.n_moments.tolist() == [3, 3, 3]
    assert [REGIONS[k] for k in drawn.region] == [MapRegion.AMBIGUOUS, MapRegion.EASY, MapRegion.HARD]
    assert drawn.between_runs.tolist() == [0, 0, 0]
    assert drawn.count(MapRegion.EASY) == 1


def test_the_soft_form_takes_the_agreement() -> None:
    np.testing.assert_allclose(data_map([dynamics(BY_HAND, by="agreement")]).confidence, [0.25, 0.5, 0.05])


def test_last_epochs_of_several_runs_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((6, 8, 30))  # seeds, epochs, items
    runs = [dynamics({f"i{i}": seed[:, i].tolist() for i in range(30)}) for seed in values]
    # One run lacks an item, as a fold does.
    runs[2] = dynamics({f"i{i}": values[2][:, i].tolist() for i in range(1, 30)})
    drawn = data_map(runs, last=5)
    for row, item in enumerate(drawn.items.to_pylist()):
        i = int(item[1:])
        seeds = [s for s in range(6) if not (s == 2 and i == 0)]
        moments = values[seeds, 3:, i]
        assert abs(drawn.confidence[row] - moments.mean()) < 1e-12
        assert abs(drawn.variability[row] - moments.std()) < 1e-12
        assert abs(drawn.between_runs[row] - moments.mean(axis=1).std()) < 1e-12
        assert drawn.correctness[row] == (moments > 0.3).sum()
        assert drawn.n_moments[row] == moments.size


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_map_is_written_and_read(tmp_path: Path, ending: str) -> None:
    drawn = data_map([dynamics(BY_HAND)])
    drawn.write(tmp_path / f"map.{ending}")
    again = DataMap.read(tmp_path / f"map.{ending}")
    assert again.to_arrow().equals(drawn.to_arrow())
    if ending == "csv":
        (tmp_path / "bad.csv").write_text((tmp_path / "map.csv").read_text().replace("easy", "eazy"))
        with pytest.raises(UnknownName, match="did you mean 'easy'"):
            DataMap.read(tmp_path / "bad.csv")


def test_regions_by_shares() -> None:
    confidence, variability = np.linspace(0, 1, 9), np.array([0, 0, 0.1, 0.4, 0.45, 0.5, 0.1, 0, 0])
    cut = [REGIONS[k] for k in Shares().cut(confidence, variability)]
    assert cut == [*["hard"] * 3, *["ambiguous"] * 3, *["easy"] * 3]
    # Where all are alike nothing is easy, hard or ambiguous.
    alike = [REGIONS[k] for k in Shares().cut(np.ones(5), np.zeros(5))]
    assert alike == ["between"] * 5


@pytest.mark.parametrize("settings", [{"easy": 2.0}, {"easy": 0.3, "hard": 0.4}, {"variability": 0.0}])
def test_thresholds_that_are_none(settings: dict[str, float]) -> None:
    with pytest.raises(BadSetting):
        Thresholds(**settings)


def test_a_moment_is_chosen() -> None:
    both = pa.concat_tables([table(BY_HAND), table({"a": [0.0, 0.0], "b": [0.0, 0.0]}, "online")])
    assert TrainingDynamics.from_rows(Rows.of(both)).when == "end"
    online = TrainingDynamics.from_rows(Rows.of(both), when="online")
    assert online.value.tolist() == [0, 0, 0, 0]
    with pytest.raises(BadTable, match="--dynamics online"):
        dynamics(BY_HAND, when="online")


def test_nothing_noted_is_left_out() -> None:
    drawn = data_map([dynamics({"a": [float("nan"), 0.2, 0.4], "b": [0.1, 0.2, 0.3]})])
    assert drawn.n_moments.tolist() == [2, 3]
    with pytest.raises(BadTable, match="no gold end"):
        dynamics({"a": [float("nan")] * 2})


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        ([{"a": [0.1], "b": [0.2]}], "one-epoch"),
        ([{"a": [0.1, 0.2]}, {"a": [0.3, 0.4]}, {"z": [0.3, 0.4]}], "other-items"),
        ([], "no-runs"),
    ],
)
def test_runs_that_make_no_map(runs: list[dict[str, list[float]]], code: str) -> None:
    with pytest.raises(BadTable) as caught:
        data_map([dynamics(values) for values in runs])
    assert caught.value.code == code


def test_tables_that_are_no_dynamics() -> None:
    with pytest.raises(BadTable, match="an item twice in an epoch"):
        data_map([TrainingDynamics.from_rows(Rows.of(pa.concat_tables([table(BY_HAND)] * 2)))])
    with pytest.raises(BadTable, match="outside 0 to 1"):
        dynamics({"a": [1.5, 0.2]})
    with pytest.raises(BadTable, match="a column 'gold'"):
        TrainingDynamics.from_rows(Rows.of(table(BY_HAND).drop_columns("gold")))


def test_odd_numbers_of_epochs_and_items_are_said() -> None:
    with pytest.warns(SfumatoWarning, match="found 3 epochs instead of the last 9"):
        data_map([dynamics(BY_HAND)], last=9)
    with pytest.warns(SfumatoWarning, match="no item in common"):
        data_map([dynamics({"a": [0.1, 0.2]}), dynamics({"z": [0.3, 0.4]})])


def test_runs_are_found_by_what_they_learnt(tmp_path: Path) -> None:
    write_run(tmp_path / "one", BY_HAND)
    write_run(tmp_path / "two", BY_HAND, target="hard")
    write_run(tmp_path / "unfinished" / "three", BY_HAND)
    found = find_runs([tmp_path])
    assert sorted(run.model for run in found) == ["hard.ffn", "soft.ffn"]
    assert [run.path.name for run in runs_of_model(found, "hard")] == ["two"]
    with pytest.raises(BadTable, match="target="):
        runs_of_model(found)
    with pytest.raises(BadTable, match="no run of 'sofd'"):
        runs_of_model(found, "sofd")
    with pytest.raises(BadFile, match=r"no run\.json"):
        find_runs([_empty(tmp_path)])
    (tmp_path / "one" / "dynamics.parquet").unlink()
    with pytest.raises(BadFile, match="--dynamics end"):
        TrainingDynamics.read(tmp_path / "one")


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_dynamics_from_a_csv(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("item,epoch,gold,correct\na,1,0.25,true\na,2,0.75,False\n")
    drawn = data_map([TrainingDynamics.read(tmp_path / "d.csv")])
    assert (drawn.confidence[0], drawn.variability[0], drawn.correctness[0]) == (0.5, 0.25, 1)


# --- correlations ---


def test_spearman_is_scipys_with_ties() -> None:
    rng = np.random.default_rng(1)
    for levels in (3, 8, 1000):
        x, y = rng.integers(0, levels, 60).astype(float), rng.integers(0, levels, 60).astype(float)
        assert abs(spearman(x, y) - spearmanr(x, y).statistic) < 1e-12
    assert np.isnan(spearman(np.ones(4), np.arange(4.0)))


def weighted_rho(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """By loops: ranks are sums of the weights below, half of those alike."""
    ranks = [np.array([(w * ((v < a) + 0.5 * (v == a))).sum() for a in v]) for v in (x, y)]
    one, other = (r - (w * r).sum() / w.sum() for r in ranks)
    return float((w * one * other).sum() / np.sqrt((w * one**2).sum() * (w * other**2).sum()))


def test_pulls_are_the_derivative() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 6, 20).astype(float), rng.integers(0, 9, 20).astype(float)
    assert abs(weighted_rho(np.ones(20), x, y) - spearman(x, y)) < 1e-12
    step = 1e-5 * np.eye(20)
    expected = [(weighted_rho(1 + d, x, y) - weighted_rho(1 - d, x, y)) / 2e-5 for d in step]
    np.testing.assert_allclose(pulls(x, y), expected, atol=1e-9)
    assert abs(pulls(x, y).sum()) < 1e-12


@pytest.mark.parametrize("n", [40, 150])
def test_intervals_cover(n: int) -> None:
    rng = np.random.default_rng(3)
    doubt_of = lambda v: np.maximum(np.round(1.5 * v), 0.0)  # noqa: E731  half of all items have no doubt

    def draw(size: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=size)
        return x, doubt_of(0.6 * x + 0.8 * rng.normal(size=size))

    truth = spearman(*draw(200_000))
    found = [rank_correlation(*draw(n)).interval for _ in range(400)]
    covered = np.mean([each.low <= truth <= each.high for each in found])
    # Three standard errors of a share of .95 among 400 are .033.
    assert 0.917 <= covered <= 0.983


def test_no_interval_where_there_is_nothing_to_see() -> None:
    x = np.arange(10.0)
    assert rank_correlation(x, x).interval.kind.startswith("none")
    assert rank_correlation(x, np.ones(10)).interval.kind == "none: undefined"
    assert rank_correlation(x[:3], np.array([1.0, 3, 2])).interval.kind == "none: only 3 rows"


def test_uncertainty_with_a_data_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    doubt = rng.random(50)
    values = {f"i{i}": np.clip(1 - doubt[i] + rng.normal(0, 0.1, 4), 0, 1).tolist() for i in range(50)}
    drawn = data_map([dynamics(values)])
    probs = np.column_stack([1 - doubt / 2, doubt / 2])
    people = SoftLabels.from_numpy([f"i{i}" for i in range(50)][::-1], probs[::-1], ["x", "y"])
    (tmp_path / "d.csv").write_text(
        "item,mean_doubt,unsure_proportion\n" + "".join(f"i{i},{doubt[i]},0\n" for i in range(40))
    )
    read = HumanDoubt.read(tmp_path / "d.csv")
    with pytest.warns(SfumatoWarning) as said:
        scores = doubt_correlations(drawn, [HumanDoubt.of_labels(people), read])
    assert any("10 of 50 items" in str(each.message) for each in said)
    assert any("unsure_proportion_spearman is undefined" in str(each.message) for each in said)
    entropy = -(probs * np.log(probs)).sum(axis=1)
    expected = spearmanr(drawn.confidence, entropy).statistic
    assert abs(scores.value_of("confidence_entropy_spearman") - expected) < 1e-10
    expected = spearmanr(drawn.variability[:40], doubt[:40]).statistic
    assert abs(scores.value_of("variability_mean_doubt_spearman") - expected) < 1e-10
    assert scores.rows()[0].low < scores.rows()[0].value < scores.rows()[0].high < 0
    assert scores.rows()[2].n_items == 40
    with pytest.raises(BadTable, match="of which none is on the map"):
        doubt_correlations(drawn, [HumanDoubt(pa.array(["z"]), {"total": np.ones(1)})])
    (tmp_path / "e.csv").write_text("item,sadness\na,1\n")
    with pytest.raises(BadTable, match="sfumato doubt"):
        HumanDoubt.read(tmp_path / "e.csv")


# --- shifts between epochs ---


def by_epoch(path: Path, probs: np.ndarray) -> Path:
    epochs, items, classes = probs.shape
    rows = {
        "item": [f"i{i}" for _ in range(epochs) for i in range(items)],
        "epoch": np.repeat(np.arange(1, epochs + 1), items),
        "probs": pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), classes),
    }
    pq.write_table(pa.table(rows).replace_schema_metadata({"sfumato.classes": json.dumps(list("abc"))}), path)
    return path


def test_shifts_are_the_mean_divergence(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    runs = [rng.dirichlet(np.ones(3), (4, 7)) for _ in range(2)]
    found = epoch_shifts([by_epoch(tmp_path / f"{k}.parquet", probs) for k, probs in enumerate(runs)])
    assert found.epoch.tolist() == [2, 3, 4]
    for e in range(3):
        # SciPy's is the square root.
        expected = np.mean([[jensenshannon(p[e, i], p[e + 1, i]) ** 2 for i in range(7)] for p in runs])
        assert abs(found.jsd[e] - expected) < 1e-12
    assert found.n_items.tolist() == [7, 7, 7]
    assert found.n_runs.tolist() == [2, 2, 2]


def test_shifts_need_two_epochs(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match="found 1 epochs"):
        epoch_shifts([by_epoch(tmp_path / "p.parquet", np.full((1, 2, 3), 1 / 3))])
    with pytest.raises(BadFile, match="--predictions-each-epoch"):
        epoch_shifts([tmp_path])
