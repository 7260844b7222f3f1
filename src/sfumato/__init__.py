"""sfumato collects and uses soft labels: labels that keep how sure people were and how much they disagreed.

`import sfumato as sf` gives the tables (`Annotations`, `Beliefs`, `Counts`, `SoftLabels`, `Doubt`, `Scores`, `Plan`)
and one function per step (`read`, `select`, `doubt`, `agreement`, `camps`, `aggregate`, `train`, `evaluate`, `compare`,
`prediction_sets`, `plan`, `plan_labels`, `report`). Names load when first used, so that `import sfumato` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.api import (
        aggregate,
        agreement,
        camps,
        compare,
        doubt,
        evaluate,
        mean_doubt,
        plan,
        prediction_sets,
        read,
        report,
        scorer,
        select,
    )
    from sfumato.planning.label_plan import plan_labels
    from sfumato.planning.plan_file import Plan
    from sfumato.reporting.report import Report
    from sfumato.reporting.report_inputs import ReportInputs
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.counts import Counts
    from sfumato.tables.doubt import Doubt
    from sfumato.tables.errors import SfumatoError, SfumatoWarning
    from sfumato.tables.model_inputs import Inputs
    from sfumato.tables.row_numbers import same_rows
    from sfumato.tables.scores import Scores
    from sfumato.tables.soft_labels import SoftLabels
    from sfumato.training.soft_label_classifier import SoftLabelClassifier
    from sfumato.training.soft_label_dataset import SoftLabelDataset
    from sfumato.training.train import train

__version__ = "0.1.0"

_HOME = {
    "Annotations": "sfumato.tables.annotations",
    "Beliefs": "sfumato.tables.beliefs",
    "Counts": "sfumato.tables.counts",
    "Doubt": "sfumato.tables.doubt",
    "Inputs": "sfumato.tables.model_inputs",
    "Plan": "sfumato.planning.plan_file",
    "Report": "sfumato.reporting.report",
    "ReportInputs": "sfumato.reporting.report_inputs",
    "Scores": "sfumato.tables.scores",
    "SfumatoError": "sfumato.tables.errors",
    "SfumatoWarning": "sfumato.tables.errors",
    "SoftLabelDataset": "sfumato.training.soft_label_dataset",
    "SoftLabelClassifier": "sfumato.training.soft_label_classifier",
    "SoftLabels": "sfumato.tables.soft_labels",
    "aggregate": "sfumato.api",
    "agreement": "sfumato.api",
    "camps": "sfumato.api",
    "compare": "sfumato.api",
    "doubt": "sfumato.api",
    "evaluate": "sfumato.api",
    "mean_doubt": "sfumato.api",
    "plan": "sfumato.api",
    "plan_labels": "sfumato.planning.label_plan",
    "prediction_sets": "sfumato.api",
    "read": "sfumato.api",
    "report": "sfumato.api",
    "same_rows": "sfumato.tables.row_numbers",
    "scorer": "sfumato.api",
    "select": "sfumato.api",
    "train": "sfumato.training.train",
}

__all__ = [
    "Annotations",
    "Beliefs",
    "Counts",
    "Doubt",
    "Inputs",
    "Plan",
    "Report",
    "ReportInputs",
    "Scores",
    "SfumatoError",
    "SfumatoWarning",
    "SoftLabelClassifier",
    "SoftLabelDataset",
    "SoftLabels",
    "__version__",
    "aggregate",
    "agreement",
    "camps",
    "compare",
    "doubt",
    "evaluate",
    "mean_doubt",
    "plan",
    "plan_labels",
    "prediction_sets",
    "read",
    "report",
    "same_rows",
    "scorer",
    "select",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGE_OF:
        _check_installed(name, *_PACKAGE_OF[name])
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    from sfumato.tables.call_arguments import no_attribute

    raise no_attribute("the module sfumato", name, __all__, {"score": "use sf.evaluate(predicted=..., people=...)"})


_PACKAGE_OF = {
    "SoftLabelDataset": ("torch", "torch", "train"),
    "SoftLabelClassifier": ("sklearn", "scikit-learn", "text"),
}


def _check_installed(name: str, module: str, package: str, extra: str) -> None:
    from importlib.util import find_spec

    from sfumato.tables.errors import missing_extra

    if find_spec(module) is None:
        raise missing_extra(package, f"for {name}", extra)


def __dir__() -> list[str]:
    return sorted(__all__)
