"""Relabelled: hard labels, but for the few items whose labels are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.training.target_labels import FixedLabels, PooledLabels
from sfumato.training.targets import Target
from sfumato.training.training_set import TrainingSet, digest_of, one_hot


class Labelled:
    """What is known of the items whose labels are compared; runs keep its digest, and so know when it changes."""

    def __init__(self, name: str, training_set: TrainingSet) -> None:
        self.name, self.training_set = name, training_set
        arrays = [training_set.people] if training_set.people is not None else []
        arrays += [training_set.beliefs.rows, training_set.beliefs.starts] if training_set.beliefs is not None else []
        self.digest = digest_of(training_set.items, *arrays)

    def __repr__(self) -> str:
        return f"{self.name}, {self.training_set.n_items} items, {self.digest[:16]}"


@dataclass(frozen=True, eq=False)
class Relabelled:
    """What `target` makes of the items of `known`; of every other item, the class it came with.

    Only what is learned about some items differs between two of these, as where Collins et al. (2022) exchange the
    labels of 900 items among some 7,000.
    """

    target: Target
    known: Labelled

    name: ClassVar[str] = "relabelled"

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> PooledLabels:
        place = {item: row for row, item in enumerate(self.known.training_set.items)}
        own = np.array([place.get(item, -1) for item in training_set.items], np.int64)
        made = self.target.labels(self.known.training_set, rng)
        assert isinstance(made, FixedLabels | PooledLabels), f"{self.target.name} draws from no pool"
        rows, starts = _pool(made)
        sure = one_hot(training_set.need_original(self.name), training_set.n_classes)
        parts = [sure[i : i + 1] if k < 0 else rows[starts[k] : starts[k + 1]] for i, k in enumerate(own)]
        return PooledLabels.of(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))


def _pool(made: FixedLabels | PooledLabels) -> tuple[Float[np.ndarray, "rows classes"], Int[np.ndarray, "bounds"]]:
    """The rows that an item's labels are drawn from, and where those of each item begin."""
    if isinstance(made, FixedLabels):
        probs = made.probs.cpu().numpy().astype(np.float64)
        return probs, np.arange(len(probs) + 1)
    return made.rows.cpu().numpy().astype(np.float64), made.starts.cpu().numpy()
