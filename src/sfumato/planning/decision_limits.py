"""Limits at which a recommended kind of label changes: ranges of `beta`, and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class BetaRange:
    """The kind with the lowest loss for `low <= beta < high`."""

    kind: str
    low: float
    high: float


def beta_ranges(
    titles: Sequence[str], utilities: Float[np.ndarray, "kinds"], costs: Float[np.ndarray, "kinds"]
) -> tuple[BetaRange, ...]:
    """The kind with the lowest loss `beta c - u` for every beta from 0 up: the lower envelope of lines in beta."""
    here = min(range(len(costs)), key=lambda i: (-utilities[i], costs[i]))
    ranges: list[BetaRange] = []
    low = 0.0
    while True:
        cheaper = [i for i in range(len(costs)) if costs[i] < costs[here]]
        crossings = [((utilities[here] - utilities[i]) / (costs[here] - costs[i]), costs[i], i) for i in cheaper]
        high, _, then = min(crossings) if crossings else (inf, 0.0, here)
        if high > low:
            ranges.append(BetaRange(titles[here], low, float(high)))
        if not crossings:
            return tuple(ranges)
        here, low = then, max(float(high), low)


def price_limits(
    titles: Sequence[str],
    utilities: Float[np.ndarray, "kinds"],
    totals: Float[np.ndarray, "kinds"],
    n_labels: Int[np.ndarray, "kinds"],
    per_utility: float,
) -> dict[str, float]:
    """The price per label at which the recommendation changes, by kind: for the recommended one the price above which
    it is not, for every other kind the price below which it is.

    `totals` are prices of all labels, `per_utility` the price of one unit of utility. Other prices stay as they are.
    Kinds that no price above 0 would make the best are left out.
    """
    surplus = utilities * per_utility - totals
    order = sorted(range(len(surplus)), key=lambda i: (-surplus[i], totals[i]))
    limits = {}
    for i, title in enumerate(titles):
        rival = order[1] if i == order[0] and len(order) > 1 else order[0]
        limit = (utilities[i] * per_utility - surplus[rival]) / n_labels[i]
        if rival != i and limit > 0:
            limits[title] = float(limit)
    return limits
