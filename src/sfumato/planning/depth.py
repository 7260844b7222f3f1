"""Depth: a quick form or a rich one, by what an answer takes off the expected error a second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.planning.indices import AcquisitionIndex, KLIndex, L2Index
from sfumato.planning.indices.known import ItemPosteriors
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import above_0

RISKS = {L2Index.name: "l2_risk", KLIndex.name: "kl_risk"}
"""The error that an index takes down, as `ItemPosteriors` calls it; other indices have none."""


@dataclass(frozen=True)
class Form:
    """A way to ask: the plain votes an answer is worth (`exchange` measures it), and the seconds it takes."""

    votes: float
    seconds: float

    def __post_init__(self) -> None:
        above_0("votes", self.votes)
        above_0("seconds", self.seconds)


def worth_of_votes(index: AcquisitionIndex, known: ItemPosteriors, votes: float) -> Float[np.ndarray, "items"]:
    """What an answer worth `votes` plain ones takes off the error that `index` takes down.

    `R v / (A + v)`, where `R` is the error left and `A = R / r - 1` follows from what one vote takes off, `r`. Exact
    for the squared error under a Dirichlet, where `A` is the sum of its parameters; near elsewhere. Several votes at
    once are worth less than as many one by one would be by the first one's worth: the more is known, the less is left.
    """
    if index.name not in RISKS:
        raise BadSetting(
            f"found the index {index.name}, which says nothing of the error left",
            expected=f"{' or '.join(RISKS)}, where questions of two depths are weighed",
            fix="choose one of these, or ask one question alone",
            code="no-risk",
        )
    one, risk = index.worth(known), getattr(known, RISKS[index.name])
    with np.errstate(divide="ignore", invalid="ignore"):
        many = risk * votes / (np.maximum(risk / one - 1, 0.0) + votes)
    return np.where((one > 0) & (risk > 0), many, 0.0)
