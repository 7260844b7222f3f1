"""What every bonus rule must do. A rule is tested by standing in `BONUS_RULES`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.recruitment.bonus_rules import BONUS_RULES, BonusRule, PeerAnswers

N_CLASSES, N_PEOPLE, N_ITEMS = 3, 12, 40
MADE = [member() for member in BONUS_RULES]
over_rules = pytest.mark.parametrize("rule", MADE, ids=lambda rule: rule.name)


def crowd(seed: int = 0, *, each: int = 6, n_items: int = N_ITEMS) -> PeerAnswers:
    """People who look: most of an answer's mass is on what the item shows, each item being asked of some of them."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, N_CLASSES, n_items)
    item = np.repeat(np.arange(n_items), each)
    annotator = np.concatenate([rng.permutation(N_PEOPLE)[:each] for _ in range(n_items)])
    probs = rng.dirichlet(np.ones(N_CLASSES), len(item)) * 0.6
    probs[np.arange(len(item)), shown[item]] += 0.4
    return PeerAnswers(item, annotator, probs, np.ones(N_PEOPLE, bool))


def saying(answers: PeerAnswers, person: int, probs: np.ndarray) -> PeerAnswers:
    """The same crowd, with one person saying other things."""
    changed = answers.probs.copy()
    changed[answers.annotator == person] = probs
    return replace(answers, probs=changed)


# The contracts: each takes a rule and answers, and fails for a rule that breaks it.


def scores_lie_between_0_and_1(rule: BonusRule, of: PeerAnswers) -> None:
    scores = rule.scores(of)
    assert scores.shape == (of.n_annotators,)
    assert (np.isnan(scores) | ((scores >= 0) & (scores <= 1))).all()


def ignores_the_order_of_rows_classes_and_items(rule: BonusRule, of: PeerAnswers) -> None:
    rng = np.random.default_rng(1)
    rows, classes, items = rng.permutation(len(of.item)), rng.permutation(N_CLASSES), rng.permutation(of.n_items)
    other = PeerAnswers(items[of.item][rows], of.annotator[rows], of.probs[rows][:, classes], of.is_peer)
    np.testing.assert_allclose(rule.scores(other), rule.scores(of), atol=1e-12)


def goes_with_the_person(rule: BonusRule, of: PeerAnswers) -> None:
    order = np.random.default_rng(2).permutation(N_PEOPLE)
    other = replace(of, annotator=order[of.annotator])
    np.testing.assert_allclose(rule.scores(other)[order], rule.scores(of), atol=1e-12)


def pays_nobody_for_being_alone(rule: BonusRule, of: PeerAnswers) -> None:
    """An item without other answers adds nothing; an annotator with only such items has no score."""
    n = of.n_items
    own = rng_probs(5)
    more = PeerAnswers(
        np.append(of.item, np.arange(n, n + 5)),
        np.append(of.annotator, np.zeros(5, np.int64)),
        np.concatenate([of.probs, own]),
        of.is_peer,
    )
    np.testing.assert_allclose(rule.scores(more), rule.scores(of), atol=1e-12)
    assert np.isnan(rule.scores(PeerAnswers(np.arange(5), np.zeros(5, np.int64), own, np.ones(1, bool)))).all()


def measures_nobody_by_who_is_set_aside(rule: BonusRule, of: PeerAnswers) -> None:
    """The others score as if the person had not been there; the person is scored all the same."""
    aside = 3
    is_peer = np.arange(N_PEOPLE) != aside
    scores = rule.scores(replace(of, is_peer=is_peer))
    gone = of.annotator != aside
    without = rule.scores(PeerAnswers(of.item[gone], of.annotator[gone], of.probs[gone], of.is_peer))
    np.testing.assert_allclose(scores[is_peer], without[is_peer], atol=1e-12)
    assert not np.isnan(scores[aside])


def looking_earns_more_than_not_looking(rule: BonusRule, of: PeerAnswers) -> None:
    """People who answer without looking, at random or always the same, earn less than with the answers they gave."""
    rng = np.random.default_rng(3)
    for person in range(3):
        looked = rule.scores(of)[person]
        n = int((of.annotator == person).sum())
        blind = [np.tile(np.eye(N_CLASSES)[k], (n, 1)) for k in range(N_CLASSES)]
        blind += [np.eye(N_CLASSES)[rng.integers(0, N_CLASSES, n)] for _ in range(5)]
        assert all(rule.scores(saying(of, person, probs))[person] < looked for probs in blind)


def changes_no_argument(rule: BonusRule, of: PeerAnswers) -> None:
    before = (of.item.copy(), of.annotator.copy(), of.probs.copy(), of.is_peer.copy())
    first = rule.scores(of)
    assert np.array_equal(rule.scores(of), first, equal_nan=True)
    for old, new in zip(before, (of.item, of.annotator, of.probs, of.is_peer), strict=True):
        assert np.array_equal(old, new)


def rng_probs(n: int) -> np.ndarray:
    return np.random.default_rng(9).dirichlet(np.ones(N_CLASSES), n)


CONTRACTS = (
    scores_lie_between_0_and_1,
    ignores_the_order_of_rows_classes_and_items,
    goes_with_the_person,
    pays_nobody_for_being_alone,
    measures_nobody_by_who_is_set_aside,
    looking_earns_more_than_not_looking,
    changes_no_argument,
)


@over_rules
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[..., None], rule: BonusRule) -> None:
    for seed in range(3):
        contract(rule, crowd(seed))


@over_rules
@given(seed=st.integers(0, 2**32 - 1), each=st.integers(1, 5), n_items=st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_any_crowd_has_scores(rule: BonusRule, seed: int, each: int, n_items: int) -> None:
    scores_lie_between_0_and_1(rule, crowd(seed, each=each, n_items=n_items))
    pays_nobody_for_being_alone(rule, crowd(seed, each=each, n_items=n_items))


@over_rules
def test_a_rule_says_itself_in_a_sentence(rule: BonusRule) -> None:
    assert isinstance(rule, BonusRule)
    assert rule.said.endswith(".")
    assert (rule.__class__.__doc__ or "").count("20") + (rule.__class__.__doc__ or "").count("19") > 0, "no reference"


# A wrong rule for each contract.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"
    said: ClassVar[str] = "Wrong."


class CountsOneself(_Wrong):
    """The pooled label with the annotator's own answer in it: an annotator without peers agrees with themselves."""

    def scores(self, answers: PeerAnswers) -> np.ndarray:
        sums = np.zeros((answers.n_items, answers.probs.shape[1]))
        np.add.at(sums, answers.item, answers.probs)
        pooled = sums[answers.item] / np.bincount(answers.item)[answers.item][:, None]
        near = 1 - ((answers.probs - pooled) ** 2).sum(axis=1) / 2
        n = np.bincount(answers.annotator, minlength=answers.n_annotators)
        return np.bincount(answers.annotator, near, answers.n_annotators) / np.maximum(n, 1)


class PaysForConfidence(_Wrong):
    """Being sure earns, whatever of."""

    def scores(self, answers: PeerAnswers) -> np.ndarray:
        return answers.mean_of(answers.probs.max(axis=1))


class LikesTheFirstClass(_Wrong):
    def scores(self, answers: PeerAnswers) -> np.ndarray:
        return answers.mean_of(answers.probs[:, 0])


class LikesTheFirstPeople(_Wrong):
    def scores(self, answers: PeerAnswers) -> np.ndarray:
        return np.linspace(1, 0, answers.n_annotators)


class GoesAboveOne(_Wrong):
    def scores(self, answers: PeerAnswers) -> np.ndarray:
        return 1 + answers.mean_of(answers.probs.max(axis=1))


class ForgetsWhoIsAside(_Wrong):
    def scores(self, answers: PeerAnswers) -> np.ndarray:
        everybody = replace(answers, is_peer=np.ones(answers.n_annotators, bool))
        apart = everybody.probs - everybody.pooled(everybody.probs)
        return everybody.mean_of(1 - (apart**2).sum(axis=1) / 2)


class ChangesItsArgument(_Wrong):
    def scores(self, answers: PeerAnswers) -> np.ndarray:
        answers.probs[:] = answers.probs.round(1)
        return answers.mean_of(answers.probs.max(axis=1))


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (pays_nobody_for_being_alone, CountsOneself()),
        (looking_earns_more_than_not_looking, PaysForConfidence()),
        (ignores_the_order_of_rows_classes_and_items, LikesTheFirstClass()),
        (goes_with_the_person, LikesTheFirstPeople()),
        (scores_lie_between_0_and_1, GoesAboveOne()),
        (measures_nobody_by_who_is_set_aside, ForgetsWhoIsAside()),
        (changes_no_argument, ChangesItsArgument()),
    ],
    ids=lambda each: getattr(each, "__name__", type(each).__name__),
)
def test_a_wrong_rule_is_rejected(contract: Callable[..., None], wrong: Any) -> None:
    with pytest.raises(AssertionError):
        contract(wrong, crowd())


def test_every_contract_has_a_wrong_rule() -> None:
    rejected = {mark[0] for mark in test_a_wrong_rule_is_rejected.pytestmark[0].args[1]}
    assert rejected == set(CONTRACTS)
