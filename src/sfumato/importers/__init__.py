"""Published and foreign formats -> our tables. One format a file; `FORMATS` lists them all.

To add one: a frozen dataclass whose fields are its settings, with a `name` and one verb, `read(source)`,
that returns an `Imported` and leaves out nothing without a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.importers.annotations_file import OwnAnnotations
from sfumato.importers.cifar_10h import Cifar10H
from sfumato.importers.cifar_10s import Cifar10S
from sfumato.importers.counts import Counts
from sfumato.importers.crowd import Crowd
from sfumato.importers.fashion_mnist_h import FashionMnistH
from sfumato.importers.hmix import HMix
from sfumato.importers.importer import Imported, Importer
from sfumato.importers.label_studio import LabelStudio
from sfumato.importers.soft_digits import SoftDigits
from sfumato.importers.wide import Wide
from sfumato.tables.strategies import strategy_named

FORMATS: tuple[Any, ...] = (
    Cifar10H,
    Cifar10S,
    FashionMnistH,
    HMix,
    SoftDigits,
    Crowd,
    LabelStudio,
    Wide,
    Counts,
    OwnAnnotations,
)

__all__ = [
    "FORMATS",
    "Cifar10H",
    "Cifar10S",
    "Counts",
    "Crowd",
    "FashionMnistH",
    "HMix",
    "Imported",
    "Importer",
    "LabelStudio",
    "OwnAnnotations",
    "SoftDigits",
    "Wide",
    "format_named",
]


def format_named(name: str, settings: Mapping[str, Any]) -> Importer:
    """The importer called `name` with `settings`."""
    return strategy_named("format", FORMATS, name, settings)  # type: ignore[no-any-return]
