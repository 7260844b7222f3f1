"""Typicality: the class is given, people say how typical the item is of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from, class_codes
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import TypicalityPayload as TypicalityPayload


@dataclass(frozen=True)
class TypicalityLabeler:
    """The rating as mass on the given class, the rest equally on the others (CIFAR-10T; Sucholutsky et al. 2023).

    It says nothing about *which* other class: where that matters, ask another kind of question.
    """

    name: ClassVar[str] = "typicality"
    kinds: ClassVar[tuple[str, ...]] = ("typicality",)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, _typicality_probs)


def _typicality_probs(answers: list[TypicalityPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
    rating = np.array([answer.typicality for answer in answers], dtype=np.float64)
    probs = np.repeat((1 - rating)[:, None] / (len(index) - 1), len(index), axis=1)
    probs[np.arange(len(answers)), class_codes([answer.given for answer in answers], index)] = rating
    return probs
