"""Attacks in closed form on linear networks, and what must hold for any."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from sfumato.tables.errors import BadSetting, SfumatoError, UnknownName
from sfumato.tables.model_inputs import Inputs
from sfumato.training.attacks import ATTACKS, Attack, Attacked, Fgsm, Pgd, attack_named, attacked
from sfumato.training.network_inputs import PixelScale
from sfumato.training.network_run import NetworkPredictor
from sfumato.training.networks import LeNet
from sfumato.training.trained_runs import PixelModel

WEIRD = PixelScale((0.9, -3.0, 0.1), (0.01, 7.0, 250.0))
PLAIN = PixelScale((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def middling(n: int = 5, size: int = 4) -> np.ndarray:
    """Pictures away from black and white, where nothing is cut off."""
    return np.random.default_rng(0).integers(60, 200, (n, size, size, 3), dtype=np.uint8)


def doubt(n: int = 5, classes: int = 3) -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(classes), n)


def luck(seed: int = 2) -> np.random.Generator:
    return np.random.default_rng(seed)


def linear(scale: PixelScale, classes: int = 3, size: int = 4) -> NetworkPredictor:
    """Softmax regression; its weights stand against the scale, so that none is sure of anything."""
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * size * size, classes))
    rng = np.random.default_rng(4)
    by_pixel = rng.normal(0, 0.3, (classes, 3, size, size)) * np.array(scale.std)[:, None, None]
    with torch.no_grad():
        network[1].weight.copy_(torch.from_numpy(by_pixel.reshape(classes, -1)))
        network[1].bias.copy_(torch.zeros(classes))
    return NetworkPredictor(network, scale, (3, size, size), tuple("abc"[:classes]))


def in_pixels(predictor: NetworkPredictor, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights by pixel from 0 to 1, classes x channels x height x width, and what is predicted; in NumPy."""
    scale = predictor.scale
    weights = predictor.network[1].weight.detach().numpy().astype(float).reshape(-1, 3, *images.shape[1:3])
    standard = (images / 255 - np.array(scale.mean)) / np.array(scale.std)
    logits = np.einsum("kchw,nhwc->nk", weights, standard) + predictor.network[1].bias.detach().numpy()
    p = np.exp(logits - logits.max(1, keepdims=True))
    return weights / np.array(scale.std)[:, None, None], p / p.sum(1, keepdims=True)


def losses(probs: np.ndarray, q: np.ndarray) -> np.ndarray:
    return -(q * np.log(probs)).sum(-1)


def run(predictor: NetworkPredictor, attack: Attack, images: np.ndarray, q: np.ndarray, **more: int) -> Attacked:
    return attacked(PixelModel.of(predictor), attack, images, q, luck(), **more)


def changes(result: Attacked, images: np.ndarray) -> np.ndarray:
    pixels = images.reshape(*images.shape[:3], -1).astype(np.float32) / 255
    return result.images.astype(float) - pixels


# --- in closed form ---


@pytest.mark.parametrize("scale", [PLAIN, WEIRD], ids=["plain", "weird"])
@pytest.mark.parametrize("targets", ["soft", "hard"])
def test_fgsm_of_softmax_regression(scale: PixelScale, targets: str) -> None:
    images, q = middling(), doubt()
    q = q if targets == "soft" else np.eye(3)[q.argmax(1)]
    predictor = linear(scale)
    weights, p = in_pixels(predictor, images)
    result = run(predictor, Fgsm(eps=4 / 255), images, q)
    # The gradient of -sum q ln p is W^T (p - q).
    gradient = np.einsum("kchw,nk->nhwc", weights, p - q)
    np.testing.assert_allclose(changes(result, images), 4 / 255 * np.sign(gradient), rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.clean, p, rtol=0, atol=1e-4 if scale is WEIRD else 1e-6)


def test_the_labels_doubt_decides_the_way() -> None:
    """Where people see both classes and the network is surer than they are, the way leads to more sureness."""
    predictor = linear(PLAIN, classes=2)
    images = middling(1)
    _, p = in_pixels(predictor, images)
    first = int(p.argmax())
    hard, soft = np.eye(2)[[first]], np.full((1, 2), 0.5)
    assert p[0, first] > 0.5
    led_away = run(predictor, Fgsm(), images, hard)
    led_on = run(predictor, Fgsm(), images, soft)
    np.testing.assert_allclose(changes(led_away, images), -changes(led_on, images), atol=1e-6)
    assert led_away.steps[-1, 0, first] < p[0, first] < led_on.steps[-1, 0, first]


@pytest.mark.parametrize("scale", [PLAIN, WEIRD], ids=["plain", "weird"])
def test_pgd_of_a_linear_network_ends_in_the_corner(scale: PixelScale) -> None:
    images = middling()
    predictor = linear(scale, classes=2)
    weights, _ = in_pixels(predictor, images)
    q = np.eye(2)[[0, 1, 0, 1, 0]]
    result = run(predictor, Pgd(), images, q)
    # Away from class 0 is towards class 1: the sign of w_1 - w_0, for every picture.
    away = np.sign(np.moveaxis(weights[1] - weights[0], 0, -1))
    corner = 4 / 255 * np.where(q[:, 0, None, None, None] == 1, away, -away)
    np.testing.assert_allclose(changes(result, images), corner, rtol=0, atol=1e-6)
    assert result.steps.shape == (10, 5, 2)
    # 2/255 a step, from at most 4/255 on the other side: after four steps it is there and stays.
    np.testing.assert_allclose(result.steps[4:], np.broadcast_to(result.steps[-1], (6, 5, 2)), atol=1e-6)
    rising = losses(result.steps, q)
    assert (np.diff(rising, axis=0) > -1e-6).all()


def test_l2_goes_along_the_weights() -> None:
    images = middling()
    predictor = linear(PLAIN, classes=2)
    weights, _ = in_pixels(predictor, images)
    q = np.eye(2)[[0] * 5]
    result = run(predictor, Pgd(eps=0.1, alpha=0.05, steps=60, norm="l2"), images, q)
    way = np.moveaxis(weights[1] - weights[0], 0, -1)
    np.testing.assert_allclose(changes(result, images), np.array([0.1 * way / np.linalg.norm(way)] * 5), atol=2e-4)


def test_a_sure_network_still_has_a_gradient() -> None:
    predictor = linear(PLAIN, classes=2)
    with torch.no_grad():
        predictor.network[1].bias.copy_(torch.tensor([30.0, 0.0]))
    images, q = middling(), np.eye(2)[[0] * 5]
    for attack in (Fgsm(), Pgd(), Pgd(norm="l2")):
        result = run(predictor, attack, images, q)
        assert (result.clean[:, 0] > 1 - 1e-6).all()
        assert (np.abs(changes(result, images)).max(axis=(1, 2, 3)) > 1e-4).all()


def test_l2_begins_evenly_within_the_ball() -> None:
    x = torch.full((4000, 1, 1, 2), 0.5)
    off = Pgd(eps=0.1, norm="l2").start(x, luck()).numpy().reshape(-1, 2) - 0.5
    # Of a disc's area, a quarter lies within half its radius.
    assert (np.linalg.norm(off, axis=1) < 0.05).mean() == pytest.approx(0.25, abs=0.03)
    assert np.abs(off.mean(axis=0)).max() < 0.003


# --- for any network ---


@pytest.fixture(scope="module")
def lenet() -> NetworkPredictor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(LeNet().build((3, 16, 16), 4), nn.BatchNorm1d(4), nn.Dropout())
    return NetworkPredictor(network, WEIRD, (3, 16, 16), tuple("abcd"))


ANY = (Fgsm(), Fgsm(eps=0.2), Pgd(), Pgd(eps=0.2, steps=3), Pgd(eps=0.5, alpha=0.1, norm="l2"))
SHOTS = np.random.default_rng(8).integers(0, 256, (7, 16, 16, 3), dtype=np.uint8)


@pytest.mark.parametrize("attack", ANY, ids=repr)
def test_pictures_stay_near_and_stay_pictures(attack: Attack, lenet: NetworkPredictor) -> None:
    result = run(lenet, attack, SHOTS, doubt(7, 4))
    assert result.images.min() >= 0
    assert result.images.max() <= 1
    off = changes(result, SHOTS).reshape(7, -1)
    far = np.linalg.norm(off, axis=1) if getattr(attack, "norm", "") == "l2" else np.abs(off).max(axis=1)
    assert (far <= attack.eps + 1e-6).all()
    assert (far > 0.3 * attack.eps).all()


@pytest.mark.parametrize("attack", ANY, ids=repr)
def test_networks_are_left_as_they_were(attack: Attack, lenet: NetworkPredictor) -> None:
    lenet.network.train()
    before = {name: tensor.clone() for name, tensor in lenet.network.state_dict().items()}
    with torch.no_grad():  # also where somebody switched gradients off
        run(lenet, attack, SHOTS, doubt(7, 4))
        assert not torch.is_grad_enabled()
    assert all(module.training for module in lenet.network.modules())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in lenet.network.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in lenet.network.state_dict().items())


def test_predictions_are_the_predictors_and_those_of_eps_0(lenet: NetworkPredictor) -> None:
    inputs = Inputs(tuple("0123456"), SHOTS)
    clean = lenet.predict(inputs).probs
    assert np.array_equal(PixelModel.of(lenet).probs(SHOTS), clean)
    for attack in (Fgsm(eps=0), Pgd(eps=0), Pgd(eps=0, norm="l2")):
        result = run(lenet, attack, SHOTS, doubt(7, 4))
        assert np.array_equal(result.clean, clean)
        for step in result.steps:
            np.testing.assert_allclose(step, clean, rtol=0, atol=1e-7)


def test_luck_comes_from_rng_alone_and_batches_do_not_matter(lenet: NetworkPredictor) -> None:
    model, q = PixelModel.of(lenet), doubt(7, 4)
    for attack in (Pgd(), Pgd(norm="l2", eps=0.5)):
        torch.manual_seed(1)
        one = attacked(model, attack, SHOTS, q, luck())
        torch.manual_seed(2)
        state = torch.get_rng_state()
        again = attacked(model, attack, SHOTS, q, luck())
        assert torch.equal(torch.get_rng_state(), state)
        assert np.array_equal(one.steps, again.steps)
        apart = attacked(model, attack, SHOTS, q, luck(), at_once=2)
        np.testing.assert_allclose(apart.steps, one.steps, rtol=0, atol=1e-4)
        other = attacked(model, attack, SHOTS, q, luck(9))
        assert not np.array_equal(one.steps[0], other.steps[0])


def test_attacks_hurt_and_pgd_hurts_more(lenet: NetworkPredictor) -> None:
    q = np.eye(4)[PixelModel.of(lenet).probs(SHOTS).argmax(1)]
    clean = losses(PixelModel.of(lenet).probs(SHOTS), q).mean()
    fgsm = losses(run(lenet, Fgsm(eps=0.1), SHOTS, q).steps[-1], q).mean()
    pgd = losses(run(lenet, Pgd(eps=0.1, alpha=0.02, steps=20), SHOTS, q).steps[-1], q).mean()
    assert clean < fgsm
    assert pgd >= fgsm - 1e-3


def test_grey_pictures_with_and_without_an_axis() -> None:
    with torch.random.fork_rng(devices=[]):
        network = LeNet().build((1, 16, 16), 2)
    predictor = NetworkPredictor(network, PixelScale((0.3,), (0.2,)), (1, 16, 16), ("a", "b"))
    q = doubt(7, 2)
    for attack in (Fgsm(), Pgd()):
        one, other = (run(predictor, attack, images, q) for images in (SHOTS[..., 0], SHOTS[..., :1]))
        assert one.images.shape == (7, 16, 16, 1)
        assert np.array_equal(one.steps, other.steps)


# --- settings ---


def test_names_and_settings() -> None:
    assert [each.name for each in ATTACKS] == ["fgsm", "pgd"]
    assert attack_named("fgsm", {}) == Fgsm(4 / 255)
    assert attack_named("pgd", {"steps": 3}) == Pgd(4 / 255, 2 / 255, 3)
    assert all(isinstance(each(), Attack) for each in ATTACKS)
    with pytest.raises(UnknownName, match="did you mean 'fgsm'"):
        attack_named("fgms", {})
    with pytest.raises(BadSetting, match="the setting steps"):
        attack_named("fgsm", {"steps": 3})


@pytest.mark.parametrize(
    ("attack", "settings"),
    [
        *itertools.product((Fgsm, Pgd), [{"eps": value} for value in (-0.1, 4.0, float("nan"), float("inf"))]),
        *((Pgd, {"alpha": value}) for value in (0.0, -1.0, float("nan"))),
        *((Pgd, {"steps": value}) for value in (0, 2.5)),
        (Pgd, {"norm": "l1"}),
        (Pgd, {"norm": "l2", "eps": float("inf")}),
    ],
)
def test_settings_that_mean_nothing(attack: type, settings: dict[str, object]) -> None:
    with pytest.raises(BadSetting) as caught:
        attack(**settings)
    assert caught.value.code == "bad-setting"


def test_labels_must_be_distributions(lenet: NetworkPredictor) -> None:
    with pytest.raises(SfumatoError):
        run(lenet, Fgsm(), SHOTS, 2 * doubt(7, 4))
