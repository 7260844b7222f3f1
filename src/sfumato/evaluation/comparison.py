"""Comparison of training targets or models: differences over seeds, items and people, and their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.metric import MODEL_BASED, Better
from sfumato.evaluation.paired_tests import correction_factors
from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
from sfumato.evaluation.run_predictions import PRETRAINED, default_baseline
from sfumato.evaluation.variance_components import VarianceComponents, over
from sfumato.tables.bootstrap import Interval
from sfumato.tables.errors import BadTable, listing, unknown, warn
from sfumato.tables.scores import Difference, Differences, RunScore, RunScores
from sfumato.tables.setting_checks import one_of

FAMILIES = ("metric", "table")
"""The comparisons that are corrected together: those of one metric, or all."""
NOT_PAIRED = "the runs of the two have different seeds and are not paired"


def scores_over_seeds(measured: RunMeasurements) -> RunScores:
    """The mean over seeds of every metric, with an interval over seeds, items and people, as far as they are known.

    With one seed it is the metric's own interval.
    """
    scores = []
    for figures in measured.figures:
        parts = None if figures.contributions is None else VarianceComponents.of(figures.contributions)
        between = _interval_of_score(figures, parts, measured.level)
        scores.append(
            RunScore(
                target=figures.target,
                network=figures.network,
                n_seeds=len(figures.seeds),
                metric=figures.metric.name,
                condition=figures.condition,
                value=float(figures.values.mean()),
                low=between.low,
                high=between.high,
                n_items=figures.n_items,
                floor=figures.floor,
                covers=between.kind,
                floor_note=figures.floor_note,
                label_set=figures.label_set,
                **_standard_errors(parts),
            )
        )
    return RunScores(tuple(scores))


def _interval_of_score(figures: SeedValues, parts: VarianceComponents | None, level: float) -> Interval:
    if figures.missing:
        return Interval(np.nan, np.nan, f"none: {figures.missing}")
    if len(figures.seeds) == 1:
        return figures.intervals[0]
    if parts is None:
        why = next((each.kind for each in figures.intervals if np.isnan(each.low)), "none: not defined for every seed")
        return Interval(np.nan, np.nan, why)
    if any(each.kind == MODEL_BASED for each in figures.intervals):
        return Interval(np.nan, np.nan, MODEL_BASED)
    return parts.interval(level).within(figures.metric.bounds)


def _standard_errors(parts: VarianceComponents | None) -> dict[str, float]:
    if parts is None:
        return {}
    return {f"se_{name}": float(np.sqrt(getattr(parts, name))) for name in ("seeds", "items", "people")}


@dataclass(frozen=True)
class DifferenceTest:
    """`one` minus `other`, and its variance; `parts` is None, with the reason in `untested`, if there is no test."""

    one: SeedValues
    other: SeedValues
    n_seeds: int
    value: float
    baseline_value: float
    parts: VarianceComponents | None
    is_paired: bool
    untested: str = ""

    @property
    def p(self) -> float:
        return np.nan if self.parts is None else self.parts.p

    def row(self, level: float, factor: float, correction: str) -> Difference:
        """The row of the table, with the p value multiplied by `factor`, and the interval corrected in the same way."""
        metric, parts, detectable = self.one.metric, self.parts, np.nan
        least, most = metric.bounds
        if parts is None:
            between = Interval(np.nan, np.nan, f"none: {self.untested}")
        else:
            strict = 1 - (1 - level) / factor
            between, detectable = parts.interval(strict), parts.detectable(strict)
            note = "" if self.is_paired else f"; {NOT_PAIRED}"
            how = "" if correction == "none" else f", {correction}"
            kind = f"{over(parts)}: {100 * level:g}% t interval{how}{note}"
            between = Interval(between.low, between.high, kind).within((least - most, most - least))
        difference = self.value - self.baseline_value
        return Difference(
            target=self.one.target,
            baseline=self.other.target,
            network=self.one.network,
            n_seeds=self.n_seeds,
            metric=metric.name,
            condition=self.one.condition,
            value=self.value,
            baseline_value=self.baseline_value,
            difference=difference,
            low=between.low,
            high=between.high,
            n_items=self.one.n_items,
            covers=between.kind,
            p=self.p,
            p_corrected=min(self.p * factor, 1.0) if self.p == self.p else np.nan,
            correction=correction,
            verdict=_verdict(difference, metric.better) if between.low > 0 or between.high < 0 else "",
            detectable=detectable,
            **_standard_errors(parts),
        )


def compare_runs(
    measured: RunMeasurements, *, baseline: str | None = None, correction: str = "holm", family: str = "metric"
) -> Differences:
    """Compare every target with `baseline` (default: see `default_baseline`), per network and condition.

    Runs are paired by seed over the seeds that both targets have; if they have none in common, they are not paired.
    Items, and people if they are known, are the same on both sides.

    `family` sets which comparisons are corrected together: those of one `metric` (targets, networks, conditions and
    strata), or the whole `table` if you search all metrics for a difference.
    """
    one_of("family", family, FAMILIES)
    baseline = baseline or default_baseline(measured.targets)
    if baseline is None:
        return Differences(())
    if baseline not in measured.targets:
        raise unknown("target", baseline, measured.targets, fix="name the target the others are compared with")
    if len(measured.targets) < 2:
        fix = "add the predictions of another one, or score this one alone (evaluate without a baseline)"
        raise BadTable(f"no target other than {baseline}", "at least two targets", fix, "nothing-to-compare")
    pairs = []
    alone: dict[str, None] = {}
    for figures in measured.figures:
        if figures.target == baseline:
            continue
        other = measured.of(baseline, figures.network, figures.metric.name, figures.condition)
        if other is None:
            under = f" under {figures.shift}" if figures.shift else ""
            alone[f"{figures.network}: {figures.target} has no {baseline} to compare with{under}"] = None
        else:
            pairs.append((figures, other))
    for sentence in alone:
        warn(sentence)
    _warn_of_unpaired(pairs)
    found = [tested_difference(one, other) for one, other in pairs]
    return Differences(tuple(with_correction(found, measured.level, correction=correction, family=family)))


def paired_seeds(one: SeedValues, other: SeedValues) -> list[int]:
    """The seeds of both. A network that is only pretrained has one run, which is paired with every seed."""
    if _is_only_pretrained(one) or _is_only_pretrained(other):
        return list(one.seeds if len(one.seeds) >= len(other.seeds) else other.seeds)
    return [seed for seed in one.seeds if seed in other.seeds]


def _is_only_pretrained(figures: SeedValues) -> bool:
    return figures.target == PRETRAINED and len(figures.seeds) == 1


def tested_difference(one: SeedValues, other: SeedValues) -> DifferenceTest:
    """`one` minus `other` over their common seeds; without a common seed, the difference of their means."""
    seeds = paired_seeds(one, other)
    rows = [
        [0 if _is_only_pretrained(figures) else figures.seeds.index(seed) for seed in seeds]
        or list(range(len(figures.seeds)))
        for figures in (one, other)
    ]
    values = [float(figures.values[own].mean()) for figures, own in zip((one, other), rows, strict=True)]
    n_seeds = len(seeds) or min(len(one.seeds), len(other.seeds))
    untested, parts = one.missing or one.untested or other.untested, None
    if not untested:
        a, b = one.contributions, other.contributions
        if a is None or b is None or a.items.shape[1] != b.items.shape[1]:
            untested = "not defined for every run"
        else:
            a, b = a.take(rows[0]), b.take(rows[1])
            parts = VarianceComponents.of_difference(a, b, is_paired=bool(seeds))
            if np.isnan(parts.error):
                parts, untested = None, "the difference is the same for every item"
    return DifferenceTest(one, other, n_seeds, values[0], values[1], parts, bool(seeds), untested)


@dataclass(frozen=True)
class LeadingUncertainty:
    """The variance of a score, or of its difference from the baseline."""

    one: SeedValues
    baseline: str
    """Empty for a score."""
    parts: VarianceComponents

    @property
    def what(self) -> str:
        """What the value is, in words."""
        return f"{self.one.metric.name} of {self.one.target}" + (f" minus {self.baseline}" if self.baseline else "")

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Target, network, metric and condition, as in the tables."""
        return self.one.target, self.one.network, self.one.metric.name, self.one.condition


LEADING = "cross_entropy"


def leading_uncertainty(
    measured: RunMeasurements, metrics: Sequence[str], baseline: str | None
) -> LeadingUncertainty | None:
    """Where the uncertainty of the leading metric comes from (cross-entropy, else the first that is tested): of the
    difference between the first other target and the baseline; of the score, if there is one target."""
    for name in sorted(metrics, key=lambda metric: metric != LEADING):
        own = [each for each in measured.figures if each.metric.name == name and each.contributions is not None]
        first = next((each for each in own if each.target != baseline), None)
        if first is None or first.contributions is None:
            continue
        other = None if baseline is None else measured.of(baseline, first.network, name, first.condition)
        if other is None:
            return LeadingUncertainty(first, "", VarianceComponents.of(first.contributions))
        found = tested_difference(first, other)
        if found.parts is not None:
            return LeadingUncertainty(first, other.target, found.parts)
    return None


def with_correction(
    differences: Sequence[DifferenceTest], level: float, *, correction: str, family: str
) -> list[Difference]:
    """The rows of the table: p values and intervals corrected within each family, and the resulting verdicts."""
    families: dict[str, list[int]] = {}
    for i, each in enumerate(differences):
        families.setdefault(each.one.metric.name if family == "metric" else "", []).append(i)
    found: dict[int, Difference] = {}
    for members in families.values():
        factors = correction_factors([differences[i].p for i in members], correction)
        n_tested = sum(not np.isnan(differences[i].p) for i in members)
        how = "none" if correction == "none" else f"{correction} over {n_tested}"
        for i, factor in zip(members, factors, strict=True):
            found[i] = differences[i].row(level, factor, how)
    return [found[i] for i in range(len(differences))]


def _verdict(difference: float, better: Better) -> str:
    if better is Better.NEITHER:
        return "differs"
    return "better" if (difference > 0) == (better is Better.HIGH) else "worse"


def _warn_of_unpaired(pairs: Sequence[tuple[SeedValues, SeedValues]]) -> None:
    """Warn of seeds that only one side has, and of targets that are not paired."""
    warned = set()
    for one, other in pairs:
        if _is_only_pretrained(one) or _is_only_pretrained(other):
            continue
        odd = sorted(set(one.seeds) ^ set(other.seeds))
        key = (one.target, one.network, *odd)
        if not odd or key in warned:
            continue
        warned.add(key)
        named = f"{one.target} and {other.target} ({one.network or 'no network named'})"
        if set(one.seeds) & set(other.seeds):
            warn(f"{named}: seeds {listing([str(seed) for seed in odd])} are only on one side and not compared")
        else:
            warn(f"{named} have no seed in common: their runs are compared without pairing them by seed")
