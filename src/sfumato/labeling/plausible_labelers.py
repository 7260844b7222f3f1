"""Labelers of the question type plausible: yes, no or unsure for every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.labeling.labeler import (
    AnswerFault,
    beliefs_from,
    class_list,
    only_kind,
    unknown_class,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import Doubt
from sfumato.tables.errors import BadSetting, listing
from sfumato.tables.payloads import Plausible

NONE_OF_THESE = "none of these"


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
        return beliefs_from(annotations, classes, self.kinds, lambda a, i: _probs(a, i, 1.0), (self.none_class,))


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
            raise BadSetting(f"unsure = {self.unsure}", "a weight above 0, at most 1", "choose another weight")

    def label(self, annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
        return beliefs_from(
            annotations, classes, self.kinds, lambda a, i: _probs(a, i, self.unsure), (self.none_class,)
        )


def plausible_doubt(annotations: Annotations, beliefs: Beliefs, classes: Sequence[str] = ()) -> Doubt:
    """The uncertainty of `beliefs` made from `annotations`, with the two measures of soft-digits.

    `mean_doubt`: the share of classes marked unsure, averaged over annotators. `unsure_proportion`: the
    share of annotators who marked any class unsure.
    """
    n_classes = len(class_list(annotations, classes))
    kind = only_kind(annotations, ("plausible",))
    n_unsure = np.concatenate(
        [
            np.empty(0, dtype=np.int64),
            *(
                np.array([sum(mark == "unsure" for mark in answer.values()) for answer in answers])[inverse]
                for answers, inverse, _ in annotations.decoded(kind)
            ),
        ]
    )
    item, n_items = beliefs.item.codes, len(beliefs.item.names)
    n_answers = np.bincount(item, minlength=n_items)
    return replace(
        beliefs.doubt(),
        mean_doubt=np.bincount(item, weights=n_unsure / n_classes, minlength=n_items) / n_answers,
        unsure_proportion=np.bincount(item, weights=n_unsure > 0, minlength=n_items) / n_answers,
    )


def _probs(answers: list[Plausible], index: dict[str, int], unsure: float) -> Float[np.ndarray, "answers classes"]:
    weights = np.array([_weights(i, answer, index, unsure) for i, answer in enumerate(answers)], dtype=np.float64)
    weights = weights.reshape(len(answers), len(index))
    none = (weights.sum(axis=1, keepdims=True) == 0).astype(np.float64)
    weights = np.concatenate([weights, none], axis=1)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _weights(i: int, answer: Plausible, index: dict[str, int], unsure: float) -> list[float]:
    check_every_class(i, answer, index)
    weight = {"yes": 1.0, "unsure": unsure, "no": 0.0}
    return [weight[answer[name]] for name in index]


def check_every_class(i: int, answer: Mapping[str, object], index: dict[str, int]) -> None:
    """Raise unless answer number `i` has a value for every class and for nothing else."""
    for name in answer:
        if name not in index:
            raise unknown_class(name, index, i)
    if len(answer) < len(index):
        missing = [name for name in index if name not in answer]
        raise AnswerFault(
            i,
            f"no value for {listing(missing)}",
            "a value for every class",
            "complete or remove the answer",
            "missing-class",
        )
