"""What our aggregators are worth on published data: the tables of docs/aggregate.md.

    SFUMATO_DATA=/path/to/data python bench/evidence.py [--only NAME] [--write docs/aggregate.md]

Prints four Markdown tables, every number computed in the run: `people` (CIFAR-10S beliefs against CIFAR-10H), `halves`
(votes of CIFAR-10H against other votes), `truth` (crowdsourced votes against known classes, beside crowd-kit), and
`calibration`. `--write` puts them into a page, between `<!-- evidence: NAME -->` and `<!-- end -->`. Takes three
to four minutes on two cores, most of it crowd-kit's; needs the `bench` extra.
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
from sfumato import Beliefs, SoftLabels
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

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
SPAM, SPAM_SEEDS = 0.3, range(5)
N_LABELS = (1, 2, 3, 5, 7, 9, 10, 11, 13, 15, 20, 25)
N_SPLITS = 3
MOST_NEEDED = 11
CONSTANTS = np.geomspace(0.001, 3, 81)
WITH_TRUTH = ("bluebird", "dog", "rte", "weather-cf", "sentiment-sp-amt", "face-sentiment")
ANESTHESIA = "anesthesia"
PUBLISHED_SHARES = np.array([0.40, 0.42, 0.11, 0.07])
"""How common the four classes are, as Dawid and Skene (1979) found."""
FLOOR = 1e-6


def number(value: float, digits: int = 3) -> str:
    """A number below one without its zero."""
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


# people: CIFAR-10S beliefs against CIFAR-10H


def divergence(q: np.ndarray, p: np.ndarray) -> float:
    """Mean KL(q || .999 p + .001 / K), q what people say."""
    p = 0.999 * p + 0.001 / p.shape[1]
    return float(np.where(q > 0, q * np.log(np.where(q > 0, q, 1) / p), 0).sum(axis=1).mean())


def with_soft(beliefs: Beliefs, probs: np.ndarray) -> Beliefs:
    """The same answers with other distributions."""
    items, annotators = beliefs.item.text().to_pylist(), beliefs.annotator.text().to_pylist()
    return Beliefs.from_probs(item=items, annotator=annotators, probs=probs, classes=beliefs.classes)


def spammed(beliefs: Beliefs, share: float, seed: int) -> Beliefs:
    """`share` of the annotators replaced by people who answer at random, Dirichlet(1)."""
    rng = np.random.default_rng(seed)
    n_annotators = len(beliefs.annotator.names)
    bad = rng.permutation(n_annotators)[: round(share * n_annotators)]
    rows = np.isin(beliefs.annotator.codes, bad)
    probs = beliefs.probs.copy()
    probs[rows] = rng.dirichlet(np.ones(probs.shape[1]), rows.sum())
    return with_soft(beliefs, probs)


def hardened(beliefs: Beliefs) -> Beliefs:
    """Every belief as a vote for its largest class."""
    return with_soft(beliefs, np.eye(len(beliefs.classes))[beliefs.probs.argmax(axis=1)])


@dataclass(frozen=True)
class Pooled:
    """A row of `people`."""

    name: str
    by: Aggregator
    to_reach: str = ""
    votes: bool = False

    def divergence(self, beliefs: Beliefs, people: SoftLabels) -> float:
        labels = self.by.aggregate(hardened(beliefs) if self.votes else beliefs).labels
        return divergence(people.probs[people.rows_of(labels.items)], labels.probs)


POOLED = (
    Pooled("`mean` of hard votes", Mean(), ".536 / .821", votes=True),
    Pooled("`mean`", Mean(), ".212 / .430"),
    Pooled("`log-pool`", LogPool()),
    Pooled("`reliability-pool`", ReliabilityPool(), ".209 / .335"),
    Pooled("`mixture-pool`", MixturePool(), ".194 / .249"),
    Pooled("`bayes`", Bayes()),
    Pooled("`dawid-skene` (not meant for this)", DawidSkene()),
)


def people() -> str:
    answers, crowd = Cifar10SImporter().read(DATA / "cifar10s").table, Cifar10HImporter().read(DATA / "cifar10h").table
    assert isinstance(crowd, SoftLabels)
    clean = TopTwoClamp().label(answers)
    spam = [spammed(clean, SPAM, seed) for seed in SPAM_SEEDS]
    rows = []
    for row in POOLED:
        with_spam = float(np.mean([row.divergence(beliefs, crowd) for beliefs in spam]))
        rows.append([row.name, number(row.divergence(clean, crowd)), number(with_spam), row.to_reach])
    return markdown(["aggregator", "as collected", "30% spam", "to reach"], rows)


# halves: votes of CIFAR-10H against other votes


@dataclass(frozen=True)
class Half:
    """One half of every image's votes in a random order, and how often each class occurs in the other half."""

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
        """`n_labels` votes an image, without replacement; all there are where there are fewer."""
        kept = self.place < n_labels
        classes = [str(k) for k in range(self.other.shape[1])]
        return Beliefs.from_votes(
            item=self.image[kept], annotator=self.place[kept], label=self.label[kept], classes=classes
        )

    def log_loss(self, probs: np.ndarray) -> float:
        """Of the other half's votes, mean over votes."""
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
    """How many labels an image bring a falling curve over `N_LABELS` down to `loss`, straight between its points."""
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
            beliefs = half.drawn(n_labels)
            smoothing[i] += smoothing_losses(half, beliefs) / N_SPLITS
            bayes[i] += half.log_loss(Bayes().aggregate(beliefs).labels.probs) / N_SPLITS
    best = smoothing.min(axis=1)
    rows = [
        [str(n_labels), number(best[i], 4), number(CONSTANTS[smoothing[i].argmin()]), number(bayes[i], 4)]
        for i, n_labels in enumerate(N_LABELS)
    ]
    table = markdown(["labels an image", "best smoothing", "its constant", "`bayes`"], rows)
    needed = labels_needed(bayes.tolist(), best[-1])
    verdict = "met" if needed <= MOST_NEEDED else "MISSED"
    return (
        f"{table}\n\nWhat the best smoothing reaches with {N_LABELS[-1]} labels an image, `bayes` reaches with"
        f" {needed:.1f} (required: at most {MOST_NEEDED}; {verdict})."
    )


# truth: crowdsourced votes against known classes, beside crowd-kit


Score = tuple[float, ...]


def shown(score: Sequence[float]) -> str:
    return " / ".join(map(number, score))


@dataclass(frozen=True)
class CrowdSet:
    """Votes, and the true class of every item in the order of the beliefs (None where nobody knows)."""

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

    def score(self, probs: np.ndarray, *, sure: bool = False) -> Score:
        """Accuracy and log-loss; without truth, how far the shares of the classes are from the published ones."""
        if self.truth is None:
            return (float(np.abs(probs.mean(axis=0) - PUBLISHED_SHARES).max()),)
        scored = accuracy(probs, self.truth)
        return (scored,) if sure else (scored, log_loss(probs, self.truth))


def accuracy(probs: np.ndarray, truth: np.ndarray) -> float:
    """How often the most probable class is the true one; of tied classes, each counts as its share."""
    best = probs >= probs.max(axis=1, keepdims=True) * (1 - 1e-9)
    return float((best[np.arange(len(truth)), truth] / best.sum(axis=1)).mean())


def log_loss(probs: np.ndarray, truth: np.ndarray) -> float:
    """Mean of -ln p(true class), probabilities no smaller than `FLOOR`."""
    return -float(np.log(np.maximum(probs[np.arange(len(truth)), truth], FLOOR)).mean())


OURS: dict[str, Aggregator] = {
    "`majority`": Majority(),
    "`dawid-skene`": DawidSkene(),
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
    """By its skills: its own `predict_proba` fails with scikit-learn 1.6 and later (`__sklearn_tags__`)."""

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
    """One set's score under every method."""
    crowd = CrowdSet.read(name)
    column = [crowd.score(by.aggregate(crowd.beliefs).labels.probs) for by in OURS.values()]
    votes = crowd.votes.to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, probas in THEIRS.items():
            column.append(crowd.score(in_our_order(probas(votes.copy()), crowd.beliefs), sure=method == MMSR))
    return column


def truth() -> str:
    # Polars has threads of its own, which a forked process would wait for forever.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        *columns, shares = pool.map(truth_column, (*WITH_TRUTH, ANESTHESIA))
    rows = []
    for method, share, *scores in zip([*OURS, *THEIRS], shares, *columns, strict=True):
        rows.append([method, *map(shown, scores), shown(np.mean(scores, axis=0)), shown(share)])
    return markdown(["method", *WITH_TRUTH, "mean of the six", ANESTHESIA], rows)


# calibration


def calibrated_on_half(crowd: CrowdSet, aggregation: Aggregation, seed: int) -> tuple[float, float, float]:
    """Temperature from a random half of the true classes; log-loss on the other half, before and after."""
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
        raw = DawidSkene().aggregate(crowd.beliefs)
        held_out = calibrate(raw)
        on_gold = np.mean([calibrated_on_half(crowd, raw, seed) for seed in range(5)], axis=0)
        rows.append(
            [
                crowd.name,
                number(log_loss(raw.labels.probs, crowd.truth)),
                f"{number(log_loss(held_out.labels.probs, crowd.truth))} (T {held_out.temperature:.2f})",
                f"{number(on_gold[2])} (T {on_gold[0]:.2f})",
            ]
        )
    return markdown(["set", "as it comes", "on held-out annotators", "on half of the gold"], rows)


TABLES = {"people": people, "halves": halves, "truth": truth, "calibration": calibration}


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
