"""Export formats for labeled data sets, one module per format, listed in `FORMATS`; and datasheets.

A format is a frozen dataclass with a `name` and `write(release, place)`, which writes completely or not at all and
returns a `Shared`.
"""

from __future__ import annotations

from typing import Any

from sfumato.reporting.share.csv_release import WideCsv
from sfumato.reporting.share.hugging_face import HuggingFace
from sfumato.reporting.share.numpy_release import NumpyArchive
from sfumato.reporting.share.pytorch_release import PyTorch
from sfumato.reporting.share.release import Format, Release, Shared, Splits
from sfumato.tables.strategies import strategy_from_name

FORMATS: tuple[Any, ...] = (HuggingFace, WideCsv, NumpyArchive, PyTorch)

__all__ = [
    "FORMATS",
    "Format",
    "HuggingFace",
    "NumpyArchive",
    "PyTorch",
    "Release",
    "Shared",
    "Splits",
    "WideCsv",
    "format_named",
]


def format_named(name: str) -> Format:
    """The format with this name."""
    return strategy_from_name("format", FORMATS, name, {})  # type: ignore[no-any-return]
