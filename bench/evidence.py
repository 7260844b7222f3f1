"""Aggregators on published data: the tables of docs/aggregate.md.

    SFUMATO_DATA=/path/to/data python bench/evidence.py [--only NAME] [--write docs/aggregate.md]

Prints five Markdown tables, and computes every number in them: `people` (CIFAR-10S beliefs against CIFAR-10H votes),
`minority` (simulated beliefs with a minority view), `halves` (CIFAR-10H votes against other votes), `truth`
(crowdsourced votes against known classes, compared with crowd-kit), and `calibration`. `--write` writes them into a
page, between `<!-- evidence: NAME -->` and `<!-- end -->`. Takes three to four minutes on two cores, mostly for
crowd-kit; needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pages import markdown, write
from sfumato import Beliefs, Counts, SoftLabels
from sfumato.aggregation import (
    Aggregation,
    Aggregator,
    Bayes,
    DawidSkene,
    Glad,
    LogPool,
    Mace,
    Majority,
    Mean,
    MixturePool,
    OneCoin,
    ReliabilityPool,
    Spectral,
    Wawa,
    ZeroBasedSkill,
    calibrate,
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
WITH_TRUTH = ("bluebird", "dog", "rte", "weather-cf", "sentiment-sp-amt", "face-sentiment")
ANESTHESIA = "anesthesia"
PUBLISHED_SHARES = np.array([0.40, 0.42, 0.11, 0.07])
"""Shares of the four classes according to Dawid and Skene (1979)."""
FLOOR = 1e-6


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
    are not among the people of the average).
    """

    beliefs: Beliefs
    average: np.ndarray

    @classmethod
    def drawn(cls, world: str, seed: int) -> SimulatedBeliefs:
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
        belief = rng.standard_gamma(np.maximum(center, 0.05))
        belief = np.maximum(belief, 1e-12) / np.maximum(belief, 1e-12).sum(axis=1, keepdims=True)
        names = [f"{each:03}" for each in item], [f"{each:02}" for each in who]
        beliefs = Beliefs.from_numpy(*names, belief, [str(k) for k in range(n_classes)])
        order = [int(name) for name in beliefs.item.names.to_pylist()]
        return cls(beliefs, ((1 - share) * first + share * second)[order])


def minority() -> str:
    """The mean KL divergence of the pools from what people believe on average."""
    rows = []
    worlds = ("alike", "minority", "random")
    studies = {world: [SimulatedBeliefs.drawn(world, seed) for seed in range(MINORITY_STUDIES)] for world in worlds}
    for by in (Mean(), LogPool(), ReliabilityPool(), MixturePool()):
        row = [f"`{by.name}`"]
        for world in worlds:
            with warnings_off():
                found = [divergence(each.average, by.aggregate(each.beliefs).labels.probs) for each in studies[world]]
            row.append(f"{np.mean(found):.3f} ± {2 * np.std(found) / np.sqrt(len(found)):.3f}")
        rows.append(row)
    return markdown(["aggregator", "everybody alike", "a minority of 35%", "30% answer at random"], rows)


# truth: crowdsourced votes against known classes, compared with crowd-kit


Score = tuple[float, ...]


def score_text(score: Sequence[float]) -> str:
    return " / ".join(map(number, score))


@dataclass(frozen=True)
class CrowdSet:
    """Votes, and the true class of every item in the order of the beliefs (None if there is no ground truth)."""

    name: str
    beliefs: Beliefs
    truth: np.ndarray | None
    votes: Any

    @classmethod
    def read(cls, name: str) -> CrowdSet:
        frame = pl.read_csv(DATA / "crowd" / f"{name}.csv.gz")
        beliefs = Beliefs.from_votes(item=frame["item"], annotator=frame["worker"], label=frame["label"])
        votes = frame.select(task="item", worker="worker", label="label")
        if "truth" not in frame.columns:
            return cls(name, beliefs, None, votes)
        known = dict(zip(frame["item"].cast(pl.String), frame["truth"].cast(pl.String), strict=True))
        truth = [beliefs.classes.index(known[item]) for item in beliefs.item.names.to_pylist()]
        return cls(name, beliefs, np.array(truth), votes)

    def score(self, probs: np.ndarray, *, accuracy_only: bool = False) -> Score:
        """Accuracy and log-loss; without ground truth, the largest difference from the published class shares."""
        if self.truth is None:
            return (float(np.abs(probs.mean(axis=0) - PUBLISHED_SHARES).max()),)
        scored = accuracy(probs, self.truth)
        return (scored,) if accuracy_only else (scored, log_loss(probs, self.truth))


def accuracy(probs: np.ndarray, truth: np.ndarray) -> float:
    """How often the most probable class is the true one; ties count by their share."""
    best = probs >= probs.max(axis=1, keepdims=True) * (1 - 1e-9)
    return float((best[np.arange(len(truth)), truth] / best.sum(axis=1)).mean())


def log_loss(probs: np.ndarray, truth: np.ndarray) -> float:
    """Mean of -ln p(true class), with probabilities of at least `FLOOR`."""
    return -float(np.log(np.maximum(probs[np.arange(len(truth)), truth], FLOOR)).mean())


OURS: dict[str, Aggregator] = {
    "`majority`": Majority(),
    "`dawid-skene`": DawidSkene(),
    "`dawid-skene`, temperature 1": DawidSkene(temperature=1.0),
    "`dawid-skene`, prior 0": DawidSkene(prior=0.0),
    "`one-coin`": OneCoin(),
    "`glad`": Glad(),
    "`mace`": Mace(),
    "`wawa`": Wawa(),
    "`zero-based-skill`": ZeroBasedSkill(),
    "`spectral`": Spectral(),
}


def _fitted_probas(name: str, **settings: Any) -> Callable[[Any], Any]:
    def of(votes: Any) -> Any:
        import crowdkit.aggregation

        return getattr(crowdkit.aggregation, name)(**settings).fit(votes).probas_

    return of


def _weighted_vote(name: str) -> Callable[[Any], Any]:
    """A vote weighted by skills, because its `predict_proba` fails with scikit-learn 1.6 (`__sklearn_tags__`)."""

    def of(votes: Any) -> Any:
        import crowdkit.aggregation

        skills = getattr(crowdkit.aggregation, name)().fit(votes).skills_
        return crowdkit.aggregation.MajorityVote().fit(votes, skills=skills).probas_

    return of


def _mmsr(votes: Any) -> Any:
    import crowdkit.aggregation
    import pandas as pd

    skills = crowdkit.aggregation.MMSR().fit(votes).skills_
    return pd.get_dummies(crowdkit.aggregation.MajorityVote().fit(votes, skills=skills).labels_, dtype=float)


MMSR = "crowd-kit MMSR"
THEIRS = {
    "crowd-kit MajorityVote": _fitted_probas("MajorityVote"),
    "crowd-kit DawidSkene": _fitted_probas("DawidSkene", n_iter=100),
    "crowd-kit OneCoinDawidSkene": _fitted_probas("OneCoinDawidSkene"),
    "crowd-kit GLAD": _fitted_probas("GLAD"),
    "crowd-kit MACE": _fitted_probas("MACE"),
    "crowd-kit Wawa": _weighted_vote("Wawa"),
    "crowd-kit ZeroBasedSkill": _weighted_vote("ZeroBasedSkill"),
    MMSR: _mmsr,
}


def in_our_order(frame: Any, beliefs: Beliefs) -> np.ndarray:
    """crowd-kit's table as items x classes, in the order of the beliefs."""
    items = [int(item) for item in beliefs.item.names.to_pylist()]
    return frame.reindex(index=items, columns=[int(k) for k in beliefs.classes]).fillna(0).to_numpy(float)


def truth_column(name: str) -> list[Score]:
    """The scores of every method on one data set."""
    crowd = CrowdSet.read(name)
    column = [crowd.score(by.aggregate(crowd.beliefs).labels.probs) for by in OURS.values()]
    votes = crowd.votes.to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, probas in THEIRS.items():
            column.append(crowd.score(in_our_order(probas(votes.copy()), crowd.beliefs), accuracy_only=method == MMSR))
    return column


def truth() -> str:
    # Polars has its own threads, for which a forked process would wait indefinitely.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        *columns, shares = pool.map(truth_column, (*WITH_TRUTH, ANESTHESIA))
    rows = []
    for method, share, *scores in zip([*OURS, *THEIRS], shares, *columns, strict=True):
        rows.append([method, *map(score_text, scores), score_text(np.mean(scores, axis=0)), score_text(share)])
    return markdown(["method", *WITH_TRUTH, "mean of the six", ANESTHESIA], rows)


# calibration


def calibrated_on_half(crowd: CrowdSet, aggregation: Aggregation, seed: int) -> tuple[float, float, float]:
    """Temperature fitted on a random half of the true classes; log-loss on the other half, before and after."""
    assert crowd.truth is not None
    chosen = np.random.default_rng(seed).permutation(len(crowd.truth)) < len(crowd.truth) // 2
    labels = aggregation.labels
    items = np.array(labels.items.to_pylist())
    gold = SoftLabels.from_numpy(items[chosen], np.eye(len(labels.classes))[crowd.truth[chosen]], labels.classes)
    after = calibrate(aggregation, gold)
    losses = [log_loss(each.labels.probs[~chosen], crowd.truth[~chosen]) for each in (aggregation, after)]
    return after.temperature, losses[0], losses[1]


def calibration() -> str:
    rows = []
    for crowd in map(CrowdSet.read, WITH_TRUTH):
        assert crowd.truth is not None
        raw, usual = DawidSkene(temperature=1.0).aggregate(crowd.beliefs), DawidSkene().aggregate(crowd.beliefs)
        held_out = calibrate(usual)
        on_gold = np.mean([calibrated_on_half(crowd, raw, seed) for seed in range(5)], axis=0)
        rows.append(
            [
                crowd.name,
                number(log_loss(raw.labels.probs, crowd.truth)),
                f"{number(log_loss(usual.labels.probs, crowd.truth))} (T {usual.temperature:.2f})",
                f"{number(log_loss(held_out.labels.probs, crowd.truth))} (T {held_out.temperature:.2f})",
                f"{number(on_gold[2])} (T {on_gold[0]:.2f})",
            ]
        )
    return markdown(["set", "temperature 1", "by default", "on held-out annotators", "on half of the gold"], rows)


TABLES = {"people": people, "minority": minority, "halves": halves, "truth": truth, "calibration": calibration}


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
