"""The protocol of a labeler, and the code that all labelers share.

A labeler converts decoded answers of one kind into distributions (`probs_of`); `beliefs_from` decodes the answers, each
distinct one once, and builds the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from jaxtyping import Float, Int, Shaped

from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs, HardVotes
from sfumato.tables.class_order import is_ordered
from sfumato.tables.columns import SUM_TOLERANCE, check_classes
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, InvalidAnswer, listing, nearest, show, warn
from sfumato.tables.files.table_file import class_names
from sfumato.tables.payloads import PAYLOAD_KINDS, PayloadKind


@runtime_checkable
class Labeler(Protocol):
    """Converts answers into distributions. `name` is its name on the command line, `kinds` the question types it
    reads."""

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> tuple[str, ...]: ...

    def label(self, annotations: Annotations, classes: Sequence[str]) -> Beliefs:
        """One belief per answer, in the same order."""


@dataclass
class AnswerFault(Exception):
    """Answer number `index` cannot be read; the parts of the error message."""

    index: int
    found: str
    expected: str
    fix: str
    code: str = "bad-answer"


Probs = Float[np.ndarray, "answers classes"]
ProbsOf = Callable[[list[Any], dict[str, int]], Probs]


def beliefs_from(
    annotations: Annotations,
    classes: Sequence[str],
    kinds: tuple[str, ...],
    probs_of: ProbsOf,
    extra_classes: tuple[str, ...] = (),
) -> Beliefs:
    """Beliefs of `annotations`, all of one of `kinds`; `probs_of(answers, class_index)` converts distinct answers.

    `extra_classes` are answers that are not classes of the study ("none of these"); they come last.
    """
    names = class_list(annotations, classes)
    kind = only_kind(annotations, kinds)
    index = {name: k for k, name in enumerate(names)}
    for name in extra_classes:
        if name in names:
            expected, fix = "an extra class with a different name", "choose another with --none-class"
            raise BadSetting(f"a class called {show(name)} already", expected, fix)
    all_classes = check_classes((*names, *extra_classes) if extra_classes else names)
    if extra_classes and is_ordered(names):
        warn(f"the classes are no longer ordered: {listing(extra_classes)} has no place on the scale")
    votes = HardVotes(len(all_classes))
    for answers, inverse, row in annotations.decoded(kind):
        try:
            probs = probs_of(answers, index)
            _check_rows(probs)
        except AnswerFault as fault:
            found = f"{fault.found} in {msgspec.json.encode(answers[fault.index]).decode()[:160]}"
            where = annotations.where(row + int(np.argmax(inverse == fault.index)))
            raise InvalidAnswer(found, fault.expected, fault.fix, fault.code, where) from fault
        votes.append(probs[inverse])
    beliefs = votes.beliefs(annotations.item, annotations.annotator, all_classes)
    return replace(beliefs, audit=annotations.audit, row_sources=annotations.row_sources)


def _check_rows(probs: Probs) -> None:
    """Raise if a row is not a distribution, which is possible only in rules that repeat published errors."""
    with np.errstate(all="ignore"):
        wrong = ~(np.abs(probs.sum(axis=1) - 1) <= SUM_TOLERANCE) | (probs < 0).any(axis=1)
    if wrong.any():
        found = "percents and impossible classes that give no distribution"
        expected = "an answer that this rule can read"
        raise AnswerFault(int(np.argmax(wrong)), found, expected, "label without --as-released, or remove the answer")


def class_list(annotations: Annotations, classes: Sequence[str]) -> tuple[str, ...]:
    """`classes`, or else the classes of the annotations."""
    names = class_names(classes) or annotations.classes
    if not names:
        found, fix = "no class names", "name them with --classes cat,dog"
        raise BadTable(found, "the classes people could choose from", fix, "missing-classes", annotations.path)
    return check_classes(names)


def only_kind(annotations: Annotations, kinds: tuple[str, ...]) -> PayloadKind:
    """The only kind of question in `annotations`; an error if there are several or it is not one of `kinds`."""
    present = annotations.kind.names.to_pylist()
    known = [kind for kind in PAYLOAD_KINDS if kind.name in kinds]
    found = [kind for kind in known if kind.label in present]
    if len(present) == 1 and found:
        return found[0]
    if not present:
        return known[0]
    expected = f"answers of one kind: {' or '.join(kind.label for kind in known)}"
    fix = "choose one kind with --kind" if len(present) > 1 else "choose a labeler for this kind"
    where = ErrorLocation(str(annotations.path) if annotations.path else None, column="kind")
    raise BadTable(f"answers of kind {listing(present)}", expected, fix, "wrong-kind", where)


def per_answer(
    annotations: Annotations, kind: str, value_of: Callable[[Any], Any], dtype: Any
) -> Shaped[np.ndarray, "rows"]:
    """`value_of` of every answer, all of one `kind`, computed once for each distinct answer."""
    parts = [
        np.array([value_of(answer) for answer in answers], dtype)[inverse]
        for answers, inverse, _ in annotations.decoded(only_kind(annotations, (kind,)))
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def class_codes(
    names: Sequence[str], index: dict[str, int], owner: Sequence[int] | np.ndarray | None = None
) -> Int[np.ndarray, "names"]:
    """Class numbers of `names`; name `i` belongs to answer `owner[i]` (default: answer `i`)."""
    try:
        return np.fromiter(map(index.__getitem__, names), np.int64, len(names))
    except KeyError:
        at = next(i for i, name in enumerate(names) if name not in index)
        raise unknown_class(names[at], index, at if owner is None else int(owner[at])) from None


def unknown_class(name: str, index: dict[str, int], answer: int) -> AnswerFault:
    """An answer with a class that the study does not have."""
    return AnswerFault(
        answer,
        f"class {show(name)}",
        f"one of {listing(list(index))}",
        f"{nearest(name, index)}check the class names and their order".strip(),
        "unknown-class",
    )


ROUNDING = 1e-9


def spread_leftover(mass: Probs, room: Probs, gamma: float) -> Probs:
    """Distributions: the rest of the named `mass` (1 - its sum, or `gamma` of it if the sum is 1 or more) goes to the
    classes with `room`, in proportion. Without room the mass is normalized."""
    total = mass.sum(axis=1)
    room = np.where(mass > 0, 0.0, room)
    capacity = room.sum(axis=1)
    fits = capacity > 0
    # Shares that add up to 1 may miss it by rounding: 0.1 + 0.2 + 0.7 is 0.9999999999999999.
    below = total < 1 - ROUNDING
    leftover = np.where(below, 1 - total, gamma)
    kept = np.where(below, 1.0, (1 - gamma) / np.maximum(total, 1 - ROUNDING))
    each = np.divide(leftover, capacity, out=np.zeros(len(mass)), where=fits)
    return np.asarray(np.where(fits[:, None], mass * kept[:, None], mass / total[:, None]) + room * each[:, None])
