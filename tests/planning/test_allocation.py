"""Allocation: values against enumeration, states against answers, choices against their probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.allocation import Allocation, AllocationChoice, Form, Stopping, worth_of_votes
from sfumato.planning.answer_value import (
    INDICES,
    EntropyIndex,
    ItemPosteriors,
    KLIndex,
    L2Index,
    LeadIndex,
    NotUnanimousIndex,
    UniformIndex,
    index_named,
)
from sfumato.tables.errors import BadSetting, BadTable, NotNow, SfumatoError

PRIOR = DirichletMixture(np.array([0.5, 0.3, 0.2]), np.array([[3.0, 0.1, 0.2], [0.2, 5.0, 1.0], [0.7, 0.7, 0.7]]))
COUNTS = np.array([[0, 0, 0], [1, 0, 0], [0, 3, 1], [2, 2, 2], [9, 0, 0], [0, 0, 30], [0.5, 0.25, 0.25]], float)


def expected_after(risk: str) -> np.ndarray:
    """The expected risk after one more answer: over every class it may be, by its probability."""
    known = ItemPosteriors(COUNTS, PRIOR)
    after = [getattr(ItemPosteriors(COUNTS + np.eye(3)[k], PRIOR), risk) for k in range(3)]
    return np.asarray(sum(known.mean[:, k] * after[k] for k in range(3)))


@pytest.mark.parametrize(("index", "risk"), [(L2Index(), "l2_risk"), (KLIndex(), "kl_risk")], ids=["l2", "kl"])
def test_worth_is_the_risk_before_less_the_risk_after(index: L2Index | KLIndex, risk: str) -> None:
    known = ItemPosteriors(COUNTS, PRIOR)
    np.testing.assert_allclose(index.worth(known), getattr(known, risk) - expected_after(risk), rtol=0, atol=1e-10)


def test_the_pair_is_one_answer_and_then_another() -> None:
    known = ItemPosteriors(COUNTS, PRIOR)
    for k in range(3):
        after = ItemPosteriors(COUNTS + np.eye(3)[k], PRIOR).mean
        np.testing.assert_allclose(known.pair[:, k], known.mean[:, [k]] * after, rtol=0, atol=1e-12)
    np.testing.assert_allclose(known.mean, PRIOR.given(COUNTS).mean(), rtol=0, atol=1e-12)


def test_one_dirichlet_by_hand() -> None:
    # Dirichlet(1, 1) after (2, 0): mean (3/4, 1/4), A = 4. Risk (1 - 10/16) / 5 = 0.075; after an answer A = 5:
    # with 3/4 (4/5, 1/5), risk (1 - 17/25) / 6; with 1/4 (3/5, 2/5), risk (1 - 13/25) / 6.
    known = ItemPosteriors(np.array([[2.0, 0.0]]), DirichletMixture(np.ones(1), np.ones((1, 2))))
    np.testing.assert_allclose(known.l2_risk, 0.075, atol=1e-15)
    np.testing.assert_allclose(L2Index().worth(known), 0.075 - 0.75 * 8 / 25 / 6 - 0.25 * 12 / 25 / 6, atol=1e-15)
    np.testing.assert_allclose(EntropyIndex().worth(known), -0.75 * np.log(0.75) - 0.25 * np.log(0.25), atol=1e-15)
    # All of four say the same with probability 3/4 * 4/5; with panel 2 they have done so.
    np.testing.assert_allclose(NotUnanimousIndex(panel=4).worth(known), 1 - 3 / 4 * 4 / 5, atol=1e-15)
    np.testing.assert_allclose(NotUnanimousIndex(panel=2).worth(known), 0, atol=1e-15)


def test_not_unanimous_before_any_answer_and_after_a_difference() -> None:
    # Dirichlet(1, 1): three of one mind with probability 2 * (1/2 * 2/3 * 3/4) = 1/2.
    known = ItemPosteriors(np.array([[0.0, 0.0], [4.0, 1.0]]), DirichletMixture(np.ones(1), np.ones((1, 2))))
    np.testing.assert_allclose(NotUnanimousIndex(panel=3).worth(known), [0.5, 1.0], atol=1e-15)


@pytest.mark.parametrize("member", INDICES, ids=lambda member: member.name)
def test_the_state_is_the_answers(member: type) -> None:
    """Told one by one or all at once, in any order, the state is the same to the last bit."""
    rng = np.random.default_rng(1)
    stopping = Stopping(most=6, kl_risk=1e-3)
    start = np.zeros((40, 3))
    grown = Allocation.of(start, member(), prior=PRIOR, stopping=stopping, seconds=rng.uniform(1, 9, 40))
    for _ in range(120):
        grown = grown.with_answer(grown.choose(rng).item, int(rng.integers(3)))
    rebuilt = Allocation.of(grown.counts, member(), prior=grown.prior, stopping=stopping, seconds=grown.seconds)
    assert np.array_equal(grown.worths, rebuilt.worths)
    assert np.array_equal(grown.finished, rebuilt.finished)
    assert grown.choose(np.random.default_rng(5)) == rebuilt.choose(np.random.default_rng(5))
    anew, once = grown.refit(), Allocation.of(grown.counts, member(), stopping=stopping, seconds=grown.seconds)
    assert np.array_equal(anew.worths, once.worths)
    assert np.array_equal(anew.prior.alpha, once.prior.alpha)
    assert not start.any()


@pytest.mark.parametrize("member", INDICES, ids=lambda member: member.name)
def test_a_finished_item_is_never_chosen(member: type) -> None:
    rng = np.random.default_rng(0)
    state = Allocation.of(COUNTS, member(), prior=PRIOR, stopping=Stopping(most=5, lead=3))
    # Six answers and more; four with a lead of two is open, thirty of one kind is not.
    assert state.finished.tolist() == [False, False, False, True, True, True, False]
    assert {state.choose(rng).item for _ in range(200)} <= {0, 1, 2, 6}
    state = Allocation.of(np.zeros((5, 3)), member(), prior=PRIOR, stopping=Stopping(most=2))
    for _ in range(10):
        state = state.with_answer(state.choose(rng).item, int(rng.integers(3)))
    assert (state.counts.sum(axis=1) == 2).all()
    with pytest.raises(NotNow) as caught:
        state.choose(rng)
    assert caught.value.code == "all-finished"


def test_probabilities_are_how_often_items_are_chosen() -> None:
    state = Allocation.of(COUNTS[[1, 1, 2, 4]], L2Index(), prior=PRIOR)
    assert state.worths.argmax() in (0, 1)
    rng = np.random.default_rng(3)
    choices = [state.choose(rng) for _ in range(8_000)]
    said = {choice.item: choice.probability for choice in choices}
    assert sum(said.values()) == pytest.approx(1)
    for item, probability in said.items():
        often = np.mean([choice.item == item for choice in choices])
        assert often == pytest.approx(probability, abs=4 * np.sqrt(0.25 / len(choices)))
    assert set(said) == {0, 1}


def test_ties_go_to_the_fewest_answers_and_seen_items_are_left_out() -> None:
    tied = Allocation.of(np.array([[3.0, 3, 0], [1, 1, 0], [2, 1, 0]]), NotUnanimousIndex(), prior=PRIOR)
    assert tied.worths.tolist() == [1.0, 1.0, 1.0]
    rng = np.random.default_rng(0)
    assert tied.choose(rng).item == 1
    chosen = tied.choose(rng, exclude=[1])
    assert (chosen.item, chosen.probability) == (2, 1.0)
    assert tied.top_items(2, rng).tolist() in ([1, 2], [2, 1])
    assert tied.top_items(9, rng, np.array([True, False, False])).tolist() in ([1, 2], [2, 1])


def test_dear_items_wait() -> None:
    alike = np.zeros((2, 3))
    rng = np.random.default_rng(0)
    assert Allocation.of(alike, KLIndex(), prior=PRIOR, seconds=np.array([30.0, 2.0])).choose(rng).item == 1
    assert (
        Allocation.of(alike, UniformIndex(), prior=PRIOR, seconds=np.array([30.0, 2.0])).choose(rng).probability == 0.5
    )


def test_risk_targets_finish_items() -> None:
    known = ItemPosteriors(COUNTS, PRIOR)
    for name in ("l2_risk", "kl_risk"):
        target = float(np.median(getattr(known, name)))
        state = Allocation.of(COUNTS, KLIndex(), prior=PRIOR, stopping=Stopping(**{name: target}))
        assert np.array_equal(state.finished, getattr(known, name) <= target)


def test_beliefs_count_as_fractions_and_priors_go_stale() -> None:
    state = Allocation.of(np.zeros((10, 3)), KLIndex())
    for i in range(20):
        assert not state.is_stale()
        state = state.with_answer(i % 10, np.array([0.5, 0.25, 0.25]))
    assert state.counts.sum() == 20
    assert state.is_stale()
    fresh = state.refit()
    assert not fresh.is_stale()
    more = fresh.with_answers(np.arange(10), np.tile([30.0, 0, 0], (10, 1))).refit()
    # 320 answers: a tenth more are 32.
    assert not more.with_answers(np.zeros(1, int), np.array([[31.0, 0, 0]])).is_stale()
    assert more.with_answers(np.zeros(1, int), np.array([[32.0, 0, 0]])).is_stale()


def test_an_update_is_quick() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(5, rng.dirichlet(np.full(10, 0.1), 10_000)).astype(float)
    state = Allocation.of(counts, KLIndex())
    from time import thread_time

    taken = []
    for _ in range(30):
        started = thread_time()
        state = state.with_answer(state.choose(rng).item, 3)
        taken.append(thread_time() - started)
    assert np.median(taken) < 0.02


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"seconds": -1.0}, "bad-cost"),
        ({"seconds": float("nan")}, "bad-cost"),
        ({"seconds": np.array([1.0, 0.0, 1.0])}, "bad-cost"),
        ({"seconds": np.ones(2)}, "bad-cost"),
        ({"counts": np.zeros((0, 3))}, "wrong-shape"),
        ({"counts": np.zeros(3)}, "wrong-shape"),
        ({"counts": np.ones((3, 1))}, "one-class"),
        ({"counts": -np.ones((3, 3))}, "bad-count"),
        ({"counts": np.full((3, 3), np.nan)}, "bad-count"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], code: str) -> None:
    given = {"counts": np.zeros((3, 3)), **settings}
    with pytest.raises((BadSetting, BadTable)) as caught:
        Allocation.of(given.pop("counts"), L2Index(), **given)
    assert caught.value.code == code
    assert caught.value.fix


@pytest.mark.parametrize("answer", [(3, 0), (-1, 0), (0, 3), (0, -1)])
def test_answers_about_unknown_items_are_refused(answer: tuple[int, int]) -> None:
    with pytest.raises(SfumatoError) as caught:
        Allocation.of(np.zeros((3, 3)), L2Index()).with_answer(*answer)
    assert caught.value.code == "unknown-item"


def test_settings_out_of_range_are_refused() -> None:
    for make in (
        lambda: LeadIndex(lead=0),
        lambda: NotUnanimousIndex(panel=1),
        lambda: Stopping(most=0),
        lambda: Stopping(lead=0),
        lambda: Stopping(l2_risk=-1.0),
        lambda: Stopping(kl_risk=0.0),
    ):
        with pytest.raises(BadSetting):
            make()
    with pytest.raises(SfumatoError, match="did you mean 'entropy'"):
        index_named("entrpy")


def test_answers_on_their_way_send_the_next_person_elsewhere() -> None:
    state = Allocation.of(np.zeros((3, 3)), KLIndex(), prior=PRIOR)
    pending = np.zeros(3, np.int64)
    chosen = []
    for seed in range(6):
        choice = state.choose(np.random.default_rng(seed), pending=pending)
        pending[choice.item] += 1
        chosen.append(choice.item)
    assert sorted(chosen) == [0, 0, 1, 1, 2, 2]
    # By hand: nothing answered and one on its way leaves a quarter of the worth.
    one_on_its_way = state.choose(np.random.default_rng(0), pending=np.array([1, 9, 9]))
    assert one_on_its_way.item == 0


def test_nothing_but_the_most_ends_an_item_before_the_fewest() -> None:
    counts = np.array([[1.0, 0, 0], [3, 0, 0], [9, 0, 0]])
    sure = DirichletMixture(np.ones(1), np.full((1, 3), 1e-4))
    known = ItemPosteriors(counts, sure)
    assert Stopping(kl_risk=0.1, lead=1).reached(known).tolist() == [True, True, True]
    assert Stopping(kl_risk=0.1, lead=1, fewest=3).reached(known).tolist() == [False, True, True]
    assert Stopping(kl_risk=0.1, lead=1, fewest=20, most=9).reached(known).tolist() == [False, False, True]


def test_several_votes_at_once_under_one_dirichlet() -> None:
    # The expected squared error after v more answers is what it was, times A / (A + v).
    alpha = np.array([[0.5, 1.5, 2.0]])
    known = ItemPosteriors(np.zeros((1, 3)), DirichletMixture(np.ones(1), alpha))
    for votes in (0.5, 1, 3, 20):
        left = known.l2_risk * alpha.sum() / (alpha.sum() + votes)
        np.testing.assert_allclose(worth_of_votes(L2Index(), known, votes), known.l2_risk - left, rtol=1e-12)


def test_several_votes_at_once_under_a_mixture_by_simulation() -> None:
    rng = np.random.default_rng(0)
    known = ItemPosteriors(COUNTS[2:4], PRIOR)
    for index, risk in ((L2Index(), "l2_risk"), (KLIndex(), "kl_risk")):
        for item in range(2):
            weights = known.posteriors.weights[item]
            component = rng.choice(len(weights), 20_000, p=weights)
            p = np.array([rng.dirichlet(PRIOR.alpha[j] + known.counts[item]) for j in component])
            after = known.counts[item] + np.array([rng.multinomial(4, each / each.sum()) for each in p])
            left = getattr(ItemPosteriors(after, PRIOR), risk).mean()
            true = getattr(known, risk)[item] - left
            assert worth_of_votes(index, known, 4)[item] == pytest.approx(true, rel=0.12)


def test_the_deeper_form_is_taken_where_it_is_worth_more_a_second() -> None:
    rng = np.random.default_rng(0)
    # Six votes at twice the price: not where nothing is known yet and the first vote says most, but after it.
    state = Allocation.of(COUNTS, KLIndex(), prior=PRIOR, seconds=2.0, deeper=Form(votes=6, seconds=4))
    assert state.deeper_worths is not None
    by_hand = worth_of_votes(KLIndex(), ItemPosteriors(COUNTS, PRIOR), 6) / 4
    np.testing.assert_allclose(state.deeper_worths, by_hand, rtol=1e-12)
    assert not state.choose(rng, [1, 2, 3, 4, 5, 6]).is_deeper
    assert state.choose(rng, [0, 1, 2, 4, 5, 6]) == AllocationChoice(3, 1.0, is_deeper=True)
    dear = Allocation.of(COUNTS, KLIndex(), prior=PRIOR, seconds=2.0, deeper=Form(votes=1.07, seconds=57))
    assert not dear.choose(rng).is_deeper
    grown = state.with_answer(2, 0)
    anew = Allocation.of(grown.counts, KLIndex(), prior=PRIOR, seconds=2.0, deeper=Form(6, 4))
    assert np.array_equal(grown.deeper_worths, anew.deeper_worths)
    with pytest.raises(BadSetting, match="does not estimate the remaining error"):
        Allocation.of(COUNTS, UniformIndex(), prior=PRIOR, deeper=Form(2, 1))
