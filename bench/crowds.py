"""Methods that estimate the true class, compared on simulated and on published crowds.

    SFUMATO_DATA=/path/to/data python bench/crowds.py [variants] [simulated] [peers] [published] [calibration]
        [--crowds 20] [--keep-peers] [--write]                     (default: all parts)

variants     Settings of `dawid-skene` and `mace` on simulated crowds of the world `tuning`, on which the defaults were
             chosen.
simulated    All our methods on crowds of the world `confirmation` (`simulated_crowds.py`), by cells.
peers        crowd-kit's methods and ours on a few of the same crowds.
published    All our methods and crowd-kit's on the published sets in `crowd`. They score the result; nothing was
             chosen on them.
calibration  Temperatures of `dawid-skene` on the published sets.

Every table has the accuracy (ties count by their share) and the log-loss (probabilities of at least 1e-6). `--write`
writes them into their pages, except `peers`; `--keep-peers` takes the rows of crowd-kit in `published` from the page.
`peers` and `published` need the extra `bench` and about half an hour on two cores, the rest takes a few minutes.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from figures import MEAN_OF_SETS, table_of
from pages import markdown, write
from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import (
    Aggregation,
    Aggregator,
    DawidSkene,
    Glad,
    Mace,
    Majority,
    OneCoin,
    Spectral,
    Wawa,
    ZeroBasedSkill,
    calibrate,
    confusion_prior,
    dawid_skene,
    mace,
)
from sfumato.tables.errors import warnings_off
from simulated_crowds import CELLS, Cell, SimulatedCrowd

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
DOCS = Path(__file__).parents[1] / "docs"
WITH_TRUTH = ("bluebird", "dog", "rte", "weather-cf", "sentiment-sp-amt", "face-sentiment")
ANESTHESIA = "anesthesia"
PUBLISHED_SHARES = np.array([0.40, 0.42, 0.11, 0.07])
"""Shares of the four classes according to Dawid and Skene (1979)."""
FLOOR = 1e-6
FIRST_SEED = {"tuning": 1_000, "confirmation": 50_000}
PEER_CROWDS = 2

Score = tuple[float, ...]


def number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}"


def score_text(score: Sequence[float]) -> str:
    return " / ".join(map(number, score))


def accuracy(probs: np.ndarray, truth: np.ndarray) -> float:
    """How often the most probable class is the true one; ties count by their share."""
    best = probs >= probs.max(axis=1, keepdims=True) * (1 - 1e-9)
    return float((best[np.arange(len(truth)), truth] / best.sum(axis=1)).mean())


def log_loss(probs: np.ndarray, truth: np.ndarray) -> float:
    """Mean of -ln p(true class), with probabilities of at least `FLOOR`."""
    return -float(np.log(np.maximum(probs[np.arange(len(truth)), truth], FLOOR)).mean())


# Methods


OURS: dict[str, Aggregator] = {
    "`majority`": Majority(),
    "`dawid-skene`": DawidSkene(),
    "`dawid-skene`, temperature 1": DawidSkene(temperature=1.0),
    "`dawid-skene`, prior 20": DawidSkene(prior=20.0),
    "`dawid-skene`, prior 0": DawidSkene(prior=0.0),
    "`one-coin`": OneCoin(),
    "`glad`": Glad(),
    "`mace`": Mace(),
    "`wawa`": Wawa(),
    "`zero-based-skill`": ZeroBasedSkill(),
    "`spectral`": Spectral(),
}


@dataclass(frozen=True)
class Variant:
    """A method with some constants of its module changed."""

    by: Aggregator
    module: Any = confusion_prior
    constants: tuple[tuple[str, Any], ...] = ()

    def aggregate(self, beliefs: Beliefs) -> Aggregation:
        with ExitStack() as stack:
            for name, value in self.constants:
                stack.enter_context(patch.object(self.module, name, value))
            return self.by.aggregate(beliefs)


VARIANTS: dict[str, Variant] = {
    "`majority`": Variant(Majority()),
    "`dawid-skene`, the default": Variant(DawidSkene()),
    "temperature 1": Variant(DawidSkene(temperature=1.0)),
    "prior 0 (classic)": Variant(DawidSkene(prior=0.0)),
    "prior 2": Variant(DawidSkene(prior=2.0)),
    "prior 5": Variant(DawidSkene(prior=5.0)),
    "prior 20 (the default before)": Variant(DawidSkene(prior=20.0)),
    "everybody has the same skill": Variant(DawidSkene(), constants=(("AVERAGE_ANSWERS", 1e9),)),
    "skill from 5 average answers": Variant(DawidSkene(), constants=(("AVERAGE_ANSWERS", 5.0),)),
    "skill from 20 average answers": Variant(DawidSkene(), constants=(("AVERAGE_ANSWERS", 20.0),)),
    "strength 10": Variant(DawidSkene(), constants=(("STRENGTHS", np.array([10.0])),)),
    "strength equal for all classes": Variant(DawidSkene(), constants=(("BY_SHARE", 0.0),)),
    "strength proportional to the class shares": Variant(DawidSkene(), constants=(("BY_SHARE", 1.0),)),
    "prior estimated in 50 iterations instead of 4": Variant(DawidSkene(), dawid_skene, (("PRIOR_STEPS", 50),)),
    "`mace`, the default": Variant(Mace()),
    "equal class shares, known prior 0.5 (the default before)": Variant(
        # Shares of at least 1 are equal.
        Mace(known_prior=0.5),
        mace,
        (("FLOOR", 1.0),),
    ),
    "equal class shares": Variant(Mace(), mace, (("FLOOR", 1.0),)),
    "known prior 0.5": Variant(Mace(known_prior=0.5)),
    "known prior 2": Variant(Mace(known_prior=2.0)),
    "known prior 5": Variant(Mace(known_prior=5.0)),
    "habit prior 1": Variant(Mace(habit_prior=1.0)),
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
ON_SIMULATED = {name: THEIRS[name] for name in ("crowd-kit DawidSkene", "crowd-kit GLAD")}
ON_SIMULATED |= {"crowd-kit MACE, 2 restarts": _fitted_probas("MACE", n_restarts=2)}


def in_our_order(frame: Any, beliefs: Beliefs) -> np.ndarray:
    """crowd-kit's table as items x classes, in the order of the beliefs."""
    items = [int(item) for item in beliefs.item.names.to_pylist()]
    return frame.reindex(index=items, columns=[int(k) for k in beliefs.classes]).fillna(0).to_numpy(float)


# Simulated crowds


@dataclass(frozen=True)
class CellScores:
    """Accuracy and log-loss of each method on each crowd of a cell: methods x crowds x 2."""

    cell: Cell
    values: np.ndarray


def _scores_of(task: tuple[str, Cell, int, str]) -> CellScores:
    world, cell, n_crowds, kind = task
    found = []
    for seed in range(FIRST_SEED[world], FIRST_SEED[world] + n_crowds):
        crowd = SimulatedCrowd.drawn(world, cell, seed)
        with warnings_off(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probs = [by.aggregate(crowd.beliefs).labels.probs for by in _methods(kind).values()]
            if kind == "peers":
                import pandas as pd

                votes = pd.DataFrame({"task": crowd.item, "worker": crowd.annotator, "label": crowd.answer})
                probs += [in_our_order(of(votes.copy()), crowd.beliefs) for of in ON_SIMULATED.values()]
        found.append([(accuracy(p, crowd.truth), log_loss(p, crowd.truth)) for p in probs])
    return CellScores(cell, np.array(found).transpose(1, 0, 2))


def _methods(kind: str) -> dict[str, Any]:
    if kind == "variants":
        return VARIANTS
    return OURS if kind == "ours" else {name: OURS[name] for name in ("`majority`", "`dawid-skene`", "`mace`")}


def cell_scores(world: str, n_crowds: int, kind: str) -> list[CellScores]:
    # Polars has its own threads, for which a forked process would wait indefinitely.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_scores_of, [(world, cell, n_crowds, kind) for cell in CELLS]))


def gain_text(scores: CellScores, method: int) -> str:
    """Accuracy above that of the first method in points, with two standard errors, and the log-loss."""
    gain = 100 * (scores.values[method, :, 0] - scores.values[0, :, 0])
    error = 2 * gain.std(ddof=1) / np.sqrt(len(gain))
    loss = scores.values[method, :, 1].mean()
    if method == 0:
        return f"{100 * scores.values[0, :, 0].mean():.1f}% / {loss:.2f}"
    return f"{gain.mean():+.1f} ± {error:.1f} / {loss:.2f}"


def cell_table(scores: Sequence[CellScores], names: Sequence[str]) -> str:
    """Methods by cells, with the mean over all crowds."""
    everything = CellScores(CELLS[0], np.concatenate([each.values for each in scores], axis=1))
    rows = [[name, *(gain_text(each, i) for each in (*scores, everything))] for i, name in enumerate(names)]
    return markdown(["method", *(each.cell.name for each in scores), "all"], rows)


def variants(n_crowds: int) -> str:
    scores = cell_scores("tuning", n_crowds, "variants")
    together = CellScores(CELLS[0], np.concatenate([each.values for each in scores], axis=1))
    rows = []
    for i, name in enumerate(VARIANTS):
        gains = [100 * (each.values[i, :, 0] - each.values[0, :, 0]).mean() for each in scores]
        worst = "" if i == 0 else f"{min(gains):+.1f} ({scores[int(np.argmin(gains))].cell.name})"
        rows.append([name, *gain_text(together, i).split(" / "), worst])
    return markdown(["variant", "accuracy minus `majority`, points", "log-loss", "worst cell"], rows)


def simulated(n_crowds: int) -> str:
    return cell_table(cell_scores("confirmation", n_crowds, "ours"), list(OURS))


def peers(n_crowds: int) -> str:
    names = [*_methods("peers"), *ON_SIMULATED]
    return cell_table(cell_scores("confirmation", min(n_crowds, PEER_CROWDS), "peers"), names)


# Published crowds


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


def published_column(task: tuple[str, bool]) -> list[Score]:
    """The scores of our methods on one data set, and of crowd-kit's if they are wanted."""
    name, with_peers = task
    crowd = CrowdSet.read(name)
    with warnings_off(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        column = [crowd.score(by.aggregate(crowd.beliefs).labels.probs) for by in OURS.values()]
        votes = crowd.votes.to_pandas()
        for method, probas in THEIRS.items() if with_peers else ():
            column.append(crowd.score(in_our_order(probas(votes.copy()), crowd.beliefs), accuracy_only=method == MMSR))
    return column


def published(_: int, *, keep_peers: bool = False) -> str:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tasks = [(name, not keep_peers) for name in (*WITH_TRUTH, ANESTHESIA)]
        *columns, shares = pool.map(published_column, tasks)
    rows = []
    for method, share, *scores in zip([*OURS, *([] if keep_peers else THEIRS)], shares, *columns, strict=True):
        rows.append([method, *map(score_text, scores), score_text(np.mean(scores, axis=0)), score_text(share)])
    if keep_peers:
        rows += [list(row.values()) for name, row in table_of("published").items() if name in THEIRS]
    return markdown(["method", *WITH_TRUTH, MEAN_OF_SETS, ANESTHESIA], rows)


def calibrated_on_half(crowd: CrowdSet, aggregation: Aggregation, seed: int) -> tuple[float, float]:
    """Temperature fitted on a random half of the true classes; log-loss on the other half."""
    assert crowd.truth is not None
    chosen = np.random.default_rng(seed).permutation(len(crowd.truth)) < len(crowd.truth) // 2
    labels = aggregation.labels
    items = np.array(labels.items.to_pylist())
    gold = SoftLabels.from_numpy(items[chosen], np.eye(len(labels.classes))[crowd.truth[chosen]], labels.classes)
    after = calibrate(aggregation, gold)
    return after.temperature, log_loss(after.labels.probs[~chosen], crowd.truth[~chosen])


def calibration(_: int) -> str:
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
                f"{number(on_gold[1])} (T {on_gold[0]:.2f})",
            ]
        )
    return markdown(["set", "temperature 1", "by default", "on held-out annotators", "on half of the gold"], rows)


PARTS: dict[str, Callable[..., str]] = {
    "variants": variants,
    "simulated": simulated,
    "peers": peers,
    "published": published,
}
PARTS |= {"calibration": calibration}
DECISION = DOCS / "design" / "0017-dawid-skene-has-a-temperature.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--crowds", type=int, default=20, help="simulated crowds per cell")
    parser.add_argument("--keep-peers", action="store_true", help="take crowd-kit's rows from the page")
    parser.add_argument("--write", action="store_true", help="write the tables into their pages")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; expected {', '.join(PARTS)}")
    for name in options.parts or PARTS:
        is_kept = {"keep_peers": True} if name == "published" and options.keep_peers else {}
        text = PARTS[name](options.crowds, **is_kept)
        print(f"## {name}\n\n{text}\n", flush=True)
        if options.write and name != "peers":
            write(DECISION if name == "variants" else DOCS / "aggregate.md", name, text)


if __name__ == "__main__":
    main()
