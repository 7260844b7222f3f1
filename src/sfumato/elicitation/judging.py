"""Judging checks: whether an answer lies where it must. What an answer means is not known here, so a judge is asked."""

from __future__ import annotations

from typing import Any, Protocol

from sfumato.study.study import Region


class CheckJudge(Protocol):
    """Knows what an answer means."""

    def passes(self, region: Region, question: int, payload: Any) -> bool:
        """Whether an answer (plain JSON values) to one of the study's questions lies in the region."""
