"""The judge of checks: an answer, read by its kind's usual labeler, lies in the region or does not."""

from __future__ import annotations

from typing import Any

from sfumato.elicitation.kinds import kinds_of
from sfumato.labeling.believed import beliefs_of_payloads
from sfumato.study.study import Region, Study


class RegionCheckJudge:
    """For one study. Loads NumPy and Arrow, as only studies with checks need."""

    def __init__(self, study: Study) -> None:
        self._kinds = kinds_of(study)
        self._classes = study.class_names

    def passes(self, region: Region, question: int, payload: Any) -> bool:
        (row,) = beliefs_of_payloads(self._kinds[question], [payload], self._classes)
        return region.has(dict(zip(self._classes, row.tolist(), strict=True)))
