"""Exchange rates: how many CIFAR-10H votes an answer of CIFAR-10S is worth, per goal, as means over seeds."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plan_figures import Figure
from sfumato.importers import Cifar10HImporter, Cifar10SImporter
from sfumato.planning.exchange_estimates import exchange_rates
from sfumato.planning.goals import Goal

SEEDS = 6
PUBLISHED = {(Goal.DISTRIBUTION, "total variation", 1): 1.07, (Goal.DISTRIBUTION, "total variation", 6): 3.6}
TOLERANCE = 0.1
"""Allowed relative difference of a mean from the published value."""


def figures() -> Iterator[Figure]:
    place = Path(os.environ["SFUMATO_DATA"])
    rich, votes = Cifar10SImporter().read(place / "cifar10s").table, Cifar10HImporter().read(place / "cifar10h").table
    found: dict[tuple[str, str, int], list[tuple[float, float, float]]] = defaultdict(list)
    for seed in range(SEEDS):
        for rate in exchange_rates(rich, votes, kind="top_two", rng=np.random.default_rng(seed)).rates:
            found[rate.goal, rate.measure, rate.n_answers].append((rate.votes, rate.low, rate.high))
    for (goal, measure, n_answers), rates in found.items():
        if n_answers not in (1, 6):
            continue
        mean, low, high = np.mean(rates, axis=0)
        single = [rate[0] for rate in rates]
        print(
            f"{goal:13} {measure:24} {n_answers} answers: {mean:6.2f} votes ({low:.2f} to {high:.2f}); single seeds "
            f"{min(single):.2f} to {max(single):.2f}",
            flush=True,
        )
        if published := PUBLISHED.get((Goal(goal), measure, n_answers)):
            what = f"votes that {n_answers} soft answers are worth, by {measure}"
            yield Figure(what, published * (1 - TOLERANCE), float(mean), up_to=published * (1 + TOLERANCE))
