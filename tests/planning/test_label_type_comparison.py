"""The comparison: values, ranks and winners by hand; what pilots say, gathered."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.planning.costs import CostModel, KindTime
from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.question_signals import ratio_of
from sfumato.planning.label_type_comparison import Comparison, compare
from sfumato.planning.pilot_evidence import evidence_of
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import SfumatoError

TIMES = {"choice": KindTime(2, "x"), "tokens": KindTime(8, "y"), "similarity": KindTime(4, "z")}
COSTS = CostModel(TIMES, overhead=1, wage=36, fee=0)  # a cent a second
RATES = {
    "tokens": ExchangeRates(
        tuple(
            ExchangeRate("tokens", Goal.DISTRIBUTION, "m", m, 3 * m**0.5, 2 * m**0.5, 5 * m**0.5, 99, 70, "measured")
            for m in (1, 4)
        )
    )
}


def small(**settings: object) -> Comparison:
    settings = {"n_items": 100, "n_classes": 5, "costs": COSTS, "measured": RATES, **settings}
    return compare(("choice", "tokens", "similarity"), rng=np.random.default_rng(0), **settings)  # type: ignore[arg-type]


def test_values_by_hand() -> None:
    table = small(budget=32.0)
    row = {row.kind: row for row in table.of_goal(Goal.DISTRIBUTION)}
    # 32 buy 16 choices an item at 2 cents, or 4 answers in tokens at 8, which are worth twice as much as one.
    assert np.isclose(row["choice"].n_answers, 16)
    assert np.isclose(row["choice"].equal_budget, 16)
    assert np.isclose(row["tokens"].n_answers, 4)
    assert np.isclose(row["tokens"].equal_items, 3)
    assert np.allclose([row["tokens"].equal_budget, row["tokens"].equal_budget_low], [6, 4])
    assert (row["tokens"].rank_items, row["choice"].rank_items, row["similarity"].rank_items) == (1, 2, 3)
    assert (row["tokens"].rank_budget, row["choice"].rank_budget) == (2, 1)
    assert table.best(Goal.DISTRIBUTION, at_equal_budget=False) == "tokens"
    assert table.best(Goal.DISTRIBUTION, at_equal_budget=True) == "choice"
    assert row["tokens"].measured == 1
    assert row["choice"].measured == 0
    assert np.isclose(row["tokens"].information_ratio, ratio_of("tokens", 100, 5))
    assert np.isclose(row["tokens"].loss, 0.02 * 4 - row["tokens"].rho)
    assert np.isclose(row["similarity"].loss, 0.02 * 2 * 99 / 2 - row["similarity"].rho)


def test_the_usual_budget_is_one_answer_of_the_dearest_kind() -> None:
    table = small()
    assert np.isclose(table.budget, 100 * 0.08)
    tokens = next(row for row in table.of_goal(Goal.DISTRIBUTION) if row.kind == "tokens")
    assert np.isclose(tokens.equal_budget, tokens.equal_items)


def test_a_budget_for_fewer_answers_than_items_labels_a_share() -> None:
    row = next(row for row in small(budget=1.0).of_goal(Goal.DISTRIBUTION) if row.kind == "choice")
    assert np.isclose(row.equal_budget, 0.5)


def test_a_kind_that_the_budget_does_not_buy_once_is_worth_nothing() -> None:
    rows = {row.kind: row for row in small(budget=0.05).of_goal(Goal.DISTRIBUTION)}
    assert rows["tokens"].equal_budget == 0
    assert rows["choice"].equal_budget > 0
    with pytest.raises(SfumatoError, match=r"0\.02 per answer of kind choice") as caught:
        small(budget=0.01)
    assert caught.value.code == "budget-too-small"


def test_goals_differ_and_the_table_has_them_all() -> None:
    frame = small().to_polars()
    assert frame.height == 12
    assert frame["votes"].null_count() == 4  # similarity names no class
    assert frame.filter(frame["goal"] == "class")["votes_source"][0] == "a vote is a vote"


def test_of_equal_values_the_measured_and_then_the_cheapest_wins() -> None:
    alike = {"tokens": ExchangeRates((ExchangeRate("tokens", Goal.CLASS, "m", 1, 1.0, 0.5, 2, 9, 70, "measured"),))}
    assert small(measured=alike).best(Goal.CLASS, at_equal_budget=False) == "tokens"
    table = compare(("sliders", "plausible"), n_items=50, n_classes=3, rng=np.random.default_rng(0))
    assert table.best(Goal.CLASS, at_equal_budget=False) == "plausible"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"n_classes": 200}, "200 classes for 100 items.*more items, or merge classes"),
        ({"n_classes": 1}, "1 class;.*two classes or more"),
        ({"n_items": 0}, "items = 0"),
        ({"budget": -1.0}, "budget = -1"),
        ({"beta": -1.0}, "beta = -1"),
        ({"noise": float("nan")}, "noise = nan"),
    ],
)
def test_what_cannot_be_compared(settings: dict, says: str) -> None:
    with pytest.raises(SfumatoError, match=says):
        small(**settings)


def pilot(kind: str, payloads: list[dict], n_items: int, seconds: float | None = 5.0) -> Annotations:
    each = len(payloads) // n_items
    return Annotations.from_arrow(
        pa.table(
            {
                "item": [f"i{i}" for i in range(n_items) for _ in range(each)],
                "annotator": [f"p{j}" for _ in range(n_items) for j in range(each)],
                "kind": [f"{kind}/1"] * len(payloads),
                "payload": [json.dumps(payload) for payload in payloads],
                "seconds": pa.array([seconds] * len(payloads), pa.float64()),
            }
        ),
        ["a", "b"],
    )


def pilots(seconds: float | None = 5.0, n: int = 30) -> tuple[Annotations, Annotations]:
    rng = np.random.default_rng(0)
    p = np.repeat(rng.uniform(size=n), 4)
    tokens = [{"tokens": {"a": int(t), "b": int(10 - t)}, "others": False} for t in rng.binomial(10, p)]
    choices = [{"class": "ab"[int(v)]} for v in rng.random(4 * n) > p]
    return pilot("tokens", tokens, n, seconds), pilot("choice", choices, n, 2.0)


def test_pilots_are_gathered_by_kind() -> None:
    found = evidence_of(pilots(), rng=np.random.default_rng(0))
    assert found.kinds == ("tokens", "choice")
    assert (found.times["tokens"].seconds, found.times["choice"].seconds) == (5, 2)
    assert set(found.rates) == {"tokens"}
    assert found.rates["tokens"].rates[0].source == "measured"
    assert set(found.errors) == {"tokens", "choice"}
    assert (found.n_items, found.n_classes) == (30, 2)
    alone = evidence_of(pilots()[:1], rng=np.random.default_rng(0))
    assert "compared with its own top class" in alone.notes[-1]


def test_pilots_without_times_or_answers_say_what_to_do() -> None:
    with pytest.raises(SfumatoError, match=r'seconds="tokens=') as caught:
        evidence_of(pilots(seconds=None), rng=np.random.default_rng(0))
    assert caught.value.code == "no-times"
    found = evidence_of(pilots(seconds=None), timed=("tokens",), rng=np.random.default_rng(0))
    assert set(found.times) == {"choice"}
    with pytest.raises(SfumatoError, match="omit the pilot") as caught:
        evidence_of([pilots()[0].take(np.zeros(120, bool))], rng=np.random.default_rng(0))
    assert caught.value.code == "no-rows"


def test_two_files_of_a_kind_are_one_pilot() -> None:
    whole = pilots()[0]
    first = np.arange(120) < 60
    parts = [whole.take(first), whole.take(~first), pilots()[1]]
    split, one = (evidence_of(some, rng=np.random.default_rng(0)) for some in (parts, pilots()))
    assert split.notes == one.notes
    assert split.rates["tokens"].rates == one.rates["tokens"].rates
    other = replace(whole, classes=("b", "a"))
    with pytest.raises(SfumatoError, match="one by one"):
        evidence_of([whole, other], rng=np.random.default_rng(0))
