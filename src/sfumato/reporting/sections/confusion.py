"""Report section: confusions between classes, as a matrix, as pairs, and as a map of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh

from sfumato.evaluation.rank_correlation import average_ranks, spearman
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import point_map
from sfumato.reporting.charts.heat_map import confusion
from sfumato.reporting.item_votes import ItemVotes, rows_by_name
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import SHARE, DisplayedEstimate, counted, mean_of, short_names, shorten
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True, eq=False)
class ClassMap:
    """Positions of classes on a plane. `fit` is the rank correlation between distances on the map and similarities of
    classes, with the sign reversed: 1 for a perfect map, NaN if undefined."""

    places: Float[np.ndarray, "classes 2"]
    similarity: Float[np.ndarray, "classes classes"]
    fit: float


def class_map(probs: Float[np.ndarray, "items classes"]) -> ClassMap:
    """The map of some labels' classes.

    Two classes are similar if labels give probability to both: `s_ij = sum p_i p_j / sqrt(sum p_i^2 sum p_j^2)` over
    items. Torgerson's scaling (1952) of the ranks of all pairs gives the two strongest dimensions. Ranks are used
    because most similarities are close to 0.
    """
    norms = np.sqrt((probs**2).sum(axis=0))
    similarity = probs.T @ probs / np.maximum(norms[:, None] * norms[None, :], 1e-300)
    k = probs.shape[1]
    if k < 3:
        return ClassMap(np.column_stack([np.arange(k, dtype=np.float64), np.zeros(k)]), similarity, np.nan)
    above = np.triu_indices(k, 1)
    rank = average_ranks(-similarity[above]) / len(above[0])
    distance = np.zeros((k, k))
    distance[above] = rank
    distance += distance.T
    centering = np.eye(k) - 1 / k
    values, vectors = eigh(-0.5 * centering @ distance**2 @ centering)
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    # Signs of eigenvectors are arbitrary: the first class that is not in the middle is placed right and above.
    signs = np.array([np.sign(axis[np.argmax(np.abs(axis) > 1e-9)]) or 1.0 for axis in places.T])
    places = places * signs
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[above]
    is_flat = np.ptp(apart) < 1e-12 or np.ptp(rank) < 1e-12
    return ClassMap(places, similarity, np.nan if is_flat else spearman(apart, rank))


TITLE = "Confusions between classes"
LABELS_TITLE = "Classes within labels"
"""The title without votes: labels do not say what people confuse."""
MAX_CLASSES = 12
N_PAIRS = 10
LEAST = 1e-6
FEW = 0.001
"""The smallest share that counts as a confusion."""


@dataclass(frozen=True, eq=False)
class ClassConfusion:
    """Confusions between classes: `share[i, j]` is the mean share of class j in the votes about items of class i (in
    their labels if `votes` is False), NaN for classes without items. `rows` says how the class of an item is defined,
    `part` is the input that the shares come from."""

    classes: tuple[str, ...]
    of_class: Int[np.ndarray, "items"]
    probs: Float[np.ndarray, "items classes"]
    rows: str
    part: str
    votes: bool = False

    @cached_property
    def share(self) -> Float[np.ndarray, "classes classes"]:
        k = len(self.classes)
        sums = np.stack([np.bincount(self.of_class, weights=column, minlength=k) for column in self.probs.T], axis=1)
        n = np.bincount(self.of_class, minlength=k)[:, None]
        return np.asarray(np.divide(sums, n, out=np.full((k, k), np.nan), where=n > 0))

    @cached_property
    def away(self) -> Float[np.ndarray, "classes classes"]:
        """The shares of other classes; 0 on the diagonal and for classes without items."""
        return np.asarray(np.nan_to_num(self.share) * (1 - np.eye(len(self.classes))))

    def pair(self, i: int, j: int) -> DisplayedEstimate:
        """The share of class j for items of class i, with its interval over items."""
        return mean_of(self.probs[self.of_class == i, j], SHARE)


def class_confusion(evidence: ReportInputs, labels: SoftLabels) -> ClassConfusion:
    """The classes within `labels`: items by original class if known, else by most probable class."""
    return _by_original(evidence, labels, evidence.people_part) or ClassConfusion(
        labels.classes, labels.probs.argmax(axis=1), labels.probs, "its most probable class", evidence.people_part
    )


def vote_confusion(evidence: ReportInputs, votes: ItemVotes) -> ClassConfusion | None:
    """The confusions in votes: items by original class if known, else by most frequent class; then only items with at
    least two annotators count, because one vote is always for the most frequent class. None if there are none."""
    shares = votes.shares()
    found = _by_original(evidence, shares, votes.part)
    if found is not None:
        return replace(found, votes=True)
    several = votes.several[votes.n_annotators > 0]
    if not several.any():
        return None
    some = "" if several.all() else f"; only the {counted(int(several.sum()), 'item')} with two or more annotators"
    rows, probs = f"its most frequent class, of ties the first{some}", shares.probs[several]
    return ClassConfusion(votes.classes, probs.argmax(axis=1), probs, rows, votes.part, votes=True)


def _by_original(evidence: ReportInputs, labels: SoftLabels, part: str) -> ClassConfusion | None:
    """Items by original class; None if it is unknown."""
    original = evidence.original
    if original is None or not set(original.classes) <= set(labels.classes):
        return None
    at = rows_by_name(labels.items, original.items)
    number = np.array([labels.classes.index(name) for name in original.classes])
    if not (at >= 0).any():
        return None
    best = number[original.probs.argmax(axis=1)]
    return ClassConfusion(labels.classes, best[at[at >= 0]], labels.probs[at >= 0], "its original class", part)


def confusion_section(evidence: ReportInputs) -> Section | None:
    """The confusion matrix, the most confused pairs, and a map of the classes, from votes. Without votes, the same of
    the labels of people, described as labels. None without both, and if no item has two votes."""
    votes, labels = evidence.votes, evidence.people_labels
    if votes is not None:
        found = vote_confusion(evidence, votes)
    else:
        found = class_confusion(evidence, labels) if labels is not None and len(labels) else None
    if found is None or len(found.classes) < 2:
        return None
    title = TITLE if found.votes else LABELS_TITLE
    if found.away.max() < LEAST:
        every = "There are no confusions: every vote is for" if found.votes else "Every label has only"
        return Section(title, (Prose((f"{every} the class of its item.",)),))
    if found.away.max() < FEW:
        hardly, what = ("There are hardly any confusions: no", "votes") if found.votes else ("No", "labels")
        return Section(title, (Prose((f"{hardly} class has {FEW:.1%} or more of the {what} of another class.",)),))
    rest = mean_of(1 - found.probs[np.arange(len(found.of_class)), found.of_class], SHARE)
    if found.votes:
        text = f"On average, {rest.percent()} of the votes about an item are for other classes than its own."
    else:
        text = (
            f"On average, {rest.percent()} of a label goes to other classes than the item's own. This describes the "
            "labels, which may be smoothed; what people confuse is unknown without their votes."
        )
    text += f" The class of an item is {found.rows}."
    if evidence.judged is not None and evidence.judged.soft is not None:
        text += " The vote of an annotator is the most probable class of the belief."
    blocks: list[Block] = [Prose((text,)), confusion_chart(evidence, found), _pairs(evidence, found)]
    if len(found.classes) > 2:
        blocks.append(map_chart(evidence, found))
    return Section(title, tuple(blocks))


def confusion_chart(evidence: ReportInputs, found: ClassConfusion) -> Chart:
    """The matrix as a heat map; of the most confused classes if there are many."""
    k = len(found.classes)
    order = np.argsort(-(found.away.sum(axis=1) + found.away.sum(axis=0)), kind="stable")
    kept = np.sort(order[:MAX_CLASSES])
    most = "most confused" if found.votes else "most mixed"
    left = f" The {len(kept)} {most} of {k} classes; shares are among these." if len(kept) < k else ""
    i, j = divmod(int(found.away.argmax()), k)
    one, other, share = shorten(found.classes[i]), shorten(found.classes[j]), found.pair(i, j).percent()
    if found.votes:
        columns, largest = "votes", f"The largest confusion is {one} labeled as {other}, {share}."
    else:
        columns, largest = "labels", f"The largest share of another class is {other} in the labels of {one}, {share}."
    return confusion(
        "confusion",
        title="Confusion matrix" if found.votes else "Mean label of each class",
        caption=f"Rows: the class of an item ({found.rows}). Columns: the mean share of each class in the {columns}."
        f"{left} {largest}",
        classes=short_names([found.classes[each] for each in kept], 12),
        matrix=np.nan_to_num(found.share[np.ix_(kept, kept)]),
        source=evidence.source(found.part, note=f"Rows: {found.rows}."),
    )


def _pairs(evidence: ReportInputs, found: ClassConfusion) -> ReportTable:
    order = np.argsort(-found.away, axis=None, kind="stable")[:N_PAIRS]
    cells = [divmod(int(cell), len(found.classes)) for cell in order if found.away.flat[cell] > LEAST]
    both = [found.pair(i, j) for i, j in cells]
    back = [found.pair(j, i) for i, j in cells]
    what = "votes that are for" if found.votes else "label that goes to"
    return ReportTable(
        "confused-pairs",
        "Most confused pairs" if found.votes else "Largest shares of other classes",
        f"The mean share of the {what} the other class, in both directions, with 95% intervals over items.",
        (
            Column("class", tuple(shorten(found.classes[i]) for i, _ in cells)),
            Column("labeled as" if found.votes else "other class", tuple(shorten(found.classes[j]) for _, j in cells)),
            Column("share", tuple(each.percent() for each in both)),
            Column("items", tuple(each.n for each in both), 0),
            Column("reverse share", tuple(each.percent() if each.n else "no items" for each in back)),
        ),
        evidence.source(found.part, note=f"The class of an item is {found.rows}."),
    )


def map_chart(evidence: ReportInputs, found: ClassConfusion) -> Chart:
    """The map of classes."""
    made = class_map(found.probs)
    above = np.triu_indices(len(found.classes), 1)
    best = int(made.similarity[above].argmax())
    pair = " and ".join(shorten(found.classes[int(side[best])]) for side in above)
    fit = f" The rank correlation between distance and similarity is {made.fit:.2f}; 1 would be a perfect map."
    same = "the same items have votes for" if found.votes else "the same labels give probability to"
    return point_map(
        "class-map",
        title="Map of the classes",
        caption=f"Classes are close to each other if {same} both; most similar are {pair}."
        f"{fit * (made.fit == made.fit)} Directions have no meaning.",
        data={"class": list(found.classes), "x": made.places[:, 0].round(6), "y": made.places[:, 1].round(6)},
        x="x",
        y="y",
        of="class",
        source=evidence.source(found.part, note="Torgerson's scaling of the ranks of all pairs of classes."),
    )
