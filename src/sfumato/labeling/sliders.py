"""Sliders: how well each class fits, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import AnswerFault, beliefs_from
from sfumato.labeling.plausible_labelers import check_every_class
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import Sliders as SlidersPayload


@dataclass(frozen=True)
class SlidersLabeler:
    """Each class its slider, divided by their sum (CIFAR-10DS; Sucholutsky et al. 2023).

    All sliders at zero say that nothing fits, which is no distribution: an error, unless `zero_is_uniform`.
    """

    zero_is_uniform: bool = False

    name: ClassVar[str] = "sliders"
    kinds: ClassVar[tuple[str, ...]] = ("sliders",)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[SlidersPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        for i, answer in enumerate(answers):
            check_every_class(i, answer, index)
        values = np.array([[answer[name] for name in index] for answer in answers], dtype=np.float64).reshape(
            -1, len(index)
        )
        total = values.sum(axis=1, keepdims=True)
        empty = total[:, 0] == 0
        if empty.any() and not self.zero_is_uniform:
            raise AnswerFault(
                int(np.argmax(empty)),
                "every slider at 0",
                "at least one slider above 0",
                "remove the answer, or read it as no idea at all with --zero-is-uniform",
                "all-zero",
            )
        return np.where(empty[:, None], 1 / len(index), values / np.where(total == 0, 1, total))
