"""Importers for published data sets and common formats; `FORMATS` lists them all.

To add one: a frozen dataclass whose fields are its settings, with a `name` and a method `read(source)` that returns an
`ImportResult` with a note about everything that was left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.importers.annotations_file import AnnotationsImporter
from sfumato.importers.cifar_10h import Cifar10HImporter
from sfumato.importers.cifar_10s import Cifar10SImporter
from sfumato.importers.counts import CountsImporter
from sfumato.importers.crowd import CrowdImporter
from sfumato.importers.fashion_mnist_h import FashionMnistHImporter
from sfumato.importers.hmix import HMixImporter
from sfumato.importers.images import ImagesImporter
from sfumato.importers.importer import Importer, ImportResult
from sfumato.importers.label_studio import LabelStudioImporter
from sfumato.importers.soft_digits import SoftDigitsImporter
from sfumato.importers.wide import WideImporter
from sfumato.tables.strategies import strategy_from_name

FORMATS: tuple[Any, ...] = (
    Cifar10HImporter,
    Cifar10SImporter,
    FashionMnistHImporter,
    HMixImporter,
    SoftDigitsImporter,
    CrowdImporter,
    LabelStudioImporter,
    WideImporter,
    CountsImporter,
    AnnotationsImporter,
    ImagesImporter,
)

__all__ = [
    "FORMATS",
    "AnnotationsImporter",
    "Cifar10HImporter",
    "Cifar10SImporter",
    "CountsImporter",
    "CrowdImporter",
    "FashionMnistHImporter",
    "HMixImporter",
    "ImagesImporter",
    "ImportResult",
    "Importer",
    "LabelStudioImporter",
    "SoftDigitsImporter",
    "WideImporter",
    "format_named",
]


def format_named(name: str, settings: Mapping[str, Any]) -> Importer:
    """The importer called `name` with `settings`."""
    return strategy_from_name("format", FORMATS, name, settings)  # type: ignore[no-any-return]
