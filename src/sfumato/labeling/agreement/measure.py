"""What every measure of agreement is: sums over items, and the figure they give."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import ItemAnswers

NOBODY_TO_COMPARE = "no item was answered by two different people"
NOBODY_TWICE = "nobody answered about the same item twice"


@runtime_checkable
class AgreementMeasure(Protocol):
    """A figure that depends on the answers only through sums over items.

    So a resample of items needs the sums alone, and the answers are looked at once. Items come joined in blocks (one
    item each while there are few): `block[i]` is the block of item `i`.
    """

    @property
    def name(self) -> str: ...

    @property
    def undefined(self) -> str:
        """Why the figure can be undefined though there is something to compare."""

    def by_default(self, answers: ItemAnswers) -> bool:
        """Whether the measure is worth giving unasked, once there is something to compare."""

    def missing(self, answers: ItemAnswers) -> str:
        """What there would have to be, in a sentence that says it is not there; empty where all is."""

    def n_items(self, answers: ItemAnswers) -> int:
        """Items that count."""

    def n_answers(self, answers: ItemAnswers) -> int:
        """Answers that count; for test-retest the later ones, that is the pairs."""

    def n_sums(self, answers: ItemAnswers) -> int:
        """How many sums an item has."""

    def sums(
        self, answers: ItemAnswers, block: Int[np.ndarray, "items"], n_blocks: int
    ) -> Float[np.ndarray, "blocks sums"]:
        """The sums of every block."""

    def value(self, totals: Float[np.ndarray, "resamples sums"]) -> Float[np.ndarray, "resamples"]:
        """The figure from the sums over all items, one a row; NaN where it is undefined."""


def block_sums(
    values: Float[np.ndarray, "items"], block: Int[np.ndarray, "items"], n_blocks: int
) -> Float[np.ndarray, "blocks"]:
    """The sum of `values` in every block."""
    return np.asarray(np.bincount(block, weights=values, minlength=n_blocks), dtype=np.float64)


def ratio(
    above: Float[np.ndarray, "resamples"], below: Float[np.ndarray, "resamples"]
) -> Float[np.ndarray, "resamples"]:
    """`above / below`, NaN where nothing stands below."""
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))
