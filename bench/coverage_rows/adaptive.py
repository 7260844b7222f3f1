"""Figures of adaptive studies with a stopping rule: error and coverage of posterior means, next to means of votes.

Items are drawn from distributions of published votes: the votes about an item and 0.02 per class are the parameters of
a Dirichlet. Our own allocation asks for answers until the expected KL divergence of an item is small.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.aggregation.posterior_figures import posterior_figures
from sfumato.planning.allocation import Allocation, Stopping
from sfumato.planning.answer_value import KLIndex
from sfumato.tables.doubt import entropy

GOAL = "Bias should be at most 3% of the value, and 90% intervals should contain the value in 85 to 95% of studies."
HEAD = (
    "items like those of", "stops at KL", "answers per item", "dissent: truth", "mean of votes, bias", "bias",
    "coverage", "entropy: bias", "coverage", "alpha: bias", "coverage",
)  # fmt: skip
DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
SETS = {
    "cifar-10h": "cifar10h",
    "fashion-mnist-h": "fashion-mnist-h",
    "chaosnli": "chaosnli-snli/chaosNLI_snli.jsonl.gz",
}
CELLS = [(name, risk) for name in SETS for risk in (0.05, 0.1)]
N_ITEMS, MOST, FEWEST = 200, 15, 2


def simulate(n_studies: int, processes: int) -> list[list[str]]:
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return [_row(name, risk, list(pool.map(partial(_study, name, risk), range(n_studies)))) for name, risk in CELLS]


@cache
def _population(name: str) -> np.ndarray:
    table = sf.read(DATA / SETS[name], format=name)
    assert isinstance(table, sf.Counts)
    shares = np.random.default_rng(0).standard_gamma(table.counts + 0.02)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _truth(probs: np.ndarray) -> np.ndarray:
    """Dissent, entropy and alpha of all items."""
    dissent, shares = float((1 - (probs**2).sum(axis=1)).mean()), probs.mean(axis=0)
    return np.array([dissent, entropy(probs).mean(), 1 - dissent / (1 - shares @ shares)])


def _study(name: str, risk: float, number: int) -> np.ndarray:
    """One study: answers per item, the mean dissent of votes, and value, low and high of each figure."""
    rng = np.random.default_rng([number, int(1000 * risk), len(name)])
    probs = _population(name)
    counts = _collected(probs[rng.choice(len(probs), N_ITEMS, replace=False)], risk, rng)
    m = counts.sum(axis=1)
    naive = float(((m**2 - (counts**2).sum(axis=1)) / (m * (m - 1))).mean())
    found = posterior_figures(counts, level=0.9, rng=rng)
    figures = [
        (each.value, each.interval.low, each.interval.high) for each in (found.dissent, found.entropy, found.alpha)
    ]
    return np.array([m.mean(), naive, *np.ravel(figures)])


def _collected(probs: np.ndarray, risk: float, rng: np.random.Generator) -> np.ndarray:
    """The votes of a study that asks next where an answer is worth most, in rounds of a tenth of the items."""
    edges = probs.cumsum(axis=1)
    edges[:, -1] = np.inf

    def votes(items: np.ndarray) -> np.ndarray:
        return np.eye(probs.shape[1])[(rng.random((len(items), 1)) < edges[items]).argmax(axis=1)]

    everything = np.arange(len(probs))
    counts = sum(votes(everything) for _ in range(FEWEST))
    stopping = Stopping(kl_risk=risk, most=MOST, fewest=FEWEST)
    state = Allocation.of(np.asarray(counts), KLIndex(), stopping=stopping)
    while len(items := state.top_items(len(probs) // 5, rng)):
        state = state.with_answers(items, votes(items))
        if state.is_stale(growth=0.2):
            state = state.refit()
    return np.asarray(state.counts)


def _row(name: str, risk: float, studies: list[np.ndarray]) -> list[str]:
    found, truth = np.array(studies), _truth(_population(name))
    cells = [name, f"{risk:g}", f"{found[:, 0].mean():.1f}", f"{truth[0]:.3f}", _share(found[:, 1].mean(), truth[0])]
    for k in range(3):
        value, low, high = found[:, 2 + 3 * k : 5 + 3 * k].T
        cells += [_share(value.mean(), truth[k]), f"{((low <= truth[k]) & (truth[k] <= high)).mean():.0%}"]
    return cells


def _share(value: float, truth: float) -> str:
    return f"{(value - truth) / truth:+.1%}"
