"""How long answers take: the measured times of every kind in a pilot, with learning and the effect of uncertainty."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from sfumato.labeling.default_labeler import label_by_default
from sfumato.planning.costs import LEARNED_AFTER, KindTime
from sfumato.planning.recorded_answers import places_in_order
from sfumato.tables.annotations import Annotations
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable, ErrorLocation, SfumatoError

OPEN_PAGE = 50.0
"""Pages open for more than this multiple of the median are not counted."""
LEAST_ANSWERS = 200
LEAST_ITEMS = 50


def measured_times(annotations: Annotations) -> dict[str, KindTime]:
    """The times of every kind in a pilot that has times, by kind name.

    Means, not medians, because the time that people took is paid. Answers that took more than 50 times the kind's
    median are left out: the page was left open. With 200 answers and an order of trials, a learning curve is fitted;
    with 50 items and answers that name classes, the time per nat of uncertainty, from the items' mean times and the
    entropy of their pooled labels.
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
        left_out = f", without {timed.sum() - kept.sum():,} pages left open" if (timed & ~kept).any() else ""
        source = f"measured: {len(table):,} answers{left_out}"
        practised, first_ratio, learned_after = _learning(table)
        result[label.split("/")[0]] = KindTime(practised, source, first_ratio, learned_after, _per_nat(table))
    if not result:
        raise BadTable(
            f"{len(annotations):,} answers without a time",
            "a column `seconds`, or the times at which answers were started and submitted",
            "record times, or give the mean time per answer",
            "no-times",
            ErrorLocation(str(annotations.path) if annotations.path else None, column="seconds"),
        )
    return result


def seconds_of(annotations: Annotations) -> Float[np.ndarray, "rows"]:
    """The seconds of every answer: as recorded, else from start to submission; NaN if unknown."""
    begun, ended = (
        each.to_numpy(zero_copy_only=False).astype("datetime64[ms]")
        for each in (annotations.started_at, annotations.submitted_at)
    )
    lasted = (ended - begun) / np.timedelta64(1, "s")
    known = np.where(lasted >= 0, lasted, np.nan)
    return np.asarray(np.where(np.isnan(annotations.seconds), known, annotations.seconds))


def _learning(table: Annotations) -> tuple[float, float, float]:
    """Seconds after learning, the ratio of the first answer, and the learning rate; constant if the data cannot say."""
    from scipy.optimize import OptimizeWarning, curve_fit

    seconds = table.seconds
    mean = float(seconds.mean())
    if len(table) < LEAST_ANSWERS or table.trial.null_count:
        return mean, 1.0, LEARNED_AFTER
    place = places_in_order(table.annotator.codes, table.trial.to_numpy()).astype(np.float64)
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
    # Keep the observed mean exactly, regardless of the fit.
    learning = 1 + (shape.first_ratio - 1) * np.exp(-place / shape.learned_after)
    return mean / float(learning.mean()), shape.first_ratio, shape.learned_after


def _per_nat(table: Annotations) -> float:
    """The relative change of an item's mean time per nat of entropy; 0 if answers are not distributions."""
    try:
        beliefs = label_by_default(table)
    except SfumatoError:
        return 0.0
    coded = beliefs.coded()
    n_each = np.bincount(coded.item, minlength=coded.n_items)
    if (n_each > 0).sum() < LEAST_ITEMS or len(beliefs) != len(table):
        return 0.0

    def mean_of(values: np.ndarray) -> np.ndarray:
        return np.bincount(coded.item, values, minlength=coded.n_items)[n_each > 0] / n_each[n_each > 0]

    nats = entropy(np.stack([mean_of(p) for p in coded.probs().T], axis=1))
    mean = mean_of(table.seconds)
    return float(np.polyfit(nats, mean, 1)[0] / mean.mean()) if np.ptp(nats) > 0 else 0.0
