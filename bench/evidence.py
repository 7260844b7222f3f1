"""Aggregators that estimate how people judge: tables of docs/aggregate.md.

    SFUMATO_DATA=/path/to/data python bench/evidence.py [--only NAME] [--write docs/aggregate.md]

Prints Markdown tables, and computes every number in them: `people` (CIFAR-10S beliefs against CIFAR-10H votes),
`heldout` (CIFAR-10S beliefs against those of other people), `minority` and `minority-votes` (simulated beliefs and
votes with a minority view) and `halves` (CIFAR-10H votes against other votes). `--write` writes them into a page,
between `<!-- evidence: NAME -->` and `<!-- end -->`. Takes about two minutes on two cores. Methods that estimate the
true class are compared in `crowds.py`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from pages import markdown, write
from sfumato import Beliefs, Counts, SoftLabels
from sfumato.aggregation import (
    Aggregator,
    Bayes,
    DawidSkene,
    LogPool,
    Mean,
    MixturePool,
    ReliabilityPool,
)
from sfumato.importers import Cifar10HImporter, Cifar10SImporter
from sfumato.labeling import TopTwoClamp
from sfumato.tables.errors import warnings_off

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
SPAM, SPAM_SEEDS = 0.3, range(5)
N_LABELS = (1, 2, 3, 5, 7, 9, 10, 11, 13, 15, 20, 25)
N_SPLITS = 3
REQUIRED_LABELS = 11
CONSTANTS = np.geomspace(0.001, 3, 81)


def number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}"


# people: CIFAR-10S beliefs against CIFAR-10H


def divergence(q: np.ndarray, p: np.ndarray) -> float:
    """Mean KL(q || 0.999 p + 0.001 / K), where q is people's distribution."""
    p = 0.999 * p + 0.001 / p.shape[1]
    return float(np.where(q > 0, q * np.log(np.where(q > 0, q, 1) / p), 0).sum(axis=1).mean())


def with_probs(beliefs: Beliefs, probs: np.ndarray) -> Beliefs:
    """The same answers with other distributions."""
    items, annotators = beliefs.item.text().to_pylist(), beliefs.annotator.text().to_pylist()
    return Beliefs.from_probs(item=items, annotator=annotators, probs=probs, classes=beliefs.classes)


def with_spam(beliefs: Beliefs, share: float, seed: int) -> Beliefs:
    """The beliefs with this share of the annotators replaced by random answers, Dirichlet(1)."""
    rng = np.random.default_rng(seed)
    n_annotators = len(beliefs.annotator.names)
    bad = rng.permutation(n_annotators)[: round(share * n_annotators)]
    rows = np.isin(beliefs.annotator.codes, bad)
    probs = beliefs.probs.copy()
    probs[rows] = rng.dirichlet(np.ones(probs.shape[1]), rows.sum())
    return with_probs(beliefs, probs)


def hardened(beliefs: Beliefs) -> Beliefs:
    """Every belief as a vote for its most probable class."""
    return with_probs(beliefs, np.eye(len(beliefs.classes))[beliefs.probs.argmax(axis=1)])


@dataclass(frozen=True)
class PeopleRow:
    """A row of the table `people`."""

    name: str
    by: Aggregator
    reference: str = ""
    votes: bool = False

    def divergence(self, beliefs: Beliefs, people: SoftLabels) -> float:
        labels = self.by.aggregate(hardened(beliefs) if self.votes else beliefs).labels
        return divergence(people.probs[people.rows_of(labels.items)], labels.probs)


PEOPLE_ROWS = (
    PeopleRow("`mean` of hard votes", Mean(), "0.536 / 0.821", votes=True),
    PeopleRow("`mean`", Mean(), "0.212 / 0.430"),
    PeopleRow("`log-pool`", LogPool()),
    PeopleRow("`reliability-pool`", ReliabilityPool(), "0.209 / 0.335"),
    PeopleRow("`mixture-pool`", MixturePool(), "0.194 / 0.249"),
    PeopleRow("`bayes`", Bayes()),
    PeopleRow("`dawid-skene` (not meant for this)", DawidSkene()),
)


def people() -> str:
    answers, votes = Cifar10SImporter().read(DATA / "cifar10s").table, Cifar10HImporter().read(DATA / "cifar10h").table
    assert isinstance(votes, Counts)
    crowd = votes.labels()
    clean = TopTwoClamp().label(answers)
    spammed = [with_spam(clean, SPAM, seed) for seed in SPAM_SEEDS]
    rows = []
    for row in PEOPLE_ROWS:
        on_spam = float(np.mean([row.divergence(beliefs, crowd) for beliefs in spammed]))
        rows.append([row.name, number(row.divergence(clean, crowd)), number(on_spam), row.reference])
    return markdown(["aggregator", "as collected", "30% spam", "reference (as collected / spam)"], rows)


# halves: votes of CIFAR-10H against other votes


@dataclass(frozen=True)
class Half:
    """Half of the votes on each image in random order, and the counts of the other half."""

    image: np.ndarray
    label: np.ndarray
    place: np.ndarray
    other: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray, seed: int) -> Half:
        n_votes = counts.sum(axis=1)
        image = np.repeat(np.arange(len(counts)), n_votes)
        label = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())
        label = label[np.lexsort((np.random.default_rng(seed).random(len(label)), image))]
        place = np.arange(len(image)) - np.repeat(np.cumsum(n_votes) - n_votes, n_votes)
        first = place < np.repeat(n_votes // 2, n_votes)
        other = np.zeros(counts.shape)
        np.add.at(other, (image[~first], label[~first]), 1)
        return cls(image[first], label[first], place[first], other)

    def sample(self, n_labels: int) -> Beliefs:
        """`n_labels` votes per image, without replacement; all votes of images that have fewer."""
        kept = self.place < n_labels
        classes = [str(k) for k in range(self.other.shape[1])]
        return Beliefs.from_votes(
            item=self.image[kept], annotator=self.place[kept], label=self.label[kept], classes=classes
        )

    def log_loss(self, probs: np.ndarray) -> float:
        """The mean log-loss over the votes of the other half."""
        return -float((self.other * np.log(probs)).sum() / self.other.sum())


def votes_of(beliefs: Beliefs) -> np.ndarray:
    counts = np.zeros((len(beliefs.item.names), len(beliefs.classes)))
    np.add.at(counts, (beliefs.item.codes, beliefs.hard), 1)
    return counts


def smoothing_losses(half: Half, beliefs: Beliefs) -> np.ndarray:
    """The log-loss of add-constant smoothing for each of `CONSTANTS`."""
    counts = votes_of(beliefs)
    smoothed = ((counts + a) / (counts + a).sum(axis=1, keepdims=True) for a in CONSTANTS)
    return np.array([half.log_loss(p) for p in smoothed])


def labels_needed(curve: Sequence[float], loss: float) -> float:
    """The labels per image at which a falling curve over `N_LABELS` reaches `loss`, by linear interpolation."""
    at = next((i for i, value in enumerate(curve) if value <= loss), None)
    if at is None or at == 0:
        return float("nan") if at is None else float(N_LABELS[0])
    step = (curve[at - 1] - loss) / (curve[at - 1] - curve[at])
    return N_LABELS[at - 1] + step * (N_LABELS[at] - N_LABELS[at - 1])


def halves() -> str:
    counts = np.load(DATA / "cifar10h" / "counts.npz")["counts"].astype(np.int64)
    smoothing, bayes = np.zeros((len(N_LABELS), len(CONSTANTS))), np.zeros(len(N_LABELS))
    for seed in range(N_SPLITS):
        half = Half.of(counts, seed)
        for i, n_labels in enumerate(N_LABELS):
            beliefs = half.sample(n_labels)
            smoothing[i] += smoothing_losses(half, beliefs) / N_SPLITS
            bayes[i] += half.log_loss(Bayes().aggregate(beliefs).labels.probs) / N_SPLITS
    best = smoothing.min(axis=1)
    rows = [
        [str(n_labels), number(best[i], 4), number(CONSTANTS[smoothing[i].argmin()]), number(bayes[i], 4)]
        for i, n_labels in enumerate(N_LABELS)
    ]
    table = markdown(["labels per image", "best smoothing", "its constant added", "`bayes`"], rows)
    needed = labels_needed(bayes.tolist(), best[-1])
    verdict = "" if needed <= REQUIRED_LABELS else "; MISSED"
    return (
        f"{table}\n\nWhat the best smoothing reaches with {N_LABELS[-1]} labels per image, `bayes` reaches with"
        f" {needed:.1f} (required: at most {REQUIRED_LABELS}{verdict})."
    )


# minority: simulated beliefs with a minority that sees some items differently


MINORITY_STUDIES = 20


@dataclass(frozen=True)
class SimulatedBeliefs:
    """60 annotators with 30 beliefs each about 180 items of four classes, and what people believe on average.

    `world` is `alike`, `minority` (35% see 35% of the items as another class) or `random` (30% answer at random, and
    are not among the people of the average). With `votes` everybody gives a vote, drawn from their distribution.
    """

    beliefs: Beliefs
    average: np.ndarray

    @classmethod
    def drawn(cls, world: str, seed: int, *, votes: bool = False) -> SimulatedBeliefs:
        rng = np.random.default_rng([seed, 35])
        n, n_items, n_classes = 60, 180, 4
        item, who = np.concatenate([rng.choice(n_items, 30, False) for _ in range(n)]), np.repeat(np.arange(n), 30)
        usual, clear = rng.integers(0, n_classes, n_items), rng.normal(2, 1, n_items)
        utility = np.eye(n_classes)[usual] * clear[:, None] + rng.normal(0, 0.4, (n_items, n_classes))
        other = utility.copy()
        few, share = np.arange(n) < {"minority": 21, "random": 18}.get(world, 0), 0.35 if world == "minority" else 0.0
        if world == "minority":
            differently = np.roll(np.eye(n_classes)[usual], 1, axis=1) * np.abs(clear)[:, None]
            other = np.where((rng.random(n_items) < 0.35)[:, None], differently, utility)
        first, second = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (utility, other))
        center = 8 * np.where(few[who][:, None], second[item], first[item])
        if world == "random":
            center[few[who]] = 1
        if votes:
            chance = np.cumsum(center / center.sum(axis=1, keepdims=True), axis=1)
            said = (chance[:, :-1] < rng.random(len(item))[:, None]).sum(axis=1)
            center = 1e6 * np.eye(n_classes)[said]
        belief = rng.standard_gamma(np.maximum(center, 0.05))
        belief = np.maximum(belief, 1e-12) / np.maximum(belief, 1e-12).sum(axis=1, keepdims=True)
        names = [f"{each:03}" for each in item], [f"{each:02}" for each in who]
        given = belief.argmax(axis=1) if votes else belief
        beliefs = Beliefs.from_numpy(*names, given, [str(k) for k in range(n_classes)])
        order = [int(name) for name in beliefs.item.names.to_pylist()]
        return cls(beliefs, ((1 - share) * first + share * second)[order])


def distance(q: np.ndarray, p: np.ndarray) -> float:
    """Mean total variation."""
    return float(np.abs(q - p).sum(axis=1).mean() / 2)


def _pools(score: Callable[[np.ndarray, np.ndarray], float], methods: Sequence[Aggregator], *, votes: bool) -> str:
    """The mean score of each method against what people believe on average, in three worlds."""
    worlds = ("alike", "minority", "random")
    studies = {
        world: [SimulatedBeliefs.drawn(world, seed, votes=votes) for seed in range(MINORITY_STUDIES)]
        for world in worlds
    }
    rows = []
    for by in methods:
        row = [f"`{by.name}`"]
        for world in worlds:
            with warnings_off():
                found = [score(each.average, by.aggregate(each.beliefs).labels.probs) for each in studies[world]]
            row.append(f"{np.mean(found):.3f} ± {2 * np.std(found) / np.sqrt(len(found)):.3f}")
        rows.append(row)
    return markdown(["aggregator", "everybody alike", "a minority of 35%", "30% answer at random"], rows)


def minority() -> str:
    """Beliefs: the mean KL divergence from what people believe on average."""
    return _pools(divergence, (Mean(), LogPool(), ReliabilityPool(), MixturePool(), Bayes()), votes=False)


def minority_votes() -> str:
    """Votes: the mean KL divergence, and the total variation, from how people vote on average."""
    methods = (Mean(), ReliabilityPool(), MixturePool(), Bayes())
    tables = [_pools(score, methods, votes=True) for score in (divergence, distance)]
    return f"KL divergence:\n\n{tables[0]}\n\nTotal variation:\n\n{tables[1]}"


# heldout: beliefs of CIFAR-10S against those of other people


HELDOUT_SPLITS, HELDOUT_GIVEN = 3, 3


def heldout() -> str:
    """Three beliefs per image predict the beliefs of the other people: mean log-loss, and the entropy of the labels."""
    beliefs = TopTwoClamp().label(Cifar10SImporter().read(DATA / "cifar10s").table)
    item, who = (np.array(column.text().to_pylist()) for column in (beliefs.item, beliefs.annotator))
    methods = (Mean(), ReliabilityPool(), MixturePool(), Bayes())
    found = np.zeros((len(methods), 2))
    for seed in range(HELDOUT_SPLITS):
        order = np.lexsort((np.random.default_rng(seed).random(len(item)), item))
        place = np.empty(len(item), np.int64)
        starts = np.flatnonzero(np.append(True, item[order][1:] != item[order][:-1]))
        place[order] = np.arange(len(item)) - np.repeat(starts, np.diff(np.append(starts, len(item))))
        given = place < HELDOUT_GIVEN
        some = Beliefs.from_probs(
            item=item[given].tolist(),
            annotator=who[given].tolist(),
            probs=beliefs.probs[given],
            classes=beliefs.classes,
        )
        for i, by in enumerate(methods):
            with warnings_off():
                labels = by.aggregate(some).labels
            p = labels.probs[labels.rows_of(pa.array(item[~given]))]
            p = 0.999 * p + 0.001 / p.shape[1]
            entropy = -np.where(labels.probs > 0, labels.probs * np.log(np.maximum(labels.probs, 1e-300)), 0)
            found[i] += (-(beliefs.probs[~given] * np.log(p)).sum(axis=1).mean(), entropy.sum(axis=1).mean())
    rows = [[f"`{by.name}`", *map(number, row / HELDOUT_SPLITS)] for by, row in zip(methods, found, strict=True)]
    return markdown(["aggregator", "log-loss of other people's beliefs", "entropy of the labels"], rows)


TABLES = {"people": people, "heldout": heldout, "minority": minority, "minority-votes": minority_votes}
TABLES |= {"halves": halves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    for name, table in TABLES.items():
        if options.only in (None, name):
            text = table()
            print(f"## {name}\n\n{text}\n", flush=True)
            if options.write:
                write(options.write, name, text)


if __name__ == "__main__":
    main()
