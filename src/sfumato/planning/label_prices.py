"""What labels of each kind cost, and what recovery is worth: prices relative to a hard label and in money, and the
weight `beta` of the cost, which `--worth` gives in money."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sfumato.planning.costs import CostModel
from sfumato.planning.goals import UTILITIES, Utility, utility_named
from sfumato.planning.informativeness.label_types import LabelSet, LabelType
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.setting_checks import above_0, bad_setting, not_negative

JUDGMENTS = "assumed: one judgment per named class, pair or triplet, as in Sucholutsky et al. (2023)"
WITH_READING = "assumed: reading the text, and one judgment per named class, pair or triplet"

GIVEN = "given"
PRICE = re.compile(r"(?P<before>[^\d\s.]*)\s*(?P<number>[\d.]+(?:e-?\d+)?)\s*(?P<after>[^\d\s.]*)")


@dataclass(frozen=True)
class Price:
    """The price of one label, in hard labels, and where it comes from; `is_assumed` unless given or measured."""

    amount: float
    source: str
    is_assumed: bool = False


@dataclass(frozen=True)
class LabelPrices:
    """What one label of every kind costs, in hard labels of the same items: 1 for a hard label.

    A label of `h` classes costs `1 + slope (h - 1)`; similarity and triplet questions are priced per question. `hard`
    is the price of a hard label in `currency`.
    """

    slope: Price
    """The price of each further class that a label names."""
    others: Mapping[str, Price] = field(default_factory=dict)
    """Prices of single kinds, by title (`sparse:3`), or of a question (`similarity`, `triplet`)."""
    hard: Price | None = None
    currency: str = "USD"

    def of(self, kind: LabelType, k: int) -> Price:
        """The price of one label, or of one question, of a kind with `k` classes."""
        family = kind.title.partition(":")[0]
        for name in (kind.title, family):
            if name in self.others:
                return self.others[name]
        if not isinstance(kind, LabelSet):
            return Price(1.0, JUDGMENTS, is_assumed=True)
        if family == "hard":
            return Price(1.0, "a hard label", is_assumed=False)
        return replace(self.slope, amount=1 + self.slope.amount * (kind.kept_classes(k) - 1))

    def total(self, kind: LabelType, n: int, k: int) -> float:
        """The price of labeling `n` items of `k` classes once, in hard labels."""
        n_labels = n if isinstance(kind, LabelSet) else kind.judgments(n, k)
        return n_labels * self.of(kind, k).amount

    def in_money(self, amount: float) -> float | None:
        """So many hard labels in money."""
        return None if self.hard is None else amount * self.hard.amount


def prices_of(
    n_classes: int,
    *,
    given: Sequence[str] = (),
    seconds: Mapping[str, float] | None = None,
    costs: CostModel,
    reading: float = 0.0,
) -> LabelPrices:
    """Prices, in this order: as `given`, from mean `seconds` per answer by kind of label (a pilot's), or assumed.

    `given` are texts: `soft=10` (hard labels), `soft=0.25USD` (money), `similarity=0.5`. Without times or prices a
    label takes one judgment per named class, each `JUDGMENT_SECONDS`, after `reading` the item for so many seconds.
    """
    amounts, money = _parsed(given, costs.currency)
    seconds = dict(seconds or {})
    timed = {kind: each for kind, each in seconds.items() if "hard" in seconds}
    hard_money = _hard_price(money, timed, costs)
    for kind, amount in money.items():
        amounts[kind] = amount / hard_money.amount
    others = {kind: Price(amount, GIVEN) for kind, amount in amounts.items() if kind not in ("hard", "soft")}
    for kind, each in timed.items():
        if kind not in (*amounts, "hard", "soft"):
            others[kind] = Price(each / timed["hard"], "measured: mean seconds in the pilot")
    if "soft" in amounts:
        soft = Price(amounts["soft"], GIVEN)
    elif "soft" in timed:
        soft = Price(timed["soft"] / timed["hard"], "measured: mean seconds in the pilot")
    else:
        judged = (reading + n_classes * JUDGMENT_SECONDS) / (reading + JUDGMENT_SECONDS)
        soft = Price(judged, WITH_READING if reading else JUDGMENTS, is_assumed=True)
    slope = Price((soft.amount - 1) / (n_classes - 1), soft.source, soft.is_assumed)
    return LabelPrices(slope, others, hard_money, costs.currency)


JUDGMENT_SECONDS = 3.0
"""Seconds per judgment of one class, to compare with the time of reading a text: a pointing action of CIFAR-10S."""


def _hard_price(money: Mapping[str, float], timed: Mapping[str, float], costs: CostModel) -> Price:
    """The price of a hard label in money: given, from the pilot's seconds, or from published ones."""
    if "hard" in money:
        return Price(money["hard"], GIVEN)
    if "hard" in timed:
        each = costs.with_kind("choice", timed["hard"]).money("choice")
        return Price(each, "the pilot's mean seconds per answer, and the wage")
    return Price(costs.money("choice"), costs.time("choice").source, is_assumed=costs.time("choice").is_assumed)


def _parsed(given: Sequence[str], currency: str) -> tuple[dict[str, float], dict[str, float]]:
    """Prices in hard labels and in money, by kind."""
    amounts: dict[str, float] = {}
    money: dict[str, float] = {}
    for text in given:
        name, _, price = (part.strip() for part in text.partition("="))
        matched = PRICE.fullmatch(price)
        unit = (matched["before"] or matched["after"]) if matched else ""
        try:
            amount = float(matched["number"]) if matched else float("nan")
        except ValueError:
            amount = float("nan")
        if amount != amount or unit not in ("", currency):
            expected = f"KIND=PRICE: soft=10 (hard labels), or soft=0.25{currency}"
            raise BadSetting(f"--cost {text!r}", expected, "correct the price")
        family = name.partition(":")[0]
        if family not in ("hard", "soft", "sparse", "top", "similarity", "triplet"):
            raise unknown("kind of label", name, ["hard", "soft", "sparse:H", "top:H", "similarity", "triplet"])
        if family in ("sparse", "top") and ":" not in name:
            raise bad_setting("--cost", text, f"the number of classes too: {name}:3={price}")
        if name in amounts or name in money:
            raise BadSetting(f"two prices of {name}", "one price per kind", f"give --cost {name}=... once")
        if name == "hard" and not unit and amount != 1:
            expected = f"the price of a hard label in money: hard=0.02{currency}"
            raise BadSetting(f"--cost {text!r}", expected, "prices without a currency are in hard labels")
        (money if unit else amounts)[name] = above_0(f"cost of {name}", amount)
    return amounts, money


@dataclass(frozen=True)
class Worth:
    """Going from a recovery of `low` to `high` is worth `money`."""

    low: float
    high: float
    money: float

    @classmethod
    def parse(cls, text: str) -> Worth:
        """`0.5:0.9=200`."""
        step, _, money = text.partition("=")
        low, _, high = step.partition(":")
        try:
            worth = cls(float(low), float(high), float(money.strip()))
        except ValueError:
            raise BadSetting(
                f"--worth {text!r}", "a step of rho and its value in money: 0.5:0.9=200", "correct --worth"
            ) from None
        if not 0 <= worth.low < worth.high <= 1:
            raise BadSetting(f"--worth {text!r}", "two values of rho from 0 to 1, the smaller first", "correct --worth")
        above_0("the value in --worth", worth.money)
        return worth


@dataclass(frozen=True)
class Tradeoff:
    """What recovery is worth: the loss is `beta c - u(rho)`, and `c` is a price divided by `unit`.

    `unit` is the price of the dearest kind considered, for the user's own numbers of items and classes, in hard labels.
    So with `beta = 1` that kind costs one unit of utility.
    """

    utility_name: str
    beta: float
    unit: float
    worth: Worth | None = None

    @property
    def utility(self) -> Utility:
        return UTILITIES[self.utility_name]

    def cost(self, price: float) -> float:
        """The price in units of utility: `beta c`."""
        return self.beta * price / self.unit

    def loss(self, rho: float, price: float) -> float:
        return self.cost(price) - self.utility(rho)

    def price_of_step(self, low: float, high: float) -> float | None:
        """What going from one recovery to another is worth, in hard labels; None if costs do not count."""
        gain = self.utility(high) - self.utility(low)
        return gain * self.unit / self.beta if self.beta else None


BETA = 1.0


def tradeoff_of(
    dearest: float,
    *,
    utility: str = "linear",
    beta: float | None = None,
    worth: Worth | None = None,
    hard: Price | None = None,
) -> Tradeoff:
    """The weight of the cost: `beta` as given, or from what a step of recovery is `worth` in money; 1 without both.

    `dearest` is the price of the dearest kind in hard labels, `hard` the price of a hard label in money.
    """
    valued = utility_named(utility)
    if beta is not None and worth is not None:
        raise BadSetting("both --beta and --worth", "one of them: they say the same", "give only --worth")
    if worth is not None:
        if hard is None:
            raise BadSetting("--worth without a price in money", "the price of a label", "add --cost hard=0.02USD")
        gain = valued(worth.high) - valued(worth.low)
        return Tradeoff(utility, dearest * hard.amount * gain / worth.money, dearest, worth)
    return Tradeoff(utility, not_negative("beta", BETA if beta is None else beta), dearest)
