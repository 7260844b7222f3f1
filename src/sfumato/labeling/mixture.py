"""Mixture: two classes in one mixed image, smoothed by how unsure the person was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import beliefs_from, class_codes
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.payloads import MixturePayload as MixturePayload


@dataclass(frozen=True)
class MixtureLabeler:
    """`y = (1 - s) two_hot + s / K` with `s = gamma ** confidence` (Collins et al. 2023, human-in-the-loop mixup).

    At full confidence the published form still keeps s = gamma; `rescaled` takes s from 1 to 0 instead.
    """

    gamma: float = 0.005
    rescaled: bool = False

    name: ClassVar[str] = "mixture"
    kinds: ClassVar[tuple[str, ...]] = ("mixture",)

    def __post_init__(self) -> None:
        if not 0 < self.gamma < 1:
            raise BadSetting(
                f"found gamma = {self.gamma}",
                expected="a value between 0 and 1",
                fix="choose another gamma",
                code="bad-setting",
            )

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[MixturePayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        rows = np.arange(len(answers))
        lam = np.array([answer.share for answer in answers], dtype=np.float64)
        two_hot = np.zeros((len(answers), len(index)))
        two_hot[rows, class_codes([answer.classes[0] for answer in answers], index)] += lam
        two_hot[rows, class_codes([answer.classes[1] for answer in answers], index)] += 1 - lam
        s = self.gamma ** np.array([answer.confidence for answer in answers], dtype=np.float64)
        s = (s - self.gamma) / (1 - self.gamma) if self.rescaled else s
        return (1 - s[:, None]) * two_hot + s[:, None] / len(index)
