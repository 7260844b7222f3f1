"""Judgments of mixed images: the share that people see of each of two images, and their confidence.

Blends say which images were mixed, and in what share.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.labeler import class_list, only_kind
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable, ErrorLocation, InvalidAnswer, listing, show
from sfumato.tables.payloads import MixturePayload
from sfumato.training.training_set import rows_of_items

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
            found = f"{self.share} as the share of image {show(self.first)}"
            raise BadTable(found, "a share from 0 to 1", "give the share of the first image", "bad-number")


def blends_of(items: Sequence[str], images: Collection[str]) -> Mapping[str, Blend]:
    """Blends from item names: `mixed_0.5_Dog_2205_Frog_6908.png` of H-Mix, or `2205+6908@0.5` of our form.

    `images` are the ids of all images. For other item names, create the blends yourself.
    """
    known = frozenset(images)
    return {item: _blend_of(item, known) for item in items}


def _blend_of(item: str, known: frozenset[str]) -> Blend:
    found = []
    if match := PUBLISHED.fullmatch(item):
        found = [(match["first"], match["second"], match["share"])]
    elif match := OURS.fullmatch(item):
        # An id may contain a plus: the separator is the one between two known images.
        pair = match["pair"]
        cuts = [(pair[:i], pair[i + 1 :]) for i, letter in enumerate(pair) if letter == "+"]
        found = [(*cut, match["share"]) for cut in cuts if known.issuperset(cut)]
    try:
        ((first, second, share),) = found
        return Blend(first, second, float(share))
    except ValueError:
        expected = "mixed_0.5_Dog_2205_Frog_6908.png, or 2205+6908@0.5 with images of these ids"
        fix, code = "give the images of every item (blends=), or the images with these ids", "unknown-blend"
        raise BadTable(f"an item called {show(item)}", expected, fix, code, ErrorLocation(item=item)) from None


@dataclass(frozen=True, eq=False)
class Judgments:
    """Answers of kind `mixture` by item: the answers about item i are rows `starts[i]` up to `starts[i + 1]`.

    Shares are of the item's first image; `first` and `second` are the class numbers of the two images, and `generating`
    is the share of the first image in the mixture.
    """

    items: tuple[str, ...]
    classes: tuple[str, ...]
    first: Int[np.ndarray, "items"]
    second: Int[np.ndarray, "items"]
    generating: Float[np.ndarray, "items"]
    starts: Int[np.ndarray, "bounds"]
    share: Float[np.ndarray, "rows"]
    confidence: Float[np.ndarray, "rows"]

    @classmethod
    def of(cls, annotations: Annotations, blends: Mapping[str, Blend], classes: Sequence[str] = ()) -> Judgments:
        """All answers; use `for_purposes("label")` first if repeats should not count.

        The first class of an answer is that of the blend's first image.
        """
        names = class_list(annotations, classes)
        answers = _answers(annotations)
        items = annotations.item.names.to_pylist()
        unblended = [item for item in items if item not in blends]
        if not answers or unblended:
            without = f"{len(unblended):,} items without a blend ({listing(unblended, 3)})"
            expected = "answers about mixed items, and the images of each item"
            fix = "give a blend for every item, or remove the other items"
            raise BadTable(without if answers else "no answers", expected, fix, "unknown-blend")
        first = _class_numbers(annotations, answers, names, 0)
        second = _class_numbers(annotations, answers, names, 1)
        order = np.argsort(annotations.item.codes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(annotations.item.codes, minlength=len(items)))))
        first_row = order[starts[:-1]]
        other_order = (first != first[first_row][annotations.item.codes]) | (
            second != second[first_row][annotations.item.codes]
        )
        if other_order.any():
            row = int(np.argmax(other_order))
            found = f"the classes {listing(answers[row].classes)}"
            expected = f"{listing(answers[first_row[annotations.item.codes[row]]].classes)}, as in the other answers"
            fix = "use the class of the item's first image first, or give the item another name"
            raise InvalidAnswer(found, expected, fix, "bad-answer", annotations.where(row))
        return cls(
            tuple(items),
            names,
            first[first_row],
            second[first_row],
            np.array([blends[item].share for item in items], np.float64),
            starts,
            np.array([answers[row].share for row in order], np.float64),
            np.array([answers[row].confidence for row in order], np.float64),
        )

    def item_of_rows(self) -> Int[np.ndarray, "rows"]:
        return np.repeat(np.arange(len(self.items)), np.diff(self.starts))

    def mean(self, of_rows: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "items"]:
        """The mean over the answers, per item."""
        return np.asarray(np.add.reduceat(of_rows, self.starts[:-1]) / np.diff(self.starts))

    def take(self, items: Sequence[str]) -> Judgments:
        """The judgments of some items, in the order of `items`."""
        place = {item: i for i, item in enumerate(self.items)}
        missing = [item for item in items if item not in place]
        if missing:
            found = f"no judgments of {listing(missing, 3)}"
            raise BadTable(found, "items with judgments", "remove the other items", "unknown-item")
        index = np.array([place[item] for item in items], np.int64)
        rows, starts = rows_of_items(self.starts, index)
        return Judgments(
            tuple(items),
            self.classes,
            self.first[index],
            self.second[index],
            self.generating[index],
            starts,
            self.share[rows],
            self.confidence[rows],
        )


def _answers(annotations: Annotations) -> list[MixturePayload]:
    """The answer of every row."""
    kind = only_kind(annotations, ("mixture",))
    return [distinct[i] for distinct, inverse, _ in annotations.decoded(kind) for i in inverse.tolist()]


def _class_numbers(
    annotations: Annotations, answers: list[MixturePayload], names: tuple[str, ...], which: int
) -> Int[np.ndarray, "rows"]:
    place = {name: k for k, name in enumerate(names)}
    try:
        return np.array([place[answer.classes[which]] for answer in answers], np.int64)
    except KeyError as error:
        row = next(i for i, answer in enumerate(answers) if answer.classes[which] not in place)
        found, fix = f"class {show(error.args[0])}", "check the class names and their order"
        raise InvalidAnswer(found, f"one of {listing(names)}", fix, "unknown-class", annotations.where(row)) from None
