"""Comparing: which kind of label is worth its price, goal by goal, at equal items and at equal budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.planning.costs import CostModel
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.signals import MOST_SIMULATED, answers_an_item, ratio_of, simulated_rho
from sfumato.planning.informativeness.triplet_errors import TripletError
from sfumato.planning.rates import rate_for
from sfumato.planning.utilities import Utility, subjective_loss
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import above_0, at_least, not_negative
from sfumato.tables.table import Table, columns_of

DIMENSIONS = 5
NOISE = 1.0
"""How people err who answer as those of CIFAR-10S did: see `simulated_rates`."""
BETA = 0.02
WORLDS = 3
BASE = "choice"
DIGITS = 2
"""Votes that agree in so many digits are equally good."""


@dataclass(frozen=True)
class LabelTypeComparison:
    """One kind for one goal. Values are in hard votes an item; NaN where the kind does not speak to the goal.

    `seconds` and `money` are of one answer, all paid. `votes` is what it is worth, by a pilot where `measured` is 1,
    and `equal_items` the same for one answer an item. `equal_budget` is what the `n_answers` an item are worth that the
    budget buys. `information_ratio` is that of the formula, `measured_ratio` that of the pilot's own labels, of which
    the share `flip_rate` of triplets is false and `kept` of each is left. `rho` is what one answer an item recovers of
    simulated similarities (or all pairs of items judged, for the kind `similarity`), `loss` is `beta c - u(rho)` with
    the cost `c` of that in hard labels. Rank 1 is best; equal values share a rank.
    """

    kind: str
    goal: str
    seconds: float
    money: float
    time_source: str
    votes: float
    votes_low: float
    votes_high: float
    votes_source: str
    measured: int
    information_ratio: float
    measured_ratio: float
    flip_rate: float
    kept: float
    equal_items: float
    n_answers: float
    equal_budget: float
    equal_budget_low: float
    equal_budget_high: float
    rank_items: int
    rank_budget: int
    rho: float
    loss: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Table):
    """One row a kind and goal; `budget` is the money that buys `equal_budget`."""

    rows: tuple[LabelTypeComparison, ...]
    budget: float

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.rows[start:stop], LabelTypeComparison)

    def __len__(self) -> int:
        return len(self.rows)

    def of_goal(self, goal: Goal) -> tuple[LabelTypeComparison, ...]:
        """The rows of a goal, best at equal budget first."""
        return tuple(sorted((row for row in self.rows if row.goal == goal), key=lambda row: row.rank_budget))

    def best(self, goal: Goal, *, at_equal_budget: bool) -> str:
        """The kind that serves a goal best; of those that are equally good one that was measured, and the cheapest."""
        rank = "rank_budget" if at_equal_budget else "rank_items"
        return min(self.of_goal(goal), key=lambda row: (getattr(row, rank), -row.measured, row.money)).kind


def compare(
    kinds: Sequence[str],
    *,
    n_items: int,
    n_classes: int,
    costs: CostModel | None = None,
    measured: Mapping[str, ExchangeRates] | None = None,
    errors: Mapping[str, TripletError] | None = None,
    budget: float | None = None,
    utility: Utility | None = None,
    beta: float = BETA,
    noise: float = NOISE,
    rng: np.random.Generator,
) -> Comparison:
    """The comparison of kinds for every goal.

    What `measured` says of a kind counts; the rest is published, simulated or assumed, and each figure says which.
    Without a `budget` it is what one answer of the dearest kind about every item costs. A kind that is worth the same
    for each item may still lose at equal budget, and the other way round: for a fixed set of items look at the one,
    for fixed money at the other.
    """
    check_size(n_items, n_classes)
    not_negative("beta", beta)
    not_negative("noise", noise)
    costs = costs or CostModel()
    prices = {kind: costs.money(kind) for kind in dict.fromkeys(kinds)}
    spent = n_items * max(prices.values()) if budget is None else above_0("budget", budget)
    costs.affordable(min(prices, key=prices.__getitem__), spent)
    worlds = [
        LatentWorld.drawn(max(min(n_items, MOST_SIMULATED), 3), n_classes, DIMENSIONS, rng=rng) for _ in range(WORLDS)
    ]
    base = costs.seconds(BASE) if BASE in costs.times else min(costs.seconds(kind) for kind in prices)
    rows = []
    for kind, price in prices.items():
        rho = float(np.mean([simulated_rho(kind, world, noise=noise, rng=rng) for world in worlds]))
        cost = answers_an_item(kind, n_items) * costs.seconds(kind) / base if base else 1.0
        loss = subjective_loss(rho, cost, utility=utility, beta=beta)
        error = (errors or {}).get(kind)
        each = spent / price / n_items if price <= spent else 0.0
        for goal in Goal:
            rate = rate_for(kind, goal, measured)
            bought = rate.at(each)
            rows.append(
                LabelTypeComparison(
                    kind, goal, costs.seconds(kind), price, costs.time(kind).source, rate.votes, rate.low, rate.high,
                    rate.source, int(rate.measured), ratio_of(kind, n_items, n_classes), *_of(error), rate.votes, each,
                    bought.votes, bought.low, bought.high, 0, 0, rho, loss,
                )
            )  # fmt: skip
    return Comparison(_ranked(rows), float(spent))


def check_size(n_items: int, n_classes: int) -> None:
    """Raise unless so many items of so many classes can be compared."""
    at_least("items", n_items, 1)
    if n_classes < 2:
        raise BadSetting(
            f"found {n_classes} class{'es' * (n_classes != 1)}",
            expected="two classes or more: with one there is nothing to say",
            fix="give the number of classes people choose from",
            code="bad-setting",
        )
    if n_classes > n_items:
        raise BadSetting(
            f"found {n_classes:,} classes for {n_items:,} items",
            expected="an item for each class, or more",
            fix="plan for more items, or join classes; "
            "with fewer items than classes a similarity judgment says more than any label",
            code="bad-setting",
        )


def _of(error: TripletError | None) -> tuple[float, float, float]:
    if error is None:
        return float("nan"), float("nan"), float("nan")
    return error.information_ratio, error.flip_rate, error.kept


def _ranked(rows: list[LabelTypeComparison]) -> tuple[LabelTypeComparison, ...]:
    """The rows with their ranks within each goal; what does not speak to a goal comes last."""

    def value(row: LabelTypeComparison, name: str) -> float:
        found = float(getattr(row, name))
        return -1.0 if np.isnan(found) else round(found, DIGITS)

    def rank(row: LabelTypeComparison, name: str) -> int:
        return 1 + sum(value(other, name) > value(row, name) for other in rows if other.goal == row.goal)

    return tuple(
        replace(row, rank_items=rank(row, "equal_items"), rank_budget=rank(row, "equal_budget")) for row in rows
    )
