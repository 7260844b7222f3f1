"""Learning from a crowd directly: heads by hand, gathering, and simulated crowds whose faults are found."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sfumato.tables.errors import BadSetting, UnknownName
from sfumato.training.crowd_layers import (
    CROWDS,
    AnnotatorConfusion,
    AnnotatorHeads,
    CrowdLayer,
    CrowdModel,
    CrowdRows,
    gather,
)
from sfumato.training.targets import target_named
from sfumato.training.training_set import AnnotatorBeliefs

LOGITS = np.array([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5]], np.float32)
ROWS = CrowdRows(
    torch.tensor([0, 0, 1]),
    torch.tensor([0, 1, 1]),
    torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.1, 0.9]]),
)


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z.astype(np.float64))
    return e / e.sum(axis=-1, keepdims=True)


# --- gathering ---


def pool() -> AnnotatorBeliefs:
    rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    rows.flags.writeable = False
    return AnnotatorBeliefs(rows, np.array([0, 2, 2, 5]), np.array([3, 1, 0, 1, 2]), 4)


@pytest.mark.parametrize("as_tensor", [False, True])
def test_the_beliefs_of_a_batch(as_tensor: bool) -> None:
    """Item 0 has two beliefs, item 1 none, item 2 three; an item may come twice."""
    index: Any = np.array([2, 1, 0, 2])
    rows = gather(pool(), torch.from_numpy(index) if as_tensor else index)
    assert rows.position.tolist() == [0, 0, 0, 2, 2, 3, 3, 3]
    assert rows.annotator.tolist() == [0, 1, 2, 3, 1, 0, 1, 2]
    np.testing.assert_allclose(rows.probs[:, 0].numpy(), [0.2, 0.3, 0.4, 1.0, 0.9, 0.2, 0.3, 0.4], rtol=1e-6)
    assert (rows.position.dtype, rows.annotator.dtype, rows.probs.dtype) == (torch.int64, torch.int64, torch.float32)


def test_a_batch_that_nobody_judged() -> None:
    rows = gather(pool(), np.array([1, 1]))
    logits = torch.zeros(2, 2, requires_grad=True)
    for crowd in (CrowdLayer(), AnnotatorHeads(), AnnotatorConfusion(trace=0.0)):
        loss = crowd.head(4, 2).loss(logits, rows)
        assert loss.item() == 0
        (gradient,) = torch.autograd.grad(loss, logits)
        assert (gradient == 0).all()


# --- the heads at their start, by hand ---


def test_a_crowd_layer_starts_as_the_softmax_of_the_softmax() -> None:
    p = softmax(LOGITS)
    loss = CrowdLayer(decay=3.0).head(2, 3).loss(torch.from_numpy(LOGITS), ROWS).item()
    first, second = np.log(softmax(p[0])), np.log(softmax(p[1]))
    by_hand = -(first[0] + 0.5 * first[0] + 0.5 * first[1] + 0.1 * second[1] + 0.9 * second[2]) / 3
    assert loss == pytest.approx(by_hand, rel=1e-6)
    # One perfect annotator on a sure network: p = (1, 0, 0), so ln(e + 2) - 1 = .551, not 0.
    sure = torch.tensor([[60.0, 0.0, 0.0]])
    rows = CrowdRows(torch.tensor([0]), torch.tensor([0]), torch.tensor([[1.0, 0.0, 0.0]]))
    assert CrowdLayer().head(1, 3).loss(sure, rows).item() == pytest.approx(math.log(math.e + 2) - 1, rel=1e-6)


def test_annotator_heads_start_as_plain_cross_entropy() -> None:
    loss = AnnotatorHeads().head(2, 3).loss(torch.from_numpy(LOGITS), ROWS).item()
    log_p = np.log(softmax(LOGITS))[[0, 0, 1]]
    assert loss == pytest.approx(-(ROWS.probs.numpy() * log_p).sum() / 3, rel=1e-6)


def test_annotator_confusion_starts_near_plain_cross_entropy() -> None:
    p = softmax(LOGITS)[[0, 0, 1]]
    # .9 on the diagonal, .05 on each of the others, and a trace of 2.7.
    predicted = 0.85 * p + 0.05
    by_hand = -(ROWS.probs.numpy() * np.log(predicted)).sum() / 3 + 0.01 * 2.7
    head = AnnotatorConfusion().head(2, 3)
    assert head.loss(torch.from_numpy(LOGITS), ROWS).item() == pytest.approx(by_hand, rel=1e-5)
    np.testing.assert_allclose(head.confusion().numpy(), np.tile(0.85 * np.eye(3) + 0.05, (2, 1, 1)), atol=1e-6)
    nearly = AnnotatorConfusion(trace=0.0, diagonal=1 - 1e-7).head(2, 3)
    plain = -(ROWS.probs.numpy() * np.log(p)).sum() / 3
    assert nearly.loss(torch.from_numpy(LOGITS), ROWS).item() == pytest.approx(plain, rel=1e-5)


# --- the heads with other weights, by hand ---


def test_every_annotator_has_a_matrix_of_their_own() -> None:
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((2, 3, 3)).astype(np.float32)
    p = softmax(LOGITS)
    head = CrowdLayer(decay=0.3).head(2, 3)
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(weight))  # type: ignore[operator, union-attr]
    expected = [np.log(softmax(weight[a] @ p[i])) for i, a in ((0, 0), (0, 1), (1, 1))]
    predicted = head(torch.from_numpy(LOGITS), ROWS.position, ROWS.annotator)
    np.testing.assert_allclose(predicted.detach().numpy(), expected, atol=1e-5)
    away = np.mean([((weight[a] - np.eye(3)) ** 2).sum() for a in range(2)])
    assert head.penalty().item() == pytest.approx(0.3 * away, rel=1e-5)
    # Sure of class i, annotator a says the softmax of column i.
    said = [[softmax(weight[a][:, i]) for i in range(3)] for a in range(2)]
    np.testing.assert_allclose(head.confusion().numpy(), said, atol=1e-6)


def test_every_annotator_has_a_last_layer_of_their_own() -> None:
    rng = np.random.default_rng(4)
    weight, bias = rng.standard_normal((2, 3, 3)).astype(np.float32), rng.standard_normal((2, 3)).astype(np.float32)
    head = AnnotatorHeads(shrinkage=0.2).head(2, 3)
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(weight))  # type: ignore[operator, union-attr]
        head.bias.copy_(torch.from_numpy(bias))  # type: ignore[operator, union-attr]
    # The logits with their mean taken out: 2, 0, -1 has 1/3, and 0, 1, .5 has .5.
    z = np.array([[5 / 3, -1 / 3, -4 / 3], [-0.5, 0.5, 0.0]])
    expected = [np.log(softmax(z[i] + weight[a] @ z[i] + bias[a])) for i, a in ((0, 0), (0, 1), (1, 1))]
    predicted = head(torch.from_numpy(LOGITS + 7), ROWS.position, ROWS.annotator)
    np.testing.assert_allclose(predicted.detach().numpy(), expected, atol=1e-5)
    away = np.mean([(weight[a] ** 2).sum() + (bias[a] ** 2).sum() for a in range(2)])
    assert head.penalty().item() == pytest.approx(0.2 * away, rel=1e-5)
    # Odds of 99 to 1 for class 0 are logits of ln 198, 0, 0, less their mean.
    sure = math.log(198) * np.array([2 / 3, -1 / 3, -1 / 3])
    np.testing.assert_allclose(head.confusion()[1, 0].numpy(), softmax(sure + weight[1] @ sure + bias[1]), atol=1e-6)


def test_what_an_annotator_says_is_confusion_times_prediction() -> None:
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((2, 3, 3)).astype(np.float32)
    head = AnnotatorConfusion(trace=0.5).head(2, 3)
    with torch.no_grad():
        head.scores.copy_(torch.from_numpy(scores))  # type: ignore[operator, union-attr]
    confusion, p = softmax(scores), softmax(LOGITS)
    np.testing.assert_allclose(confusion.sum(axis=2), 1)
    expected = [np.log(confusion[a].T @ p[i]) for i, a in ((0, 0), (0, 1), (1, 1))]
    predicted = head(torch.from_numpy(LOGITS), ROWS.position, ROWS.annotator)
    np.testing.assert_allclose(predicted.detach().numpy(), expected, atol=1e-5)
    assert head.penalty().item() == pytest.approx(0.5 * np.mean([np.trace(confusion[a]) for a in range(2)]), rel=1e-5)


# --- what holds for all of them ---


@pytest.mark.parametrize("crowd", CROWDS, ids=lambda crowd: crowd.name)
def test_predictions_are_distributions_and_finite(crowd: Any) -> None:
    head = crowd().head(2, 3)
    for logits in (torch.from_numpy(LOGITS), torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, 1e4]])):
        logits = logits.clone().requires_grad_()
        predicted = head(logits, ROWS.position, ROWS.annotator)
        np.testing.assert_allclose(predicted.exp().sum(dim=1).detach().numpy(), 1, atol=1e-5)
        loss = head.loss(logits, ROWS)
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(logits.grad).all()
        assert all(torch.isfinite(each.grad).all() for each in head.parameters())


@pytest.mark.parametrize("crowd", CROWDS, ids=lambda crowd: crowd.name)
def test_nobody_learns_from_anothers_answers(crowd: Any) -> None:
    head = crowd(**{name: 0.0 for name in ("decay", "shrinkage", "trace") if name in _settings(crowd)}).head(3, 3)
    head.loss(torch.from_numpy(LOGITS), ROWS).backward()
    for parameter in head.parameters():
        assert (parameter.grad[:2] != 0).any(dim=-1).any(dim=-1).all()
        assert (parameter.grad[2] == 0).all(), "the third said nothing"


@pytest.mark.parametrize("crowd", CROWDS, ids=lambda crowd: crowd.name)
def test_heads_start_alike_whatever_the_world_is_seeded_with(crowd: Any) -> None:
    states = []
    for seed in (1, 2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            states.append(crowd().head(2, 3).state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def _settings(crowd: Any) -> set[str]:
    return {field.name for field in fields(crowd)}


def test_names_and_settings() -> None:
    assert [crowd.name for crowd in CROWDS] == ["crowd-layer", "annotator-heads", "annotator-confusion"]
    for crowd in CROWDS:
        assert target_named(crowd.name, {}) == crowd()
        assert isinstance(crowd(), CrowdModel)
        for field in _settings(crowd):
            for value in (-1.0, float("nan"), float("inf")):
                with pytest.raises(BadSetting):
                    target_named(crowd.name, {field: value})
        with pytest.raises(BadSetting, match="n_annotators = 0"):
            crowd().head(0, 3)
        with pytest.raises(BadSetting, match="n_classes = 1"):
            crowd().head(3, 1)
    with pytest.raises(UnknownName, match="did you mean 'crowd-layer'"):
        target_named("crowd-layr", {})


# --- a crowd in which half the people swap two classes ---


@dataclass(frozen=True)
class Village:
    """Points around three corners; three people who know them, and three who call 0 what is 1 and 1 what is 0."""

    x: torch.Tensor
    truth: np.ndarray
    pool: AnnotatorBeliefs
    voted: torch.Tensor


def village(seed: int, n_items: int = 240) -> Village:
    """Three of five items are seen by one who knows and two who swap, the others by all who know.

    So most votes on 0 and 1 are wrong, though those who know gave 1.8 answers an item, and those who swap 1.2.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_items)
    x = 3.0 * np.eye(3)[truth] + 0.5 * rng.standard_normal((n_items, 3))
    who = np.stack(
        [
            np.arange(3) if i % 5 < 2 else np.concatenate(([rng.integers(3)], 3 + rng.choice(3, 2, replace=False)))
            for i in range(n_items)
        ]
    )
    swap = np.array([1, 0, 2])
    votes = np.eye(3)[np.where(who < 3, truth[:, None], swap[truth][:, None])]
    beliefs = AnnotatorBeliefs(votes.reshape(-1, 3), 3 * np.arange(n_items + 1), who.reshape(-1), 6)
    voted = torch.from_numpy(votes.sum(axis=1).argmax(axis=1))
    return Village(torch.from_numpy(x.astype(np.float32)), truth, beliefs, voted)


def trained(place: Village, crowd: CrowdModel | None, steps: int = 150) -> tuple[nn.Linear, Any]:
    """A linear classifier and its head after full-batch steps; without a crowd it learns what most people said."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = nn.Linear(3, 3)
    head = None if crowd is None else crowd.head(6, 3)
    rows = gather(place.pool, np.arange(len(place.truth)))
    weights = [*network.parameters(), *([] if head is None else head.parameters())]
    optimiser = torch.optim.Adam(weights, lr=0.1)
    for _ in range(steps):
        optimiser.zero_grad()
        logits = network(place.x)
        loss = nn.functional.cross_entropy(logits, place.voted) if head is None else head.loss(logits, rows)
        loss.backward()
        optimiser.step()
    return network, head


def accuracy(network: nn.Linear, place: Village) -> float:
    with torch.no_grad():
        return float((network(place.x).argmax(dim=1).numpy() == place.truth).mean())


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("crowd", [CrowdLayer(decay=0.01), AnnotatorConfusion()], ids=lambda crowd: crowd.name)
def test_who_swaps_two_classes_is_found_out(crowd: CrowdModel, seed: int) -> None:
    place, test = village(seed), village(seed + 100)
    by_votes, _ = trained(place, None)
    network, head = trained(place, crowd)
    assert accuracy(by_votes, test) < 0.5
    assert accuracy(network, test) > 0.97
    confusion = head.confusion().numpy()
    for a in range(3):
        assert confusion[a].argmax(axis=1).tolist() == [0, 1, 2]
    for a in range(3, 6):
        assert confusion[a].argmax(axis=1).tolist() == [1, 0, 2]


def test_heads_find_who_leans_to_a_class() -> None:
    """Five people know, the sixth always says 0: the head learns it, so that the network need not doubt."""
    place = village(seed=5)
    n_items = len(place.truth)
    said = np.where(np.arange(6) < 5, place.truth[:, None], 0)
    beliefs = AnnotatorBeliefs(
        np.eye(3)[said].reshape(-1, 3), 6 * np.arange(n_items + 1), np.tile(np.arange(6), n_items), 6
    )
    crowd = Village(place.x, place.truth, beliefs, place.voted)
    network, head = trained(crowd, AnnotatorHeads(shrinkage=0.001))
    shrunk, _ = trained(crowd, AnnotatorHeads(shrinkage=1e6))
    assert head.bias[5].argmax() == 0
    assert head.confusion()[5, 1].argmax() == 0
    assert head.confusion()[2, 1].argmax() == 1

    def given_to_the_truth(network: nn.Linear) -> float:
        with torch.no_grad():
            return float(network(place.x).softmax(dim=1)[torch.arange(n_items), torch.from_numpy(place.truth)].mean())

    # Without heads of their own: 1 on the zeros, 5/6 on the others.
    assert given_to_the_truth(shrunk) == pytest.approx((1 + 2 * 5 / 6) / 3, abs=0.03)
    assert given_to_the_truth(network) > 0.93
    assert accuracy(network, place) > 0.97
