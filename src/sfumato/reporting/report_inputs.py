"""The inputs of a report, all optional. `ReportInputs.read` finds them in a folder; `report_input_files` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from sfumato.labeling.camps import Camps, camps
from sfumato.labeling.screening import Screened
from sfumato.planning.plan_file import Plan
from sfumato.reporting.blocks import Columns, DataSource
from sfumato.reporting.item_votes import ItemVotes, mean_belief
from sfumato.study.study import Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import SfumatoError
from sfumato.tables.estimand import Estimand
from sfumato.tables.mean_doubt import MeanDoubt
from sfumato.tables.model_inputs import InputOptions, Inputs
from sfumato.tables.scores import Differences, RunScores, Scores
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class Origin:
    """The file an input was read from, its SHA-256 (empty for a folder), and the command that wrote it, if known."""

    file: str
    sha256: str = ""
    command: str = ""


@dataclass(frozen=True, eq=False)
class ReportInputs:
    """The tables and folders of a study, from the question to the models. All are optional and matched by item name.

    The first of `labels` is the main one. What people did is computed from their beliefs, counts or answers, never from
    labels, which may be smoothed. `original` are the published labels, one-hot or not. `inputs` are those of
    the labeled items, `splits` inputs by split. `scores` are tables of `sfumato evaluate` by name, `columns` other
    tables as in their files (`map`, `shifts`, `quality`, `intervals`, `duplicates`). `runs`, `shifted` and `attacked`
    are folders of `sfumato train`, `shift` and `attack`. `titles` are names to show instead of file names; `origins`
    are the files of all inputs, by field name.
    """

    study: Study | None = None
    annotations: Annotations | None = None
    screening: Screened | None = None
    beliefs: Beliefs | None = None
    counts: Counts | None = None
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
    notes: tuple[str, ...] = ()
    """Warnings about the files, for the reader of the report."""
    people: str = ""
    """The input that models are scored against, if the user named it: `labels`, `beliefs`, `annotations`, `counts`."""

    @property
    def parts(self) -> list[str]:
        """The names of the inputs that are there."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        others = ("titles", "origins", "notes", "people")
        return [name for name, value in given.items() if name not in others and value is not None and value != {}]

    def __repr__(self) -> str:
        return f"<ReportInputs: {', '.join(self.parts) or 'nothing'}>"

    @classmethod
    def read(
        cls,
        folder: str | Path | None = None,
        *,
        people: str | Path | None = None,
        study: str | Path | None = None,
        annotations: str | Path | None = None,
        screening: str | Path | None = None,
        beliefs: str | Path | None = None,
        counts: str | Path | None = None,
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
        reading: InputOptions | None = None,
    ) -> ReportInputs:
        """Read the files in `folder` with the usual names, and the files given, which take precedence.

        `people` is what models are scored against: labels, counts or single answers (Beliefs, Annotations). Without it,
        these are the single answers if they are known, else the labels. `reading` says how inputs are read. Raises if
        nothing is found or a file cannot be read.
        """
        from sfumato.reporting.report_input_files import read_evidence

        named = {
            "people": people,
            "study": study, "annotations": annotations, "screening": screening, "beliefs": beliefs, "counts": counts,
            "labels": labels, "original": original, "inputs": inputs, "splits": splits, "runs": runs,
            "shifted": shifted, "attacked": attacked, "scores": scores, "comparison": comparison, "plan": plan,
        }  # fmt: skip
        given = {part: place for part, place in named.items() if place is not None}
        return read_evidence(folder, given, titles or {}, reading or InputOptions())

    @property
    def main_labels(self) -> SoftLabels | None:
        """The labels that the report describes; without labels, the mean of the beliefs or votes."""
        return next(iter(self.labels.values()), self.mean_labels)

    @property
    def main_part(self) -> str:
        """The key of the main labels in `origins`."""
        return self._part_of(next(iter(self.labels), None))

    @property
    def people_name(self) -> str | None:
        """The name of the labels that models are scored against; None if these are the mean of the beliefs or votes.

        The single answers come first if they are known, unless they are not about all labeled items or the user named
        labels. Labels that estimate what is true, or are predictions, do not say how people judge.
        """
        others = (Estimand.TRUTH, Estimand.PREDICTION)
        found = next((name for name, each in self.labels.items() if each.estimand not in others), None)
        if found is None or self.people:
            return found if self.people in ("", "labels") else None
        return None if self._are_answered(self.labels[found]) else found

    def _are_answered(self, labels: SoftLabels) -> bool:
        """Whether the single answers about all labeled items are known."""
        judged = self.judged if self.beliefs is not None or self.annotations is not None else None
        if judged is None or not len(judged) or set(judged.classes) != set(labels.classes):
            return False
        return bool(pc.all(pc.is_in(labels.items, value_set=judged.item.names)).as_py())

    @property
    def people_labels(self) -> SoftLabels | None:
        """The labels that models are scored against; None if there are none of people."""
        name = self.people_name
        return self.mean_labels if name is None else self.labels[name]

    @property
    def people_answers(self) -> Beliefs | None:
        """The single answers that `people_labels` are the mean of; None if the labels are a table of their own, or it
        is not known who answered."""
        known = self.people_name is None and (self.beliefs is not None or self.annotations is not None)
        return self.judged if known and self.people_labels is not None else None

    @property
    def people_part(self) -> str:
        """The key of `people_labels` in `origins`."""
        return self._part_of(self.people_name)

    def _part_of(self, name: str | None) -> str:
        if name is None:
            return self.judged_part
        return f"labels/{name}" if f"labels/{name}" in self.origins else "labels"

    @cached_property
    def mean_labels(self) -> SoftLabels | None:
        """The mean of the beliefs, or the shares of the votes; None if neither is known."""
        if self.beliefs is None and self.annotations is None and self.counts is not None:
            return self.counts.labels()
        if self.judged is None or not len(self.judged):
            return None
        return mean_belief(self.judged)

    @property
    def excluded(self) -> frozenset[str]:
        """The annotators that screening excluded."""
        return frozenset() if self.screening is None else frozenset(self.screening.excluded)

    @cached_property
    def judged(self) -> Beliefs | None:
        """The beliefs of annotators who were not excluded; without beliefs, the counts as votes, or the answers."""
        if self.beliefs is None:
            return self._labeled() if self.counts is None else self.counts.votes()
        if not self.excluded:
            return self.beliefs
        return self.beliefs.take(~self.beliefs.annotator.among(set(self.excluded)))

    @property
    def judged_part(self) -> str:
        """The key of the file of `judged` in `origins`."""
        if self.beliefs is not None:
            return "beliefs"
        return "annotations" if self.counts is None else "counts"

    @cached_property
    def repeated(self) -> Beliefs | None:
        """The answers with their repeats as beliefs; None if nobody was asked twice, or they are not about classes."""
        if self.annotations is None or not self.annotations.purpose.among({"repeat"}).any():
            return None
        return self._labeled(repeats=True)

    def _labeled(self, *, repeats: bool = False) -> Beliefs | None:
        """The answers that count, by the usual labeler of their question type."""
        from sfumato.labeling.default_labeler import label_by_default

        if self.annotations is None:
            return None
        try:
            answers = self.annotations.counted(repeats=repeats).without(list(self.excluded))
            return label_by_default(answers) if len(answers) else None
        except SfumatoError:
            return None

    @cached_property
    def votes(self) -> ItemVotes | None:
        """The votes per item, from which everything about disagreement is computed; None if they are unknown."""
        judged = self.judged
        return ItemVotes.of(judged, self.judged_part) if judged is not None and len(judged) else None

    @cached_property
    def mean_doubt(self) -> MeanDoubt | None:
        """How often two people give different answers, on average; None if the votes are unknown."""
        # Loads SciPy's optimizers and distributions, which no other input needs.
        from sfumato.aggregation.adaptive_study import study_doubt

        judged = self.judged
        if judged is None or not len(judged):
            return None
        counts = self.counts if self.judged_part == "counts" else None
        return study_doubt(judged if counts is None else counts)

    @cached_property
    def camps(self) -> Camps | None:
        """Camps of annotators, as in `sfumato agreement --camps`; None if annotators are not known."""
        judged = self.judged
        if judged is None or not len(judged) or self.judged_part == "counts":
            return None
        return camps(judged, rng=np.random.default_rng(0))

    def title_of(self, name: str) -> str:
        """The name shown for a file."""
        return self.titles.get(name, name)

    def source(self, part: str, *, command: str = "", note: str = "") -> DataSource:
        """The source of numbers computed from `part`; `{file}` in `command` becomes the file of that part.

        Without a command, the one that wrote the file, if known.
        """
        origin = self.origins.get(part, Origin(""))
        sha256 = f"SHA-256 of the file: `{origin.sha256}`." if origin.sha256 else ""
        shown = command.replace("{file}", origin.file or f"{part}.parquet") if command else origin.command
        return DataSource(shown, origin.file, " ".join(each for each in (note, sha256) if each))
