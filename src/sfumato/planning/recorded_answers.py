"""Recorded answers split into answers to give and a reference, and the two label estimators that replays compare.
Called by `replay.py`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from scipy.special import xlogy

from sfumato.labeling.kind_labelers import OneHot
from sfumato.planning.answer_value import posterior_means
from sfumato.planning.item_prior import check_counts, fit_prior
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, ErrorLocation, listing, no_rows
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.soft_labels import SoftLabels

FEWEST = 2
"""Answers that an item needs to be in both halves."""


@dataclass(frozen=True, eq=False)
class RecordedSplit:
    """Answers to give, and the reference distributions of the items."""

    recorded: RecordedAnswers
    pool: Int[np.ndarray, "items most"]
    """The answers of each item in the order in which they are given, by row; -1 where there are no more."""
    truth: Float[np.ndarray, "items classes"]

    @property
    def n_given(self) -> Int[np.ndarray, "items"]:
        """How many answers each item can be given."""
        return np.asarray((self.pool >= 0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Answers sorted by item, each a class (`hard`) or a distribution (`soft`); items with fewer than two are left
    out."""

    item: Int[np.ndarray, "rows"]
    hard: Int[np.ndarray, "rows"] | None
    soft: Float[np.ndarray, "rows classes"] | None
    n_items: int
    n_classes: int
    n_left_out: int = 0

    @classmethod
    def of(cls, answers: Annotations | Beliefs | Counts | SoftLabels) -> RecordedAnswers:
        """From answers of kind `choice`, beliefs, counts, or labels with numbers of annotators."""
        if isinstance(answers, Counts):
            return cls.of_counts(answers.counts)
        if isinstance(answers, Annotations):
            answers = _votes(answers.for_purposes("label"))
        if isinstance(answers, SoftLabels):
            return cls.of_counts(_counts_of_labels(answers))
        coded = answers.coded()
        return cls._sorted(coded.item, coded.hard, coded.soft, coded.n_items, coded.n_classes)

    @classmethod
    def of_counts(cls, counts: np.ndarray) -> RecordedAnswers:
        """From counts only, in any order of an item's votes."""
        whole = check_counts(counts).astype(np.int64)
        item, chosen = (np.repeat(axis, whole.ravel()) for axis in np.indices(whole.shape).reshape(2, -1))
        return cls._sorted(item, chosen, None, *whole.shape)

    @classmethod
    def read(cls, path: str | Path) -> RecordedAnswers:
        """From a file; its columns determine which table it is."""
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
            raise no_rows(
                "items with several answers: half of them are given, the others are the reference",
                "record more answers per item",
                found=f"{len(item):,} answers, and no item with {FEWEST} of them",
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
        """Mean answers per item."""
        return len(self.item) / self.n_items

    def votes(self, rows: Int[np.ndarray, "asked"]) -> Float[np.ndarray, "asked classes"]:
        """Answers as rows of votes."""
        if self.soft is not None:
            return np.asarray(self.soft[rows])
        assert self.hard is not None
        return np.asarray(np.eye(self.n_classes)[self.hard[rows]])

    def split_half(self, rng: np.random.Generator, *, keep_order: bool = False) -> RecordedSplit:
        """A random half of every item's answers to give (the larger one, if odd); the others are the truth.

        Given in random order, or with `keep_order` as they were recorded.
        """
        rank = places_in_order(self.item, rng.random(len(self.item)))
        is_given = rank < (np.bincount(self.item, minlength=self.n_items)[self.item] + 1) // 2
        truth = np.zeros((self.n_items, self.n_classes))
        np.add.at(truth, self.item[~is_given], self.votes(np.flatnonzero(~is_given)))
        return RecordedSplit(self, self._pool(is_given, rank, keep_order), truth / truth.sum(axis=1, keepdims=True))

    def with_truth(self, truth: Float[np.ndarray, "items classes"], rng: np.random.Generator) -> RecordedSplit:
        """All answers to give, in random order, compared with known distributions."""
        assert truth.shape == (self.n_items, self.n_classes)
        rank = places_in_order(self.item, rng.random(len(self.item)))
        return RecordedSplit(self, self._pool(np.ones(len(self.item), bool), rank, False), truth)

    def _pool(self, is_given: np.ndarray, rank: np.ndarray, keep_order: bool) -> Int[np.ndarray, "items most"]:
        rows = np.flatnonzero(is_given)
        n_given = np.bincount(self.item[rows], minlength=self.n_items)
        if keep_order:
            rank = np.cumsum(is_given) - 1 - (np.cumsum(n_given) - n_given)[self.item]
        pool = np.full((self.n_items, int(n_given.max())), -1, np.int64)
        pool[self.item[rows], rank[rows]] = rows
        return pool


def places_in_order(group: Int[np.ndarray, "rows"], key: np.ndarray) -> Int[np.ndarray, "rows"]:
    """The position of every row among those of its group, sorted by `key`; with random keys, in a random order."""
    n_each = np.bincount(group)
    place = np.empty(len(group), np.int64)
    order = np.lexsort((key, group))
    place[order] = np.arange(len(group)) - (np.cumsum(n_each) - n_each)[group[order]]
    return place


def _votes(annotations: Annotations) -> Beliefs:
    """Answers of kind `choice` as votes; other kinds need a labeler first."""
    kinds = [name for name in annotations.kind.names.to_pylist() if name.split("/")[0] != "choice"]
    if kinds:
        raise BadTable(
            f"answers of kind {listing(kinds)}",
            "answers of kind choice, or beliefs",
            "convert them into beliefs first: sfumato label ANNOTATIONS -o beliefs.parquet",
            "wrong-kind",
            ErrorLocation(str(annotations.path) if annotations.path else None, column="kind"),
        )
    return OneHot().label(annotations, ())


def _counts_of_labels(labels: SoftLabels) -> Int[np.ndarray, "items classes"]:
    """The votes of each class."""
    if labels.n_annotators is None or not labels.n_annotators.any():
        raise BadTable(
            "labels without the number of annotators",
            "n_annotators, to know how often each class was chosen",
            "give the beliefs, or import the counts again",
            "no-counts",
            labels.path,
        )
    counts = labels.probs * labels.n_annotators[:, None]
    whole = np.round(counts)
    if (np.abs(counts - whole) > 0.01).any():
        raise BadTable(
            "labels that are not shares of votes",
            "probabilities that are whole numbers of votes out of n_annotators",
            "give the beliefs: these labels were smoothed or come from soft answers",
            "no-counts",
            labels.path,
        )
    return np.asarray(whole.astype(np.int64))


CONSTANTS = np.geomspace(1e-3, 2, 34)
ADD_CONSTANT, BAYES = "add-constant", "bayes"


@dataclass(frozen=True)
class Loss:
    """Mean distances of estimates from the truth over items; logarithms in nats."""

    log_loss: float
    kl: float
    total_variation: float
    squared_error: float


def loss_of(estimate: Float[np.ndarray, "items classes"], truth: Float[np.ndarray, "items classes"]) -> Loss:
    """Log-loss `-sum_k q_k log p_k`, KL divergence (log-loss minus the entropy of q), total variation, and `|p -
    q|^2`."""
    log_loss = -xlogy(truth, estimate).sum(axis=1).mean()
    entropy = -xlogy(truth, truth).sum(axis=1).mean()
    distance = np.abs(estimate - truth).sum(axis=1).mean() / 2
    squared = ((estimate - truth) ** 2).sum(axis=1).mean()
    return Loss(float(log_loss), float(log_loss - entropy), float(distance), float(squared))


def add_constant(
    counts: Float[np.ndarray, "items classes"], truth: Float[np.ndarray, "items classes"]
) -> Float[np.ndarray, "items classes"]:
    """`(c + a) / (n + a K)` with the constant `a` that is best by log-loss *on the truth itself*.

    A baseline with an advantage that no real study has, which makes comparisons with it conservative.
    """
    # The log-loss needs only the truth summed by distinct count and by distinct total, of which there are few.
    count, of_count = _truth_at(counts, truth)
    total, of_total = _truth_at(counts.sum(axis=1, keepdims=True), truth.sum(axis=1, keepdims=True))
    n_classes = counts.shape[1]
    gains = [of_count @ np.log(count + a) - of_total @ np.log(total + a * n_classes) for a in CONSTANTS]
    best = CONSTANTS[int(np.argmax(gains))]
    return np.asarray((counts + best) / (counts.sum(axis=1, keepdims=True) + best * n_classes))


def bayes(counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """The posterior mean under a Dirichlet mixture fitted to these counts, without the truth."""
    return posterior_means(counts, fit_prior(counts))


def _truth_at(counts: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct counts, and the sum of the truth at each."""
    found, place = np.unique(counts, return_inverse=True)
    return found, np.bincount(place.ravel(), truth.ravel())
