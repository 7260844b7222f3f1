"""Importers for published data sets and common formats; `FORMATS` lists them all.

To add one: a frozen dataclass whose fields are its settings, with a `name` and a method `read(source)` that returns an
`ImportResult` with a note about everything that was left out. A class method `recognize(preview)` returns `Evidence` if
a file looks like this format; `sfumato import auto` and `sf.read` use it. Other distributions add formats by the
entry-point group `sfumato.importers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from sfumato.importers.annotations_file import AnnotationsImporter
from sfumato.importers.argilla import ArgillaImporter
from sfumato.importers.chaosnli import ChaosNliImporter
from sfumato.importers.cifar_10h import Cifar10HImporter
from sfumato.importers.cifar_10s import Cifar10SImporter
from sfumato.importers.cifar_n import CifarNImporter
from sfumato.importers.counts import CountsImporter
from sfumato.importers.crowd import CrowdImporter
from sfumato.importers.doccano import DoccanoImporter
from sfumato.importers.fashion_mnist_h import FashionMnistHImporter
from sfumato.importers.ferplus import FerPlusImporter
from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.hmix import HMixImporter
from sfumato.importers.hugging_face import HuggingFaceImporter
from sfumato.importers.images import ImagesImporter
from sfumato.importers.importer import Importer, ImportResult
from sfumato.importers.json_records import JsonImporter
from sfumato.importers.label_formats import LabelsImporter, PredictionsImporter
from sfumato.importers.label_studio import LabelStudioImporter
from sfumato.importers.lewidi import LeWiDiImporter
from sfumato.importers.peerannot import PeerannotImporter
from sfumato.importers.potato import PotatoImporter
from sfumato.importers.prodigy import ProdigyImporter
from sfumato.importers.recognition import recognize
from sfumato.importers.sfumato_table import SfumatoTableImporter
from sfumato.importers.soft_digits import SoftDigitsImporter
from sfumato.importers.wide import WideImporter
from sfumato.tables.strategies import strategy_from_name

FORMATS: tuple[Any, ...] = (
    CrowdImporter,
    WideImporter,
    CountsImporter,
    JsonImporter,
    LabelsImporter,
    PredictionsImporter,
    HuggingFaceImporter,
    ArgillaImporter,
    DoccanoImporter,
    LabelStudioImporter,
    PotatoImporter,
    ProdigyImporter,
    ChaosNliImporter,
    Cifar10HImporter,
    Cifar10SImporter,
    CifarNImporter,
    FashionMnistHImporter,
    FerPlusImporter,
    HMixImporter,
    LeWiDiImporter,
    PeerannotImporter,
    SoftDigitsImporter,
    AnnotationsImporter,
    ImagesImporter,
    SfumatoTableImporter,
)
ENTRY_POINTS = "sfumato.importers"
AUTO = "auto"

__all__ = [
    "FORMATS",
    "AnnotationsImporter",
    "ArgillaImporter",
    "ChaosNliImporter",
    "Cifar10HImporter",
    "Cifar10SImporter",
    "CifarNImporter",
    "CountsImporter",
    "CrowdImporter",
    "DoccanoImporter",
    "Evidence",
    "FashionMnistHImporter",
    "FerPlusImporter",
    "HMixImporter",
    "HuggingFaceImporter",
    "ImagesImporter",
    "ImportResult",
    "Importer",
    "JsonImporter",
    "LabelStudioImporter",
    "LabelsImporter",
    "LeWiDiImporter",
    "PeerannotImporter",
    "PotatoImporter",
    "PredictionsImporter",
    "Preview",
    "ProdigyImporter",
    "SfumatoTableImporter",
    "SoftDigitsImporter",
    "WideImporter",
    "format_named",
    "import_file",
    "importer_for",
]


def formats() -> tuple[Any, ...]:
    """All formats: ours, and those that other distributions add."""
    return (*FORMATS, *(point.load() for point in entry_points(group=ENTRY_POINTS)))


def format_named(name: str, settings: Mapping[str, Any]) -> Importer:
    """The importer called `name` with `settings`."""
    return strategy_from_name("format", formats(), name, settings)  # type: ignore[no-any-return]


def importer_for(
    source: str | Path,
    format_name: str = AUTO,
    settings: Mapping[str, Any] | None = None,
    *,
    are_votes: bool = False,
) -> Importer:
    """The importer of this name; for `auto` that of the format recognized in `source`: see `recognize`."""
    if format_name == AUTO:
        return recognize(source, formats(), settings, are_votes=are_votes)
    return format_named(format_name, settings or {})


def import_file(
    source: str | Path,
    format_name: str = AUTO,
    settings: Mapping[str, Any] | None = None,
    *,
    are_votes: bool = False,
) -> ImportResult:
    """Read `source` as the format of this name; `auto` recognizes the format, and a note says by what."""
    importer = importer_for(source, format_name, settings, are_votes=are_votes)
    return replace(importer.read(source), format_name=importer.name)
