"""What every aggregator must do. One is tested by standing in `AGGREGATORS`; each contract rejects a wrong one."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from sfumato import Beliefs, Counts, SoftLabels
from sfumato.aggregation import (
    AGGREGATORS,
    Aggregation,
    AggregationInputs,
    Aggregator,
    AnnotatorQuality,
    AnswerMatrix,
    DawidSkene,
    Estimand,
    Glad,
    Mace,
    OneCoin,
    OrdinalDawidSkene,
    aggregator_from_name,
    update,
)
from sfumato.aggregation import answer_matrix as answers_module
from sfumato.aggregation.aggregation import PreviousAggregation, labels_of
from sfumato.aggregation.passes import mean_of
from sfumato.tables.class_order import OrderedClasses
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning

CLASSES = OrderedClasses(("cat", "dog", "fox", "owl"))
POOLS = ("mean", "log-pool", "reliability-pool")
EXACT = ("mean", "bayes", "log-pool", "majority", "reliability-pool", "wawa", "zero-based-skill", "spectral")
"""Those whose update is the same calculation as from the start."""
CONTINUED = [each for each in AGGREGATORS if each.name not in EXACT and each is not OrdinalDawidSkene]
"""Those whose update reaches the same optimum. On these errors without an order an ordinal method has several optima;
its update on a scale is tested in `test_ordinal_dawid_skene.py`."""


@dataclass(frozen=True)
class Crowd:
    """Simulated answers, as columns, with the truth behind them."""

    truth: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    probs: np.ndarray

    def beliefs(self, rows: Any = slice(None)) -> Beliefs:
        return Beliefs.from_numpy(self.item[rows].tolist(), self.annotator[rows].tolist(), self.probs[rows], CLASSES)

    def hit(self, labels: SoftLabels) -> float:
        number = np.array([int(name[1:]) for name in labels.items.to_pylist()])
        return float((labels.probs.argmax(axis=1) == self.truth[number]).mean())


def crowd(n_items: int, n_annotators: int, n_each: int, *, seed: int, soft: bool = False, right: float = 0.75) -> Crowd:
    """`n_each` answers an item by people who are right `right` +- .15 of the time, in no order."""
    rng = np.random.default_rng(seed)
    n_classes = len(CLASSES)
    truth = rng.integers(n_classes, size=n_items)
    accuracy = rng.uniform(right - 0.15, right + 0.15, n_annotators)
    item = np.repeat(np.arange(n_items), n_each)
    who = np.concatenate([rng.choice(n_annotators, n_each, replace=False) for _ in range(n_items)])
    wrong = (truth[item] + rng.integers(1, n_classes, len(item))) % n_classes
    said = np.where(rng.random(len(item)) < accuracy[who], truth[item], wrong)
    probs = np.eye(n_classes)[said]
    if soft:
        sure = rng.uniform(0.5, 0.95, len(item))[:, None]
        probs = sure * probs + (1 - sure) * rng.dirichlet(np.ones(n_classes), len(item))
        probs /= probs.sum(axis=1, keepdims=True)
    order = rng.permutation(len(item))
    return Crowd(truth, np.array([f"i{i}" for i in item])[order], np.array([f"a{w}" for w in who])[order], probs[order])


HARD = crowd(80, 10, 5, seed=1)
SOFT = crowd(80, 10, 5, seed=2, soft=True)


def made(aggregator: Any, **settings: Any) -> Aggregator:
    """The aggregator with those of `settings` that it has; few components, because thirty take their time."""
    has = {field.name for field in fields(aggregator)}
    return aggregator(**{name: value for name, value in ({"components": 4} | settings).items() if name in has})


def iterates(aggregator: Any) -> bool:
    return "tolerance" in {field.name for field in fields(aggregator)}


def rows_by_item(labels: SoftLabels) -> dict[str, np.ndarray]:
    return dict(zip(labels.items.to_pylist(), labels.probs, strict=True))


def assert_same(one: SoftLabels, other: SoftLabels, atol: float) -> None:
    """The same items, matched by name, with the same distributions."""
    assert sorted(one.items.to_pylist()) == sorted(other.items.to_pylist())
    np.testing.assert_allclose(one.probs, other.probs[other.rows_of(one.items)], rtol=0, atol=atol)


# The contracts: each takes an aggregator with a fixed number of iterations, and fails for one that breaks it.


def gives_one_distribution_an_item(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        again = np.concatenate([np.arange(len(data.item)), [0, 0, 7]])
        with pytest.warns(SfumatoWarning, match="found 3 repeated answers"):
            result = aggregator.aggregate(data.beliefs(again))
        labels = result.labels
        assert sorted(labels.items.to_pylist()) == sorted(set(data.item.tolist()))
        assert labels.classes == CLASSES
        assert np.isfinite(labels.probs).all()
        assert (labels.probs >= 0).all()
        np.testing.assert_allclose(labels.probs.sum(axis=1), 1, rtol=0, atol=1e-9)
        people = {name: set(data.annotator[data.item == name].tolist()) for name in labels.items.to_pylist()}
        assert labels.n_annotators is not None
        assert labels.n_annotators.tolist() == [len(people[name]) for name in labels.items.to_pylist()]
        assert labels.estimand is aggregator.estimand
        assert result.estimand is aggregator.estimand
        # By chance a quarter would be right, were items mixed up.
        assert data.hit(labels) > 0.8


def depends_on_no_order_and_no_name(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        plain = aggregator.aggregate(data.beliefs()).labels
        assert_same(aggregator.aggregate(data.beliefs(slice(None, None, -1))).labels, plain, 1e-7)
        shuffled = np.random.default_rng(5).permutation(len(data.item))
        renamed = replace(data, annotator=np.array([f"z{99 - int(name[1:]):02}" for name in data.annotator]))
        assert_same(aggregator.aggregate(renamed.beliefs(shuffled)).labels, plain, 1e-7)
        renamed = replace(data, item=np.array([f"i{900 - int(name[1:])}" for name in data.item]))
        other = aggregator.aggregate(renamed.beliefs(shuffled)).labels
        back = [f"i{900 - int(name[1:])}" for name in other.items.to_pylist()]
        assert_same(SoftLabels.from_numpy(back, other.probs, CLASSES), plain, 1e-7)


def treats_classes_alike(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        plain = aggregator.aggregate(data.beliefs()).labels
        # A scale has one other direction; all other methods have no scale.
        order = [3, 2, 1, 0] if aggregator.name == "ordinal-dawid-skene" else [2, 0, 3, 1]
        other = aggregator.aggregate(replace(data, probs=data.probs[:, order]).beliefs()).labels
        np.testing.assert_allclose(other.probs, plain.probs[:, order], rtol=0, atol=1e-7)


def takes_a_sure_belief_for_a_vote(aggregator: Aggregator) -> None:
    votes = HARD.probs.argmax(axis=1)
    items, people = HARD.item.tolist(), HARD.annotator.tolist()
    of_votes = aggregator.aggregate(Beliefs.from_numpy(items, people, votes, CLASSES)).labels
    assert np.array_equal(aggregator.aggregate(HARD.beliefs()).labels.probs, of_votes.probs)
    nearly = HARD.probs * (1 - 4e-12) + 1e-12
    beliefs = Beliefs.from_numpy(items, people, nearly, CLASSES)
    assert beliefs.soft is not None
    assert_same(aggregator.aggregate(beliefs).labels, of_votes, 1e-6)


def leaves_out_who_weighs_nothing(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        rest = aggregator.aggregate(data.beliefs(data.annotator != "a3")).labels
        with pytest.warns(SfumatoWarning, match="excluded 1 annotators of weight 0"):
            weighed = aggregator.aggregate(data.beliefs(), AggregationInputs(weights={"a3": 0.0}))
        assert_same(weighed.labels, rest, 1e-7)
        assert "a3" not in weighed.annotators.annotators.to_pylist()


def weighs_people(aggregator: Aggregator) -> None:
    """Who weighs three counts as three people who say the same do: their item follows them."""
    items = ["x"] * 3 + ["y"] * 3 + ["z"] * 3
    votes = np.array([0, 1, 1, 1, 1, 1, 0, 0, 0])
    beliefs = Beliefs.from_numpy(items, ["p", "q", "r"] * 3, votes, CLASSES)
    plain = rows_by_item(aggregator.aggregate(beliefs).labels)["x"]
    heavy = rows_by_item(aggregator.aggregate(beliefs, AggregationInputs(weights={"p": 6.0})).labels)["x"]
    assert heavy[0] > plain[0]


def follows_everybody(aggregator: Aggregator) -> None:
    data = crowd(40, 8, 5, seed=3)
    agreed = replace(data, probs=np.eye(4)[[data.truth[int(name[1:])] for name in data.item]])
    assert agreed.hit(aggregator.aggregate(agreed.beliefs()).labels) == 1
    softly = replace(agreed, probs=0.7 * agreed.probs + 0.075)
    assert agreed.hit(aggregator.aggregate(softly.beliefs()).labels) == 1


def describes_every_annotator(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        quality = aggregator.aggregate(data.beliefs()).annotators
        names = quality.annotators.to_pylist()
        assert sorted(names) == sorted(set(data.annotator.tolist()))
        assert quality.n_answers.tolist() == [int((data.annotator == name).sum()) for name in names]
        assert quality.measures
        with tempfile.TemporaryDirectory() as folder:
            quality.write(Path(folder) / "q.csv")
            table = pl.read_csv(Path(folder) / "q.csv")
        assert table["annotator"].to_list() == names
        assert table["n_answers"].to_list() == quality.n_answers.tolist()
        for name, values in quality.measures.items():
            assert np.isfinite(values).all()
            np.testing.assert_allclose(table[name].to_numpy(), values, rtol=1e-12)


def survives_ten_thousand_votes(aggregator: Aggregator) -> None:
    """Probabilities multiplied ten thousand times are zeros; logs are not."""
    result = aggregator.aggregate(one_big_item())
    assert np.isfinite(result.labels.probs).all()
    assert rows_by_item(result.labels)["big"].argmax() == 1
    assert np.isfinite(result.objective).all()


def one_big_item() -> Beliefs:
    """Ten thousand people on one item, most for dog; five others on twelve more, all of one mind on each."""
    many = np.random.default_rng(4).choice(4, 10_000, p=[0.1, 0.7, 0.1, 0.1])
    items = ["big"] * 10_000 + [f"i{i}" for i in range(12) for _ in range(5)]
    people = [f"a{w}" for w in range(10_000)] + [f"a{w}" for _ in range(12) for w in range(5)]
    return Beliefs.from_numpy(items, people, np.concatenate([many, np.repeat(np.arange(12) % 4, 5)]), CLASSES)


def runs_alike_compiled(aggregator: Aggregator) -> None:
    hard, soft = (crowd(600, 25, 5, seed=seed, soft=seed == 7) for seed in (6, 7))
    weights = {f"a{w}": 0.5 + w / 10 for w in range(25)}
    known = [f"i{i}" for i in range(0, 600, 20)]
    for data in (hard, soft):
        gold = SoftLabels.one_hot(known, [CLASSES[data.truth[int(name[1:])]] for name in known], CLASSES)
        inputs_tried = [AggregationInputs(), AggregationInputs(weights=weights)]
        if aggregator.estimand is Estimand.TRUTH:
            inputs_tried += [AggregationInputs(gold=gold), AggregationInputs(gold=gold, weights=weights)]
        for inputs in inputs_tried:
            slow, fast = (_run(aggregator, data.beliefs(), inputs, worth) for worth in (10**9, 0))
            assert not slow.answers.compiled
            assert fast.answers.compiled
            # A mixture's weight is searched for, and the last bits of its score turn the search.
            assert_same(slow.labels, fast.labels, 1e-6 if aggregator.name == "mixture-pool" else 1e-9)
            np.testing.assert_allclose(slow.objective, fast.objective, rtol=1e-9, atol=1e-9)
            for name, values in slow.annotators.measures.items():
                np.testing.assert_allclose(values, fast.annotators.measures[name], rtol=1e-7, atol=1e-9)


def _run(aggregator: Aggregator, beliefs: Beliefs, inputs: AggregationInputs, worth: int) -> Aggregation:
    """Compiled from `worth` answers on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers_module, "WORTH_COMPILED", worth)
        patch.setattr(answers_module, "WORTH_COMPILING", worth)
        result = aggregator.aggregate(beliefs, inputs)
        _ = result.answers.compiled
    return result


CONTRACTS = (
    gives_one_distribution_an_item,
    depends_on_no_order_and_no_name,
    treats_classes_alike,
    takes_a_sure_belief_for_a_vote,
    leaves_out_who_weighs_nothing,
    weighs_people,
    follows_everybody,
    describes_every_annotator,
    survives_ten_thousand_votes,
    runs_alike_compiled,
)


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda aggregator: aggregator.name)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[..., None], aggregator: Any) -> None:
    contract(made(aggregator, iterations=6, tolerance=0.0))


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda aggregator: aggregator.name)
def test_a_big_item_does_not_speak_for_the_others(aggregator: Any) -> None:
    rows = rows_by_item(made(aggregator, iterations=12, tolerance=0.0).aggregate(one_big_item()).labels)
    assert [int(rows[f"i{i}"].argmax()) for i in range(12)] == [i % 4 for i in range(12)]


# Contracts of some: those that pool, iterative ones, and updates.


def counts_only_relative_weights(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        twice = AggregationInputs(weights={f"a{w}": 2.0 for w in range(10)})
        assert_same(
            aggregator.aggregate(data.beliefs(), twice).labels, aggregator.aggregate(data.beliefs()).labels, 1e-12
        )


@pytest.mark.parametrize("name", POOLS)
def test_weight_2_for_everybody_changes_nothing(name: str) -> None:
    counts_only_relative_weights(aggregator_from_name(name, {}))


def objective_never_falls(aggregator: Aggregator) -> None:
    for data in (HARD, SOFT):
        objective = np.array(aggregator.aggregate(data.beliefs()).objective)
        assert len(objective) == 40
        assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()
        assert objective[-1] > objective[0]


@pytest.mark.parametrize(
    "aggregator",
    [
        DawidSkene(prior=0.0, iterations=40, tolerance=0.0),
        DawidSkene(iterations=40, tolerance=0.0),
        DawidSkene(prior=0.0, iterations=40, tolerance=0.0, evidence="fractional"),
        DawidSkene(iterations=40, tolerance=0.0, evidence="fractional"),
        OneCoin(iterations=40, tolerance=0.0),
        OneCoin(prior=0.0, iterations=40, tolerance=0.0),
        Mace(iterations=40, tolerance=0.0),
        Glad(iterations=40, tolerance=0.0),
    ],
    ids=str,
)
def test_the_objective_never_falls(aggregator: Aggregator) -> None:
    objective_never_falls(aggregator)


def says_how_it_was_found(aggregator: Any) -> None:
    """`aggregator` is the class: it is made with several settings."""
    fixed = made(aggregator, iterations=5, tolerance=0.0).aggregate(HARD.beliefs())
    assert (fixed.iterations, fixed.converged, len(fixed.objective)) == (5, False, 5)
    with pytest.warns(SfumatoWarning, match="has not converged after 1 iterations"):
        short = made(aggregator, iterations=1, tolerance=1e-9).aggregate(HARD.beliefs())
    assert not short.converged
    whole = made(aggregator, iterations=5000, tolerance=1e-4).aggregate(HARD.beliefs())
    assert whole.converged
    assert 1 < whole.iterations < 5000


@pytest.mark.parametrize("aggregator", [each for each in AGGREGATORS if iterates(each)], ids=lambda each: each.name)
def test_iterations_are_told(aggregator: Any) -> None:
    says_how_it_was_found(aggregator)


@pytest.mark.parametrize("aggregator", [each for each in AGGREGATORS if not iterates(each)], ids=lambda each: each.name)
def test_what_does_not_iterate_has_converged(aggregator: Any) -> None:
    result = aggregator().aggregate(HARD.beliefs())
    assert (result.iterations, result.converged, result.objective) == (0, True, ())


@pytest.mark.parametrize("aggregator", [each for each in AGGREGATORS if iterates(each)], ids=lambda each: each.name)
def test_progress_is_told_after_every_iteration(aggregator: Any) -> None:
    seen: list[tuple[int, int, float]] = []
    inputs = AggregationInputs(progress=lambda iteration, most, objective: seen.append((iteration, most, objective)))
    result = made(aggregator, iterations=5, tolerance=0.0).aggregate(HARD.beliefs(), inputs)
    assert seen == [(i + 1, 5, objective) for i, objective in enumerate(result.objective)]


def growing_crowd() -> tuple[Crowd, np.ndarray]:
    """Good answers to 500 items by 30 people, and which 2% of them are new, new items and annotators included."""
    data = crowd(500, 30, 6, seed=8, right=0.8)
    is_new = np.isin(data.item, ["i498", "i499"])
    late = np.flatnonzero(~is_new)[np.unique(data.item[~is_new], return_index=True)[1][:15]]
    annotator = data.annotator.astype("<U8")
    annotator[late] = "late"
    is_new[late] = True
    is_new[np.flatnonzero(~is_new)[:33]] = True
    assert is_new.sum() == 60
    return replace(data, annotator=annotator), is_new


@dataclass(frozen=True)
class Iterations:
    after: int
    scratch: int


def updates_as_if_from_the_start(aggregator: Aggregator, atol: float) -> Iterations:
    data, is_new = growing_crowd()
    first = aggregator.aggregate(data.beliefs(~is_new))
    after = update(first, data.beliefs(is_new))
    # The same rows in the same order, the new ones last.
    scratch = aggregator.aggregate(data.beliefs(np.concatenate([np.flatnonzero(~is_new), np.flatnonzero(is_new)])))
    assert after.labels.items.to_pylist()[: len(first.labels)] == first.labels.items.to_pylist()
    assert {"i498", "i499"} <= set(after.labels.items.to_pylist())
    assert_same(after.labels, scratch.labels, atol)
    assert np.array_equal(
        after.labels.n_annotators, scratch.labels.n_annotators[scratch.labels.rows_of(after.labels.items)]
    )
    places = {name: k for k, name in enumerate(scratch.annotators.annotators.to_pylist())}
    order = [places[name] for name in after.annotators.annotators.to_pylist()]
    assert "late" in places
    assert np.array_equal(after.annotators.n_answers, scratch.annotators.n_answers[order])
    return Iterations(after.iterations, scratch.iterations)


@pytest.mark.parametrize("name", EXACT)
def test_an_update_is_exact(name: str) -> None:
    updates_as_if_from_the_start(aggregator_from_name(name, {}), 1e-12)


@pytest.mark.parametrize("aggregator", CONTINUED, ids=lambda e: e.name)
def test_an_update_reaches_the_same_optimum(aggregator: Any) -> None:
    # The weight of a mixture pool is found to three digits.
    atol = 5e-3 if aggregator.name == "mixture-pool" else 5e-5
    updates_as_if_from_the_start(made(aggregator, iterations=3000, tolerance=1e-12), atol)


@pytest.mark.parametrize("aggregator", CONTINUED, ids=lambda e: e.name)
def test_an_update_takes_fewer_iterations(aggregator: Any) -> None:
    # With an estimated prior dawid-skene starts again, with exactly the same result.
    taken = updates_as_if_from_the_start(aggregator(20.0) if aggregator is DawidSkene else aggregator(), 0.02)
    assert taken.after < taken.scratch


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda aggregator: aggregator.name)
def test_an_update_over_other_classes_is_refused(aggregator: Any) -> None:
    first = made(aggregator, iterations=3, tolerance=0.0).aggregate(HARD.beliefs())
    for classes in (("dog", "cat", "fox", "owl"), ("cat", "dog")):
        with pytest.raises(BadTable) as caught:
            update(first, Beliefs.from_numpy(["i1"], ["a1"], np.array([0]), classes))
        assert caught.value.code == "bad-classes"


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda aggregator: aggregator.name)
def test_hard_answers_updated_with_soft_ones(aggregator: Any) -> None:
    one = made(aggregator, iterations=12, tolerance=0.0)
    half = np.arange(len(HARD.item)) < 200
    first = replace(HARD, probs=np.where(half[:, None], HARD.probs, 0.9 * HARD.probs + 0.025))
    after = update(one.aggregate(first.beliefs(half)), first.beliefs(~half))
    scratch = one.aggregate(first.beliefs())
    if aggregator is OrdinalDawidSkene:
        assert HARD.hit(after.labels) > 0.8
        return
    # EM is only as far as twelve iterations take it, from two places.
    assert_same(after.labels, scratch.labels, 1e-12 if one.name in EXACT else 0.1)


def test_names_are_distinct_and_found() -> None:
    names = [aggregator.name for aggregator in AGGREGATORS]
    assert len(set(names)) == len(names)
    for aggregator in AGGREGATORS:
        assert aggregator_from_name(aggregator.name, {}) == aggregator()
        assert isinstance(aggregator(), Aggregator)


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda aggregator: aggregator.name)
def test_settings_that_mean_nothing_are_refused(aggregator: Any) -> None:
    with pytest.raises(BadSetting, match="found the setting magic"):
        aggregator_from_name(aggregator.name, {"magic": 1})
    for field in fields(aggregator):
        bad = {"str": ("perhaps",), "int": (-1, 0)}.get(str(field.type), (-1.0, float("nan"), float("inf")))
        for value in bad:
            with pytest.raises(BadSetting) as caught:
                aggregator_from_name(aggregator.name, {field.name: value})
            assert caught.value.code == "bad-setting"


# A wrong aggregator for each contract: the mean of the beliefs, with one thing not as it should be.


@dataclass(frozen=True)
class _Wrong:
    iterations: int = 1
    tolerance: float = 0.0

    name: ClassVar[str] = "wrong"
    estimand: ClassVar[Estimand] = Estimand.JUDGMENT

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, mean_of(answers))

    def result(self, answers: AnswerMatrix, probs: np.ndarray, **changed: Any) -> Aggregation:
        quality = AnnotatorQuality.of(answers, share=np.ones(answers.n_annotators))
        right = Aggregation(self, labels_of(answers, probs, self.estimand), quality, answers, objective=(0.0, 1.0))
        return replace(right, **changed)


class CountsAnswersForPeople(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        labels = labels_of(answers, mean_of(answers), self.estimand)
        counted = replace(labels, n_annotators=np.diff(answers.starts).astype(np.int32))
        return self.result(answers, mean_of(answers), labels=counted)


class MixesUpItems(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, np.roll(mean_of(answers), 1, axis=0))


class ClaimsAnotherEstimand(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, mean_of(answers), labels=labels_of(answers, mean_of(answers), Estimand.TRUTH))


class UsesFirstAnswerOnly(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, answers.probs()[answers.starts[:-1]])


class GoesByName(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        liked = np.array([1.0 if name[0] < "m" else 2.0 + int(name[1:]) for name in answers.annotators.to_pylist()])
        return self.result(answers, mean_of(answers.weighted(liked)))


class LikesTheFirstClass(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, 0.999 * mean_of(answers) + 0.001 * np.eye(answers.n_classes)[0])


class TakesVotesForAnotherThing(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        p = mean_of(answers)
        return self.result(answers, p if answers.soft is None else 0.99 * p + 0.01 / answers.n_classes)


class IgnoresWeights(_Wrong):
    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        if inputs is not None and inputs.weights is not None and 0.0 in inputs.weights.values():
            warnings.warn("excluded 1 annotators of weight 0", SfumatoWarning, stacklevel=1)
        return self.fit(AnswerMatrix.of(beliefs))


class Contradicts(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        p = 1 - mean_of(answers)
        return self.result(answers, p / p.sum(axis=1, keepdims=True))


class ForgetsAnAnnotator(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        quality = AnnotatorQuality(
            answers.annotators[1:], answers.answers_of[1:], {"share": answers.answers_of[1:] * 1.0}
        )
        return self.result(answers, mean_of(answers), annotators=quality)


class Multiplies(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        p = np.ones((answers.n_items, answers.n_classes))
        np.multiply.at(p, answers.item, 0.6 * answers.probs() + 0.1)
        lost = p.sum(axis=1) == 0
        p[lost] = [1.0, 0.0, 0.0, 0.0]
        return self.result(answers, p / p.sum(axis=1, keepdims=True))


class CompiledOtherwise(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        p = mean_of(answers)
        return self.result(answers, 0.9999 * p + 0.0001 / answers.n_classes if answers.compiled else p)


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (gives_one_distribution_an_item, CountsAnswersForPeople()),
        (gives_one_distribution_an_item, MixesUpItems()),
        (gives_one_distribution_an_item, ClaimsAnotherEstimand()),
        (depends_on_no_order_and_no_name, UsesFirstAnswerOnly()),
        (depends_on_no_order_and_no_name, GoesByName()),
        (treats_classes_alike, LikesTheFirstClass()),
        (takes_a_sure_belief_for_a_vote, TakesVotesForAnotherThing()),
        (leaves_out_who_weighs_nothing, IgnoresWeights()),
        (weighs_people, IgnoresWeights()),
        (follows_everybody, Contradicts()),
        (describes_every_annotator, ForgetsAnAnnotator()),
        (survives_ten_thousand_votes, Multiplies()),
        (runs_alike_compiled, CompiledOtherwise()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_aggregator(contract: Callable[..., None], wrong: Any) -> None:
    with pytest.raises(AssertionError):
        contract(wrong)


def test_every_contract_holds_for_the_sound_part_of_the_wrong_ones() -> None:
    """What they share is no reason for a rejection."""
    for contract in CONTRACTS:
        contract(_Wrong())


class SmoothsByAConstant(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        total = np.bincount(answers.item, answers.weights())[:, None]
        return self.result(answers, (mean_of(answers) * total + 0.25) / (total + 1))


class FallsAtTheEnd(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, mean_of(answers), objective=(*np.linspace(-9, -1, 39).tolist(), -1.001))


class NeverSaysThatItStopped(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        return self.result(answers, mean_of(answers), objective=(0.0,) * self.iterations, converged=self.tolerance > 0)


class ForgetsWhatIsNew(_Wrong):
    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        p = mean_of(answers)
        if previous is not None:
            p[: len(previous.probs)] = previous.probs
        return self.result(answers, p)


def test_a_pool_that_minds_the_unit_of_weights_is_rejected() -> None:
    with pytest.raises(AssertionError):
        counts_only_relative_weights(SmoothsByAConstant())


def test_an_objective_that_falls_is_rejected() -> None:
    with pytest.raises(AssertionError):
        objective_never_falls(FallsAtTheEnd())


def test_silence_about_iterations_that_ran_out_is_rejected() -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT WARN"):
        says_how_it_was_found(NeverSaysThatItStopped)


def test_an_update_that_forgets_is_rejected() -> None:
    with pytest.raises(AssertionError):
        updates_as_if_from_the_start(ForgetsWhatIsNew(), 1e-5)


FROM_COUNTS = ("mean", "bayes", "log-pool", "majority")


@pytest.mark.parametrize("member", AGGREGATORS, ids=lambda member: member.name)
def test_counts_give_the_numbers_of_single_votes_or_one_sentence(member: Any) -> None:
    table = np.random.default_rng(5).multinomial(7, [0.4, 0.3, 0.2, 0.1], 40)
    counts = Counts.from_numpy(range(40), table, CLASSES)
    if member.name not in FROM_COUNTS:
        with pytest.raises(BadTable, match="use mean, majority or bayes") as caught:
            member().aggregate(counts)
        assert caught.value.code == "no-annotators"
        return
    # Votes of seven people, who all answered about every item: others than the unknown ones of the counts.
    answered = counts.votes()
    people = [f"p{k % 7}" for k in range(len(answered))]
    votes = Beliefs.from_numpy(answered.item.text().to_pylist(), people, answered.hard, CLASSES)
    ours, theirs = member().aggregate(counts).labels, member().aggregate(votes).labels
    assert ours.items.to_pylist() == theirs.items.to_pylist()
    np.testing.assert_allclose(ours.probs, theirs.probs, rtol=0, atol=1e-12)
    assert ours.n_annotators.tolist() == theirs.n_annotators.tolist()
    assert ours.estimand is theirs.estimand
