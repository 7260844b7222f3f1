"""Estimates of the deeper form: by hand, and in simulations in which the plain mean is biased."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.planning.deeper_form_estimates import (
    DOUBT,
    DeeperFormEstimates,
    difference,
    effective_number,
    estimate_deeper_form,
    hajek,
    horvitz_thompson,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable

CLASSES = ("cat", "dog")


def tables(rows: list[tuple[str, str, str | None, int | None, str | None, float]]) -> tuple[Annotations, pa.Table]:
    """From (item, annotator, class chosen or None, tokens on cat if the form opened, why, probability)."""
    kinds, payloads = [], []
    for _, _, chosen, cats, _, _ in rows:
        kinds.append("choice/1" if cats is None else "tokens/1")
        rich = {"tokens": {"cat": cats, "dog": 10 - (cats or 0)}, "others": False}
        payloads.append(json.dumps({"class": chosen} if cats is None else rich))
    item, annotator = [row[0] for row in rows], [row[1] for row in rows]
    columns: dict[str, Any] = {"item": item, "annotator": annotator, "kind": kinds, "payload": payloads}
    columns["purpose"] = ["label"] * len(rows)
    records = {
        "item": item,
        "annotator": annotator,
        "purpose": ["label"] * len(rows),
        "deeper": pa.array([row[4] for row in rows], pa.string()),
        "deeper_probability": [row[5] for row in rows],
        "first": pa.array(
            [
                None if chosen is None or cats is None else json.dumps({"class": chosen})
                for _, _, chosen, cats, *_ in rows
            ],
            pa.string(),
        ),
    }
    return Annotations.from_arrow(pa.table(columns), CLASSES), pa.table(records)


def _first(chosen: str | None, cats: int | None) -> str | None:
    return None if chosen is None or cats is None else json.dumps({"class": chosen})


def of(found: DeeperFormEstimates, quantity: str) -> Any:
    return next(row for row in found.estimates.rows if row.quantity == quantity)


def test_by_hand() -> None:
    """Five answers. One is unsure (.5, always asked); of four that chose cat with p = .25 one was drawn and said .9.

    Cat: plain (.5 + .9) / 2 = .7; weighed (.5 + 4 * .9) / 5 = .82, by either estimate as the weights sum to 5.
    On item j, where nothing opened, the choice stands for the .9 that the form says after it; on item i there are the
    one unsure and two that chose cat: (.5 + .9 + .9) / 3, and the drawn one differs from the .9 by nothing.
    """
    found = estimate_deeper_form(
        *tables(
            [
                ("i", "a", None, 5, "unsure", 1.0),
                ("i", "b", "cat", 9, "random", 0.25),
                ("i", "c", "cat", None, None, 0.25),
                ("j", "a", "cat", None, None, 0.25),
                ("j", "b", "cat", None, None, 0.25),
            ]
        ),
        rng=np.random.default_rng(0),
    )
    cat = of(found, "cat")
    assert (cat.n_answers, cat.n_deeper) == (5, 2)
    assert cat.naive == pytest.approx(0.7)
    assert cat.horvitz_thompson == pytest.approx((0.5 + 4 * 0.9) / 5)
    assert cat.hajek == pytest.approx((0.5 + 4 * 0.9) / 5)
    doubt = of(found, DOUBT)
    sure = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    assert doubt.naive == pytest.approx((np.log(2) + sure) / 2)
    assert doubt.hajek == pytest.approx((np.log(2) + 4 * sure) / 5)
    assert found.items == ("i", "j")
    np.testing.assert_allclose(found.naive[0], [0.7, 0.3])
    np.testing.assert_allclose(found.horvitz_thompson[0], [(0.5 + 4 * 0.9) / 3, (0.5 + 4 * 0.1) / 3])
    np.testing.assert_allclose(found.hajek[0], [(0.5 + 4 * 0.9) / 5, (0.5 + 4 * 0.1) / 5])
    assert np.isnan(found.hajek[1]).all()
    np.testing.assert_allclose(found.assisted[:, 0], [(0.5 + 0.9 + 0.9) / 3, 0.9])
    assert found.reasons == {"unsure": 1, "random": 1}
    assert found.n_effective == pytest.approx((1 + 4) ** 2 / (1 + 16))
    assert found.labels().n_annotators.tolist() == [3, 2]


def test_what_can_never_open_cannot_be_estimated() -> None:
    rows = [("i", "a", None, 5, "unsure", 1.0), ("i", "b", "cat", None, None, 0.0)]
    with pytest.raises(BadTable, match="could never open") as caught:
        estimate_deeper_form(*tables(rows), rng=np.random.default_rng(0))
    assert caught.value.code == "no-probabilities"
    with pytest.raises(BadTable, match="none in the deeper form"):
        estimate_deeper_form(*tables([("i", "b", "cat", None, None, 0.5)]), rng=np.random.default_rng(0))
    answers, records = tables([("i", "a", None, 5, "unsure", 1.0), ("i", "b", "cat", None, None, 0.5)])
    with pytest.raises(BadTable, match="without a record"):
        estimate_deeper_form(answers, records.slice(0, 1), rng=np.random.default_rng(0))


# --- in simulation ---

N_ITEMS, N_PEOPLE, SHARE, UNSURE = 40, 10, 0.15, 0.65


class Crowd:
    """Everybody has a belief about every item; people who leave more than a third to the other class are not sure."""

    def __init__(self, rng: np.random.Generator) -> None:
        truth = rng.beta(0.8, 0.8, N_ITEMS)
        self.item = np.repeat(np.arange(N_ITEMS), N_PEOPLE)
        cats = np.clip(np.round(10 * (truth[self.item] + rng.normal(0, 0.12, len(self.item)))), 0, 10)
        self.probs = np.column_stack([cats, 10 - cats]) / 10
        self.is_unsure = self.probs.max(axis=1) < UNSURE
        self.doubt = -(self.probs * np.log(np.where(self.probs > 0, self.probs, 1))).sum(axis=1, keepdims=True)

    def opened(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        probability = np.where(self.is_unsure, 1.0, SHARE)
        return rng.random(len(self.item)) < probability, probability


def test_weighed_estimates_have_no_bias_and_the_plain_mean_has() -> None:
    """Over 4,000 draws of the same people: each estimate against the truth, in standard errors of its mean."""
    rng = np.random.default_rng(5)
    crowd = Crowd(rng)
    whole, n_all = np.zeros(len(crowd.item), int), np.array([len(crowd.item)])
    truth = crowd.doubt.mean()
    found: dict[str, list[float]] = {"naive": [], "horvitz-thompson": [], "hajek": []}
    for _ in range(4000):
        is_in, probability = crowd.opened(rng)
        values, p, group = crowd.doubt[is_in], probability[is_in], whole[is_in]
        found["naive"].append(float(values.mean()))
        found["horvitz-thompson"].append(horvitz_thompson(values, p, group, n_all).item())
        found["hajek"].append(hajek(values, p, group, 1).item())
    off = {name: (np.mean(each) - truth) / (np.std(each) / len(each) ** 0.5) for name, each in found.items()}
    assert abs(off["horvitz-thompson"]) < 3.5
    assert abs(np.mean(found["hajek"]) - truth) < 0.01 * truth
    assert np.std(found["hajek"]) < np.std(found["horvitz-thompson"])
    # The negative control: were the weights left out, this test would see it.
    assert off["naive"] > 50
    assert np.mean(found["naive"]) > 1.3 * truth


def test_by_item_the_choice_assists_and_the_plain_mean_leans_to_doubt() -> None:
    rng = np.random.default_rng(6)
    crowd = Crowd(rng)
    truth = np.array([crowd.probs[crowd.item == i].mean(axis=0) for i in range(N_ITEMS)])
    n_asked = np.full(N_ITEMS, N_PEOPLE)
    first = crowd.probs.argmax(axis=1)
    totals, squares = np.zeros((2, *truth.shape)), np.zeros(2)
    n_draws = 600
    for _ in range(n_draws):
        is_in, probability = crowd.opened(rng)
        # A guess that knows nothing of this draw: the estimate has no bias however bad it is.
        guess = np.where(crowd.is_unsure[:, None], crowd.probs, np.array([[0.9, 0.1], [0.1, 0.9]])[first])
        own = difference(guess, crowd.probs, probability, is_in.astype(int), crowd.item, N_ITEMS)
        plain = horvitz_thompson(crowd.probs[is_in], probability[is_in], crowd.item[is_in], n_asked)
        for place, each in enumerate((own, plain)):
            totals[place] += each
            squares[place] += ((each - truth) ** 2).mean()
    apart = np.abs(totals / n_draws - truth).max(axis=(1, 2))
    assert apart[0] < 0.02
    assert apart[1] < 0.15
    assert squares[0] < squares[1] / 20


def test_the_interval_covers_the_truth_of_other_items() -> None:
    """Each time new items, people and draws; the interval is for the mean doubt of such items."""
    rng = np.random.default_rng(7)
    expected = np.mean([Crowd(rng).doubt.mean() for _ in range(200)])
    covered = {"hajek": 0, "naive": 0}
    for _ in range(40):
        crowd = Crowd(rng)
        is_in, probability = crowd.opened(rng)
        rows = []
        for n, item in enumerate(crowd.item):
            unsure, cats = bool(crowd.is_unsure[n]), round(10 * crowd.probs[n, 0])
            why = ("unsure" if unsure else "random") if is_in[n] else None
            chosen = None if unsure else CLASSES[int(crowd.probs[n].argmax())]
            rows.append((f"i{item}", f"a{n}", chosen, cats if is_in[n] else None, why, float(probability[n])))
        row = of(estimate_deeper_form(*tables(rows), rng=rng, resamples=200), DOUBT)
        covered["hajek"] += row.low <= expected <= row.high
        half = (row.high - row.low) / 2
        covered["naive"] += abs(row.naive - expected) <= half
    assert covered["hajek"] >= 34  # 38 are wanted; fewer than 34 once in 300
    assert covered["naive"] < 20  # the negative control


def test_effective_number() -> None:
    assert effective_number(np.full(8, 0.2)) == pytest.approx(8)
    assert effective_number(np.zeros(0)) == 0
