"""The format `huggingface`: a folder with a card for `datasets.load_dataset(folder)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int

from sfumato.reporting.share.dataset_card import (
    CardPart,
    Config,
    Feature,
    card,
    class_label,
    numbers,
    picture,
    schema_of,
    text,
    value,
)
from sfumato.reporting.share.release import Release, Shared
from sfumato.reporting.share.release_columns import label_columns
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, show
from sfumato.tables.files.atomic_write import atomic_folder, check_vacant, files_in
from sfumato.tables.files.png import png_bytes

SHARD_BYTES = 256 * 2**20
GROUP_BYTES = 16 * 2**20
"""The approximate size of a file, and of a row group, before compression."""
SPLIT_NAME = re.compile(r"\w+(\.\w+)*")
RowsOf = Callable[[int, int], pa.Table]
"""Returns the rows from `start` to `stop` as a table."""


@dataclass(frozen=True)
class HuggingFace:
    """Parquet shards per split under `data/`, with images as PNG, and README.md as the card.

    Counts, beliefs and answers are separate configurations: `counts`, `beliefs`, `annotations`.
    """

    name: ClassVar[str] = "huggingface"
    holds_answers: ClassVar[bool] = True

    def check_place(self, place: Path) -> None:
        check_vacant(place)

    def write(self, release: Release, place: Path) -> Shared:
        """Write the folder. Raises if it exists with other files."""
        for name, _ in release.parts():
            if not SPLIT_NAME.fullmatch(name) or name == "all":
                expected = (
                    "letters, digits and underscores, and not 'all', which means every split in the datasets library"
                )
                raise BadTable(f"a split named {show(name)}", expected, "rename the split", "bad-split")
        with atomic_folder(place, self.name) as folder:
            configs = list(_write_configs(release, folder))
            (folder / "README.md").write_text(card(release, configs), encoding="utf-8")
        return Shared(place, files_in(place), f'datasets.load_dataset("{place}")')


def _write_configs(release: Release, folder: Path) -> Iterator[Config]:
    """Write every configuration, the labels first."""
    classes = release.labels.classes
    inputs = release.inputs
    content = [] if inputs is None else [text("text") if inputs.images is None else picture("image")]
    features = [
        text("item"), *content, class_label("label", classes), numbers("probs", len(classes)),
        value("n_annotators", pa.int32()), value("entropy", pa.float64()),
    ]  # fmt: skip
    labels = ((name, len(rows), _labels_between(release, rows)) for name, rows in release.parts())
    yield _write_config(folder, "labels", features, _row_bytes(release), release.labels.metadata(), labels)
    if release.counts is not None:
        features = [text("item"), numbers("counts", len(classes), "int32")]
        splits = ((name, len(rows), _counts_between(release.counts, rows)) for name, rows in release.parts())
        yield _write_config(folder, "counts", features, 4 * len(classes), release.counts.metadata(), splits)
    ids = [text("item"), text("annotator")]
    if release.beliefs is not None:
        features = [*ids, class_label("label", classes), numbers("probs", len(classes))]
        beliefs = ((name, release.beliefs.take(rows)) for name, rows in release.parts_of(release.beliefs.item))
        splits = ((name, len(kept), _beliefs_between(kept)) for name, kept in beliefs)
        yield _write_config(folder, "beliefs", features, 8 * len(classes), release.beliefs.metadata(), splits)
    if release.annotations is not None:
        stamp = pa.timestamp("ms", "UTC")
        answer = [text("kind"), text("payload"), value("trial", pa.int64()), text("purpose")]
        times = [value(name, stamp, "timestamp[ms, tz=UTC]") for name in ("started_at", "submitted_at")]
        columns = [*ids, *answer, *times, value("seconds", pa.float64())]
        answers = ((name, release.annotations.take(rows)) for name, rows in release.parts_of(release.annotations.item))
        splits = ((name, len(kept), partial(kept.chunk, wide=False)) for name, kept in answers)
        yield _write_config(folder, "annotations", columns, 200, release.annotations.metadata(), splits)


def _write_config(
    folder: Path,
    name: str,
    features: list[Feature],
    row_bytes: int,
    metadata: dict[bytes, bytes],
    splits: Iterable[tuple[str, int, RowsOf]],
) -> Config:
    """Write one configuration: each split, given with its number of rows, in shards whose number is in their names."""
    below = "data" if name == "labels" else name
    (folder / below).mkdir()
    schema = schema_of(features, metadata)
    per_shard, per_group = max(SHARD_BYTES // row_bytes, 1), max(GROUP_BYTES // row_bytes, 1)
    parts = []
    for split, n_rows, rows_of in splits:
        n_shards, n_bytes = max(-(-n_rows // per_shard), 1), 0
        for shard in range(n_shards):
            path = folder / below / f"{split}-{shard:05d}-of-{n_shards:05d}.parquet"
            with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
                for start in range(shard * per_shard, min((shard + 1) * per_shard, n_rows), per_group):
                    rows = rows_of(start, min(start + per_group, (shard + 1) * per_shard, n_rows))
                    rows = rows.select(schema.names).cast(schema)
                    n_bytes += rows.nbytes
                    writer.write_table(rows)
        parts.append(CardPart(split, n_rows, n_bytes))
    download_bytes = sum(path.stat().st_size for path in (folder / below).iterdir())
    return Config(name, below, tuple(features), tuple(parts), download_bytes)


def _labels_between(release: Release, rows: Int[np.ndarray, "rows"]) -> RowsOf:
    def between(start: int, stop: int) -> pa.Table:
        columns = label_columns(release, rows[start:stop], wide=False)
        if release.inputs is not None and release.inputs.images is not None:
            pictures = [png_bytes(image) for image in release.inputs.images[rows[start:stop]]]
            parts = [pa.array(pictures, pa.binary()), pa.nulls(stop - start, pa.string())]
            columns["image"] = pa.StructArray.from_arrays(parts, ["bytes", "path"])
        return pa.table(columns)

    return between


def _counts_between(counts: Counts, rows: Int[np.ndarray, "rows"]) -> RowsOf:
    def between(start: int, stop: int) -> pa.Table:
        own = rows[start:stop]
        votes = pa.FixedSizeListArray.from_arrays(pa.array(counts.counts[own].reshape(-1)), len(counts.classes))
        return pa.table({"item": counts.items.take(pa.array(own)), "counts": votes})

    return between


def _beliefs_between(beliefs: Any) -> RowsOf:
    def between(start: int, stop: int) -> pa.Table:
        rows = beliefs.chunk(start, stop, wide=False)
        probs = rows.column("probs").combine_chunks().flatten().to_numpy().reshape(stop - start, -1)
        return rows.append_column("label", pa.array(probs.argmax(axis=1), pa.int64()))

    return between


def _row_bytes(release: Release) -> int:
    """The approximate size of a row before compression."""
    size = 8 * len(release.labels.classes) + 64
    if release.inputs is not None and release.inputs.images is not None:
        return size + int(release.inputs.images[0].nbytes)
    if release.inputs is not None and release.inputs.texts is not None:
        return size + sum(map(len, release.inputs.texts)) // len(release.inputs)
    return size
