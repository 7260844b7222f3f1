"""`csv`: a folder with one wide table, opened by everything, and a codebook that says what its columns mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.reporting.share.markdown import code, meanings, plain, table
from sfumato.reporting.share.release import Release, Shared
from sfumato.reporting.share.release_columns import (
    ANSWER_MEANINGS,
    BELIEF_MEANINGS,
    MEANINGS,
    class_rows,
    labelled_columns,
    summary,
)
from sfumato.tables.files import ROW_GROUP, write_rows
from sfumato.tables.files.atomic_write import atomic_folder, check_vacant, files_in
from sfumato.tables.files.png import png_bytes

PICTURES_A_FOLDER = 1000


@dataclass(frozen=True)
class WideCsv:
    """labels.csv with a column a class (`p:cat`), README.md and codebook.md; pictures are PNG files below `images/`.

    A cell that a spreadsheet would run as a formula begins with an apostrophe, as in all our CSV files; `sfumato` takes
    it off again when it reads one. Prefer another form where a program reads: types and exact ids are safe there.
    """

    name: ClassVar[str] = "csv"
    holds_answers: ClassVar[bool] = True

    def check_place(self, place: Path) -> None:
        check_vacant(place)

    def write(self, release: Release, place: Path) -> Shared:
        """Write the folder; one that stands there with other files in it is refused."""
        with atomic_folder(place, self.name) as folder:
            schema = pa.table(_columns(release, np.arange(0))).schema
            write_rows(schema, _chunks(release), folder / "labels.csv")
            if release.inputs is not None and release.inputs.images is not None:
                _write_pictures(release.inputs.images, folder)
            for name, beside in _beside(release):
                beside.write(folder / f"{name}.csv")
            (folder / "codebook.md").write_text("\n".join(_codebook(release, schema.names)), encoding="utf-8")
            (folder / "README.md").write_text("\n".join(_readme(release)), encoding="utf-8")
        return Shared(place, files_in(place), f'sfumato.SoftLabels.read("{place / "labels.csv"}")')


def _chunks(release: Release) -> Iterator[pa.Table]:
    for start in range(0, len(release.labels), ROW_GROUP):
        yield pa.table(_columns(release, np.arange(start, min(start + ROW_GROUP, len(release.labels)))))


def _columns(release: Release, rows: np.ndarray) -> dict[str, Any]:
    columns = labelled_columns(release, rows, wide=True)
    if release.inputs is not None and release.inputs.images is not None:
        columns = {"item": columns.pop("item"), "image": pa.array(map(_picture_name, rows), pa.string()), **columns}
    return columns


def _picture_name(row: int) -> str:
    """Where the picture of a row lies. By number, because an id may be no file name."""
    return f"images/{row // PICTURES_A_FOLDER:04d}/{row:07d}.png"


def _write_pictures(images: np.ndarray, folder: Path) -> None:
    for row, picture in enumerate(map(png_bytes, images)):
        path = folder / _picture_name(row)
        if row % PICTURES_A_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(picture)


def _beside(release: Release) -> list[tuple[str, Any]]:
    given = (("beliefs", release.beliefs), ("annotations", release.annotations))
    return [(name, each) for name, each in given if each is not None]


def _codebook(release: Release, names: list[str]) -> Iterator[str]:
    yield from ["# Codebook", "", "## labels.csv", ""]
    own = {"p:CLASS" if name.startswith("p:") else name for name in names}
    yield from [*meanings({name: MEANINGS[name] for name in MEANINGS if name in own}), ""]
    explained = {
        "beliefs": {name: BELIEF_MEANINGS[name] for name in ("item", "annotator", "p:CLASS")},
        "annotations": ANSWER_MEANINGS,
    }
    for name, _ in _beside(release):
        yield from [f"## {name}.csv", "", *meanings(explained[name]), ""]
    yield from ["## Classes", ""]
    rows = [(code(f"p:{name}"), f"{n:,}", f"{part:.4f}") for name, n, part in class_rows(release)]
    yield from [*table(("column", "items it is most probable of", "share of all probability"), rows), ""]


def _readme(release: Release) -> Iterator[str]:
    yield from [f"# {plain(release.title)}", "", *(f"- {plain(each)}" for each in summary(release)), ""]
    yield "`labels.csv` has one row an item; [codebook.md](codebook.md) says what every column means. UTF-8, commas,"
    yield "quoted where needed. Read the column `item` as text: a program that guesses turns `007` into 7 and `1e5`"
    yield "into 100000. A text that a spreadsheet would run as a formula begins with an apostrophe (`'=1+1`): take it"
    yield "off."
    yield from ["", f"Licence: {plain(release.licence) if release.licence else 'nobody has said.'}", ""]
    yield from ["Written by sfumato; `sfumato.json` lists every file with its SHA-256.", ""]
