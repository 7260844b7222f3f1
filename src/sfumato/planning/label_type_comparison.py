"""Comparison of label types: which kind is worth its price, per goal, at equal items and at equal budget; and a
simulated map over numbers of items and classes. Called by `sfumato plan compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.planning.costs import CostModel
from sfumato.planning.exchange_rates import ExchangeRates, rate_for
from sfumato.planning.goals import Goal, Utility, linear_utility, subjective_loss
from sfumato.planning.informativeness.label_types import LabelSet
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.question_signals import (
    MOST_SIMULATED,
    answers_per_item,
    ratio_of,
    signal_of,
    simulated_rho,
)
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import above_0, at_least, bad_setting, not_negative

if TYPE_CHECKING:
    from sfumato.planning.pilot_evidence import TripletError

DIMENSIONS = 5
NOISE = 1.0
"""The noise at which simulated people answer like those of CIFAR-10S: see `simulated_rates`."""
BETA = 0.02
WORLDS = 3
BASE = "choice"
DIGITS = 2
"""Votes that agree in this many digits are equally good."""


@dataclass(frozen=True)
class LabelTypeComparison:
    """One kind for one goal. Values are in hard votes per item; NaN if the kind does not serve the goal.

    `seconds` and `money` are per answer, all included. `votes` is what an answer is worth, from a pilot if `measured`
    is 1, and `equal_items` the same for one answer per item. `equal_budget` is the value of the `n_answers` per item
    that the budget pays. `information_ratio` is that of the formula, `measured_ratio` that of the pilot's labels, of
    which the share `flip_rate` of triplets is false and `kept` of each remains. `rho` is what one answer per item
    recovers of simulated similarities (for the kind `similarity`: all pairs judged), `loss` is `beta c - u(rho)` with
    the cost `c` in hard labels. Rank 1 is best; equal values share a rank.
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
class Comparison(RecordTable):
    """One row per kind and goal; `budget` is the money for `equal_budget`."""

    record = LabelTypeComparison
    rows: tuple[LabelTypeComparison, ...]
    budget: float

    def of_goal(self, goal: Goal) -> tuple[LabelTypeComparison, ...]:
        """The rows of a goal, best at equal budget first."""
        return tuple(sorted((row for row in self.rows if row.goal == goal), key=lambda row: row.rank_budget))

    def best(self, goal: Goal, *, at_equal_budget: bool) -> str:
        """The best kind for a goal; among equals a measured one, then the cheapest."""
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
    utility: Utility = linear_utility,
    beta: float = BETA,
    noise: float = NOISE,
    rng: np.random.Generator,
) -> Comparison:
    """The comparison of kinds for every goal.

    `measured` rates are used first; the rest is published, simulated or assumed, and each number states which. The
    default `budget` pays one answer of the most expensive kind per item. A kind may win at equal items and lose at
    equal budget, and the reverse: for a fixed set of items use the first, for fixed money the second.
    """
    check_size(n_items, n_classes)
    not_negative("beta", beta)
    not_negative("noise", noise)
    costs = costs or CostModel()
    prices = {kind: costs.money(kind) for kind in dict.fromkeys(kinds)}
    spent = n_items * max(prices.values()) if budget is None else above_0("budget", budget)
    costs.affordable(min(prices, key=prices.__getitem__), spent)
    worlds = [
        LatentWorld.sample(max(min(n_items, MOST_SIMULATED), 3), n_classes, DIMENSIONS, rng=rng) for _ in range(WORLDS)
    ]
    base = costs.seconds(BASE) if BASE in costs.times else min(costs.seconds(kind) for kind in prices)
    rows = []
    for kind, price in prices.items():
        rho = float(np.mean([simulated_rho(kind, world, noise=noise, rng=rng) for world in worlds]))
        cost = answers_per_item(kind, n_items) * costs.seconds(kind) / base if base else 1.0
        loss = subjective_loss(rho, cost, utility=utility, beta=beta)
        error = (errors or {}).get(kind)
        wrong = (error.information_ratio, error.flip_rate, error.kept) if error else (float("nan"),) * 3
        each = spent / price / n_items if price <= spent else 0.0
        for goal in Goal:
            rate = rate_for(kind, goal, measured)
            bought = rate.at(each)
            rows.append(
                LabelTypeComparison(
                    kind, goal, costs.seconds(kind), price, costs.time(kind).source, rate.votes, rate.low, rate.high,
                    rate.source, int(rate.measured), ratio_of(kind, n_items, n_classes), *wrong, rate.votes, each,
                    bought.votes, bought.low, bought.high, 0, 0, rho, loss,
                )
            )  # fmt: skip
    return Comparison(_ranked(rows), float(spent))


def check_size(n_items: int, n_classes: int) -> None:
    """Raise unless this many items of this many classes can be compared."""
    at_least("items", n_items, 1)
    if n_classes < 2:
        raise BadSetting(
            f"{n_classes} class{'es' * (n_classes != 1)}",
            "two classes or more",
            "give the number of classes that people choose from",
        )
    if n_classes > n_items:
        raise BadSetting(
            f"{n_classes:,} classes for {n_items:,} items",
            "at least one item per class",
            "plan for more items, or merge classes; "
            "with fewer items than classes a similarity judgment says more than any label",
        )


def _ranked(rows: list[LabelTypeComparison]) -> tuple[LabelTypeComparison, ...]:
    """The rows with their ranks within each goal; kinds that do not serve a goal are last."""

    def value(row: LabelTypeComparison, name: str) -> float:
        found = float(getattr(row, name))
        return -1.0 if np.isnan(found) else round(found, DIGITS)

    def rank(row: LabelTypeComparison, name: str) -> int:
        return 1 + sum(value(other, name) > value(row, name) for other in rows if other.goal == row.goal)

    return tuple(
        replace(row, rank_items=rank(row, "equal_items"), rank_budget=rank(row, "equal_budget")) for row in rows
    )


NUMBERS_OF_ITEMS = (10, 20, 50, 100)
NUMBERS_OF_CLASSES = (2, 5, 10, 20, 50)
MOST_ANSWERS = 40
SEEDS = 3


@dataclass(frozen=True)
class MapCell:
    """What one kind recovers of `n` items of `k` classes: with one answer per item, and with the cost of one answer of
    the most expensive kind. `best_items` and `best_budget` are 1 if no other kind recovers more; `yours` is 1 for the
    size of the study (simulated with at most 200 items)."""

    n: int
    k: int
    kind: str
    information_ratio: float
    rho_items: float
    n_answers: int
    rho_budget: float
    best_items: int
    best_budget: int
    yours: int


@dataclass(frozen=True, eq=False, repr=False)
class ValueMap(RecordTable):
    """One row per number of items, number of classes and kind; those of the study last."""

    record = MapCell
    cells: tuple[MapCell, ...]

    def best(self, n: int, k: int, *, at_equal_budget: bool) -> str:
        """The kind that recovers most of `n` items of `k` classes."""
        of_size = [cell for cell in self.cells if (cell.n, cell.k) == (n, k)]
        return next(cell.kind for cell in of_size if (cell.best_budget if at_equal_budget else cell.best_items))


def value_map(
    kinds: Sequence[str],
    costs: CostModel,
    *,
    yours: tuple[int, int] | None = None,
    n: Sequence[int] = NUMBERS_OF_ITEMS,
    k: Sequence[int] = NUMBERS_OF_CLASSES,
    d: int = 5,
    noise: float = 1.0,
    seeds: int = SEEDS,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> ValueMap:
    """The map, by simulation: worlds of every size, people who see distances with an error of `noise` standard
    deviations, labels unfolded, and Spearman's rho with the true similarities of the items.

    At equal budget a kind at a tenth of the price gets ten answers, at most 40. Kinds that do not label items
    (similarities, triplets) are left out: their price grows differently. Without noise further answers add nothing, and
    both maps would be equal.
    """
    not_negative("noise", noise)
    size = yours or (max(n), min(k))
    chosen = [kind for kind in kinds if isinstance(signal_of(kind, *size), LabelSet)]
    if not chosen:
        raise bad_setting("kinds", ", ".join(kinds), "one kind or more that labels items")
    prices = {kind: costs.seconds(kind) for kind in chosen}
    dearest = max(prices.values())
    n_answers = {
        kind: int(min(max(dearest / price, 1), MOST_ANSWERS)) if price > 0 else MOST_ANSWERS
        for kind, price in prices.items()
    }
    sizes = [(items, classes) for items in n for classes in k if classes <= items and (items, classes) != yours]
    sizes += [yours] if yours else []
    cells: list[MapCell] = []
    for i, (items, classes) in enumerate(sizes):
        rho = _simulated(n_answers, items, classes, d, noise, at_least("seeds", seeds, 1), rng)
        best_items, best_budget = np.max(list(rho.values()), axis=0)
        cells += [
            MapCell(
                items, classes, kind, ratio_of(kind, items, classes), rho_items, n_answers[kind], rho_budget,
                int(rho_items == best_items), int(rho_budget == best_budget), int((items, classes) == yours),
            )
            for kind, (rho_items, rho_budget) in rho.items()
        ]  # fmt: skip
        if progress:
            progress(i + 1, len(sizes))
    return ValueMap(tuple(cells))


def _simulated(
    n_answers: dict[str, int], n: int, k: int, d: int, noise: float, seeds: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """The mean recovery of each kind, with one answer and with `n_answers`, in the same worlds."""
    rhos: dict[str, list[tuple[float, float]]] = {kind: [] for kind in n_answers}
    for _ in range(seeds):
        world = LatentWorld.sample(max(min(n, MOST_SIMULATED), k, 3), k, d, rng=rng)
        known: dict[tuple[object, int], float] = {}
        for kind, many in n_answers.items():
            signal = signal_of(kind, n, k)
            for m in (1, many):
                # Kinds with the same signal and number of answers are simulated once.
                if (signal, m) not in known:
                    known[signal, m] = simulated_rho(kind, world, n_answers=m, noise=noise, rng=rng)
            rhos[kind].append((known[signal, 1], known[signal, many]))
    return {kind: (float(np.mean(some, axis=0)[0]), float(np.mean(some, axis=0)[1])) for kind, some in rhos.items()}
