"""Votes in a data frame of pandas, Polars or Hugging Face, converted to Beliefs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.tables.class_order import names_like
from sfumato.tables.errors import BadTable, listing, missing_column

if TYPE_CHECKING:
    from sfumato.tables.beliefs import Beliefs

KNOWN_NAMES = {
    "item": ("item", "task"),
    "annotator": ("annotator", "worker"),
    "label": ("label", "class"),
}
"""Names of the columns of votes that are recognized."""
LIKELY_NAMES = {
    "item": ("item", "task", "image", "photo", "picture", "text", "question", "id"),
    "annotator": ("annotator", "worker", "rater", "coder", "user", "who", "judge", "participant"),
    "label": ("label", "class", "answer", "vote", "choice", "rating", "category", "response"),
}
"""Parts of other names, for suggestions."""


def is_frame(value: Any) -> bool:
    """Whether `value` is a data frame: pandas, Polars, Arrow, DuckDB or a Hugging Face `Dataset`."""
    is_column = type(value).__name__ in ("Series", "ChunkedArray")
    return (hasattr(value, "__arrow_c_stream__") and not is_column) or _is_hugging_face(value)


def beliefs_of_frame(kind: type[Beliefs], frame: Any, names: Mapping[str, str], classes: Sequence[Any] = ()) -> Beliefs:
    """Beliefs from a frame; `names` are the columns of item, annotator and label, empty to find them."""
    table, class_names = _arrow_table(frame)
    found = {role: _column(table, role, name) for role, name in names.items()}
    if found["label"] is None and ("probs" in table.column_names or _has_wide(table)):
        renamed = {found["item"]: "item", found["annotator"]: "annotator"}
        given = names_like(map(str, classes or class_names or ()), classes)
        if "probs" not in table.column_names:
            given = ()
        return kind.from_arrow(table.rename_columns([renamed.get(name, name) for name in table.column_names]), given)
    missing = next((role for role, name in found.items() if name is None), None)
    if missing is not None:
        raise missing_column(
            table.column_names, f"a column for the {missing}: {' or '.join(KNOWN_NAMES[missing])}",
            _name_them(table, found, names), None,
        )  # fmt: skip
    label = table.column(found["label"])
    if pa.types.is_floating(label.type) and label.null_count == 0:
        whole = label.cast(pa.int64(), safe=False)
        label = whole if whole.cast(label.type).equals(label) else label.cast(pa.string())
    if class_names is not None:
        label = _named(label, class_names)
    return kind.from_votes(
        item=table.column(found["item"]),
        annotator=table.column(found["annotator"]),
        label=label,
        classes=classes or class_names or (),
    )


def _arrow_table(frame: Any) -> tuple[pa.Table, tuple[str, ...] | None]:
    """The frame as Arrow, and the class names of its ClassLabel column if it has one."""
    if _is_hugging_face(frame):
        names = next((tuple(each.names) for each in frame.features.values() if hasattr(each, "int2str")), None)
        return frame.with_format("arrow")[:], names
    if isinstance(frame, Mapping) and all(_is_hugging_face(part) for part in frame.values()) and frame:
        found = f"a DatasetDict with the splits {listing(list(frame))}"
        raise BadTable(found, "one split", f"choose one: dataset[{next(iter(frame))!r}]", "not-a-table")
    if not hasattr(frame, "__arrow_c_stream__"):
        fix = "give a data frame with columns item, annotator and label, or lists to Beliefs.from_votes"
        raise BadTable(f"a {type(frame).__name__}", "a data frame (pandas, Polars, Arrow)", fix, "not-a-table")
    return pa.table(frame), None


def _is_hugging_face(value: Any) -> bool:
    return hasattr(value, "features") and hasattr(value, "with_format")


def _has_wide(table: pa.Table) -> bool:
    return any(name.startswith("p:") for name in table.column_names)


def _column(table: pa.Table, role: str, name: str) -> str | None:
    if name and name not in table.column_names:
        fix = f"choose one of the columns: {role}=..."
        raise missing_column(table.column_names, f"the column {name!r}", fix, None)
    return name or next((each for each in KNOWN_NAMES[role] if each in table.column_names), None)


def _name_them(table: pa.Table, found: Mapping[str, str | None], names: Mapping[str, str]) -> str:
    """How to name the columns: those whose names look alike, else a placeholder."""
    taken = {name for name in found.values() if name}
    written = []
    for role, name in found.items():
        if name is not None and not names[role]:
            continue
        alike = (each for each in table.column_names if each not in taken and _looks_like(each, role))
        chosen = name or next(alike, "COLUMN")
        taken.add(chosen)
        written.append(f"{role}={chosen!r}")
    counts = "; votes per class without annotators: sf.Counts.from_pandas(frame)"
    return f"name it: sf.Beliefs.from_pandas(frame, {', '.join(written)})" + ("" if found["label"] else counts)


def _looks_like(name: str, role: str) -> bool:
    return any(part in name.lower() for part in LIKELY_NAMES[role])


def has_votes_per_class(frame: Any) -> bool:
    """Whether a data frame has one row per item and votes per class (`n:cat`) instead of single votes."""
    names = [str(name) for name in getattr(frame, "columns", getattr(frame, "column_names", ()))]
    return any(name.startswith("n:") for name in names) and not {"annotator", "worker"} & set(names)


def _named(label: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    """Class numbers as names."""
    if not pa.types.is_integer(label.type):
        return label
    return pa.chunked_array([pa.array(names, pa.string()).take(label.combine_chunks())])
