"""Times: how long an answer takes, by kind, while people learn the form, and on hard items."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.optimize import OptimizeWarning, curve_fit

from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable, ErrorLocation, SfumatoError
from sfumato.tables.settings import above_0, at_least, bad_setting, not_negative

LEARNED_AFTER = 2.5
OPEN_PAGE = 50.0
"""A page open for more than so many times the median was left open: nobody was answering."""
LEAST_ANSWERS = 200
LEAST_ITEMS = 50


@dataclass(frozen=True)
class KindTime:
    """How long answers of a kind take: `seconds` on average, once people have learned the form, at mean difficulty.

    The first answer of a session takes `first_ratio` times as long, and what it takes longer decays like
    `exp(-(t - 1) / learned_after)` with the t-th answer. `per_nat` is the relative change for every nat of entropy that
    an item has above the mean. `source` says where the figures come from.
    """

    seconds: float
    source: str
    first_ratio: float = 1.0
    learned_after: float = LEARNED_AFTER
    per_nat: float = 0.0

    def __post_init__(self) -> None:
        not_negative("seconds", self.seconds)
        above_0("first_ratio", self.first_ratio)
        above_0("learned_after", self.learned_after)
        if not np.isfinite(self.per_nat):
            raise bad_setting("per_nat", self.per_nat, "a finite number")

    def mean_seconds(self, n_in_session: int = 25, nats_above_mean: float = 0.0) -> float:
        """The mean time of an answer in sessions of so many answers, on items of so much entropy above the mean."""
        decay = np.exp(-np.arange(at_least("n_in_session", n_in_session, 1)) / self.learned_after)
        learning = 1 + (self.first_ratio - 1) * float(decay.mean())
        return self.seconds * learning * max(1 + self.per_nat * nats_above_mean, 0.0)


def measured_times(annotations: Annotations) -> dict[str, KindTime]:
    """The times of every kind in a pilot that has any, by the kind's name.

    Means, not medians, for the time that people took is the time that is paid. Answers that took more than 50 times the
    kind's median are left out: a page was left open. (CIFAR-10S has none; raw reaction times do.) With 200 answers and
    an order of trials the learning curve is fitted; with 50 items and answers that name classes, what a nat of doubt
    adds, from the items' mean times and the entropy of their pooled labels.
    """
    result = {}
    for label in annotations.kind.names.to_pylist():
        table = annotations.of_kind(label)
        table = replace(table, seconds=seconds_of(table))
        seconds = table.seconds
        timed = np.isfinite(seconds)
        if not timed.any():
            continue
        kept = timed & (seconds <= OPEN_PAGE * np.median(seconds[timed]))
        table = table.take(kept)
        left_out = f", {timed.sum() - kept.sum():,} pages left open not counted" if (timed & ~kept).any() else ""
        source = f"measured: {len(table):,} answers{left_out}"
        practised, first_ratio, learned_after = _learning(table)
        result[label.split("/")[0]] = KindTime(practised, source, first_ratio, learned_after, _per_nat(table))
    if not result:
        raise BadTable(
            f"found {len(annotations):,} answers without a time",
            expected="a column `seconds`, or times when answers began and were submitted",
            fix="record times, or give the mean time of an answer yourself",
            code="no-times",
            where=ErrorLocation(str(annotations.path) if annotations.path else None, column="seconds"),
        )
    return result


def seconds_of(annotations: Annotations) -> Float[np.ndarray, "rows"]:
    """The seconds of every answer: as recorded, else from when it began to when it was submitted; NaN if unknown."""
    begun, ended = (
        each.to_numpy(zero_copy_only=False).astype("datetime64[ms]")
        for each in (annotations.started_at, annotations.submitted_at)
    )
    lasted = (ended - begun) / np.timedelta64(1, "s")
    known = np.where(lasted >= 0, lasted, np.nan)
    return np.asarray(np.where(np.isnan(annotations.seconds), known, annotations.seconds))


def _learning(table: Annotations) -> tuple[float, float, float]:
    """Seconds once learned, the first answer's ratio, how fast it is learned; flat where the data cannot tell."""
    seconds = table.seconds
    mean = float(seconds.mean())
    if len(table) < LEAST_ANSWERS or table.trial.null_count:
        return mean, 1.0, LEARNED_AFTER
    place = _places(table)
    if place.max() < 5:
        return mean, 1.0, LEARNED_AFTER

    def curve(t: np.ndarray, practised: float, ratio: float, after: float) -> np.ndarray:
        return np.asarray(practised * (1 + (ratio - 1) * np.exp(-t / after)))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", OptimizeWarning)
            bounds = ([0.0, 0.2, 0.5], [np.inf, 10.0, float(place.max())])
            found, _ = curve_fit(curve, place, seconds, p0=(mean, 1.5, LEARNED_AFTER), bounds=bounds)
    except (RuntimeError, ValueError, OptimizeWarning):
        return mean, 1.0, LEARNED_AFTER
    shape = KindTime(1.0, "", float(found[1]), float(found[2]))
    # Least squares keeps the mean over the places that occurred; say it exactly, whatever the fit did.
    learning = 1 + (shape.first_ratio - 1) * np.exp(-place / shape.learned_after)
    return mean / float(learning.mean()), shape.first_ratio, shape.learned_after


def _places(table: Annotations) -> Float[np.ndarray, "rows"]:
    """The place of each answer in its person's sequence, from 0."""
    who = table.annotator.codes
    order = np.lexsort((table.trial.to_numpy(), who))
    n_each = np.bincount(who)
    start = np.repeat(np.cumsum(n_each) - n_each, n_each)
    place = np.empty(len(who))
    place[order] = np.arange(len(who)) - start
    return place


def _per_nat(table: Annotations) -> float:
    """The relative change of an item's mean time with a nat of its entropy; 0 where answers are no distributions."""
    try:
        beliefs = label_by_default(table)
    except SfumatoError:
        return 0.0
    coded = beliefs.coded()
    n_each = np.bincount(coded.item, minlength=coded.n_items)
    if (n_each > 0).sum() < LEAST_ITEMS or len(beliefs) != len(table):
        return 0.0
    probs = coded.probs()
    pooled = np.stack([np.bincount(coded.item, p, minlength=coded.n_items) for p in probs.T], axis=1)[n_each > 0]
    nats = entropy(pooled / n_each[n_each > 0, None])
    mean = (np.bincount(coded.item, table.seconds, minlength=coded.n_items)[n_each > 0]) / n_each[n_each > 0]
    return float(np.polyfit(nats, mean, 1)[0] / mean.mean()) if np.ptp(nats) > 0 else 0.0
