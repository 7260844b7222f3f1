"""One-hot: a choice is a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from, class_codes
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs


@dataclass(frozen=True)
class OneHot:
    """All mass on the class chosen, or named as most probable.

    What a hard-label study collects (CIFAR-10H; Peterson et al. 2019). Prefer another labeler wherever people
    could say more: this one throws it away.
    """

    name: ClassVar[str] = "one-hot"
    kinds: ClassVar[tuple[str, ...]] = ("choice", "top_two")

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, _probs)


def _probs(answers: list[Any], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
    chosen = [answer.chosen if hasattr(answer, "chosen") else answer.first for answer in answers]
    return np.asarray(np.eye(len(index))[class_codes(chosen, index)])
