"""Every mixing's labels and losses, written out in NumPy or by hand; curves fitted; mixtures that people judged."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from sfumato import Annotations, Beliefs
from sfumato.labeling import MixtureLabeler
from sfumato.tables.errors import BadSetting, BadTable, InvalidAnswer
from sfumato.training.mixing import (
    Blend,
    ClassPair,
    CurveFit,
    EntropyWeighted,
    HumanMixtures,
    Judgments,
    MixedBatch,
    MixMaxEnt,
    MixtureSmoothing,
    Mixup,
    PairCurve,
    Plain,
    ShareCurve,
    blends_of,
)
from sfumato.training.mixing.mixup import Pairing

X = np.arange(3 * 1 * 2 * 2, dtype=np.float32).reshape(3, 1, 2, 2)
Y = np.array(
    [
        [[0.7, 0.2, 0.1], [0.0, 0.0, 1.0], [0.3, 0.4, 0.3]],
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ],
    np.float32,
)
Z = np.array(
    [
        [[1.0, 0.0, -1.0], [0.5, 0.5, 0.5], [4.0, -2.0, 0.0], [0.1, 0.2, 0.3], [3.0, 0.0, 0.0], [0.0, 0.0, 9.0]],
        [[0.0, 2.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.2], [5.0, 5.0, 0.0], [1.0, 0.0, 2.0], [0.0, 0.0, 0.0]],
    ],
    np.float32,
)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(X.copy()), torch.from_numpy(Y.copy())


def drawn(alpha: float, seed: int) -> tuple[float, np.ndarray]:
    """The share and the partners that a generator gives."""
    pairing = Pairing.drawn(3, alpha, torch.Generator().manual_seed(seed), torch.device("cpu"))
    return pairing.share, pairing.partner.numpy()


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z.astype(np.float64) - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def seed_that_moves(alpha: float) -> int:
    """A seed whose pairs are not everybody with themselves, and whose share lies inside."""
    return next(s for s in range(99) if drawn(alpha, s)[1].tolist() == [1, 2, 0] and 0.05 < drawn(alpha, s)[0] < 0.95)


# --- what is drawn ---


def test_shares_are_beta_and_partners_a_permutation() -> None:
    draw = torch.Generator().manual_seed(3)
    pairings = [Pairing.drawn(5, 0.4, draw, torch.device("cpu")) for _ in range(4000)]
    shares = np.array([pairing.share for pairing in pairings])
    # Beta(a, a): mean 1/2, variance 1 / (4 (2a + 1)) = .1389 at a = .4.
    assert shares.mean() == pytest.approx(0.5, abs=0.02)
    assert shares.var() == pytest.approx(1 / (4 * 1.8), abs=0.005)
    partners = np.stack([pairing.partner.numpy() for pairing in pairings])
    assert (np.sort(partners, axis=1) == np.arange(5)).all()
    # Every partner alike: 800 of 4,000, and three standard deviations are 76.
    counts = np.stack([np.bincount(partners[:, i], minlength=5) for i in range(5)])
    assert np.abs(counts - 800).max() < 100


# --- losses, written out ---


def test_plain_is_the_mean_cross_entropy() -> None:
    x, y = batch()
    mixed = Plain().mixed(x, y, torch.Generator())
    assert torch.equal(mixed.x, x)
    assert torch.equal(mixed.y, y)
    expected = [-sum(sum(Y[g, i] * np.log(softmax(Z[g, i]))) for i in range(3)) / 3 for g in range(2)]
    np.testing.assert_allclose(Plain().losses(torch.from_numpy(Z[:, :3]), mixed).numpy(), expected, rtol=1e-6)
    # By hand: member 1 sees (0, 2, 0) and says 0: ln(e^2 + 2); (-1, 1, 0) and 1: ln(e^-2 + 1 + e^-1); (0, 0, .2) and 2.
    by_hand = (math.log(math.e**2 + 2) + math.log(math.e**-2 + 1 + 1 / math.e) + math.log(2 * math.e**-0.2 + 1)) / 3
    assert expected[1] == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("endpoints", ["soft", "hard"])
def test_mixup(endpoints: str) -> None:
    seed = seed_that_moves(1.0)
    share, partner = drawn(1.0, seed)
    x, y = batch()
    mixed = Mixup(endpoints=endpoints).mixed(x, y, torch.Generator().manual_seed(seed))
    ends = Y if endpoints == "soft" else np.eye(3)[[[0, 2, 1], [0, 1, 2]]]
    np.testing.assert_allclose(mixed.x.numpy(), share * X + (1 - share) * X[partner], rtol=1e-6)
    for g in range(2):
        for i in range(3):
            np.testing.assert_allclose(
                mixed.y[g, i].numpy(), share * ends[g, i] + (1 - share) * ends[g, partner[i]], atol=1e-6
            )
    expected = [
        np.mean([-(mixed.y[g, i].numpy() * np.log(softmax(Z[g, i]))).sum() for i in range(3)]) for g in range(2)
    ]
    np.testing.assert_allclose(Mixup().losses(torch.from_numpy(Z[:, :3]), mixed).numpy(), expected, rtol=1e-5)


def test_mix_max_ent() -> None:
    seed = seed_that_moves(10.0)
    share, partner = drawn(10.0, seed)
    x, y = batch()
    mixing = MixMaxEnt(weight=0.5)
    mixed = mixing.mixed(x, y, torch.Generator().manual_seed(seed))
    np.testing.assert_allclose(mixed.x[:3].numpy(), X)
    np.testing.assert_allclose(mixed.x[3:].numpy(), share * X + (1 - share) * X[partner], rtol=1e-6)
    assert torch.equal(mixed.y, y)
    expected = []
    for g in range(2):
        told = np.mean([-(Y[g, i] * np.log(softmax(Z[g, i]))).sum() for i in range(3)])
        doubt = np.mean([-(softmax(Z[g, i]) * np.log(softmax(Z[g, i]))).sum() for i in (3, 4, 5)])
        expected.append(told - 0.5 * doubt)
    np.testing.assert_allclose(mixing.losses(torch.from_numpy(Z), mixed).numpy(), expected, rtol=1e-5)


def test_mix_max_ent_of_uniform_predictions_by_hand() -> None:
    mixed = MixedBatch(torch.zeros(2, 1, 1, 1), torch.tensor([[[1.0, 0.0, 0.0, 0.0]]]))
    # Cross-entropy ln 4 of the one, minus the entropy ln 4 of the other.
    assert MixMaxEnt().losses(torch.zeros(1, 2, 4), mixed).item() == pytest.approx(0, abs=1e-6)
    assert MixMaxEnt(weight=0.0).losses(torch.zeros(1, 2, 4), mixed).item() == pytest.approx(math.log(4))


def test_entropy_weighted() -> None:
    seed = seed_that_moves(0.2)
    x, y = batch()
    for kappa in (0.7, 0.0):
        mixing = EntropyWeighted(kappa=kappa)
        mixed = mixing.mixed(x, y, torch.Generator().manual_seed(seed))
        assert torch.equal(mixed.y, Mixup(alpha=0.2).mixed(x, y, torch.Generator().manual_seed(seed)).y)
        expected = []
        for g in range(2):
            total = 0.0
            for i in range(3):
                p = softmax(Z[g, i])
                weight = min(max(math.log(2) / -(p * np.log(p)).sum(), kappa), 1)
                total += weight * -(mixed.y[g, i].numpy() * np.log(p)).sum()
            expected.append(total / 3)
        np.testing.assert_allclose(mixing.losses(torch.from_numpy(Z[:, :3]), mixed).numpy(), expected, rtol=1e-5)


def test_entropy_weights_by_hand() -> None:
    """Ten classes alike: ln 2 / ln 10 = .301, clamped to .7; two alike: exactly 1; sure: 1."""
    y = torch.zeros(1, 1, 10)
    y[..., 0] = 1

    def loss(z: torch.Tensor, kappa: float) -> float:
        return EntropyWeighted(kappa=kappa).losses(z, MixedBatch(torch.zeros(1, 1, 1, 1), y)).item()

    uniform, two = torch.zeros(1, 1, 10), torch.full((1, 1, 10), -60.0)
    two[..., :2] = 0
    assert loss(uniform, 0.7) == pytest.approx(0.7 * math.log(10), rel=1e-6)
    assert loss(uniform, 0.301) == pytest.approx(math.log(2), rel=1e-3)
    assert loss(uniform, 0.0) == pytest.approx(math.log(2), rel=1e-6)
    assert loss(two, 0.7) == pytest.approx(math.log(2), rel=1e-6)


def test_the_gradient_goes_through_the_entropy_weight() -> None:
    """Against differences of the loss itself, written out in NumPy."""
    y = np.array([0.6, 0.3, 0.1])
    z = np.array([0.4, 0.1, -0.3])

    def loss(z: np.ndarray) -> float:
        p = np.exp(z) / np.exp(z).sum()
        weight = min(max(math.log(2) / -(p * np.log(p)).sum(), 0.1), 1)
        return float(weight * -(y * np.log(p)).sum())

    p = softmax(z)
    assert 0.1 < math.log(2) / -(p * np.log(p)).sum() < 1
    expected = [(loss(z + h) - loss(z - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    logits = torch.tensor(z)[None, None].requires_grad_()
    mixed = MixedBatch(torch.zeros(1, 1, 1, 1), torch.tensor(y)[None, None])
    EntropyWeighted(kappa=0.1).losses(logits, mixed).sum().backward()
    assert logits.grad is not None
    np.testing.assert_allclose(logits.grad[0, 0].numpy(), expected, atol=1e-8)
    plain = p - y
    assert np.abs(np.array(expected) - plain).max() > 0.01


def tau(share: float, k: float = 4.59, x0: float = 0.522) -> float:
    return 1 / (1 + math.exp(-k * (share - x0)))


def test_class_pair() -> None:
    seed = seed_that_moves(1.0)
    share, _ = drawn(1.0, seed)
    x, y = batch()
    mixing = ClassPair(pairs=(PairCurve(0, 2, ShareCurve(6.0, 0.4)),))
    mixed = mixing.mixed(x, y, torch.Generator().manual_seed(seed))
    np.testing.assert_allclose(mixed.x.numpy(), share * X + (1 - share) * X[[1, 2, 0]], rtol=1e-6)
    own = {
        # Member 0 has the classes 0, 2, 1, member 1 has 0, 1, 2; each is mixed with the next.
        (0, 0): tau(share, 6.0, 0.4),  # 0 with 2: the pair's own curve
        (0, 1): 1 - tau(1 - share),  # 2 with 1: turned round
        (0, 2): 1 - tau(1 - share),  # 1 with 0
        (1, 0): tau(share),  # 0 with 1
        (1, 1): tau(share),  # 1 with 2
        (1, 2): 1 - tau(1 - share, 6.0, 0.4),  # 2 with 0
    }
    for (g, i), kept in own.items():
        expected = kept * Y[g, i] + (1 - kept) * Y[g, (i + 1) % 3]
        np.testing.assert_allclose(mixed.y[g, i].numpy(), expected, atol=1e-6)
    expected = [
        np.mean([-(mixed.y[g, i].numpy() * np.log(softmax(Z[g, i]))).sum() for i in range(3)]) for g in range(2)
    ]
    np.testing.assert_allclose(mixing.losses(torch.from_numpy(Z[:, :3]), mixed).numpy(), expected, rtol=1e-5)


def test_class_pair_within_a_class_is_mixup() -> None:
    x, y = batch()
    y = torch.tensor([[[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.4, 0.3, 0.3]]])
    draws = [torch.Generator().manual_seed(4) for _ in range(2)]
    np.testing.assert_allclose(
        ClassPair().mixed(x, y, draws[0]).y.numpy(), Mixup().mixed(x, y, draws[1]).y.numpy(), atol=1e-7
    )


def test_the_anchored_curve_goes_from_0_to_1() -> None:
    plain, anchored = ClassPair(), ClassPair(anchored=True)
    assert plain.seen_shares(3, 0.0)[0, 1].item() == pytest.approx(0.0835, abs=1e-4)
    assert plain.seen_shares(3, 1.0)[0, 1].item() == pytest.approx(0.8997, abs=1e-4)
    for share in (0.0, 0.3, 0.522, 0.9, 1.0):
        expected = (tau(share) - tau(0)) / (tau(1) - tau(0))
        seen = anchored.seen_shares(3, share)
        assert seen[0, 1].item() == pytest.approx(expected, abs=1e-12)
        # What is not seen of one is seen of the other, with the roles turned.
        assert seen[0, 1].item() + anchored.seen_shares(3, 1 - share)[1, 0].item() == pytest.approx(1, abs=1e-12)
        assert seen[2, 2].item() == share
    assert anchored.seen_shares(3, 0.0)[1, 2].item() == 0
    assert anchored.seen_shares(3, 1.0)[2, 1].item() == 1


def test_a_curve_for_a_class_that_is_not_there() -> None:
    x, y = batch()
    with pytest.raises(BadSetting, match="class numbers below 3"):
        ClassPair(pairs=(PairCurve(1, 3, ShareCurve()),)).mixed(x, y, torch.Generator())
    with pytest.raises(BadSetting, match="the smaller first"):
        PairCurve(2, 1, ShareCurve())


# --- judgments and curves ---

ANIMALS = ("cat", "dog", "fox")


def answers(rows: list[tuple[str, str, tuple[str, str], float, float]]) -> Annotations:
    """Answers of kind mixture: item, annotator, classes, share, confidence."""
    payloads = [json.dumps({"classes": list(c), "share": s, "confidence": w}) for _, _, c, s, w in rows]
    columns: dict[str, Any] = {
        "item": pa.array([row[0] for row in rows]),
        "annotator": pa.array([row[1] for row in rows]),
        "kind": pa.array(["mixture/1"] * len(rows)),
        "payload": pa.array(payloads),
    }
    return Annotations.from_arrow(pa.table(columns), ANIMALS)


ROWS = [
    ("3+1@0.25", "ann", ("dog", "cat"), 0.4, 1.0),
    ("1+2@0.5", "ann", ("cat", "fox"), 0.9, 0.5),
    ("3+1@0.25", "bob", ("dog", "cat"), 0.2, 0.0),
    ("3+1@0.25", "cas", ("dog", "cat"), 0.0, 0.5),
]


def test_judgments_by_item() -> None:
    table = answers(ROWS)
    told = Judgments.of(table, blends_of(table.item.names.to_pylist(), ["1", "2", "3"]))
    assert told.items == ("3+1@0.25", "1+2@0.5")
    assert told.first.tolist() == [1, 0]
    assert told.second.tolist() == [0, 2]
    assert told.generating.tolist() == [0.25, 0.5]
    assert told.starts.tolist() == [0, 3, 4]
    assert told.share.tolist() == [0.4, 0.2, 0.0, 0.9]
    assert told.confidence.tolist() == [1.0, 0.0, 0.5, 0.5]
    np.testing.assert_allclose(told.mean(told.share), [0.2, 0.9])
    turned = told.take(["1+2@0.5", "3+1@0.25"])
    assert turned.share.tolist() == [0.9, 0.4, 0.2, 0.0]
    assert turned.starts.tolist() == [0, 1, 4]
    assert turned.first.tolist() == [0, 1]
    with pytest.raises(BadTable, match="found no judgments of 9"):
        told.take(["9"])


def test_names_say_what_was_mixed() -> None:
    found = blends_of(["mixed_0.5_Dog_2205_Frog_6908.png", "a+b+c@0.75"], ["a+b", "c"])
    assert found["mixed_0.5_Dog_2205_Frog_6908.png"] == Blend("2205", "6908", 0.5)
    assert found["a+b+c@0.75"] == Blend("a+b", "c", 0.75)
    for name, images in (
        ("a+b+c@0.75", ["a", "b+c", "a+b", "c"]),
        ("a+b@0.5", ["a"]),
        ("dog.png", []),
        ("a+b@.", "ab"),
    ):
        with pytest.raises(BadTable) as caught:
            blends_of([name], images)
        assert caught.value.code == "unknown-blend"
    with pytest.raises(BadTable, match=r"found 1\.5 as the share"):
        Blend("a", "b", 1.5)


def test_judgments_that_cannot_be_read() -> None:
    blends = {"m": Blend("1", "2", 0.5)}
    with pytest.raises(InvalidAnswer, match="expected cat, dog, as in the other answers") as caught:
        Judgments.of(answers([("m", "ann", ("cat", "dog"), 0.5, 1.0), ("m", "bob", ("dog", "cat"), 0.5, 1.0)]), blends)
    assert caught.value.where.annotator == "bob"
    with pytest.raises(InvalidAnswer, match="found class 'eel'"):
        Judgments.of(answers([("m", "ann", ("cat", "eel"), 0.5, 1.0)]), blends)
    with pytest.raises(BadTable, match="found 1 items without a blend"):
        Judgments.of(answers([("n", "ann", ("cat", "dog"), 0.5, 1.0)]), blends)


def judged(k: float, x0: float, pair: tuple[str, str], n: int, seed: int, noise: float = 0.0) -> tuple[list, dict]:
    """`n` answers on a curve of the smaller class, with noise, told in the order of `pair`."""
    rng = np.random.default_rng(seed)
    rows, blends = [], {}
    turned = ANIMALS.index(pair[0]) > ANIMALS.index(pair[1])
    for i in range(n):
        share = (0.1, 0.25, 0.5, 0.75, 0.9)[i % 5]
        name = f"{'-'.join(pair)}-{i}"
        seen = 1 - tau(1 - share, k, x0) if turned else tau(share, k, x0)
        rows.append((name, "ann", pair, float(np.clip(seen + noise * rng.standard_normal(), 0, 1)), 1.0))
        blends[name] = Blend("1", "2", share)
    return rows, blends


def test_a_curve_is_found_again_in_whatever_order_it_was_told() -> None:
    there, back = judged(7.0, 0.3, ("cat", "dog"), 10, 1), judged(7.0, 0.3, ("dog", "cat"), 15, 2)
    curves = CurveFit(prior=0.0).fit(Judgments.of(answers(there[0] + back[0]), there[1] | back[1]))
    assert (curves.pooled.k, curves.pooled.x0) == (pytest.approx(7, abs=1e-4), pytest.approx(0.3, abs=1e-5))
    (pair,) = curves.pairs
    assert (pair.first, pair.second, curves.n_judgments) == (0, 1, (25,))
    assert (pair.curve.k, pair.curve.x0) == (pytest.approx(7, abs=1e-4), pytest.approx(0.3, abs=1e-5))
    mixing = ClassPair.fitted(curves, alpha=0.5)
    assert (mixing.k, mixing.alpha, mixing.pairs) == (curves.pooled.k, 0.5, curves.pairs)


def test_pairs_with_few_judgments_lean_on_the_pooled_curve() -> None:
    many, few, fewer = (
        judged(4.0, 0.5, ("cat", "dog"), 200, 1, 0.05),
        judged(9.0, 0.35, ("cat", "fox"), 10, 2),
        judged(9.0, 0.35, ("dog", "fox"), 5, 3),
    )
    told = Judgments.of(answers(many[0] + few[0] + fewer[0]), many[1] | few[1] | fewer[1])
    own, drawn_in, pooled = (CurveFit(prior=prior).fit(told) for prior in (0.0, 20.0, 1e6))
    assert [(pair.first, pair.second) for pair in own.pairs] == [(0, 1), (0, 2)], "5 judgments are too few for a curve"
    assert (own.pairs[1].curve.k, own.pairs[1].curve.x0) == (pytest.approx(9, abs=1e-3), pytest.approx(0.35, abs=1e-4))
    assert 0.35 + 0.03 < drawn_in.pairs[1].curve.x0 < own.pooled.x0 - 0.01
    assert pooled.pairs[1].curve.x0 == pytest.approx(own.pooled.x0, abs=1e-4)
    assert pooled.pairs[1].curve.k == pytest.approx(own.pooled.k, abs=1e-2)
    # With 200 judgments, twenty more hardly matter.
    assert drawn_in.pairs[0].curve.x0 == pytest.approx(own.pairs[0].curve.x0, abs=0.005)


def test_one_share_gives_no_curve() -> None:
    blends = {f"m{i}": Blend("1", "2", 0.5) for i in range(9)}
    with pytest.raises(BadTable, match="1 different shares"):
        CurveFit().fit(Judgments.of(answers([(m, "ann", ("cat", "dog"), 0.5, 1.0) for m in blends]), blends))
    for settings in ({"prior": -1.0}, {"at_least": 0}, {"prior": float("nan")}):
        with pytest.raises(BadSetting):
            CurveFit(**settings)


# --- mixtures that people judged ---

IMAGES = np.array([[[0, 10]], [[100, 200]], [[255, 3]]], np.uint8)  # of the ids 1, 2, 3


def mixtures(images: np.ndarray = IMAGES) -> HumanMixtures:
    return HumanMixtures.of(answers(ROWS), images, ["1", "2", "3"])


def test_images_are_mixed_in_pixels() -> None:
    made = mixtures()
    # .25 of (255, 3) with .75 of (0, 10): 63.75, 8.25; half of (0, 10) and (100, 200).
    assert made.images.dtype == np.uint8
    assert made.images.tolist() == [[[64, 8]], [[50, 105]]]
    as_floats = mixtures(IMAGES.astype(np.float32))
    assert as_floats.images.dtype == np.float32
    assert as_floats.images.tolist() == [[[63.75, 8.25]], [[50.0, 105.0]]]
    assert made.items == ("3+1@0.25", "1+2@0.5")


def test_averaged_labels() -> None:
    made = mixtures()
    # Dog .4, .2, 0 of the first; its mean confidence is .5.
    np.testing.assert_allclose(made.averaged().mean(), [[0.8, 0.2, 0.0], [0.9, 0.0, 0.1]], atol=1e-7)
    s = 0.005**0.5
    expected = [
        [(1 - s) * 0.8 + s / 3, (1 - s) * 0.2 + s / 3, s / 3],
        [(1 - s) * 0.9 + s / 3, s / 3, (1 - s) * 0.1 + s / 3],
    ]
    np.testing.assert_allclose(made.averaged(MixtureSmoothing()).mean(), expected, atol=1e-7)


def test_labels_of_one_annotator_an_access() -> None:
    made = mixtures()
    pooled = made.by_annotator()
    index = torch.zeros(3, dtype=torch.int64)
    at = pooled.at(index, torch.tensor([0.0, 0.5, 0.99])).numpy()
    np.testing.assert_allclose(at, [[0.6, 0.4, 0.0], [0.8, 0.2, 0.0], [1.0, 0.0, 0.0]], atol=1e-7)
    np.testing.assert_allclose(pooled.mean(), made.averaged().mean(), atol=1e-7)
    smooth = made.by_annotator(MixtureSmoothing()).at(index, torch.tensor([0.0, 0.5, 0.99])).numpy()
    # Sure: s = .005; not at all: uniform; in between: s = .0707.
    s = 0.005**0.5
    expected = [
        [0.995 * 0.6 + 0.005 / 3, 0.995 * 0.4 + 0.005 / 3, 0.005 / 3],
        [1 / 3, 1 / 3, 1 / 3],
        [1 - s + s / 3, s / 3, s / 3],
    ]
    np.testing.assert_allclose(smooth, expected, atol=1e-6)
    rescaled = made.by_annotator(MixtureSmoothing(rescaled=True)).at(index, torch.tensor([0.0, 0.5, 0.99])).numpy()
    np.testing.assert_allclose(rescaled[:2], [[0.6, 0.4, 0.0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-7)
    between = (s - 0.005) / 0.995
    np.testing.assert_allclose(rescaled[2], [1 - between + between / 3, between / 3, between / 3], atol=1e-7)


@pytest.mark.parametrize("rescaled", [False, True])
def test_smoothed_labels_are_those_of_the_labeler(rescaled: bool) -> None:
    beliefs = MixtureLabeler(rescaled=rescaled).label(answers(ROWS))
    made = mixtures()
    by_labeler, by_us = made.believed(beliefs), made.by_annotator(MixtureSmoothing(rescaled=rescaled))
    assert by_labeler.starts.tolist() == by_us.starts.tolist() == [0, 3, 4]  # type: ignore[union-attr]
    np.testing.assert_allclose(by_labeler.rows, by_us.rows, atol=1e-7)  # type: ignore[union-attr]
    np.testing.assert_allclose(made.believed(beliefs, averaged=True).mean(), by_us.mean(), atol=1e-7)


def test_beliefs_about_mixtures_are_matched_by_name() -> None:
    made = mixtures()
    probs = np.array([[0.0, 0.0, 1.0], [0.2, 0.3, 0.5], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    beliefs = Beliefs.from_numpy(["else", "1+2@0.5", "3+1@0.25", "1+2@0.5"], ["a", "a", "a", "b"], probs, ANIMALS)
    np.testing.assert_allclose(made.believed(beliefs).mean(), [[0.5, 0.5, 0.0], [0.6, 0.15, 0.25]], atol=1e-7)
    only = made.take(["1+2@0.5"])
    assert only.images.tolist() == [[[50, 105]]]
    np.testing.assert_allclose(only.believed(beliefs).mean(), [[0.6, 0.15, 0.25]], atol=1e-7)
    with pytest.raises(BadTable, match=r"no belief about 1 mixtures, '3\+1@0\.25'"):
        made.believed(beliefs.take(np.array([0, 1])))
    with pytest.raises(BadTable, match="in this order"):
        made.believed(Beliefs.from_numpy(["m"], ["a"], np.array([[0.5, 0.3, 0.2]]), ("dog", "cat", "fox")))


def test_labels_to_compare_with() -> None:
    made = mixtures()
    np.testing.assert_allclose(made.generating().mean(), [[0.75, 0.25, 0.0], [0.5, 0.0, 0.5]], atol=1e-7)
    np.testing.assert_allclose(made.uniform().mean(), np.full((2, 3), 1 / 3), atol=1e-7)
    drawn = [made.random(np.random.default_rng(seed)).mean() for seed in range(300)]
    assert all(np.sort(rows, axis=1).tolist() == [[0, 0, 1], [0, 0, 1]] for rows in drawn)
    # 100 of 300 for each class, and three standard deviations are 24.
    assert np.abs(np.sum(drawn, axis=0) - 100).max() < 30
    assert np.array_equal(drawn[5], made.random(np.random.default_rng(5)).mean())


def test_images_that_are_missing() -> None:
    with pytest.raises(BadTable, match="found an item called"):
        HumanMixtures.of(answers(ROWS), IMAGES[:2], ["1", "2"])
    blends = {"3+1@0.25": Blend("3", "1", 0.25), "1+2@0.5": Blend("1", "2", 0.5)}
    with pytest.raises(BadTable, match="found no image called 3"):
        HumanMixtures.of(answers(ROWS), IMAGES[:2], ["1", "2"], blends=blends)
    with pytest.raises(BadTable, match="found 1 different ids for 3 images"):
        HumanMixtures.of(answers(ROWS), IMAGES, ["1", "1", "1"])
    with pytest.raises(BadSetting):
        MixtureSmoothing(gamma=1.0)
