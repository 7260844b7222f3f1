"""Names of kinds of label, as they are typed: `soft`, `sparse:3`."""

from __future__ import annotations

from sfumato.planning.informativeness.kinds import (
    HardLabels,
    LabelType,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TopClassLabels,
    TripletLabels,
)
from sfumato.tables.errors import unknown
from sfumato.tables.settings import at_least, bad_setting

PLAIN: dict[str, LabelType] = {"soft": SoftLabelType(), "hard": HardLabels(), "similarity": SimilarityLabels()}
COUNTED: dict[str, type[SparseLabels | TopClassLabels | TripletLabels]] = {
    "sparse": SparseLabels,
    "top-class": TopClassLabels,
    "triplets": TripletLabels,
}
NAMES = (*PLAIN, *(f"{name}:NUMBER" for name in COUNTED))


def label_kind_named(text: str) -> LabelType:
    """The kind called so; the one place where a name becomes an object. A number is of classes, or of triplets."""
    name, colon, number = text.partition(":")
    if name in PLAIN and not colon:
        return PLAIN[name]
    if name in COUNTED and number.isdecimal():
        return COUNTED[name](at_least(text, int(number), 1))
    if name in COUNTED or name in PLAIN:
        expected = f"{name} and a number, 1 or more, as in {name}:3" if name in COUNTED else f"{name} without a number"
        raise bad_setting("kind", text, expected)
    raise unknown("kind of label", text, NAMES)
