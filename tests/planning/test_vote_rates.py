"""Vote rates: powers by hand, defaults, and published rates."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

from sfumato.planning.costs import CostModel
from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.vote_rates import (
    PUBLISHED_RATES,
    USUAL_POWER,
    TaskSize,
    VoteRate,
    rate_for,
    rate_of,
    vote_rate,
    vote_rates,
)
from sfumato.tables.errors import SfumatoError


def exchanged(votes: dict[int, float], goal: Goal = Goal.DISTRIBUTION, most: int = 25) -> ExchangeRates:
    return ExchangeRates(
        tuple(ExchangeRate("sliders", goal, "m", m, v, v / 2, v * 2, most, 90, "measured") for m, v in votes.items())
    )


def test_votes_add_up_by_a_power() -> None:
    rate = VoteRate("top_two", 2, 1, 3, 0.5, "")
    assert np.isclose(rate.at(9).votes, 6)
    assert np.isclose(rate.at(9).low, 3)
    assert np.isclose(rate.at(0.25).votes, 0.5)  # a quarter of the items


def test_the_power_is_fitted() -> None:
    rate = rate_of(exchanged({1: 2.0, 2: 2.0 * 2**0.6, 5: 2.0 * 5**0.6}).rates)
    assert np.isclose(rate.power, 0.6)
    assert (rate.votes, rate.low, rate.high, rate.measured) == (2, 1, 4, True)
    assert rate_of(exchanged({1: 2.0, 3: 30.0}, most=99).rates).power == 1
    assert rate_of(exchanged({1: 2.0}).rates).power == USUAL_POWER


def test_rates_of_more_than_one_answer_are_brought_to_one() -> None:
    rate = rate_of(exchanged({2: 2.0, 8: 4.0}).rates)
    assert np.isclose(rate.power, 0.5)
    assert np.isclose(rate.votes, 2 / 2**0.5)


def test_more_than_all_votes_counts_as_all_and_says_so() -> None:
    rate = rate_of(exchanged({1: inf}).rates)
    assert rate.votes == 25
    assert rate.high == inf
    assert "more than the 25 available votes" in rate.source


def test_measured_rates_come_first_and_calibration_stands_on_the_distribution() -> None:
    measured = {"sliders": exchanged({1: 3.0})}
    assert rate_for("sliders", Goal.DISTRIBUTION, measured).votes == 3
    stand_in = rate_for("sliders", Goal.CALIBRATION, measured)
    assert stand_in.votes == 3
    assert stand_in.source.startswith("not known from answers alone")
    runs = {"sliders": exchanged({1: 4.0}, Goal.CALIBRATION)}
    assert rate_for("sliders", Goal.CALIBRATION, runs).votes == 4
    assert not rate_for("sliders", Goal.CLASS, measured).measured


def test_what_does_not_name_classes_is_worth_no_votes() -> None:
    assert isnan(rate_for("similarity", Goal.CLASS).votes)
    assert isnan(rate_for("typicality", Goal.CLASS).votes)
    assert rate_for("choice", Goal.CALIBRATION).votes == 1


def test_published_rates_say_that_they_are_not_the_users() -> None:
    assert {rate.kind for rate in PUBLISHED_RATES} == {"top_two"}
    assert all(rate.source.startswith("not your data: CIFAR-10S") for rate in PUBLISHED_RATES)
    assert all(rate.low <= rate.votes <= rate.high for rate in PUBLISHED_RATES)
    assert not rate_for("top_two", Goal.CLASS).is_own
    assert rate_for("choice", Goal.CLASS).is_own


def test_rates_for_similarities_depend_on_items_and_classes() -> None:
    """One answer with sliders is worth some votes with 2 classes, and many with 50 (by simulation, 1.5 and 18)."""
    few, many = (rate_for("sliders", Goal.GEOMETRY, size=TaskSize(100, k)) for k in (2, 50))
    assert 1 < few.votes < 4 < 10 < many.votes
    assert "100 points, 50 classes" in many.source
    assert "not measured on your data" in many.source


def test_without_kinds_only_known_rates_are_compared() -> None:
    costs = CostModel()
    assert [each.kind for each in vote_rates(Goal.DISTRIBUTION, None, costs)] == ["choice"]
    known = vote_rates(Goal.DISTRIBUTION, None, costs, given={"tokens": 2.0}, measured={"sliders": exchanged({1: 3.0})})
    assert [(each.kind, each.is_own) for each in known] == [("choice", True), ("tokens", True), ("sliders", True)]
    with pytest.raises(SfumatoError, match="never measured"):
        vote_rate("sliders", Goal.DISTRIBUTION, costs)


def test_a_power_beyond_one_is_refused() -> None:
    with pytest.raises(SfumatoError, match="power"):
        VoteRate("top_two", 1, 1, 1, 1.5, "")
