"""Tokens: so many of N for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import AnswerFault, beliefs_from, unknown_class
from sfumato.labeling.top_two_arrays import spread_leftover
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.payloads import TokensPayload as TokensPayload
from sfumato.tables.settings import share


@dataclass(frozen=True)
class TokensLabeler:
    """Each class its share of the tokens placed. Where the person said that others are possible, `gamma` is held back
    and spread in equal parts over the classes without a token, as the clamp rule does; a class not mentioned has none.
    """

    gamma: float = 0.1

    name: ClassVar[str] = "tokens"
    kinds: ClassVar[tuple[str, ...]] = ("tokens",)

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self._probs)

    def _probs(self, answers: list[TokensPayload], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
        placed = np.zeros((len(answers), len(index)))
        for i, answer in enumerate(answers):
            for name, n in answer.tokens.items():
                if name not in index:
                    raise unknown_class(name, index, i)
                placed[i, index[name]] = n
        total = placed.sum(axis=1, keepdims=True)
        if (total == 0).any():
            raise AnswerFault(
                int(np.argmax(total == 0)),
                "no token placed",
                "at least one token",
                "remove the answer",
                "all-zero",
            )
        others = np.array([answer.others for answer in answers], dtype=np.float64).reshape(-1, 1)
        return spread_leftover(placed / total, np.broadcast_to(others, placed.shape), self.gamma)
