"""Agreement of choices beyond chance: Fleiss' and Cohen's kappa, and Gwet's AC1 and AC2.

All are `(p_a - p_e) / (1 - p_e)` with the share of agreement `p_a` and the share expected by chance `p_e`, and differ
in `p_e`. With weights, near misses agree in part: `w(c, k) = 1 - |c - k| / (K - 1)`, or with the square of that
fraction. Beliefs count by their most probable class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import FirstAnswers, ItemAnswers
from sfumato.labeling.agreement.measure_protocol import ALL_ALIKE, NOBODY_TO_COMPARE
from sfumato.tables.errors import BadSetting
from sfumato.tables.two_way import LeaveOneOut, Sums, Values

NO_CHANCE = 1e-12
"""A smaller share of disagreement expected by chance is 0."""
MOST_PAIRS = 2**24

Weights = Float[np.ndarray, "classes classes"]


def identity_weights(n_classes: int) -> Weights:
    """Only the same class agrees."""
    return np.eye(n_classes)


def power_weights(n_classes: int, power: int) -> Weights:
    """Agreement that falls with the distance of the classes on the scale: linear (1) or quadratic (2)."""
    place = np.arange(n_classes)
    return np.asarray(1 - (np.abs(place[:, None] - place) / max(n_classes - 1, 1)) ** power)


def shared_kappa(
    first: FirstAnswers, weights: Weights, chance: Callable[[Float[np.ndarray, "rows classes"]], Values]
) -> LeaveOneOut:
    """A coefficient for any number of annotators, whose `chance` depends on the mean share of each class (Gwet 2014).

    `p_a` is the mean over items of the weighted share of pairs that agree; each item has the same weight.
    """
    votes, n = first.votes, first.per_item.astype(np.float64)
    counts = np.zeros((first.n_items, first.n_classes))
    counts[votes.item, votes.chosen] = votes.times
    near = counts @ weights
    pairs = np.einsum("ic,ic->i", counts, near) - n
    sums = np.column_stack([pairs / (n * (n - 1)), np.ones(len(n)), counts / n[:, None]])

    def without(cases: Int[np.ndarray, "cases"]) -> Sums:
        item, chosen = votes.item[cases], votes.chosen[cases]
        left = n[item] - 1
        agree = pairs[item] - 2 * (near[item, chosen] - 1)
        shares = counts[item]
        shares[np.arange(len(cases)), chosen] -= 1
        rows = np.column_stack([agree / np.maximum(left * (left - 1), 1), np.ones(len(cases)), shares / left[:, None]])
        rows[left < 2] = 0
        return rows

    def value(totals: Sums) -> Values:
        n_items = np.where(totals[:, 1] > 0, totals[:, 1], np.nan)
        return beyond_chance(totals[:, 0] / n_items, chance(totals[:, 2:] / n_items[:, None]))

    return first.design.function_of_sums(sums, without, value, which=votes.which)


def beyond_chance(agreement: Values, chance: Values) -> Values:
    """`(p_a - p_e) / (1 - p_e)`; NaN if all agreement is expected by chance."""
    room = 1 - chance
    return np.asarray(np.divide(agreement - chance, room, out=np.full(len(room), np.nan), where=room > NO_CHANCE))


def chance_of_shares(weights: Weights) -> Callable[[Float[np.ndarray, "rows classes"]], Values]:
    """Fleiss: two answers drawn from the shares of the classes."""
    return lambda shares: np.asarray(np.einsum("rc,ck,rk->r", shares, weights, shares))


def gwet_chance(weights: Weights) -> Callable[[Float[np.ndarray, "rows classes"]], Values]:
    """Gwet: an answer is a guess with the probability `sum s(1 - s) K / (K - 1)`; guesses are uniform."""
    n = len(weights)
    return lambda shares: np.asarray(weights.sum() / (n * (n - 1)) * (shares * (1 - shares)).sum(axis=1))


@dataclass(frozen=True)
class FleissKappa:
    """Agreement beyond chance on the class, for any number of annotators (Fleiss 1971).

    Annotators may differ between items. `p_e = sum_c s_c²`, with `s_c` the mean share of class c. Nearly
    `alpha-nominal`, which corrects for small samples and is preferred. Low if nearly all answers are of one class,
    however well people agree: compare `gwet-ac1`.
    """

    name: ClassVar[str] = "fleiss-kappa"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        weights = identity_weights(answers.first.n_classes)
        return shared_kappa(answers.first, weights, chance_of_shares(weights))


@dataclass(frozen=True)
class GwetAC1:
    """Agreement beyond chance that stays high if one class is common (Gwet 2008).

    `p_e = sum_c s_c (1 - s_c) / (K - 1)`: only answers about uncertain items agree by chance. K is the number of
    classes of the table, also of those that nobody chose. Prefer it to kappa where one class is much more frequent.
    """

    name: ClassVar[str] = "gwet-ac1"
    undefined: ClassVar[str] = NOBODY_TO_COMPARE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        weights = identity_weights(answers.first.n_classes)
        return shared_kappa(answers.first, weights, gwet_chance(weights))


@dataclass(frozen=True)
class GwetAC2:
    """AC1 for ordered classes, in the order of the table: near misses agree in part (Gwet 2014).

    Quadratic weights, or linear ones with `power=1`; `p_e = T / (K (K - 1)) sum_c s_c (1 - s_c)`, with T the sum of
    all weights.
    """

    power: int = 2

    name: ClassVar[str] = "gwet-ac2"
    undefined: ClassVar[str] = NOBODY_TO_COMPARE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_power(self.power)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        weights = power_weights(answers.first.n_classes, self.power)
        return shared_kappa(answers.first, weights, gwet_chance(weights))


def check_power(power: int) -> None:
    """Raise unless the weights are linear or quadratic."""
    if power not in (1, 2):
        raise BadSetting(f"power={power}", "1 (linear weights) or 2 (quadratic weights)", "choose one of them")


@dataclass(frozen=True)
class CohenKappa:
    """Agreement of two annotators beyond chance; of more, the mean over pairs (Cohen 1960).

    `p_e = sum_c a_c b_c`, with the class shares a and b of the two. With more annotators, the mean over pairs of them
    (Light 1971), each pair with the weight of its common items. For the same two people on every item; prefer
    `alpha-nominal` or `fleiss-kappa` for many annotators with few items each.
    """

    name: ClassVar[str] = "cohen-kappa"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    needs_annotators: ClassVar[bool] = True

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return kappa_of_pairs(answers.first, identity_weights(answers.first.n_classes), self.name)


@dataclass(frozen=True)
class WeightedKappa:
    """Cohen's kappa for ordered classes: near misses agree in part (Cohen 1968).

    Classes are in the order of the table. Quadratic weights, or linear ones with `power=1`. Computed by default for
    ordered classes, after `alpha-ordinal`.
    """

    power: int = 2

    name: ClassVar[str] = "weighted-kappa"
    undefined: ClassVar[str] = ALL_ALIKE
    compares: ClassVar[str] = "first"
    default_for: ClassVar[tuple[str, ...]] = ("ordered",)
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    needs_annotators: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_power(self.power)

    def leave_one_out(self, answers: ItemAnswers) -> LeaveOneOut:
        return kappa_of_pairs(answers.first, power_weights(answers.first.n_classes, self.power), self.name)


@dataclass(frozen=True, eq=False)
class _PairTables:
    """Per pair of annotators: common items, weighted agreement, and the answers of each by class."""

    n: Float[np.ndarray, "pairs"]
    agree: Float[np.ndarray, "pairs"]
    one: Float[np.ndarray, "pairs classes"]
    other: Float[np.ndarray, "pairs classes"]


def kappa_of_pairs(first: FirstAnswers, weights: Weights, name: str) -> LeaveOneOut:
    """The mean over pairs of annotators of Cohen's kappa, with the number of common items as weights."""
    one, other = _answer_pairs(first, name)
    person, chosen = first.design.person, first.chosen()
    swap = person[one] > person[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    codes = person[one].astype(np.int64) * first.design.n_people + person[other]
    named, pair = np.unique(codes, return_inverse=True)
    a, b = chosen[one], chosen[other]
    n_pairs, n_classes = len(named), first.n_classes
    tables = _PairTables(
        np.bincount(pair, minlength=n_pairs).astype(np.float64),
        np.bincount(pair, weights=weights[a, b], minlength=n_pairs),
        *(
            np.bincount(pair * n_classes + each, minlength=n_pairs * n_classes).reshape(-1, n_classes).astype(float)
            for each in (a, b)
        ),
    )
    one_near, other_near = tables.one @ weights, tables.other @ weights
    both = np.einsum("pc,pc->p", one_near, tables.other)
    whole = _contribution(tables.n, tables.agree, both)
    # The same without the item of each row.
    expected = both[pair] - other_near[pair, a] - one_near[pair, b] + weights[a, b]
    change = _contribution(tables.n[pair] - 1, tables.agree[pair] - weights[a, b], expected) - whole[pair]
    totals = whole.sum(axis=0)

    def ratio_without(code: Int[np.ndarray, "some"], changes: Float[np.ndarray, "some 2"], n: int) -> Values:
        sums = [totals[k] + np.bincount(code, weights=changes[:, k], minlength=n) for k in range(2)]
        return _mean(*sums)

    people = np.concatenate([named // first.design.n_people, named % first.design.n_people])
    ends = np.concatenate([one, other])
    return LeaveOneOut(
        float(_mean(totals[:1], totals[1:])[0]),
        ratio_without(first.item[one], change, first.n_items),
        ratio_without(people, -np.concatenate([whole, whole]), first.design.n_people),
        ratio_without(ends, np.concatenate([change, change]), len(first.item)),
        np.ones(len(first.item)),
        first.per_item.astype(np.float64),
        np.bincount(person, minlength=first.design.n_people).astype(np.float64),
    )


def _answer_pairs(first: FirstAnswers, name: str) -> tuple[Int[np.ndarray, "pairs"], Int[np.ndarray, "pairs"]]:
    """The rows of every pair of answers about the same item."""
    n_pairs = int((first.per_item.astype(np.int64) * (first.per_item - 1) // 2).sum())
    if n_pairs > MOST_PAIRS:
        expected, fix = f"at most {MOST_PAIRS:,}", "use fleiss-kappa or alpha-nominal, which need no pairs"
        raise BadSetting(f"{n_pairs:,} pairs of answers for {name}", expected, fix, "too-large")
    one, other = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for m in np.unique(first.per_item).tolist():
        starts = first.starts[first.per_item == m]
        low, high = np.triu_indices(m, 1)
        one.append((starts[:, None] + low).ravel())
        other.append((starts[:, None] + high).ravel())
    return np.concatenate(one), np.concatenate(other)


def _contribution(n: Values, agree: Values, both: Values) -> Float[np.ndarray, "rows 2"]:
    """The kappa of each row times its number of items, and that number; zeros where it is undefined."""
    known = np.maximum(n, 1)
    kappa = beyond_chance(agree / known, both / known**2)
    weight = np.where(np.isnan(kappa) | (n < 1), 0.0, n)
    return np.column_stack([np.nan_to_num(kappa) * weight, weight])


def _mean(above: Values, below: Values) -> Values:
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0.5))
