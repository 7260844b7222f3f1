"""Costs of answers: how long answers of each kind take (measured in a pilot, or published), and what they cost in paid
seconds and in money."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Float
from scipy.optimize import OptimizeWarning, curve_fit

from sfumato.labeling.default_labeler import label_by_default
from sfumato.tables.annotations import Annotations
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, SfumatoError, unknown
from sfumato.tables.settings import above_0, at_least, bad_setting, not_negative

LEARNED_AFTER = 2.5
OPEN_PAGE = 50.0
"""Pages open for more than this multiple of the median are not counted."""
LEAST_ANSWERS = 200
LEAST_ITEMS = 50


@dataclass(frozen=True)
class KindTime:
    """How long answers of a kind take: `seconds` on average, once people know the form, at mean difficulty.

    The first answer of a session takes `first_ratio` times as long; the excess decays like `exp(-(t - 1) /
    learned_after)` with the t-th answer. `per_nat` is the relative change per nat of item entropy above the mean.
    `source` says where the numbers come from.
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
        """The mean time per answer in sessions of `n_in_session` answers, on items of this entropy above the mean."""
        decay = np.exp(-np.arange(at_least("n_in_session", n_in_session, 1)) / self.learned_after)
        learning = 1 + (self.first_ratio - 1) * float(decay.mean())
        return self.seconds * learning * max(1 + self.per_nat * nats_above_mean, 0.0)


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
    # Keep the observed mean exactly, regardless of the fit.
    learning = 1 + (shape.first_ratio - 1) * np.exp(-place / shape.learned_after)
    return mean / float(learning.mean()), shape.first_ratio, shape.learned_after


def _places(table: Annotations) -> Float[np.ndarray, "rows"]:
    """The position of each answer in its annotator's sequence, from 0."""
    who = table.annotator.codes
    order = np.lexsort((table.trial.to_numpy(), who))
    n_each = np.bincount(who)
    start = np.repeat(np.cumsum(n_each) - n_each, n_each)
    place = np.empty(len(who))
    place[order] = np.arange(len(who)) - start
    return place


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
    probs = coded.probs()
    pooled = np.stack([np.bincount(coded.item, p, minlength=coded.n_items) for p in probs.T], axis=1)[n_each > 0]
    nats = entropy(pooled / n_each[n_each > 0, None])
    mean = (np.bincount(coded.item, table.seconds, minlength=coded.n_items)[n_each > 0]) / n_each[n_each > 0]
    return float(np.polyfit(nats, mean, 1)[0] / mean.mean()) if np.ptp(nats) > 0 else 0.0


__all__ = ["DEFAULT_TIMES", "CostModel", "KindTime", "measured_times"]

OVERHEAD = 1.29
"""Paid time divided by answering time: instructions, consent, final questions (CIFAR-10S)."""
WAGE = 12.0
"""USD per hour: what Sucholutsky et al. 2023 paid; Collins et al. 2022 paid 8 to 9."""
FEE = 1 / 3
"""The platform's fee as a share of the pay: an assumption, between the fees of well-known platforms."""

DEFAULT_TIMES: Mapping[str, KindTime] = MappingProxyType(
    {
        "choice": KindTime(
            3.3, "Peterson et al. 2019: mean session of 15 minutes for 200 pictures and 10 checks, without overhead"
        ),
        "top_two": KindTime(
            39.2,
            "CIFAR-10S (Collins et al. 2022): mean of 6,200 answers 44.4 s, 88 s for the first, fitted",
            first_ratio=2.1,
            learned_after=2.5,
            per_nat=0.32,
        ),
        "plausible": KindTime(
            9.3, "soft-digits: median session of 14.6 minutes for about 70 pictures and 3 checks, without overhead"
        ),
        "sliders": KindTime(30.0, "assumed, from CIFAR-10S: 3 s per pointing action, ten sliders", first_ratio=2.1),
        "tokens": KindTime(
            24.0,
            "assumed, from CIFAR-10S: its page without the boxes for impossible classes (39% of the actions)",
            first_ratio=2.1,
        ),
        "typicality": KindTime(5.1, "assumed, from H-Mix: one of its two sliders", first_ratio=1.7, learned_after=8.4),
        "similarity": KindTime(5.1, "assumed, like one slider of H-Mix", first_ratio=1.7, learned_after=8.4),
        "triplet": KindTime(3.3, "assumed, like one choice of CIFAR-10H"),
        "mixture": KindTime(
            10.1,
            "H-Mix (Collins et al. 2023): mean of 4,950 answers 11.2 s, 22 s for the first, fitted",
            first_ratio=1.7,
            learned_after=8.4,
        ),
    }
)
"""The time of each kind, from published data if available; `source` says which, or that it is assumed."""


@dataclass(frozen=True)
class CostModel:
    """What answers cost. An answer takes its kind's mean time in sessions of `batch_size` answers, times the `overhead`
    of a session; that time is paid by the hour, and the platform adds `fee` as a share of the pay.

    `wage` and `fee` are assumptions unless you give your own. Costs of recruitment, screening and rejected work are not
    included.
    """

    times: Mapping[str, KindTime] = field(default_factory=lambda: DEFAULT_TIMES)
    overhead: float = OVERHEAD
    wage: float = WAGE
    fee: float = FEE
    currency: str = "USD"
    batch_size: int = 25

    def __post_init__(self) -> None:
        if not 1 <= self.overhead < float("inf"):
            raise bad_setting("overhead", self.overhead, "a finite number, 1 or more: paid time per answering time")
        not_negative("wage", self.wage)
        not_negative("fee", self.fee)
        at_least("batch_size", self.batch_size, 1)
        object.__setattr__(self, "times", MappingProxyType(dict(self.times)))

    def __reduce__(self) -> tuple[object, ...]:
        # The read-only view of the times cannot be pickled; a plain mapping can.
        settings = (self.overhead, self.wage, self.fee, self.currency, self.batch_size)
        return CostModel, (dict(self.times), *settings)

    @classmethod
    def plain(cls, seconds: float, wage: float, kind: str = "choice") -> CostModel:
        """One kind only, without overhead and fee."""
        return cls({kind: KindTime(seconds, "given")}, overhead=1.0, wage=wage, fee=0.0)

    def time(self, kind: str) -> KindTime:
        """The time of a kind, or an error that lists the known kinds."""
        if kind not in self.times:
            raise unknown("kind", kind, list(self.times), fix=f"or give its time: --seconds {kind}=10")
        return self.times[kind]

    def seconds(self, kind: str) -> float:
        """The paid seconds per answer."""
        return self.time(kind).mean_seconds(self.batch_size) * self.overhead

    def money(self, kind: str, n_answers: int = 1) -> float:
        """What this many answers cost."""
        return n_answers * self.seconds(kind) / 3600 * self.wage * (1 + self.fee)

    def affordable(self, kind: str, budget: float) -> int:
        """How many answers a budget pays: at least one, or an error."""
        above_0("budget", budget)
        each = self.money(kind)
        if not each:
            raise BadSetting(
                f"a budget of {budget:g} for answers that cost nothing",
                "answers with a price above 0",
                "omit the budget, or give a time and a wage above 0",
            )
        if each > budget * (1 + 1e-12):
            raise BadSetting(
                f"a budget of {budget:g} {self.currency} at {each:.4g} per answer of kind {kind}",
                "enough for at least one answer",
                f"plan for {each:.4g} {self.currency} or more, or choose a cheaper kind",
                "budget-too-small",
            )
        return int(min(budget / each * (1 + 1e-12), 2**53))

    def with_times(self, times: Mapping[str, KindTime]) -> CostModel:
        """The same, with these times added or replaced."""
        return replace(self, times={**self.times, **times})

    def with_kind(self, kind: str, seconds: float, source: str = "given") -> CostModel:
        """The same, for a kind whose answers take this long on average, learning included."""
        return self.with_times({kind: KindTime(seconds, source)})
