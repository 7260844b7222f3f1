"""Attention checks: does the belief of an answer, by its kind's default labeler, lie in the region of the check?

Used on exported answers by `sfumato screen`, and on single answers by the server.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Bool

from sfumato.elicitation.kind import label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.labeling.default_labeler import beliefs_of_payloads
from sfumato.labeling.screening import CheckResults
from sfumato.study.study import Region, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.text_columns import CodedText


def check_results(study: Study, answers: Annotations) -> CheckResults:
    """Whether each answer to a check of `study` passes, as the server decided it."""
    regions = {each.item: each.region for each in study.checks}
    items = answers.item.names.to_pylist()
    is_check = _among(answers.purpose, {"check"}) & _among(answers.item, regions)
    judged, passed = np.zeros(len(answers), dtype=bool), np.zeros(len(answers), dtype=bool)
    for kind in kinds_of(study):
        rows = np.flatnonzero(is_check & _among(answers.kind, {label_of(kind)}))
        payloads = [msgspec.json.decode(each) for each in answers.payload.take(rows).to_pylist()]
        beliefs = beliefs_of_payloads(kind, payloads, study.class_names) if payloads else np.zeros((0, 0))
        for row, belief in zip(rows, beliefs.tolist(), strict=True):
            region = regions[items[answers.item.codes[row]]]
            passed[row] = region.has(dict(zip(study.class_names, belief, strict=True)))
        judged[rows] = True
    return CheckResults(judged, passed)


def _among(column: CodedText, wanted: Container[str]) -> Bool[np.ndarray, "rows"]:
    """Which rows of the column hold one of the names."""
    return np.asarray(np.array([name in wanted for name in column.names.to_pylist()], dtype=bool)[column.codes])


class RegionCheckJudge:
    """Decides on answers to the checks of one study. Needs NumPy and Arrow: loaded only for studies with checks."""

    def __init__(self, study: Study) -> None:
        self._kinds = kinds_of(study)
        self._classes = study.class_names

    def passes(self, region: Region, question: int, payload: Any) -> bool:
        (row,) = beliefs_of_payloads(self._kinds[question], [payload], self._classes)
        return region.has(dict(zip(self._classes, row.tolist(), strict=True)))
