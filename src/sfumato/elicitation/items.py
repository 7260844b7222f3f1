"""The items of a study, from a folder of pictures, a CSV of texts or of pictures, or an npz."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.elicitation.item_arrays import read_item_arrays
from sfumato.elicitation.item_folder import read_item_folder
from sfumato.elicitation.item_table import read_item_table
from sfumato.study.stimulus import Item
from sfumato.study.study import ItemSource


def read_items(source: ItemSource, classes: Sequence[str]) -> list[Item]:
    """The items of `source`, each id once; their `given` class is one of `classes`, where the source tells it."""
    if source.folder is not None:
        return read_item_folder(source.folder, classes)
    if source.csv is not None:
        return read_item_table(source.csv, classes)
    assert source.npz is not None, "a source has a folder, a csv or an npz"
    return read_item_arrays(source.npz)
