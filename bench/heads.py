"""Heads on finished models, trained on people's labels with `sfumato train --start`: the tables of docs/train.md.

    SFUMATO_DATA=/path/to/data python bench/heads.py [cifar] [chaosnli] [fashion] [--write docs/train.md]

cifar     the 10,000 images of CIFAR-10H with three networks trained on CIFAR-10's training images
chaosnli  the 1,514 pairs of ChaosNLI's SNLI part with three RoBERTa-base models
fashion   the 10,000 images of Fashion-MNIST-H with a LeNet trained here on the first 10,000 training images, heads on
          its predictions and `linear` on its features

Prints and runs the commands a user would type: import, then one `sfumato train` per model, and one `sfumato evaluate`.
Ten folds: every item is predicted by a head that was fitted to the other nine. Cross-entropy is the mean over items, in
nats. `sampled`, `shuffled` and mixup use one random draw. Takes about six CPU-minutes; finished runs are kept in
the folder $SFUMATO_BENCH_RUNS and not repeated.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pages import markdown, write
from sfumato.evaluation.run_predictions import read_runs
from sfumato.importers.hard_labels import read_hard_labels
from sfumato.importers.label_file import read_labels
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.models.calibration_heads import FLOOR

DATA = Path(os.environ.get("SFUMATO_DATA", "data"))
RUNS = Path(os.environ.get("SFUMATO_BENCH_RUNS", "bench-runs"))
TARGETS = ("hard", "majority", "soft", "sampled", "class-level", "smoothing", "shuffled", "entropy-matched")
MIXUP = "linear-head:mixup=1"
HEADS = ("as-predicted", "linear-head", MIXUP, "vector-scaling", "temperature")
METRICS = ("accuracy", "second_best_accuracy", "brier_calibration")
SHOWN = (
    ("as-predicted", "soft"),
    *((head, target) for head in ("temperature", "vector-scaling", MIXUP) for target in ("hard", "soft")),
    *(("linear-head", target) for target in TARGETS),
)
BEST = ("linear-head", "soft")


@dataclass(frozen=True)
class Task:
    """People's labels and original classes, and the options that say what to train on for each model."""

    people: Path
    original: Path
    starts: Mapping[str, tuple[str, ...]]
    five: Path | None = None
    """Labels from five votes per item."""


def sfumato(*words: object) -> float:
    """Print and run a command; the CPU seconds it took."""
    texts = [str(word) for word in words]
    print(f"  sfumato {shlex.join(texts)}", flush=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "sfumato", *texts], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# --- the data ---


def cifar(place: Path) -> Task:
    people, original = place / "people.parquet", place / "original.parquet"
    sfumato("import", "cifar-10h", DATA / "cifar10h", "-o", people, "--original", original)
    released = DATA / "cifar10-model-predictions" / "probs.npz"
    names = {"ResNet-110": "resnet_110", "PreResNet-110": "preresnet_110", "DenseNet-BC-190-40": "densenet_bc_L190_k40"}
    for name, array in names.items():
        classes = ",".join(read_labels(people).classes)
        sfumato("import", "predictions", released, "--array", array, "--classes", classes, "-o", place / _file(name))
    return Task(people, original, {name: ("--start", str(place / _file(name))) for name in names})


def chaosnli(place: Path) -> Task:
    people, original = place / "people.parquet", place / "original.parquet"
    released = DATA / "chaosnli-snli"
    sfumato("import", "chaosnli", released / "chaosNLI_snli.jsonl.gz", "-o", people, "--original", original)
    starts = {}
    for seed in range(3):
        # The columns are in the order entailment, contradiction, neutral.
        start, classes = place / f"roberta-{seed}.parquet", "entailment,contradiction,neutral"
        given = ("--logits", "--array", "logits", "--classes", classes)
        sfumato("import", "predictions", released / f"roberta-base-{seed}.jsonl.gz", *given, "-o", start)
        starts[f"RoBERTa-base, seed {seed}"] = ("--start", str(start))
    with gzip.open(released / "chaosNLI_snli.jsonl.gz", "rt", encoding="utf-8") as file:
        pairs = [json.loads(line) for line in file]
    classes = read_labels(people).classes
    votes = np.array([[pair["old_labels"].count(name) for name in classes] for pair in pairs], np.float64)
    five = place / "five.parquet"
    items = [pair["uid"] for pair in pairs]
    SoftLabels.from_numpy(items, votes / votes.sum(axis=1, keepdims=True), classes, 5, made_by="mean").write(five)
    return Task(people, original, starts, five)


def fashion(place: Path) -> Task:
    from sfumato.tables.model_inputs import Inputs
    from sfumato.training.run_folder import Run
    from sfumato.training.trained_runs import features_of

    people, original = place / "people.parquet", place / "original.parquet"
    sfumato("import", "fashion-mnist-h", DATA / "fashion-mnist-h", "-o", people, "--original", original)
    classes = read_labels(people).classes
    pictures = {}
    for part, file in (("train", "train-first10000.npz"), ("test", "test.npz")):
        with np.load(DATA / "fashion-mnist" / file) as arrays:
            pictures[part] = place / f"{part}.npz"
            items = np.arange(len(arrays["images"])).astype(str)
            labels = np.array(classes)[arrays["labels"].astype(int)]
            np.savez(pictures[part], images=arrays["images"], items=items, labels=labels)
    recipe = ("--targets", "hard", "--model", "lenet", "--epochs", "15", "--split", "none")
    sfumato("train", "--inputs", pictures["train"], *recipe, "-o", place / "lenet")
    predictor = Run.read(next((place / "lenet").glob("*/run.json")).parent).predictor()
    test = Inputs.read(pictures["test"])
    predictor.predict(test).write(place / "lenet.parquet")
    features_of(predictor, test).write(place / "lenet-features.npz")
    starts = {
        "LeNet, predictions": ("--start", str(place / "lenet.parquet")),
        "LeNet, features": ("--inputs", str(place / "lenet-features.npz")),
    }
    return Task(people, original, starts)


def _file(name: str) -> str:
    return f"{name.lower().replace(', ', '-').replace(' ', '-')}.parquet"


# --- the tables ---


@dataclass(frozen=True, eq=False)
class Column:
    """The out-of-fold predictions on one model, by head and target, and their scores by head, target and metric."""

    predicted: Mapping[tuple[str, str], SoftLabels]
    scores: Mapping[tuple[str, str, str], str]


def column(task: Task, start: Sequence[str], place: Path) -> Column:
    """Train heads on one model and score them."""
    place.mkdir(exist_ok=True)
    heads = ",".join(HEADS) if start[0] == "--start" else "linear"
    given = ("--labels", task.people, "--original", task.original, "--folds", "10")
    seconds = sfumato("train", *start, *given, "--targets", ",".join(TARGETS), "--model", heads, "-o", place / "runs")
    scored = ("--people", task.people, "--original", task.original, "--metrics", ",".join(("cross_entropy", *METRICS)))
    files = ("-o", place / "scores.csv", "--differences", place / "differences.csv")
    seconds += sfumato("evaluate", "--runs", place / "runs", *scored, *files)
    print(f"  {seconds:.0f} CPU-s", flush=True)
    predicted = {(run.network, run.target): run.predictions for run in read_runs(place / "runs")}
    if task.five is not None:
        given = ("--labels", task.five, "--original", task.original, "--folds", "10")
        sfumato("train", *start, *given, "--targets", "soft", "--model", "linear-head", "-o", place / "five-runs")
        predicted["linear-head", "five original votes"] = read_runs(place / "five-runs")[0].predictions
    return Column(predicted, _scores(place / "scores.csv", place / "differences.csv"))


def _scores(scores: Path, differences: Path) -> dict[tuple[str, str, str], str]:
    """Every score, with a star if it differs from that of `hard` (Holm's correction)."""

    def rows(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
        with path.open(newline="") as file:
            return {(row["network"], row["target"], row["metric"]): row for row in csv.DictReader(file)}

    compared = rows(differences)
    stars = {key: "*" if row["verdict"] in ("better", "worse") else "" for key, row in compared.items()}
    return {key: f"{float(row['value']):.3f}{stars.get(key, '')}" for key, row in rows(scores).items()}


def losses(labels: np.ndarray, predicted: SoftLabels, items: Sequence[str]) -> np.ndarray:
    """The cross-entropy of every item, with the floor of the heads."""
    probs = np.maximum(predicted.probs[predicted.rows_of(items)], FLOOR)
    return -(labels * np.log(probs)).sum(axis=1)


def tables(name: str, place: Path) -> dict[str, str]:
    """Cross-entropies, and the other metrics, by model."""
    place.mkdir(parents=True, exist_ok=True)
    task = TASKS[name](place)
    columns = {
        each: column(task, start, place / _file(each).removesuffix(".parquet")) for each, start in task.starts.items()
    }
    people = read_labels(task.people)
    items = people.items.to_pylist()
    original = read_hard_labels(task.original).of
    hard = np.eye(len(people.classes))[[people.classes.index(original[item]) for item in items]]

    def cell(found: Column, head: str, target: str) -> str:
        predicted, best = found.predicted.get((head, target)), found.predicted.get(BEST)
        if predicted is None:
            return ""
        loss = losses(people.probs, predicted, items)
        text = f"{loss.mean():.3f} ({losses(hard, predicted, items).mean():.3f})"
        best = found.predicted["linear", "soft"] if best is None else best
        if predicted is best:
            return text
        difference = losses(people.probs, best, items) - loss
        return f"{text} {difference.mean():+.4f} ± {1.96 * difference.std(ddof=1) / len(items) ** 0.5:.4f}"

    shown = [*SHOWN]
    shown += [("linear-head", "five original votes")] if task.five is not None else []
    shown += [("linear", target) for target in TARGETS]
    first = [[_named(head, target), *(cell(each, head, target) for each in columns.values())] for head, target in shown]
    second = []
    for head, target in [("as-predicted", "soft"), *((h, t) for h in ("linear-head", "linear") for t in TARGETS)]:
        cells = [[each.scores.get((head, target, metric), "") for metric in METRICS] for each in columns.values()]
        if any(map(any, cells)):
            second.append([_named(head, target), *(", ".join(values) if any(values) else "" for values in cells)])
    return {
        f"heads-{name}": markdown(["prediction", *columns], [row for row in first if any(row[1:])]),
        f"heads-{name}-metrics": markdown(["prediction", *columns], second),
    }


def _named(head: str, target: str) -> str:
    return "as released" if head == "as-predicted" else f"{head} on {target}"


TASKS = {"cifar": cifar, "chaosnli": chaosnli, "fashion": fashion}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(TASKS)}; default all")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    for name in options.names or TASKS:
        for title, text in tables(name, RUNS / "heads" / name).items():
            print(f"## {title}\n\n{text}\n", flush=True)
            if options.write:
                write(options.write, title, text)


if __name__ == "__main__":
    main()
