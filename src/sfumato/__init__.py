"""sfumato: labels that keep people's doubt.

The tables (`Annotations`, `Beliefs`, `SoftLabels`, `Doubt`, `Scores`) and the steps between them. Names load when first
used, so that `import sfumato` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.evaluation import score
    from sfumato.planning.decision import decide
    from sfumato.planning.plan_file import Plan
    from sfumato.reporting.report import Report
    from sfumato.reporting.report_inputs import ReportInputs
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.doubt import Doubt
    from sfumato.tables.errors import SfumatoError, SfumatoWarning
    from sfumato.tables.scores import Scores
    from sfumato.tables.soft_labels import SoftLabels

__version__ = "0.1.0"

_HOME = {
    "Annotations": "sfumato.tables.annotations",
    "Beliefs": "sfumato.tables.beliefs",
    "Doubt": "sfumato.tables.doubt",
    "ReportInputs": "sfumato.reporting.report_inputs",
    "Plan": "sfumato.planning.plan_file",
    "Report": "sfumato.reporting.report",
    "Scores": "sfumato.tables.scores",
    "SfumatoError": "sfumato.tables.errors",
    "SfumatoWarning": "sfumato.tables.errors",
    "SoftLabels": "sfumato.tables.soft_labels",
    "decide": "sfumato.planning.decision",
    "score": "sfumato.evaluation",
}

__all__ = [
    "Annotations",
    "Beliefs",
    "Doubt",
    "Plan",
    "Report",
    "ReportInputs",
    "Scores",
    "SfumatoError",
    "SfumatoWarning",
    "SoftLabels",
    "__version__",
    "decide",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
