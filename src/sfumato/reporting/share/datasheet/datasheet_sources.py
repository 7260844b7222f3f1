"""The tables of a datasheet with their files, and `KnownFacts`, the facts about one question."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from sfumato.evaluation.duplicates import Duplicates, find_duplicates
from sfumato.labeling.agreement import agreement
from sfumato.labeling.agreement.measure import AgreementTable
from sfumato.labeling.screening import read_excluded
from sfumato.study.study import Study
from sfumato.study.study_file import read_study, study_path
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import no_rows
from sfumato.tables.files.atomic_write import sha256_of
from sfumato.tables.files.table_file import check_columns, read_rows
from sfumato.tables.inputs import Inputs
from sfumato.tables.scores import Scores
from sfumato.tables.soft_labels import SoftLabels

OPTIONS = ("labels", "annotations", "study", "beliefs", "inputs", "screening", "scores")
"""The options of the command."""


@dataclass(frozen=True)
class ScreenedOut:
    """The excluded annotators (`set_aside`), the number of annotators, and the count of each reason."""

    n_people: int
    set_aside: tuple[str, ...]
    reasons: dict[str, int]


@dataclass(frozen=True)
class SourceFile:
    """A source file: its option, name, size and hash."""

    option: str
    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, eq=False)
class DatasheetSources:
    """The tables; only labels are required. `paths` are their files."""

    labels: SoftLabels
    annotations: Annotations | None = None
    study: Study | None = None
    beliefs: Beliefs | None = None
    inputs: Inputs | None = None
    screening: ScreenedOut | None = None
    scores: Scores | None = None
    paths: tuple[tuple[str, Path], ...] = ()

    def __post_init__(self) -> None:
        for option, table in (("labels", self.labels), ("annotations", self.annotations), ("beliefs", self.beliefs)):
            if table is not None and not len(table):
                where = next((path for known, path in self.paths if known == option), None)
                raise no_rows(f"at least one row of {option}", "check how the file was made, or omit it", where)

    @classmethod
    def read(
        cls,
        labels: Path,
        *,
        annotations: Path | None = None,
        study: Path | None = None,
        beliefs: Path | None = None,
        inputs: Path | None = None,
        screening: Path | None = None,
        scores: Path | None = None,
    ) -> DatasheetSources:
        """Read the files; `study` is a file or a folder."""
        given = (labels, annotations, study_path(study) if study else None, beliefs, inputs, screening, scores)
        return cls(
            SoftLabels.read(labels),
            Annotations.read(annotations) if annotations else None,
            read_study(study) if study else None,
            Beliefs.read(beliefs) if beliefs else None,
            Inputs.read(inputs) if inputs else None,
            read_screening(screening) if screening else None,
            Scores.read(scores) if scores else None,
            tuple((option, path) for option, path in zip(OPTIONS, given, strict=True) if path is not None),
        )

    def name_of(self, option: str) -> str:
        """The name of the file of `option`, else the option."""
        return next((path.name for known, path in self.paths if known == option), option)

    @cached_property
    def files(self) -> tuple[SourceFile, ...]:
        return tuple(SourceFile(name, p.name, p.stat().st_size, sha256_of(p)) for name, p in self.paths)

    def command(self, title: str, file: str) -> str:
        """The command that writes the datasheet, with file names only."""
        given = [word for option, path in self.paths for word in (f"--{option}", path.name)]
        return shlex.join(["sfumato", "datasheet", *given, "--title", title, "-o", file])

    @cached_property
    def agreement(self) -> AgreementTable | None:
        """The output of `sfumato agreement`, with the same seed."""
        return agreement(self.beliefs, rng=np.random.default_rng(0)) if self.beliefs is not None else None

    @cached_property
    def duplicates(self) -> Duplicates | None:
        """The output of `sfumato duplicates`."""
        return find_duplicates({"inputs": self.inputs}) if self.inputs is not None else None


def read_screening(path: Path) -> ScreenedOut:
    """A table of `sfumato screen`."""
    excluded = tuple(read_excluded(path))
    rows = read_rows(path)
    check_columns(rows, ("annotator", "set_aside", "reasons"))
    n_people, counts = 0, dict[str, int]()
    for chunk in rows.chunks:
        n_people += len(chunk)
        texts: list[Any] = chunk.column("reasons").to_pylist()
        for reason in (each for text in texts for each in (text or "").split("; ") if each):
            counts[reason] = counts.get(reason, 0) + 1
    return ScreenedOut(n_people, excluded, counts)


@dataclass(frozen=True)
class FactTable:
    """A small table of texts."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KnownFacts:
    """Sentences, with an optional table and quotation; their files, and the command that shows them (empty: that of
    the datasheet)."""

    points: tuple[str, ...] = ()
    grid: FactTable | None = None
    quote: str = ""
    files: tuple[str, ...] = ()
    command: str = ""
    settled: bool = True
    """Whether the facts answer the question; if not, the author is asked."""

    def __bool__(self) -> bool:
        return bool(self.points or self.grid or self.quote)


def interval(low: float, high: float, places: int) -> str:
    """`0.716 to 0.754`; a dash if there is none."""
    return "–" if np.isnan(low) or np.isnan(high) else f"{low:.{places}f} to {high:.{places}f}"


def spread(values: Shaped[np.ndarray, "values"]) -> str:
    """Whole numbers as text: `3 to 9 (median 5)`, or one number if all are equal."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,} (median {np.median(values):g})"
