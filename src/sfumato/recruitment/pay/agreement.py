"""Agreement: the more an answer is like the others' answers, the more it earns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.recruitment.pay.rule import PeerAnswers


@dataclass(frozen=True)
class AgreementBonus:
    """The mean share of probability mass that an answer has in common with each other person's about the same item.

    On single choices it is the share of the others who chose the same. Easy to tell people, as CIFAR-10S did; but who
    wants most of it says what most others will say, not what they see: a person in doubt gains by hiding it. Prefer
    `brier` where doubt is what you ask for, and this one where people are asked what others would say.

    Mean over a person's items of the mean over the others j of `sum_c min(p_c, q_jc)`, which is 1 less the total
    variation between the two. Collins, Bhatt and Weller, "Eliciting and Learning with Soft Labels from Every Annotator"
    (HCOMP 2022).
    """

    name: ClassVar[str] = "agreement"
    said: ClassVar[str] = "The bonus is the higher, the more your answers are like those of the other people."

    def scores(self, answers: PeerAnswers) -> Float[np.ndarray, "annotators"]:
        shared = np.zeros(len(answers.item))
        order = np.argsort(answers.item, kind="stable")
        starts = np.flatnonzero(np.diff(answers.item[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            probs, counts = answers.probs[rows], answers.counts[rows]
            common = np.minimum(probs[:, None], probs[None, counts]).sum(axis=2).sum(axis=1)
            own = np.where(counts, probs.sum(axis=1), 0.0)
            shared[rows] = (common - own) / np.maximum(answers.n_others[rows], 1)
        return answers.mean_of(np.clip(shared, 0.0, 1.0))
