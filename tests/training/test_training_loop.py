"""The loop: side by side is as alone, each run by its own rules, and luck from the seed alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from held_out_group import held_out_group
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting
from sfumato.training.group_optimizer import SeparateNetworks, stack_networks
from sfumato.training.mixing import MixMaxEnt, Mixup, Plain
from sfumato.training.networks import Network, network_named
from sfumato.training.optimizers import Adam, OneCycle, Plateau, Sgd, StepSchedule
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato.training.run_group import RunGroup
from sfumato.training.stacked_layers import Dropout
from sfumato.training.stacked_network import StackedNetwork
from sfumato.training.targets import target_named
from sfumato.training.training_loop import TrainingLoop
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet

N_ITEMS, SIZE = 90, 12
CLASSES = ("ash", "beech", "cedar")
TARGETS = ("hard", "soft", "sampled")


def training_set(n_items: int = N_ITEMS) -> TrainingSet:
    rng = np.random.default_rng(1)
    people = rng.dirichlet([0.4, 0.4, 0.4], n_items)
    n_rows = 2 * n_items
    pool = AnnotatorBeliefs(
        np.eye(3)[rng.integers(3, size=n_rows)], np.arange(0, n_rows + 1, 2), rng.integers(5, size=n_rows), 5
    )
    return TrainingSet(tuple(map(str, range(n_items))), CLASSES, people.argmax(1), people, pool)


def run_group(
    recipe: Recipe, *, network: Network | str = "simple-ffn", targets: tuple[str, ...] = TARGETS, seed: int = 0
) -> RunGroup:
    known = training_set()
    rng = np.random.default_rng(2)
    # A class can be seen: its own third of the picture is lighter.
    pictures = rng.normal(size=(N_ITEMS, 1, SIZE, SIZE)).astype(np.float32)
    assert known.original is not None
    for i, k in enumerate(known.original):
        pictures[i, 0, 4 * k : 4 * k + 4] += 1.5
    made = network_named(network) if isinstance(network, str) else network
    shown = torch.from_numpy(pictures)
    chosen = [target_named(name, {}) for name in targets]
    return held_out_group(chosen, made, known, shown, recipe, seed, test_images=shown[:20])


def trained(asked: RunGroup) -> TrainingLoop:
    training = TrainingLoop(asked)
    while not training.finished:
        training.advance()
    return training


@pytest.mark.parametrize("mixing", [Plain(), Mixup(endpoints="hard")], ids=lambda mixing: mixing.name)
def test_an_item_of_weight_2_counts_twice(mixing: Plain | Mixup) -> None:
    # One batch with all items, so that the order does not matter.
    recipe = Recipe(epochs=2, batch_size=2 * N_ITEMS, optimiser=Sgd(rate=0.1), mixing=mixing, dynamics="none")
    group = run_group(recipe, targets=("hard", "soft"))
    twice = np.arange(N_ITEMS) < 30
    weighted = dataclasses.replace(group, training_set=dataclasses.replace(group.training_set, weights=1.0 + twice))
    plain, found = trained(group), trained(weighted)
    assert difference(plain, found) > 1e-3
    same = dataclasses.replace(
        group, training_set=dataclasses.replace(group.training_set, weights=np.full(N_ITEMS, 3.0))
    )
    assert difference(plain, trained(same)) < 1e-5
    if isinstance(mixing, Mixup):
        return
    rows = np.concatenate([np.arange(N_ITEMS), np.flatnonzero(twice)])
    doubled = group.training_set.take(rows)
    labels = tuple(target_named(name, {}).labels(doubled, np.random.default_rng(0)) for name in group.names)
    repeated = dataclasses.replace(
        group, training_set=doubled, images=group.images[torch.from_numpy(rows)], labels=labels
    )
    assert difference(found, trained(repeated)) < 1e-5


def difference(one: TrainingLoop, other: TrainingLoop) -> float:
    """The largest between weights, predictions and histories of the same runs."""
    largest = 0.0
    for a, b in zip(one.runs, other.runs, strict=True):
        assert a.best is not None
        assert b.best is not None
        assert (a.name, a.ended, len(a.rows)) == (b.name, b.ended, len(b.rows))
        assert len(a.predictions) == len(b.predictions)
        largest = max(
            largest,
            *(float((a.best[name] - b.best[name]).abs().max()) for name in a.best),
            *(float(np.abs(p - q).max()) for p, q in zip(a.predictions, b.predictions, strict=True)),
            *(abs(p.loss - q.loss) for p, q in zip(a.rows, b.rows, strict=True)),
        )
    return largest


@dataclasses.dataclass(frozen=True)
class Dropping:
    """A network with a layer that drops units."""

    name = "dropping"

    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        channels, height, width = shape
        return nn.Sequential(
            nn.Conv2d(channels, 4, 3, padding=1), Dropout(0.3), nn.ReLU(), nn.Flatten(),
            nn.Linear(4 * height * width, 16), Dropout(0.5), nn.ReLU(), nn.Linear(16, n_classes),
        )  # fmt: skip


RECIPES = {
    "adam": Recipe(epochs=3, batch_size=16),
    "sgd, steps, clipped": Recipe(epochs=4, batch_size=16, optimiser=Sgd(0.05), schedule=StepSchedule((2,)), clip=0.5),
    "one cycle, crop and flip": Recipe(epochs=3, batch_size=32, schedule=OneCycle(), augmentation=CropAndFlip(2)),
    "mixup": Recipe(epochs=2, batch_size=16, mixing=Mixup()),
    "mix-max-ent": Recipe(epochs=2, batch_size=16, mixing=MixMaxEnt()),
    "plateau, each run when it is there": Recipe(
        epochs=8, batch_size=16, optimiser=Sgd(0.2), schedule=Plateau(patience=1), validation=0.3
    ),
    "stops early, each when it is time": Recipe(
        epochs=12, batch_size=16, optimiser=Adam(3e-3), validation=0.3, patience=2, predictions_each_epoch=True
    ),
    "decoupled decay": Recipe(epochs=2, batch_size=16, optimiser=Adam(weight_decay=0.1, decoupled=True)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_side_by_side_is_as_alone(name: str) -> None:
    recipe = RECIPES[name]
    together = trained(run_group(recipe))
    assert difference(together, trained(run_group(dataclasses.replace(recipe, stacked=False)))) < 2e-5
    for target in TARGETS:
        alone = trained(run_group(recipe, targets=(target,)))
        there = next(run for run in together.runs if run.name == target)
        assert there.best is not None
        assert alone.runs[0].best is not None
        assert max(float((there.best[k] - alone.runs[0].best[k]).abs().max()) for k in there.best) < 2e-5


def test_members_leave_at_different_times_and_the_others_go_on() -> None:
    training = trained(
        run_group(RECIPES["stops early, each when it is time"], targets=("hard", "soft", "uniform", "random"))
    )
    epochs = {run.name: len(run.rows) for run in training.runs}
    assert len(set(epochs.values())) > 1, epochs
    for run in training.runs:
        losses = run.validation_losses
        assert run.ended in ("stopped early", "finished")
        if run.ended == "stopped early":
            assert len(losses) - 1 - int(np.argmin(losses)) == 2


def test_dropped_units_are_the_same_for_all_members() -> None:
    recipe = Recipe(epochs=2, batch_size=16)
    together = trained(run_group(recipe, network=Dropping()))
    apart = trained(run_group(dataclasses.replace(recipe, stacked=False), network=Dropping()))
    assert difference(together, apart) < 2e-5


def test_a_seed_decides_everything() -> None:
    recipe = RECIPES["one cycle, crop and flip"]
    assert difference(trained(run_group(recipe)), trained(run_group(recipe))) == 0
    assert difference(trained(run_group(recipe)), trained(run_group(recipe, seed=1))) > 1e-3


def test_torch_s_own_luck_is_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    trained(run_group(RECIPES["mixup"]))
    assert torch.equal(before, torch.get_rng_state())


def test_learning_happens() -> None:
    training = trained(run_group(Recipe(epochs=15, batch_size=16), targets=("hard", "uniform")))
    hard, uniform = training.runs
    original = training_set().original
    assert original is not None
    assert (hard.predictions[-1].argmax(1) == original[:20]).mean() > 0.9
    assert np.abs(uniform.predictions[-1] - 1 / 3).max() < 0.15


def test_a_member_that_diverges_leaves_with_its_last_good_weights() -> None:
    class Poisoned:
        """Labels that are sound in the first epoch and then no more."""

        def __init__(self, sound: object) -> None:
            self.sound, self.calls = sound, 0

        def at(self, index: Tensor, chance: Tensor) -> Tensor:
            self.calls += 1
            y = self.sound.at(index, chance)
            return y if self.calls == 1 else y * torch.nan

        def mean(self) -> np.ndarray:
            return self.sound.mean()

        def to(self, device: torch.device) -> Poisoned:
            return self

    asked = run_group(Recipe(epochs=4, batch_size=16), targets=("hard", "soft"))
    poisoned = dataclasses.replace(asked, labels=(Poisoned(asked.labels[0]), asked.labels[1]))
    training = trained(poisoned)
    bad, good = training.runs
    assert (bad.ended, len(bad.rows)) == ("diverged", 1)
    assert (good.ended, len(good.rows)) == ("finished", 4)
    after_one = trained(dataclasses.replace(asked, recipe=Recipe(epochs=1, batch_size=16))).runs[0]
    assert bad.best is not None
    assert after_one.best is not None
    assert all(torch.equal(bad.best[name], after_one.best[name]) for name in bad.best)
    assert np.array_equal(bad.predictions[-1], after_one.predictions[-1])
    healthy = trained(asked).runs[1]
    assert good.best is not None
    assert healthy.best is not None
    # Once the other has left, this one learns in a smaller stack, which rounds otherwise.
    assert max(float((good.best[name] - healthy.best[name]).abs().max()) for name in good.best) < 1e-5


def test_dynamics_are_what_a_forward_pass_says() -> None:
    asked = run_group(Recipe(epochs=2, batch_size=16, dynamics="both", validation=0.2), targets=("hard", "soft"))
    training = trained(asked)
    learnt = torch.arange(asked.training_set.n_items)
    for run in training.runs:
        assert sorted(run.dynamics) == [("end", 1), ("end", 2), ("online", 1), ("online", 2)]
        network = asked.new_network()
        assert run.best is not None
        network.load_state_dict(run.best)
        with torch.no_grad():
            probs = network.eval()(asked.images[learnt]).softmax(1).numpy()
        moment = run.dynamics["end", 2]
        gold = asked.gold()[learnt]
        assert np.allclose(moment.gold, probs[np.arange(len(learnt)), gold], atol=1e-6)
        assert np.allclose(moment.agreement, (probs * asked.reference()[learnt]).sum(1), atol=1e-6)
        assert np.array_equal(moment.correct, probs.argmax(1) == gold)
        assert not np.isnan(run.dynamics["online", 1].gold).any()


def test_mixed_pictures_leave_no_online_dynamics() -> None:
    training = trained(run_group(Recipe(epochs=1, batch_size=16, mixing=Mixup()), targets=("soft",)))
    assert training.runs[0].dynamics == {}


def test_left_and_taken_up_is_as_never_left() -> None:
    recipe = RECIPES["stops early, each when it is time"]
    targets = ("hard", "sampled", "crowd-layer", "uniform")
    whole = trained(run_group(recipe, targets=targets))
    left = TrainingLoop(run_group(recipe, targets=targets))
    while not left.finished:
        left.advance()
        state = {name: tensor.clone() for name, tensor in left.state().items()}
        taken_up = TrainingLoop(run_group(recipe, targets=targets))
        taken_up.resume(left.epoch, left.runs, state)
        left = taken_up
    assert difference(whole, left) == 0


def test_crowds_are_learnt_from_unmixed_pictures_only() -> None:
    with pytest.raises(BadSetting, match="mixup for a crowd target"):
        run_group(Recipe(epochs=1, mixing=Mixup()), targets=("crowd-layer",))


def test_an_empty_remainder_is_refused() -> None:
    with pytest.raises(BadSetting, match="too-few-items"):
        run_group(Recipe(validation=0.999, patience=1))


class Joins(nn.Module):
    """Joins channels as no stack may: runs would read each other."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 2, 1), nn.Conv2d(1, 2, 1)
        self.out, self.flat = nn.Linear(4 * SIZE * SIZE, 3), nn.Flatten()

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.flat(torch.cat([self.one(x), self.two(x)], 1)))


class Shares(nn.Module):
    """Uses a layer twice."""

    def __init__(self) -> None:
        super().__init__()
        self.once = nn.Linear(SIZE * SIZE, SIZE * SIZE)
        self.twice, self.out, self.flat = self.once, nn.Linear(SIZE * SIZE, 3), nn.Flatten()

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.twice(self.once(self.flat(x))))


@pytest.mark.parametrize(
    "make", [Joins, Shares, lambda: nn.Sequential(nn.Flatten(), nn.LayerNorm(144), nn.Linear(144, 3))]
)
def test_what_cannot_be_one_is_trained_apart(make: Callable[[], nn.Module]) -> None:
    example = torch.randn(2, 1, SIZE, SIZE)
    networks = [make() for _ in range(3)]
    assert isinstance(stack_networks(networks, example, stacked=True), SeparateNetworks)


def test_networks_of_their_own_weights_can_be_one() -> None:
    example = torch.randn(4, 1, SIZE, SIZE)
    networks = [network_named("lenet").build((1, SIZE, SIZE), 3) for _ in range(3)]
    stack = stack_networks(networks, example, stacked=True)
    assert isinstance(stack, StackedNetwork)
    for run, network in enumerate(networks):
        assert torch.allclose(stack(example)[run], network(example), atol=1e-5)
        assert all(torch.equal(stack.state_of(run)[name], tensor) for name, tensor in network.state_dict().items())
