"""Costs of answers: how long answers of each kind take, and what they cost in paid
seconds and in money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.setting_checks import above_0, at_least, bad_setting, not_negative

LEARNED_AFTER = 2.5


@dataclass(frozen=True)
class KindTime:
    """How long answers of a kind take: `seconds` on average, once people know the form, at mean difficulty.

    The first answer of a session takes `first_ratio` times as long; the excess decays like `exp(-(t - 1) /
    learned_after)` with the t-th answer. `per_nat` is the relative change per nat of item entropy above the mean.
    `source` says where the numbers come from. If `is_assumed`, they are from other data than the user's: from questions
    about pictures with `n_classes` classes, and every further class takes `per_class` seconds.
    """

    seconds: float
    source: str
    first_ratio: float = 1.0
    learned_after: float = LEARNED_AFTER
    per_nat: float = 0.0
    is_assumed: bool = False
    per_class: float = 0.0
    n_classes: int = 10

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

    def for_task(self, n_classes: int, reading: float = 0.0) -> KindTime:
        """The time for another number of classes, after `reading` for so many seconds; as it is if not assumed."""
        if not self.is_assumed:
            return self
        more = self.per_class * (n_classes - self.n_classes)
        changes = [f"{self.per_class:g} s per class for {n_classes} classes"] if more else []
        changes += [f"{reading:.3g} s of reading"] if reading else []
        source = f"{self.source}; changed: {', '.join(changes)}, assumed" if changes else self.source
        seconds = max(self.seconds + more, QUICKEST) + reading
        return replace(self, seconds=seconds, source=source, n_classes=n_classes)


QUICKEST = 1.0
"""No answer is assumed to take less, in seconds."""
WORDS_PER_MINUTE = 238.0
"""Silent reading of English non-fiction, the mean of 190 studies (Brysbaert 2019, J. Memory and Language 109)."""
TEXTS = {"similarity": 2, "triplet": 3, "mixture": 2}
"""Items per question; one for other kinds."""


def reading_seconds(words: float) -> float:
    """The time to read so many words once."""
    return 60 * not_negative("words", words) / WORDS_PER_MINUTE


OVERHEAD = 1.29
"""Paid time divided by answering time: instructions, consent, final questions (CIFAR-10S)."""
WAGE = 12.0
"""USD per hour: what Sucholutsky et al. 2023 paid; Collins et al. 2022 paid 8 to 9."""
FEE = 1 / 3
"""The platform's fee as a share of the pay: an assumption, between the fees of well-known platforms."""


def _published(
    seconds: float,
    source: str,
    *,
    per_class: float = 0.0,
    first_ratio: float = 1.0,
    learned_after: float = LEARNED_AFTER,
    per_nat: float = 0.0,
) -> KindTime:
    """A time that is not the user's own."""
    return KindTime(seconds, f"not your data: {source}", first_ratio, learned_after, per_nat, True, per_class)


DEFAULT_TIMES: Mapping[str, KindTime] = MappingProxyType(
    {
        "choice": _published(
            3.3,
            "pictures of 10 classes (Peterson et al. 2019): mean session of 15 minutes for 200 pictures and 10 checks",
            per_class=0.1,
        ),
        "top_two": _published(
            39.2,
            "pictures of 10 classes (CIFAR-10S, Collins et al. 2022): mean of 6,200 answers 44.4 s, 88 s for the first",
            per_class=1.5,
            first_ratio=2.1,
            learned_after=2.5,
            per_nat=0.32,
        ),
        "plausible": _published(
            9.3,
            "pictures of 10 classes (soft-digits): median session of 14.6 minutes for about 70 pictures and 3 checks",
            per_class=0.93,
        ),
        "sliders": _published(
            30.0, "assumed, from CIFAR-10S: 3 s per pointing action, one per class", per_class=3.0, first_ratio=2.1
        ),
        "tokens": _published(
            24.0,
            "assumed, from CIFAR-10S: its page without the boxes for impossible classes (39% of the actions)",
            per_class=0.1,
            first_ratio=2.1,
        ),
        "typicality": _published(
            5.1, "assumed, from H-Mix: one of its two sliders", first_ratio=1.7, learned_after=8.4
        ),
        "similarity": _published(5.1, "assumed, like one slider of H-Mix", first_ratio=1.7, learned_after=8.4),
        "triplet": _published(3.3, "assumed, like one choice of CIFAR-10H"),
        "mixture": _published(
            10.1,
            "mixed pictures (H-Mix, Collins et al. 2023): mean of 4,950 answers 11.2 s, 22 s for the first, fitted",
            first_ratio=1.7,
            learned_after=8.4,
        ),
    }
)
"""The time of each kind, from published data if available; `source` says which, or that it is assumed.

The time per class is one action (sliders, plausible), the boxes for impossible classes (top_two: 39% of 39 s for ten),
or reading one more option, 0.1 s. None of these was measured with other numbers of classes.
"""


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

    def for_task(self, n_classes: int, *, words: float = 0.0) -> CostModel:
        """The same, with assumed times adapted to a number of classes, and to texts of so many `words` on average."""
        each = reading_seconds(words)
        adapted = {kind: time.for_task(n_classes, each * TEXTS.get(kind, 1)) for kind, time in self.times.items()}
        return replace(self, times=adapted)

    def with_kind(self, kind: str, seconds: float, source: str = "given") -> CostModel:
        """The same, for a kind whose answers take this long on average, learning included."""
        return self.with_times({kind: KindTime(seconds, source)})
