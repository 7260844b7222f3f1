"""Brier: the nearer an answer is to what all others together say, the more it earns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.recruitment.pay.rule import PeerAnswers


@dataclass(frozen=True)
class BrierBonus:
    """The quadratic score of each answer against the pooled label of the others, the person's own answer left out.

    A proper scoring rule: whoever wants most of it in expectation says exactly what they believe the others' mean to
    be, doubt included, and no answer of theirs moves what they are measured by. It pays for knowing the crowd; somebody
    who alone sees rightly earns less. For single choices it pays for the class most others choose.

    Mean over a person's items of `1 - sum_c (p_c - q_c)^2 / 2`, q the mean of the others' answers. Up to a term without
    p it is the mean quadratic score over votes drawn from q. Brier, "Verification of forecasts expressed in terms of
    probability" (1950); Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation" (2007).
    """

    name: ClassVar[str] = "brier"
    said: ClassVar[str] = (
        "The bonus is the higher, the nearer your answers are to what all the other people say on average; it is "
        "highest when you say just how sure you are."
    )

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        apart = answers.probs - answers.pooled(answers.probs)
        return answers.mean_of(1 - (apart**2).sum(axis=1) / 2)
