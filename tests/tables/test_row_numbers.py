"""Ids that are row numbers: where different items could be matched."""

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.tables.errors import BadTable, SfumatoWarning
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import n_numbered_rows
from sfumato.training.item_join import join_items


@pytest.mark.parametrize(
    ("items", "n"),
    [
        (["0", "1", "2"], 3), (["2", "0", "1"], 3), (["0"], 1), ([], None), (["1", "2"], None), (["0", "2"], None),
        (["0", "0", "1"], None), (["00", "1"], None), (["a", "b"], None), (["0", "b"], None), (["0", "+1"], None),
    ],
)  # fmt: skip
def test_all_rows_of_a_file(items: list[str], n: int | None) -> None:
    assert n_numbered_rows(items) == n


def labels(n: int) -> sf.SoftLabels:
    return sf.SoftLabels.from_numpy([str(i) for i in range(n)], np.full((n, 2), 0.5), ["cat", "dog"])


def test_inputs_without_ids_are_not_matched_with_labels_of_another_set(tmp_path: Path) -> None:
    images = np.zeros((50, 4, 4), np.uint8)
    np.savez(tmp_path / "train.npz", images=images)
    with (
        pytest.warns(SfumatoWarning, match="right only if both number the same items"),
        pytest.raises(BadTable, match="labels for the items 0 to 39, and 50 inputs without ids") as caught,
    ):
        join_items(Inputs.read(tmp_path / "train.npz"), people=labels(40))
    assert caught.value.code == "other-row-numbers"
    with (
        pytest.warns(SfumatoWarning, match="right only if both number the same items"),
        pytest.raises(BadTable, match="other-row-numbers"),
    ):
        join_items(Inputs.read(tmp_path / "train.npz").take(np.arange(45)), people=labels(40))
    # As many rows, some of the rows, or ids that were given: nothing speaks against them.
    with pytest.warns(SfumatoWarning, match="right only if both number the same items"):
        assert join_items(Inputs.read(tmp_path / "train.npz"), people=labels(50)).n_items == 50
    some = sf.SoftLabels.from_numpy(["3", "7"], np.full((2, 2), 0.5), ["cat", "dog"])
    with pytest.warns(SfumatoWarning, match="right only if both number the same items"):
        assert join_items(Inputs.read(tmp_path / "train.npz"), people=some).n_items == 2
    np.savez(tmp_path / "named.npz", images=images, items=np.array([str(i) for i in range(50)]))
    assert join_items(Inputs.read(tmp_path / "named.npz"), people=labels(40)).n_items == 40


def test_predictions_of_fewer_rows_give_a_warning() -> None:
    with pytest.warns(SfumatoWarning, match="ids of 40 predictions and of 50 labels are row numbers"):
        sf.evaluate(predicted=labels(40), people=labels(50), metrics=["brier"])
    sf.evaluate(predicted=labels(50), people=labels(50), metrics=["brier"])
