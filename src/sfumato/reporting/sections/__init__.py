"""The sections of a report, one module per section: a function of the inputs that returns a `Section`, or None if its
inputs are missing. Sentences state the numbers of this data with 95% intervals."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.reporting.page import Section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import agreement_section
from sfumato.reporting.sections.collection import collection_section
from sfumato.reporting.sections.confusion import confusion_section
from sfumato.reporting.sections.duplicates import duplicates_section
from sfumato.reporting.sections.label_changes import label_changes_section
from sfumato.reporting.sections.labels import labels_section
from sfumato.reporting.sections.screening import screening_section
from sfumato.reporting.sections.uncertainty import uncertainty_section

PEOPLE_SECTIONS: tuple[Callable[[ReportInputs], Section | None], ...] = (
    collection_section,
    screening_section,
    agreement_section,
    uncertainty_section,
    labels_section,
    confusion_section,
    label_changes_section,
    duplicates_section,
)
"""In the order of a report."""

__all__ = [
    "PEOPLE_SECTIONS",
    "agreement_section",
    "collection_section",
    "confusion_section",
    "duplicates_section",
    "label_changes_section",
    "labels_section",
    "people_sections",
    "screening_section",
    "uncertainty_section",
]


def people_sections(evidence: ReportInputs) -> tuple[Section, ...]:
    """The sections about people and labels whose inputs are there."""
    made = [section(evidence) for section in PEOPLE_SECTIONS]
    return tuple(each for each in made if each is not None)
