"""Agreement, uncertainty, disputed items and flags of the dashboard.

Needs NumPy and Arrow, which a machine that only serves may lack; imported when the dashboard is first opened.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from sfumato.aggregation.adaptive_agreement import study_agreement
from sfumato.aggregation.adaptive_study import study_doubt
from sfumato.labeling.agreement.test_retest import retest_by_annotator
from sfumato.labeling.answer_records import RecordRow, matched_records
from sfumato.labeling.attention_checks import check_results, screen_study
from sfumato.labeling.default_labeler import DEFAULT_LABELERS, as_votes, kinds_in, label_by_default
from sfumato.labeling.record_rules import NEED_RECORDS
from sfumato.labeling.screening import AnswerRecords
from sfumato.labeling.screening_rules import IdenticalRuns, rules_of
from sfumato.store.erasure import ErasedRecords, is_erased
from sfumato.store.export import READ_RECORD
from sfumato.study.study import Assignment, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.mean_doubt import MeanFigure

MOST_DISPUTED = 12
MOST_STRIPES = 24
"""Answers of a disputed item that are shown one by one."""
CLASS_KINDS = frozenset(name for name, _ in DEFAULT_LABELERS)
"""The question types whose answers are about classes."""

Rows = Sequence[sa.Row[Any]]


@dataclass(frozen=True)
class AgreementSummary:
    """Values ready for JSON: `all` for the page, `people` by pseudonym for the table of annotators."""

    all: dict[str, Any]
    people: dict[str, dict[str, Any]]


def needs_records(study: Study) -> bool:
    """Whether a screening rule of the study needs the records of the answers."""
    return any(rule.name in NEED_RECORDS for rule in rules_of(study.quality.rules))


def summarize_agreement(
    rows: Rows, study: Study, *, every: int = 1, erased: Mapping[str, ErasedRecords] | None = None
) -> AgreementSummary:
    """Summary of `researcher_queries.sampled_answers`, which may be about every `every`-th item only. `erased` are the
    erased records, if the rows have records."""
    people: dict[str, dict[str, Any]] = {}
    everything = _annotations(rows, [row.name for row in rows], study)
    for name, counts in _check_counts(everything, study).items():
        people.setdefault(name, {})["checks"] = counts
    records = matched_records(_records(rows, erased or {}), everything) if needs_records(study) else None
    for name, found in _flags(everything, study, records, is_sample=every > 1).items():
        people.setdefault(name, {}).update(found)
    compared = [row for row in rows if row.purpose != "check" and row.kind.split("/")[0] in CLASS_KINDS]
    # By number, because an item may be shown in several ways.
    table = _annotations(compared, [str(row.item) for row in compared], study)
    is_hard = {each.kind for each in study.questions} == {"choice"}
    summary: dict[str, Any] = {"n_answers": len(table), "every": every, "is_hard": is_hard, "state": "none"}
    if not any(each.kind in CLASS_KINDS for each in study.questions):
        return AgreementSummary(summary | {"state": "no-classes"}, people)
    if not len(table):
        return AgreementSummary(summary, people)
    beliefs = _beliefs(table)
    for each in retest_by_annotator(beliefs).people:
        repeats = {"n": each.n_repeats, "same": each.n_same_class, "moved": round(each.total_variation, 3)}
        people.setdefault(each.annotator, {})["repeats"] = repeats
    first = table.for_purposes("label")
    labels = beliefs if len(first) == len(table) else _beliefs(first)
    summary |= {"state": "there", "agreement": _agreement(beliefs)} | _uncertainty(labels)
    return AgreementSummary(summary, people)


def _annotations(rows: Rows, items: list[str], study: Study) -> Annotations:
    columns = {
        "item": pa.array(items, pa.string()),
        "annotator": pa.array([row.pseudonym for row in rows], pa.string()),
        "kind": pa.array([row.kind for row in rows], pa.string()),
        "payload": pa.array([row.payload for row in rows], pa.string()),
        "purpose": pa.array([row.purpose for row in rows], pa.string()),
        "trial": pa.array([row.number for row in rows], pa.int64()),
        "seconds": pa.array([row.seconds for row in rows], pa.float64()),
    }
    if study.people.assignment is Assignment.ADAPTIVE:
        columns["audit"] = pa.array([bool(row.audit) for row in rows], pa.bool_())
    return Annotations.from_arrow(pa.table(columns), study.class_names)


def _beliefs(table: Annotations) -> Beliefs:
    """By the default labeler; answers to several question types are compared as votes on the same classes."""
    return label_by_default(table, table.classes) if len(kinds_in(table)) == 1 else as_votes(table)


def _agreement(beliefs: Beliefs) -> list[dict[str, Any]]:
    """The measures that apply, each with its interval; none before two people answered about the same item."""
    with warnings.catch_warnings():
        # Measures that cannot be computed yet are left out.
        warnings.simplefilter("ignore")
        found = study_agreement(beliefs)
    return [
        {
            "measure": name,
            "value": round(float(found.value[i]), 4),
            "low": _number(found.low[i]),
            "high": _number(found.high[i]),
            "n_items": int(found.n_items[i]),
            "n_annotators": int(found.n_annotators[i]),
            "n_answers": int(found.n_answers[i]),
            "over": "annotators and items" if not np.isnan(found.share_items[i]) else "items, for these annotators",
            "shares": [_number(each[i]) for each in (found.share_items, found.share_annotators, found.share_answers)],
            "half": {
                "another_crowd": _number((found.high[i] - found.low[i]) / 2),
                "same_annotators": _number(found.half_same_annotators[i]),
                "twice_the_items": _number(found.half_twice_items[i]),
                "twice_the_annotators": _number(found.half_twice_annotators[i]),
            },
        }
        for i, name in enumerate(found.measure)
        if not np.isnan(found.value[i])
    ]


def _uncertainty(beliefs: Beliefs) -> dict[str, Any]:
    """How often two people give different answers, and the items with the most disagreement."""
    mean = study_doubt(beliefs)
    if mean.dissent is None:
        return {"doubt": None, "disputed": []}
    doubt = beliefs.doubt()
    apart = doubt.dissent if beliefs.hard is not None else doubt.dissent_between
    order = np.lexsort((-doubt.n_answers, -apart))
    numbers = doubt.items.to_pylist()
    view = beliefs.coded()
    disputed = []
    for row in order[:MOST_DISPUTED]:
        if not apart[row] > 1e-9:
            break
        mine = view.item == row
        soft = np.eye(view.n_classes)[view.hard[mine]] if view.hard is not None else view.soft[mine]  # type: ignore[index]
        disputed.append(
            {
                "number": int(numbers[row]),
                "n_answers": int(doubt.n_answers[row]),
                "dissent": round(float(doubt.dissent[row]), 3),
                "shares": [round(float(share), 4) for share in soft.mean(axis=0)],
                "each": soft[:MOST_STRIPES].round(2).tolist(),
            }
        )
    return {
        "doubt": {
            "dissent": _figure(mean.dissent),
            "within": _figure(mean.within),
            "between": _figure(mean.between),
            "over": mean.over,
            "n_items": mean.n_measured,
        },
        "classes": list(beliefs.classes),
        "disputed": disputed,
    }


def _check_counts(table: Annotations, study: Study) -> dict[str, dict[str, int]]:
    """Passed and failed checks by pseudonym, for checks that are still in the study."""
    results, names = check_results(study, table), table.annotator.names.to_pylist()
    passed, failed = (
        np.bincount(table.annotator.codes[rows], minlength=len(names)).tolist()
        for rows in (results.judged & results.passed, results.judged & ~results.passed)
    )
    counts = {name: {"passed": passed[i], "failed": failed[i]} for i, name in enumerate(names)}
    return {name: each for name, each in counts.items() if any(each.values())}


def _flags(
    table: Annotations, study: Study, records: AnswerRecords | None, *, is_sample: bool
) -> dict[str, dict[str, list[str]]]:
    """The reasons of `sfumato screen --study` to exclude each annotator, and its signs, by pseudonym."""
    if not len(table):
        return {}
    # In a sample of items consecutive answers are not known.
    rules = [rule for rule in rules_of(study.quality.rules) if not (is_sample and rule.name == IdenticalRuns.name)]
    found = screen_study(study, table, rules, records=records, must_apply=False)
    return {
        name: {"flags": reasons.split("; ") if reasons else [], "signs": signs.split("; ") if signs else []}
        for name, reasons, signs in zip(found.annotators.to_pylist(), found.reasons, found.signs, strict=True)
        if reasons or signs
    }


def _records(rows: Rows, erased: Mapping[str, ErasedRecords]) -> Iterator[RecordRow]:
    """The records of the answers, as `sfumato export --records` writes them."""
    for row in rows:
        if is_erased(erased, row.pseudonym, row.id):
            yield RecordRow(row.pseudonym, row.number, None, None, None, ())
            continue
        record = READ_RECORD(row.record)
        n_inputs, window = len(record.events) + record.cut, (record.pointer, *record.viewport)
        yield RecordRow(row.pseudonym, row.number, record.seconds(), n_inputs, row.network, window)


def _figure(figure: MeanFigure | None) -> dict[str, float | None] | None:
    if figure is None:
        return None
    return {
        "value": round(figure.value, 4), "low": _number(figure.interval.low), "high": _number(figure.interval.high),
    }  # fmt: skip


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
