"""The format `csv`: a folder with one wide table, a README and a codebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.reporting.share.markdown_escape import code, meanings, plain, table
from sfumato.reporting.share.release import Release, Shared
from sfumato.reporting.share.release_columns import (
    BELIEF_MEANINGS,
    COUNT_MEANINGS,
    MEANINGS,
    answer_meanings,
    class_rows,
    label_columns,
    summary,
)
from sfumato.tables.files.atomic_write import atomic_folder, check_vacant, files_in
from sfumato.tables.files.png import png_bytes
from sfumato.tables.files.table_file import ROW_GROUP, write_rows

IMAGES_PER_FOLDER = 1000


@dataclass(frozen=True)
class WideCsv:
    """labels.csv with one column per class (`p:cat`), README.md and codebook.md; images are PNG files in `images/`.

    A cell that a spreadsheet would run as a formula starts with an apostrophe, which `sfumato` removes when reading.
    Prefer another format for programs: types and ids are exact there.
    """

    name: ClassVar[str] = "csv"
    holds_answers: ClassVar[bool] = True

    def check_place(self, place: Path) -> None:
        check_vacant(place)

    def write(self, release: Release, place: Path) -> Shared:
        """Write the folder. Raises if it exists with other files."""
        with atomic_folder(place, self.name) as folder:
            schema = pa.table(_columns(release, np.arange(0))).schema
            n = len(release.labels)
            rows = (np.arange(start, min(start + ROW_GROUP, n)) for start in range(0, n, ROW_GROUP))
            write_rows(schema, (pa.table(_columns(release, each)) for each in rows), folder / "labels.csv")
            if release.inputs is not None and release.inputs.images is not None:
                _write_images(release.inputs.images, folder)
            for name, table in _answer_tables(release):
                table.write(folder / f"{name}.csv")
            (folder / "codebook.md").write_text("\n".join(_codebook(release, schema.names)), encoding="utf-8")
            (folder / "README.md").write_text("\n".join(_readme(release)), encoding="utf-8")
        return Shared(place, files_in(place), f'sfumato.SoftLabels.read("{place / "labels.csv"}")')


def _columns(release: Release, rows: np.ndarray) -> dict[str, Any]:
    columns = label_columns(release, rows, wide=True)
    if release.inputs is not None and release.inputs.images is not None:
        columns = {"item": columns.pop("item"), "image": pa.array(map(_image_name, rows), pa.string()), **columns}
    return columns


def _image_name(row: int) -> str:
    """The file of an image, by row number, because an id may not be a valid file name."""
    return f"images/{row // IMAGES_PER_FOLDER:04d}/{row:07d}.png"


def _write_images(images: np.ndarray, folder: Path) -> None:
    for row, image in enumerate(map(png_bytes, images)):
        path = folder / _image_name(row)
        if row % IMAGES_PER_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(image)


def _answer_tables(release: Release) -> list[tuple[str, Any]]:
    tables = (("counts", release.counts), ("beliefs", release.beliefs), ("annotations", release.annotations))
    return [(name, each) for name, each in tables if each is not None]


def _codebook(release: Release, names: list[str]) -> Iterator[str]:
    yield from ["# Codebook", "", "## labels.csv", ""]
    own = {"p:CLASS" if name.startswith("p:") else name for name in names}
    yield from [*meanings({name: MEANINGS[name] for name in MEANINGS if name in own}), ""]
    explained = {
        "counts": {name: COUNT_MEANINGS[name] for name in ("item", "n:CLASS")},
        "beliefs": {name: BELIEF_MEANINGS[name] for name in ("item", "annotator", "p:CLASS")},
        "annotations": answer_meanings(release),
    }
    for name, _ in _answer_tables(release):
        yield from [f"## {name}.csv", "", *meanings(explained[name]), ""]
    yield from ["## Classes", ""]
    rows = [(code(f"p:{name}"), f"{n:,}", f"{part:.4f}") for name, n, part in class_rows(release.labels)]
    yield from [*table(("column", "items with this most probable class", "share of all probability"), rows), ""]


def _readme(release: Release) -> Iterator[str]:
    yield from [f"# {plain(release.title)}", "", *(f"- {plain(each)}" for each in summary(release)), ""]
    yield "`labels.csv` has one row per item; [codebook.md](codebook.md) explains the columns. The file is UTF-8 with"
    yield "commas. Read the column `item` as text: type guessing turns `007` into 7 and `1e5` into 100000. A text that"
    yield "a spreadsheet would run as a formula starts with an apostrophe (`'=1+1`): remove it."
    yield from ["", f"License: {plain(release.licence) if release.licence else 'not stated.'}", ""]
    yield from ["Written by sfumato; `sfumato.json` lists every file with its SHA-256.", ""]
