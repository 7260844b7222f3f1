"""The result of `sfumato plan labels` in sentences, for the terminal and for the page."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.planning.label_choice import KindResult, LabelChoice
    from sfumato.planning.label_plan import LabelPlan

EXAMPLE_STEP = (0.5, 0.9)
"""The step of recovery whose worth is printed."""
MOST_RANGES = 6


def kind_words(kind: str) -> str:
    """`sparse:3` as `sparse labels of 3 classes`."""
    family, _, number = kind.partition(":")
    if family == "sparse":
        return f"sparse labels of {number} class{'es' * (number != '1')} each"
    if family == "top":
        return f"labels over the same {number} class{'es' * (number != '1')}"
    if family == "triplet":
        return f"{int(number):,} triplet questions"
    return {"similarity": "similarities of all pairs"}.get(family, f"{family} labels")


def headline(choice: LabelChoice) -> str:
    """The recommendation in a few words."""
    return f"Collect {kind_words(choice.best.kind)}"


def recommendation(choice: LabelChoice) -> str:
    """The recommendation, and how sure it is."""
    best, then = choice.best, choice.next_best
    first = f"{headline(choice)}: rho {best.rho:.2f}, loss {best.loss:.3g}."
    if then is None:
        return first
    apart = f"{then.difference:+.2g} (95% CI {then.difference_low:+.2g} to {then.difference_high:+.2g})"
    beaten = f"{best.kind} has the lower loss in {then.share_beaten:.0%} of {choice.n_worlds} simulated worlds"
    clear = "" if choice.is_clear else f" The difference is not clear: {then.kind} may be as good."
    return f"{first} Next best: {then.kind}, loss {apart}; {beaten}.{clear}"


def against_ends(choice: LabelChoice) -> list[str]:
    """How the recommended kind compares with hard and with soft labels."""
    sentences = []
    for kind in ("hard", "soft"):
        rows = [row for row in choice.rows if row.kind == kind and kind != choice.best.kind]
        for row in rows:
            sentences.append(
                f"{kind}: loss {row.difference:+.2g} (95% CI {row.difference_low:+.2g} to {row.difference_high:+.2g}), "
                f"higher in {row.share_beaten:.0%} of the worlds"
            )
    return sentences


def sparsity(choice: LabelChoice) -> list[str]:
    """The best number of classes of sparse and of top-class labels."""
    sentences = []
    for family, words in (("sparse", "each item's own"), ("top", "the same for all items")):
        row = choice.best_of(family)
        if row is not None:
            number = row.kind.partition(":")[2]
            sentences.append(f"best number of classes, {words}: {number} (loss {row.loss:.3g}, rho {row.rho:.2f})")
    return sentences


def at_equal_budget(choice: LabelChoice) -> str:
    """The comparison at equal budget in a sentence."""
    best = choice.best_at_budget
    amount = money_words(choice, choice.budget)
    if not choice.question.noise and all(row.budget_times >= 1 for row in choice.rows):
        return (
            f"At equal budget ({amount}): {best.kind} recovers most, rho {best.budget_rho:.2f}. Without noise a second "
            "answer about an item adds nothing, so cheaper kinds gain nothing from the rest of the money; a pilot with "
            "two answers per item would show the noise."
        )
    others = sorted((row for row in choice.rows if row.kind != best.kind), key=lambda row: -row.budget_rho)[:1]
    then = "".join(f"; next {row.kind}, {row.budget_rho:.2f}" for row in others)
    return (
        f"At equal budget ({amount}): {best.kind}, {times_words(best)}, rho {best.budget_rho:.2f} "
        f"(95% CI {best.budget_low:.2f} to {best.budget_high:.2f}){then}."
    )


def times_words(row: KindResult) -> str:
    if row.budget_times < 1:
        return f"{row.budget_times:.0%} of the items"
    return f"{row.budget_times:.3g} times each"


def money_words(choice: LabelChoice, amount: float) -> str:
    """An amount in hard labels, and in money."""
    money = choice.prices.in_money(amount)
    labels = f"{_number(amount)} hard label{'s' * (round(amount, 2) != 1)}"
    return labels if money is None else f"{labels}, {money:,.2f} {choice.prices.currency}"


def conversions(choice: LabelChoice) -> list[str]:
    """What beta means, in prices and in money."""
    tradeoff = choice.tradeoff
    dearest = max(choice.rows, key=lambda row: row.total)
    words = money_words(choice, tradeoff.unit)
    sentences = [
        f"beta = {tradeoff.beta:.3g}: the dearest kind compared ({dearest.kind}: {words}) costs {tradeoff.beta:.3g} "
        f"units of {tradeoff.utility_name} utility"
    ]
    step = tradeoff.price_of_step(*EXAMPLE_STEP)
    if tradeoff.worth is not None:
        worth = tradeoff.worth
        sentences[0] += f"; from --worth: rho {worth.low:g} to {worth.high:g} is worth {worth.money:,.10g} "
        sentences[0] += choice.prices.currency
    elif step is not None:
        low, high = EXAMPLE_STEP
        sentences.append(f"the same as: going from rho {low} to {high} is worth {money_words(choice, step)}")
        money = choice.prices.in_money(step)
        if money:
            sentences[-1] += f" (--worth {low}:{high}={money:.3g})"
    hard = choice.prices.hard
    if hard is not None:
        sentences.append(f"a hard label costs {hard.amount:.3g} {choice.prices.currency} ({hard.source})")
    return sentences


def changes(plan: LabelPlan) -> list[str]:
    """What would change the recommendation."""
    choice = plan.choice
    best = choice.best
    ranges = choice.beta_ranges
    shown = [f"{each.kind} {_between(each.low, each.high)}" for each in ranges]
    if len(shown) > MOST_RANGES:
        place = next((i for i, each in enumerate(ranges) if each.kind == best.kind), 0)
        near = {0, len(shown) - 1, max(place - 1, 0), place, min(place + 1, len(shown) - 1)}
        shown = [text for i, text in enumerate(shown) if i in near]
    found = [f"beta (now {choice.tradeoff.beta:.3g}): {'; '.join(shown)}"]
    for row in choice.rows:
        limit = choice.price_limits.get(row.kind)
        if limit is None or row.kind not in (best.kind, "soft", "similarity") or row.kind == "hard":
            continue
        side = "no longer above" if row.kind == best.kind else "below"
        found.append(f"price of {row.kind} in hard labels (now {_number(row.price)}): {side} {limit:.3g}")
    for what in ("dimensions", "noise"):
        others = [each for each in choice.sensitivity if each.what == what]
        if others:
            values = "; ".join(f"{each.kind} at {each.value}" for each in others)
            found.append(f"{what}: {values}")
    return found


def rests_on(plan: LabelPlan) -> list[str]:
    """Every assumption, with what it would change, and the pilot that would settle it."""
    found = [
        f"{each.what}: {each.value} ({each.source})" + (f"; it decides: {each.change}" if each.change else "")
        for each in plan.assumptions
    ]
    if plan.advice is not None:
        advice = plan.advice
        found.append(
            f"to settle it: a pilot of {advice.n_items} items, two answers each of {', '.join(advice.kinds)}: about "
            f"{money_words(plan.choice, advice.price)}"
        )
    return found


def simulated(choice: LabelChoice) -> str:
    """What was simulated, and how."""
    question = choice.question
    over = "items" if question.items_only else "items and classes"
    values = ", ".join(map(str, question.dimensions))
    return (
        f"{choice.n_worlds} worlds of {question.n_simulated} items, {question.n_classes} classes and {values} "
        f"dimensions; rho over {over}; recovered by {choice.method}"
    )


def _between(low: float, high: float) -> str:
    if isinf(high):
        return f"above {low:.3g}" if low else "always"
    return f"from {low:.3g} to {high:.3g}" if low else f"below {high:.3g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
