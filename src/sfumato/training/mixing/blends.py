"""Blends: which two images a mixed one was made of, and in what share."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sfumato.tables.errors import BadTable, ErrorLocation, show

PUBLISHED = re.compile(r"mixed_(?P<share>[0-9.]+)_[A-Z][a-z]+_(?P<first>\d+)_[A-Z][a-z]+_(?P<second>\d+)\.png")
OURS = re.compile(r"(?P<pair>.+)@(?P<share>[0-9.]+)", re.DOTALL)


@dataclass(frozen=True)
class Blend:
    """`share * first + (1 - share) * second`, of two images by their ids."""

    first: str
    second: str
    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadTable(
                f"found {self.share} as the share of image {show(self.first)}",
                expected="a share from 0 to 1",
                fix="say how much of the first image went in",
                code="bad-number",
            )


def blends_of(items: Sequence[str], images: Collection[str]) -> Mapping[str, Blend]:
    """What the names of mixed items say: H-Mix's `mixed_0.5_Dog_2205_Frog_6908.png`, or our form's `2205+6908@0.5`.

    `images` are the ids of the images there are. Where names say nothing, write the blends down yourself.
    """
    known = frozenset(images)
    return {item: _blend_of(item, known) for item in items}


def _blend_of(item: str, known: frozenset[str]) -> Blend:
    found = []
    if told := PUBLISHED.fullmatch(item):
        found = [(told["first"], told["second"], told["share"])]
    elif told := OURS.fullmatch(item):
        # An id may hold a plus of its own: the one between two known images is ours.
        pair = told["pair"]
        cuts = [(pair[:i], pair[i + 1 :]) for i, letter in enumerate(pair) if letter == "+"]
        found = [(*cut, told["share"]) for cut in cuts if known.issuperset(cut)]
    try:
        ((first, second, share),) = found
        return Blend(first, second, float(share))
    except ValueError:
        raise BadTable(
            f"found an item called {show(item)}",
            expected="mixed_0.5_Dog_2205_Frog_6908.png, or 2205+6908@0.5 with images of these ids",
            fix="say which images every item was mixed of (blends=), or give the images it names",
            code="unknown-blend",
            where=ErrorLocation(item=item),
        ) from None
