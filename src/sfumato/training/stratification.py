"""Stratification: random parts of a training set in which classes and people's agreement have their shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from sfumato.tables.errors import BadSetting
from sfumato.training.training_set import TrainingSet

BY_CLASS, BY_AGREEMENT = "class", "agreement"
STRATIFY = (BY_CLASS, BY_AGREEMENT)
LEVELS = 5
"""Levels of agreement per class, where whole groups are divided."""


def labels_of(training_set: TrainingSet, rows: Int[np.ndarray, "some"]) -> TrainingSet:
    """Some items with their labels, without a copy of their inputs."""
    original, people = training_set.original, training_set.reference
    return TrainingSet(
        tuple(training_set.items[row] for row in rows),
        training_set.classes,
        None if original is None else original[rows],
        None if people is None else people[rows],
    )


def classes_of(training_set: TrainingSet) -> Int[np.ndarray, "items"]:
    """The class of each item: the original one, else people's first choice."""
    if training_set.original is not None:
        return training_set.original
    if training_set.reference is not None:
        return np.asarray(training_set.reference.argmax(axis=1))
    return np.zeros(training_set.n_items, np.int64)


def sorted_items(training_set: TrainingSet, by: str, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The items by class, and with `by` agreement by the probability of people's first choice; else in random order."""
    chance, label = rng.random(training_set.n_items), classes_of(training_set)
    if by == BY_CLASS:
        return np.lexsort((chance, label))
    return np.lexsort((chance, _agreement(training_set), label))


def parts_of_items(
    training_set: TrainingSet, shares: Sequence[float], by: str, rng: np.random.Generator
) -> Int[np.ndarray, "items"]:
    """The part of each item, if parts have these shares: every stratum contributes its share to every part.

    Among the items as `sorted_items` has them, each stretch in which a part gets one item gives it a random one.
    """
    n = training_set.n_items
    order = sorted_items(training_set, by, rng)
    part = np.full(n, len(shares) - 1, np.int64)
    free = order
    for number, share in enumerate(shares[:-1]):
        n_own = round(share * n)
        bounds = (np.arange(n_own + 1) * len(free)) // max(n_own, 1)
        # By class alone the order is random within a class: the first of each stretch is a random one.
        shift = rng.random(n_own) if by == BY_AGREEMENT else np.zeros(n_own)
        places = bounds[:-1] + (shift * np.diff(bounds)).astype(np.int64)
        part[free[places]] = number
        free = np.delete(free, places)
    return part


def folds_of_items(training_set: TrainingSet, k: int, by: str, rng: np.random.Generator) -> Int[np.ndarray, "items"]:
    """The fold of each item; fold sizes differ by at most one, over all items and in every stratum."""
    n = training_set.n_items
    order = sorted_items(training_set, by, rng)
    fold = np.empty(n, np.int64)
    if by == BY_CLASS:
        # Assigned in one pass over all classes, so that fold sizes differ by at most one.
        fold[order] = np.arange(n) % k
    else:
        # In the order of agreement, every k items go to the k folds in random order.
        rounds = rng.permuted(np.tile(np.arange(k), (-(-n // k), 1)), axis=1).ravel()
        fold[order] = rounds[:n]
    return fold


def parts_of_groups(
    training_set: TrainingSet,
    groups: Int[np.ndarray, "items"],
    shares: Sequence[float],
    by: str,
    rng: np.random.Generator,
) -> Int[np.ndarray, "items"]:
    """The part of each item, if parts have these shares and a group stays whole.

    The largest groups come first, in random order among groups of one size. Each goes to the part that has the least of
    the group's classes (and levels of agreement), relative to the part's share.
    """
    stratum = _strata(training_set, by)
    numbers, group = np.unique(groups, return_inverse=True)
    if len(numbers) < len(shares):
        found, expected = f"{len(numbers):,} groups for {len(shares)} parts", "at least one group per part"
        raise BadSetting(found, expected, "give smaller groups, or fewer folds", "too-few-items")
    counts = np.zeros((len(numbers), int(stratum.max()) + 1))
    np.add.at(counts, (group, stratum), 1)
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    share, filled = np.asarray(shares), np.zeros((len(shares), counts.shape[1]))
    part = np.empty(len(numbers), np.int64)
    for g in np.lexsort((rng.random(len(numbers)), -sizes)):
        own = counts[g] / totals
        # How full the part would be of the group's strata; equally full parts are compared over all items.
        full = ((filled + counts[g]) @ own) / share, (filled.sum(axis=1) + sizes[g]) / share
        part[g] = np.lexsort((np.round(full[1], 9), np.round(full[0], 9)))[0]
        filled[part[g]] += counts[g]
    return part[group]


def _strata(training_set: TrainingSet, by: str) -> Int[np.ndarray, "items"]:
    label = classes_of(training_set)
    if by == BY_CLASS:
        return label
    order = np.lexsort((_agreement(training_set), label))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(label[order], label[order])
    return np.asarray(label * LEVELS + place * LEVELS // np.bincount(label)[label])


def _agreement(training_set: TrainingSet) -> np.ndarray:
    if training_set.people is None:
        found, fix = "no labels of people for stratify=agreement", "give --labels, or use stratify=class"
        raise BadSetting(found, "people's label for every item", fix, "missing-source")
    # Rounded: 17 of 51 votes have one agreement, however they were summed.
    return np.asarray(np.round(training_set.people.max(axis=1), 9))
