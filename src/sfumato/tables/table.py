"""What every table can do: speak Arrow, be written, be looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from sfumato.tables.errors import MissingExtra
from sfumato.tables.files import CSV, ROW_GROUP, classes_metadata, kind_of, write_rows

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Table(ABC):
    """A frozen, checked table. Subclasses say what their rows look like; this class carries them out.

    `wide` asks for the shape of a CSV: one column a class (`p:cat`) instead of the list column `probs`.
    """

    classes: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        """Rows `start` to `stop` as plain Arrow columns."""

    def metadata(self) -> dict[bytes, bytes]:
        """What a file says about the whole table: the classes, in order."""
        return classes_metadata(self.classes)

    @final
    def to_arrow(self) -> pa.Table:
        """The table as it stands in a Parquet file, classes in the schema's metadata."""
        table = self.chunk(0, len(self), wide=False)
        return table.replace_schema_metadata(self.metadata())

    @final
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @final
    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars data frame."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    @final
    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame, one column a class."""
        if find_spec("pandas") is None:
            raise MissingExtra(
                "found no pandas",
                expected="pandas, for to_pandas()",
                fix="pip install pandas, or use to_polars() or to_arrow()",
                code="missing-extra",
            )
        return self.chunk(0, len(self), wide=True).to_pandas()

    @final
    def write(self, path: str | Path) -> None:
        """Write to `.parquet` or `.csv` (wide); the old file goes only when the new one is whole."""
        wide = kind_of(Path(path)) is CSV
        schema = self.chunk(0, 0, wide=wide).schema.with_metadata(self.metadata())
        write_rows(schema, self._chunks(wide), path)

    @property
    def plot(self) -> Any:
        """Charts of the table, for looking at it in a notebook: `labels.plot.entropy()` (needs the extra `report`)."""
        # By name, and when asked for: tables know nothing of reports, but who holds one wants to see it.
        return import_module("sfumato.reporting").plot(self)

    def _chunks(self, wide: bool) -> Iterator[pa.Table]:
        for start in range(0, len(self), ROW_GROUP):
            yield self.chunk(start, min(start + ROW_GROUP, len(self)), wide=wide)

    @final
    def _repr_html_(self) -> str:
        from sfumato.tables.notebook import table_html

        return table_html(self)

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        return f"<{type(self).__name__}: {len(self):,} rows{classes}>"
