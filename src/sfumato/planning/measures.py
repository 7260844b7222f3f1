"""What "near enough" means: how far a label from M answers is off, under a prior over items. `MEASURES` lists all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.special import betainc

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.asking import SimulatedPosterior, asked
from sfumato.planning.population import Population
from sfumato.planning.precision import expected_l2, expected_tv
from sfumato.tables.errors import unknown

CELLS = 1000
DRAWS = 4000


@runtime_checkable
class ErrorMeasure(Protocol):
    """How far a label is off: to be expected of items that are given, of items from a prior, and of each that was asked
    about."""

    name: ClassVar[str]
    title: ClassVar[str]
    uses_prior: ClassVar[bool]
    """Whether the label is the posterior mean; otherwise it is the shares of the answers."""

    def of_items(self, items: Population, most: int, rng: np.random.Generator) -> Float[np.ndarray, "draws answers"]:
        """The error to expect after 1, 2, ... `most` answers about each of these items."""
        ...

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        """The error to expect after 1, 2, ... `most` answers about an item from this prior."""
        ...

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        """How far the label of each item really is off after the answers it got in a simulation."""
        ...


@dataclass(frozen=True)
class TotalVariationError:
    """The mass by which the shares of the answers differ from the item's distribution; the default.

    Of given items the closed form `expected_tv`. Of a prior its expectation under the Beta marginals of each component,
    by quadrature over `cells` cells: `f(p) = p (1 - p) g(p)`, so `E f = a b / (A (A + 1)) E g` under
    Beta(a + 1, b + 1), where g is smooth. With 1,000 cells it is within 0.1% of the exact double sum.
    """

    cells: int = CELLS
    name: ClassVar[str] = "tv"
    title: ClassVar[str] = "total variation"
    uses_prior: ClassVar[bool] = False

    def of_items(
        self,
        items: Population,
        most: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Float[np.ndarray, "draws answers"]:
        return expected_tv(items.probs, range(1, most + 1))

    def of_prior(
        self,
        prior: DirichletMixture,
        most: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Float[np.ndarray, "answers"]:
        edges = np.sin(np.linspace(0, np.pi / 2, self.cells + 1)) ** 2
        middle = np.sin((np.arange(self.cells) + 0.5) * np.pi / 2 / self.cells) ** 2
        two = np.stack([middle, 1 - middle], axis=1)
        # Two classes deviate alike: half of their sum is one class's part.
        smooth = expected_tv(two, range(1, most + 1)) / 2 / (middle * (1 - middle))[:, None]
        mass = prior.alpha.sum(axis=1)
        result = np.zeros(most)
        for k in range(prior.alpha.shape[1]):
            a, b = prior.alpha[:, k], mass - prior.alpha[:, k]
            within = np.diff(betainc(a[:, None] + 1, b[:, None] + 1, edges), axis=1)
            result += (prior.weights * a * b / (mass * (mass + 1))) @ within @ smooth
        return result

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        return np.asarray(np.abs(known.counts / known.n_answers - known.probs).sum(axis=1) / 2)


@dataclass(frozen=True)
class SquaredError:
    """The squared distance between the shares of the answers and the item's distribution: `(1 - E |p|^2) / M`, exact.

    Prefer it where the label feeds a squared loss (the Brier score of a model against it is too high by just this).
    """

    name: ClassVar[str] = "l2"
    title: ClassVar[str] = "squared distance"
    uses_prior: ClassVar[bool] = False

    def of_items(
        self,
        items: Population,
        most: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Float[np.ndarray, "draws answers"]:
        return expected_l2(items.probs, range(1, most + 1))

    def of_prior(
        self,
        prior: DirichletMixture,
        most: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Float[np.ndarray, "answers"]:
        return np.asarray((1 - prior.weights @ expected_squares(prior)) / np.arange(1, most + 1))

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        return np.asarray(((known.counts / known.n_answers - known.probs) ** 2).sum(axis=1))


@dataclass(frozen=True)
class DivergenceError:
    """The KL divergence of the item's distribution from the posterior mean under the prior, in nats.

    What `bayes` is expected to lose where the prior is right (it is fitted on all answers, so this comes true with many
    items), and what a model trained on its labels loses in cross-entropy. Given the counts it is closed,
    `H(mean) - E H(p)`; over the counts that may come it is averaged by `draws` simulated items of a prior, with a
    standard error of about 1.5% at 4,000. Given items are each asked about once in simulation.
    """

    draws: int = DRAWS
    name: ClassVar[str] = "kl"
    title: ClassVar[str] = "KL divergence"
    uses_prior: ClassVar[bool] = True

    def of_items(self, items: Population, most: int, rng: np.random.Generator) -> Float[np.ndarray, "draws answers"]:
        lost = np.empty((len(items.probs), most))
        for known in asked(items.probs, most, rng, items.prior):
            lost[:, known.n_answers - 1] = self.of_answers(known)
        return lost

    def of_prior(self, prior: DirichletMixture, most: int, rng: np.random.Generator) -> Float[np.ndarray, "answers"]:
        items = Population.of_prior(prior, self.draws, rng)
        lost = [known.expected_kl for known in asked(items.probs, most, rng, prior)]
        return np.array([each.mean() for each in lost if each is not None])

    def of_answers(self, known: SimulatedPosterior) -> Float[np.ndarray, "draws"]:
        assert known.mean is not None
        p, q = known.probs, np.maximum(known.mean, 1e-300)
        return np.asarray((p * np.log(np.maximum(p, 1e-300) / q)).sum(axis=1))


MEASURES: tuple[ErrorMeasure, ...] = (TotalVariationError(), SquaredError(), DivergenceError())


def measure_named(name: str) -> ErrorMeasure:
    """The measure called `name`; the one place where a name becomes an object."""
    for measure in MEASURES:
        if measure.name == name:
            return measure
    raise unknown("measure", name, [measure.name for measure in MEASURES])


def expected_squares(prior: DirichletMixture) -> Float[np.ndarray, "components"]:
    """`E |p|^2` of each component: how often two people agree about an item."""
    mass = prior.alpha.sum(axis=1)
    return np.asarray((prior.alpha * (prior.alpha + 1)).sum(axis=1) / (mass * (mass + 1)))
