"""Base pay and bonus of all participants, one row per annotator and reason. Listed, never sent.

The key of a payment is always the same. A platform that accepts keys (Mechanical Turk's UniqueRequestToken) pays it
once, and payments in a list of earlier ones are left out of the next list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from decimal import ROUND_HALF_UP, Decimal
from math import isnan, nan
from pathlib import Path

import pyarrow as pa

from sfumato.recruitment.bonus_rules import BonusRule, PeerAnswers
from sfumato.recruitment.platform_api import request_key
from sfumato.recruitment.reconciliation import IDS, ReconciledParticipant
from sfumato.study.study import Bonus, Study
from sfumato.tables.base_table import Table, columns_of, rows_of
from sfumato.tables.errors import BadSetting
from sfumato.tables.files.table_file import read_rows

BASE, PART, BONUS = "base", "part", "bonus"

"""What a payment is for: finished batches, part of a batch, or the bonus."""


@dataclass(frozen=True)
class Payment:
    """One payment to one annotator."""

    annotator: str
    reason: str
    amount: float
    currency: str
    due: str
    """`yes`, or `decide` if only part of the work was done."""
    score: float
    """The score behind the bonus, 0 to 1."""
    n_compared: int
    """The number of answers behind the score."""
    why: str
    key: str
    person: str = field(default="", repr=False)
    session: str = field(default="", repr=False)


@dataclass(frozen=True)
class Paid:
    """A payment in a list of earlier ones."""

    annotator: str
    reason: str
    amount: float
    key: str


@dataclass(frozen=True)
class ChangedPayment:
    """A payment that was made, and would differ now."""

    annotator: str
    reason: str
    paid: float
    now: float


@dataclass(frozen=True, eq=False, repr=False)
class Payments(Table):
    """One row per annotator and reason; platform ids only `with_ids`."""

    payments: tuple[Payment, ...]
    with_ids: bool = False

    classes = ()
    private = True

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        whole = columns_of(self.payments[start:stop], Payment)
        return whole if self.with_ids else whole.drop_columns(list(IDS))

    def __len__(self) -> int:
        return len(self.payments)

    def total(self, *reasons: str, due: str = "yes") -> float:
        """The total for these reasons."""
        return money(
            sum(each.amount for each in self.payments if each.due == due and (not reasons or each.reason in reasons))
        )

    def without(self, paid: Sequence[Paid]) -> Payments:
        """The payments that were not made yet."""
        keys = {each.key for each in paid}
        return Payments(tuple(each for each in self.payments if each.key not in keys), self.with_ids)

    def changed(self, paid: Sequence[Paid]) -> list[ChangedPayment]:
        """Earlier payments whose amount would differ now: a bonus changes with more answers, and annotators who were
        paid for a part may have finished since."""
        now = {each.key: each.amount for each in self.payments}
        return [
            ChangedPayment(each.annotator, each.reason, each.amount, now.get(each.key, 0.0))
            for each in paid
            if money(now.get(each.key, 0.0)) != money(each.amount)
        ]


def payments(
    cases: Sequence[ReconciledParticipant],
    study: Study,
    secret: str,
    rule: BonusRule | None,
    answers: PeerAnswers,
    *,
    with_ids: bool = False,
) -> Payments:
    """What each annotator is owed. `answers` has its annotators in the order of the `cases` who took part.

    Base: the study's pay per batch times the batches, for annotators who finished. Part: in proportion to the answers
    given, for you to decide. Bonus: only for annotators who finished, by the study's rule.
    """
    pay = study.pay
    if pay is None:
        fix = "add [pay] with amount and currency to the study file"
        raise BadSetting("a study without [pay]", "the pay per batch", fix, "no-pay", study.path)
    participants = [case for case in cases if case.annotator]
    scores = rule.scores(answers) if rule is not None else [nan] * len(participants)
    n_compared = answers.n_compared()
    found: list[Payment] = []

    def add(reason: str, amount: float, due: str, why: str, score: float = nan, n: int = 0) -> None:
        key = request_key(secret, case.annotator, f"pay {reason}")
        ids = (case.person, case.session)
        found.append(Payment(case.annotator, reason, money(amount), pay.currency, due, score, n, why, key, *ids))

    for number, case in enumerate(participants):
        size = study.people.batch_size
        if case.pay == "yes":
            n_batches = max(int(study.people.paid_batches(case.n_labels, finished=True)), 1)
            add(BASE, pay.amount * n_batches, "yes", f"{n_batches} batch{'es' * (n_batches > 1)} finished")
            if rule is not None and pay.bonus is not None:
                score, n = float(scores[number]), int(n_compared[number])
                why = f"{rule.name}: no answers to compare with yet"
                if not isnan(score):
                    why = f"{rule.name} {score:.3f} over {n} answers"
                add(BONUS, bonus_for(score, pay.bonus), "yes", why, score, n)
        elif case.pay == "decide":
            share = f"{case.n_labels} of {size} answers of a batch"
            part = min(study.people.paid_batches(case.n_labels, finished=False), study.people.batches)
            add(PART, pay.amount * part, "decide", share)
    return Payments(tuple(found), with_ids)


def bonus_for(score: float, bonus: Bonus) -> float:
    """Linear from 0 at the floor to the maximum at score 1; 0 without a score."""
    if isnan(score):
        return 0.0
    return money(bonus.most * min(max((score - bonus.floor) / (1 - bonus.floor), 0.0), 1.0))


def money(amount: float) -> float:
    """An amount rounded to hundredths, halves up."""
    return float(Decimal(repr(float(amount))).quantize(Decimal("0.01"), ROUND_HALF_UP))


def read_paid(paths: Sequence[Path]) -> list[Paid]:
    """Earlier payments, from lists that `sfumato study pay` wrote."""
    return [row for path in paths for row in rows_of(read_rows(path), Paid)]


assert set(IDS) <= {each.name for each in fields(Payment)}
