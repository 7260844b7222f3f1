"""Which kind of label: prices, beta and worth, the limits of a recommendation, and the paper's regularities."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from sfumato.planning.costs import CostModel
from sfumato.planning.decision_limits import BetaRange, beta_ranges, price_limits
from sfumato.planning.informativeness.label_types import label_kinds_named
from sfumato.planning.label_assumptions import assumptions_of, pilot_advice
from sfumato.planning.label_choice import LabelChoice, LabelQuestion, are_close, choose_labels
from sfumato.planning.label_map import around, label_map
from sfumato.planning.label_plan import plan_labels
from sfumato.planning.label_prices import LabelPrices, Worth, prices_of, tradeoff_of
from sfumato.planning.pilot_geometry import NoiseEstimate
from sfumato.tables.errors import SfumatoError

COSTS = CostModel()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def chosen(
    n: int = 20, k: int = 6, kinds: str = "hard,soft,sparse:2..4", *, beta: float = 1.0, utility: str = "linear",
    cost: tuple[str, ...] = (), budget: float | None = None, **settings: object,
) -> LabelChoice:  # fmt: skip
    question = LabelQuestion(n, k, label_kinds_named(kinds.split(","), n, k), **{"n_worlds": 3, **settings})  # type: ignore[arg-type]
    prices = prices_of(k, given=cost, costs=COSTS)
    dearest = max(prices.total(kind, n, k) for kind in question.kinds)
    tradeoff = tradeoff_of(dearest, utility=utility, beta=beta)
    return choose_labels(question, prices, tradeoff, budget=budget, workers=1)


def test_prices_are_judgments_unless_given() -> None:
    """In hard labels: a soft label of 20 classes costs 20, a sparse one of 3 costs 3; with `soft=10` in between."""
    kinds = label_kinds_named(["hard", "soft", "sparse:3", "similarity", "triplet:50"], 10, 20)
    plain = prices_of(20, costs=COSTS)
    assert [plain.total(kind, 10, 20) for kind in kinds] == pytest.approx([10, 200, 30, 45, 50])
    ten = prices_of(20, given=["soft=10", "similarity=0.5"], costs=COSTS)
    assert [ten.of(kind, 20).amount for kind in kinds[:4]] == pytest.approx([1, 10, 1 + 2 * 9 / 19, 0.5])
    assert plain.of(kinds[1], 20).is_assumed
    assert not ten.of(kinds[1], 20).is_assumed
    money = prices_of(20, given=["hard=0.02USD", "soft=0.5 USD"], costs=COSTS)
    assert money.of(kinds[1], 20).amount == pytest.approx(25)
    assert money.in_money(100) == pytest.approx(2)


def test_times_of_a_pilot_come_before_assumptions() -> None:
    kinds = label_kinds_named(["soft", "sparse:2", "sparse:3"], 10, 5)
    prices = prices_of(5, seconds={"hard": 4.0, "soft": 12.0, "sparse:2": 10.0}, costs=COSTS)
    assert [prices.of(kind, 5).amount for kind in kinds] == pytest.approx([3, 2.5, 2])
    assert all(not prices.of(kind, 5).is_assumed for kind in kinds)
    assert prices.hard is not None
    assert prices.hard.amount == pytest.approx(4 * 1.29 / 3600 * 12 * 4 / 3)


def test_reading_a_text_makes_soft_labels_relatively_cheaper() -> None:
    soft = label_kinds_named(["soft"], 10, 20)[0]
    assert prices_of(20, costs=COSTS, reading=12.0).of(soft, 20).amount == pytest.approx((12 + 60) / (12 + 3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("soft", "KIND=PRICE"),
        ("soft=ten", "KIND=PRICE"),
        ("soft=10EUR", "soft=0.25USD"),
        ("dense=3", "hard, soft"),
        ("sparse=3", "sparse:3=3"),
        ("hard=2", "in money"),
        ("soft=0", "above 0"),
    ],
)
def test_prices_that_are_none(given: str, message: str) -> None:
    with pytest.raises(SfumatoError, match=message):
        prices_of(20, given=[given], costs=COSTS)


def test_beta_and_worth_say_the_same() -> None:
    """1,600 hard labels at 0.02 cost 32; a step from 0.5 to 0.9 (0.4 units) is worth 200: 32 cost 0.064 units."""
    hard = prices_of(20, given=["hard=0.02USD"], costs=COSTS).hard
    tradeoff = tradeoff_of(1600, worth=Worth.parse("0.5:0.9=200"), hard=hard)
    assert tradeoff.beta == pytest.approx(0.064)
    assert tradeoff.cost(1600) == pytest.approx(0.064)
    assert tradeoff.price_of_step(0.5, 0.9) == pytest.approx(10_000)  # hard labels: 200 USD
    logit = tradeoff_of(1600, utility="logit", beta=10)
    assert logit.loss(0.5, 1600) == pytest.approx(10)
    assert logit.loss(0.8, 80) == pytest.approx(0.5 - np.log(4))


@pytest.mark.parametrize("text", ["200", "0.9:0.5=200", "0.5:1.9=2", "0.5:0.9=-1", "a:b=c"])
def test_worth_that_is_none(text: str) -> None:
    with pytest.raises(SfumatoError):
        Worth.parse(text)


def test_limits_by_hand() -> None:
    """Lines `beta c - u`: hard 0.1 b - 0.2, sparse 0.3 b - 0.6, soft b - 0.9 cross at 3/7 and 2."""
    utilities, costs = np.array([0.2, 0.6, 0.9]), np.array([0.1, 0.3, 1.0])
    ranges = beta_ranges(["hard", "sparse:3", "soft"], utilities, costs)
    assert [each.kind for each in ranges] == ["soft", "sparse:3", "hard"]
    assert [each.high for each in ranges] == pytest.approx([3 / 7, 2, inf])
    # With beta = 1 and 100 labels of 10 a unit costs 1,000: sparse, at 300, is the best by 0.2 units.
    limits = price_limits(["hard", "sparse:3", "soft"], utilities, 1000 * costs, np.array([100, 100, 100]), 1000.0)
    assert limits["sparse:3"] == pytest.approx(5)  # 0.6 - 0.5 = 0.2 - 0.1
    assert limits["soft"] == pytest.approx(6)
    assert "hard" not in limits
    assert beta_ranges(["hard"], utilities[:1], costs[:1]) == (BetaRange("hard", 0.0, inf),)


def test_the_recommendation_has_the_lowest_loss_and_changes_at_its_limits() -> None:
    choice = chosen(utility="logit", beta=3.0)
    assert choice.best.loss == min(row.loss for row in choice.rows)
    for row in choice.rows:
        assert row.loss == pytest.approx(row.cost - row.utility)
        assert row.difference == pytest.approx(row.loss - choice.best.loss)
        assert row.rho_low < row.rho < row.rho_high
    assert choice.best.difference == 0
    assert sum(row.share_best for row in choice.rows) == pytest.approx(1)
    assert choice.beta_ranges[0].low == 0
    assert choice.beta_ranges[-1].high == inf
    for first, then in zip(choice.beta_ranges, choice.beta_ranges[1:], strict=False):
        assert first.high == then.low
        below, above = (chosen(utility="logit", beta=first.high * change) for change in (0.999, 1.001))
        assert (below.best.kind, above.best.kind) == (first.kind, then.kind)
    limit = choice.price_limits["soft"]
    question, unit = choice.question, choice.tradeoff.unit
    for price, is_best in ((0.99 * limit, True), (1.01 * limit, False)):
        prices = LabelPrices(choice.prices.slope, {"soft": replace(choice.prices.slope, amount=price)})
        again = choose_labels(question, prices, replace(choice.tradeoff, unit=unit), workers=1)
        assert (again.best.kind == "soft") == is_best


def test_money_changes_the_recommendation() -> None:
    cheap, dear = (chosen(beta=beta).best.kind for beta in (0.0, 50.0))
    assert (cheap, dear) == ("soft", "hard")


def test_noise_lets_a_budget_buy_more_of_cheap_labels() -> None:
    noise = {title: NoiseEstimate(1.0, 1.0, 1.0, "given") for title in ("hard", "soft")}
    choice = chosen(40, 10, "hard,soft", noise=noise, n_worlds=6)
    hard, soft = choice.rows
    assert (hard.budget_times, soft.budget_times) == (10, 1)
    assert hard.budget_rho > hard.rho + 0.1
    assert soft.budget_rho == soft.rho
    assert not [each for each in choice.sensitivity if each.what == "noise"]
    part = chosen(40, 10, "hard,soft", noise=noise, budget=200.0)
    assert part.rows[1].budget_times == 0.5
    assert part.rows[1].budget_rho < soft.rho


def test_the_same_question_has_the_same_answer() -> None:
    assert chosen() == chosen()
    assert chosen(seed=1) != chosen()


def test_what_is_assumed_is_said_with_the_pilot_that_settles_it() -> None:
    choice = chosen(80, 20, "hard,soft", utility="logit", beta=2.0)
    found = {each.what: each for each in assumptions_of(choice)}
    assert found["noise of people's answers"].value == "0"
    assert "not your data" in found["price of a hard label"].source
    soft = found["price of a soft label, in hard labels"]
    assert soft.value == "20"
    assert soft.change
    advice = pilot_advice(choice, tuple(found.values()))
    assert advice is not None
    assert advice.kinds == ("hard", "soft")
    assert advice.price == pytest.approx(2 * advice.n_items * 21)
    settled = chosen(
        80, 20, "hard,soft", cost=("soft=2",), dimensions=(5,), noise={"hard": NoiseEstimate(0.5, 0, 1, "")}
    )
    assert not [each for each in assumptions_of(settled) if each.change]


def test_neighbors_are_no_other_decision() -> None:
    assert are_close("sparse:6", "sparse:7")
    assert not are_close("sparse:2", "sparse:4")
    assert not are_close("sparse:2", "top:2")
    assert not are_close("hard", "soft")


def test_the_two_regularities_of_the_paper() -> None:
    """Where items or classes are few, soft labels are about as good or better, whatever beta; with a high beta hard
    labels become preferable as both grow, with a low beta soft ones stay preferable. Full size: bench/plan.py."""
    numbers = (4, 12, 60)
    question = LabelQuestion(60, 60, label_kinds_named(["hard", "soft"], 60, 60), dimensions=(5,))
    prices = prices_of(60, costs=COSTS)
    for beta in (0.01, 1.0, 20.0):
        tradeoff = tradeoff_of(3600, utility="logit", beta=beta)
        drawn = label_map(question, prices, tradeoff, n=numbers, k=numbers, worlds_each=3, workers=1)
        assert len(drawn.sizes) == 9
        few = [drawn.advantage(n, k) for n, k in drawn.sizes if min(n, k) == 4]
        assert min(few) > -0.3
        assert drawn.advantage(4, 4) > 0
        assert (drawn.advantage(60, 60) > 0) == (beta < 20)


def test_the_map_has_the_users_cell() -> None:
    assert 37 in around(37)
    assert 2 in around(2)
    assert around(80)[0] == 3
    plan = plan_labels(items=20, classes=4, kinds=["hard", "soft"], dimensions=[3], worlds=3, with_map=True, workers=1)
    assert plan.map is not None
    yours = [cell for cell in plan.map.cells if cell.yours]
    assert {(cell.n, cell.k) for cell in yours} == {(20, 4)}
    rows = {row.kind: row for row in plan.choice.rows}
    for cell in yours:
        if cell.kind in rows:
            assert cell.loss == pytest.approx(rows[cell.kind].loss)


def test_more_classes_than_items_and_many_items() -> None:
    assert chosen(5, 12, "hard,soft").best.kind in ("hard", "soft")
    large = plan_labels(items=5000, classes=3, kinds=["hard", "soft"], dimensions=[2], worlds=2, noise=0.0, workers=1)
    assert large.choice.question.n_simulated == 300
    assert [row.total for row in large.choice.rows] == [5000, 15000]
    assert any("300 of the 5,000 items" in note for note in large.notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"items": 2, "classes": 3}, "three items or more"),
        ({"items": 20, "classes": 1}, "two classes or more"),
        ({"items": 20, "classes": 2000}, "at most 1,000"),
        ({"classes": 3}, "number of items"),
        ({"items": 20}, "number of classes"),
        ({"items": 20, "classes": 3, "beta": 1.0, "worth": "0.5:0.9=2"}, "both beta= and worth="),
        ({"items": 20, "classes": 3, "beta": -1.0}, "beta"),
        ({"items": 20, "classes": 3, "utility": "cubic"}, "linear, sigmoid"),
        ({"items": 20, "classes": 3, "noise": 1.0, "error": {"hard": 0.1}}, "both noise= and error="),
        ({"items": 20, "classes": 3, "error": {"top:2": 0.1}}, "one of the compared kinds"),
        ({"items": 20, "classes": 3, "error": {"soft": 1.5}}, "between 0 and 1"),
        ({"items": 20, "classes": 3, "budget": "a lot"}, "1600 labels"),
        ({"items": 20, "classes": 3, "embedder": "umap"}, "auto"),
        ({"items": 20, "classes": 3, "worlds": 1}, "worlds"),
        ({"items": 20, "classes": 3, "kinds": ["sparse:4"]}, "at most 3"),
    ],
)
def test_what_cannot_be_asked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SfumatoError, match=message):
        plan_labels(**settings)  # type: ignore[arg-type]
