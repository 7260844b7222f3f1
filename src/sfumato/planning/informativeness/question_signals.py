"""The information in one answer of each question kind, for formulas and simulations; and simulated exchange rates for
the goal geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import numpy as np
from jaxtyping import Float

from sfumato.planning.exchange_rates import STEPS, ExchangeRate, ExchangeRates, votes_worth
from sfumato.planning.goals import Goal
from sfumato.planning.informativeness.answered_triplets import RankedLists, check_labels, information_ratio
from sfumato.planning.informativeness.embedding import SpectralUnfolding, recovery
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    LabelSet,
    LabelType,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TripletLabels,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import unknown
from sfumato.tables.setting_checks import at_least, bad_setting

TOKENS_ON = 3
MOST_SIMULATED = 200
YES, UNSURE = 0.5, 0.1
"""From these shares of the most probable class on, another class is answered with yes, or with unsure."""


@final
@dataclass(frozen=True)
class Graded(LabelSet):
    """Yes (1), unsure (1/2) or no (0) for every class: an order of three steps with many ties."""

    title: ClassVar[str] = "graded"

    def n_triplets(self, n: int, k: int) -> float:
        """`n (2k - 3) + k m (2n - 3m)`, `m = n / k`: one class is yes, one unsure, all others no."""
        m = n / k
        return n * (2 * k - 3) + k * m * (2 * n - 3 * m)

    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """The answers, as shares."""
        felt = check_labels(soft) / np.nanmax(soft, axis=1, keepdims=True)
        graded = np.where(np.isnan(felt), np.nan, (felt >= UNSURE) / 2 + (felt >= YES) / 2)
        return np.asarray(graded / np.nansum(graded, axis=1, keepdims=True))


SIGNALS: Mapping[str, LabelType | Callable[[int, int], LabelType]] = MappingProxyType(
    {
        "choice": HardLabels(),
        "top_two": lambda _, k: SparseLabels(min(2, k)),
        "plausible": Graded(),
        "sliders": SoftLabelType(),
        "tokens": lambda _, k: SparseLabels(min(TOKENS_ON, k)),
        "typicality": SparseLabels(1),
        "similarity": SimilarityLabels(),
        "triplet": lambda n, _: TripletLabels(n),
        "mixture": lambda _, k: SparseLabels(min(2, k)),
    }
)
"""For each kind of question the label type whose triplets are counted and simulated, or a function of the numbers of
items and classes.

Tokens are placed on three classes. Similarity means every pair of items judged; triplets are one question per item.
"""


def signal_of(kind: str, n: int, k: int) -> LabelType:
    """The label type of a kind for `n` items of `k` classes."""
    if kind not in SIGNALS:
        raise unknown("kind", kind, list(SIGNALS))
    signal = SIGNALS[kind]
    return signal(n, k) if callable(signal) else signal


def ratio_of(kind: str, n: int, k: int) -> float:
    """The information ratio of one answer per item, by formula: the share of all questions about items and classes."""
    return information_ratio(signal_of(kind, n, k).n_triplets(n, k), n + k)


def answers_per_item(kind: str, n: int) -> float:
    """Answers per item of a kind's signal: one, or half of all others if every pair is judged."""
    return (n - 1) / 2 if kind == "similarity" else 1.0


def simulated_rho(
    kind: str, world: LatentWorld, *, n_answers: int = 1, noise: float, rng: np.random.Generator
) -> float:
    """What answers of a kind recover of the similarities of a world's points, with `n_answers` people per item.

    Everybody perceives every distance with own noise; labels are averaged over people and unfolded. Kinds that do not
    label items are judged once.
    """
    signal = signal_of(kind, world.n_points, world.n_classes)
    if isinstance(signal, LabelSet):
        seen = [signal.labels(world.soft_labels(noise=noise, rng=rng)) for _ in range(n_answers)]
        return _rho(RankedLists.of_labels(np.mean(seen, axis=0)), world)
    return _rho(signal.judge(world, noise=noise, rng=rng), world)


def _rho(orders: RankedLists, world: LatentWorld) -> float:
    """What orders recover of the similarities of a world's points."""
    n = world.n_points
    return recovery(found=SpectralUnfolding().embed(orders).gram()[:n, :n], true=world.cosines())


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
    """How many hard votes recover as much of the geometry as 1 to 6 answers of a kind per item.

    Everybody perceives every distance with own noise of `noise` standard deviations; some people answer the form,
    others name the nearest class. Labels are averaged over people, unfolded, and scored by Spearman's rho with the true
    similarities. `low` and `high` are the smallest and largest of the worlds. The rate depends mostly on the noise: for
    sliders it is 5 votes at noise 1, 21 at 0.55, more than 100 at 0.25. The default of 1 was chosen afterwards: of the
    tried values (0.25, 0.55, 1) it is the one where `top_two` matches CIFAR-10S, 1.8 votes for one answer and 12 for
    six, compared with 1.9 and 13.
    """
    at_least("n_worlds", n_worlds, 1)
    signal = signal_of(kind, n, k)
    if not isinstance(signal, LabelSet):
        raise bad_setting("kind", kind, "a kind that labels items")
    steps = np.array([*STEPS, *BEYOND])
    of_votes, of_rich = np.zeros((n_worlds, len(steps))), np.zeros((n_worlds, MOST_RICH + 1))
    for i in range(n_worlds):
        world = LatentWorld.sample(n, k, d, rng=rng)
        seen = [world.soft_labels(noise=noise, rng=rng) for _ in range(int(steps[-1]))]
        votes = np.stack([HardLabels().labels(s) for s in seen])
        rich = np.stack([signal.labels(s) for s in seen[:MOST_RICH]])
        for labels, rho, numbers in ((votes, of_votes, steps), (rich, of_rich, range(MOST_RICH + 1))):
            rho[i, 1:] = [_rho(RankedLists.of_labels(labels[:m].mean(axis=0)), world) for m in numbers[1:]]
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
