"""Adaptive allocation: the time of an update, and the answers a policy saves on CIFAR-10H. Called by `bench/plan.py`.

- the time of an update (an answer arrives, its item is recomputed, the next one is chosen) and of a refit, for
  10,000 items and 10 classes;
- the answers per image with which `bayes` matches the best add-constant smoothing at 25, on real halves of the votes;
- the comparison with 51 answers for all items, with a truth sampled from the fitted prior, and with the counts as the
  truth, which is the pessimistic value;
- the answers needed when stopping at a lead of 8, for the most frequent label only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from plan_figures import Figure
from sfumato.planning.allocation import Allocation
from sfumato.planning.answer_value import INDICES, AcquisitionIndex, KLIndex, L2Index, UniformIndex
from sfumato.planning.item_prior import fit_prior
from sfumato.planning.recorded_answers import ADD_CONSTANT, BAYES, RecordedAnswers, RecordedSplit
from sfumato.planning.replay import Replay, curves_of_runs, replay, replay_policy, stop_at_lead

UPDATES = 300
LIMIT_MS = 20.0
SPLITS = 3
GOAL_UNIFORM, GOAL_ADAPTIVE = 2.3, 3.0
N_ANSWERS = 51
N_POOL = 120
"""Simulated answers available per item: more than any policy needs."""
N_DRAWN = 2_000
"""Items of the comparison with 51 answers."""


def update() -> Iterator[Figure]:
    counts, rng = votes_of_cifar_10h(), np.random.default_rng(0)
    some = np.array([rng.multivariate_hypergeometric(row, 5) for row in counts.astype(np.int64)], np.float64)
    print(
        f"{len(some):,} items x {some.shape[1]} classes, 5 answers each\n"
        f"{'index':14}{'update ms':>10}{'max':>8}{'refit s':>9}"
    )
    for member in INDICES:
        state = Allocation.of(some, member())
        taken = []
        for _ in range(UPDATES):
            started = time.perf_counter()
            chosen = state.choose(rng)
            state = state.with_answer(chosen.item, int(rng.integers(some.shape[1])))
            taken.append(time.perf_counter() - started)
        started = time.perf_counter()
        state.refit()
        refit = time.perf_counter() - started
        print(f"{member.name:14}{np.median(taken) * 1e3:>10.2f}{max(taken) * 1e3:>8.2f}{refit:>9.2f}", flush=True)
        yield Figure(
            f"{member.name}: update, median", LIMIT_MS, float(np.median(taken)) * 1e3, at_most=True, unit=" ms"
        )


def split_half() -> Iterator[Figure]:
    counts = votes_of_cifar_10h()
    started = time.perf_counter()
    found = replay(
        RecordedAnswers.of_counts(counts),
        [UniformIndex(), L2Index(), KLIndex()],
        budget=25,
        splits=SPLITS,
        rng=np.random.default_rng(0),
    )
    reference = found.curve("uniform", ADD_CONSTANT)
    print(
        f"real halves, {SPLITS} splits: answers that match the best add-constant smoothing at "
        f"{reference.answers[:, -1].mean():.0f} (log-loss {reference.log_loss[:, -1].mean():.4f}), "
        f"{time.perf_counter() - started:.0f} s"
    )
    for need in found.needed():
        if need.estimator == BAYES:
            print(f"{need.policy:14}{need.answers:>6.1f} ({need.low:.1f} to {need.high:.1f})  x{need.times_fewer:.2f}")
            goal = GOAL_UNIFORM if need.policy == UniformIndex.name else GOAL_ADAPTIVE
            yield Figure(f"bayes, {need.policy}: times fewer answers on real halves", goal, need.times_fewer, unit="x")
    print_pessimistic(counts)
    print_lead(counts)


def print_pessimistic(counts: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    some = counts[rng.permutation(len(counts))[:N_DRAWN]].astype(np.float64)
    prior = fit_prior(counts.astype(np.float64))
    component = rng.choice(len(prior.weights), N_DRAWN, p=prior.weights / prior.weights.sum())
    truths = {
        "truth sampled from the fitted prior": np.array([rng.dirichlet(prior.alpha[j]) for j in component]),
        "counts taken as the truth": some / some.sum(axis=1, keepdims=True),
    }
    print(f"pessimistic, for comparison: answers with which bayes matches uniform {N_ANSWERS}, {N_DRAWN:,} items")
    for name, truth in truths.items():
        print(name)
        votes = np.array([rng.multinomial(N_POOL, row) for row in truth])
        split = RecordedAnswers.of_counts(votes).with_truth(truth, rng)
        uniform = _replay(split, [UniformIndex()], (5, 8, 12, 16, 20, 25, 30, 36, 43, N_ANSWERS), rng)
        adaptive = _replay(split, [L2Index(), KLIndex()], (5, 8, 12, 16, 20, 25, 30, 36, 43, 51), rng)
        both = Replay((*uniform.curves, *adaptive.curves), N_DRAWN)
        for by, estimator in product(("squared_error", "kl"), (ADD_CONSTANT, BAYES)):
            cells = [
                f"{need.policy} {need.answers:.1f} (x{need.times_fewer:.2f})"
                if need.answers == need.answers
                else f"{need.policy} not with {N_ANSWERS}"
                for need in both.needed("uniform", estimator, by)
                if need.estimator == BAYES
            ]
            print(f"  {by.replace('_', ' '):13} of {estimator:12}: {', '.join(cells)}", flush=True)


def _replay(
    split: RecordedSplit, policies: list[AcquisitionIndex], budgets: tuple[int, ...], rng: np.random.Generator
) -> Replay:
    curves = [
        curve
        for each in policies
        for curve in curves_of_runs(each.name, [replay_policy(split, each, budgets, rng=rng)])
    ]
    return Replay(tuple(curves), len(split.truth))


def print_lead(counts: np.ndarray) -> None:
    stop = stop_at_lead(RecordedAnswers.of_counts(counts), 8, np.random.default_rng(0))
    print(
        f"most frequent label only, stopping at a lead of 8: {stop.answers_per_item:.1f} of "
        f"{stop.recorded_per_item:.1f} answers per item (x{stop.times_fewer:.1f}), same label as with all answers for "
        f"{stop.agrees:.2%} of the items, {stop.unfinished:.1%} did not reach the lead"
    )


def votes_of_cifar_10h() -> np.ndarray:
    with np.load(Path(os.environ["SFUMATO_DATA"]) / "cifar10h" / "counts.npz") as arrays:
        return np.asarray(arrays["counts"])
