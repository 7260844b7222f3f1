"""Facts about the data set and its uses: items, classes, labels, uncertainty, duplicates, scores."""

from __future__ import annotations

import shlex

import numpy as np
import pyarrow.compute as pc

from sfumato.aggregation.adaptive_study import study_doubt
from sfumato.evaluation.duplicates import find_duplicates
from sfumato.reporting.item_votes import mean_belief, measured_labels, only_some
from sfumato.reporting.phrases import NOT_IDENTIFIABLE, dissent_sentence, intervals_sentence, mean_figure
from sfumato.reporting.share.datasheet.datasheet_sources import (
    DatasheetSources,
    FactTable,
    KnownFacts,
    interval,
    spread,
)
from sfumato.reporting.share.markdown_escape import code
from sfumato.reporting.share.release_columns import UNKNOWN_ESTIMAND, class_rows
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.doubt import entropy
from sfumato.tables.estimand import Estimand
from sfumato.tables.scores import ALL
from sfumato.tables.soft_labels import SoftLabels

SAME = 1e-6
"""The largest difference at which labels count as the mean belief (files may round)."""
SHOWN_CLASSES, SHOWN_SCORES = 50, 30
N_BINS = 5


def items(sources: DatasheetSources) -> KnownFacts:
    """The number of items, and the size of the inputs."""
    points = [f"{len(sources.labels):,} labeled items."]
    inputs, files = sources.inputs, ["labels"]
    if inputs is not None:
        files.append("inputs")
        if inputs.images is not None:
            height, width, *channels = inputs.images.shape[1:]
            mode = "color" if channels == [3] else "gray"
            points.append(f"{len(inputs):,} {mode} images of {height} x {width} pixels.")
        elif inputs.texts is None:
            points.append(f"{len(inputs):,} inputs: {inputs.described()}.")
        else:
            lengths = np.array([len(text) for text in inputs.texts])
            points.append(f"{len(inputs):,} texts of {spread(lengths)} characters.")
        known, labeled = set(inputs.items), set(sources.labels.items.to_pylist())
        points += [f"{len(known - labeled):,} inputs have no label."] if known - labeled else []
        points += [f"{len(labeled - known):,} labeled items have no input."] if labeled - known else []
    return KnownFacts(tuple(points), files=tuple(files))


def classes(sources: DatasheetSources) -> KnownFacts:
    """Every class with its share of all probability, and the items for which it is most probable."""
    labels = sources.labels
    rows = [(code(name), f"{share:.2%}", f"{n:,}") for name, n, share in class_rows(labels)]
    points = [f"{len(labels.classes):,} classes{', ordered from the lowest to the highest' * labels.is_ordered}."]
    if len(rows) > SHOWN_CLASSES:
        points.append(f"The first {SHOWN_CLASSES}:")
    never = [code(name) for name, _, share in class_rows(labels) if share == 0]
    if never:
        points.append(f"Classes without any probability: {', '.join(never[:SHOWN_CLASSES])}.")
    heads = ("class", "share of all probability", "items with this most probable class")
    return KnownFacts(tuple(points), FactTable(heads, tuple(rows[:SHOWN_CLASSES])), files=("labels",))


def meaning(sources: DatasheetSources) -> KnownFacts:
    """The estimand of the labels, and whether they are the mean of the beliefs or votes."""
    estimand = sources.labels.estimand
    points = [UNKNOWN_ESTIMAND if estimand is None else f"Labels estimate {estimand.meaning}."]
    if estimand is Estimand.JUDGMENT:
        points.append("They keep uncertainty: with more annotators a label gets more precise, not more certain.")
    if estimand is Estimand.TRUTH:
        points.append("They converge to one class with more answers: the uncertainty is about the true class.")
    made_by = sources.labels.made_by
    points += [] if made_by is None else [f"They were made by {code(made_by)}."]
    is_known = estimand is not None and made_by is not None
    if sources.people is None:
        return KnownFacts(tuple(points), files=("labels",), settled=is_known)
    what = "people's beliefs" if sources.beliefs is not None else "the votes"
    apart = difference_from_mean(sources.labels, sources.people)
    is_mean = apart is not None and apart <= SAME
    if apart is None:
        points.append(f"The {what.split()[-1]} are about other items or classes than the labels.")
    elif is_mean:
        points.append(f"They are the mean of {what} (`mean`): no probability differs by more than {SAME:g}.")
    else:
        points.append(f"They are not the mean of {what}: probabilities differ by up to {apart:.3g}.")
    files = tuple(dict.fromkeys(("labels", sources.people_option)))
    return KnownFacts(tuple(points), files=files, settled=is_mean or is_known)


def difference_from_mean(labels: SoftLabels, people: Beliefs | Counts) -> float | None:
    """The largest difference between a label and the mean belief or vote; None if items or classes differ."""
    mean = mean_belief(people)
    row = pc.index_in(labels.items, value_set=mean.items)
    if row.null_count or set(labels.classes) != set(mean.classes):
        return None
    order = [mean.classes.index(name) for name in labels.classes]
    return float(np.abs(mean.probs[row.to_numpy()][:, order] - labels.probs).max())


def doubt(sources: DatasheetSources) -> KnownFacts:
    """The distribution of the labels' entropy and, from beliefs or counts, how often two people give different answers.

    One vote for one class cannot show uncertainty: such items do not count.
    """
    points, grid = _entropy_facts(sources.labels)
    people, votes = sources.people, sources.votes
    if people is None or votes is None:
        return KnownFacts(tuple(points), grid, files=("labels",), settled=False)
    found = study_doubt(people)
    points.append(votes.disagreement())
    if found.dissent is not None:
        only = f" This is over {votes.only_several()}." if votes.only_several() else ""
        points.append(f"{dissent_sentence(found)} {intervals_sentence(found)}{only}")
    if isinstance(people, Counts) or people.hard is not None:
        points.append("Answers name one class without a confidence: uncertainty within annotators is unknown.")
    elif found.within is not None:
        within = mean_figure(found.within, len(votes)).percent()
        rest = (
            "" if found.between is None else f"; between annotators {mean_figure(found.between, len(votes)).percent()}"
        )
        points.append(f"Within annotators, two draws from the same belief differ in {within} of cases{rest}.")
    option = sources.people_option
    command = f"sfumato doubt {shlex.quote(sources.name_of(option))}"
    return KnownFacts(tuple(points), grid, files=tuple(dict.fromkeys(("labels", option))), command=command)


def _entropy_facts(labels: SoftLabels) -> tuple[list[str], FactTable | None]:
    """The mean and the distribution of the labels' entropy."""
    measured, most = measured_labels(labels), float(np.log(len(labels.classes)))
    if not measured.any():
        return [NOT_IDENTIFIABLE], None
    probs = labels.probs[measured]
    nats = entropy(probs)
    quarters = ", ".join(f"{q:.3f}" for q in np.quantile(nats, (0.25, 0.5, 0.75)))
    points = [
        f"Entropy of a label: {nats.mean():.3f} nats on average, of at most {most:.3f} (quartiles {quarters}).",
        f"{(probs.max(axis=1) >= 1 - SAME).mean():.1%} of the labels have all probability on one class.",
    ]
    if not measured.all():
        points.append(f"These are figures of {only_some(measured)}: one vote cannot show disagreement.")
    edges = np.linspace(0, most, N_BINS + 1)
    counts, _ = np.histogram(np.clip(nats, 0, most), edges)
    rows = tuple(
        (f"{edges[k]:.2f} to {edges[k + 1]:.2f}", f"{counts[k]:,}", f"{counts[k] / len(nats):.1%}")
        for k in range(N_BINS)
    )
    return points, FactTable(("entropy, nats", "items", "share"), rows)


def annotators_per_item(sources: DatasheetSources) -> KnownFacts:
    """The number of annotators per item."""
    counts = sources.labels.n_annotators
    if counts is None:
        return KnownFacts()
    points = [f"{spread(counts)} annotators per item, {counts.mean():.2f} on average."]
    return KnownFacts(tuple(points), files=("labels",))


def missing(sources: DatasheetSources) -> KnownFacts:
    """Missing counts, times and labels."""
    labels, points = sources.labels, []
    if labels.n_annotators is None:
        points.append("The number of annotators per label is not recorded.")
    elif (labels.n_annotators == 0).any():
        points.append(f"{int((labels.n_annotators == 0).sum()):,} labels have no annotators: they are predictions.")
    answers = sources.annotations
    if answers is not None:
        without = int(np.isnan(answers.seconds).sum())
        if without:
            points.append(f"{without:,} of {len(answers):,} answers have no time.")
        is_labeled = pc.is_in(answers.item.names, value_set=labels.items).to_numpy(zero_copy_only=False)
        if not is_labeled.all():
            points.append(f"{int((~is_labeled).sum()):,} items have answers but no label.")
    return KnownFacts(tuple(points), files=("labels", *(["annotations"] if answers is not None else [])), settled=False)


def duplicates(sources: DatasheetSources) -> KnownFacts:
    """Exact and near duplicates."""
    if sources.inputs is None:
        return KnownFacts()
    found = find_duplicates({"inputs": sources.inputs})
    kinds = {kind: found.kind.count(kind) for kind in dict.fromkeys(found.kind)}
    points = [f"{n:,} pairs of {kind} duplicates." for kind, n in kinds.items()]
    points = points or [f"No exact or near duplicates among the {len(found.items):,} inputs."]
    if len(found):
        points.append(f"Removing {int(found.to_leave_out().sum()):,} items would leave one per group.")
    if found.n_of_other_labels():
        points.append(f"{found.n_of_other_labels():,} pairs have different original labels.")
    command = f"sfumato duplicates {sources.name_of('inputs')} -o pairs.csv"
    return KnownFacts(tuple(points), files=("inputs",), command=command)


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
        Estimand.JUDGMENT: "A label is how people judge, not what is true: it contains their shared errors.",
        Estimand.TRUTH: "A label estimates what is true: its uncertainty is not the share of people who disagree.",
        Estimand.PREDICTION: "A label is what a model predicts: it is not evidence of how people judge.",
    }
    estimand = sources.labels.estimand
    return KnownFacts() if estimand is None else KnownFacts((sentence[estimand],), files=("labels",))
