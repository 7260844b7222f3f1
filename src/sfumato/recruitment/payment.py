"""Paying: base and bonus of everybody, one row a person and reason, each under a key of its own. Listed, never sent.

The key of a payment is the same whenever it is computed. A platform that takes keys (Mechanical Turk's
UniqueRequestToken) pays it once, and a list of what was paid already keeps it out of the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import ROUND_HALF_UP, Decimal
from math import ceil, isnan, nan
from pathlib import Path

import pyarrow as pa

from sfumato.recruitment.bonus_rules import BonusRule, PeerAnswers
from sfumato.recruitment.platform_api import request_key
from sfumato.recruitment.reconciliation import IDS, ReconciledParticipant
from sfumato.study.study import Bonus, Pay, Study
from sfumato.tables.errors import BadSetting, ErrorLocation
from sfumato.tables.files import read_rows
from sfumato.tables.table import Table, columns_of, rows_of

BASE, PART, BONUS = "base", "part", "bonus"
REASONS = (BASE, PART, BONUS)
"""What somebody is paid for: batches they finished, part of one, answers that earn more."""


@dataclass(frozen=True)
class Payment:
    """What one person is owed for one reason."""

    annotator: str
    reason: str
    amount: float
    currency: str
    due: str
    """`yes`, or `decide` where only part of the work is there."""
    score: float
    """What the bonus was computed from, 0 to 1."""
    n_compared: int
    """How many answers the score rests on."""
    why: str
    key: str
    person: str = field(default="", repr=False)
    session: str = field(default="", repr=False)


@dataclass(frozen=True)
class Paid:
    """A payment as a list of what was paid tells of it."""

    annotator: str
    reason: str
    amount: float
    key: str


@dataclass(frozen=True)
class ChangedPayment:
    """A payment that was made, and would be another now."""

    annotator: str
    reason: str
    paid: float
    now: float


@dataclass(frozen=True, eq=False, repr=False)
class Payments(Table):
    """One row a person and reason. Ids only `with_ids`."""

    payments: tuple[Payment, ...]
    with_ids: bool = False

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        whole = columns_of(self.payments[start:stop], Payment)
        return whole if self.with_ids else whole.drop_columns(list(IDS))

    def __len__(self) -> int:
        return len(self.payments)

    def total(self, *reasons: str, due: str = "yes") -> float:
        """What these reasons come to in all."""
        return money(
            sum(each.amount for each in self.payments if each.due == due and (not reasons or each.reason in reasons))
        )

    def without(self, paid: Sequence[Paid]) -> Payments:
        """What is left to pay after what was paid."""
        keys = {each.key for each in paid}
        return Payments(tuple(each for each in self.payments if each.key not in keys), self.with_ids)

    def changed(self, paid: Sequence[Paid]) -> list[ChangedPayment]:
        """What was paid and would be another amount now, or none: a bonus moves while people go on answering, and who
        was paid a part may have finished since."""
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
    """What everybody is owed. `answers` has its annotators in the order of `cases` who took part.

    Base: what the study file says for a batch, times the batches of who has finished. Part: in proportion to the
    answers of a batch that are there, for you to decide. Bonus: only for who has finished, by the rule of the study.
    """
    pay = study.pay
    if pay is None:
        raise BadSetting(
            "found a study without [pay]",
            expected="what a batch pays",
            fix="add [pay] with amount and currency to the study file",
            code="no-pay",
            where=ErrorLocation(str(study.path) if study.path else None),
        )
    took_part = [case for case in cases if case.annotator]
    scores = rule.scores(answers) if rule is not None else [nan] * len(took_part)
    n_compared = answers.n_compared()
    found: list[Payment] = []
    for number, case in enumerate(took_part):
        add = _adding(found, case, pay.currency, secret)
        size = study.people.batch_size
        if case.pay == "yes":
            n_batches = max(ceil(case.n_labels / size), 1)
            add(BASE, money(pay.amount * n_batches), "yes", f"{n_batches} batch{'es' * (n_batches > 1)} finished")
            if rule is not None and pay.bonus is not None:
                score, n = float(scores[number]), int(n_compared[number])
                add(BONUS, bonus_for(score, pay.bonus), "yes", _said(score, n, rule), score, n)
        elif case.pay == "decide":
            share = f"{case.n_labels} answers, of {size} in a batch"
            add(PART, money(min(pay.amount * case.n_labels / size, _most(pay, study))), "decide", share)
    return Payments(tuple(found), with_ids)


def bonus_for(score: float, bonus: Bonus) -> float:
    """Nothing up to the floor, everything at 1, in a straight line between; nothing where there is no score."""
    if isnan(score):
        return 0.0
    return money(bonus.most * min(max((score - bonus.floor) / (1 - bonus.floor), 0.0), 1.0))


def money(amount: float) -> float:
    """An amount in whole hundredths, halves upwards."""
    return float(Decimal(repr(float(amount))).quantize(Decimal("0.01"), ROUND_HALF_UP))


def read_paid(paths: Sequence[Path]) -> list[Paid]:
    """What was paid already: lists that `sfumato study pay` wrote."""
    return [row for path in paths for row in rows_of(read_rows(path), Paid)]


def _most(pay: Pay, study: Study) -> float:
    return pay.amount * study.people.batches


def _said(score: float, n: int, rule: BonusRule) -> str:
    if isnan(score):
        return f"{rule.name}: nothing to compare with yet"
    return f"{rule.name} {score:.3f} over {n} answers"


def _adding(found: list[Payment], case: ReconciledParticipant, currency: str, secret: str) -> Callable[..., None]:
    ids: Mapping[str, str] = {"person": case.person, "session": case.session}

    def add(reason: str, amount: float, due: str, why: str, score: float = nan, n_compared: int = 0) -> None:
        key = request_key(secret, case.annotator, f"pay {reason}")
        found.append(Payment(case.annotator, reason, amount, currency, due, score, n_compared, why, key, **ids))

    return add


assert set(IDS) <= {each.name for each in fields(Payment)}
