"""What a table of soft labels estimates, and the check of every step that needs one of these."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.errors import BadTable, Where, show, unknown
from sfumato.tables.files.table_file import Rows

ESTIMAND_KEY = b"sfumato.estimand"
MADE_BY_KEY = b"sfumato.made_by"
ESTIMAND_COLUMN = "estimand"
"""The constant column of a CSV, which has no metadata."""
OLD_KEY = b"sfumato.target"
"""The metadata key of files written by earlier versions; its values are the sentences of `Estimand.meaning`."""


class Estimand(StrEnum):
    """What a distribution over the classes estimates."""

    JUDGMENT = "judgment"
    """The share of people who would choose each class: stays soft with any number of answers."""
    TRUTH = "truth"
    """How probable each class is to be true: converges to one class with more answers."""
    PREDICTION = "prediction"
    """What a model predicts."""

    @property
    def meaning(self) -> str:
        """The estimand in words, to complete "the labels estimate"."""
        return MEANING[self]


MEANING = {
    Estimand.JUDGMENT: "how people judge",
    Estimand.TRUTH: "how probable each class is to be true",
    Estimand.PREDICTION: "what a model predicts",
}


def estimand_named(value: Estimand | str | None, where: Where = None) -> Estimand | None:
    """The estimand of this name; None stays None."""
    if value is None or isinstance(value, Estimand):
        return value
    if value not in tuple(Estimand):
        raise unknown("estimand", value, [each.value for each in Estimand], where=where)
    return Estimand(value)


class HasEstimand(Protocol):
    """Soft labels, as far as the checks here need them."""

    @property
    def estimand(self) -> Estimand | None: ...

    @property
    def made_by(self) -> str | None: ...


ANY_ESTIMAND = "if you mean it, give --any-estimand"


def check_estimand(
    labels: HasEstimand,
    wanted: Iterable[Estimand],
    what: str,
    fix: str,
    *,
    any_estimand: bool | None = False,
    where: Where = None,
) -> None:
    """Raise if `labels`, used as `what`, have an estimand that is not `wanted`; an unknown estimand passes.

    `any_estimand` allows every estimand; None: the step has no such option.
    """
    estimand = labels.estimand
    if any_estimand or estimand is None or estimand in (wanted := tuple(wanted)):
        return
    made_by = "" if labels.made_by is None else f", made by {labels.made_by}"
    found = f"{what} that estimate {estimand.meaning} (estimand {estimand.value}{made_by})"
    expected = " or ".join(f"the estimand {each.value}: {each.meaning}" for each in wanted)
    option = "" if any_estimand is None else f"; {ANY_ESTIMAND}"
    raise BadTable(found, expected, fix + option, "wrong-estimand", where)


class EvaluatedLabels(HasEstimand, Protocol):
    """Soft labels that are scored, or that others are scored against."""

    @property
    def n_annotators(self) -> np.ndarray | None: ...

    @property
    def path(self) -> Path | None: ...


def check_roles(predicted: EvaluatedLabels, people: EvaluatedLabels, *, any_estimand: bool = False) -> None:
    """Raise if `people` are not people's labels, or if the two tables are swapped, as far as they show it.

    People's labels may be scored against other people's labels, so `predicted` may be any labels if `people` are known
    to be people's.
    """
    if any_estimand:
        return
    if _is_from_people(predicted) and not _is_from_people(people) and people.estimand is not Estimand.TRUTH:
        theirs = "predictions" if people.estimand is Estimand.PREDICTION else "labels of unknown origin"
        found = f"people's labels as the predictions, and {theirs} as people's labels"
        expected = "a model's predictions as predicted, and people's labels as people"
        fix = f"swap predicted and people; {ANY_ESTIMAND}"
        raise BadTable(found, expected, fix, "swapped-labels", predicted.path)
    fix = "give labels made by mean or bayes, or the original votes"
    what = "labels of people, to score predictions against,"
    check_estimand(people, (Estimand.JUDGMENT,), what, fix, any_estimand=any_estimand, where=people.path)


def _is_from_people(labels: EvaluatedLabels) -> bool:
    if labels.estimand is None:
        return labels.n_annotators is not None and bool((labels.n_annotators > 0).any())
    return labels.estimand is Estimand.JUDGMENT


def check_same_estimand(one: HasEstimand, other: HasEstimand, doing: str, *, any_estimand: bool = False) -> None:
    """Raise if the two tables have different estimands."""
    if one.estimand is not None:
        fix = "aggregate both with methods of the same estimand: see docs/aggregate.md"
        what = f"labels for {doing} a table of the estimand {one.estimand.value}"
        check_estimand(other, (one.estimand,), what, fix, any_estimand=any_estimand)


def estimand_metadata(labels: HasEstimand) -> dict[bytes, bytes]:
    """The schema metadata that records the estimand and how the labels were made, as far as known."""
    known = {ESTIMAND_KEY: labels.estimand, MADE_BY_KEY: labels.made_by}
    return {key: value.encode() for key, value in known.items() if value is not None}


def recorded_estimand(rows: Rows) -> Estimand | None:
    """The estimand in the schema's metadata, or None."""
    metadata = rows.schema.metadata or {}
    old = metadata.get(OLD_KEY)
    text = metadata.get(ESTIMAND_KEY, old)
    if text is None:
        return None
    known = next((each for each in Estimand if text in (each.encode(), each.meaning.encode())), None)
    if known is None:
        key = (OLD_KEY if text is old else ESTIMAND_KEY).decode()
        expected = "one of " + ", ".join(each.value for each in Estimand)
        fix = "write the file again with sfumato aggregate"
        raise BadTable(f"{show(text)} under the metadata key {key}", expected, fix, "bad-estimand", rows.where())
    return known


def recorded_made_by(rows: Rows) -> str | None:
    """How the labels were made, from the schema's metadata, or None."""
    text = (rows.schema.metadata or {}).get(MADE_BY_KEY)
    return None if text is None else text.decode(errors="replace")


def column_estimand(rows: Rows, column: pa.ChunkedArray, before: Estimand | None, start: int) -> Estimand | None:
    """The one estimand of a CSV's column, which must be `before` if an earlier part named one."""
    kinds = [str(value) for value in pc.unique(column).to_pylist() if value not in (None, "")]
    for kind in kinds:
        named = estimand_named(kind, rows.where(start, ESTIMAND_COLUMN))
        if before is not None and named is not before:
            found = f"the estimands {before.value} and {kind} in one table"
            fix = "write labels of each estimand to a file of their own"
            raise BadTable(found, "one estimand per table", fix, "mixed-estimands", rows.where(start, ESTIMAND_COLUMN))
        before = named
    return before
