"""What a recommended kind of label rests on: every assumption with its source, whether another value would change the
recommendation, and the pilot that would settle it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

from sfumato.planning.label_choice import KindResult, LabelChoice, are_close
from sfumato.planning.pilot_geometry import DimensionEstimate

TIMES_AS_LARGE = 3.0
"""An assumed price may be wrong by this factor, in both directions."""
TIME_VARIATION = 0.95
"""Standard deviation of answering times divided by their mean (CIFAR-10S: lognormal with median 32 s, mean 44 s)."""
FEWEST_ANSWERS, MOST_ANSWERS = 40, 400
ANSWERS_PER_ITEM = 2
"""Two answers about each item show how often people contradict each other."""


@dataclass(frozen=True)
class LabelAssumption:
    """A value that was not measured in the user's own data; `change` says what another value would change, if known."""

    what: str
    value: str
    source: str
    change: str = ""


@dataclass(frozen=True)
class PilotAdvice:
    """The pilot that would settle what the recommendation rests on: `n_items` items, two answers each of each kind."""

    kinds: tuple[str, ...]
    n_items: int
    price: float
    """In hard labels."""
    money: float | None


def assumptions_of(choice: LabelChoice, dimensions: DimensionEstimate | None = None) -> tuple[LabelAssumption, ...]:
    """Everything assumed, what decides first."""
    question = choice.question
    found = [_price(choice, row) for row in choice.rows if _decides(choice, row)]
    if not question.noise:
        source = "assumed: no pilot with two answers per item"
        found.append(LabelAssumption("noise of people's answers", "0", source, _others(choice, "noise", "at noise")))
    if dimensions is None and len(question.dimensions) > 1:
        values = ", ".join(map(str, question.dimensions))
        source = "assumed: not known, as in the published simulations, mixed in equal parts"
        found.append(LabelAssumption("latent dimensions", values, source, _others(choice, "dimensions", "in")))
    hard = choice.prices.hard
    if hard is not None and hard.is_assumed:
        amount = f"{hard.amount:.3g} {choice.prices.currency}"
        change = "" if choice.tradeoff.worth is None else _money_change(choice)
        found.append(LabelAssumption("price of a hard label", amount, hard.source, change))
    return tuple(sorted(found, key=lambda each: not each.change))


def _others(choice: LabelChoice, what: str, at: str) -> str:
    """The kinds that would be recommended at other values, if they are others in practice."""
    others = [each for each in choice.sensitivity if each.what == what and not are_close(each.kind, choice.best.kind)]
    return "; ".join(f"{each.kind} {at} {each.value}" for each in others)


def _decides(choice: LabelChoice, row: KindResult) -> bool:
    """Whether a row's price is assumed and matters: that of the recommended kind, of hard's main rival, or of one that
    a price within reach would make the best."""
    if not row.price_source.startswith("assumed"):
        return False
    return row.kind == choice.best.kind or _is_within_reach(choice, row)


def _is_within_reach(choice: LabelChoice, row: KindResult) -> bool:
    limit = choice.price_limits.get(row.kind)
    if limit is None:
        return False
    if row.kind == choice.best.kind:
        rival = choice.rival
        # A neighbor of the same family has nearly the same price and would take its place at once.
        return rival is not None and rival is choice.next_best and limit < row.price * TIMES_AS_LARGE
    # Neighbors on the same curve of sparsity change places at once; only whole families are of interest.
    family = row.kind.partition(":")[0]
    of_family = [each for each in choice.rows if each.kind.partition(":")[0] == family]
    leading = min(of_family, key=lambda each: each.loss)
    return row is leading and family != choice.best.kind.partition(":")[0] and limit > row.price / TIMES_AS_LARGE


def _price(choice: LabelChoice, row: KindResult) -> LabelAssumption:
    limit = choice.price_limits.get(row.kind)
    change = ""
    if limit is not None and _is_within_reach(choice, row):
        change = f"{row.kind} below {limit:.3g}" if row.kind != choice.best.kind else f"another above {limit:.3g}"
    return LabelAssumption(f"price of a {row.kind} label, in hard labels", f"{row.price:.3g}", row.price_source, change)


def _money_change(choice: LabelChoice) -> str:
    """How many times dearer or cheaper labels change the recommendation, if what recovery is worth stays as it is."""
    here = next(each for each in choice.beta_ranges if each.low <= choice.tradeoff.beta < each.high)
    place = choice.beta_ranges.index(here)
    parts = []
    hard = choice.prices.hard.amount if choice.prices.hard else 0.0
    if place and here.low * TIMES_AS_LARGE > choice.tradeoff.beta:
        parts.append(f"{choice.beta_ranges[place - 1].kind} below {hard * here.low / choice.tradeoff.beta:.3g}")
    if here.high < choice.tradeoff.beta * TIMES_AS_LARGE:
        parts.append(f"{choice.beta_ranges[place + 1].kind} above {hard * here.high / choice.tradeoff.beta:.3g}")
    return "; ".join(parts)


def pilot_advice(choice: LabelChoice, assumptions: tuple[LabelAssumption, ...]) -> PilotAdvice | None:
    """The pilot that would settle the assumptions that decide; None if none does.

    Of the recommended kind, of its rival and of hard labels, which are the unit. Large enough to tell the mean time of
    the recommended kind from the time at which it loses (95%), with at least 40 answers and two per item.
    """
    if not any(each.change for each in assumptions) or choice.rival is None:
        return None
    kinds = tuple(dict.fromkeys(["hard", choice.best.kind, choice.rival.kind]))
    known = [row for row in choice.rows if row.kind in kinds]
    needed = FEWEST_ANSWERS
    for row in known:
        limit = choice.price_limits.get(row.kind)
        if limit is not None and limit != row.price and row.price_source.startswith("assumed"):
            apart = abs(log(limit / row.price))
            needed = max(needed, ceil(2 * (1.96 * TIME_VARIATION / apart) ** 2))
    n_items = min(ceil(min(needed, MOST_ANSWERS) / ANSWERS_PER_ITEM), choice.question.n_items)
    each = {row.kind: row.total / row.n_labels * (row.n_labels / choice.question.n_items) for row in known}
    price = ANSWERS_PER_ITEM * n_items * sum(each.get(kind, 1.0) for kind in kinds)
    return PilotAdvice(kinds, n_items, price, choice.prices.in_money(price))
