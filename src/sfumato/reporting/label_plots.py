"""`labels.plot`: the charts of a report, one by one, for notebooks.

    labels.plot.entropy()
    labels.plot.disputed(12, inputs=inputs)
    beliefs.plot.doubt()

Charts and galleries display themselves at the end of a cell; a chart has `svg()` and `png()` too. `plot(labels, ...)`
is the same with what else is known: the inputs, the original classes.

Forms compared, drawn: how far answers lie from the pooled label for the seconds that people spend on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import overload

from sfumato.planning.form_comparison import TOTAL_VARIATION, FormScores
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve
from sfumato.reporting.gallery import Gallery
from sfumato.reporting.page import Section
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting
from sfumato.tables.inputs import Inputs
from sfumato.tables.settings import at_least
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True, eq=False)
class LabelCharts:
    """Charts of SoftLabels."""

    labels: SoftLabels
    evidence: ReportInputs

    def entropy(self) -> Chart:
        """How much doubt the labels hold."""
        from sfumato.reporting.sections.labels import entropy_chart

        return entropy_chart(self.evidence, self.labels)

    def disputed(self, n: int = 12, *, inputs: Inputs | None = None) -> Gallery:
        """The `n` items with most doubt, with their pictures or texts where `inputs` are given."""
        from sfumato.reporting.sections.labels import disputed

        seen = self.evidence if inputs is None else replace(self.evidence, inputs=inputs)
        return disputed(seen, self.labels, at_least("n", n, 1))

    def confusion(self) -> Chart:
        """Which classes are taken for which."""
        from sfumato.reporting.sections.confusion import confusion_chart, taken

        return confusion_chart(self.evidence, taken(self.evidence, self.labels))

    def class_map(self) -> Chart:
        """The classes, near each other where labels share them."""
        from sfumato.reporting.sections.confusion import map_chart

        return map_chart(self.evidence, self.labels)

    def moved(self, n: int = 8) -> Gallery:
        """The items whose most probable class is furthest from the original one."""
        from sfumato.reporting.sections.label_changes import moved, striking

        if self.evidence.original is None:
            raise BadSetting(
                "found no original labels",
                expected="the labels that items came with",
                fix="give them: plot(labels, original=...)",
                code="no-original",
            )
        return striking(self.evidence, self.labels, moved(self.labels, self.evidence.original), at_least("n", n, 1))


@dataclass(frozen=True, eq=False)
class BeliefCharts:
    """Charts of Beliefs."""

    beliefs: Beliefs
    evidence: ReportInputs

    def doubt(self) -> Chart:
        """Doubt within and between people, item by item; class by class where nobody could say how sure they were."""
        from sfumato.reporting.sections.uncertainty import doubt_scatter

        if self.beliefs.soft is None:
            return self.doubt_by_class()
        return doubt_scatter(self.evidence, self.beliefs.doubt())

    def doubt_by_class(self) -> Chart:
        """Doubt within and between people, class by class."""
        from sfumato.reporting.sections.uncertainty import doubt_by_class

        found = doubt_by_class(self.evidence, self.beliefs, self.beliefs.doubt())
        return _only(found, "people put at least two classes first")

    def agreement(self) -> Chart:
        """How often two people agree, class by class."""
        from sfumato.reporting.sections.agreement import agreeing

        return _charts_of(agreeing(self.evidence), "agreement-by-class", "two people answered about the same items")


@dataclass(frozen=True, eq=False)
class AnswerCharts:
    """Charts of Annotations."""

    evidence: ReportInputs

    def seconds(self) -> Chart:
        """How long answers took."""
        from sfumato.reporting.sections.collection import asking

        return _charts_of(asking(self.evidence), "seconds", "the times of twenty answers or more are known")

    def session(self) -> Chart:
        """How long answers took over a session."""
        from sfumato.reporting.sections.collection import asking

        return _charts_of(asking(self.evidence), "session", "answers have times and are numbered")


@overload
def plot(table: SoftLabels, *, inputs: Inputs | None = ..., original: SoftLabels | None = ...) -> LabelCharts: ...
@overload
def plot(table: Beliefs) -> BeliefCharts: ...
@overload
def plot(table: Annotations) -> AnswerCharts: ...
def plot(
    table: SoftLabels | Beliefs | Annotations, *, inputs: Inputs | None = None, original: SoftLabels | None = None
) -> LabelCharts | BeliefCharts | AnswerCharts:
    """The charts of a table. `inputs` show items as they look; `original` are the labels they came with."""
    if isinstance(table, SoftLabels):
        return LabelCharts(table, ReportInputs(labels={"labels": table}, inputs=inputs, original=original))
    if isinstance(table, Beliefs):
        return BeliefCharts(table, ReportInputs(beliefs=table))
    if isinstance(table, Annotations):
        return AnswerCharts(ReportInputs(annotations=table))
    raise BadSetting(
        f"found a {type(table).__name__}",
        expected="SoftLabels, Beliefs or Annotations",
        fix="read the table first, with its class's read()",
        code="bad-setting",
    )


def _charts_of(section: Section | None, name: str, needed: str) -> Chart:
    blocks = () if section is None else section.blocks
    return _only([block for block in blocks if isinstance(block, Chart) and block.name == name], needed)


def _only(charts: list[Chart], needed: str) -> Chart:
    if not charts:
        raise BadSetting(
            "found nothing to draw", expected=f"data in which {needed}", fix="choose another chart", code="no-data"
        )
    return charts[0]


def form_curves(scores: FormScores, measure: str = TOTAL_VARIATION) -> Chart:
    """A line a form, a point a number of answers: annotator-seconds an item across, divergence and its interval up."""
    rows = [each for each in scores.scores if each.measure == measure]
    return curve(
        "forms",
        title=f"{measure[0].upper()}{measure[1:]} from the pooled label, by the seconds spent on an item",
        caption=f"{rows[0].n_items:,} items. A point more is an answer more; bands are 95% intervals for other items.",
        data={
            "form": [each.form for each in rows],
            "seconds": [each.seconds for each in rows],
            "divergence": [each.divergence for each in rows],
            "low": [each.low for each in rows],
            "high": [each.high for each in rows],
            "answers": [each.n_answers for each in rows],
        },
        x=Field("seconds", "annotator-seconds an item", ".3~g", log=True),
        y=Field("divergence", measure, ".3~g", zero=True),
        low="low",
        high="high",
        series="form",
        told=(Field("answers", "answers an item", "d"),),
    )
