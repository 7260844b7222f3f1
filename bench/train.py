"""Training: speed of stacked networks, and the effect of soft labels.

    SFUMATO_DATA=/path/to/data python bench/train.py [stacked] [protocol] [cifar] [fashion] [--write docs/train.md]

stacked   8 networks on 2,131 images of 28 px, batches of 64, five epochs including preparation: as one stacked network,
          and with a TensorDataset and DataLoader loop for each; and the matrix products that this training needs,
          computed by torch's sgemm alone, in the memory layouts that are fastest. CPU seconds of one thread,
          alternating, each in its own process. Weights are compared after the first epoch.
protocol  the soft-digits protocol: 8 targets x 3 networks x 6 seeds, 100 epochs each, 2,131 training images and 914
          images predicted after every epoch (validation and test items), with dynamics. On images of Fashion-MNIST,
          because soft-digits is not public. About 20 minutes of CPU time.
cifar     CIFAR-10H with the small network, 8 targets x 5 paired seeds (see published_runs.py).
fashion   Fashion-MNIST-H likewise with LeNet, 6 paired seeds.

Without a name: all. Run nothing else at the same time; it uses two processes with one thread each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pages import markdown, write
from published_runs import DATA, TARGETS, published_runs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.network_inputs import PixelScale
from sfumato.training.networks import network_named
from sfumato.training.random_streams import RandomStreams
from sfumato.training.recipe import Recipe
from sfumato.training.run_folder import Run
from sfumato.training.run_group import RunGroup
from sfumato.training.targets import target_named
from sfumato.training.training_loop import TrainingLoop
from sfumato.training.training_set import TrainingSet

RUNS = Path(os.environ.get("SFUMATO_BENCH_RUNS", "bench-runs"))
"""The folder of the runs."""
N_IMAGES, ROUNDS, EPOCHS, SEEDS = 2131, 3, 5, 6
REQUIRED = {"simple-ffn": 3.4, "deeper-ffn": 2.7, "lenet": 2.8}
REQUIRED_SHARE = 0.7
"""Of the speed of sgemm."""
BATCH = 64


@dataclass(frozen=True, eq=False)
class Data:
    """Images with original and people's labels, and the rows of the training items."""

    images: np.ndarray
    training_set: TrainingSet
    train: np.ndarray
    test: np.ndarray

    def run_group(
        self, network: str, recipe: Recipe, seed: int, targets: Sequence[str] = TARGETS, *, with_test: bool = True
    ) -> RunGroup:
        training_set = self.training_set.take(self.train)
        scale = PixelScale.of(self.images[self.train])
        labels = [target_named(name, {}).labels(training_set, np.random.default_rng(seed)) for name in targets]
        return RunGroup(
            tuple(targets),
            network_named(network),
            tuple(labels),
            training_set,
            scale.applied(self.images[self.train]),
            recipe,
            seed,
            test_images=scale.applied(self.images[self.test]) if with_test else None,
        )


def fashion_mnist_h(n_train: int) -> Data:
    """The first `n_train` images of the test set for training, 914 others for prediction."""
    images = np.load(DATA / "fashion-mnist" / "test.npz")["images"]
    with np.load(DATA / "fashion-mnist-h" / "counts.npz") as file:
        counts, original = file["counts"].astype(float), file["labels"].astype(np.int64)
    people = counts / counts.sum(1, keepdims=True)
    training_set = TrainingSet(
        tuple(map(str, range(len(images)))), tuple(map(str, range(counts.shape[1]))), original, people
    )
    return Data(images, training_set, np.arange(n_train), np.arange(7000, 7914))


# --- speed ---


def stacked_group(network: str) -> RunGroup:
    targets = [name for name in TARGETS if name != "sampled"] + ["uniform"]
    recipe = Recipe(epochs=EPOCHS, dynamics="none")
    return fashion_mnist_h(N_IMAGES).run_group(network, recipe, 0, targets, with_test=False)


def in_usual_layout(network: nn.Module) -> nn.Module:
    """The same network and weights with channels first and ReLU before pooling, as it is usually written."""
    layers = list(network.children())
    for i, layer in enumerate(layers[:-1]):
        if isinstance(layer, nn.MaxPool2d) and isinstance(layers[i + 1], nn.ReLU):
            layers[i], layers[i + 1] = layers[i + 1], layers[i]
    return nn.Sequential(*layers).to(memory_format=torch.contiguous_format)


def train_separately(
    run_group: RunGroup, epochs: int, dtype: torch.dtype = torch.float32
) -> list[dict[str, torch.Tensor]]:
    """Train each network separately, with the usual DataLoader loop."""
    trained = []
    pictures = run_group.images.contiguous().to(dtype)
    for labels in run_group.labels:
        network = in_usual_layout(run_group.new_network()).to(dtype)
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        network.train()
        for epoch in range(epochs):
            order = RandomStreams(run_group.seed, epoch).order(len(pictures)).tolist()
            for x, y in DataLoader(TensorDataset(pictures, labels.probs.to(dtype)), batch_size=BATCH, sampler=order):
                optimiser.zero_grad()
                nn.functional.cross_entropy(network(x), y).backward()
                optimiser.step()
        trained.append(network.state_dict())
    return trained


def train_in_float64(run_group: RunGroup, epochs: int) -> list[dict[str, torch.Tensor]]:
    """Train each network separately with double precision: what both would give without rounding."""
    return train_separately(run_group, epochs, torch.float64)


def train_stacked(run_group: RunGroup, epochs: int) -> list[dict[str, torch.Tensor]]:
    """Train all networks together, stacked."""
    training = TrainingLoop(run_group)
    for _ in range(epochs):
        training.advance()
    return [run.best for run in training.runs if run.best is not None]


def needed_products(run_group: RunGroup) -> list[tuple[int, int, int]]:
    """Rows, inner size and columns of the matrix products that one batch needs, forward and backward, for all runs.

    Convolutions as products with the windows of their input. The first layer, whose input all runs share, is one wide
    product, and the gradient of its input is not needed.
    """
    network, found = run_group.new_network(), list[tuple[int, int, int]]()
    n_runs = len(run_group.labels)

    def record(layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        if not isinstance(layer, nn.Linear | nn.Conv2d):
            return
        n_out, inner = len(layer.weight), layer.weight[0].numel()
        rows = BATCH * output[0, 0].numel() if isinstance(layer, nn.Conv2d) else BATCH
        if inputs[0] is first or not found:
            found.extend([(rows, inner, n_runs * n_out), (inner, rows, n_runs * n_out)])
        else:
            found.extend([(rows, inner, n_out), (inner, rows, n_out), (rows, n_out, inner)] * n_runs)

    first = run_group.images[:1]
    for layer in network.modules():
        layer.register_forward_hook(record)
    with torch.no_grad():
        network(first)
    return found


def gigaflop(run_group: RunGroup, epochs: int) -> float:
    """Billions of multiplications and additions that the training needs."""
    per_batch = sum(2 * rows * inner * columns for rows, inner, columns in needed_products(run_group))
    return per_batch * epochs * len(run_group.images) / BATCH / 1e9


@cache
def fastest_operands(size: tuple[int, int, int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two operands of this size and their product, in the memory layouts with which sgemm is fastest."""
    rows, inner, columns = size
    out = torch.empty(rows, columns)
    found = []
    for one in (torch.randn(rows, inner), torch.randn(inner, rows).t()):
        for other in (torch.randn(inner, columns), torch.randn(columns, inner).t()):
            seconds = []
            for _ in range(5):
                begun = time.thread_time()
                torch.mm(one, other, out=out)
                seconds.append(time.thread_time() - begun)
            found.append((min(seconds), one, other))
    _, one, other = min(found, key=lambda each: each[0])
    return one, other, out


def multiply_alone(run_group: RunGroup, epochs: int) -> list[dict[str, torch.Tensor]]:
    """The matrix products of the training, by torch's sgemm, without anything else."""
    for size in needed_products(run_group):
        one, other, out = fastest_operands(size)
        for _ in range(round(epochs * len(run_group.images) / BATCH)):
            torch.mm(one, other, out=out)
    return []


def timed(
    train: Callable[[RunGroup, int], list[dict[str, torch.Tensor]]], network: str, connection: Connection
) -> None:
    """Runs in its own process: trains on request, sends the CPU seconds, and at the end the weights after one epoch."""
    torch.set_num_threads(1)
    run_group = stacked_group(network)
    first = [{name: tensor.numpy() for name, tensor in state.items()} for state in train(run_group, 1)]
    while connection.recv():
        begun = time.thread_time()
        train(run_group, EPOCHS)
        connection.send(time.thread_time() - begun)
    connection.send(first)


WAYS = {
    "separate": train_separately,
    "stacked": train_stacked,
    "sgemm": multiply_alone,
    "float64": train_in_float64,
}


def stacked() -> list[list[str]]:
    """The ratio of CPU seconds, the share of the speed of sgemm, and the largest difference of the weights from
    separate training."""
    context = get_context("spawn")
    rows = []
    for network, required in REQUIRED.items():
        seconds: dict[str, list[float]] = {}
        connections = {}
        for name, train in WAYS.items():
            connections[name], theirs = context.Pipe()
            context.Process(target=timed, args=(train, network, theirs), daemon=True).start()
        for _ in range(ROUNDS):
            for name in ("separate", "stacked", "sgemm"):
                connections[name].send(True)
                seconds.setdefault(name, []).append(connections[name].recv())
        weights = {}
        for name, connection in connections.items():
            connection.send(False)
            weights[name] = connection.recv()
        off, rounding = (
            [
                max(np.abs(a[name] - b[name]).max() for name in a)
                for a, b in zip(weights["separate"], other, strict=True)
            ]
            for other in (weights["stacked"], weights["float64"])
        )
        alone, together, sgemm = (float(np.median(seconds[name])) for name in ("separate", "stacked", "sgemm"))
        work = gigaflop(stacked_group(network), EPOCHS)
        rows += [
            [
                f"8 x {network}, {EPOCHS} epochs: stacked against DataLoader",
                f"{alone / together:.2f}x ({alone:.2f} to {together:.2f} CPU-s); weights after one epoch differ by "
                f"{max(off):.1e} at most, {np.median(off):.1e} at the median (DataLoader and "
                f"float64: {max(rounding):.1e}, {np.median(rounding):.1e})",
                f">= {required}x, 1e-5",
            ],
            [
                f"8 x {network}, {EPOCHS} epochs: needed matrix products per CPU-second of training",
                f"{work / together:.0f} GFLOP/s; sgemm alone {work / sgemm:.0f} GFLOP/s: {sgemm / together:.0%}",
                f">= {REQUIRED_SHARE:.0%} of sgemm",
            ],
        ]
    return rows


def protocol() -> list[list[str]]:
    """CPU minutes of the whole protocol."""
    recipe = Recipe(epochs=100, predictions_each_epoch=True)
    jobs = [(network, recipe, seed) for network in reversed(REQUIRED) for seed in range(SEEDS)]
    outcomes = in_two_processes(jobs)
    minutes = sum(outcome.cpu_seconds for outcome in outcomes) / 60
    n_models = sum(len(outcome.probs) for outcome in outcomes)
    by_network = {
        name: sum(o.cpu_seconds for o, job in zip(outcomes, jobs, strict=True) if job[0] == name) / 60
        for name in REQUIRED
    }
    parts = ", ".join(f"{name} {value:.1f}" for name, value in by_network.items())
    return [
        [
            f"soft-digits protocol, {n_models} models x 100 epochs, with dynamics and predictions of every epoch",
            f"{minutes:.1f} CPU-minutes ({parts})",
            "<= 15 (authors: 8 to 10 hours on 20 threads)",
        ]
    ]


# --- the effect of soft labels ---


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predictions of the networks of one seed, and the CPU time of the training."""

    probs: np.ndarray
    cpu_seconds: float


def run_job(job: tuple[str, Recipe, int]) -> Outcome:
    torch.set_num_threads(1)
    network, recipe, seed = job
    data = fashion_mnist_h(N_IMAGES)
    begun = time.process_time()
    training = TrainingLoop(data.run_group(network, recipe, seed))
    while not training.finished:
        training.advance()
    return Outcome(np.stack([m.predictions[-1] for m in training.runs]), time.process_time() - begun)


def in_two_processes(jobs: Sequence[tuple[str, Recipe, int]]) -> list[Outcome]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(run_job, jobs, chunksize=1))


def target_rows(name: str) -> list[list[str]]:
    """Every target compared with hard, paired by seed: the difference in cross-entropy with its t interval."""
    published = published_runs(name, RUNS)
    people = SoftLabels.read(published.labels)
    original = dict(zip(*(np.load(published.inputs)[key].tolist() for key in ("items", "labels")), strict=True))
    losses: dict[str, dict[int, float]] = {}
    right: dict[str, list[float]] = {}
    for run in map(Run.read, sorted(path.parent for path in published.runs.rglob("run.json"))):
        table = run.predictions
        assert table is not None
        assert table.classes == people.classes
        q = people.probs[people.rows_of(table.items)]
        with np.errstate(divide="ignore"):
            logs = np.where(q > 0, np.log(table.probs), 0.0)
        target, seed = str(run.metadata["target"]), int(run.metadata["seed"])
        losses.setdefault(target, {})[seed] = float(-(q * logs).sum(1).mean())
        chosen = np.array(table.classes)[table.probs.argmax(1)]
        right.setdefault(target, []).append(float(np.mean(chosen == [original[i] for i in table.items.to_pylist()])))
    rows = []
    for target in TARGETS:
        gain = np.array([losses["hard"][seed] - loss for seed, loss in losses[target].items()])
        half = stats.t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
        better = "" if target == "hard" else f"{gain.mean():+.3f} ± {half:.3f}"
        required = ">= 0.10, interval above 0" if target == "soft" else ""
        loss = np.mean(list(losses[target].values()))
        rows.append([target, f"{np.mean(right[target]):.3f}", f"{loss:.3f}", better, required])
    if published.cpu_seconds is not None:
        print(f"{name}: {published.cpu_seconds:.1f} CPU-s per run, two at a time")
    return rows


def cifar() -> list[list[str]]:
    return target_rows("cifar")


def fashion() -> list[list[str]]:
    return target_rows("fashion")


PARTS = {"stacked": stacked, "protocol": protocol, "cifar": cifar, "fashion": fashion}
HEADS = {
    "stacked": ["what", "measured", "required"],
    "protocol": ["what", "measured", "required"],
    "cifar": ["target", "accuracy", "cross-entropy", "improvement over hard (95% CI over seeds)", "required"],
    "fashion": ["target", "accuracy", "cross-entropy", "improvement over hard (95% CI over seeds)", "required"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    for name in options.parts or PARTS:
        table = markdown(HEADS[name], PARTS[name]())
        print(f"{table}\n", flush=True)
        if options.write:
            write(options.write, f"train-{name}", table)


if __name__ == "__main__":
    main()
