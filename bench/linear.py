"""The linear model on soft labels, compared with scikit-learn's LogisticRegression: accuracy and CPU time.

    SFUMATO_DATA=/path/to/data python bench/linear.py [accuracy] [protocol] [texts] [--write docs/train.md]

accuracy  one fold of CIFAR-10H, 9,000 images with 512 features. scikit-learn gets every item once per class of its
          label, with the probability as weight, one target after the other. Time: eight targets, scikit-learn with its
          default tolerance 1e-4; ours runs before and after, and the slower counts. Accuracy: `hard` and `soft`
          with scikit-learn's tolerance at 1e-8. CPU seconds of one thread.
protocol  eight targets x five seeds x ten folds, on the 10,000 images: every fit, and without those whose labels are
          the same for every seed.
texts     three commands, from votes to a report: 5,000 simulated texts of 40 words and ten simulated votes each, with
          text-linear, five targets and three seeds. CPU seconds of the commands and their worker processes.

Features: 128 random whitened patches of 6 x 6 pixels, rectified, averaged over the quarters of the image (Coates et al.
2011), standardized. Penalty 1, scikit-learn's C = 1. Takes about seven minutes; needs the extra `text`.
"""

from __future__ import annotations

import argparse
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterable  # noqa: E402
from pathlib import Path  # noqa: E402
from tempfile import TemporaryDirectory  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from pages import markdown, write  # noqa: E402
from sfumato.training.models.linear import LinearModel  # noqa: E402
from target_arrays import DATA, RANDOM, TARGETS, LabelSet, cifar_10h  # noqa: E402

N_FILTERS, PATCH, STRIDE, SEEDS = 128, 6, 2, 5


def image_features(images: np.ndarray) -> np.ndarray:
    """Responses to random patches, averaged over quarters: 512 correlated features per image."""
    rng = np.random.default_rng(0)
    windows = np.lib.stride_tricks.sliding_window_view(images.astype(np.float32) / 255, (PATCH, PATCH), axis=(1, 2))
    windows = windows[:, ::STRIDE, ::STRIDE]
    n_images, side = windows.shape[:2]
    places = rng.integers(0, side, (2, 20_000))
    sample = _contrast(windows[rng.integers(0, n_images, 20_000), places[0], places[1]].reshape(20_000, -1))
    mean = sample.mean(axis=0)
    size, axes = np.linalg.eigh(np.cov(sample.T))
    whitening = (axes / np.sqrt(size + 0.1)) @ axes.T
    filters = ((sample - mean) @ whitening)[rng.choice(20_000, N_FILTERS, replace=False)]
    filters = whitening @ (filters / np.linalg.norm(filters, axis=1, keepdims=True)).T
    features, half = [], side // 2
    for first in range(0, n_images, 500):
        part = windows[first : first + 500]
        responses = (_contrast(part.reshape(len(part) * side * side, -1)) - mean) @ filters
        shaped = np.maximum(responses - 0.5, 0).reshape(len(part), 2, half, 2, half, N_FILTERS)
        features.append(shaped.mean(axis=(2, 4)).reshape(len(part), -1))
    return np.concatenate(features).astype(np.float64)


def _contrast(patches: np.ndarray) -> np.ndarray:
    centered = patches - patches.mean(axis=1, keepdims=True)
    return centered / np.sqrt(centered.var(axis=1, keepdims=True) + 0.01)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds and result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def theirs(x: np.ndarray, labels: np.ndarray, tolerance: float, most: int) -> list[LogisticRegression]:
    """scikit-learn's fit of every target."""
    fitted = []
    for target in labels:
        item, k = np.nonzero(target)
        model = LogisticRegression(tol=tolerance, max_iter=most)
        fitted.append(model.fit(x[item], k, sample_weight=target[item, k]))
    return fitted


def accuracy(x: np.ndarray, data: LabelSet) -> list[list[str]]:
    train = np.flatnonzero(data.folds() != 0)
    # Standardized for both, so that they solve the same problem; ours does it again, which counts in its time.
    x = (x[train] - x[train].mean(axis=0)) / x[train].std(axis=0)
    labels = np.stack([data.labels(name, train) for name in TARGETS])
    before, fitted = timed(lambda: LinearModel().fit_many(x, labels))
    their_time, default = timed(lambda: theirs(x, labels, 1e-4, 1000))
    our_time = max(before, timed(lambda: LinearModel().fit_many(x, labels))[0])
    both = [TARGETS.index("hard"), TARGETS.index("soft")]
    exact_time, exact = timed(lambda: theirs(x, labels[both], 1e-8, 3000))
    pair_time = timed(lambda: LinearModel().fit_many(x, labels[both]))[0]
    mine = [each.predict(x) for each in fitted]

    def difference(models: list[LogisticRegression], places: Iterable[int]) -> str:
        differences = [np.abs(mine[i] - each.predict_proba(x)).max() for i, each in zip(places, models, strict=True)]
        return f"{max(differences):.1e}"

    return [
        ["largest difference of a probability: scikit-learn, tolerance 1e-8", difference(exact, both), "<= 1e-5"],
        ["the same: scikit-learn, default tolerance", difference(default, range(len(TARGETS))), ""],
        [
            "8 targets: CPU time of scikit-learn, default tolerance, against ours",
            f"{their_time / our_time:.1f}x ({their_time:.1f} to {our_time:.1f} CPU-s)",
            ">= 5x",
        ],
        [
            "2 targets: CPU time of scikit-learn, tolerance 1e-8, against ours",
            f"{exact_time / pair_time:.1f}x ({exact_time:.1f} to {pair_time:.1f} CPU-s)",
            "",
        ],
    ]


def protocol(x: np.ndarray, data: LabelSet) -> list[list[str]]:
    fold = data.folds()
    every = once = 0.0
    for number in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        labels = np.stack([data.labels(name, train, seed) for seed in range(SEEDS) for name in TARGETS])
        different = np.array([seed == 0 or name in RANDOM for seed in range(SEEDS) for name in TARGETS])

        def fit(chosen: np.ndarray, train: np.ndarray = train, test: np.ndarray = test) -> None:
            for fitted in LinearModel().fit_many(x[train], chosen):
                assert fitted.converged
                fitted.predict(x[test])

        every += timed(lambda labels=labels: fit(labels))[0]
        once += timed(lambda labels=labels[different]: fit(labels))[0]
    sizes = f"8 targets x {SEEDS} seeds x {fold.max() + 1} folds"
    return [
        [f"{sizes}, every fit", f"{every:.0f} CPU-s", "<= 60"],
        [f"{sizes}, targets that are the same for every seed fitted once", f"{once:.0f} CPU-s", ""],
    ]


def texts(x: np.ndarray, data: LabelSet) -> list[list[str]]:
    rng, classes, n_texts = np.random.default_rng(0), ["sports", "politics", "science", "arts"], 5000
    rows: dict[str, list[list[str]]] = {"texts": [["item", "text"]], "original": [["item", "label"]]}
    rows["votes"] = [["item", "annotator", "label"]]
    for number in range(n_texts):
        item, p = f"text-{number}", rng.dirichlet([0.3] * len(classes))
        topics, own = rng.choice(classes, 40, p=p), rng.random(40) < 0.3
        ranks = rng.zipf(1.4, 40) % 2000
        words = [
            f"{topic}{rank % 400}" if is_own else f"word{rank}"
            for topic, rank, is_own in zip(topics, ranks, own, strict=True)
        ]
        rows["texts"].append([item, " ".join(words)])
        rows["original"].append([item, classes[p.argmax()]])
        votes = rng.choice(classes, 10, p=p)
        people = rng.choice(300, 10, replace=False)
        rows["votes"] += [[item, f"worker-{who}", vote] for who, vote in zip(people, votes, strict=True)]
    commands = (
        "aggregate votes.csv --by mean -o labels.parquet",
        "train --inputs texts.csv --labels labels.parquet --original original.csv "
        "--targets hard,majority,soft,sampled,shuffled --seeds 3 -o runs",
        "report . -o report.html",
    )
    found = []
    with TemporaryDirectory() as folder:
        for name, each in rows.items():
            (Path(folder) / f"{name}.csv").write_text("\n".join(",".join(row) for row in each) + "\n")
        for command in commands:
            before = os.times()
            words = [sys.executable, "-m", "sfumato", *command.split()]
            subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            seconds = after.children_user - before.children_user + after.children_system - before.children_system
            found.append(seconds)
    parts = ", ".join(f"{command.split()[0]} {each:.0f}" for command, each in zip(commands, found, strict=True))
    return [
        [f"{n_texts:,} texts, {10 * n_texts:,} votes: three commands", f"{sum(found):.0f} CPU-s ({parts})", "<= 120"]
    ]


PARTS = {"accuracy": accuracy, "protocol": protocol, "texts": texts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PARTS)}; default all")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    names = options.names or list(PARTS)
    data = cifar_10h()
    x = np.empty((0, 0))
    if set(names) - {"texts"}:
        with np.load(DATA / "cifar10-test" / "images.npz") as arrays:
            x = image_features(arrays["images"])
    for name in names:
        text = markdown(["what", "measured", "required"], PARTS[name](x, data))
        print(f"## {name}\n\n{text}\n", flush=True)
        if options.write:
            write(options.write, f"linear-{name}", text)


if __name__ == "__main__":
    main()
