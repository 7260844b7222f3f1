"""Array types are checked in every function, also where one of the same signature was checked before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from array_checks import CHECK_ALL, checked, checked_once, form_of, has_arrays
from jaxtyping import Float, TypeCheckError


def scaling(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    @CHECK_ALL(typechecker=checked)
    def scale(values: Float[np.ndarray, "items 2"]) -> Float[np.ndarray, "items 2"]:
        return factor * values if factor else values[:1]

    return scale


def test_functions_of_one_signature_are_checked_each() -> None:
    pairs = np.ones((3, 2))
    assert (scaling(2.0)(pairs) == 2).all()
    assert (scaling(3.0)(pairs) == 3).all()
    for factor in (2.0, 3.0):
        with pytest.raises(TypeCheckError, match="values"):
            scaling(factor)(np.ones(3))
    with pytest.raises(TypeCheckError, match="return value"):
        scaling(0.0)(pairs)


def test_another_signature_of_the_same_name_has_a_check_of_its_own() -> None:
    def defined(annotation: object) -> Callable[[object], object]:
        def taken(value):  # type: ignore[no-untyped-def]
            return value

        taken.__annotations__ = {"value": annotation}
        return CHECK_ALL(typechecker=checked)(taken)

    assert defined(int)(1) == 1
    with pytest.raises(TypeCheckError):
        defined(str)(1)
    assert defined(str)("one") == "one"


def test_a_call_that_passed_does_not_let_another_form_pass() -> None:
    results = {}

    def mean(values: Float[np.ndarray, "items classes"], weights: Float[np.ndarray, "items"] | list[float]):
        return results["next"]

    mean.__annotations__["return"] = Float[np.ndarray, "classes"]
    checked_mean = checked_once(mean, typechecker=checked)
    results["next"] = np.ones(2)
    for _ in range(3):
        checked_mean(np.ones((5, 2)), np.ones(5))
        checked_mean(np.ones((5, 2)), weights=[1.0])
    for wrong in ((np.ones((5, 2)), np.ones(4)), (np.ones((5, 2), np.int64), np.ones(5)), (np.ones(5), np.ones(5))):
        with pytest.raises(TypeCheckError):
            checked_mean(*wrong)
    with pytest.raises(TypeCheckError):
        checked_mean(np.ones((5, 2)), weights=["1"])
    for wrong in (np.ones(3), np.ones(2, np.int64), np.ones((1, 2)), 2.0, None, [1.0, 1.0]):
        results["next"] = wrong
        with pytest.raises(TypeCheckError, match="return value"):
            checked_mean(np.ones((5, 2)), np.ones(5))
    results["next"] = np.ones(2)
    checked_mean(np.ones((5, 2)), np.ones(5))


def test_every_call_with_a_list_is_checked() -> None:
    assert form_of([np.ones(3)]) is None
    assert form_of((1, {"a": 1})) is None
    assert form_of((1, np.ones(3))) != form_of((1, np.ones(4)))


Pairs = Float[np.ndarray, "items 2"]


def test_arrays_are_found_in_every_form_of_annotation() -> None:
    def in_union(values: Float[np.ndarray, "items"] | None) -> None: ...
    def in_list(values: list[Float[np.ndarray, "items"]]) -> None: ...
    def returned() -> Float[np.ndarray, "items"]: ...
    def by_alias(values: Pairs) -> None: ...
    def without(values: list[int], name: str) -> bool: ...

    assert all(map(has_arrays, (in_union, in_list, returned, by_alias)))
    assert not has_arrays(without)


def test_the_hook_still_checks_arrays() -> None:
    from sfumato.tables.doubt import entropy

    with pytest.raises(TypeCheckError, match="probs"):
        entropy(np.ones(3))


def test_the_hook_still_checks_the_fields_of_dataclasses() -> None:
    from sfumato.evaluation.metrics.confidence_bins import Gaps

    cells, draws = np.ones(3), np.ones((2, 3))
    for _ in range(2):
        assert Gaps(cells, cells, draws, cells).found is cells
    for wrong in ((cells, cells, cells, cells), (cells, np.ones(4), draws, cells), (cells, None, draws, cells)):
        with pytest.raises(TypeCheckError):
            Gaps(*wrong)
