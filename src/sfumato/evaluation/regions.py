"""Regions of a data map: easy, ambiguous and hard items, by fixed thresholds or by shares of all items."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.settings import between_0_and_1, share


class MapRegion(StrEnum):
    """Where an item lies; `BETWEEN` is none of the other three."""

    EASY = "easy"
    AMBIGUOUS = "ambiguous"
    HARD = "hard"
    BETWEEN = "between"


REGIONS = tuple(MapRegion)


@runtime_checkable
class Regions(Protocol):
    """A way to cut a map up."""

    def cut(
        self, confidence: Float[np.ndarray, "items"], variability: Float[np.ndarray, "items"]
    ) -> Int[np.ndarray, "items"]:
        """The place in `REGIONS` of every item's region."""


@dataclass(frozen=True)
class Thresholds:
    """Ambiguous: variability from `variability` up. Of the rest, easy: confidence from `easy` up; hard: to `hard` down.

    The regions of soft-digits, whose own thresholds were not published in words; these are ours.
    """

    easy: float = 0.75
    hard: float = 0.25
    variability: float = 0.2

    name: ClassVar[str] = "thresholds"

    def __post_init__(self) -> None:
        share("easy", self.easy)
        share("hard", self.hard)
        # A standard deviation of values between 0 and 1 is at most a half.
        between_0_and_1("variability", self.variability)
        if self.hard >= self.easy:
            from sfumato.tables.settings import bad_setting

            raise bad_setting("hard", self.hard, f"a confidence below easy = {self.easy}")

    def cut(
        self, confidence: Float[np.ndarray, "items"], variability: Float[np.ndarray, "items"]
    ) -> Int[np.ndarray, "items"]:
        return _first_of(variability >= self.variability, confidence <= self.hard, confidence >= self.easy)


@dataclass(frozen=True)
class Shares:
    """Ambiguous: the `share` of items that vary most. Of the rest, hard: those among the `share` of all items with the
    least confidence; easy: with the most. Ties at a boundary fall on the same side (Swayamdipta et al. 2020: a third).

    Regions so cut say which items are easier than others; what share is easy they cannot say.
    """

    share: float = 1 / 3

    name: ClassVar[str] = "shares"

    def __post_init__(self) -> None:
        between_0_and_1("share", self.share)

    def cut(
        self, confidence: Float[np.ndarray, "items"], variability: Float[np.ndarray, "items"]
    ) -> Int[np.ndarray, "items"]:
        low, high = np.quantile(confidence, [self.share, 1 - self.share])
        most = np.quantile(variability, 1 - self.share)
        # Where most items are alike, a boundary lies among equals: the least and the most count as neither.
        varies = (variability >= most) & (variability > variability.min())
        return _first_of(varies, (confidence <= low) & (confidence < high), (confidence >= high) & (confidence > low))


def _first_of(ambiguous: np.ndarray, hard: np.ndarray, easy: np.ndarray) -> Int[np.ndarray, "items"]:
    place = [REGIONS.index(region) for region in (MapRegion.AMBIGUOUS, MapRegion.HARD, MapRegion.EASY)]
    return np.select([ambiguous, hard, easy], place, REGIONS.index(MapRegion.BETWEEN)).astype(np.int64)
