"""Scores of the test items, by labels scored on, stratum and seed; and how targets differ, paired by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sfumato.evaluation import GivenStrata, RunMeasurements, measure_runs
from sfumato.evaluation.metrics import Accuracy, Brier, CrossEntropy, KLDivergence
from sfumato.tables.scores import ALL
from sfumato_papers.finding import Estimate
from sfumato_papers.paper import Rerun
from sfumato_papers.soft_digits.published_tables import ON_ORIGINAL, ON_PEOPLE
from sfumato_papers.soft_digits.sets import Audited
from sfumato_papers.soft_digits.training import NETWORKS, performance

ACCURACY, KLD, BRIER, CROSS_ENTROPY = "accuracy", "kl_divergence", "brier", "cross_entropy"
DRAWS = 200
TOGETHER = "together"
"""All three networks: their mean, seed by seed."""

BySeed: TypeAlias = Mapping[str, Mapping[int, float]]
"""A figure by network and seed."""


def measured(rerun: Rerun, audited: Audited) -> Mapping[str, RunMeasurements]:
    """All figures of the networks trained on a set, against each of its two kinds of label."""

    def found() -> Mapping[str, RunMeasurements]:
        runs = performance(rerun, audited)
        original = audited.synthetic if audited.is_synthetic and audited.synthetic is not None else audited.original
        return {
            on: measure_runs(
                runs,
                people=labels,
                metrics=[Accuracy(), Brier(), CrossEntropy(), KLDivergence()],
                strata=[GivenStrata({item: audited.stratum[item] for item in audited.tested})],
                resamples=DRAWS,
                rng=np.random.default_rng(0),
            )
            for on, labels in ((ON_ORIGINAL, original), (ON_PEOPLE, audited.weighted))
        }

    return rerun.once(f"measured on {audited.name}", found)


def by_seed(scores: RunMeasurements, target: str, network: str, metric: str, stratum: str = ALL) -> dict[int, float]:
    """A figure of every seed; `network` by the paper's name."""
    figures = scores.of(target, NETWORKS[network], metric, stratum)
    assert figures is not None, f"{target}, {network}, {metric}, {stratum} was not measured"
    return dict(zip(figures.seeds, figures.values.tolist(), strict=True))


def contrasts(
    scores: RunMeasurements, target: str, baseline: str, metric: str, stratum: str = ALL, networks: Sequence[str] = ()
) -> dict[str, Estimate]:
    """How far `target` is from `baseline`, of all networks together and of each: the mean over seeds, paired."""
    own, other = (
        {network: by_seed(scores, each, network, metric, stratum) for network in networks or NETWORKS}
        for each in (target, baseline)
    )
    return differences(own, other)


def differences(one: BySeed, other: BySeed) -> dict[str, Estimate]:
    """Differences by network, those of all networks together first where there are several."""
    own = {network: paired(one[network], other[network]) for network in one}
    return {TOGETHER: paired(_mean(one), _mean(other)), **own} if len(own) > 1 else own


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Estimate:
    """The mean difference over the seeds both have, with its t interval."""
    return Estimate.over_seeds([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])


def is_above(found: Mapping[str, Estimate]) -> bool:
    """Whether the difference of all networks together (the first) is above 0 by an interval without it."""
    return next(iter(found.values())).low > 0


def is_below(found: Mapping[str, Estimate]) -> bool:
    return next(iter(found.values())).high < 0


def in_words(found: Mapping[str, Estimate], *, percent: bool = False) -> str:
    """`LeNet −0.52 (−0.55 to −0.49)`; with `percent`, in points."""
    factor, places = (100, 1) if percent else (1, 3)
    rows = [(name, *(factor * end for end in (each.value, each.low, each.high))) for name, each in found.items()]
    return ", ".join(
        f"{name} {value:+.{places}f} ({low:+.{places}f} to {high:+.{places}f})" for name, value, low, high in rows
    )


def _mean(values: BySeed) -> dict[int, float]:
    """The mean over networks, of the seeds that all of them have."""
    seeds = set.intersection(*(set(each) for each in values.values()))
    return {seed: float(np.mean([each[seed] for each in values.values()])) for seed in sorted(seeds)}
