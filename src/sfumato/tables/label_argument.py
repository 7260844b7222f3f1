"""Checks of tables that are passed to functions: what was given instead of soft labels, and how to convert it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_columns import id_column, read_class_columns
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadSetting, listing, raise_together, show
from sfumato.tables.files.table_file import Rows
from sfumato.tables.frame_votes import is_frame
from sfumato.tables.soft_labels import SoftLabels

CODE = "wrong-argument"


def label_argument(value: Any, name: str, call: str) -> SoftLabels:
    """`value` as soft labels; counts become shares of votes. An error says how to convert anything else.

    `name` is the name of the argument and `call` that of the function, as users write them.
    """
    if isinstance(value, SoftLabels):
        return value
    if isinstance(value, Counts):
        return value.labels()
    if is_frame(value) and not isinstance(value, Table):
        return _of_frame(value)
    found, fix = _instead(value, name, call)
    raise BadSetting(f"{found} for {name}", f"SoftLabels, as in {call}({name}=labels)", fix, CODE)


def _of_frame(frame: Any) -> SoftLabels:
    """A data frame with `probs`, or a column per class (`p:cat`, or `cat` next to a column of ids), as soft labels."""
    rows = Rows.of(frame)
    names = rows.schema.names
    if "probs" in names or any(name.startswith("p:") for name in names) or id_column(names) is None:
        return SoftLabels.from_rows(rows)
    found = read_class_columns(rows, "p:", "probabilities")
    raise_together(found.faults, found.n_faults)
    return SoftLabels.from_numpy(found.items, found.numbers, found.classes)


def _instead(value: Any, name: str, call: str) -> tuple[str, str]:
    """What was given, and how to make soft labels of it."""
    kind = type(value).__name__
    if value is None:
        return "nothing", f"give {name}"
    if isinstance(value, (str, Path)):
        return f"the file name {show(str(value))}", f'read it first: {name}=sf.read("{value}")'
    if isinstance(value, (Beliefs, Annotations)):
        return f"{kind}, one row per answer", f"aggregate them first: {name}=sf.aggregate({name})"
    if isinstance(value, (Mapping, Sequence)):
        several = "sf.compare({'a': one, 'b': other}, people=...) compares several models"
        return f"a {kind} of {len(value)}", f"give one table; {several}"
    if isinstance(value, np.ndarray):
        return (
            f"an array of shape {value.shape}",
            "name its rows and columns: SoftLabels.from_numpy(items, array, classes)",
        )
    if hasattr(value, "labels"):
        return f"a {kind}", f"give its labels: {name}={name}.labels"
    return f"a {kind}", f"make a table first, for example with SoftLabels.from_numpy, and pass it to {call}"


def model_arguments(predicted: Any, call: str) -> dict[str, list[Any]]:
    """The predictions of several models by name, as lists: one entry, or one per seed."""
    example = f"write {call}({{'a': one, 'b': other}}, people=labels)"
    if not isinstance(predicted, Mapping):
        kind = type(predicted).__name__
        found = f"a {kind}" + (f" of {len(predicted)}" if isinstance(predicted, (list, tuple)) else "")
        raise BadSetting(f"{found} instead of models by name", "a dictionary of SoftLabels by name", example, CODE)
    if not predicted:
        raise BadSetting("no models", "a dictionary of SoftLabels by name", example, CODE)
    odd = [name for name in predicted if not isinstance(name, str)]
    if odd:
        raise BadSetting(f"the names {listing([show(name) for name in odd])}", "names as text", example, CODE)
    return {name: list(own) if isinstance(own, (list, tuple)) and own else [own] for name, own in predicted.items()}
