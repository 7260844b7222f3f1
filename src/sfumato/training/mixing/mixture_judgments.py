"""Blends: which two images a mixed one was made of, and in what share.

Judgments: how much of each of two images people saw in mixed ones, and how sure they were.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.labeler import asked_classes, only_kind
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable, ErrorLocation, InvalidAnswer, listing, show
from sfumato.tables.payloads import MixturePayload

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


@dataclass(frozen=True, eq=False)
class Judgments:
    """Answers of kind `mixture`, by item: the answers about item i are rows `starts[i]` up to `starts[i + 1]`.

    Every share is of the item's first image; `first` and `second` are the classes of the two images by number, and
    `generating` is how much of the first went in.
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
        """The answers given, all of them: choose with `for_purposes("label")` where repeats should not count.

        The first class of an answer is the one of the blend's first image.
        """
        names = asked_classes(annotations, classes)
        answers = _answers(annotations)
        items = annotations.item.names.to_pylist()
        unblended = [item for item in items if item not in blends]
        if not answers or unblended:
            raise BadTable(
                f"found {len(unblended):,} items without a blend ({listing(unblended, 3)})"
                if answers
                else "found no answers",
                expected="answers about mixed items, and which images each was mixed of",
                fix="give a blend for every item, or leave the others out",
                code="unknown-blend",
            )
        first = _class_numbers(annotations, answers, names, 0)
        second = _class_numbers(annotations, answers, names, 1)
        order = np.argsort(annotations.item.codes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(annotations.item.codes, minlength=len(items)))))
        told = order[starts[:-1]]
        turned = (first != first[told][annotations.item.codes]) | (second != second[told][annotations.item.codes])
        if turned.any():
            row = int(np.argmax(turned))
            raise InvalidAnswer(
                f"found the classes {listing(answers[row].classes)}",
                expected=f"{listing(answers[told[annotations.item.codes[row]]].classes)}, as others were told",
                fix="an item has one first image: answer for its class, or call the item otherwise",
                code="bad-answer",
                where=annotations.where(row),
            )
        return cls(
            tuple(items),
            names,
            first[told],
            second[told],
            np.array([blends[item].share for item in items], np.float64),
            starts,
            np.array([answers[row].share for row in order], np.float64),
            np.array([answers[row].confidence for row in order], np.float64),
        )

    def item_of_rows(self) -> Int[np.ndarray, "rows"]:
        return np.repeat(np.arange(len(self.items)), np.diff(self.starts))

    def mean(self, of_rows: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "items"]:
        """The mean over the answers about every item."""
        return np.asarray(np.add.reduceat(of_rows, self.starts[:-1]) / np.diff(self.starts))

    def take(self, items: Sequence[str]) -> Judgments:
        """The judgments of some items, in the order asked for."""
        place = {item: i for i, item in enumerate(self.items)}
        missing = [item for item in items if item not in place]
        if missing:
            raise BadTable(
                f"found no judgments of {listing(missing, 3)}",
                expected="items that somebody judged",
                fix="leave the others out",
                code="unknown-item",
            )
        index = np.array([place[item] for item in items], np.int64)
        counts = np.diff(self.starts)[index]
        starts = np.concatenate(([0], np.cumsum(counts)))
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][index] - starts[:-1], counts)
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
        raise InvalidAnswer(
            f"found class {show(error.args[0])}",
            expected=f"one of {listing(names)}",
            fix="check the class names and their order",
            code="unknown-class",
            where=annotations.where(row),
        ) from None
