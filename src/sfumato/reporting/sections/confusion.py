"""Report section: confusions between classes, as a matrix, as pairs, and as a map of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh
from scipy.stats import rankdata, spearmanr

from sfumato.reporting.blocks import Block, Column, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import point_map
from sfumato.reporting.charts.heat_map import confusion
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import SHARE, DisplayedEstimate, mean_of, short_names, shorten
from sfumato.reporting.report_inputs import ReportInputs, rows_by_name
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
    rank = rankdata(-similarity[above]) / len(above[0])
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
    return ClassMap(places, similarity, np.nan if is_flat else float(spearmanr(apart, rank).statistic))


TITLE = "Confusions between classes"
MAX_CLASSES = 12
N_PAIRS = 10
LEAST = 1e-6
FEW = 0.001
"""The smallest share that counts as a confusion: smoothed labels have a little of every class."""


@dataclass(frozen=True, eq=False)
class ClassConfusion:
    """Confusions between classes: `share[i, j]` is the mean share of class j in the labels of items of class i, NaN for
    classes without items. `rows` says how the class of an item is defined."""

    classes: tuple[str, ...]
    of_class: Int[np.ndarray, "items"]
    probs: Float[np.ndarray, "items classes"]
    rows: str

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
    """The confusions in `labels`: items by original class if known, else by most probable class."""
    original = evidence.original
    if original is not None and set(original.classes) <= set(labels.classes):
        at = rows_by_name(labels.items, original.items)
        number = np.array([labels.classes.index(name) for name in original.classes])
        if (at >= 0).any():
            best = number[original.probs.argmax(axis=1)]
            return ClassConfusion(labels.classes, best[at[at >= 0]], labels.probs[at >= 0], "its original class")
    return ClassConfusion(labels.classes, labels.probs.argmax(axis=1), labels.probs, "its most probable class")


def confusion_section(evidence: ReportInputs) -> Section | None:
    """The confusion matrix, the most confused pairs, and a map of the classes; None without labels of people: a label
    that estimates what is true does not say what people confuse."""
    labels = evidence.people_labels
    if labels is None or not len(labels) or len(labels.classes) < 2:
        return None
    found = class_confusion(evidence, labels)
    if found.away.max() < LEAST:
        return Section(TITLE, (Prose(("There are no confusions: every label has only the class of its item.",)),))
    if found.away.max() < FEW:
        text = f"There are hardly any confusions: no class has {FEW:.1%} or more of the labels of another class."
        return Section(TITLE, (Prose((text,)),))
    rest = mean_of(1 - found.probs[np.arange(len(found.of_class)), found.of_class], SHARE)
    mean = " The labels here are the mean of people's answers." if labels is evidence.mean_labels else ""
    text = (
        f"On average, {rest.percent()} of a label goes to other classes than the item's own. The class of an item is "
        f"{found.rows}.{mean}"
    )
    blocks: list[Block] = [Prose((text,)), confusion_chart(evidence, found), _pairs(evidence, found)]
    if len(labels.classes) > 2:
        blocks.append(map_chart(evidence, labels))
    return Section(TITLE, tuple(blocks))


def confusion_chart(evidence: ReportInputs, found: ClassConfusion) -> Chart:
    """The matrix as a heat map; of the most confused classes if there are many."""
    k = len(found.classes)
    order = np.argsort(-(found.away.sum(axis=1) + found.away.sum(axis=0)), kind="stable")
    kept = np.sort(order[:MAX_CLASSES])
    left = f" The {len(kept)} most confused of {k} classes; shares are among these." if len(kept) < k else ""
    i, j = divmod(int(found.away.argmax()), k)
    largest = f"{shorten(found.classes[i])} labeled as {shorten(found.classes[j])}, {found.pair(i, j).percent()}"
    return confusion(
        "confusion",
        title="Confusion matrix",
        caption=f"Rows: the class of an item ({found.rows}). Columns: the mean share of each class in the labels."
        f"{left} The largest confusion is {largest}.",
        classes=short_names([found.classes[each] for each in kept], 12),
        matrix=np.nan_to_num(found.share[np.ix_(kept, kept)]),
        source=evidence.source(evidence.people_part, note=f"Rows: {found.rows}."),
    )


def _pairs(evidence: ReportInputs, found: ClassConfusion) -> ReportTable:
    order = np.argsort(-found.away, axis=None, kind="stable")[:N_PAIRS]
    cells = [divmod(int(cell), len(found.classes)) for cell in order if found.away.flat[cell] > LEAST]
    both = [found.pair(i, j) for i, j in cells]
    back = [found.pair(j, i) for i, j in cells]
    return ReportTable(
        "confused-pairs",
        "Most confused pairs",
        "The mean share of the label that goes to the other class, in both directions, with 95% intervals over items.",
        (
            Column("class", tuple(shorten(found.classes[i]) for i, _ in cells)),
            Column("labeled as", tuple(shorten(found.classes[j]) for _, j in cells)),
            Column("share", tuple(each.percent() for each in both)),
            Column("items", tuple(each.n for each in both), 0),
            Column("reverse share", tuple(each.percent() if each.n else "no items" for each in back)),
        ),
        evidence.source(evidence.people_part, note=f"The class of an item is {found.rows}."),
    )


def map_chart(evidence: ReportInputs, labels: SoftLabels) -> Chart:
    """The map of classes."""
    made = class_map(labels.probs)
    above = np.triu_indices(len(labels.classes), 1)
    best = int(made.similarity[above].argmax())
    pair = " and ".join(shorten(labels.classes[int(side[best])]) for side in above)
    fit = f" The rank correlation between distance and similarity is {made.fit:.2f}; 1 would be a perfect map."
    return point_map(
        "class-map",
        title="Map of the classes",
        caption="Classes are close to each other if the same labels give probability to both; most similar are "
        f"{pair}."
        f"{fit * (made.fit == made.fit)} Directions have no meaning.",
        data={"class": list(labels.classes), "x": made.places[:, 0].round(6), "y": made.places[:, 1].round(6)},
        x="x",
        y="y",
        of="class",
        source=evidence.source(evidence.people_part, note="Torgerson's scaling of the ranks of all pairs of classes."),
    )
