"""Engines: hold the answers in parts, run a pass over each part, and add up the sums."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.tables.setting_checks import bad_setting

if TYPE_CHECKING:
    from sfumato.aggregation.answer_matrix import AnswerMatrix

Progress = Callable[[int, int, float], None]
"""Called after every iteration with its number, the maximum number, and the objective."""

MOST_THREADS = 8


def quiet(iteration: int, iterations: int, objective: float) -> None:
    """No progress shown."""


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of a pass: log-likelihood, expected counts per pair of annotator and class, mass per class.

    `posterior` is set only on request. The first pass of EM also gives `pooled`: the answers (rows) of all annotators
    per class, every item counting once.
    """

    log_likelihood: float
    counts: Float[np.ndarray, "..."]
    shares: Float[np.ndarray, "classes"]
    posterior: Float[np.ndarray, "items classes"] | None = None
    pooled: Float[np.ndarray, "classes classes"] | None = None

    def plus(self, other: Sums) -> Sums:
        """The sum of both, without posteriors; overwrites the counts of `self`."""
        counts = self.counts
        counts += other.counts
        return Sums(
            self.log_likelihood + other.log_likelihood,
            counts,
            self.shares + other.shares,
            None,
            None if self.pooled is None or other.pooled is None else self.pooled + other.pooled,
        )


@runtime_checkable
class Pass(Protocol):
    """One pass over all answers, with the parameters of annotators and classes that it needs."""

    def run(self, answers: AnswerMatrix, first: int, last: int, posterior: np.ndarray, *, counted: bool) -> Sums:
        """Over items `first` to `last`; fills `posterior` unless it is empty, and counts if `counted`."""


@runtime_checkable
class Parts(Protocol):
    """Answers prepared for passes."""

    def run(self, work: Pass, *, kept: bool = False, counted: bool = True) -> Sums:
        """The sums of `work` over all answers; with `kept`, also every item's posterior."""

    def close(self) -> None:
        """Release threads, processes and memory."""


@runtime_checkable
class Engine(Protocol):
    """Where passes run: local threads or a cluster."""

    def open(self, answers: AnswerMatrix) -> Parts: ...


@dataclass(frozen=True)
class LocalEngine:
    """This process: compiled passes run in `n_threads` threads (0: one per core, at most eight)."""

    n_threads: int = 0

    def __post_init__(self) -> None:
        if self.n_threads < 0:
            fix = "choose another number of workers"
            raise bad_setting("workers", self.n_threads, "1 or more, or 0 for one per core", fix)

    def open(self, answers: AnswerMatrix) -> LocalParts:
        n_threads = self.n_threads or min(os.cpu_count() or 1, MOST_THREADS)
        return LocalParts(answers, n_threads if answers.compiled else 1)


class LocalParts:
    """Ranges of items with about the same number of answers, one per thread."""

    def __init__(self, answers: AnswerMatrix, n_parts: int) -> None:
        self._answers = answers
        wanted = np.linspace(0, answers.starts[-1], n_parts + 1)[1:-1]
        cuts = np.unique([0, *np.searchsorted(answers.starts, wanted).tolist(), answers.n_items]).tolist()
        self._ranges = list(pairwise(cuts))
        self._threads = ThreadPoolExecutor(len(self._ranges)) if len(self._ranges) > 1 else None

    def run(self, work: Pass, *, kept: bool = False, counted: bool = True) -> Sums:
        n_classes = self._answers.n_classes
        posterior = np.empty((self._answers.n_items if kept else 0, n_classes))

        def over(part: tuple[int, int]) -> Sums:
            room = posterior[part[0] : part[1]] if kept else posterior
            return work.run(self._answers, *part, room, counted=counted)

        each = map if self._threads is None else self._threads.map
        total = reduce(Sums.plus, each(over, self._ranges))
        return replace(total, posterior=posterior if kept else None)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown()
