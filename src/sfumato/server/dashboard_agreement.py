"""What people say so far: how far they agree, what the doubt is made of, which items they dispute, who stands out.

Needs NumPy and Arrow, which a machine that only serves may lack; loaded when a researcher first looks.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from sfumato.elicitation.kinds import kinds_of
from sfumato.labeling.agreement import agreement
from sfumato.labeling.agreement.test_retest import retest_by_person
from sfumato.labeling.default_labeler import USUAL_LABELERS, as_votes, beliefs_of_payloads, kinds_in, label_by_default
from sfumato.labeling.screening import screen
from sfumato.labeling.screening_rules import FailedChecks, rules_of
from sfumato.study.study import Region, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import SfumatoError

MOST_DISPUTED = 12
MOST_STRIPES = 24
"""Answers of a disputed item that are shown one by one; of more, the first so many."""
RESAMPLES = 200
SPOKEN_OF = frozenset(name for name, _ in USUAL_LABELERS)
"""The kinds whose answers speak of classes."""


@dataclass(frozen=True)
class AgreementSummary:
    """Plain values, ready to be sent: `all` for the page, `people` by pseudonym for the table of annotators."""

    all: dict[str, Any]
    people: dict[str, dict[str, Any]]


def opinions_of(
    rows: Sequence[sa.Row[Any]], study: Study, checks: Mapping[int, Region], *, every: int = 1
) -> AgreementSummary:
    """From answers as `field_store.what_was_said` has them; `checks` are the regions of check items by number.

    `every` says that the answers are about each so many-th item only.
    """
    people: dict[str, dict[str, Any]] = {}
    everything = _annotations([row for row in rows if _kind(row) in SPOKEN_OF], study)
    table = everything.for_purposes("label", "repeat")
    for name, counts in _checked([row for row in rows if row.purpose == "check"], study, checks).items():
        people.setdefault(name, {})["checks"] = counts
    # As `sfumato screen` looks at them: a run of the same answer goes on through the checks.
    for name, flags in _flags(everything, study, is_sample=every > 1).items():
        people.setdefault(name, {})["flags"] = flags
    is_hard = {each.kind for each in study.questions} == {"choice"}
    said: dict[str, Any] = {"n_answers": len(table), "every": every, "is_hard": is_hard, "state": "none"}
    if not any(each.kind in SPOKEN_OF for each in study.questions):
        return AgreementSummary(said | {"state": "no-classes"}, people)
    if not len(table):
        return AgreementSummary(said, people)
    both = _beliefs(table)
    for name, repeats in _repeats(both).items():
        people.setdefault(name, {})["repeats"] = repeats
    first = table.for_purposes("label")
    labels = both if len(first) == len(table) else _beliefs(first)
    return AgreementSummary(said | {"state": "there", "agreement": _agreement(both)} | _doubt(labels), people)


def _kind(row: sa.Row[Any]) -> str:
    name: str = row.kind.split("/")[0]
    return name


def _annotations(rows: Sequence[sa.Row[Any]], study: Study) -> Annotations:
    columns = {
        "item": pa.array([str(row.item) for row in rows], pa.string()),
        "annotator": pa.array([row.pseudonym for row in rows], pa.string()),
        "kind": pa.array([row.kind for row in rows], pa.string()),
        "payload": pa.array([row.payload for row in rows], pa.string()),
        "purpose": pa.array([row.purpose for row in rows], pa.string()),
        "trial": pa.array([row.number for row in rows], pa.int64()),
        "seconds": pa.array([row.seconds for row in rows], pa.float64()),
    }
    return Annotations.from_arrow(pa.table(columns), study.class_names)


def _beliefs(table: Annotations) -> Beliefs:
    """By the usual labeler of the kind; where a study asks in two ways, as votes about the same classes."""
    return label_by_default(table, table.classes) if len(kinds_in(table)) == 1 else as_votes(table)


def _agreement(beliefs: Beliefs) -> list[dict[str, Any]]:
    """The measures that apply, each with its interval; none before two people answered about the same item."""
    with warnings.catch_warnings():
        # What cannot be computed yet is no news here: it is left out.
        warnings.simplefilter("ignore")
        found = agreement(beliefs, resamples=RESAMPLES, rng=np.random.default_rng(0))
    return [
        {
            "measure": name,
            "value": round(float(found.value[i]), 4),
            "low": _number(found.low[i]),
            "high": _number(found.high[i]),
            "n_items": int(found.n_items[i]),
            "n_answers": int(found.n_answers[i]),
        }
        for i, name in enumerate(found.measure)
        if not np.isnan(found.value[i])
    ]


def _doubt(beliefs: Beliefs) -> dict[str, Any]:
    """What the doubt is made of, on average over items with two answers or more, and the items most disputed."""
    doubt = beliefs.doubt()
    several = np.flatnonzero(doubt.n_answers > 1)
    if not len(several):
        return {"doubt": None, "disputed": []}
    parts = {name: round(float(getattr(doubt, name)[several].mean()), 4) for name in ("total", "within", "between")}
    order = several[np.lexsort((-doubt.n_answers[several], -doubt.between[several]))]
    numbers = doubt.items.to_pylist()
    view = beliefs.coded()
    disputed = []
    for row in order[:MOST_DISPUTED]:
        if doubt.between[row] < 1e-9:
            break
        mine = view.item == row
        soft = np.eye(view.n_classes)[view.hard[mine]] if view.hard is not None else view.soft[mine]  # type: ignore[index]
        disputed.append(
            {
                "number": int(numbers[row]),
                "n_answers": int(doubt.n_answers[row]),
                "between": round(float(doubt.between[row]), 3),
                "shares": [round(float(share), 4) for share in soft.mean(axis=0)],
                "each": soft[:MOST_STRIPES].round(2).tolist(),
            }
        )
    return {
        "doubt": parts | {"n_items": len(several), "most": round(float(np.log(len(beliefs.classes))), 4)},
        "classes": list(beliefs.classes),
        "disputed": disputed,
    }


def _repeats(beliefs: Beliefs) -> dict[str, dict[str, Any]]:
    """Of everybody who answered about an item again: how often the class stayed, and how far the belief moved."""
    return {
        each.annotator: {"n": each.n_repeats, "same": each.n_same_class, "moved": round(each.total_variation, 3)}
        for each in retest_by_person(beliefs).people
    }


def _checked(rows: Sequence[sa.Row[Any]], study: Study, checks: Mapping[int, Region]) -> dict[str, dict[str, int]]:
    """Checks passed and failed of everybody who met any that the study still has."""
    counts: dict[str, dict[str, int]] = {}
    for question, kind in enumerate(kinds_of(study)):
        asked = [row for row in rows if row.question == question and row.item in checks]
        if not asked:
            continue
        beliefs = beliefs_of_payloads(kind, [msgspec.json.decode(row.payload) for row in asked], study.class_names)
        for row, belief in zip(asked, beliefs.tolist(), strict=True):
            passed = checks[row.item].has(dict(zip(study.class_names, belief, strict=True)))
            mine = counts.setdefault(row.pseudonym, {"passed": 0, "failed": 0})
            mine["passed" if passed else "failed"] += 1
    return counts


def _flags(table: Annotations, study: Study, *, is_sample: bool) -> dict[str, list[str]]:
    """What the study's screening rules find, by pseudonym. Checks are judged by their regions, and not here."""
    flags: dict[str, list[str]] = {}
    for rule in rules_of(study.quality.rules) if len(table) else ():
        # Of a sample of items nobody's answers stand in a row.
        if isinstance(rule, FailedChecks) or (is_sample and rule.name == "longest_run"):
            continue
        # A rule may not fit these answers: no gold labels, or another kind of question.
        with contextlib.suppress(SfumatoError):
            for name in screen(table, [rule]).names_set_aside():
                flags.setdefault(name, []).append(rule.name)
    return flags


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
