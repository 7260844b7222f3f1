"""Not unanimous: how probable it is that a panel would not be of one mind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.planning.indices.known import ItemPosteriors
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class NotUnanimousIndex:
    """The probability that `panel` people, those asked already among them, do not all say the same, a second.

    1 for items on which people differed already (those with the fewest answers go first), else one minus
    `sum_k sum_j w_j prod_t (a_jk + t) / (A_j + t)` over the answers that are still missing. To find contested items;
    prefer `kl` to learn how contested they are.
    """

    panel: int = 10

    name: ClassVar[str] = "not-unanimous"
    per_second: ClassVar[bool] = True
    uses_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("panel", self.panel, 2)

    def worth(self, known: ItemPosteriors) -> Float[np.ndarray, "items"]:
        a = known.posteriors.alpha + known.counts[:, None]
        mass = a.sum(axis=2, keepdims=True)
        missing = np.maximum(self.panel - known.n_answers, 0)[:, None, None]
        agree = np.ones(a.shape)
        for t in range(self.panel):
            agree *= np.where(t < missing, (a + t) / (mass + t), 1.0)
        of_class = (known.posteriors.weights[:, :, None] * agree).sum(axis=1)
        # A class can still be everybody's only if nobody said another.
        possible = known.n_answers[:, None] - known.counts < 1e-9
        return np.asarray(np.clip(1 - (of_class * possible).sum(axis=1), 0.0, 1.0))
