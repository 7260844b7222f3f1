"""Labelers of the question types choice, sliders, tokens, typicality and mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import AnswerFault, beliefs_from, class_codes, unknown_class
from sfumato.labeling.plausible_labelers import check_every_class
from sfumato.labeling.top_two_arrays import spread_leftover
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.payloads import MixturePayload as MixturePayload
from sfumato.tables.payloads import Sliders as SlidersPayload
from sfumato.tables.payloads import TokensPayload as TokensPayload
from sfumato.tables.payloads import TypicalityPayload as TypicalityPayload
from sfumato.tables.settings import share


@dataclass(frozen=True)
class OneHot:
    """All mass on the chosen or first-named class.

    The result of a hard-label study (CIFAR-10H; Peterson et al. 2019). Prefer another labeler if annotators could
    express uncertainty: this one drops it.
    """

    name: ClassVar[str] = "one-hot"
    kinds: ClassVar[tuple[str, ...]] = ("choice", "top_two")

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, _probs)


def _probs(answers: list[Any], index: dict[str, int]) -> Float[np.ndarray, "answers classes"]:
    chosen = [answer.chosen if hasattr(answer, "chosen") else answer.first for answer in answers]
    return np.asarray(np.eye(len(index))[class_codes(chosen, index)])


@dataclass(frozen=True)
class SlidersLabeler:
    """Each class its slider, divided by their sum.

    As in CIFAR-10DS (Sucholutsky et al. 2023). All sliders at zero are not a distribution: an error, or with
    `zero_is_uniform` the uniform one.
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
                "remove the answer, or read it as the uniform distribution with --zero-is-uniform",
                "all-zero",
            )
        return np.where(empty[:, None], 1 / len(index), values / np.where(total == 0, 1, total))


@dataclass(frozen=True)
class TokensLabeler:
    """Each class its share of the tokens.

    If the annotator marked other classes as possible, `gamma` of the mass is spread equally over the classes without a
    token, as in the clamp rule.
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


@dataclass(frozen=True)
class TypicalityLabeler:
    """The rating as mass on the given class, the rest equally on the others.

    As in CIFAR-10T (Sucholutsky et al. 2023). The answer does not say which other classes are likely; if that matters,
    use another question type.
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


@dataclass(frozen=True)
class MixtureLabeler:
    """Two classes, smoothed by confidence.

    `y = (1 - s) two_hot + s / K` with `s = gamma ** confidence` (Collins et al. 2023, human-in-the-loop mixup). At full
    confidence the published form still has s = gamma; with `rescaled`, s goes from 1 to 0.
    """

    gamma: float = 0.005
    rescaled: bool = False

    name: ClassVar[str] = "mixture"
    kinds: ClassVar[tuple[str, ...]] = ("mixture",)

    def __post_init__(self) -> None:
        if not 0 < self.gamma < 1:
            raise BadSetting(f"gamma = {self.gamma}", "a value between 0 and 1", "choose another gamma")

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
