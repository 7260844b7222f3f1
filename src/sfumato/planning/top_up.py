"""Top up after screening: which items have too few answers left, how many people are needed, and the cost. Called by
`sfumato plan items --screening`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.labeling.default_labeler import kinds_in
from sfumato.planning.costs import CostModel
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.errors import BadTable, listing
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least


@dataclass(frozen=True, eq=False, repr=False)
class TopUp(Table):
    """One row per item with fewer answers than wanted, without those of excluded annotators.

    `answers` are those that are left, `set_aside` those that are not, and `missing` those to ask for again.
    `can_answer` is the number of annotators who were kept and have not answered about the item.
    """

    items: tuple[str, ...]
    answers: Int[np.ndarray, "items"]
    set_aside: Int[np.ndarray, "items"]
    missing: Int[np.ndarray, "items"]
    can_answer: Int[np.ndarray, "items"]
    wanted: int
    n_items: int
    """Items in total, with those that have enough answers."""
    excluded: tuple[str, ...]
    batch_size: int
    money: float
    currency: str

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "answers", "set_aside", "missing", "can_answer")

    def __len__(self) -> int:
        return len(self.items)

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        rows = slice(start, stop)
        columns = {
            name: pa.array(getattr(self, name)[rows]) for name in ("answers", "set_aside", "missing", "can_answer")
        }
        return pa.table({"item": pa.array(self.items[rows], pa.string()), **columns})

    @property
    def n_answers(self) -> int:
        """Answers to ask for again."""
        return int(self.missing.sum())

    @property
    def n_people(self) -> int:
        """New people needed: each answers about at most one batch of items, and about an item once."""
        if not len(self):
            return 0
        return max(-(-self.n_answers // self.batch_size), int(self.missing.max()))

    @property
    def n_by_kept(self) -> int:
        """Of the missing answers, how many annotators who were kept could give."""
        return int(np.minimum(self.missing, self.can_answer).sum())


def plan_top_up(
    answers: Annotations,
    excluded: Sequence[str],
    wanted: int,
    *,
    costs: CostModel,
    items: Sequence[str] | None = None,
) -> TopUp:
    """What is missing to `wanted` answers per item without the answers of excluded annotators.

    `items` are those of the study, if known; otherwise all items with an answer. Of each annotator one answer per item
    counts.
    """
    at_least("answers per item", wanted, 1)
    answers = answers.for_purposes("label")
    people = answers.annotator.names.to_pylist()
    if len(answers) and excluded and not set(excluded) & set(people):
        fix = "give the screening of these answers (sfumato screen)"
        raise BadTable(
            f"no answer of {listing(sorted(excluded), 3)}", "annotators of these answers", fix, "unknown-person"
        )
    names = list(items) if items is not None else answers.item.names.to_pylist()
    row_of = {name: i for i, name in enumerate(names)}
    rows = np.array([row_of.get(name, -1) for name in answers.item.names.to_pylist()], np.int64)[answers.item.codes]
    is_out = np.isin(np.arange(len(people)), [i for i, name in enumerate(people) if name in set(excluded)])
    pairs = np.unique(np.stack([rows, answers.annotator.codes.astype(np.int64)]), axis=1)
    pairs = pairs[:, pairs[0] >= 0]
    gone = is_out[pairs[1]]
    left, aside = (np.bincount(pairs[0][part], minlength=len(names)) for part in (~gone, gone))
    missing = np.maximum(wanted - left, 0)
    short = np.flatnonzero(missing)
    kind = next(iter(kinds_in(answers)), "choice")
    return TopUp(
        tuple(names[i] for i in short), left[short], aside[short], missing[short],
        (int((~is_out).sum()) - left)[short], wanted, len(names),
        tuple(name for name in people if name in set(excluded)), costs.batch_size,
        costs.money(kind, int(missing.sum())), costs.currency,
    )  # fmt: skip
