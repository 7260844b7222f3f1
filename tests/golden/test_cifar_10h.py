"""CIFAR-10H as published (Peterson et al. 2019)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato import SoftLabels
from sfumato.importers import Cifar10HImporter
from sfumato.labeling import OneHot
from sfumato.planning.goal_error import Criterion
from sfumato.planning.goals import Goal
from sfumato.planning.pilot_answers import Pilot
from sfumato.planning.recorded_answers import bayes
from sfumato.tables.doubt import entropy


def test_probabilities_elementwise(published: Path, cifar_10h: SoftLabels) -> None:
    counts = np.load(published / "cifar10h" / "counts.npz")["counts"]
    theirs = counts / counts.sum(axis=1, keepdims=True)
    assert cifar_10h.items.to_pylist() == [str(i) for i in range(10_000)]
    assert np.array_equal(cifar_10h.probs, theirs)
    assert cifar_10h.n_annotators is not None
    assert np.array_equal(cifar_10h.n_annotators, counts.sum(axis=1))


def test_votes(published: Path, cifar_10h: SoftLabels) -> None:
    n = cifar_10h.n_annotators
    original = Cifar10HImporter().read(published / "cifar10h").original
    assert n is not None
    assert original is not None
    assert (int(n.sum()), int(n.min()), int(n.max()), round(float(n.mean()), 1)) == (511_000, 47, 63, 51.1)
    truth = original.probs.argmax(axis=1)
    assert np.bincount(truth, weights=n).tolist() == [51_100] * 10


def test_entropy(cifar_10h: SoftLabels) -> None:
    doubt = entropy(cifar_10h.probs)
    assert round(float(doubt.mean()), 5) == 0.15446
    assert round(float(np.median(doubt)), 4) == 0.0950
    assert (round(float(doubt.max()), 4), int(doubt.argmax())) == (1.9825, 6750)


def test_majority(published: Path, cifar_10h: SoftLabels) -> None:
    original = Cifar10HImporter().read(published / "cifar10h").original
    assert original is not None
    agrees = cifar_10h.probs.argmax(axis=1) == original.probs.argmax(axis=1)
    assert round(100 * float(agrees.mean()), 2) == 99.21
    ordered = np.sort(cifar_10h.probs, axis=1)
    assert int((ordered[:, -1] == ordered[:, -2]).sum()) == 3


def test_how_many_classes_people_name(cifar_10h: SoftLabels) -> None:
    n_named = np.bincount((cifar_10h.probs > 0).sum(axis=1))
    assert n_named.tolist() == [0, 4393, 3322, 1334, 570, 257, 89, 23, 6, 3, 3]


def test_annotator_level_answers_as_beliefs(published: Path, cifar_10h: SoftLabels) -> None:
    """The annotator-level part is close to, not the same as, the published counts: 133 of its 500 images differ."""
    table = Cifar10HImporter(annotator_level=True).read(published / "cifar10h").table
    beliefs = OneHot().label(table)  # type: ignore[arg-type]
    assert beliefs.hard is not None
    counts = np.zeros((500, 10), int)
    np.add.at(counts, (beliefs.item.codes, beliefs.hard), 1)
    official = np.load(published / "cifar10h" / "counts.npz")["counts"][cifar_10h.rows_of(beliefs.item.names)]
    assert (counts.sum(), official.sum()) == (25_752, 25_606)
    assert int((counts != official).any(axis=1).sum()) == 133


def test_real_votes_come_out_as_a_plan_expects(cifar_10h: SoftLabels) -> None:
    """From 1,000 images to 1,500 others. What 25 votes take off the KL divergence in place of five is a difference of
    log-losses on the votes left over, which needs no truth; the squared distance has its own unbiased form."""
    rng = np.random.default_rng(0)
    counts = Pilot.of(cifar_10h).counts[rng.permutation(10_000)]
    pilot, others = Pilot(counts[:1_000]), counts[5_000:6_500].astype(np.int64)
    many = np.array([rng.multivariate_hypergeometric(row, 25) for row in others])
    few = np.array([rng.multivariate_hypergeometric(row, 5) for row in many]).astype(np.float64)
    left = (others - many).astype(np.float64)
    n_left = left.sum(axis=1, keepdims=True)
    saved = (left / n_left * (np.log(bayes(many.astype(np.float64))) - np.log(bayes(few)))).sum(axis=1)
    curve = Criterion(Goal.DISTRIBUTION).curve(pilot, n_items=1_500, most=25, rng=rng)
    expected = curve.at(5.0).value - curve.at(25.0).value
    assert abs(saved.mean() - expected) < 0.1 * expected + 2.5 * saved.std() / np.sqrt(len(saved))
    # |x/5 - y/n|^2 less what the votes left over add to it.
    off = ((few / 5 - left / n_left) ** 2).sum(axis=1) - (1 - ((left / n_left) ** 2).sum(axis=1)) / (n_left[:, 0] - 1)
    shares = Criterion(Goal.GEOMETRY).curve(pilot, n_items=1_500, most=5, rng=rng).at(5.0)
    assert abs(off.mean() - shares.value) < 0.1 * shares.value + 2.5 * off.std() / np.sqrt(len(off))
