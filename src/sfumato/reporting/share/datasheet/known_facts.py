"""The facts that tables provide, by question: `FACTS`; and those about processing and uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfumato import __version__
from sfumato.reporting.share.datasheet import collection_facts, composition_facts
from sfumato.reporting.share.datasheet.datasheet_sources import DatasheetSources, FactTable, KnownFacts, interval
from sfumato.reporting.share.markdown import code
from sfumato.tables.scores import ALL
from sfumato.tables.soft_labels import Estimand

SHOWN_SCORES = 30


def steps(sources: DatasheetSources) -> KnownFacts:
    """Numbers of answers, beliefs and labels."""
    answers, beliefs, points = sources.annotations, sources.beliefs, []
    if answers is not None and beliefs is not None:
        points.append(f"{len(answers):,} answers gave {len(beliefs):,} beliefs.")
        left = len(answers.annotator.names) - len(beliefs.annotator.names)
        if left > 0:
            points.append(f"{left:,} annotators with answers are not in the beliefs.")
    if beliefs is not None:
        points.append(
            f"{len(beliefs):,} beliefs about {len(beliefs.item.names):,} items, and {len(sources.labels):,} labels."
        )
        points.append(
            "Beliefs are hard votes." if beliefs.hard is not None else "Beliefs are distributions, one per answer."
        )
    given = [name for name, table in (("annotations", answers), ("beliefs", beliefs)) if table is not None]
    return KnownFacts(tuple(points), files=(*given, "labels") if points else (), settled=False)


def raw(sources: DatasheetSources) -> KnownFacts:
    """The file of the raw answers."""
    if sources.annotations is None:
        return KnownFacts()
    return KnownFacts((f"Yes: {code(sources.name_of('annotations'))}, every answer as given.",), files=("annotations",))


def software(sources: DatasheetSources) -> KnownFacts:  # noqa: ARG001
    """The version of sfumato."""
    return KnownFacts((f"This datasheet: sfumato {__version__}.",))


def used(sources: DatasheetSources) -> KnownFacts:
    """The scores of predictions."""
    scores = sources.scores
    if scores is None or not len(scores):
        return KnownFacts()
    rows = [each for each in scores.rows() if each.condition == ALL] or scores.rows()
    grid = FactTable(
        ("metric", "condition", "value", "interval", "items"),
        tuple(
            (code(each.metric), each.condition, f"{each.value:.4f}", interval(each.low, each.high, 4),
             f"{each.n_items:,}")
            for each in rows[:SHOWN_SCORES]
        ),
    )  # fmt: skip
    return KnownFacts(("Predictions scored against these labels:",), grid, files=("scores",))


def unsuited(sources: DatasheetSources) -> KnownFacts:
    """The limits that follow from the estimand."""
    sentence = {
        Estimand.PEOPLE: "A label is how people judge, not what is true: it contains their shared errors.",
        Estimand.TRUTH: "A label estimates what is true: its uncertainty is not the share of people who disagree.",
    }
    estimand = sources.labels.estimand
    return KnownFacts() if estimand is None else KnownFacts((sentence[estimand],), files=("labels",))


FACTS: Mapping[str, Callable[[DatasheetSources], KnownFacts]] = {
    "items": composition_facts.items,
    "classes": composition_facts.classes,
    "labels": composition_facts.meaning,
    "doubt": composition_facts.doubt,
    "answers-per-item": composition_facts.annotators_per_item,
    "missing": composition_facts.missing,
    "duplicates": composition_facts.duplicates,
    "asked": collection_facts.questions,
    "people": collection_facts.people,
    "pay": collection_facts.pay,
    "when": collection_facts.when,
    "agreement": collection_facts.agreement,
    "set-aside": collection_facts.excluded,
    "consent": collection_facts.consent,
    "steps": steps,
    "raw": raw,
    "software": software,
    "used": used,
    "unsuited": unsuited,
}
"""By question id; for other questions tables provide nothing."""
