"""The value of adaptive assignment (by index, or stopping at a lead), simulated on items like the pilot's. Called by
`decision.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.planning.allocation import Allocation
from sfumato.planning.answer_simulation import drawn_classes, simulate_answers
from sfumato.planning.answer_value import AcquisitionIndex, lead_of, posterior_means
from sfumato.planning.item_prior import Population, fit_prior
from sfumato.planning.precision import wrong_class
from sfumato.tables.growable_array import freeze

BATCH = 0.1
BEYOND = 1.5
"""The simulated studies continue to this multiple of the requested answers."""
STEP = 1.4
"""Factor by which answers grow between two measurements of the error and two fits of the prior."""
LEADS = (1, 2, 3, 4, 5, 6, 8, 10)
DRAWS_FOR_LEADS = 4_000
LEAST = 1e-12
SHARED = 1.25
"""Items of a study share a prior, so repeated simulations differ by a quarter more than their items alone suggest."""

Error = Callable[[Float[np.ndarray, "items classes"], Float[np.ndarray, "items classes"]], Float[np.ndarray, "items"]]
"""The error of labels (second argument), given the items' distributions (first argument)."""


@dataclass(frozen=True, eq=False)
class AdaptiveCurve:
    """One row per mean number of answers per item: the error relative to equal numbers of answers for every item.

    `ratio` is the error divided by that of the uniform study, `spread` its standard error over the simulated items,
    `most` the largest number of answers that an item got, and `lead` the lead at which an item stops (0: no such rule).
    """

    on_average: Float[np.ndarray, "rows"]
    ratio: Float[np.ndarray, "rows"]
    spread: Float[np.ndarray, "rows"]
    most: Int[np.ndarray, "rows"]
    lead: Int[np.ndarray, "rows"]

    def __post_init__(self) -> None:
        freeze(self, "on_average", "ratio", "spread", "most", "lead")


def adaptive_curve_by_index(
    items: Population,
    index: AcquisitionIndex,
    error: Error,
    *,
    n_items: int,
    n_simulated: int,
    up_to: float,
    fewest: int,
    audit: float,
    rng: np.random.Generator,
) -> AdaptiveCurve:
    """Simulate a study that chooses by `index` once every item has `fewest` answers, and one with equal numbers of
    answers.

    Both fit their prior to their own answers, as a real study does. `error` is the error of posterior means. Each study
    has `n_items` items; about `n_simulated` are simulated in total.
    """
    n_each = n_items
    repeats = int(np.clip(n_simulated // n_each, 1, 4))
    n_steps = max(int(np.ceil(np.log(up_to * BEYOND / fewest) / np.log(STEP))), 2)
    budgets = fewest * (up_to * BEYOND / fewest) ** (np.arange(1, n_steps + 1) / n_steps)
    errors = np.zeros((2, repeats, n_steps, n_each))
    most = np.zeros(n_steps, np.int64)
    for r in range(repeats):
        probs = items.probs[rng.choice(len(items.probs), n_each, replace=n_each > len(items.probs))]
        state = Allocation.of(_answers(probs, np.repeat(np.arange(n_each), fewest), rng), index)
        for b, budget in enumerate(budgets):
            state = _collect(state, probs, round(budget * n_each), audit, rng).refit()
            errors[1, r, b] = error(probs, posterior_means(state.counts, state.prior))
            most[b] = max(most[b], int(state.counts.sum(axis=1).max()))
        counts = np.zeros(probs.shape)
        for b, budget in enumerate(budgets):
            lacking = np.floor(budget + rng.permutation(n_each) / n_each) - counts.sum(axis=1)
            asked = np.repeat(np.arange(n_each), np.maximum(lacking, 0).astype(np.int64))
            counts = counts + _answers(probs, asked, rng)
            errors[0, r, b] = error(probs, posterior_means(counts, fit_prior(counts)))
    uniform, adaptive = errors.transpose(0, 2, 1, 3).reshape(2, n_steps, -1)
    found = _curve(budgets, uniform, adaptive, most, np.zeros(n_steps, np.int64))
    # Until every item has `fewest` answers, both studies are the same.
    start = {"on_average": float(fewest), "ratio": 1.0, "spread": 0.0, "most": fewest, "lead": 0}
    return AdaptiveCurve(**{name: np.append(first, getattr(found, name)) for name, first in start.items()})


def adaptive_curve_by_lead(items: Population, *, most: int, rng: np.random.Generator) -> AdaptiveCurve:
    """Simulate studies that stop an item once one class leads by a number of answers, or after `most` answers; one row
    per lead.

    The error is the probability that the leading class is not the most probable one. Every item stops by its own
    answers.
    """
    kept = rng.choice(len(items.probs), min(DRAWS_FOR_LEADS, len(items.probs)), replace=False)
    probs = items.probs[kept]
    stopped = np.full((len(LEADS), len(probs)), most)
    wrong = np.ones((len(LEADS), len(probs)))
    of_all = np.empty((most, len(probs)))
    for known in simulate_answers(probs, most, rng):
        now = of_all[known.n_answers - 1] = wrong_class(known.counts, probs)
        ahead = lead_of(known.counts)
        for i, lead in enumerate(LEADS):
            is_open = stopped[i] == most
            ends = is_open & ((ahead >= lead) | (known.n_answers == most))
            wrong[i, ends] = now[ends]
            stopped[i, ends] = known.n_answers
    on_average = stopped.mean(axis=1)
    below = np.clip(on_average.astype(np.int64), 1, most)
    part = (on_average - below)[:, None]
    uniform = (1 - part) * of_all[below - 1] + part * of_all[np.minimum(below, most - 1)]
    return _curve(on_average, uniform, wrong, stopped.max(axis=1), np.array(LEADS))


def _answers(
    probs: Float[np.ndarray, "items classes"], items: Int[np.ndarray, "asked"], rng: np.random.Generator
) -> Float[np.ndarray, "items classes"]:
    """One simulated answer about each of the given items, as votes of all items."""
    votes = np.zeros(probs.shape)
    np.add.at(votes, (items, drawn_classes(probs[items], rng)), 1.0)
    return votes


def _collect(
    state: Allocation, probs: np.ndarray, n_answers: int, audit: float, rng: np.random.Generator
) -> Allocation:
    """The state after `n_answers` answers in total, collected in batches."""
    n_items = len(state.counts)
    while (missing := n_answers - round(float(state.counts.sum()))) > 0:
        n = min(max(int(BATCH * n_items), 1), missing)
        at_random = rng.choice(n_items, rng.binomial(n, audit), replace=False)
        chosen = np.concatenate([state.top_items(n - len(at_random), rng), at_random])
        touched = np.unique(chosen)
        state = state.with_answers(touched, _answers(probs, chosen, rng)[touched])
    return state


def _curve(
    on_average: np.ndarray, uniform: np.ndarray, adaptive: np.ndarray, most: np.ndarray, lead: np.ndarray
) -> AdaptiveCurve:
    base = np.maximum(uniform.mean(axis=1), LEAST)
    ratio = adaptive.mean(axis=1) / base
    # Delta method: both studies have the same items.
    apart = adaptive - ratio[:, None] * uniform
    spread = SHARED * apart.std(axis=1) / np.sqrt(uniform.shape[1]) / base
    return AdaptiveCurve(on_average, ratio, spread, most.astype(np.int64), lead.astype(np.int64))
