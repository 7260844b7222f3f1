"""Published rates: what answers of each kind are worth in hard votes where there is no pilot to say."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from sfumato.planning.exchange_rates import ExchangeRate
from sfumato.planning.goals import Goal

ON_CIFAR_10 = "CIFAR-10S against CIFAR-10H"
ASSUMED = "assumed, as top_two: to simulated people this form was mostly worth from half to one and a half of it"
TOLD_THE_CLASS = "assumed: simulated people who were told the true class"
SIMULATED = "simulated with noise 1, chosen so that top_two comes out as on CIFAR-10S; upper end: noise .55"
TV, ACCURACY = "total variation", "accuracy"
RANKS = "rank correlation with similarities of held-out labels"
TRUE_RANKS = "rank correlation with the truth"


def _measured(goal: Goal, measure: str, points: dict[int, tuple[float, float, float]]) -> tuple[ExchangeRate, ...]:
    return tuple(
        ExchangeRate("top_two", goal, measure, m, votes, low, high, 25, 991, ON_CIFAR_10)
        for m, (votes, low, high) in points.items()
    )


TOP_TWO = (
    *_measured(
        Goal.DISTRIBUTION,
        TV,
        {1: (1.08, 0.99, 1.32), 2: (1.99, 1.78, 2.30), 3: (2.63, 2.32, 2.95), 6: (3.63, 3.17, 4.12)},
    ),
    *_measured(
        Goal.CLASS,
        ACCURACY,
        {1: (0.98, 0.96, 1.02), 2: (1.98, 1.66, 2.27), 3: (2.70, 2.38, 3.01), 6: (4.53, 3.57, 5.97)},
    ),
    *_measured(
        Goal.GEOMETRY,
        RANKS,
        {1: (1.93, 1.59, 2.65), 2: (4.34, 2.82, 6.72), 3: (6.71, 4.24, 10.94), 6: (13.11, 7.92, inf)},
    ),
)
"""Of the 991 images that have six soft answers and enough votes, as `exchange.exchange_rates` finds them: the mean of
six seeds, of the figures and of the ends of their intervals. Single seeds gave 1.00 to 1.18 votes for one answer and
3.5 to 3.7 for six (distribution), 1.9 to 2.0 and 11 to 16 (geometry). Infinite is beyond the 25 votes there were."""


def _assumed(kind: str, *goals: Goal) -> tuple[ExchangeRate, ...]:
    """The rates of `top_two`, far less sure."""
    return tuple(
        replace(rate, kind=kind, low=rate.low / 2, high=1.5 * rate.high, n_items=0, source=ASSUMED)
        for rate in TOP_TWO
        if rate.goal in goals
    )


def _simulated(kind: str, points: dict[int, tuple[float, float, float]]) -> tuple[ExchangeRate, ...]:
    """As `simulated_rates` finds them in 24 worlds at a noise of 1: the mean, the least world, and as the upper end the
    mean at a noise of .55. No person's answers stand behind these."""
    return tuple(
        ExchangeRate(kind, Goal.GEOMETRY, TRUE_RANKS, m, votes, low, high, 100, 0, SIMULATED)
        for m, (votes, low, high) in points.items()
    )


PUBLISHED_RATES: tuple[ExchangeRate, ...] = (
    *(
        ExchangeRate("choice", goal, "definition", 1, 1.0, 1.0, 1.0, 1, 0, "a vote is a vote")
        for goal in (Goal.DISTRIBUTION, Goal.CLASS, Goal.GEOMETRY)
    ),
    *TOP_TWO,
    *_assumed("plausible", Goal.DISTRIBUTION, Goal.CLASS),
    *_assumed("tokens", Goal.DISTRIBUTION, Goal.CLASS),
    *_assumed("sliders", Goal.DISTRIBUTION, Goal.CLASS),
    *_simulated("plausible", {1: (3.62, 2.92, 8.84), 2: (7.02, 5.33, 24.43), 6: (23.56, 18.29, inf)}),
    *_simulated("tokens", {1: (2.88, 2.58, 5.01), 2: (5.19, 3.97, 11.26), 6: (15.80, 11.14, 48.20)}),
    *_simulated("sliders", {1: (5.06, 3.94, 20.75), 2: (9.42, 5.79, 56.91), 6: (27.29, 20.65, inf)}),
    ExchangeRate("typicality", Goal.DISTRIBUTION, TV, 1, 1.0, 0.5, 1.8, 25, 0, TOLD_THE_CLASS),
    ExchangeRate("typicality", Goal.DISTRIBUTION, TV, 6, 1.7, 0.8, 3.0, 25, 0, TOLD_THE_CLASS),
    ExchangeRate("typicality", Goal.GEOMETRY, RANKS, 1, 0.7, 0.5, 0.8, 25, 0, TOLD_THE_CLASS),
    ExchangeRate("typicality", Goal.GEOMETRY, RANKS, 6, 0.8, 0.6, 0.9, 25, 0, TOLD_THE_CLASS),
)
"""Measured on published data, simulated, or assumed; `source` says which.

Kinds that are not here for a goal do not serve it by votes: who rates typicality was told the class, and who compares
items or judges mixtures does not name one. For calibration nothing is known from answers alone.
"""
