"""Evidence -> sections about people and labels: one theme a file, each a function of the evidence.

A function gives a `Section`, or None where its parts are not there. It says in words what is to be seen in this very
data, with 95% intervals in place of adjectives; where a number comes from stands below each figure.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.reporting.page import Section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import agreeing
from sfumato.reporting.sections.collection import asking
from sfumato.reporting.sections.confusion import confusing
from sfumato.reporting.sections.duplicates import repeating
from sfumato.reporting.sections.label_changes import shifting
from sfumato.reporting.sections.labels import labelling
from sfumato.reporting.sections.screening import setting_aside
from sfumato.reporting.sections.uncertainty import doubting

PEOPLE_SECTIONS: tuple[Callable[[ReportInputs], Section | None], ...] = (
    asking,
    setting_aside,
    agreeing,
    doubting,
    labelling,
    confusing,
    shifting,
    repeating,
)
"""In the order of a report."""

__all__ = [
    "PEOPLE_SECTIONS",
    "agreeing",
    "asking",
    "confusing",
    "doubting",
    "labelling",
    "people_sections",
    "repeating",
    "setting_aside",
    "shifting",
]


def people_sections(evidence: ReportInputs) -> tuple[Section, ...]:
    """All sections about people and labels that the evidence suffices for."""
    made = [section(evidence) for section in PEOPLE_SECTIONS]
    return tuple(each for each in made if each is not None)
