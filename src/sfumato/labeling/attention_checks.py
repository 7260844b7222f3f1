"""Attention checks: does the belief of an answer, by its kind's default labeler, lie in the region of the check?

Used on exported answers by `sfumato screen`, on all answers by the dashboard, and on single answers by the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from sfumato.elicitation.kind import label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.labeling.default_labeler import beliefs_of_payloads
from sfumato.labeling.screening import AnswerRecords, CheckResults, Rule, Screening, screen
from sfumato.labeling.screening_rules import rules_of
from sfumato.study.study import Region, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.soft_labels import SoftLabels


def check_results(study: Study, answers: Annotations) -> CheckResults:
    """Whether each answer to a check of `study` passes, as the server decided it."""
    regions = {each.item: each.region for each in study.checks}
    items = answers.item.names.to_pylist()
    is_check = answers.purpose.among({"check"}) & answers.item.among(regions)
    judged, passed = np.zeros(len(answers), dtype=bool), np.zeros(len(answers), dtype=bool)
    for kind in kinds_of(study):
        rows = np.flatnonzero(is_check & answers.kind.among({label_of(kind)}))
        payloads = [msgspec.json.decode(each) for each in answers.payload.take(rows).to_pylist()]
        beliefs = beliefs_of_payloads(kind, payloads, study.class_names) if payloads else np.zeros((0, 0))
        for row, belief in zip(rows, beliefs.tolist(), strict=True):
            region = regions[items[answers.item.codes[row]]]
            passed[row] = region.has(dict(zip(study.class_names, belief, strict=True)))
        judged[rows] = True
    return CheckResults(judged, passed)


def screen_study(
    study: Study,
    answers: Annotations,
    rules: Sequence[Rule] | None = None,
    *,
    gold: SoftLabels | None = None,
    records: AnswerRecords | None = None,
    must_apply: bool = True,
) -> Screening:
    """Screen the answers to a study by its own rules (or by `rules`) and the regions of its checks: the decision of
    `sfumato screen --study`, and the flags of the dashboard."""
    rules = rules_of(study.quality.rules) if rules is None else rules
    checks = check_results(study, answers)
    return screen(answers, rules, gold=gold, checks=checks, records=records, must_apply=must_apply)


class RegionCheckJudge:
    """Decides on answers to the checks of one study. Needs NumPy and Arrow: loaded only for studies with checks."""

    def __init__(self, study: Study) -> None:
        self._kinds = kinds_of(study)
        self._classes = study.class_names

    def passes(self, region: Region, question: int, payload: Any) -> bool:
        (row,) = beliefs_of_payloads(self._kinds[question], [payload], self._classes)
        return region.has(dict(zip(self._classes, row.tolist(), strict=True)))
