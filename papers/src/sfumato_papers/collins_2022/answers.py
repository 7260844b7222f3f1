"""CIFAR-10S answers and what stands next to them: read once, for the parts that count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.importers import Cifar10SImporter
from sfumato.importers.importer import CIFAR_10
from sfumato.labeling import Labeler, TopTwoClamp
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import entropy
from sfumato.tables.payloads import TopTwoPayload, decode, payload_kind
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.paper import Rerun
from sfumato_papers.published_data import PublishedData

HIGH, LOW = 0.25, 0.1
"""Entropies, in nats, from which and up to which an image counts as high or low (Section 4.1)."""


@dataclass(frozen=True, eq=False)
class Cifar10sAnswers:
    """Answers of CIFAR-10S with the classes and votes of the same images."""

    table: Annotations
    votes: SoftLabels
    original: Int[np.ndarray, "all_items"]
    """The CIFAR-10 class of every test picture."""

    @cached_property
    def each(self) -> list[TopTwoPayload]:
        """The answers, one by one."""
        found: list[TopTwoPayload] = decode(self.table.payload.to_pylist(), payload_kind("top_two/1"))
        return found

    @cached_property
    def truth(self) -> list[str]:
        """The CIFAR-10 class of the picture each answer is about."""
        return [CIFAR_10[self.original[int(item)]] for item in self.table.item.text().to_pylist()]

    @cached_property
    def first_percent(self) -> Float[np.ndarray, "answers"]:
        """As typed; 0 means 100."""
        return np.array([answer.first_percent or 100 for answer in self.each], np.float64)

    @cached_property
    def is_doubtful(self) -> Bool[np.ndarray, "answers"]:
        """Whether the picture has high entropy under CIFAR-10H."""
        return np.asarray(self.entropy_of_votes >= HIGH)

    @cached_property
    def entropy_of_votes(self) -> Float[np.ndarray, "answers"]:
        return np.asarray(entropy(self.votes.probs)[self.votes.rows_of(self.table.item.text())])

    def beside_votes(self, by: Labeler | None = None) -> MatchedLabels:
        """Each image's mean label, as if predicted, next to the votes of CIFAR-10H."""
        labels = mean_labels((by or TopTwoClamp(as_released=True)).label(self.table, CIFAR_10))
        return match_labels(predicted=labels, people=self.votes, common=True)


def first_pass(rerun: Rerun) -> Cifar10sAnswers:
    """The 6,200 first-pass answers."""
    return rerun.once("first pass", lambda: _answers(rerun.data, rerun.data.cifar_10s))


def as_released(rerun: Rerun) -> Cifar10sAnswers:
    """The 6,723 rows behind the released labels: repeats and one upload sent twice are among them."""
    return rerun.once(
        "as released", lambda: _answers(rerun.data, _read(rerun.data, Cifar10SImporter(as_released=True)))
    )


def with_repeats(rerun: Rerun) -> Cifar10sAnswers:
    """First passes, and the pictures that people were shown a second time."""
    return rerun.once("with repeats", lambda: _answers(rerun.data, _read(rerun.data, Cifar10SImporter(repeats=True))))


def mean_labels(beliefs: Beliefs) -> SoftLabels:
    """Each item's mean belief; somebody who answered twice counts twice, as in the released labels."""
    sums = np.zeros((len(beliefs.item.names), len(beliefs.classes)))
    np.add.at(sums, beliefs.item.codes, beliefs.probs)
    n_answers = np.bincount(beliefs.item.codes, minlength=len(sums))
    return SoftLabels.from_numpy(beliefs.item.names.to_pylist(), sums / n_answers[:, None], beliefs.classes, n_answers)


def original_classes(data: PublishedData) -> Int[np.ndarray, "items"]:
    """The class of each CIFAR-10 test picture, by number."""
    with np.load(data.path("cifar10h", "counts.npz")) as file:
        return np.asarray(file["labels"].astype(np.int64))


def _read(data: PublishedData, reader: Cifar10SImporter) -> Annotations:
    table = reader.read(data.path("cifar10s")).table
    assert isinstance(table, Annotations)
    return table


def _answers(data: PublishedData, table: Annotations) -> Cifar10sAnswers:
    return Cifar10sAnswers(table, data.cifar_10h, original_classes(data))
