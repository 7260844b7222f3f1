"""Exchange rates: by hand, on crowds whose rate is known, and on CIFAR-10S against CIFAR-10H."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.planning.exchange_estimates import MatchedAnswers, exchange_rates, qualities
from sfumato.planning.exchange_rates import ExchangeRate, ExchangeRates, rate_sentence, votes_worth
from sfumato.planning.goals import Goal
from sfumato.planning.label_quality import QualitySplit
from sfumato.planning.vote_rates import PUBLISHED_RATES
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import SfumatoError
from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("a", "b", "c", "d")


def truths(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet([0.6, 0.4, 0.3, 0.2], n)


def votes_on(p: np.ndarray, each: int, seed: int = 1) -> SoftLabels:
    counts = np.random.default_rng(seed).multinomial(each, p)
    return SoftLabels.from_numpy([f"i{i}" for i in range(len(p))], counts / each, CLASSES, each)


def beliefs_on(p: np.ndarray, each: int, seed: int = 2, concentration: float | None = None) -> Beliefs:
    """Answers of `each` people per item: votes drawn from the truth, or beliefs scattered around it."""
    rng = np.random.default_rng(seed)
    items = np.repeat([f"i{i}" for i in range(len(p))], each)
    people = np.tile([f"p{j}" for j in range(each)], len(p))
    if concentration is None:
        probs = np.concatenate([np.eye(4)[rng.choice(4, each, p=row)] for row in p])
    else:
        probs = np.concatenate([rng.dirichlet(concentration * row + 1e-3, each) for row in p])
    return Beliefs.from_numpy(items, people, probs, CLASSES)


def rates(*arguments: object, **settings: object) -> ExchangeRates:
    settings = {"kind": "tokens", "rng": np.random.default_rng(0), "splits": 4, "resamples": 100, **settings}
    return exchange_rates(*arguments, **settings)  # type: ignore[arg-type]


def test_worth_by_hand() -> None:
    steps = np.array([0, 1, 2, 4])
    quality = np.array([[0.0, 0.5, 0.4, 0.9]])  # the fall at 2 is no loss
    rich = np.array([[-1.0, 0.25, 0.5, 0.7, 0.9, 0.91]])
    assert np.allclose(votes_worth(steps, quality, rich), [[0, 0.5, 1, 3, 4, np.inf]])


def test_votes_are_worth_votes() -> None:
    p = truths(800)
    found = rates(beliefs_on(p, 5), votes_on(p, 30), splits=8)
    for goal in (Goal.DISTRIBUTION, Goal.CLASS, Goal.GEOMETRY):
        for rate in found.of_goal(goal)[::2]:
            # Even numbers of votes are of no use for the class: one to three and three to five are on a line.
            assert np.isclose(rate.votes, rate.n_answers, rtol=0.2), rate
            assert rate.low <= rate.n_answers * 1.05, rate
            assert rate.high >= rate.n_answers * 0.95, rate


def test_an_annotator_who_knows_the_distribution_is_worth_more_than_all_votes() -> None:
    p = truths(300)
    found = rates(beliefs_on(p, 1, concentration=1e6), votes_on(p, 40), goals=[Goal.DISTRIBUTION])
    assert found.of_goal(Goal.DISTRIBUTION)[0].votes == np.inf
    assert "more than 18 hard votes" in rate_sentence(found.of_goal(Goal.DISTRIBUTION)[0])


def test_a_belief_counts_by_its_error() -> None:
    """Beliefs from Dirichlet(c p) have the squared error of c + 1 votes: (1 - |p|^2) / (c + 1)."""
    p = truths(2000)
    found = rates(beliefs_on(p, 1, concentration=4.0), votes_on(p, 18), goals=[Goal.DISTRIBUTION])
    rate = found.of_goal(Goal.DISTRIBUTION)[0]
    assert rate.measure == "squared distance"  # nine votes held out are too few for total variation
    assert np.isclose(rate.votes, 5, rtol=0.1)


def test_the_order_of_classes_and_items_does_not_matter() -> None:
    p = truths(200)
    votes = votes_on(p, 24)
    back = SoftLabels.from_numpy(
        votes.items.to_pylist()[::-1], votes.probs[::-1, ::-1], CLASSES[::-1], votes.n_annotators
    )
    one, other = MatchedAnswers.of(beliefs_on(p, 2), votes), MatchedAnswers.of(beliefs_on(p, 2), back)
    assert one.items.equals(other.items)
    counts = [np.zeros((200, 4)), np.zeros((200, 4))]
    for each, matched in zip(counts, (one, other), strict=True):
        np.add.at(each, (matched.vote_item, matched.voted), 1)
    assert np.array_equal(counts[0], counts[1])
    assert np.array_equal(counts[0], np.round(votes.probs * 24))


def test_halves_share_no_vote() -> None:
    p = truths(50)
    half = MatchedAnswers.of(beliefs_on(p, 3), votes_on(p, 21)).split(np.random.default_rng(0))
    counts = np.round(votes_on(p, 21).probs * 21)
    assert np.allclose(half.votes[:, -1] + 10 * half.reference, counts)
    assert np.allclose(half.votes.sum(axis=2), np.arange(12))
    assert np.allclose(half.rich.sum(axis=2), np.arange(4))


def test_without_votes_leading_classes_are_compared_with() -> None:
    p = truths(400)
    found = rates(beliefs_on(p, 6, concentration=2.0), goals=[Goal.DISTRIBUTION])
    rate = found.of_goal(Goal.DISTRIBUTION)[0]
    assert "the same answers" in rate.source
    assert 1 < rate.votes < 3
    matched = MatchedAnswers.of(beliefs_on(p, 6, concentration=2.0))
    half = matched.split(np.random.default_rng(0))
    # The first answer of each item, and the vote it leads with, are one person's.
    assert np.array_equal(half.rich[:, 1].argmax(axis=1), half.votes[:, 1].argmax(axis=1))


def test_a_truth_that_is_given_counts_for_the_class() -> None:
    p = truths(300)
    beliefs, votes = beliefs_on(p, 1, concentration=50.0), votes_on(p, 24)
    wrong = SoftLabels.from_numpy(votes.items.to_pylist(), np.eye(4)[p.argmin(axis=1)], CLASSES)
    matched = MatchedAnswers.of(beliefs, votes)
    split = QualitySplit(matched.split(np.random.default_rng(0)).rich, p)
    judged = qualities(matched, truth=wrong)[2].curve([split], matched.items)
    hits = judged.values(np.ones((1, 300)))[0, 1] + 1
    assert np.isclose(hits, (beliefs.probs.argmax(axis=1) == p.argmin(axis=1)).mean())


@pytest.mark.parametrize(
    ("votes", "code", "says"),
    [
        (SoftLabels.from_numpy(["x", "y"], np.eye(4)[:2], CLASSES, 9), "no-shared-items", "none in both.*i0 and x"),
        (SoftLabels.from_numpy(["i1"], np.eye(4)[:1], CLASSES, 9), "too-few-items", "1 items.*at least 10"),
        (votes_on(truths(40), 1), "too-few-items", "0 items with an answer and two votes"),
        (SoftLabels.from_numpy(["i1"], [[1, 0]], ["a", "z"], 9), "different-classes", "votes for z"),
        (SoftLabels.from_numpy(["i1"], np.eye(4)[:1], CLASSES), "no-counts", "number of annotators"),
        (beliefs_on(truths(40), 2, concentration=3.0), "not-votes", "votes that are distributions"),
    ],
)
def test_votes_that_cannot_be_compared(votes: SoftLabels | Beliefs, code: str, says: str) -> None:
    with pytest.raises(SfumatoError, match=says) as caught:
        rates(beliefs_on(truths(40), 2, concentration=3.0), votes)
    assert caught.value.code == code


def test_a_form_may_offer_a_class_more() -> None:
    p = truths(60)
    rich = beliefs_on(p, 2, concentration=5.0)
    wider = Beliefs.from_numpy(
        rich.item.text().to_pylist(),
        rich.annotator.text().to_pylist(),
        np.column_stack([rich.probs, np.zeros(len(rich))]),
        (*CLASSES, "none of these"),
    )
    assert MatchedAnswers.of(wider, votes_on(p, 12)).classes[-1] == "none of these"


def test_in_words() -> None:
    rate = ExchangeRate("top_two", Goal.DISTRIBUTION, "log-loss", 1, 1.07, 0.9, np.inf, 25, 100, "measured")
    assert rate_sentence(rate) == "1 top_two answer is worth 1.07 hard votes (95% CI 0.90 to more than 25), by log-loss"


def test_cifar_10s_is_worth_what_was_found_before(first_pass: Annotations, cifar_10h: SoftLabels) -> None:
    """Found before, with other code: one soft label for the distribution is 1.07 votes, six are 3.6."""
    found = exchange_rates(first_pass, cifar_10h, kind="top_two", resamples=100, rng=np.random.default_rng(0))
    by_m = {rate.n_answers: rate for rate in found.of_goal(Goal.DISTRIBUTION)}
    assert by_m[1].n_items == 991
    assert np.isclose(by_m[1].votes, 1.07, atol=0.08)
    assert by_m[1].low < 1.07 < by_m[1].high
    assert np.isclose(by_m[6].votes, 3.6, atol=0.2)
    assert by_m[6].low < 3.6 < by_m[6].high
    for rate in PUBLISHED_RATES:
        same = next(each for each in found.of_goal(Goal(rate.goal)) if each.n_answers == rate.n_answers)
        assert np.isclose(same.votes, rate.votes, rtol=0.1), rate
        assert same.low <= rate.votes <= same.high, rate
        assert same.measure == rate.measure
