"""Planned precision compared with simulation, and its time. Called by `bench/plan.py`.

Expected total variation and squared distance of CIFAR-10H items (the published counts as their distributions) against
100,000 simulated sets of answers per item, as ratios of the means over items; and the same, with the KL divergence, of
a prior fitted on CIFAR-10H against 100,000 items drawn from it. Then the seconds for 10,000 items x 100 numbers of
answers, per closed form.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plan_figures import Figure
from sfumato import Counts, SoftLabels
from sfumato.importers import Cifar10HImporter
from sfumato.planning.answer_simulation import simulate_answers
from sfumato.planning.item_prior import Population
from sfumato.planning.pilot_answers import Pilot
from sfumato.planning.precision import MEASURES, expected_l2, expected_tv

DRAWS = 100_000
N_ITEMS = 40
N_ANSWERS = (1, 3, 10, 30, 100)
LARGEST_DEVIATION = 0.02


def cifar_10h() -> SoftLabels:
    table = Cifar10HImporter().read(Path(os.environ["SFUMATO_DATA"]) / "cifar10h").table
    assert isinstance(table, Counts)
    return table.labels()


def simulated(p: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """The two mean errors of `DRAWS` sets of `m` answers about one item."""
    x = rng.multinomial(m, p, DRAWS)
    off = x / m - p
    return np.array([np.abs(off).sum(axis=1).mean() / 2, (off**2).sum(axis=1).mean()])


def precision(labels: SoftLabels) -> float:
    """The largest deviation of a ratio from 1."""
    rng = np.random.default_rng(0)
    unsure = np.flatnonzero(labels.probs.max(axis=1) < 1)
    probs = labels.probs[rng.choice(unsure, N_ITEMS, replace=False)]
    exact = np.stack([f(probs, N_ANSWERS) for f in (expected_tv, expected_l2)])
    worst = 0.0
    print(f"given distributions: exact / simulated, mean of {N_ITEMS} items (and the largest deviation of an item)")
    print(f"{'answers':>7}  {'tv':>15}  {'l2':>15}")
    for i, m in enumerate(N_ANSWERS):
        drawn = np.stack([simulated(p, m, rng) for p in probs], axis=1)
        mean = exact[:, :, i].mean(axis=1) / drawn.mean(axis=1)
        single = np.abs(exact[:, :, i] / drawn - 1).max(axis=1)
        worst = max(worst, float(np.abs(mean - 1).max()))
        print(f"{m:>7}  " + "  ".join(f"{a:.4f} ({b:.4f})" for a, b in zip(mean, single, strict=True)))
    print("fitted prior: planned / simulated")
    print(f"{'answers':>7}  {'tv':>15}  {'l2':>15}  {'kl':>15}")
    prior = Pilot.of(labels).prior
    many = (1, 3, 10, 20)
    planned = np.stack([measure.of_prior(prior, max(many), rng) for measure in MEASURES])
    items = Population.of_prior(prior, DRAWS, rng)
    for known in simulate_answers(items.probs, max(many), rng, prior):
        if known.n_answers in many:
            drawn = np.array([measure.of_answers(known).mean() for measure in MEASURES])
            ratio = planned[:, known.n_answers - 1] / drawn
            worst = max(worst, float(np.abs(ratio - 1).max()))
            print(f"{known.n_answers:>7}  " + "  ".join(f"{each:>15.4f}" for each in ratio))
    return worst


def speed(labels: SoftLabels) -> None:
    any_probs = np.random.default_rng(0).dirichlet(np.full(10, 0.3), 10_000)
    many = range(1, 101)
    for name, probs in (("CIFAR-10H", labels.probs), ("all distinct", any_probs)):
        for each in (expected_tv, expected_l2):
            began, cpu = time.perf_counter(), time.process_time()
            each(probs, many)
            wall, cpu = time.perf_counter() - began, time.process_time() - cpu
            print(f"{each.__name__:12} {len(probs):,} items x {len(many)} ({name}): {wall:.3f} s, CPU {cpu:.3f} s")


def figures() -> Iterator[Figure]:
    people = cifar_10h()
    yield Figure(
        "errors by formula / simulated: largest deviation, %",
        100 * LARGEST_DEVIATION,
        100 * precision(people),
        at_most=True,
    )
    speed(people)
