"""The images are scikit-learn's own, and what is said of them comes from models that had not seen them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato import SoftLabels
from sfumato.cli.demo.demo_digits import CLASSES, Digits, chosen_digits
from sfumato.tables.errors import BadSetting
from sfumato.tables.model_inputs import Inputs


@pytest.fixture(scope="module")
def digits() -> Digits:
    return chosen_digits(60)


def test_the_images_are_the_published_ones(digits: Digits, tmp_path: Path) -> None:
    digits.write(tmp_path)
    inputs = Inputs.read(tmp_path / "inputs.npz")
    published = load_digits()
    rows = [int(item.removeprefix("digit-")) for item in inputs.items]
    assert len(set(rows)) == 60
    assert np.allclose(inputs.images / 255, published.images[rows] / 16, atol=0.5 / 255)
    assert inputs.labels == tuple(str(each) for each in published.target[rows])
    assert (tmp_path / "original.csv").read_text().splitlines()[1] == f"{inputs.items[0]},{inputs.labels[0]}"
    truth = SoftLabels.read(tmp_path / "truth.csv")
    assert np.allclose(truth.probs[truth.rows_of(list(digits.items))], digits.views.mean(axis=0))
    assert truth.classes == CLASSES


def test_some_are_hard_and_most_are_not(digits: Digits) -> None:
    mean = digits.views.mean(axis=0)
    doubt = -(mean * np.log(mean)).sum(axis=1)
    assert (np.sort(doubt)[-20:] > 1).all()
    assert np.median(np.sort(doubt)[:40]) < 0.35


def test_a_view_has_not_seen_the_image_it_judges(digits: Digits) -> None:
    # Views that had learnt from these images would be right about all of them; as it is they err on hard ones.
    right = (digits.views.argmax(axis=2) == digits.written).mean(axis=1)
    assert (right > 0.5).all()
    assert (right < 0.95).all()
    assert np.allclose(digits.views.sum(axis=2), 1)


def test_the_same_every_time(digits: Digits) -> None:
    again = chosen_digits(60)
    assert again.items == digits.items
    assert np.array_equal(again.views, digits.views)


def test_too_few_images_are_refused() -> None:
    with pytest.raises(BadSetting, match="images"):
        chosen_digits(5)
