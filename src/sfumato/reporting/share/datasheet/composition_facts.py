"""What the tables know of the set itself: items, classes, labels, doubt, duplicates."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from sfumato.reporting.share.datasheet.datasheet_sources import DatasheetSources, FactTable, KnownFacts, spread
from sfumato.reporting.share.markdown import code
from sfumato.reporting.share.release_columns import UNSAID
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import Estimand, SoftLabels

SAME = 1e-6
"""Labels that differ from the mean belief by no more are the mean belief, whatever file they went through."""
SHOWN_CLASSES = 50
N_BINS = 5


def items(sources: DatasheetSources) -> KnownFacts:
    """How many items, and of what make where inputs are given."""
    points = [f"{len(sources.labels):,} labelled items."]
    inputs, files = sources.inputs, ["labels"]
    if inputs is not None:
        files.append("inputs")
        if inputs.images is not None:
            height, width, *colours = inputs.images.shape[1:]
            shade = "in colour" if colours == [3] else "in grey"
            points.append(f"{len(inputs):,} images of {height} x {width} pixels, {shade}.")
        else:
            lengths = np.array([len(text) for text in inputs.texts or ()])
            points.append(f"{len(inputs):,} texts of {spread(lengths)} characters.")
        unlabelled = len(set(inputs.items) - set(sources.labels.items.to_pylist()))
        without = len(set(sources.labels.items.to_pylist()) - set(inputs.items))
        if unlabelled:
            points.append(f"{unlabelled:,} of the inputs have no label.")
        if without:
            points.append(f"{without:,} labelled items have no input in the file given.")
    return KnownFacts(tuple(points), files=tuple(files))


def classes(sources: DatasheetSources) -> KnownFacts:
    """Every class with its share of all probability, and of how many items it is most probable."""
    labels = sources.labels
    first = np.bincount(labels.probs.argmax(axis=1), minlength=len(labels.classes))
    shares = labels.probs.mean(axis=0)
    rows = [(code(name), f"{shares[k]:.2%}", f"{first[k]:,}") for k, name in enumerate(labels.classes)]
    points = [f"{len(labels.classes):,} classes."]
    if len(rows) > SHOWN_CLASSES:
        points.append(f"The first {SHOWN_CLASSES} of them:")
    never = [code(name) for name, share in zip(labels.classes, shares, strict=True) if share == 0]
    if never:
        points.append(f"Never given any probability: {', '.join(never[:SHOWN_CLASSES])}.")
    heads = ("class", "share of all probability", "items it is most probable of")
    return KnownFacts(tuple(points), FactTable(heads, tuple(rows[:SHOWN_CLASSES])), files=("labels",))


def meaning(sources: DatasheetSources) -> KnownFacts:
    """Which of the two targets the labels are, and whether they are the mean of the beliefs given."""
    estimand = sources.labels.estimand
    points = [UNSAID if estimand is None else f"Labels say {estimand.value}."]
    if estimand is Estimand.PEOPLE:
        points.append("They keep doubt: with more people a label gets more exact, not more certain.")
    if estimand is Estimand.TRUTH:
        points.append(
            "They collapse onto one class as answers come in: what doubt is left is about the class, not in people."
        )
    if sources.beliefs is None:
        return KnownFacts(tuple(points), files=("labels",), settled=False)
    apart = difference_from_mean(sources.labels, sources.beliefs)
    is_mean = apart is not None and apart <= SAME
    if apart is None:
        points.append("The beliefs given are about other items or classes than the labels.")
    elif is_mean:
        points.append(f"They are the mean of people's beliefs (`mean`): no probability differs by more than {SAME:g}.")
    else:
        points.append(f"They are not the plain mean of people's beliefs: a probability differs by up to {apart:.3g}.")
    return KnownFacts(tuple(points), files=("labels", "beliefs"), settled=is_mean)


def difference_from_mean(labels: SoftLabels, beliefs: Beliefs) -> float | None:
    """The largest difference between a label and the mean belief; None unless they are about the same."""
    row = pc.index_in(labels.items, value_set=beliefs.item.names)
    if row.null_count or set(labels.classes) != set(beliefs.classes):
        return None
    view = beliefs.coded()
    order = [beliefs.classes.index(name) for name in labels.classes]
    if view.hard is not None:
        cell = view.item.astype(np.int64) * view.n_classes + view.hard
        sums = np.bincount(cell, minlength=view.n_items * view.n_classes).reshape(-1, view.n_classes)
    else:
        assert view.soft is not None
        n = view.n_items
        sums = np.stack([np.bincount(view.item, weights=column, minlength=n) for column in view.soft.T], axis=1)
    mean = sums / np.bincount(view.item, minlength=view.n_items)[:, None]
    return float(np.abs(mean[row.to_numpy()][:, order] - labels.probs).max())


def doubt(sources: DatasheetSources) -> KnownFacts:
    """How entropy is spread over the items and, from beliefs, what it is made of."""
    labels = sources.labels
    nats, most = entropy(labels.probs), float(np.log(len(labels.classes)))
    quarters = ", ".join(f"{q:.3f}" for q in np.quantile(nats, (0.25, 0.5, 0.75)))
    points = [
        f"Entropy of a label: {nats.mean():.3f} nats on average, of at most {most:.3f} (quartiles {quarters}).",
        f"{(labels.probs.max(axis=1) == 1).mean():.1%} of the items have all probability on one class.",
    ]
    edges = np.linspace(0, most, N_BINS + 1)
    counts, _ = np.histogram(np.clip(nats, 0, most), edges)
    rows = tuple(
        (f"{edges[k]:.2f} to {edges[k + 1]:.2f}", f"{counts[k]:,}", f"{counts[k] / len(labels):.1%}")
        for k in range(N_BINS)
    )
    grid = FactTable(("entropy, nats", "items", "share"), rows)
    if sources.beliefs is None:
        return KnownFacts(tuple(points), grid, files=("labels",), settled=False)
    made = sources.beliefs.doubt()
    points.append(
        f"Doubt of the mean belief: {made.total.mean():.3f} nats = {made.within.mean():.3f} within people, who are"
        f" unsure, + {made.between.mean():.3f} between people, who disagree."
    )
    if sources.beliefs.hard is not None:
        points.append("Answers are hard votes, which cannot say who was unsure: all doubt stands between people.")
    return KnownFacts(
        tuple(points), grid, files=("labels", "beliefs"), command=f"sfumato doubt {sources.name_of('beliefs')}"
    )


def behind(sources: DatasheetSources) -> KnownFacts:
    """How many people stand behind a label."""
    counts = sources.labels.n_annotators
    if counts is None:
        return KnownFacts()
    points = [f"{spread(counts)} people an item, {counts.mean():.2f} on average."]
    return KnownFacts(tuple(points), files=("labels",))


def missing(sources: DatasheetSources) -> KnownFacts:
    """What a reader would look for in vain."""
    labels, points = sources.labels, []
    if labels.n_annotators is None:
        points.append("How many people stand behind a label is not recorded.")
    elif (labels.n_annotators == 0).any():
        points.append(
            f"{int((labels.n_annotators == 0).sum()):,} labels have nobody behind them: they are predictions."
        )
    answers = sources.annotations
    if answers is not None:
        without = int(np.isnan(answers.seconds).sum())
        if without:
            points.append(f"{without:,} of {len(answers):,} answers have no time.")
        unlabelled = pc.is_in(answers.item.names, value_set=labels.items).to_numpy(zero_copy_only=False)
        if not unlabelled.all():
            points.append(f"{int((~unlabelled).sum()):,} items were answered about and have no label.")
    return KnownFacts(tuple(points), files=("labels", *(["annotations"] if answers is not None else [])), settled=False)


def duplicates(sources: DatasheetSources) -> KnownFacts:
    """Items that are there twice, or nearly."""
    found = sources.duplicates
    if found is None:
        return KnownFacts()
    kinds = {kind: found.kind.count(kind) for kind in dict.fromkeys(found.kind)}
    points = [f"{n:,} {kind} pairs of duplicates." for kind, n in kinds.items()]
    points = points or [f"No duplicates among the {len(found.items):,} inputs, exact or near."]
    if len(found):
        points.append(f"Leaving out {int(found.to_leave_out().sum()):,} items would leave one of each.")
    if found.n_of_other_labels():
        points.append(f"{found.n_of_other_labels():,} pairs came with different classes.")
    command = f"sfumato duplicates {sources.name_of('inputs')} -o pairs.csv"
    return KnownFacts(tuple(points), files=("inputs",), command=command)
