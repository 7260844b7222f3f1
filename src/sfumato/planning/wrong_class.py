"""The chance that the class named most often is not the one most people would name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.asking import SimulatedPosterior, asked
from sfumato.planning.population import Population

DRAWS = 10_000


@dataclass(frozen=True)
class WrongClass:
    """How probable it is that the class named most often among M answers is not the item's most probable one.

    By simulation: each item given is asked about once. Classes named equally often are drawn by lot. It is a `Measure`
    for those who want one class an item; where people are divided nearly evenly, many answers change it little.
    """

    draws: int = DRAWS
    name: ClassVar[str] = "wrong_class"
    title: ClassVar[str] = "share of wrong classes"
    uses_prior: ClassVar[bool] = False

    def of_items(self, items: Population, most: int, rng: np.random.Generator) -> Float[np.ndarray, "draws answers"]:
        wrong = np.empty((len(items.probs), most))
        for known in asked(items.probs, most, rng):
            wrong[:, known.n_answers - 1] = self.of_answers(known)
        return wrong

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        return np.asarray(self.of_items(Population.of_prior(prior, self.draws, rng), most, rng).mean(axis=0))

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        return wrong_class(known.counts, known.probs)


def wrong_class(
    counts: Float[np.ndarray, "items classes"], probs: Float[np.ndarray, "items classes"]
) -> Float[np.ndarray, "items"]:
    """The chance, for each item, that the class most often counted (by lot among equals) is not the most probable."""
    leads = counts >= counts.max(axis=1, keepdims=True) - 1e-9
    right = leads[np.arange(len(probs)), probs.argmax(axis=1)]
    return np.asarray(1 - right / leads.sum(axis=1))
