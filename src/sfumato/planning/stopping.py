"""When an item has been asked about enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from sfumato.planning.indices.known import ItemPosteriors
from sfumato.tables.settings import above_0, at_least


@dataclass(frozen=True)
class Stopping:
    """An item is finished once one of these is reached; left out, none ever is.

    `l2_risk` and `kl_risk` are expected errors of the posterior mean (squared distance; nats), `lead` the answers by
    which one class is ahead of the second, `most` the most answers an item may have. Risks are what the model expects,
    and hold on average over items as far as the prior does; only `most` holds whatever comes. Before `fewest` answers
    nothing but `most` ends an item: a prior that is surer than it should be must not settle what nobody looked at.
    """

    l2_risk: float | None = None
    kl_risk: float | None = None
    lead: int | None = None
    most: int | None = None
    fewest: int = 0

    def __post_init__(self) -> None:
        for name in ("l2_risk", "kl_risk"):
            if getattr(self, name) is not None:
                above_0(name, getattr(self, name))
        for name in ("lead", "most"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 1)
        at_least("fewest", self.fewest, 0)

    def reached(self, known: ItemPosteriors) -> Bool[np.ndarray, "items"]:
        """The items that are finished."""
        done = np.zeros(len(known.counts), dtype=bool)
        if self.l2_risk is not None:
            done |= known.l2_risk <= self.l2_risk
        if self.kl_risk is not None:
            done |= known.kl_risk <= self.kl_risk
        if self.lead is not None:
            done |= known.lead >= self.lead - 1e-9
        done &= known.n_answers >= self.fewest - 1e-9
        if self.most is not None:
            done |= known.n_answers >= self.most - 1e-9
        return done
