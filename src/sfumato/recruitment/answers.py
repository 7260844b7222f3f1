"""A study's answers as bonus rules and checks look at them: distributions over its classes, form by form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.labeling.default_labeler import kinds_in, label_by_default
from sfumato.recruitment.pay.rule import PeerAnswers
from sfumato.study.study import ABOUT_ONE_ITEM, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True, eq=False)
class _Said:
    """Answers in one form: what each says of the study's classes."""

    items: list[str]
    annotators: list[str]
    probs: Float[np.ndarray, "answers classes"]


def compared(
    annotations: Annotations, classes: Sequence[str], people: Sequence[str], set_aside: Collection[str] = ()
) -> PeerAnswers:
    """The answers for a label of `people`, to be scored; with those of `set_aside` nobody is compared.

    People are compared with those who were asked in the same form: who could only choose one class is not held to the
    doubt of others. An answer that says nothing of the classes is left out.
    """
    number = {name: n for n, name in enumerate(people)}
    item: dict[tuple[int, str], int] = {}
    rows: list[tuple[int, int]] = []
    probs = [np.zeros((0, len(classes)))]
    for form, said in enumerate(_said(annotations.for_purposes("label"), classes)):
        known = [name in number for name in said.annotators]
        for name, who, is_known in zip(said.items, said.annotators, known, strict=True):
            if is_known:
                rows.append((item.setdefault((form, name), len(item)), number[who]))
        probs.append(said.probs[np.array(known, bool)])
    codes = np.array(rows, np.int64).reshape(-1, 2)
    aside = set(set_aside)
    is_peer = np.array([name not in aside for name in people], bool)
    return PeerAnswers(codes[:, 0], codes[:, 1], np.concatenate(probs), is_peer)


def failed_checks(annotations: Annotations, study: Study) -> Counter[str]:
    """How many checks each annotator failed: answers outside of the region the study file gives."""
    regions = {check.item: check.region for check in study.checks}
    failed: Counter[str] = Counter()
    if regions:
        for said in _said(annotations.for_purposes("check"), study.class_names):
            for name, who, row in zip(said.items, said.annotators, said.probs.tolist(), strict=True):
                belief = dict(zip(study.class_names, row, strict=True))
                failed[who] += name in regions and not regions[name].has(belief)
    return failed


def _said(annotations: Annotations, classes: Sequence[str]) -> Iterator[_Said]:
    for label in annotations.kind.names.to_pylist():
        own = annotations.of_kind(label)
        if kinds_in(own)[0] not in ABOUT_ONE_ITEM or not len(own):
            continue
        beliefs = label_by_default(own, classes)
        # "None of these" is in none of the classes: what is left of an answer counts.
        within = np.asarray(beliefs.probs[:, : len(classes)], np.float64)
        mass = within.sum(axis=1)
        kept = beliefs.take(mass > 0)
        yield _Said(_names(kept.item), _names(kept.annotator), within[mass > 0] / mass[mass > 0, None])


def _names(column: CodedText) -> list[str]:
    names: list[str] = column.names.take(pa.array(column.codes)).to_pylist()
    return names
