"""Decisions with values computed by hand: squared distances of shares, `(1 - E |p|^2) / M`."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Plan
from sfumato.planning.adaptive_gain import AdaptiveCurve
from sfumato.planning.answers_per_item import ErrorThreshold
from sfumato.planning.candidate_plans import PlanTerms, best_within_budget, cheapest_within_threshold
from sfumato.planning.costs import CostModel, KindTime
from sfumato.planning.decision import DeeperItems, decide
from sfumato.planning.goal_error import Criterion, ExpectedError, VoteCurve
from sfumato.planning.goals import Goal
from sfumato.planning.pilot_answers import Pilot, dirichlet
from sfumato.planning.plan_file import Budget, Fewest, PlanAdaptive
from sfumato.planning.vote_rates import vote_rate, vote_rates
from sfumato.tables.errors import BadSetting, SfumatoError

# An hour an answer at 1 an hour: an answer of `choice` costs 1, one of `sliders` 2.
COSTS = CostModel(
    {"choice": KindTime(3600.0, "given"), "sliders": KindTime(7200.0, "given")},
    overhead=1.0,
    wage=1.0,
    fee=0.0,
    currency="EUR",
)
# Two classes, any p: E |p|^2 = 2/3, so that M votes leave (1/3) / M.
PRIOR = dirichlet([1.0], 2)


def decided(**settings: object) -> Plan:
    usual = {"goal": Goal.GEOMETRY, "costs": COSTS, "classes": ["a", "b"], "n_items": 10, "kinds": ["choice"]}
    return decide(PRIOR, rng=np.random.default_rng(0), **{**usual, **settings})  # type: ignore[arg-type]


def money(amount: float) -> Budget:
    return Budget(amount=amount, unit="EUR")


def test_what_a_budget_buys() -> None:
    plan = decided(budget=money(47))
    assert plan.answers == Fewest(each=4)
    assert plan.expected.value == pytest.approx(1 / 12)
    assert plan.expected.low is None
    assert plan.expected.source == "assumed prior"
    assert (plan.cost.money, plan.cost.answers, plan.cost.hours, plan.cost.an_answer) == (40, 40, 40, 1)
    assert plan.cost.people == 4  # nobody answers about an item twice, though two batches would do
    assert (plan.items, plan.n_items) == ("all", 10)
    points = {point.answers: (point.value, point.money) for point in plan.curve}
    assert points[2] == pytest.approx((1 / 6, 20))
    assert 4 in points
    half = next(each for each in plan.alternatives if each.what.startswith("half"))
    assert (half.each, half.value, half.money) == (2, pytest.approx(1 / 6), 20)
    twice = next(each for each in plan.alternatives if each.what.startswith("twice"))
    assert (twice.n_items, twice.each, twice.money) == (20, 2, 40)


def test_a_budget_in_answers() -> None:
    assert decided(budget=Budget(amount=69, unit="answers")).answers == Fewest(each=6)


def test_the_richer_form_wins_where_it_is_worth_its_price() -> None:
    both = {"kinds": ["choice", "sliders"], "budget": money(40)}
    # 4 choices or 2 sliders: worth 4 votes, or 2 x 3.
    plan = decided(**both, votes={"sliders": 3.0})
    assert (plan.question.kind, plan.answers) == ("sliders", Fewest(each=2))
    assert plan.expected.value == pytest.approx(1 / 18)
    other = plan.alternatives[0]
    assert (other.kind, other.value, other.money) == ("choice", pytest.approx(1 / 12), 40)
    assert "the error is 1.5 times as large" in other.why_not
    # A choice would do as well if six of them cost what four do: 7200 x 2 / 6 = 2400 seconds, or 1.5 votes.
    assert (
        "choice answers: better if one took less than 2.4e+03 paid seconds (now 3.6e+03) or was worth more than 1.5"
        in " ".join(plan.would_change)
    )
    assert decided(**both, votes={"sliders": 1.9}).question.kind == "choice"


def test_the_cheapest_that_is_enough() -> None:
    plan = decided(threshold=ErrorThreshold(0.05))
    assert plan.answers == Fewest(each=7)  # (1/3) / 7 = .0476, (1/3) / 6 = .0556
    assert plan.budget is None
    both = decided(threshold=ErrorThreshold(0.05), kinds=["choice", "sliders"], votes={"sliders": 3.6})
    assert (both.question.kind, both.answers) == ("sliders", Fewest(each=2))  # 7.2 votes for 40 in place of 70
    assert both.alternatives[0].money == 70


def test_a_target_and_a_budget() -> None:
    assert decided(threshold=ErrorThreshold(0.05), budget=money(70)).answers == Fewest(each=7)
    with pytest.raises(BadSetting) as caught:
        decided(threshold=ErrorThreshold(0.05), budget=money(69))
    said = str(caught.value)
    assert caught.value.code == "budget-too-small"
    assert "reaches a mean squared distance of 0.05556" in said  # six answers each
    assert "raise the budget to 70.00 EUR" in said


def test_out_of_reach_says_what_can_be_reached() -> None:
    with pytest.raises(BadSetting) as caught:
        decided(threshold=ErrorThreshold(0.001), most=50)
    assert caught.value.code == "out-of-reach"
    assert "0.006667 with 50 choice answers per item, at 500.00 EUR" in caught.value.found
    assert "a threshold of 0.0067" in caught.value.fix


def test_too_little_for_every_item_plans_fewer() -> None:
    names = [f"i{i}" for i in range(10)]
    plan = decided(budget=money(7.5), items=names)
    assert (plan.n_items, plan.answers, plan.cost.money) == (7, Fewest(each=1), 7)
    assert len(set(plan.items)) == 7
    assert set(plan.items) < set(names)
    assert any("one answer for 7 of 10 items; one for each item costs 10.00 EUR" in said for said in plan.would_change)
    # Drawn, and not the first ones.
    assert list(plan.items) != names[:7]


def test_too_little_for_one_answer() -> None:
    with pytest.raises(BadSetting) as caught:
        decided(budget=money(0.5), kinds=["sliders", "choice"], votes={"sliders": 1.0})
    assert caught.value.code == "budget-too-small"
    assert "at 1 EUR per choice answer, the cheapest" in caught.value.found


@pytest.mark.parametrize("budget", [money(-3.0), money(0.5), Budget(amount=0.2, unit="answers")])
@pytest.mark.parametrize("threshold", [None, ErrorThreshold(0.05)])
def test_a_budget_without_an_answer_is_refused_before_anything_is_simulated(
    budget: Budget, threshold: ErrorThreshold | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Criterion, "curve")
    with pytest.raises(BadSetting):
        decided(budget=budget, threshold=threshold)


def test_a_form_for_a_part_of_the_items_is_shown() -> None:
    plan = decided(budget=money(12), kinds=["choice", "sliders"], votes={"sliders": 9.0})
    assert plan.question.kind == "choice"  # six items could be asked about with sliders, not ten
    part = next(each for each in plan.alternatives if each.kind == "sliders")
    assert (part.n_items, part.value) == (6, pytest.approx(1 / 27))
    assert "only 6 of the 10 items" in part.why_not


def test_deeper_items_are_paid_first() -> None:
    plan = decided(budget=money(47), deeper_items=DeeperItems("sliders", ("x", "y", "z")), votes={"sliders": 2.0})
    assert plan.deeper_items == ("x", "y", "z")
    assert plan.question.deeper is not None
    assert (plan.question.deeper.kind, plan.question.deeper.votes) == ("sliders", 2.0)
    assert plan.answers == Fewest(each=4)  # 47 less 6
    assert (plan.cost.money, plan.cost.answers) == (46, 43)
    with pytest.raises(BadSetting, match="budget left"):
        decided(budget=money(6), deeper_items=DeeperItems("sliders", ("x", "y", "z")), votes={"sliders": 2.0})


def test_the_class_of_items_by_a_lead() -> None:
    rng = np.random.default_rng(1)
    counts = np.array([rng.multinomial(20, p) for p in rng.dirichlet([3, 0.3], 600)], float)
    given = {"goal": Goal.CLASS, "costs": COSTS, "classes": ["a", "b"], "n_items": 10, "kinds": ["choice"]}
    plan = decide(Pilot(counts), budget=money(50), rng=rng, **given)  # type: ignore[arg-type]
    assert isinstance(plan.answers, PlanAdaptive)
    assert plan.answers.index == "lead"
    assert plan.answers.lead is not None
    assert plan.cost.money <= 50
    assert plan.expected.measure == "wrong_class"
    equal = next(each for each in plan.alternatives if each.assignment == "fewest")
    assert plan.expected.value < equal.value
    without = decide(Pilot(counts), budget=money(50), adaptive=False, rng=rng, **given)  # type: ignore[arg-type]
    assert without.answers == Fewest(each=5)


def terms_with(ratio: float, spread: float) -> PlanTerms:
    """Errors of 1 / votes, and an adaptive study with this share of them from 4 answers on."""
    votes = np.arange(1.0, 11)
    curve = VoteCurve(votes, 1 / votes, np.tile(1 / votes, (50, 1)))
    adapted = AdaptiveCurve(
        np.array([2.0, 4.0, 8.0]), np.array([1.0, ratio, ratio]), np.array([0.0, spread, spread]), np.array([2, 9, 20]),
        np.zeros(3, np.int64),
    )  # fmt: skip
    worths = vote_rates(Goal.DISTRIBUTION, ["choice"], COSTS)
    return PlanTerms(Criterion(Goal.DISTRIBUTION), curve, COSTS, worths, 100, 50, adapted)


def test_adaptive_where_it_was_shown_to_gain() -> None:
    chosen = best_within_budget(terms_with(0.5, 0.1), money(450))
    answers = chosen.candidate.answers
    assert isinstance(answers, PlanAdaptive)
    assert (answers.index, answers.fewest, answers.on_average, answers.threshold) == ("kl", 2, 4.5, None)
    assert 9 < answers.most < 20
    assert chosen.candidate.error.value == pytest.approx(0.5 / 4.5)
    low, high = chosen.candidate.error.low, chosen.candidate.error.high
    assert low == pytest.approx((0.5 - 1.96 * 0.1) / 4.5, rel=0.1)
    assert high == pytest.approx((0.5 + 1.96 * 0.1) / 4.5, rel=0.1)
    assert chosen.others[0].answers == Fewest(each=4)
    # Enough for less: an error of .2 takes five answers for each, or fewer of those that are allotted.
    cheapest = cheapest_within_threshold(terms_with(0.5, 0.0), ErrorThreshold(0.2, probability=0.9), None)
    assert isinstance(cheapest.candidate.answers, PlanAdaptive)
    assert cheapest.candidate.error.value <= 0.2 < 0.5 / (cheapest.candidate.each - 1)
    assert cheapest.candidate.each < 4


def test_equal_numbers_where_a_gain_may_be_chance() -> None:
    chosen = best_within_budget(terms_with(0.9, 0.1), money(450))
    assert chosen.candidate.answers == Fewest(each=4)
    assert isinstance(chosen.others[0].answers, PlanAdaptive)
    assert chosen.spare == pytest.approx(450 / 400 - 1)


def test_a_pilot_gives_an_interval_and_caution() -> None:
    rng = np.random.default_rng(2)
    counts = np.array([rng.multinomial(10, p) for p in rng.dirichlet([1, 1], 800)], float)
    given = {"goal": Goal.GEOMETRY, "costs": COSTS, "classes": ["a", "b"], "n_items": 900, "kinds": ["choice"]}
    plan = decide(Pilot(counts), threshold=ErrorThreshold(1 / 30, probability=0.95), rng=rng, **given)  # type: ignore[arg-type]
    assert plan.expected.low is not None
    assert plan.expected.high is not None
    # The probability of 0.95 is one-sided, the interval of 95% is not.
    assert plan.expected.low < plan.expected.value < 1 / 30
    assert plan.expected.high <= 1.02 / 30
    # Ten would do if the pilot were the truth: (1/3) / 10. To be sure, more.
    assert isinstance(plan.answers, Fewest)
    assert 10 <= plan.answers.each <= 12
    assert any("another pilot" in each for each in plan.would_change)


def test_neither_budget_nor_target_and_other_bad_settings() -> None:
    for settings, code in (
        ({}, "bad-setting"),
        ({"budget": money(5), "n_items": 0}, "bad-setting"),
        ({"budget": money(5), "most": 0}, "bad-setting"),
        ({"threshold": ErrorThreshold(0.1, share=0.9), "goal": Goal.CLASS}, "bad-setting"),
        ({"budget": money(5), "kinds": ["triplet"]}, "unknown-kind"),  # it has no price here
        ({"budget": money(5), "kinds": ["tripplet"]}, "unknown-kind"),
    ):
        with pytest.raises(SfumatoError) as caught:
            decided(**settings)
        assert caught.value.code == code, settings
    with pytest.raises(BadSetting) as no_rate:
        decided(budget=money(5), kinds=["triplet"], costs=CostModel())
    assert no_rate.value.code == "no-rate"


def test_every_goal_has_its_error() -> None:
    assert [Criterion(goal).name for goal in Goal] == ["kl", "wrong_class", "l2", "kl"]
    assert Criterion(Goal.DISTRIBUTION, 0.1).name == "share_beyond_0.1_kl"


def test_a_study_must_fit_its_own_prior_and_loses_by_it() -> None:
    rng = np.random.default_rng(3)
    source = dirichlet([0.02, 0.1, 0.4, 0.4])
    alone = Criterion(Goal.DISTRIBUTION)
    few = alone.curve(source, n_items=60, most=5, rng=rng)
    many = alone.curve(source, n_items=3000, most=5, rng=rng)
    assert few.at(5.0).value > 1.03 * many.at(5.0).value
    # With many items next to nothing is lost: a Dirichlet's own loss, by simulation elsewhere.
    from sfumato.planning.precision import DivergenceError

    known = DivergenceError().of_prior(source, 5, rng)[4]
    assert many.at(5.0).value == pytest.approx(known, rel=0.12)


def test_a_curve_is_read_on_lines_in_logarithms() -> None:
    votes = np.arange(1.0, 41)
    curve = VoteCurve(votes, 0.5 / votes, np.tile(0.4 / votes, (3, 1)))
    for at in (1.0, 2.5, 37.2, 400.0, 0.5):
        assert curve.at(at).value == pytest.approx(0.5 / at, rel=1e-3)
    assert curve.at(10.0).low == pytest.approx(0.04)
    assert curve.at(10.0).high == pytest.approx(0.05)  # an interval holds the value
    assert curve.at(10.0).chance(0.045) == 1.0


def test_a_ratio_widens_the_interval() -> None:
    reading = ExpectedError(0.1, np.full(1000, 0.1))
    moved = reading.times(0.8, 0.05)
    assert moved.value == pytest.approx(0.08)
    assert moved.low == pytest.approx(0.1 * (0.8 - 1.96 * 0.05), rel=0.01)
    assert moved.high == pytest.approx(0.1 * (0.8 + 1.96 * 0.05), rel=0.01)


def test_answers_are_worth_votes_and_back() -> None:
    for worth in vote_rates(Goal.DISTRIBUTION, None, CostModel()):
        for each in (0.5, 1.0, 3.0, 12.0):
            assert worth.answers(worth.at(each).votes) == pytest.approx(each)
    assert vote_rate("choice", Goal.CLASS, CostModel()).at(7.0).votes == 7
