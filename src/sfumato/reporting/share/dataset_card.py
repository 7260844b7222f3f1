"""The card of a Hugging Face dataset, with YAML front matter, and its column types (features).

A feature is stated three times: as Arrow type, as JSON under the key `huggingface` of a Parquet schema, and as YAML in
the card. Lists of fixed length are `Sequence`, which all versions of the datasets library understand
(huggingface.co/docs/datasets/about_dataset_features).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.reporting.share.markdown_escape import code, meanings, plain, table
from sfumato.reporting.share.release import Release
from sfumato.reporting.share.release_columns import (
    BELIEF_MEANINGS,
    COUNT_MEANINGS,
    MEANINGS,
    answer_meanings,
    class_rows,
    summary,
)


@dataclass(frozen=True)
class Feature:
    """A column: its name, and its type in Arrow, JSON and YAML."""

    name: str
    arrow: pa.DataType
    as_json: dict[str, Any]
    as_yaml: dict[str, Any]


def value(name: str, kind: pa.DataType, dtype: str | None = None) -> Feature:
    """Plain values: text, numbers, times."""
    dtype = dtype or ("float64" if kind == pa.float64() else str(kind))
    return Feature(name, kind, {"dtype": dtype, "_type": "Value"}, {"dtype": dtype})


def text(name: str) -> Feature:
    return value(name, pa.string(), "string")


def picture(name: str) -> Feature:
    """An image: the bytes of its file, and an empty path."""
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    return Feature(name, kind, {"_type": "Image"}, {"dtype": "image"})


def class_label(name: str, classes: Sequence[str]) -> Feature:
    """The number of a class, with the names of the classes."""
    named = {str(number): each for number, each in enumerate(classes)}
    as_json = {"names": list(classes), "_type": "ClassLabel"}
    return Feature(name, pa.int64(), as_json, {"dtype": {"class_label": {"names": named}}})


def numbers(name: str, length: int, dtype: str = "float64") -> Feature:
    """A list of numbers of fixed length: `float64` or `int32`."""
    as_json = {"feature": {"dtype": dtype, "_type": "Value"}, "length": length, "_type": "Sequence"}
    kind = pa.list_(pa.int32() if dtype == "int32" else pa.float64(), length)
    return Feature(name, kind, as_json, {"sequence": dtype, "length": length})


def schema_of(features: Sequence[Feature], metadata: dict[bytes, bytes]) -> pa.Schema:
    """The Arrow schema with the features added to its metadata."""
    info = {"info": {"features": {each.name: each.as_json for each in features}}}
    metadata = {b"huggingface": json.dumps(info, ensure_ascii=False).encode(), **metadata}
    return pa.schema([(each.name, each.arrow) for each in features]).with_metadata(metadata)


LICENSES = (
    "apache-2.0", "mit", "bsd-3-clause", "gpl-3.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "odc-by", "odbl", "pddl", "unknown",
)  # fmt: skip
"""Licenses that the Hub knows by these names; it expects others as `other`, with a name."""
SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))


@dataclass(frozen=True)
class CardPart:
    """A split of a configuration: its rows, and its bytes in memory."""

    name: str
    n_rows: int
    n_bytes: int


@dataclass(frozen=True)
class Config:
    """A configuration: one table of the dataset, in shards in its own folder."""

    name: str
    below: str
    features: tuple[Feature, ...]
    parts: tuple[CardPart, ...]
    download_bytes: int


def card(release: Release, configs: Sequence[Config]) -> str:
    """The README.md of a dataset folder."""
    return "\n".join(["---", *_yaml(front_matter(release, configs)), "---", "", *_body(release, configs), ""])


def front_matter(release: Release, configs: Sequence[Config]) -> dict[str, Any]:
    """The YAML front matter of the card."""
    header: dict[str, Any] = {"pretty_name": release.title}
    if release.licence is not None:
        license_name = release.licence.lower()
        known = license_name in LICENSES
        header |= {"license": license_name} if known else {"license": "other", "license_name": release.licence}
    inputs = release.inputs
    task = "other" if inputs is None else "image-classification" if inputs.texts is None else "text-classification"
    size = next((name for limit, name in SIZES if len(release.labels) < limit), "10M<n<100M")
    return header | {
        "task_categories": [task],
        "size_categories": [size],
        "tags": ["soft-labels", "label-distribution", *(["annotator-disagreement"] if len(configs) > 1 else [])],
        "dataset_info": [_info(config) for config in configs],
        "configs": [
            {
                "config_name": config.name,
                **({"default": True} if number == 0 else {}),
                "data_files": [{"split": p.name, "path": f"{config.below}/{p.name}-*"} for p in config.parts],
            }
            for number, config in enumerate(configs)
        ],
    }


def _info(config: Config) -> dict[str, Any]:
    return {
        "config_name": config.name,
        "features": [{"name": each.name, **each.as_yaml} for each in config.features],
        "splits": [{"name": p.name, "num_bytes": p.n_bytes, "num_examples": p.n_rows} for p in config.parts],
        "download_size": config.download_bytes,
        "dataset_size": sum(part.n_bytes for part in config.parts),
    }


def _body(release: Release, configs: Sequence[Config]) -> Iterator[str]:
    yield from [f"# {plain(release.title)}", "", *(f"- {plain(each)}" for each in summary(release)), ""]
    yield from ["## How to read it", "", "```python", "from datasets import load_dataset", ""]
    yield "dataset = load_dataset(FOLDER)                # or its name on the Hub"
    yield from [f'{each.name} = load_dataset(FOLDER, "{each.name}")' for each in configs[1:]]
    yield from ["```", ""]
    if release.split is None:
        yield from ["There are no splits: `train` contains all items.", ""]
    explained = {
        "labels": MEANINGS,
        "counts": COUNT_MEANINGS,
        "beliefs": BELIEF_MEANINGS,
        "annotations": answer_meanings(release),
    }
    for config in configs:
        shown = {each.name: explained[config.name][each.name] for each in config.features}
        rows = ", ".join(f"{code(part.name)} {part.n_rows:,}" for part in config.parts)
        yield from [f"## {config.name.capitalize()}", "", f"Rows: {rows}.", "", *meanings(shown), ""]
    where = "`probs`" if release.counts is None else "`probs` and `counts`"
    yield from ["## Classes", "", f"In this order in {where}:", ""]
    named = [
        (str(k), code(name), f"{n:,}", f"{part:.4f}") for k, (name, n, part) in enumerate(class_rows(release.labels))
    ]
    heads = ("number", "class", "items with this most probable class", "share of all probability")
    yield from [*table(heads, named), ""]
    yield from ["## License", "", plain(release.licence) if release.licence else "Not stated.", ""]
    yield "Written by sfumato; `sfumato.json` lists every file with its SHA-256."


def _yaml(value: Any, indent: str = "") -> list[str]:
    """Plain values as YAML, with all texts in double quotes."""
    lines = []
    if isinstance(value, dict):
        for key, each in value.items():
            name = key if key.isidentifier() else _quoted(key)
            if isinstance(each, dict | list):
                lines += [f"{indent}{name}:", *_yaml(each, indent + "  ")]
            else:
                lines.append(f"{indent}{name}: {_scalar(each)}")
        return lines
    for each in value:
        if isinstance(each, dict):
            first, *rest = _yaml(each, indent + "  ")
            lines += [f"{indent}- {first.strip()}", *rest]
        else:
            lines.append(f"{indent}- {_scalar(each)}")
    return lines


def _scalar(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    """A text that YAML and JSON both read; characters that YAML does not allow are escaped."""
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)
