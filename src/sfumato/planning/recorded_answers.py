"""Recorded answers, in the order they came or any other, split into those to be asked for and those to judge by.

From counts to soft labels, and how far these are from the truth: the two estimators that replays compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.special import xlogy

from sfumato.labeling import OneHot
from sfumato.planning.acquisition_index import ItemPosteriors
from sfumato.planning.pilot import check_counts, fit_prior
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable, ErrorLocation, listing
from sfumato.tables.files import read_rows
from sfumato.tables.soft_labels import SoftLabels

FEWEST = 2
"""Answers an item needs to be in both halves."""


@dataclass(frozen=True, eq=False)
class RecordedSplit:
    """Answers to be asked for, and the distributions that estimates are judged by."""

    recorded: RecordedAnswers
    pool: Int[np.ndarray, "items most"]
    """The answers of each item in the order in which they will be given, by their row; -1 where there are no more."""
    truth: Float[np.ndarray, "items classes"]

    @property
    def n_given(self) -> Int[np.ndarray, "items"]:
        """How many answers each item can be given."""
        return np.asarray((self.pool >= 0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Answers sorted by item, each a class (`hard`) or a distribution (`soft`), items with fewer than two left out."""

    item: Int[np.ndarray, "rows"]
    hard: Int[np.ndarray, "rows"] | None
    soft: Float[np.ndarray, "rows classes"] | None
    n_items: int
    n_classes: int
    n_left_out: int = 0

    @classmethod
    def of(cls, answers: Annotations | Beliefs | SoftLabels) -> RecordedAnswers:
        """Recorded answers of a table: answers of kind `choice`, beliefs, or labels that counts stand behind."""
        if isinstance(answers, Annotations):
            answers = _votes(answers.for_purposes("label"))
        if isinstance(answers, SoftLabels):
            return cls.of_counts(_counts_behind(answers))
        coded = answers.coded()
        return cls._sorted(coded.item, coded.hard, coded.soft, coded.n_items, coded.n_classes)

    @classmethod
    def of_counts(cls, counts: np.ndarray) -> RecordedAnswers:
        """Answers of which only the counts are known: any order of an item's votes is as good as another."""
        whole = check_counts(counts).astype(np.int64)
        item, chosen = (np.repeat(axis, whole.ravel()) for axis in np.indices(whole.shape).reshape(2, -1))
        return cls._sorted(item, chosen, None, *whole.shape)

    @classmethod
    def read(cls, path: str | Path) -> RecordedAnswers:
        """Recorded answers of a file; its columns say which table it is."""
        names = read_rows(path).schema.names
        kind = Annotations if "payload" in names else Beliefs if "annotator" in names else SoftLabels
        return cls.of(kind.read(path))

    @classmethod
    def _sorted(
        cls, item: np.ndarray, hard: np.ndarray | None, soft: np.ndarray | None, n_items: int, n_classes: int
    ) -> RecordedAnswers:
        check_counts(np.zeros((1, n_classes)))
        n_answers = np.bincount(item, minlength=n_items)
        kept = n_answers >= FEWEST
        if not kept.any():
            raise BadTable(
                f"found {len(item):,} answers, and no item with {FEWEST} of them",
                expected="items with several answers: half of them are given, the others judge",
                fix="record more answers an item",
                code="no-rows",
            )
        number = np.cumsum(kept) - 1
        rows = np.flatnonzero(kept[item])
        rows = rows[np.argsort(item[rows], kind="stable")]
        return cls(
            number[item[rows]],
            None if hard is None else hard[rows].astype(np.int64),
            None if soft is None else soft[rows],
            int(kept.sum()),
            n_classes,
            int((~kept).sum()),
        )

    def per_item(self) -> float:
        """Answers an item, on average."""
        return len(self.item) / self.n_items

    def votes(self, rows: Int[np.ndarray, "asked"]) -> Float[np.ndarray, "asked classes"]:
        """Answers as rows of votes."""
        if self.soft is not None:
            return np.asarray(self.soft[rows])
        assert self.hard is not None
        return np.asarray(np.eye(self.n_classes)[self.hard[rows]])

    def halves(self, rng: np.random.Generator, *, keep_order: bool = False) -> RecordedSplit:
        """A random half of every item's answers to be given (the larger, if they are odd); the others are the truth.

        Given in random order, or with `keep_order` as they were recorded.
        """
        rank, n_answers = self._shuffled(rng)
        is_given = rank < (n_answers[self.item] + 1) // 2
        truth = np.zeros((self.n_items, self.n_classes))
        np.add.at(truth, self.item[~is_given], self.votes(np.flatnonzero(~is_given)))
        return RecordedSplit(self, self._pool(is_given, rank, keep_order), truth / truth.sum(axis=1, keepdims=True))

    def against(self, truth: Float[np.ndarray, "items classes"], rng: np.random.Generator) -> RecordedSplit:
        """All answers to be given, in random order, judged by distributions that are known."""
        assert truth.shape == (self.n_items, self.n_classes)
        return RecordedSplit(self, self._pool(np.ones(len(self.item), bool), self._shuffled(rng)[0], False), truth)

    def _shuffled(self, rng: np.random.Generator) -> tuple[Int[np.ndarray, "rows"], Int[np.ndarray, "items"]]:
        """The place of every answer in a random order of its item's, and how many answers each item has."""
        n_answers = np.bincount(self.item, minlength=self.n_items)
        first = np.cumsum(n_answers) - n_answers
        rank = np.empty(len(self.item), np.int64)
        rank[np.lexsort((rng.random(len(self.item)), self.item))] = np.arange(len(self.item)) - first[self.item]
        return rank, n_answers

    def _pool(self, is_given: np.ndarray, rank: np.ndarray, keep_order: bool) -> Int[np.ndarray, "items most"]:
        rows = np.flatnonzero(is_given)
        n_given = np.bincount(self.item[rows], minlength=self.n_items)
        if keep_order:
            rank = np.cumsum(is_given) - 1 - (np.cumsum(n_given) - n_given)[self.item]
        pool = np.full((self.n_items, int(n_given.max())), -1, np.int64)
        pool[self.item[rows], rank[rows]] = rows
        return pool


def _votes(annotations: Annotations) -> Beliefs:
    """Answers of kind `choice` as votes; what other answers mean is for a labeler to say."""
    kinds = [name for name in annotations.kind.names.to_pylist() if name.split("/")[0] != "choice"]
    if kinds:
        raise BadTable(
            f"found answers of kind {listing(kinds)}",
            expected="answers of kind choice, or beliefs",
            fix="turn them into beliefs first: sfumato label ANNOTATIONS -o beliefs.parquet",
            code="wrong-kind",
            where=ErrorLocation(str(annotations.path) if annotations.path else None, column="kind"),
        )
    return OneHot().label(annotations, ())


def _counts_behind(labels: SoftLabels) -> Int[np.ndarray, "items classes"]:
    """The votes that shares came from."""
    place = ErrorLocation(str(labels.path) if labels.path else None)
    if labels.n_annotators is None or not labels.n_annotators.any():
        raise BadTable(
            "found labels without the number of people behind them",
            expected="n_annotators, to know how often each class was chosen",
            fix="give the answers themselves (beliefs), or import the counts anew",
            code="no-counts",
            where=place,
        )
    counts = labels.probs * labels.n_annotators[:, None]
    whole = np.round(counts)
    if (np.abs(counts - whole) > 0.01).any():
        raise BadTable(
            "found labels that are no shares of votes",
            expected="probabilities that are whole numbers of votes out of n_annotators",
            fix="give the answers themselves (beliefs): these labels were smoothed or came from soft answers",
            code="no-counts",
            where=place,
        )
    return np.asarray(whole.astype(np.int64))


CONSTANTS = np.geomspace(1e-3, 2, 34)
ADD_CONSTANT, BAYES = "add-constant", "bayes"


@dataclass(frozen=True)
class Loss:
    """How far estimates are from the truth, on average over items; logarithms in nats."""

    log_loss: float
    kl: float
    total_variation: float
    squared_error: float


def loss_of(estimate: Float[np.ndarray, "items classes"], truth: Float[np.ndarray, "items classes"]) -> Loss:
    """Log-loss `-sum_k q_k log p_k`, KL divergence (log-loss less the entropy of q) total variation, `|p - q|^2`."""
    log_loss = -xlogy(truth, estimate).sum(axis=1).mean()
    entropy = -xlogy(truth, truth).sum(axis=1).mean()
    distance = np.abs(estimate - truth).sum(axis=1).mean() / 2
    squared = ((estimate - truth) ** 2).sum(axis=1).mean()
    return Loss(float(log_loss), float(log_loss - entropy), float(distance), float(squared))


def add_constant(
    counts: Float[np.ndarray, "items classes"], truth: Float[np.ndarray, "items classes"]
) -> Float[np.ndarray, "items classes"]:
    """`(c + a) / (n + a K)` with the constant `a` that is best by log-loss *on the truth itself*.

    Nobody can choose it so well in earnest: as a baseline it is favoured, which keeps what is compared with it honest.
    """
    # A log-loss needs only how much truth stands at each count and at each total, of which there are few.
    count, of_count = _truth_at(counts, truth)
    total, of_total = _truth_at(counts.sum(axis=1, keepdims=True), truth.sum(axis=1, keepdims=True))
    n_classes = counts.shape[1]
    gains = [of_count @ np.log(count + a) - of_total @ np.log(total + a * n_classes) for a in CONSTANTS]
    best = CONSTANTS[int(np.argmax(gains))]
    return np.asarray((counts + best) / (counts.sum(axis=1, keepdims=True) + best * n_classes))


def bayes(counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """The posterior mean under a Dirichlet mixture fitted on these very counts: it never sees the truth."""
    rows, place = np.unique(counts, axis=0, return_inverse=True)
    return np.asarray(ItemPosteriors(rows, fit_prior(counts)).mean[place.ravel()])


def _truth_at(counts: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different counts, and how much truth there is at each."""
    found, place = np.unique(counts, return_inverse=True)
    return found, np.bincount(place.ravel(), truth.ravel())
