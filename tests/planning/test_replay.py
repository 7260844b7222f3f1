"""Policies on recorded answers: halves that do not leak, budgets that hold, curves by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Annotations, Beliefs, SoftLabels
from sfumato.planning.allocation import Stopping
from sfumato.planning.answer_value import EntropyIndex, KLIndex, LeadIndex, UniformIndex
from sfumato.planning.recorded_answers import (
    ADD_CONSTANT,
    BAYES,
    CONSTANTS,
    RecordedAnswers,
    add_constant,
    bayes,
    loss_of,
)
from sfumato.planning.replay import Replay, ReplayCurve, budget_steps, replay, replay_policy, stop_at_lead
from sfumato.tables.errors import BadSetting, SfumatoError


def population(n_items: int, seed: int = 0) -> np.ndarray:
    """How people judge items of which four in five are clear and the others divide them."""
    rng = np.random.default_rng(seed)
    probs = 0.002 + 0.992 * np.eye(4)[rng.integers(0, 4, n_items)]
    divides = rng.random(n_items) < 0.2
    probs[divides] = rng.dirichlet(np.ones(4), int(divides.sum()))
    return probs


def crowd(n_items: int = 300, n_votes: int = 24, seed: int = 0) -> np.ndarray:
    """Their votes."""
    return np.random.default_rng(seed).multinomial(n_votes, population(n_items, seed))


def counts_of(recorded: RecordedAnswers, rows: np.ndarray) -> np.ndarray:
    counts = np.zeros((recorded.n_items, recorded.n_classes))
    np.add.at(counts, recorded.item[rows], recorded.votes(rows))
    return counts


def test_halves_share_no_answer_and_lose_none() -> None:
    counts = crowd()
    counts[::3, 0] += 1
    recorded = RecordedAnswers.of_counts(counts)
    split = recorded.split_half(np.random.default_rng(1))
    given = split.pool[split.pool >= 0]
    assert len(np.unique(given)) == len(given)
    pool = counts_of(recorded, given)
    assert np.array_equal(pool.sum(axis=1), (counts.sum(axis=1) + 1) // 2)
    np.testing.assert_allclose(split.truth, (counts - pool) / (counts - pool).sum(axis=1, keepdims=True))
    assert np.array_equal(recorded.item[split.pool[:, 0]], np.arange(300))


def test_recorded_order_can_be_kept() -> None:
    item = np.tile(np.arange(5), 8)
    recorded = RecordedAnswers.of(Beliefs.from_numpy(item, np.arange(40), np.arange(40) % 3, ["a", "b", "c"]))
    split = recorded.split_half(np.random.default_rng(0), keep_order=True)
    assert (np.diff(split.pool, axis=1) > 0).all()
    shuffled = recorded.split_half(np.random.default_rng(0))
    assert (np.diff(shuffled.pool, axis=1) < 0).any()
    assert np.array_equal(np.sort(shuffled.pool, axis=1), split.pool)


def test_uniform_gives_everybody_as_many() -> None:
    recorded = RecordedAnswers.of_counts(crowd())
    split = recorded.split_half(np.random.default_rng(0))
    run = replay_policy(split, UniformIndex(), (1, 5, 12), rng=np.random.default_rng(0))
    assert run.answers == (1.0, 5.0, 12.0)
    for budget, of_constant, of_bayes in zip((1, 5, 12), run.losses[ADD_CONSTANT], run.losses[BAYES], strict=True):
        counts = counts_of(recorded, split.pool[:, :budget].ravel())
        assert of_constant == loss_of(add_constant(counts, split.truth), split.truth)
        assert of_bayes == loss_of(bayes(counts), split.truth)


def test_losses_by_hand() -> None:
    loss = loss_of(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([[0.5, 0.5], [1.0, 0.0]]))
    assert loss.log_loss == pytest.approx((np.log(2) - np.log(0.9)) / 2)
    assert loss.kl == pytest.approx(-np.log(0.9) / 2)
    assert loss.total_variation == pytest.approx(0.05)
    assert loss.squared_error == pytest.approx(0.01)


def test_the_constant_is_the_best_on_the_truth() -> None:
    counts = crowd(50, 6).astype(float)
    truth = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    tried = [loss_of((counts + a) / (6 + 4 * a), truth).log_loss for a in CONSTANTS]
    assert loss_of(add_constant(counts, truth), truth).log_loss == pytest.approx(min(tried))


def test_the_model_and_the_asking_save_answers() -> None:
    truth = population(500)
    split = RecordedAnswers.of_counts(crowd(500, 40)).with_truth(truth, np.random.default_rng(0))
    runs = {
        policy.name: replay_policy(split, policy, (6, 8), rng=np.random.default_rng(0)).losses
        for policy in (UniformIndex(), KLIndex())
    }
    plain, model, asked = (
        np.mean([loss.kl for loss in runs[policy][estimator]])
        for policy, estimator in (("uniform", ADD_CONSTANT), ("uniform", BAYES), ("kl", BAYES))
    )
    assert model < 0.95 * plain
    assert asked < 0.95 * model


def test_the_same_rng_gives_the_same_replay() -> None:
    recorded = RecordedAnswers.of_counts(crowd(60, 8))
    one, other = (replay(recorded, [KLIndex()], budget=3, splits=2, rng=np.random.default_rng(4)) for _ in range(2))
    assert one.to_arrow().equals(other.to_arrow())


def test_answers_needed_by_hand() -> None:
    def curve(policy: str, *losses: list[float]) -> ReplayCurve:
        at = np.array(losses)
        return ReplayCurve(policy, ADD_CONSTANT, np.tile([1.0, 2.0, 4.0], (len(at), 1)), at, at, at, at)

    # Split 1: 0.5 is met half-way from 0.6 at 2 to 0.4 at 4. Split 2: at once. Never is NaN.
    found = Replay(
        (
            curve("uniform", [0.9, 0.8, 0.5], [0.9, 0.8, 0.5]),
            curve("a", [0.9, 0.6, 0.4], [0.5, 0.4, 0.3]),
            curve("b", [0.9, 0.8, 0.7], [0.9, 0.8, 0.4]),
        ),
        7,
    )
    of_uniform, of_a, of_b = found.needed()
    assert of_uniform.answers == 4
    assert of_a.answers == pytest.approx((3 + 1) / 2)
    assert of_a.times_fewer == pytest.approx((4 / 3 + 4) / 2)
    # Student's t with one degree of freedom, 12.706, times the standard error 1.
    assert of_a.low == pytest.approx(2 - 12.7062, abs=1e-3)
    assert np.isnan(of_b.answers)
    row = found.rows()[3]
    assert (row.policy, row.answers_per_item, row.n_items, row.n_splits) == ("a", 1.0, 7, 2)
    assert row.log_loss == pytest.approx(0.7)


def test_a_policy_that_wants_no_more_stops() -> None:
    counts = np.array([[9, 0, 0]] * 30 + [[5, 5, 0]] * 10) * 4
    split = RecordedAnswers.of_counts(counts).split_half(np.random.default_rng(0))
    run = replay_policy(split, LeadIndex(lead=3), (2, 18), rng=np.random.default_rng(0))
    assert run.answers[0] == 2
    assert run.answers[1] < 10
    capped = replay_policy(split, EntropyIndex(), (18,), stopping=Stopping(most=4), rng=np.random.default_rng(0))
    assert capped.answers == (4.0,)


def test_beliefs_and_answers_and_counts_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    soft = Beliefs.from_numpy(item, annotator, rng.dirichlet(np.ones(3), 120), ["a", "b", "c"])
    soft.write(tmp_path / "soft.parquet")
    recorded = RecordedAnswers.read(tmp_path / "soft.parquet")
    found = replay(recorded, [KLIndex()], budget=3, splits=1, rng=rng)
    assert np.isfinite(found.curves[0].log_loss).all()
    assert np.isnan(found.rows()[0].low)
    names = np.array(["a", "b", "c"])[rng.integers(0, 3, 120)]
    table = pa.table(
        {
            "item": [str(i) for i in item],
            "annotator": [str(i) for i in annotator],
            "kind": ["choice/1"] * 120,
            "payload": [f'{{"class": "{name}"}}' for name in names],
        }
    )
    Annotations.from_arrow(table, ("a", "b", "c")).write(tmp_path / "answers.parquet")
    votes = RecordedAnswers.read(tmp_path / "answers.parquet")
    counts = counts_of(votes, np.arange(120))
    SoftLabels.from_numpy([str(i) for i in range(20)], counts / 6, ["a", "b", "c"], 6).write(tmp_path / "labels.csv")
    assert np.array_equal(counts_of(RecordedAnswers.read(tmp_path / "labels.csv"), np.arange(120)), counts)


def test_items_with_one_answer_are_left_out() -> None:
    recorded = RecordedAnswers.of_counts(np.array([[1, 0], [2, 1], [0, 0], [0, 4]]))
    assert (recorded.n_items, recorded.n_left_out) == (2, 2)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: RecordedAnswers.of_counts(np.zeros((0, 3))), "wrong-shape"),
        (lambda: RecordedAnswers.of_counts(np.eye(3)), "no-rows"),
        (lambda: RecordedAnswers.of_counts(np.full((3, 1), 5)), "one-class"),
        (
            lambda: RecordedAnswers.of(Beliefs.from_numpy(["i", "i"], ["a", "b"], np.array([0, 0]), ["only"])),
            "bad-classes",
        ),
        (lambda: RecordedAnswers.of(SoftLabels.from_numpy(["i"], [[0.5, 0.5]], ["a", "b"])), "no-counts"),
        (lambda: RecordedAnswers.of(SoftLabels.from_numpy(["i"], [[0.3, 0.7]], ["a", "b"], 4)), "no-counts"),
    ],
)
def test_what_cannot_be_replayed_is_refused(make: object, code: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        make()
    assert caught.value.code == code


def test_budgets_beyond_the_answers_say_what_is_possible() -> None:
    recorded = RecordedAnswers.of_counts(crowd(20, 10))
    with pytest.raises(BadSetting, match="at most 5: half of the recorded answers") as caught:
        replay(recorded, [UniformIndex()], budget=6, rng=np.random.default_rng(0))
    assert caught.value.code == "budget-too-large"
    for settings in ({"budget": 0}, {"budget": 3, "splits": 0}):
        with pytest.raises(BadSetting):
            replay(recorded, [UniformIndex()], **settings, rng=np.random.default_rng(0))


def test_budgets_end_where_asked() -> None:
    assert budget_steps(3) == (1, 2, 3)
    assert budget_steps(25)[-3:] == (19, 23, 25)


def test_stopping_at_a_lead_on_cifar_10h(cifar_10h: SoftLabels) -> None:
    stop = stop_at_lead(RecordedAnswers.of(cifar_10h), 8, np.random.default_rng(0))
    assert stop.answers_per_item == pytest.approx(9.2, abs=0.15)
    assert stop.times_fewer == pytest.approx(5.5, abs=0.15)
    assert stop.agrees > 0.995


def test_stopping_at_a_lead_by_hand() -> None:
    # Unanimous: three answers. Always divided: all eight, and no lead.
    stop = stop_at_lead(RecordedAnswers.of_counts(np.array([[10, 0], [4, 4]])), 3, np.random.default_rng(2))
    assert stop.answers_per_item <= (3 + 8) / 2
    certain = stop_at_lead(RecordedAnswers.of_counts(np.array([[10, 0], [1, 1]])), 3, np.random.default_rng(2))
    assert (certain.answers_per_item, certain.unfinished, certain.agrees) == (2.5, 0.5, 1.0)
    assert certain.times_fewer == pytest.approx(6 / 2.5)
