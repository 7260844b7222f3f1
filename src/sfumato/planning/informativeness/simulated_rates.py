"""Simulated rates: how many votes an answer is worth for geometry, in worlds where the truth is known."""

from __future__ import annotations

import numpy as np

from sfumato.planning.exchange import STEPS, votes_worth
from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates
from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.embedding import recovery
from sfumato.planning.informativeness.kinds import HardLabels, LabelSet
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.planning.informativeness.signals import signal_of
from sfumato.planning.informativeness.unfolding import SpectralUnfolding
from sfumato.tables.settings import at_least, bad_setting

MOST_RICH = 6
BEYOND = (80, 100)


def simulated_rates(
    kind: str = "sliders",
    *,
    n: int = 100,
    k: int = 10,
    d: int = 5,
    noise: float = 1.0,
    n_worlds: int = 4,
    rng: np.random.Generator,
) -> ExchangeRates:
    """How many hard votes recover as much of the geometry as 1 to 6 answers of a kind an item do.

    Everybody sees every distance with an error of their own, of `noise` standard deviations; one person fills in the
    form, another names the nearest class. Labels are averaged over people and unfolded, and judged by Spearman's rho
    with the true similarities of the points. `low` and `high` are the least and the largest of the worlds. The rate
    depends on the noise more than on anything else: for a share of every class it is 5 votes at a noise of 1, 21 at
    .55, more than 100 at .25. The default of 1 was chosen after the fact: of the noises tried (.25, .55, 1) it is the
    one where `top_two` answers come out as on CIFAR-10S, 1.8 votes for one and 12 for six, against 1.9 and 13.
    """
    at_least("n_worlds", n_worlds, 1)
    signal = signal_of(kind, n, k)
    if not isinstance(signal, LabelSet):
        raise bad_setting("kind", kind, "a kind that labels items")
    steps = np.array([*STEPS, *BEYOND])
    of_votes, of_rich = np.zeros((n_worlds, len(steps))), np.zeros((n_worlds, MOST_RICH + 1))
    for i in range(n_worlds):
        world = LatentWorld.drawn(n, k, d, rng=rng)
        seen = [world.soft_labels(noise=noise, rng=rng) for _ in range(int(steps[-1]))]
        votes, rich = (
            np.stack([HardLabels().labels(s) for s in seen]),
            np.stack([signal.labels(s) for s in seen[:MOST_RICH]]),
        )
        of_votes[i, 1:] = [_rho(votes[:m].mean(axis=0), world) for m in steps[1:]]
        of_rich[i, 1:] = [_rho(rich[:m].mean(axis=0), world) for m in range(1, MOST_RICH + 1)]
    worth = votes_worth(steps, of_votes.mean(axis=0)[None], of_rich.mean(axis=0)[None])[0]
    each = votes_worth(steps, of_votes, of_rich)
    source = f"simulated: {n} points, {k} classes, {d} dimensions, noise {noise:g}, {n_worlds} worlds"
    rates = [
        ExchangeRate(
            kind, Goal.GEOMETRY, "rank correlation with the truth", m, float(worth[m]), float(each[:, m].min()),
            float(each[:, m].max()), int(steps[-1]), n, source,
        )
        for m in range(1, MOST_RICH + 1)
    ]  # fmt: skip
    return ExchangeRates(tuple(rates))


def _rho(labels: np.ndarray, world: LatentWorld) -> float:
    n = world.n_points
    found = SpectralUnfolding().embed(RankedLists.of_labels(labels)).gram()[:n, :n]
    return recovery(found=found, true=world.cosines())
