"""The tables are transcribed as printed: what the paper says of them follows from them, where it does."""

from __future__ import annotations

import pytest

from sfumato_papers.peterson_2019.attacks import TABLE_2
from sfumato_papers.peterson_2019.figures_2_and_3 import PUBLISHED
from sfumato_papers.peterson_2019.table_1 import (
    CATEGORY_ROW,
    COLUMNS,
    CONTROL_ROW,
    MIXUP_ROW,
    SAMPLED_ROW,
    SOFT_ROW,
    TABLE_1,
    TRAINED,
)

WHOLE = ("ResNet preact", "VGG", "DenseNet")
EIGHT = {"VGG", "DenseNet", "PyramidNet", "ResNet", "ResNext", "Wide ResNet", "ResNet preact", "Shake-Shake"}


def test_every_block_has_its_rows_and_columns() -> None:
    for name in WHOLE:
        assert len(TABLE_1[name]) == 6 * len(COLUMNS)
    assert {row for row, _ in TABLE_1["ResNet"]} == {TRAINED, CONTROL_ROW}


def test_pretrained_networks_are_nearer_to_ground_truth() -> None:
    for cells in TABLE_1.values():
        assert cells[TRAINED, "c10"].value < cells[TRAINED, "c10H"].value
        assert cells[CONTROL_ROW, "c10H"].value < cells[TRAINED, "c10H"].value


def test_people_are_fit_best_by_their_own_labels() -> None:
    for name in WHOLE:
        cells = TABLE_1[name]
        best = max(cells[row, "c10H"].value for row in (SOFT_ROW, SAMPLED_ROW))
        assert best < min(cells[row, "c10H"].value for row in (TRAINED, CONTROL_ROW, MIXUP_ROW, CATEGORY_ROW))


def test_the_paper_says_more_of_mixup_than_its_table() -> None:
    """Mixup is said to be less effective than any method that uses people; it is for one of three."""
    less = {
        name for name in WHOLE if TABLE_1[name][MIXUP_ROW, "c10H"].value > TABLE_1[name][CATEGORY_ROW, "c10H"].value
    }
    assert less == {"VGG"}


def test_fgsm_table() -> None:
    accuracy, loss = TABLE_2["Accuracy"], TABLE_2["Crossentropy"]
    for cells in (accuracy, loss):
        assert {row for row, _ in cells} == EIGHT
    assert all(loss[row, "C10H"].value < loss[row, "C10"].value for row in EIGHT)
    gains = {row: accuracy[row, "C10H"].value - accuracy[row, "C10"].value for row in EIGHT}
    assert sum(gain > 0 for gain in gains.values()) == 5
    largest = sorted(gains, key=lambda row: -abs(gains[row]))[:2]
    assert set(largest) == {"Wide ResNet", "ResNet preact"}


@pytest.mark.parametrize(("name", "points", "percent"), [("CIFAR10", 1, 29), ("ImageNet-Far", 2, 38)])
def test_gains_of_the_text(name: str, points: int, percent: int) -> None:
    one, other = f"{name}, human labels", f"{name}, control"
    gain = PUBLISHED[one, "accuracy, %"].value - PUBLISHED[other, "accuracy, %"].value
    assert gain == pytest.approx(points)
    loss = [PUBLISHED[row, "crossentropy"].value for row in (one, other)]
    assert round(100 * (1 - loss[0] / loss[1])) == percent
