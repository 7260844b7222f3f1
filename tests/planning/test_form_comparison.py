"""Form comparison: by hand on two items, and in simulations with a known better form."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from sfumato.planning.form_comparison import FLOOR, KL, TOTAL_VARIATION, FormScore, FormScores, compare_forms
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable

CLASSES = ("cat", "dog")


def table(rows: list[tuple[str, str, str, dict[str, object], float]]) -> Annotations:
    """From (item, annotator, kind, payload, seconds)."""
    item, annotator, kind, payload, seconds = zip(*rows, strict=True)
    columns = {
        "item": item,
        "annotator": annotator,
        "kind": kind,
        "payload": [json.dumps(each) for each in payload],
        "purpose": ["label"] * len(rows),
        "seconds": seconds,
    }
    return Annotations.from_arrow(pa.table({name: list(values) for name, values in columns.items()}), CLASSES)


def tokens(cat: int) -> dict[str, object]:
    return {"tokens": {"cat": cat, "dog": 10 - cat}, "others": False}


def of(found: FormScores, form: str, measure: str, n_answers: int = 1) -> FormScore:
    return next(
        each for each in found.scores if (each.form, each.measure, each.n_answers) == (form, measure, n_answers)
    )


def test_by_hand() -> None:
    """One item. Choices: cat (2 s), dog (4 s). Tokens: .8 (10 s), .6 (20 s).

    A choice of cat is scored against the mean of the other choice (0) and of the tokens (.7): .35; one of dog against
    the mean of 1 and .7: .85. Tokens of .8 against the mean of .6 and of the choices (.5): .55; of .6 against .65.
    """
    found = compare_forms(
        table(
            [
                ("i", "a", "choice/1", {"class": "cat"}, 2.0),
                ("i", "b", "choice/1", {"class": "dog"}, 4.0),
                ("i", "c", "tokens/1", tokens(8), 10.0),
                ("i", "d", "tokens/1", tokens(6), 20.0),
            ]
        ),
        rng=np.random.default_rng(0),
    )
    choice, token = of(found, "choice/1", TOTAL_VARIATION), of(found, "tokens/1", TOTAL_VARIATION)
    assert choice.divergence == pytest.approx((0.65 + 0.85) / 2)
    assert token.divergence == pytest.approx((0.25 + 0.05) / 2)
    assert (choice.seconds, token.seconds) == (3.0, 15.0)
    nothing = {"choice": (0.15 + 0.35) / 2, "token": (0.05 + 0.15) / 2}
    assert choice.per_second == pytest.approx((nothing["choice"] - choice.divergence) / 3)
    assert token.per_second == pytest.approx((nothing["token"] - token.divergence) / 15)
    assert token.more == pytest.approx(token.per_second - choice.per_second)
    said = (1 - FLOOR) * np.array([1.0, 0.0]) + FLOOR / 2
    against = np.array([0.35, 0.65])
    first = (against * np.log(against / said)).sum()
    said, against = said[::-1], np.array([0.85, 0.15])
    second = (against * np.log(against / said)).sum()
    assert of(found, "choice/1", KL).divergence == pytest.approx((first + second) / 2)
    assert len(found) == 4  # one answer can be scored where there are two


def crowd(n_items: int = 60, n_people: int = 8, slow: float = 12.0) -> Annotations:
    rng = np.random.default_rng(3)
    rows: list[tuple[str, str, str, dict[str, object], float]] = []
    for i, p in enumerate(rng.beta(2, 2, n_items)):
        for person in range(n_people):
            rows.append((f"i{i}", f"a{person}", "choice/1", {"class": CLASSES[int(rng.random() > p)]}, 2.0))
            rows.append((f"i{i}", f"b{person}", "tokens/1", tokens(round(10 * p)), slow))
    return table(rows)


def test_a_form_that_tells_the_truth_is_nearer_and_its_price_decides() -> None:
    found = compare_forms(crowd(), rng=np.random.default_rng(0))
    choice, token = of(found, "choice/1", TOTAL_VARIATION), of(found, "tokens/1", TOTAL_VARIATION)
    assert token.high < choice.low
    assert choice.per_second < 0 < token.more_low  # a single vote lies further off than knowing nothing
    several = [of(found, "choice/1", TOTAL_VARIATION, n).divergence for n in range(1, 8)]
    assert several[0] > several[1] > several[3]
    dear = compare_forms(crowd(slow=1200.0), rng=np.random.default_rng(0))
    four, as_many = (of(each, "tokens/1", KL, 4).per_second for each in (found, dear))
    assert as_many == pytest.approx(four / 100)


def test_intervals_hold_the_figure_and_narrow_with_items() -> None:
    few, many = (compare_forms(crowd(n), rng=np.random.default_rng(0)) for n in (15, 240))
    for found in (few, many):
        assert all(each.low <= each.divergence <= each.high for each in found.scores)
    widths = [of(each, "choice/1", TOTAL_VARIATION) for each in (few, many)]
    assert widths[0].high - widths[0].low > 2 * (widths[1].high - widths[1].low)


def test_arms_of_one_kind_are_distinguished_by_name() -> None:
    rows = [("i", who, "tokens/1", tokens(cat), 1.0) for who, cat in (("a", 9), ("b", 9), ("c", 1), ("d", 1))]
    arms = {"a": "own view", "b": "own view", "c": "others' view", "d": "others' view"}
    found = compare_forms(table(rows), arms, rng=np.random.default_rng(0))
    assert {each.form for each in found.scores} == {"own view", "others' view"}
    with pytest.raises(BadTable, match="1 form "):
        compare_forms(table(rows), rng=np.random.default_rng(0))


def test_forms_asked_about_different_items_cannot_be_compared() -> None:
    rows = [(item, who, kind, {"class": "cat"} if kind == "choice/1" else tokens(5), 1.0)
            for item, kind in (("i", "choice/1"), ("j", "tokens/1")) for who in "ab"]  # fmt: skip
    with pytest.raises(BadTable, match="0 items with two answers") as caught:
        compare_forms(table(rows), rng=np.random.default_rng(0))
    assert caught.value.code == "nothing-to-compare"


def drawn(n_items: int, rng: np.random.Generator) -> Annotations:
    """New items each time, four answers in each of two forms; choices are votes, tokens a belief with noise."""
    rows: list[tuple[str, str, str, dict[str, object], float]] = []
    for i, p in enumerate(rng.beta(1, 1, n_items)):
        for person in range(4):
            vote, belief = CLASSES[int(rng.random() > p)], int(np.clip(round(10 * (p + rng.normal(0, 0.2))), 0, 10))
            rows.append((f"i{i}", f"a{person}", "choice/1", {"class": vote}, float(rng.lognormal(1, 0.4))))
            rows.append((f"i{i}", f"b{person}", "tokens/1", tokens(belief), float(rng.lognormal(2, 0.4))))
    return table(rows)


def test_intervals_cover_what_other_items_would_say() -> None:
    rng = np.random.default_rng(11)
    whole = compare_forms(drawn(1500, rng), rng=rng, resamples=1)
    figures = {"divergence": ("low", "high"), "per_second": ("per_second_low", "per_second_high"),
               "more": ("more_low", "more_high")}  # fmt: skip
    n_times, covered = 24, {0.95: 0, 0.3: 0}
    for level in covered:
        for _ in range(n_times):
            found = of(compare_forms(drawn(25, rng), rng=rng, resamples=200, level=level), "tokens/1", KL)
            truth = of(whole, "tokens/1", KL)
            covered[level] += sum(
                getattr(found, low) <= getattr(truth, name) <= getattr(found, high)
                for name, (low, high) in figures.items()
            )
    n = n_times * len(figures)
    assert covered[0.95] >= 0.84 * n  # 25 items are few: a little below what is said
    assert covered[0.3] <= 0.6 * n  # the negative control: intervals that are too narrow are seen to be


def test_the_first_form_is_the_one_that_others_are_held_against() -> None:
    rows = [("i", who, "tokens/1", tokens(cat), 1.0) for who, cat in (("a", 9), ("b", 7), ("c", 1), ("d", 2))]
    for arms in ({"a": "x", "b": "x", "c": "y", "d": "y"}, {"c": "y", "d": "y", "a": "x", "b": "x"}):
        found = compare_forms(table(rows), arms, rng=np.random.default_rng(0))
        first = next(iter(arms.values()))
        assert found.scores[0].form == first
        assert of(found, first, KL).more == 0.0
