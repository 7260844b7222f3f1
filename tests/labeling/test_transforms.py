"""Transforms beside the calculation done by hand, and what all of them must do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Beliefs, SoftLabels
from sfumato.labeling.transforms import TRANSFORMS, ClassMeans, Infill, Smooth, Sparsify, Temper, transform_from_name
from sfumato.tables.errors import BadSetting, BadTable

CLASSES = ("cat", "dog", "fox")
LABELS = SoftLabels.from_numpy(
    ["a", "b", "c"], [[0.7, 0.2, 0.1], [0.5, 0.5, 0.0], [0.0, 0.1, 0.9]], CLASSES, [10, 10, 10]
)
FILLING = SoftLabels.one_hot(["b", "d", "e"], ["cat", "dog", "fox"], CLASSES)


def made(transform: Any) -> Any:
    return transform(filling=FILLING) if transform is Infill else transform()


def test_smooth() -> None:
    np.testing.assert_allclose(Smooth(0.3).apply(LABELS).probs[0], [0.7 * 0.7 + 0.1, 0.7 * 0.2 + 0.1, 0.7 * 0.1 + 0.1])


def test_temper() -> None:
    squared = np.array([0.49, 0.04, 0.01])
    np.testing.assert_allclose(Temper(0.5).apply(LABELS).probs[0], squared / squared.sum())
    np.testing.assert_allclose(Temper(1e-3).apply(LABELS).probs[0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(Temper(1e6).apply(LABELS).probs[1], [0.5, 0.5, 0], atol=1e-5)


def test_sparsify() -> None:
    np.testing.assert_allclose(Sparsify(2).apply(LABELS).probs[0], [7 / 9, 2 / 9, 0])
    # a tie goes to the class that stands first
    assert Sparsify(1).apply(LABELS).probs[1].tolist() == [1, 0, 0]


def test_class_means() -> None:
    """a and b lead with cat: both get their mean; c is alone."""
    probs = ClassMeans().apply(LABELS).probs
    np.testing.assert_allclose(probs[0], [0.6, 0.35, 0.05])
    np.testing.assert_allclose(probs[1], [0.6, 0.35, 0.05])
    np.testing.assert_allclose(probs[2], [0.0, 0.1, 0.9])
    original = SoftLabels.one_hot(["c", "b", "a"], ["fox", "fox", "cat"], CLASSES)
    probs = ClassMeans(original).apply(LABELS).probs
    np.testing.assert_allclose(probs[0], [0.7, 0.2, 0.1])
    np.testing.assert_allclose(probs[1], [0.25, 0.3, 0.45])


def test_infill_keeps_what_is_there() -> None:
    filled = Infill(filling=FILLING).apply(LABELS)
    assert filled.items.to_pylist() == ["a", "b", "c", "d", "e"]
    assert np.array_equal(filled.probs[:3], LABELS.probs)
    assert filled.probs[3:].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert filled.n_annotators is not None
    assert filled.n_annotators.tolist() == [10, 10, 10, 0, 0]


def test_infill_with_sparsified_dense_labels() -> None:
    dense = SoftLabels.from_numpy(["d"], [[0.2, 0.3, 0.5]], CLASSES, [9])
    filled = Infill(filling=Sparsify(2).apply(dense)).apply(LABELS)
    np.testing.assert_allclose(filled.probs[3], [0, 0.375, 0.625])
    assert filled.n_annotators is not None
    assert filled.n_annotators.tolist() == [10, 10, 10, 9]


def test_classes_of_other_tables_are_matched_by_name() -> None:
    turned = FILLING.in_class_order(CLASSES[::-1])
    assert Infill(filling=turned).apply(LABELS) == Infill(filling=FILLING).apply(LABELS)
    original = SoftLabels.one_hot(["a", "b", "c"], ["cat", "dog", "dog"], CLASSES)
    turned = original.in_class_order(CLASSES[::-1])
    assert ClassMeans(turned).apply(LABELS) == ClassMeans(original).apply(LABELS)


def test_other_classes_are_refused() -> None:
    other = SoftLabels.one_hot(["d"], ["dog"], ("dog", "cat", "emu"))
    with pytest.raises(BadTable, match=r"a filling over dog, cat, emu; .*same class names"):
        Infill(filling=other).apply(LABELS)
    beliefs = Beliefs.from_numpy(["d"], ["x"], [[1, 0, 0]], CLASSES)
    with pytest.raises(BadTable, match=r"found Beliefs, .*expected SoftLabels, .*sfumato aggregate"):
        Infill(filling=FILLING).apply(beliefs)
    with pytest.raises(BadTable, match="original labels over dog, cat, emu"):
        ClassMeans(other).apply(LABELS)
    with pytest.raises(BadTable, match="no label for item"):
        ClassMeans(SoftLabels.one_hot(["a"], ["cat"], CLASSES)).apply(LABELS)


@pytest.mark.parametrize(
    "setting", [("smooth", {"rate": 2.0}), ("sparsify", {"k": 0}), ("temper", {"temperature": 0.0})]
)
def test_settings_out_of_range_are_refused(setting: tuple[str, dict[str, float]]) -> None:
    with pytest.raises(BadSetting):
        transform_from_name(*setting)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda transform: transform.name)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_every_transform_gives_distributions_over_the_same_items(transform: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.4), 12)
    labels = SoftLabels.from_numpy([f"i{k}" for k in range(12)], probs, CLASSES, rng.integers(1, 9, 12))
    before = labels.probs.copy()
    result = made(transform).apply(labels)
    assert result.items.to_pylist()[:12] == labels.items.to_pylist()
    np.testing.assert_allclose(result.probs.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(labels.probs, before)
    if transform is not Infill:
        people = Beliefs.from_numpy(labels.items.to_pylist(), ["a", "b"] * 6, probs, CLASSES)
        np.testing.assert_allclose(made(transform).apply(people).probs, result.probs, atol=1e-12)
