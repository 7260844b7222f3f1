"""A labelled set -> forms that others read, and its datasheet. One form a file; `FORMATS` lists them all.

To add one: a frozen dataclass whose fields are its settings, with a `name` and one verb, `write(release, place)`, that
leaves nothing half written and returns a `Shared`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sfumato.reporting.share.csv_release import WideCsv
from sfumato.reporting.share.hugging_face import HuggingFace
from sfumato.reporting.share.numpy_release import NumpyArchive
from sfumato.reporting.share.pytorch_release import PyTorch
from sfumato.reporting.share.release import Format, Release, Shared, Splits
from sfumato.tables.errors import MissingExtra
from sfumato.tables.strategies import strategy_from_name

if TYPE_CHECKING:
    from sfumato.training.soft_label_dataset import SoftLabelDataset

FORMATS: tuple[Any, ...] = (HuggingFace, WideCsv, NumpyArchive, PyTorch)

__all__ = [
    "FORMATS",
    "Format",
    "HuggingFace",
    "NumpyArchive",
    "PyTorch",
    "Release",
    "Shared",
    "SoftLabelDataset",
    "Splits",
    "WideCsv",
    "format_named",
]


def format_named(name: str) -> Format:
    """The format called `name`."""
    return strategy_from_name("format", FORMATS, name, {})  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    # Only `training` imports torch, and most who share need none of it: the dataset loads when it is asked for.
    if name != "SoftLabelDataset":
        raise AttributeError(f"module 'sfumato.reporting.share' has no attribute {name!r}")
    if find_spec("torch") is None:
        raise MissingExtra(
            "found no torch",
            expected="torch, for SoftLabelDataset",
            fix='pip install "sfumato[train]"',
            code="missing-extra",
        )
    return import_module("sfumato.training.soft_label_dataset").SoftLabelDataset
