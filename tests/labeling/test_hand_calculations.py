"""Labelers beside the calculation done by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations
from sfumato.labeling import (
    ClassSimilarity,
    Labeler,
    MixtureLabeler,
    OneHot,
    PlausibleEqual,
    PlausibleWeighted,
    SelectTopTwo,
    SlidersLabeler,
    TokensLabeler,
    TopOneClamp,
    TopOneUniform,
    TopTwoClamp,
    TopTwoSimilar,
    TopTwoUniform,
    TypicalityLabeler,
    plausible_doubt,
)
from sfumato.tables.errors import BadSetting, InvalidAnswer

CLASSES = ("cat", "dog", "fox", "owl")


def answers(kind: str, *payloads: Any, items: list[str] | None = None) -> Annotations:
    n = len(payloads)
    return Annotations.from_arrow(
        pa.table(
            {
                "item": items or [f"i{k}" for k in range(n)],
                "annotator": [f"a{k}" for k in range(n)],
                "kind": [f"{kind}/1"] * n,
                "payload": [json.dumps(payload) for payload in payloads],
            }
        ),
        CLASSES,
    )


def label(labeler: Labeler, kind: str, payload: Any) -> list[float]:
    return labeler.label(answers(kind, payload), ()).probs[0].tolist()


def top_two(
    first: str, percent: float | None, second: str | None = None, other: float | None = None, *impossible: str
) -> Any:
    return {
        "first": first,
        "first_percent": percent,
        "second": second,
        "second_percent": other,
        "impossible": list(impossible),
    }


def test_one_hot() -> None:
    assert label(OneHot(), "choice", {"class": "dog"}) == [0, 1, 0, 0]
    assert label(OneHot(), "top_two", top_two("fox", 60, "dog", 40)) == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # 70 + 20 leave 10 for the one class that is not impossible
        (top_two("cat", 70, "dog", 20, "fox"), [0.7, 0.2, 0, 0.1]),
        # ... for the two that are not
        (top_two("cat", 70, "dog", 20), [0.7, 0.2, 0.05, 0.05]),
        # 100 reached: a tenth held back for the free class, the rest scaled by .9
        (top_two("cat", 75, "dog", 25, "owl"), [0.675, 0.225, 0.1, 0]),
        # more than 100: normalised first
        (top_two("cat", 100, "dog", 100, "owl"), [0.45, 0.45, 0.1, 0]),
        # nowhere to put the leftover: normalised
        (top_two("cat", 60, "dog", 20, "fox", "owl"), [0.75, 0.25, 0, 0]),
        # sure, everything else impossible
        (top_two("cat", 100, None, None, "dog", "fox", "owl"), [1, 0, 0, 0]),
        # a first percent of 0 means 100
        (top_two("cat", 0, None, None, "dog", "fox", "owl"), [1, 0, 0, 0]),
        # a second percent without a second class is ignored
        (top_two("cat", 80, None, 20, "fox", "owl"), [0.8, 0.2, 0, 0]),
        # one class twice adds nothing: cat .75, the other three share .25
        (top_two("cat", 75, "cat", 25), [0.75, 0.25 / 3, 0.25 / 3, 0.25 / 3]),
        # a named class marked impossible stays possible
        (top_two("cat", 60, "dog", 40, "cat", "fox", "owl"), [0.6, 0.4, 0, 0]),
        # a second without a percent shares the leftover
        (top_two("cat", 60, "dog", None, "fox", "owl"), [0.6, 0.4, 0, 0]),
    ],
)
def test_top_two_clamp(answer: Any, expected: list[float]) -> None:
    np.testing.assert_allclose(label(TopTwoClamp(), "top_two", answer), expected, atol=1e-15)


def test_the_cliff() -> None:
    """95 + 5 gives the free classes 10%, 95 + 4 gives them 1%."""
    assert sum(label(TopTwoClamp(), "top_two", top_two("cat", 95, "dog", 5))[2:]) == pytest.approx(0.10)
    assert sum(label(TopTwoClamp(), "top_two", top_two("cat", 95, "dog", 4))[2:]) == pytest.approx(0.01)


def test_the_other_varieties() -> None:
    answer = top_two("cat", 60, "dog", 20, "fox")
    np.testing.assert_allclose(label(TopTwoUniform(), "top_two", answer), [0.6, 0.2, 0.1, 0.1])
    np.testing.assert_allclose(label(TopOneClamp(), "top_two", answer), [0.6, 0.2, 0, 0.2])
    np.testing.assert_allclose(label(TopOneUniform(), "top_two", answer), [0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3])
    np.testing.assert_allclose(label(SelectTopTwo(), "top_two", answer), [0.5, 0.5, 0, 0])
    np.testing.assert_allclose(label(SelectTopTwo(gamma=0.2), "top_two", answer), [0.4, 0.4, 0.1, 0.1])
    full = top_two("cat", 80, "dog", 20)
    np.testing.assert_allclose(label(TopTwoUniform(), "top_two", full), [0.8, 0.2, 0, 0])
    np.testing.assert_allclose(label(TopTwoUniform(gamma=0.1), "top_two", full), [0.72, 0.18, 0.05, 0.05])


def test_leftover_by_similarity() -> None:
    matrix = np.array([[1, 0.5, 0.3, 0.1], [0.5, 1, 0, 0], [0.3, 0, 1, 0], [0.1, 0, 0, 1]])
    similarity = ClassSimilarity(CLASSES, matrix)
    answer = top_two("cat", 60, None, None)
    expected = [0.6, 0.4 * 5 / 9, 0.4 * 3 / 9, 0.4 * 1 / 9]
    np.testing.assert_allclose(label(TopTwoSimilar(similarity=similarity), "top_two", answer), expected)
    # fox impossible: cat's leftover goes to dog and owl, five to one
    answer = top_two("cat", 60, None, None, "fox")
    np.testing.assert_allclose(
        label(TopTwoSimilar(similarity=similarity), "top_two", answer), [0.6, 0.4 * 5 / 6, 0, 0.4 / 6]
    )
    ignoring = TopTwoSimilar(similarity=similarity, respect_impossible=False)
    np.testing.assert_allclose(label(ignoring, "top_two", answer), expected)
    # nothing alike is possible: equal parts
    answer = top_two("dog", 60, "cat", 20)
    np.testing.assert_allclose(label(TopTwoSimilar(similarity=similarity), "top_two", answer), [0.2, 0.6, 0.1, 0.1])


def test_similarity_from_embeddings() -> None:
    vectors = np.array([[1.0, 0], [1, 1], [0, 1], [-1, 0]])
    similarity = ClassSimilarity.from_embeddings(CLASSES, vectors)
    np.testing.assert_allclose(similarity.matrix[0], [1, np.sqrt(0.5), 0, 0], atol=1e-12)
    assert similarity.nearest_first(CLASSES)[0].tolist() == [1, 2, 3]
    assert similarity.nearest_first(("owl", "fox", "dog", "cat"))[3].tolist() == [2, 0, 1]


def test_plausible() -> None:
    answer = {"cat": "yes", "dog": "unsure", "fox": "no", "owl": "no"}
    assert label(PlausibleEqual(), "plausible", answer) == [0.5, 0.5, 0, 0, 0]
    np.testing.assert_allclose(label(PlausibleWeighted(), "plausible", answer), [2 / 3, 1 / 3, 0, 0, 0])
    nothing = dict.fromkeys(CLASSES, "no")
    assert label(PlausibleWeighted(), "plausible", nothing) == [0, 0, 0, 0, 1]
    beliefs = PlausibleEqual(none_class="not a digit").label(answers("plausible", nothing), ())
    assert beliefs.classes == (*CLASSES, "not a digit")


def test_plausible_doubt() -> None:
    """Item x: one of four classes unsure for the first person, none for the second; item y: two of four."""
    table = answers(
        "plausible",
        {"cat": "yes", "dog": "unsure", "fox": "no", "owl": "no"},
        {"cat": "yes", "dog": "no", "fox": "no", "owl": "no"},
        {"cat": "unsure", "dog": "unsure", "fox": "no", "owl": "no"},
        items=["x", "x", "y"],
    )
    doubt = plausible_doubt(table, PlausibleWeighted().label(table, ()))
    assert doubt.mean_doubt is not None
    assert doubt.unsure_proportion is not None
    assert doubt.mean_doubt.tolist() == [0.125, 0.5]
    assert doubt.unsure_proportion.tolist() == [0.5, 1.0]


def test_sliders() -> None:
    values = {"cat": 0.8, "dog": 0.4, "fox": 0.4, "owl": 0.0}
    np.testing.assert_allclose(label(SlidersLabeler(), "sliders", values), [0.5, 0.25, 0.25, 0])
    zeros = dict.fromkeys(CLASSES, 0.0)
    with pytest.raises(InvalidAnswer, match="every slider at 0"):
        label(SlidersLabeler(), "sliders", zeros)
    assert label(SlidersLabeler(zero_is_uniform=True), "sliders", zeros) == [0.25] * 4


def test_tokens() -> None:
    assert label(TokensLabeler(), "tokens", {"tokens": {"cat": 7, "dog": 3}, "others": False}) == [0.7, 0.3, 0, 0]
    spread = label(TokensLabeler(gamma=0.1), "tokens", {"tokens": {"cat": 7, "dog": 3}, "others": True})
    np.testing.assert_allclose(spread, [0.63, 0.27, 0.05, 0.05])
    with pytest.raises(InvalidAnswer, match="no token"):
        label(TokensLabeler(), "tokens", {"tokens": {}, "others": True})


def test_typicality() -> None:
    np.testing.assert_allclose(
        label(TypicalityLabeler(), "typicality", {"class": "owl", "typicality": 0.7}), [0.1, 0.1, 0.1, 0.7]
    )


def test_mixture() -> None:
    """gamma ** 1 = .005 of the mass goes everywhere; with no confidence all of it does."""
    sure = {"classes": ["cat", "dog"], "share": 0.6, "confidence": 1.0}
    expected = [0.995 * 0.6 + 0.005 / 4, 0.995 * 0.4 + 0.005 / 4, 0.005 / 4, 0.005 / 4]
    np.testing.assert_allclose(label(MixtureLabeler(), "mixture", sure), expected)
    np.testing.assert_allclose(label(MixtureLabeler(rescaled=True), "mixture", sure), [0.6, 0.4, 0, 0])
    unsure = {**sure, "confidence": 0.0}
    np.testing.assert_allclose(label(MixtureLabeler(), "mixture", unsure), [0.25] * 4)
    half = {**sure, "confidence": 0.5}
    s = 0.005**0.5
    np.testing.assert_allclose(label(MixtureLabeler(), "mixture", half)[2], s / 4)


@pytest.mark.parametrize("answer", [top_two("cat", None), top_two("cat", 120), top_two("cat", 50, "dog", -5)])
def test_percents_that_mean_nothing_are_refused(answer: Any) -> None:
    with pytest.raises(InvalidAnswer, match="sfumato screen") as caught:
        label(TopTwoClamp(), "top_two", answer)
    assert caught.value.code == "bad-percent"


def test_settings_out_of_range_are_refused() -> None:
    for make in (
        lambda: TopTwoClamp(gamma=1.5),
        lambda: TopTwoUniform(gamma=0.1, as_released=True),
        lambda: MixtureLabeler(gamma=0.0),
        lambda: PlausibleWeighted(unsure=0.0),
    ):
        with pytest.raises(BadSetting):
            make()
