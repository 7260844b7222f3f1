"""The two-way jackknife: against values computed again without each item, person and answer, and by hand."""

from __future__ import annotations

import time

import numpy as np
import pytest
from jaxtyping import Float, Int
from scipy import stats

from sfumato.tables.two_way import (
    FISHER_Z,
    AnswerDesign,
    FigureScale,
    LeaveOneOut,
    TwoWay,
    ratio,
    satterthwaite,
    two_way,
    welch,
)

Codes = Int[np.ndarray, "answers"]


def sparse(
    rng: np.random.Generator, n_items: int = 30, n_people: int = 8
) -> tuple[Codes, Codes, Float[np.ndarray, "answers"]]:
    """Some answers of a crossed design, with a loss that depends on item and person."""
    item, person = np.divmod(np.arange(n_items * n_people), n_people)
    on = rng.random(len(item)) < 0.5
    item, person = item[on], person[on]
    loss = rng.gamma(2, 1, n_items)[item] + rng.normal(0, 1, n_people)[person] + rng.normal(0, 0.5, len(item))
    return item, person, loss


def again(left: LeaveOneOut, item: Codes, person: Codes, value) -> None:  # type: ignore[no-untyped-def]
    """Compare with the value of all answers that are left."""
    assert left.value == pytest.approx(value(np.ones(len(item), bool)))
    assert left.without_item == pytest.approx([value(item != i) for i in np.unique(item)])
    assert left.without_person == pytest.approx([value(person != p) for p in np.unique(person)])
    one_less = [value(np.arange(len(item)) != r) for r in range(len(item))]
    ours = np.sort(np.repeat(left.without_answer, left.times.astype(int)))
    assert ours == pytest.approx(np.sort(one_less))


def test_leave_one_out_values_are_those_of_the_answers_that_are_left() -> None:
    rng = np.random.default_rng(1)
    item, person, loss = sparse(rng)
    weights = rng.uniform(0.5, 2, len(item))
    design = AnswerDesign.of(item, person)
    again(design.mean(loss), item, person, lambda on: loss[on].mean())
    again(design.mean(loss, weights), item, person, lambda on: np.average(loss[on], weights=weights[on]))
    of_item = rng.uniform(0.5, 2, design.n_items)

    def over_items(on: np.ndarray) -> float:
        left = np.unique(design.item[on])
        return float(np.average([loss[on & (design.item == i)].mean() for i in left], weights=of_item[left]))

    again(design.mean_over_items(loss, of_item), item, person, over_items)


def test_votes_of_the_same_class_about_an_item_are_one_case() -> None:
    rng = np.random.default_rng(2)
    item, person, _ = sparse(rng)
    keep = np.bincount(item)[item] > 2
    item, person = item[keep], person[keep]
    vote = rng.integers(0, 3, len(item))
    design = AnswerDesign.of(item, person)

    def dissent(counts: np.ndarray) -> np.ndarray:
        m = counts.sum(axis=1)
        return np.column_stack([(m**2 - (counts**2).sum(axis=1)) / (m * (m - 1)), np.ones(len(m))])

    counts = np.bincount(design.item * 3 + vote, minlength=3 * design.n_items).reshape(-1, 3)
    left = np.repeat(counts, 3, axis=0) - np.tile(np.eye(3, dtype=int), (design.n_items, 1))
    found = design.function_of_sums(dissent(counts), dissent(left), ratio, which=design.item * 3 + vote)

    def value(on: np.ndarray) -> float:
        each = [vote[on & (design.item == i)] for i in np.unique(design.item[on])]
        shares = [np.mean([a != b for j, a in enumerate(v) for k, b in enumerate(v) if j != k]) for v in each]
        return float(np.mean(shares))

    again(found, item, person, value)


def test_a_mean_of_a_crossed_table_has_the_variances_of_its_row_and_column_means() -> None:
    rng = np.random.default_rng(3)
    n, k = 40, 6
    table = rng.normal(0, 1, n)[:, None] + rng.normal(0, 0.5, k) + rng.normal(0, 1, (n, k))
    item, person = np.divmod(np.arange(n * k), k)
    found = two_way(AnswerDesign.of(item, person).mean(table.ravel()), level=0.9)
    rows, columns = table.mean(axis=1).var(ddof=1) / n, table.mean(axis=0).var(ddof=1) / k
    both = max(rows, columns, rows + columns - table.var(ddof=1) / (n * k))
    assert found.standard_error == pytest.approx(np.sqrt(both), rel=1e-9)
    assert found.df == pytest.approx(both**2 / (rows**2 / (n - 1) + columns**2 / (k - 1)), rel=1e-9)
    assert found.interval.low + found.interval.high == pytest.approx(2 * table.mean())
    parts = found.parts
    assert parts.items + parts.people + parts.answers == pytest.approx(1)
    assert parts.twice_the_people < parts.another_crowd > parts.twice_the_items


def test_variance_parts_are_those_of_the_simulation() -> None:
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(60):
        n, k = 60, 20
        table = rng.normal(0, 1, n)[:, None] + rng.normal(0, 1, k) + rng.normal(0, 2, (n, k))
        item, person = np.divmod(np.arange(n * k), k)
        parts = two_way(AnswerDesign.of(item, person).mean(table.ravel())).parts
        shares.append((parts.items, parts.people, parts.answers))
    true = np.array([1 / 60, 1 / 20, 4 / 1200])
    assert np.median(shares, axis=0) == pytest.approx(true / true.sum(), abs=0.05)


def test_coverage_with_people_who_lean() -> None:
    """Five people who differ: over items alone the intervals would contain the truth in far fewer studies."""
    rng = np.random.default_rng(5)
    item, person = np.divmod(np.arange(500), 5)
    design = AnswerDesign.of(item, person)
    both, fixed = [], []
    for _ in range(300):
        loss = rng.normal(0, 1, 100)[item] + rng.normal(0, 0.5, 5)[person] + rng.normal(0, 1, 500)
        found = two_way(design.mean(loss), level=0.9)
        both.append(found.interval.low <= 0 <= found.interval.high)
        fixed.append(found.these_people.low <= 0 <= found.these_people.high)
    assert 0.85 < np.mean(both) < 0.96
    assert np.mean(fixed) < 0.75


def test_coverage_if_a_few_people_gave_most_answers() -> None:
    """The n-th person gave 1 / n^1.5 as many answers as the first. Nineteen degrees of freedom would be too many."""
    rng = np.random.default_rng(6)
    shares = 1 / np.arange(1, 21) ** 1.5
    item = np.repeat(np.arange(100), 4)
    inside, dfs = [], []
    for _ in range(400):
        person = rng.choice(20, len(item), p=shares / shares.sum())
        loss = rng.normal(0, 1, 100)[item] + rng.normal(0, 0.8, 20)[person] + rng.normal(0, 1, len(item))
        found = two_way(AnswerDesign.of(item, person).mean(loss), level=0.9)
        inside.append(found.interval.low <= 0 <= found.interval.high)
        dfs.append(found.df)
    assert 0.85 < np.mean(inside) < 0.95
    assert np.mean(dfs) < 8


def kind(loss: list[float], item: list[int], person: list[int]) -> str:
    return two_way(AnswerDesign.of(np.array(item), np.array(person)).mean(np.array(loss, float))).interval.kind


def test_no_interval_says_why() -> None:
    assert kind([1, 2, 3], [0, 1, 2], [0, 0, 0]) == "none: only one person"
    assert kind([1, 2, 3], [0, 0, 0], [0, 1, 2]) == "none: only one item"
    assert kind([2, 2, 2, 2], [0, 0, 1, 1], [0, 1, 0, 1]) == "none: the value is the same without any one of them"
    nan, left = np.array([np.nan]), np.array([0.5, 0.4])
    gone = LeaveOneOut(0.45, left, np.array([np.nan, 0.4]), left, np.ones(2), np.ones(2), np.ones(2))
    assert two_way(gone).interval.kind == "none: undefined without one person (1 of 2 people)"
    assert two_way(gone).these_people.kind == "95% jackknife over items"
    assert kind([1, np.inf, 3, 4], [0, 0, 1, 1], [0, 1, 0, 1]) == "none: the value is infinite"
    undefined = LeaveOneOut(np.nan, nan, nan, nan, np.ones(1), np.ones(1), np.ones(1))
    assert two_way(undefined).interval.kind == "none: undefined"


def test_people_who_answered_alone_count_as_people() -> None:
    """Each person has items of their own: the variance is that over people."""
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(12), 5)
    loss = rng.normal(0, 1, 12)[person] + rng.normal(0, 0.3, 60)
    found = two_way(AnswerDesign.of(np.arange(60), person).mean(loss), level=0.9)
    means = loss.reshape(12, 5).mean(axis=1)
    assert found.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(12), rel=1e-9)
    assert np.isnan(found.parts.twice_the_people)


def log_one_minus(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(1 - values)


LOG_ONE_MINUS = FigureScale("log(1 - value)", log_one_minus, lambda logs: 1 - np.exp(logs))


def test_an_unbiased_interval_has_the_jackknife_estimate_as_its_center() -> None:
    """The variance with n in place of n - 1 is too small by a share of 1 / n, which the jackknife over items removes
    exactly; the interval contains the value as it is, too."""
    rng = np.random.default_rng(4)
    n = 12
    values, people = rng.normal(0, 1, n), np.array([0.6, 0.7, 0.8])
    without = np.array([np.delete(values, i).var() for i in range(n)])
    left = LeaveOneOut(float(values.var()), without, people, people, *[np.ones(k) for k in (3, n, 3)])
    found = two_way(left, unbiased=True).interval
    assert (found.low + found.high) / 2 == pytest.approx(values.var(ddof=1))
    assert found.high - found.low == pytest.approx(two_way(left).interval.high - two_way(left).interval.low)
    near = LeaveOneOut(0.5, np.array([0.4, 0.4, 0.401]), people, people, *[np.ones(3)] * 3)
    assert two_way(near, unbiased=True, level=0.01).interval.low <= 0.5


def test_fishers_z() -> None:
    left = LeaveOneOut(0.9, *[np.array([0.85, 0.9, 0.94])] * 3, *[np.ones(3)] * 3)
    found = two_way(left, scale=FISHER_Z, bounds=(-1.0, 1.0)).interval
    assert found.kind == "95% jackknife of Fisher's z over people and items"
    half = np.arctanh(found.high) - np.arctanh(0.9)
    assert half == pytest.approx(np.arctanh(0.9) - np.arctanh(found.low))
    spread = np.arctanh([0.85, 0.9, 0.94])
    assert half == pytest.approx(stats.t.ppf(0.975, found_df := 1.0) * np.sqrt(2 / 3 * 3 * spread.var()), rel=1e-9)
    assert found_df == two_way(left, scale=FISHER_Z).df


def test_answers_count_twice_only_for_items_with_two_answers() -> None:
    """`V_answers` above `V_items` lowers the variance over people only if an item is lost with one of its answers."""
    people, items, answers = np.array([0.4, 0.5, 0.6]), np.array([0.45, 0.5, 0.55]), np.array([0.4, 0.45, 0.55, 0.6])
    both = [
        two_way(LeaveOneOut(0.5, items, people, answers, np.ones(4), np.full(3, float(n)), np.ones(3))).standard_error
        for n in (2, 3)
    ]
    assert both[0] < both[1]


def test_welch_has_more_degrees_of_freedom_than_satterthwaite_on_average() -> None:
    """Variances of three values each: four degrees of freedom are true if they are equal (Welch 1947)."""
    variances = np.random.default_rng(5).chisquare(2, (2000, 2)) / 2
    few, ours = (
        np.mean([df(a + b, (a, 2.0), (b, 2.0)) for a, b in variances.tolist()]) for df in (satterthwaite, welch)
    )
    assert few + 0.15 < ours < 4
    assert welch(1.0, (1.0, 2.0), (0.0, 2.0)) == 2
    assert welch(2.0, (1.0, 2.0), (1.0, 2.0)) == 4


def test_scale_and_bounds() -> None:
    rng = np.random.default_rng(8)
    item, person = np.divmod(np.arange(200), 5)
    left = AnswerDesign.of(item, person).mean(rng.uniform(0.8, 1, 200))
    found = two_way(left, scale=LOG_ONE_MINUS)
    assert found.interval.kind == "95% jackknife of log(1 - value) over people and items"
    assert found.interval.low < left.value < found.interval.high < 1
    cut = two_way(left, bounds=(left.value - 1e-4, 1.0)).interval
    assert cut.low == left.value - 1e-4
    # A value of exactly 1 without an item has no logarithm: the interval is that of the value itself.
    perfect = LeaveOneOut(
        0.9, np.array([1.0, 0.85, 0.85]), *[np.array([0.9, 0.8])] * 2, *[np.ones(n) for n in (2, 3, 2)]
    )
    assert two_way(perfect, scale=LOG_ONE_MINUS).interval.kind == "95% jackknife over people and items"


@pytest.mark.parametrize("figure", ["mean", "mean_over_items"])
def test_large_designs_take_less_than_a_second(figure: str) -> None:
    item, person = np.divmod(np.arange(500_000), 50)
    loss = np.random.default_rng(9).gamma(2, 1, len(item))
    started = time.process_time()
    found: TwoWay = two_way(getattr(AnswerDesign.of(item, person), figure)(loss))
    assert time.process_time() - started < 1
    assert found.interval.low < found.value < found.interval.high
