"""The tables of a datasheet with their files, and `KnownFacts`, the facts about one question."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from sfumato.importers.label_file import read_labels_or_counts
from sfumato.labeling.screening import Screened
from sfumato.reporting.item_votes import ItemVotes
from sfumato.study.study import Study
from sfumato.study.study_file import read_study, study_path
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import no_rows
from sfumato.tables.files.atomic_write import sha256_of
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.scores import Scores
from sfumato.tables.soft_labels import SoftLabels

OPTIONS = ("labels", "annotations", "study", "counts", "beliefs", "inputs", "screening", "scores")
"""The options of the command."""


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
    counts: Counts | None = None
    beliefs: Beliefs | None = None
    inputs: Inputs | None = None
    screening: Screened | None = None
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
        counts: Path | None = None,
        beliefs: Path | None = None,
        inputs: Path | None = None,
        screening: Path | None = None,
        scores: Path | None = None,
    ) -> DatasheetSources:
        """Read the files; `labels` are SoftLabels or Counts, `study` is a file or a folder."""
        given = (labels, annotations, study_path(study) if study else None, counts, beliefs, inputs, screening, scores)
        table = read_labels_or_counts(labels)
        own = table if isinstance(table, Counts) else None
        return cls(
            table.labels() if isinstance(table, Counts) else table,
            Annotations.read(annotations) if annotations else None,
            read_study(study) if study else None,
            Counts.read(counts) if counts else own,
            Beliefs.read(beliefs) if beliefs else None,
            Inputs.read(inputs) if inputs else None,
            Screened.read(screening) if screening else None,
            Scores.read(scores) if scores else None,
            tuple((option, path) for option, path in zip(OPTIONS, given, strict=True) if path is not None),
        )

    def name_of(self, option: str) -> str:
        """The name of the file of `option`, else the option."""
        return next((path.name for known, path in self.paths if known == option), option)

    @property
    def people(self) -> Beliefs | Counts | None:
        """What people said about the items: their beliefs, else the counts of their votes."""
        return self.counts if self.beliefs is None else self.beliefs

    @property
    def people_option(self) -> str:
        """The option that `people` come from."""
        if self.beliefs is not None:
            return "beliefs"
        return "counts" if any(option == "counts" for option, _ in self.paths) else "labels"

    @cached_property
    def votes(self) -> ItemVotes | None:
        """The votes per item and class."""
        return None if self.people is None else ItemVotes.of(self.people)

    @cached_property
    def files(self) -> tuple[SourceFile, ...]:
        return tuple(SourceFile(name, p.name, p.stat().st_size, sha256_of(p)) for name, p in self.paths)

    def command(self, title: str, file: str) -> str:
        """The command that writes the datasheet, with file names only."""
        given = [word for option, path in self.paths for word in (f"--{option}", path.name)]
        return shlex.join(["sfumato", "datasheet", *given, "--title", title, "-o", file])


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
