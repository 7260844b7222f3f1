"""`labels.plot`: the charts of a report for notebooks; and the chart of `sfumato study compare`.

    labels.plot.entropy()
    labels.plot.disputed(12, inputs=inputs)
    beliefs.plot.doubt()

Charts and galleries display themselves at the end of a cell. `plot(labels, inputs=..., original=...)` gives the same
charts with more data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

from sfumato.planning.form_comparison import TOTAL_VARIATION, FormScores
from sfumato.reporting.blocks import Block, attributes
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.gallery import Gallery
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import capitalized
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import agreement_section
from sfumato.reporting.sections.collection import collection_section
from sfumato.reporting.sections.confusion import class_confusion, confusion_chart, map_chart
from sfumato.reporting.sections.label_changes import changed_gallery, changed_majority
from sfumato.reporting.sections.labels import disputed, entropy_chart
from sfumato.reporting.sections.uncertainty import doubt_by_class, doubt_scatter
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.setting_checks import at_least
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True, eq=False)
class LabelCharts:
    """Charts of SoftLabels."""

    labels: SoftLabels
    evidence: ReportInputs

    def entropy(self) -> Chart:
        """The distribution of the labels' entropy."""
        return entropy_chart(self.evidence, self.labels)

    def disputed(self, n: int = 12, *, inputs: Inputs | None = None) -> Gallery:
        """The `n` items with the highest entropy, with images or texts if `inputs` are given."""
        evidence = self.evidence if inputs is None else replace(self.evidence, inputs=inputs)
        return disputed(evidence, self.labels, at_least("n", n, 1))

    def confusion(self) -> Chart:
        """The mean label of each class, as a matrix."""
        return confusion_chart(self.evidence, class_confusion(self.evidence, self.labels))

    def class_map(self) -> Chart:
        """A map of the classes; classes that often share a label are close to each other."""
        return map_chart(self.evidence, class_confusion(self.evidence, self.labels))

    def changed_majority(self, n: int = 8) -> Gallery:
        """The items whose most probable class differs most from the original one."""
        if self.evidence.original is None:
            expected, fix = "the original labels of the items", "call plot(labels, original=...)"
            raise BadSetting("no original labels", expected, fix, "no-original")
        found = changed_majority(self.labels, self.evidence.original)
        return changed_gallery(self.evidence, self.labels, found, at_least("n", n, 1))


@dataclass(frozen=True, eq=False)
class BeliefCharts:
    """Charts of Beliefs."""

    beliefs: Beliefs
    evidence: ReportInputs

    def doubt(self) -> Chart:
        """Uncertainty within and between annotators per item; per class if answers are single classes."""
        if self.beliefs.soft is None:
            return self.doubt_by_class()
        return doubt_scatter(self.evidence, self.beliefs.doubt())

    def doubt_by_class(self) -> Chart:
        """Uncertainty within and between annotators per class."""
        found = doubt_by_class(self.evidence, self.beliefs, self.beliefs.doubt())
        return _named(found, "doubt-by-class", "annotators chose at least two classes")

    def agreement(self) -> Chart:
        """How often two annotators agree, per class."""
        needed = "two annotators answered about the same items"
        return _named(agreement_section(self.evidence), "agreement-by-class", needed)


@dataclass(frozen=True, eq=False)
class AnswerCharts:
    """Charts of Annotations."""

    evidence: ReportInputs

    def seconds(self) -> Chart:
        """Time per answer."""
        return _named(collection_section(self.evidence), "seconds", "at least 20 answers have times")

    def session(self) -> Chart:
        """Time per answer over a session."""
        return _named(collection_section(self.evidence), "session", "answers have times and are numbered")


@overload
def plot(table: SoftLabels, *, inputs: Inputs | None = ..., original: SoftLabels | None = ...) -> LabelCharts: ...
@overload
def plot(table: Beliefs) -> BeliefCharts: ...
@overload
def plot(table: Annotations) -> AnswerCharts: ...
def plot(
    table: SoftLabels | Beliefs | Annotations, *, inputs: Inputs | None = None, original: SoftLabels | None = None
) -> LabelCharts | BeliefCharts | AnswerCharts:
    """The charts of a table. `inputs` are shown in galleries; `original` are the original labels."""
    if isinstance(table, SoftLabels):
        return LabelCharts(table, ReportInputs(labels={"labels": table}, inputs=inputs, original=original))
    if isinstance(table, Beliefs):
        return BeliefCharts(table, ReportInputs(beliefs=table))
    if isinstance(table, Annotations):
        return AnswerCharts(ReportInputs(annotations=table))
    raise BadSetting(
        f"a {type(table).__name__}", "SoftLabels, Beliefs or Annotations",
        "read the table first, for example with SoftLabels.read(path)",
    )  # fmt: skip


def _named(blocks: Section | Sequence[Block] | None, name: str, needed: str) -> Chart:
    """The chart of this name; an error if the data was not enough for it."""
    for block in blocks.blocks if isinstance(blocks, Section) else blocks or ():
        if isinstance(block, Chart) and block.name == name:
            return block
    raise BadSetting("nothing to draw", f"data in which {needed}", "choose another chart", "no-data")


def form_curves(scores: FormScores) -> Chart:
    """One line per form, one point per number of answers: divergence with interval by annotator-seconds per item."""
    rows = [each for each in scores.scores if each.measure == TOTAL_VARIATION]
    return curve(
        "forms",
        title=f"{capitalized(TOTAL_VARIATION)} from the pooled label by seconds per item",
        caption=f"{rows[0].n_items:,} items. Each point adds one answer; bands are 95% intervals over items.",
        data={
            **attributes(rows, "form", "seconds", "divergence", "low", "high"),
            "answers": [each.n_answers for each in rows],
        },
        x=Field("seconds", "annotator-seconds per item", ".3~g", log=True),
        y=Field("divergence", TOTAL_VARIATION, ".3~g", zero=True),
        low="low",
        high="high",
        series="form",
        tooltip=(Field("answers", "answers per item", "d"),),
    )
