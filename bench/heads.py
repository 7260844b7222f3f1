"""Heads on the released predictions of finished models, fitted to different targets: the tables of docs/train.md.

    SFUMATO_DATA=/path/to/data python bench/heads.py [cifar] [chaosnli] [--write docs/train.md]

cifar     the 10,000 images of CIFAR-10H with three networks trained on CIFAR-10's training images
chaosnli  the 1,514 pairs of ChaosNLI's SNLI part with three RoBERTa-base models

Ten folds: every item is predicted by a head that was fitted to the other nine. Scores are the mean cross-entropy to
people's labels, in nats, and differences are paired over items, with their standard error over items. The heads have
their default settings. `sampled` and `shuffled` use one random draw. Takes about a minute.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pages import markdown, write
from sfumato.training.models.calibration_heads import FLOOR, LinearHead, TemperatureScaling, VectorScaling
from target_arrays import TARGETS, LabelSet, chaosnli_snli, cifar_10h


def cross_entropy(labels: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """The cross-entropy of every item."""
    return -(labels * np.log(probs)).sum(axis=1)


def as_probs(x: np.ndarray) -> np.ndarray:
    """Released predictions as distributions, with the floor of the heads."""
    if (x >= 0).all():
        return np.maximum(x, FLOOR)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def head_predictions(data: LabelSet, model: str, head: Any, targets: Sequence[str]) -> dict[str, np.ndarray]:
    """Out-of-fold predictions of a head for every target."""
    x, fold = data.predictions[model], data.folds()
    predicted = np.empty((len(targets), *data.people.shape))
    for number in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        labels = np.stack([data.labels(name, train) for name in targets])
        for target, fitted in enumerate(head.fit_many(x[train], labels)):
            predicted[target, test] = fitted.predict(x[test])
    return dict(zip(targets, predicted, strict=True))


def with_error(difference: np.ndarray) -> str:
    return f"{difference.mean():+.4f} ± {difference.std(ddof=1) / len(difference) ** 0.5:.4f}"


def row(data: LabelSet, predicted: np.ndarray, soft: np.ndarray | None) -> str:
    """Cross-entropy to people, to the original class in brackets, and the difference from `soft`."""
    to_people, to_original = cross_entropy(data.people, predicted), cross_entropy(data.hard, predicted)
    text = f"{to_people.mean():.3f} ({to_original.mean():.3f})"
    return text if soft is None else f"{text} {with_error(cross_entropy(data.people, soft) - to_people)}"


def table(data: LabelSet) -> str:
    targets = (*TARGETS, *data.extra)
    columns: list[Mapping[str, str]] = []
    for model, x in data.predictions.items():
        started = time.process_time()
        linear = head_predictions(data, model, LinearHead(), targets)
        soft = linear["soft"]
        column = {"as released": row(data, as_probs(x), soft)}
        for head in (TemperatureScaling(), VectorScaling()):
            for target, predicted in head_predictions(data, model, head, ("hard", "soft")).items():
                column[f"{head.name} on {target}"] = row(data, predicted, soft)
        for target, predicted in linear.items():
            column[f"linear-head on {target}"] = row(data, predicted, None if target == "soft" else soft)
        columns.append(column)
        print(f"{model}: {time.process_time() - started:.1f} CPU-s", flush=True)
    names = list(columns[0])
    return markdown(["prediction", *data.predictions], [[name, *(each[name] for each in columns)] for name in names])


SETS = {"cifar": cifar_10h, "chaosnli": chaosnli_snli}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(SETS)}; default all")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    for name in options.names or SETS:
        text = table(SETS[name]())
        print(f"## {name}\n\n{text}\n", flush=True)
        if options.write:
            write(options.write, f"heads-{name}", text)


if __name__ == "__main__":
    main()
