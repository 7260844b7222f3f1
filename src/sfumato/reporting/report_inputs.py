"""Evidence: what a report of a study can be made of. Every part may be missing; a section without its own is left out.

`Evidence.read` finds the parts by their usual names in one folder, or where it is told; `evidence_files` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from sfumato.evaluation.comparison import Differences
from sfumato.planning.plan_file import Plan
from sfumato.reporting.blocks import Columns, DataSource
from sfumato.study.study import Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.inputs import Inputs
from sfumato.tables.scores import RunScores, Scores
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class Screened:
    """One entry an annotator of a screening table: who, whether set aside, and for which rules."""

    annotators: tuple[str, ...]
    set_aside: tuple[bool, ...]
    reasons: tuple[tuple[str, ...], ...]

    @cached_property
    def names_set_aside(self) -> tuple[str, ...]:
        return tuple(who for who, aside in zip(self.annotators, self.set_aside, strict=True) if aside)


@dataclass(frozen=True)
class Origin:
    """The file a part was read from, as a reader of the report would name it, its SHA-256 (empty for a folder), and
    the command that wrote it, where that is known."""

    file: str
    sha256: str = ""
    command: str = ""


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """What is known of a study, from the question to the models. All of it optional, all of it matched by names.

    The first of `labels` is the main one. `original` are the labels as published, one-hot or not. `splits` are inputs
    by the name of their split; `inputs` are those of the labelled items. `scores` are tables of `sfumato evaluate` by
    name, `columns` other tables as they stand in their files (`map`, `shifts`, `quality`,
    `intervals`, `duplicates`). `runs`,
    `shifted` and `attacked` are folders of `sfumato train`, `shift` and `attack`. `titles` are names to show instead
    of a part's own (of labels, targets); `origins` say where each part comes from, by its name here.
    """

    study: Study | None = None
    annotations: Annotations | None = None
    screening: Screened | None = None
    beliefs: Beliefs | None = None
    labels: Mapping[str, SoftLabels] = field(default_factory=dict)
    original: SoftLabels | None = None
    inputs: Inputs | None = None
    splits: Mapping[str, Inputs] = field(default_factory=dict)
    runs: Path | None = None
    shifted: Path | None = None
    attacked: Path | None = None
    scores: Mapping[str, Scores | RunScores] = field(default_factory=dict)
    comparison: Differences | None = None
    columns: Mapping[str, Columns] = field(default_factory=dict)
    plan: Plan | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        folder: str | Path | None = None,
        *,
        study: str | Path | None = None,
        annotations: str | Path | None = None,
        screening: str | Path | None = None,
        beliefs: str | Path | None = None,
        labels: str | Path | Mapping[str, str | Path] | None = None,
        original: str | Path | None = None,
        inputs: str | Path | None = None,
        splits: str | Path | Mapping[str, str | Path] | None = None,
        runs: str | Path | None = None,
        shifted: str | Path | None = None,
        attacked: str | Path | None = None,
        scores: str | Path | Mapping[str, str | Path] | None = None,
        comparison: str | Path | None = None,
        plan: str | Path | None = None,
        titles: Mapping[str, str] | None = None,
    ) -> ReportInputs:
        """What is found in `folder` under the usual names, and in the files that are named; these go before.

        Nothing found at all is an error that says what was looked for; so is a file that cannot be read.
        """
        from sfumato.reporting.report_files import read_evidence

        named = {
            "study": study, "annotations": annotations, "screening": screening, "beliefs": beliefs, "labels": labels,
            "original": original, "inputs": inputs, "splits": splits, "runs": runs, "shifted": shifted,
            "attacked": attacked, "scores": scores, "comparison": comparison, "plan": plan,
        }  # fmt: skip
        return read_evidence(folder, {part: place for part, place in named.items() if place is not None}, titles or {})

    @property
    def main_labels(self) -> SoftLabels | None:
        """The labels that the report is about."""
        return next(iter(self.labels.values()), None)

    @property
    def main_name(self) -> str:
        """What the main labels are called here; `labels` where there are none."""
        return next(iter(self.labels), "labels")

    @property
    def main_part(self) -> str:
        """The part that the main labels were read from, as `origins` names it."""
        own = f"labels/{self.main_name}"
        return own if own in self.origins else "labels"

    @cached_property
    def judged(self) -> Beliefs | None:
        """The beliefs of those who were not set aside."""
        if self.beliefs is None or self.screening is None or not self.screening.names_set_aside:
            return self.beliefs
        aside = set(self.screening.names_set_aside)
        kept = np.array([name not in aside for name in self.beliefs.annotator.names.to_pylist()], dtype=bool)
        return self.beliefs.take(kept[self.beliefs.annotator.codes])

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes: of the labels, else of the study, else of the beliefs or the answers; empty where none says."""
        labels = self.main_labels
        if labels is not None:
            return labels.classes
        if self.study is not None:
            return self.study.class_names
        return next((each.classes for each in (self.beliefs, self.annotations) if each is not None), ())

    def title_of(self, name: str) -> str:
        """What a part is called in the report."""
        return self.titles.get(name, name)

    def source(self, part: str, *, command: str = "", note: str = "") -> DataSource:
        """Where numbers made of `part` come from; `{file}` in `command` becomes the part's file.

        Without a command, the one that wrote the part, where it is known.
        """
        origin = self.origins.get(part, Origin(""))
        hashed = f"SHA-256 of the file: `{origin.sha256}`." if origin.sha256 else ""
        said = command.replace("{file}", origin.file or f"{part}.parquet") if command else origin.command
        return DataSource(said, origin.file, " ".join(each for each in (note, hashed) if each))
