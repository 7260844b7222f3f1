"""Answers needed per item, from pilots of known crowds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.aggregation import Majority
from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.answer_value import posterior_means
from sfumato.planning.answers_per_item import AnnotatorPlan, ErrorThreshold, plan_answers_per_item, trade_off
from sfumato.planning.costs import CostModel
from sfumato.planning.item_prior import Population
from sfumato.planning.pilot_answers import Pilot, dirichlet
from sfumato.planning.precision import MEASURES, DivergenceError, SquaredError, TotalVariationError, divergence
from sfumato.tables.errors import SfumatoError, SfumatoWarning

TRUTH = DirichletMixture(np.array([0.7, 0.3]), np.array([[12.0, 0.3, 0.2], [1.0, 1.5, 0.5]]))


def pilot(n_items: int, n_answers: int, seed: int = 0) -> Pilot:
    rng = np.random.default_rng(seed)
    probs = Population.of_prior(TRUTH, n_items, rng).probs
    return Pilot(np.array([rng.multinomial(n_answers, p) for p in probs], float))


def planned(source: object, **settings: object) -> AnnotatorPlan:
    return plan_answers_per_item(source, **{"most": 20, "n_pilots": 20, "rng": np.random.default_rng(0)} | settings)


def quietly(source: object, **settings: object) -> AnnotatorPlan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return planned(source, **settings)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_large_pilot_finds_the_truth(measure: object) -> None:
    found = planned(pilot(2000, 10), measure=measure)
    truth = measure.of_prior(TRUTH, 20, np.random.default_rng(1))
    # With one or two answers per item a study cannot fit the prior as well as it is known here.
    start = 2 if measure.uses_prior else 0
    # The pilot leaves open whether shares are more uneven: with a prior the value is higher, towards that.
    rtol = 0.1 if measure.uses_prior else 0.08
    assert np.allclose(found.value[start:], truth[start:], rtol=rtol)
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


@pytest.mark.slow
def test_intervals_of_small_pilots_hold_the_truth() -> None:
    truth = SquaredError().of_prior(TRUTH, 20, np.random.default_rng(1))[-1]
    plans = [planned(pilot(60, 5, seed), measure=SquaredError()) for seed in range(6)]
    # 6 intervals of 95%: below 4 would happen in one of 450.
    assert sum(plan.low[-1] <= truth <= plan.high[-1] for plan in plans) >= 4


def test_the_interval_covers_shares_more_uneven_than_the_pilot_shows() -> None:
    rng = np.random.default_rng(3)
    smooth = Population.of_prior(DirichletMixture(np.ones(1), np.array([[6.0] + [0.4] * 7])), 1300, rng).probs
    uneven = rng.multinomial(40, smooth) / 40
    plan = planned(Pilot(rng.multinomial(8, uneven[:300]).astype(float)), measure=DivergenceError(), n_items=1000)
    votes = rng.multinomial(20, uneven[300:]).astype(float)
    labels = posterior_means(votes, fit_bagged_prior(votes).pooled)
    assert plan.low[-1] <= divergence(uneven[300:], labels).mean() <= plan.high[-1]


def test_the_answer_is_where_the_goal_is_reached_for_good() -> None:
    plan = planned(pilot(800, 8), threshold=ErrorThreshold(0.12))
    assert plan.value[plan.as_it_stands - 1] <= 0.12 < plan.value[plan.as_it_stands - 2]
    assert plan.chance[plan.needed - 1] >= 0.95
    assert plan.chance[plan.needed - 2] < 0.95
    assert plan.as_it_stands <= plan.needed
    low, high = plan.between
    assert low <= plan.needed <= high + 1


@pytest.mark.parametrize("measure", [TotalVariationError(), DivergenceError()], ids=lambda measure: measure.name)
def test_a_share_of_items(measure: object) -> None:
    few = planned(pilot(800, 8), measure=measure, threshold=ErrorThreshold(0.3, share=0.5))
    many = planned(pilot(800, 8), measure=measure, threshold=ErrorThreshold(0.3, share=0.9))
    assert few.needed < many.needed
    assert many.value[many.needed - 1] >= 0.9


def test_a_prior_has_no_interval() -> None:
    plan = planned(dirichlet([1.0], 2), threshold=ErrorThreshold(0.25))
    # 1/3 with one answer, a fourth or less from 2 on: E TV = 5/24.
    assert plan.needed == plan.as_it_stands == 2
    assert np.isnan(plan.low).all()
    assert plan.n_items == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [(pilot(20, 5), "only 20 items"), (pilot(80, 2), "only 2.0 answers each")],
)
def test_a_small_pilot_is_warned_of(source: Pilot, said: str) -> None:
    with pytest.warns(SfumatoWarning, match=f"{said}.*with other items the result would be"):
        planned(source, threshold=ErrorThreshold(0.15))


def test_items_are_checked_with_a_prior_too() -> None:
    with pytest.raises(SfumatoError, match="items = -4"):
        planned(dirichlet([1.0], 3), n_items=-4)


def test_one_answer_per_item_is_no_pilot() -> None:
    with pytest.raises(SfumatoError, match=r"one answer per item.*ask a second person") as caught:
        planned(pilot(80, 1))
    assert caught.value.code == "one-answer"


def test_what_a_pilot_never_saw_is_not_impossible() -> None:
    plan = quietly(Pilot(np.tile([3.0, 0, 0], (12, 1))), threshold=ErrorThreshold(0.02), most=40)
    assert plan.as_it_stands == 1
    assert plan.needed is None or plan.needed > 1
    assert plan.high[0] > 0.02


def test_out_of_reach_says_what_is_possible() -> None:
    plan = planned(pilot(800, 8), threshold=ErrorThreshold(0.01))
    assert plan.needed is None
    with pytest.raises(
        SfumatoError, match=r"plan for a threshold of 0\.\d+, or about [\d,]+ answers per item"
    ) as caught:
        plan.check_reached()
    assert caught.value.code == "out-of-reach"
    with pytest.raises(SfumatoError, match=r"% of items within 0.05 at most = 20.*plan for a share of"):
        planned(pilot(800, 8), threshold=ErrorThreshold(0.05, share=0.99)).check_reached()


def test_every_table_is_a_pilot() -> None:
    votes = {"item": list("aaabbb"), "annotator": list("xyzxyz"), "label": ["c", "c", "d", "d", "d", "d"]}
    beliefs = Beliefs.from_votes(**votes)
    labels = SoftLabels.from_numpy(["a", "b"], [[2 / 3, 1 / 3], [0, 1]], ["c", "d"], 3)
    assert Pilot.of(beliefs).counts.tolist() == Pilot.of(labels).counts.tolist() == [[2, 1], [0, 3]]
    import pyarrow as pa

    rows = {name: votes[name] for name in ("item", "annotator")} | {
        "kind": ["choice/1"] * 6,
        "payload": [f'{{"class": "{label}"}}' for label in votes["label"]],
    }
    assert Pilot.of(Annotations.from_arrow(pa.table(rows), ["c", "d"])).counts.tolist() == [[2, 1], [0, 3]]


def test_tables_that_are_no_pilot() -> None:
    two = ["a", "b"], [[0.5, 0.5], [0, 1]], ["c", "d"]
    beliefs = Beliefs.from_votes(item=list("aab"), annotator=list("xyx"), label=list("cdd"))
    for table, code in [
        (SoftLabels.from_numpy(*two), "no-counts"),
        (SoftLabels.from_numpy(*two, 0), "wrong-estimand"),
        (SoftLabels.from_numpy([], np.empty((0, 2)), ["c", "d"], 0), "no-rows"),
        (Majority().aggregate(beliefs).labels, "wrong-estimand"),
    ]:
        with pytest.raises(SfumatoError) as caught:
            Pilot.of(table)
        assert caught.value.code == code
    with pytest.warns(SfumatoWarning, match="not shares of whole answers"):
        Pilot.of(SoftLabels.from_numpy(["a"], [[0.37, 0.63]], ["c", "d"], 3))


@pytest.mark.parametrize("settings", [{"error": 0}, {"error": 1, "share": 1}, {"error": 1, "probability": 0}])
def test_bad_goals(settings: dict) -> None:
    with pytest.raises(SfumatoError, match="choose another"):
        ErrorThreshold(**settings)


@pytest.mark.parametrize(("alpha", "n_classes"), [([1.0], 1), ([1, -1], 0), ([], 0), ([1, 2], 3), ([np.inf, 1], 0)])
def test_bad_priors(alpha: list, n_classes: int) -> None:
    with pytest.raises(SfumatoError):
        dirichlet(alpha, n_classes)


def test_a_budget_goes_to_items_or_to_answers() -> None:
    table = trade_off(TRUTH, 1000, n_answers=(1, 2, 5, 20, 5000), rng=np.random.default_rng(0))
    assert table.n_answers.tolist() == [1, 2, 5, 20]
    assert table.n_items.tolist() == [1000, 500, 200, 50]
    assert table.best("class_shares") == 1
    assert table.best("disagreement") == 2
    assert table.best("item") == 20
    assert np.isnan(table.disagreement[0])


def test_the_error_of_class_shares_is_what_happens() -> None:
    rng = np.random.default_rng(0)
    table = trade_off(TRUTH, 120, n_answers=(4,), rng=rng)
    center = TRUTH.weights @ (TRUTH.alpha / TRUTH.alpha.sum(axis=1, keepdims=True))
    probs = Population.of_prior(TRUTH, 30_000, rng).probs[rng.permutation(30_000)]
    shares = rng.multinomial(4, probs).reshape(1000, 30, 3).mean(axis=1) / 4
    assert np.isclose(table.class_shares[0], np.sqrt(((shares - center) ** 2).sum(axis=1).mean()), rtol=0.05)


def test_money_buys_answers() -> None:
    table = trade_off(TRUTH, 10, costs=CostModel.plain(36, 10), n_answers=(1, 10), rng=np.random.default_rng(0))
    assert table.n_items.tolist() == [100, 10]  # ten cents per answer
    assert np.allclose(table.cost, 10)


@pytest.mark.parametrize(
    ("budget", "price", "code"),
    [
        (0.5, None, "budget-too-small"),
        (0.05, (36, 10), "budget-too-small"),
        (-1, None, "bad-setting"),
        (9, (0, 1), "bad-setting"),
    ],
)
def test_budgets_that_buy_nothing(budget: float, price: tuple | None, code: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        trade_off(TRUTH, budget, costs=CostModel.plain(*price) if price else None, rng=np.random.default_rng(0))
    assert caught.value.code == code


def test_negative_prices() -> None:
    with pytest.raises(SfumatoError, match="0 or more"):
        CostModel.plain(-1, 10)
