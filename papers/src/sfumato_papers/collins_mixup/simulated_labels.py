"""CIFAR-10S for all 7,000 items: as elicited where it was, simulated from its statistics elsewhere (appendix B.5)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sfumato.aggregation import Mean
from sfumato.labeling import ClassSimilarity, TopTwoClamp
from sfumato.labeling.simulated_top_two import SimulatedTopTwo
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.published_data import PublishedData

N_ANNOTATORS = 6
"""As many simulated people per item as CIFAR-10S has real ones; the thesis does not say."""
DOUBTFUL = 0.25
"""From this entropy on, in nats, an item's answers have the statistics of doubtful ones."""
SEED = 2022


def soft_endpoints(data: PublishedData) -> SoftLabels:
    """The mean label of every CIFAR-10 test picture: of the real answers of CIFAR-10S, else of simulated ones.

    The class that a simulated person names first is drawn from CIFAR-10H's votes. Which classes are alike is read from
    CIFAR-10H's mean label of each class: the thesis took word embeddings (GloVe).
    """
    people = data.cifar_10h
    rng = np.random.default_rng(SEED)
    simulated = SimulatedTopTwo(similarity=_similarity(people))
    doubtful = entropy(people.probs) >= DOUBTFUL
    drawn = [simulated.soften(_voted(people, rng), doubtful, rng).probs.astype(np.float64) for _ in range(N_ANNOTATORS)]
    probs = np.mean(drawn, axis=0)
    elicited = Mean().aggregate(TopTwoClamp().label(data.cifar_10s, people.classes)).labels
    probs[people.rows_of(elicited.items)] = elicited.probs
    return SoftLabels.from_numpy(people.items.to_pylist(), probs / probs.sum(axis=1, keepdims=True), people.classes)


def _voted(people: SoftLabels, rng: np.random.Generator) -> SoftLabels:
    """One vote an item, drawn from those it got."""
    chosen = (people.probs.cumsum(axis=1) < rng.random((len(people), 1))).sum(axis=1)
    labels = [people.classes[k] for k in np.minimum(chosen, len(people.classes) - 1)]
    return SoftLabels.one_hot(people.items.to_pylist(), labels, people.classes)


def _similarity(people: SoftLabels) -> ClassSimilarity:
    first = people.probs.argmax(axis=1)
    means: Float[np.ndarray, "classes classes"] = np.stack(
        [people.probs[first == k].mean(axis=0) for k in range(len(people.classes))]
    )
    return ClassSimilarity(people.classes, means + means.T, "CIFAR-10H")
