"""Mode shift: how much of the gain from people's labels is due to other classes, and how much to uncertainty.

People's majority class is not always the original label. The gain from hard training on original labels to soft
training has two parts, with hard training on the majority in between:

    soft - hard = (majority - hard) + (soft - majority)
                   other classes       doubt
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sfumato.evaluation.comparison import tested_difference
from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import BadTable, UnknownName, listing, unknown
from sfumato.tables.scores import Difference

PARTS = ("other classes", "doubt", "both")


@dataclass(frozen=True)
class Shift:
    """One part of the gain: the paired difference between two targets, for a metric against one kind of label.

    `share` is its share of the whole gain, NaN if the interval of the whole contains 0.
    """

    network: str
    metric: str
    against: str
    condition: str
    part: str
    target: str
    baseline: str
    n_seeds: int
    difference: float
    low: float
    high: float
    n_items: int
    covers: str
    p: float
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class ModeShift(RecordTable):
    """Three rows per network, metric, kind of label and condition: two parts and the whole."""

    shifts: tuple[Shift, ...]

    record = Shift


def mode_shift(
    measured: dict[str, RunMeasurements],
    *,
    hard: str = "hard",
    majority: str = "majority",
    soft: str = "soft",
) -> ModeShift:
    """The parts of the gain from `hard` to `soft`, per kind of label (the keys of `measured`).

    Paired over the seeds that the three targets share, so that the parts add up.
    """
    shifts: list[Shift] = []
    for against, each in measured.items():
        check_targets(each.targets, (hard, majority, soft))
        for figures in each.figures:
            if figures.target == soft and not figures.missing:
                shifts += _parts(figures, each, (hard, majority, soft), against)
    return ModeShift(tuple(shifts))


def check_targets(found: Sequence[str], needed: Sequence[str] = ("hard", "majority", "soft")) -> None:
    """Raise unless all three targets were trained."""
    for target in needed:
        if target not in found:
            fix = f"a mode shift needs runs of {', '.join(needed)}"
            if any("@" in name for name in found):
                fix += ", named exactly so, without a label set: train with one --labels FILE, into a folder of its own"
                only = f"runs of {listing(list(found))}, not of {target}"
                raise UnknownName(only, f"runs of {', '.join(needed)}", fix, "unknown-target")
            raise unknown("target", target, found, fix=fix)


def _parts(figures: SeedValues, measured: RunMeasurements, targets: Sequence[str], against: str) -> list[Shift]:
    own = [measured.of(target, figures.network, figures.metric.name, figures.condition) for target in targets]
    present = [each for each in own if each is not None]
    if len(present) < 3:
        return []
    seeds = sorted(set.intersection(*(set(each.seeds) for each in present)))
    if not seeds:
        found = f"no seed with which {', '.join(targets)} were all trained"
        raise BadTable(found, "the same seeds for all three", "train them in one grid", "unpaired-seeds")
    first, second, third = (_only(each, seeds) for each in present)
    steps = [(second, first), (third, second), (third, first)]
    differences = [tested_difference(one, other).row(measured.level, 1.0, "none") for one, other in steps]
    whole = differences[-1]
    is_clear = whole.low * whole.high > 0
    return [
        _shift(difference, against, part, difference.difference / whole.difference if is_clear else np.nan)
        for difference, part in zip(differences, PARTS, strict=True)
    ]


def _only(figures: SeedValues, seeds: Sequence[int]) -> SeedValues:
    rows = [figures.seeds.index(seed) for seed in seeds]
    own = None if figures.contributions is None else figures.contributions.take(rows)
    return replace(figures, seeds=tuple(seeds), values=figures.values[rows], contributions=own)


def _shift(difference: Difference, against: str, part: str, share: float) -> Shift:
    own: dict[str, Any] = {"against": against, "part": part, "share": share}
    same = {each.name: getattr(difference, each.name) for each in fields(Shift) if each.name not in own}
    return Shift(**own, **same)
