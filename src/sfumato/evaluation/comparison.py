"""Comparison of training targets or models, paired by seed and by item; with one prediction each, by item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.evaluation.metric import Better
from sfumato.evaluation.paired_tests import (
    OVER_ITEMS,
    OVER_SEEDS,
    both_interval,
    corrected,
    d_z,
    items_interval,
    paired_by_item,
    paired_t,
    probability_of_improvement,
    t_interval,
    wilcoxon,
)
from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
from sfumato.evaluation.run_predictions import PRETRAINED, default_baseline
from sfumato.tables.bootstrap import Interval
from sfumato.tables.errors import BadTable, listing, unknown, warn
from sfumato.tables.scores import Difference, Differences, RunScore, RunScores
from sfumato.tables.setting_checks import one_of

FAMILIES = ("metric", "table")
"""The comparisons that are corrected together: those of one metric, or all."""


def scores_over_seeds(measured: RunMeasurements) -> RunScores:
    """The mean over seeds of every metric, with an interval for another training and one for other items."""
    scores = []
    for figures in measured.figures:
        if figures.missing:
            over_seeds = over_items = Interval(np.nan, np.nan, f"none: {figures.missing}")
        else:
            bounds = figures.metric.bounds
            over_seeds = t_interval(figures.values, measured.level).within(bounds)
            over_items = _over_items(figures, measured).within(bounds)
        scores.append(
            RunScore(
                target=figures.target,
                network=figures.network,
                n_seeds=len(figures.seeds),
                metric=figures.metric.name,
                condition=figures.condition,
                value=float(figures.values.mean()),
                low=over_seeds.low,
                high=over_seeds.high,
                n_items=figures.n_items,
                floor=figures.floor,
                covers=over_seeds.kind,
                items_low=over_items.low,
                items_high=over_items.high,
                items_covers=over_items.kind,
                floor_note=figures.floor_note,
            )
        )
    return RunScores(tuple(scores))


def _over_items(figures: SeedValues, measured: RunMeasurements) -> Interval:
    """The interval for other items: from the draws of the mean; with one seed or only linear draws, the mean of the
    seeds' intervals."""
    if figures.is_exact and len(figures.seeds) > 1:
        return items_interval(figures.drawn, measured.level, measured.over)
    why = next((each.kind for each in figures.intervals if np.isnan(each.low)), None)
    if why is not None:
        return Interval(np.nan, np.nan, why)
    low, high = (float(np.mean([getattr(each, end) for each in figures.intervals])) for end in ("low", "high"))
    mean = "mean of the seeds' intervals: " if len(figures.seeds) > 1 else ""
    return Interval(low, high, f"other items, these trainings: {mean}{figures.intervals[0].kind}")


def compare_runs(
    measured: RunMeasurements,
    *,
    baseline: str | None = None,
    correction: str = "holm",
    family: str = "metric",
    rng: np.random.Generator | None = None,
) -> Differences:
    """Compare every target with `baseline` (default: see `default_baseline`), per network and condition.

    With one prediction per target the pairs are items. It is an error if `baseline` has no seed in common with any
    other target; without a name it is a warning, and there are no comparisons.

    `family` sets which comparisons are corrected together: those of one `metric` (targets, networks, conditions and
    strata), or the whole `table` if you search all metrics for a difference.
    """
    one_of("family", family, FAMILIES)
    is_named, baseline = baseline is not None, baseline or default_baseline(measured.targets)
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
    if not is_named or any(paired_seeds(*pair) for pair in pairs):
        apart = dict.fromkeys((one.network, one.target) for one, other in pairs if not paired_seeds(one, other))
        for network, target in apart:
            named = f" ({network})" if network else ""
            warn(f"{target} and {baseline}{named} have no seed in common and are not compared")
        pairs = [pair for pair in pairs if paired_seeds(*pair)]
    _warn_of_unpaired(pairs)
    rng = np.random.default_rng(0) if rng is None else rng
    found = [difference_of(one, other, level=measured.level, over=measured.over, rng=rng) for one, other in pairs]
    return Differences(tuple(with_correction(found, measured, correction=correction, family=family)))


def paired_seeds(one: SeedValues, other: SeedValues) -> list[int]:
    """The seeds of both. A network that is only pretrained has one run, which is paired with every seed."""
    if _is_only_pretrained(one) or _is_only_pretrained(other):
        return list(one.seeds if len(one.seeds) >= len(other.seeds) else other.seeds)
    return [seed for seed in one.seeds if seed in other.seeds]


def _is_only_pretrained(figures: SeedValues) -> bool:
    return figures.target == PRETRAINED and len(figures.seeds) == 1


def difference_of(
    one: SeedValues, other: SeedValues, *, level: float, over: str, rng: np.random.Generator, correction: str = "none"
) -> Difference:
    """`one` minus `other` over their common seeds; an error if there are none."""
    seeds = paired_seeds(one, other)
    if not seeds:
        sides = " and ".join(f"{listing([str(s) for s in side.seeds])} of {side.target}" for side in (one, other))
        expected = "the same seeds on both sides: only these start from the same weights"
        fix = "train both targets with the same seeds, in one grid"
        raise BadTable(f"seeds {sides}", expected, fix, "unpaired-seeds")
    mine, theirs = (
        [0 if _is_only_pretrained(figures) else figures.seeds.index(seed) for seed in seeds] for figures in (one, other)
    )
    values, base = one.values[mine], other.values[theirs]
    with np.errstate(invalid="ignore"):
        apart, drawn = values - base, one.drawn[mine] - other.drawn[theirs]
    if one.missing:
        none = Interval(np.nan, np.nan, f"none: {one.missing}")
        over_seeds, over_items, over_both = none, none, none
    else:
        least, most = one.metric.bounds
        bounds = (least - most, most - least)
        over_seeds = t_interval(apart, level).within(bounds)
        over_items = items_interval(drawn, level, over).within(bounds)
        over_both = both_interval(drawn, level, over, rng).within(bounds)
    is_single = len(seeds) == 1
    tested = paired_by_item(float(apart[0]), drawn[0]) if is_single and not one.missing else paired_t(apart)
    signed = wilcoxon(apart, round(1 - level, 12))
    better = one.metric.better
    improved = (
        float("nan")
        if better is Better.NEITHER
        else probability_of_improvement(values, base, high_is_better=better is Better.HIGH)
    )
    return Difference(
        target=one.target,
        baseline=other.target,
        network=one.network,
        n_seeds=len(seeds),
        metric=one.metric.name,
        condition=one.condition,
        value=float(values.mean()),
        baseline_value=float(base.mean()),
        difference=float(apart.mean()),
        low=over_seeds.low,
        high=over_seeds.high,
        n_items=one.n_items,
        covers=over_seeds.kind,
        items_low=over_items.low,
        items_high=over_items.high,
        items_covers=over_items.kind,
        both_low=over_both.low,
        both_high=over_both.high,
        both_covers=over_both.kind,
        p=tested.p,
        p_corrected=tested.p,
        correction=correction,
        p_wilcoxon=signed.p,
        wilcoxon=signed.note,
        d_z=d_z(apart),
        probability_of_improvement=improved,
        verdict="",
        test=OVER_ITEMS if is_single else OVER_SEEDS,
    )


def with_correction(
    differences: Sequence[Difference], measured: RunMeasurements, *, correction: str, family: str
) -> list[Difference]:
    """The same with p values corrected within each family, and the resulting verdicts."""
    better = {figures.metric.name: figures.metric.better for figures in measured.figures}
    families: dict[str, list[int]] = {}
    for i, each in enumerate(differences):
        families.setdefault(each.metric if family == "metric" else "", []).append(i)
    found = list(differences)
    for members in families.values():
        raised = corrected([differences[i].p for i in members], correction)
        n_looked_at = sum(not np.isnan(differences[i].p) for i in members)
        how = "none" if correction == "none" else f"{correction} over {n_looked_at}"
        for i, p in zip(members, raised, strict=True):
            shown = p < 1 - measured.level + 1e-12
            verdict = _verdict(differences[i].difference, better[differences[i].metric]) if shown else ""
            found[i] = replace(differences[i], p_corrected=p, correction=how, verdict=verdict)
    return found


def _verdict(difference: float, better: Better) -> str:
    if better is Better.NEITHER:
        return "differs"
    return "better" if (difference > 0) == (better is Better.HIGH) else "worse"


def _warn_of_unpaired(pairs: Sequence[tuple[SeedValues, SeedValues]]) -> None:
    """Warn of seeds that only one side has."""
    warned = set()
    for one, other in pairs:
        if _is_only_pretrained(one) or _is_only_pretrained(other):
            continue
        odd = sorted(set(one.seeds) ^ set(other.seeds))
        key = (one.target, one.network, *odd)
        if odd and key not in warned and set(one.seeds) & set(other.seeds):
            warned.add(key)
            warn(
                f"{one.target} and {other.target} ({one.network or 'no network named'}): "
                f"seeds {listing([str(seed) for seed in odd])} are only on one side and not compared"
            )
