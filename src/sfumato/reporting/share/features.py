"""Features: what the datasets library calls a column's type, in the three forms that a dataset states it in.

Arrow for the values, JSON under the key `huggingface` of a Parquet schema, YAML in the card. Lists of fixed length are
called `Sequence`, which versions before 4 and after understand (huggingface.co/docs/datasets/about_dataset_features).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Feature:
    """A column: its name, its type in Arrow, and how JSON and YAML state it."""

    name: str
    arrow: pa.DataType
    as_json: dict[str, Any]
    as_yaml: dict[str, Any]


def value(name: str, kind: pa.DataType, dtype: str | None = None) -> Feature:
    """Plain values: text, numbers, times."""
    said = dtype or ("float64" if kind == pa.float64() else str(kind))
    return Feature(name, kind, {"dtype": said, "_type": "Value"}, {"dtype": said})


def text(name: str) -> Feature:
    return value(name, pa.string(), "string")


def picture(name: str) -> Feature:
    """A picture: the bytes of its file, and a path that says nothing where there are bytes."""
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    return Feature(name, kind, {"_type": "Image"}, {"dtype": "image"})


def class_label(name: str, classes: Sequence[str]) -> Feature:
    """The number of a class, with the classes' names."""
    named = {str(number): each for number, each in enumerate(classes)}
    as_json = {"names": list(classes), "_type": "ClassLabel"}
    return Feature(name, pa.int64(), as_json, {"dtype": {"class_label": {"names": named}}})


def numbers(name: str, length: int) -> Feature:
    """As many numbers in every row."""
    as_json = {"feature": {"dtype": "float64", "_type": "Value"}, "length": length, "_type": "Sequence"}
    kind = pa.list_(pa.float64(), length)
    return Feature(name, kind, as_json, {"sequence": "float64", "length": length})


def schema_of(features: Sequence[Feature], metadata: dict[bytes, bytes]) -> pa.Schema:
    """The Arrow schema with the features stated in its metadata, beside what else is told there."""
    info = {"info": {"features": {each.name: each.as_json for each in features}}}
    said = {b"huggingface": json.dumps(info, ensure_ascii=False).encode(), **metadata}
    return pa.schema([(each.name, each.arrow) for each in features]).with_metadata(said)
