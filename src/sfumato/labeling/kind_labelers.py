"""Labelers of the question types choice, plausible, sliders, tokens, typicality and mixture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.labeling.labeler import (
    AnswerFault,
    Probs,
    ProbsOf,
    beliefs_from,
    class_codes,
    class_list,
    per_answer,
    spread_leftover,
    unknown_class,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import Doubt
from sfumato.tables.errors import listing
from sfumato.tables.payloads import MixturePayload, Plausible, Sliders, TokensPayload, TypicalityPayload
from sfumato.tables.setting_checks import bad_setting, share

NONE_OF_THESE = "none of these"


@dataclass(frozen=True)
class OneHot:
    """All mass on the chosen or first-named class.

    The result of a hard-label study (CIFAR-10H; Peterson et al. 2019). Prefer another labeler if annotators could
    express uncertainty: this one drops it.
    """

    name: ClassVar[str] = "one-hot"
    kinds: ClassVar[tuple[str, ...]] = ("choice", "top_two")

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[Any], index: dict[str, int]) -> Probs:
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
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[Sliders], index: dict[str, int]) -> Probs:
        values = np.array(_values_by_class(answers, index), dtype=np.float64).reshape(-1, len(index))
        total = values.sum(axis=1, keepdims=True)
        empty = total[:, 0] == 0
        if empty.any() and not self.zero_is_uniform:
            found = "every slider at 0"
            fix = "remove the answer, or read it as the uniform distribution with --zero-is-uniform"
            raise AnswerFault(int(np.argmax(empty)), found, "at least one slider above 0", fix, "all-zero")
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
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[TokensPayload], index: dict[str, int]) -> Probs:
        placed = np.zeros((len(answers), len(index)))
        for i, answer in enumerate(answers):
            for name, n in answer.tokens.items():
                if name not in index:
                    raise unknown_class(name, index, i)
                placed[i, index[name]] = n
        total = placed.sum(axis=1, keepdims=True)
        if (total == 0).any():
            empty = int(np.argmax(total == 0))
            raise AnswerFault(empty, "no token placed", "at least one token", "remove the answer", "all-zero")
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
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[TypicalityPayload], index: dict[str, int]) -> Probs:
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
            raise bad_setting("gamma", self.gamma, "a value between 0 and 1")

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self.probs)

    def probs(self, answers: list[MixturePayload], index: dict[str, int]) -> Probs:
        rows = np.arange(len(answers))
        lam = np.array([answer.share for answer in answers], dtype=np.float64)
        two_hot = np.zeros((len(answers), len(index)))
        two_hot[rows, class_codes([answer.classes[0] for answer in answers], index)] += lam
        two_hot[rows, class_codes([answer.classes[1] for answer in answers], index)] += 1 - lam
        s = self.gamma ** np.array([answer.confidence for answer in answers], dtype=np.float64)
        s = (s - self.gamma) / (1 - self.gamma) if self.rescaled else s
        return (1 - s[:, None]) * two_hot + s[:, None] / len(index)


@dataclass(frozen=True)
class PlausibleEqual:
    """Equal mass on every class marked yes or unsure.

    If all are "no", all mass is on an extra last class. The equally-weighted label of soft-digits, where the extra
    class is "not a digit".
    """

    none_class: str = NONE_OF_THESE

    name: ClassVar[str] = "plausible-equal"
    kinds: ClassVar[tuple[str, ...]] = ("plausible",)

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, _plausible_probs(1.0), (self.none_class,))


@dataclass(frozen=True)
class PlausibleWeighted:
    """As plausible-equal, but an unsure counts half or as set.

    A class marked unsure has `unsure` times the weight of a yes. The uncertainty-weighted label of soft-digits (there
    0.5), which its authors train on.
    """

    unsure: float = 0.5
    none_class: str = NONE_OF_THESE

    name: ClassVar[str] = "plausible-weighted"
    kinds: ClassVar[tuple[str, ...]] = ("plausible",)

    def __post_init__(self) -> None:
        if not 0 < self.unsure <= 1:
            raise bad_setting("unsure", self.unsure, "a weight above 0, at most 1", "choose another weight")

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(annotations, classes, self.kinds, self.probs, (self.none_class,))

    def probs(self, answers: list[Plausible], index: dict[str, int]) -> Probs:
        return _plausible_probs(self.unsure)(answers, index)


def plausible_doubt(annotations: Annotations, beliefs: Beliefs, classes: Sequence[str] = ()) -> Doubt:
    """The uncertainty of `beliefs` made from `annotations`, with the two measures of soft-digits.

    `mean_doubt`: the share of classes marked unsure, averaged over annotators. `unsure_proportion`: the
    share of annotators who marked any class unsure.
    """
    n_classes = len(class_list(annotations, classes))
    n_unsure = per_answer(annotations, "plausible", lambda answer: list(answer.values()).count("unsure"), np.int64)
    item, n_items = beliefs.item.codes, len(beliefs.item.names)
    n_answers = np.bincount(item, minlength=n_items)
    return replace(
        beliefs.doubt(),
        mean_doubt=np.bincount(item, weights=n_unsure / n_classes, minlength=n_items) / n_answers,
        unsure_proportion=np.bincount(item, weights=n_unsure > 0, minlength=n_items) / n_answers,
    )


def _plausible_probs(unsure: float) -> ProbsOf:
    """Distributions with weight 1 for yes and `unsure` for unsure; the last column is the extra class."""
    weight = {"yes": 1.0, "unsure": unsure, "no": 0.0}

    def probs(answers: list[Plausible], index: dict[str, int]) -> Probs:
        marks = _values_by_class(answers, index)
        weights = np.array([[weight[mark] for mark in row] for row in marks]).reshape(len(answers), len(index))
        none = (weights.sum(axis=1, keepdims=True) == 0).astype(np.float64)
        weights = np.concatenate([weights, none], axis=1)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    return probs


def _values_by_class(answers: Sequence[Mapping[str, Any]], index: dict[str, int]) -> list[list[Any]]:
    """The values of each answer in class order; an error unless it has one for every class and for nothing else."""
    for i, answer in enumerate(answers):
        for name in answer:
            if name not in index:
                raise unknown_class(name, index, i)
        if len(answer) < len(index):
            found = f"no value for {listing([name for name in index if name not in answer])}"
            fix = "complete or remove the answer"
            raise AnswerFault(i, found, "a value for every class", fix, "missing-class")
    return [[answer[name] for name in index] for answer in answers]
