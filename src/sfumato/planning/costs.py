"""Costs: what answers of each kind cost, in paid seconds and in money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sfumato.planning.answer_times import KindTime, measured_times
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.settings import above_0, at_least, bad_setting, not_negative

__all__ = ["DEFAULT_TIMES", "CostModel", "KindTime", "measured_times"]

OVERHEAD = 1.29
"""Paid time over the time of the answers: instructions, consent, questions at the end (CIFAR-10S)."""
WAGE = 12.0
"""USD an hour: what Sucholutsky et al. 2023 paid; Collins et al. 2022 paid 8 to 9."""
FEE = 1 / 3
"""What a platform takes on top of the pay, as a share of it: an assumption, between the fees of well-known ones."""

DEFAULT_TIMES: Mapping[str, KindTime] = MappingProxyType(
    {
        "choice": KindTime(
            3.3,
            "Peterson et al. 2019: sessions of 15 minutes on average for 200 pictures and 10 checks, less the overhead",
        ),
        "top_two": KindTime(
            39.2,
            "CIFAR-10S (Collins et al. 2022): mean of 6,200 answers 44.4 s, 88 s for the first, fitted",
            first_ratio=2.1,
            learned_after=2.5,
            per_nat=0.32,
        ),
        "plausible": KindTime(
            9.3,
            "soft-digits: sessions of 14.6 minutes (median) for some 70 pictures and 3 checks, less the overhead",
        ),
        "sliders": KindTime(
            30.0,
            "assumed, from CIFAR-10S: 3 s a pointing action, ten sliders",
            first_ratio=2.1,
        ),
        "tokens": KindTime(
            24.0,
            "assumed, from CIFAR-10S: its page without the boxes for impossible classes, 39% of its actions",
            first_ratio=2.1,
        ),
        "typicality": KindTime(
            5.1,
            "assumed, from H-Mix: one of its two sliders",
            first_ratio=1.7,
            learned_after=8.4,
        ),
        "similarity": KindTime(
            5.1,
            "assumed, as one slider of H-Mix",
            first_ratio=1.7,
            learned_after=8.4,
        ),
        "triplet": KindTime(3.3, "assumed, as one choice of CIFAR-10H"),
        "mixture": KindTime(
            10.1,
            "H-Mix (Collins et al. 2023): mean of 4,950 answers 11.2 s, 22 s for the first, fitted",
            first_ratio=1.7,
            learned_after=8.4,
        ),
    }
)
"""The time of each kind, from published data where there are any; `source` says which, or that it is assumed."""


@dataclass(frozen=True)
class CostModel:
    """What answers cost. An answer of a kind takes its mean time in sessions of `batch_size` answers, times the
    `overhead` of a session; that time is paid by the hour, and the platform takes `fee` of the pay on top.

    `wage` and `fee` are assumptions wherever you did not give your own. A budget buys answers alone: what recruiting,
    screening and refused work cost is not in here.
    """

    times: Mapping[str, KindTime] = field(default_factory=lambda: DEFAULT_TIMES)
    overhead: float = OVERHEAD
    wage: float = WAGE
    fee: float = FEE
    currency: str = "USD"
    batch_size: int = 25

    def __post_init__(self) -> None:
        if not 1 <= self.overhead < float("inf"):
            raise bad_setting("overhead", self.overhead, "a finite number, 1 or more: paid time over answering time")
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
        """One kind alone, at so many seconds and such a wage, with nothing added for sessions or platforms."""
        return cls({kind: KindTime(seconds, "given")}, overhead=1.0, wage=wage, fee=0.0)

    def time(self, kind: str) -> KindTime:
        """The time of a kind, or an error that lists those known."""
        if kind not in self.times:
            raise unknown("kind", kind, list(self.times), fix=f"or give its time: --seconds {kind}=10")
        return self.times[kind]

    def seconds(self, kind: str) -> float:
        """The paid seconds of an answer."""
        return self.time(kind).mean_seconds(self.batch_size) * self.overhead

    def money(self, kind: str, n_answers: int = 1) -> float:
        """What so many answers cost."""
        return n_answers * self.seconds(kind) / 3600 * self.wage * (1 + self.fee)

    def affordable(self, kind: str, budget: float) -> int:
        """How many answers a budget buys: one at least, or an error."""
        above_0("budget", budget)
        each = self.money(kind)
        if not each:
            raise BadSetting(
                f"found a budget of {budget:g} for answers that cost nothing",
                expected="answers with a price above 0",
                fix="leave out the budget, or give a time and a wage above 0",
                code="bad-setting",
            )
        if each > budget * (1 + 1e-12):
            raise BadSetting(
                f"found a budget of {budget:g} {self.currency} at {each:.4g} for an answer of kind {kind}",
                expected="enough for one answer at least",
                fix=f"plan for {each:.4g} {self.currency} or more, or choose a cheaper kind",
                code="budget-too-small",
            )
        return int(min(budget / each * (1 + 1e-12), 2**53))

    def with_times(self, times: Mapping[str, KindTime]) -> CostModel:
        """The same, with these times put in the place of those it had, or added."""
        return replace(self, times={**self.times, **times})

    def with_kind(self, kind: str, seconds: float, source: str = "given") -> CostModel:
        """The same, for answers of a kind that take so long on average, learning included."""
        return self.with_times({kind: KindTime(seconds, source)})
