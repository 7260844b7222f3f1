"""Scores of the test items by labels scored on, stratum and seed, and differences of targets paired by seed.

Also the cells of a published table next to ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from sfumato.evaluation import GivenStrata, RunMeasurements, measure_runs
from sfumato.evaluation.metrics import Accuracy, Brier, CrossEntropy, KLDivergence
from sfumato.tables.scores import ALL
from sfumato_papers.finding import Estimate, Finding, Reference
from sfumato_papers.paper import Rerun, Scale, once
from sfumato_papers.published_table import PublishedTable
from sfumato_papers.soft_digits import sets, training

ACCURACY, KLD, BRIER = "accuracy", "kl_divergence", "brier"
DRAWS = 200
TOGETHER = "together"
"""All three networks: their mean, seed by seed."""

BySeed: TypeAlias = Mapping[str, Mapping[int, float]]
"""A figure by network and seed."""


@once
def measured(rerun: Rerun, audited: sets.Audited) -> Mapping[str, RunMeasurements]:
    """All figures of the networks trained on a set, against each of its two kinds of label."""
    runs = training.performance(rerun, audited)
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
        for on, labels in ((sets.ON_ORIGINAL, original), (sets.ON_PEOPLE, audited.weighted))
    }


def by_seed(
    scores: RunMeasurements, target: str, network: str, metric: str, stratum: str = ALL, *, times: float = 1.0
) -> dict[int, float]:
    """A figure of every seed; `network` by the paper's name."""
    figures = scores.of(target, training.NETWORKS[network], metric, stratum)
    assert figures is not None, f"{target}, {network}, {metric}, {stratum} was not measured"
    return {seed: times * value for seed, value in zip(figures.seeds, figures.values.tolist(), strict=True)}


def contrasts(
    scores: RunMeasurements, target: str, baseline: str, metric: str, stratum: str = ALL, networks: Sequence[str] = ()
) -> dict[str, Estimate]:
    """How far `target` is from `baseline`, of all networks together and of each: the mean over seeds, paired."""
    own, other = (
        {network: by_seed(scores, each, network, metric, stratum) for network in networks or training.NETWORKS}
        for each in (target, baseline)
    )
    return differences(own, other)


def differences(one: BySeed, other: BySeed) -> dict[str, Estimate]:
    """Differences by network, those of all networks together first where there are several."""
    own = {network: Estimate.paired(one[network], other[network]) for network in one}
    return {TOGETHER: Estimate.paired(_mean(one), _mean(other)), **own} if len(own) > 1 else own


def is_above(found: Mapping[str, Estimate]) -> bool:
    """Whether the difference of all networks together (the first) is above 0 by an interval without it."""
    return next(iter(found.values())).low > 0


def is_below(found: Mapping[str, Estimate]) -> bool:
    return next(iter(found.values())).high < 0


def _mean(values: BySeed) -> dict[int, float]:
    """The mean over networks, of the seeds that all of them have."""
    seeds = set.intersection(*(set(each) for each in values.values()))
    return {seed: float(np.mean([each[seed] for each in values.values()])) for seed in sorted(seeds)}


MEASURED_FROM = {
    training.MAJORITY: training.ORIGINAL,
    training.EQUAL: training.MAJORITY,
    training.WEIGHTED: training.MAJORITY,
}
"""What a target is compared with: other classes alone, then doubt alone."""
COLUMNS = {
    **{
        f"{network} {stratum}": (network, stratum)
        for network in training.NETWORKS
        for stratum in (sets.NO_HLV, sets.HLV)
    },
    **{network: (network, ALL) for network in training.NETWORKS},
}
IN_PLACE = "CIFAR-10H and Fashion-MNIST-H in place of soft-digits"


def row_of(name: str, scored_on: str, target: str) -> str:
    """A row of a printed table: what networks trained on `target` reach on the labels of a set."""
    return f"{name} on {scored_on}: {target}"


def cells(rerun: Rerun, table: PublishedTable, metric: str, *, factor: float = 1.0, places: int = 3) -> list[Finding]:
    """Every cell of a printed table, with ours where the file is given."""
    found = {each.name: each for each in sets.soft_digits(rerun)}
    if not found:
        return [Finding(*key, figure, needs=sets.NEEDS, places=places) for key, figure in table.cells.items()]
    findings = []
    for name, on, target, column in product(
        (sets.MNIST, sets.MUKHOTI), (sets.ON_ORIGINAL, sets.ON_PEOPLE), training.TARGETS, COLUMNS
    ):
        row, base = row_of(name, on, target), MEASURED_FROM.get(target)
        if (row, column) not in table.cells:
            continue
        scores, (network, stratum) = measured(rerun, found[name])[on], COLUMNS[column]
        own = by_seed(scores, target, network, metric, stratum, times=factor)
        reference = None
        if base:
            values = by_seed(scores, base, network, metric, stratum, times=factor)
            reference = Reference(base, table.cells[row_of(name, on, base), column], values)
        how, figure = f"the paper's spread over seeds is {table.spreads[row, column]}", table.cells[row, column]
        findings.append(Finding.over_seeds(row, column, figure, own, reference=reference, how=how, places=places))
    return findings


def stand_in_cells(
    rerun: Rerun, metric: str, scored_on: Sequence[str], columns: Sequence[str], *, factor: float = 1.0, places: int = 3
) -> list[Finding]:
    """The same cells of the stand-ins, with model-made labels and the two controls as rows of their own."""
    findings = []
    for audited in sets.stand_ins(rerun):
        for on in scored_on:
            scores = measured(rerun, audited)[on]
            for target in (*training.TARGETS, training.SYNTHETIC, *training.CONTROLS):
                for column in columns:
                    network, stratum = COLUMNS[column]
                    own = by_seed(scores, target, network, metric, stratum, times=factor)
                    row = row_of(audited.name, on, target)
                    findings.append(Finding.over_seeds(row, column, None, own, places=places))
    return findings


def smaller_than_published(rerun: Rerun) -> str:
    """In what a rerun on soft-digits itself is smaller; empty where it is as published, or the file is not there."""
    scale = rerun.scale
    if scale is not Scale.SMALL or not sets.soft_digits(rerun):
        return ""
    return f"{scale.of(training.SEEDS)} seeds for 6, at most {scale.of(training.MOST_EPOCHS)} epochs for 60"


def instead(scale: Scale) -> str:
    if scale is not Scale.SMALL:
        return IN_PLACE
    return (
        f"{IN_PLACE}; {scale.of(training.SEEDS)} seeds for 6, {scale.of(sets.N_LEARNT):,} pictures for 2,131, at most "
        f"{scale.of(training.MOST_EPOCHS)} epochs for 60, {scale.of(training.FIXED_EPOCHS)} of a fixed length for 40"
    )


def audited_sets(rerun: Rerun) -> tuple[sets.Audited, ...]:
    """The two parts of soft-digits where its file is given, else the substitute sets."""
    return sets.soft_digits(rerun) or sets.stand_ins(rerun)


def smaller(rerun: Rerun) -> str:
    return smaller_than_published(rerun) if sets.soft_digits(rerun) else instead(rerun.scale)
