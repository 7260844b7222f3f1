"""Evaluation: speed, coverage of the intervals, and results on soft-label data sets.

    SFUMATO_DATA=/path/to/data python bench/evaluate.py [speed] [coverage] [cifar] [fashion] [--write docs/evaluate.md]

speed      one million predictions of ten classes, every metric with an interval of 1,000 draws, in its own process;
           compared with torchmetrics for the metrics it has (seconds per value and per bootstrap draw).
coverage   share of intervals that contain the true value (see evaluate_coverage.py; takes some minutes).
cifar      the full evaluation of the runs on CIFAR-10H: every target, by stratum and under attack (published_runs.py).
fashion    the same on Fashion-MNIST-H.

Default: all. Run nothing else at the same time.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import evaluate_coverage
from pages import markdown, write
from run_evaluation import evaluation_section

N_ITEMS, N_CLASSES, N_VOTES, DRAWS = 1_000_000, 10, 50, 1000
PEER_DRAWS, STUDIES = 3, 300


def predictions() -> tuple[np.ndarray, np.ndarray]:
    """Predictions of a model, and the vote shares of fifty people."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (N_ITEMS, N_CLASSES))
    crowd = np.exp(logits)
    crowd /= crowd.sum(axis=1, keepdims=True)
    people = rng.multinomial(N_VOTES, crowd) / N_VOTES
    predicted = np.exp(1.4 * logits + rng.normal(0, 0.5, logits.shape))
    return predicted / predicted.sum(axis=1, keepdims=True), people


def ours() -> dict[str, float]:
    """Wall seconds, CPU seconds and peak memory in MB for all metrics."""
    from sfumato import SoftLabels
    from sfumato.evaluation import METRICS, score

    predicted, people = predictions()
    items, classes = [str(i) for i in range(N_ITEMS)], [f"class {k}" for k in range(N_CLASSES)]
    tables = SoftLabels.from_numpy(items, predicted, classes, 0), SoftLabels.from_numpy(items, people, classes, N_VOTES)
    original = SoftLabels.one_hot(items, [classes[k] for k in people.argmax(axis=1)], classes)
    del predicted, people, items
    begun, cpu = time.perf_counter(), time.process_time()
    scores = score(predicted=tables[0], people=tables[1], original=original, resamples=DRAWS)
    seconds = time.perf_counter() - begun
    assert len(scores) >= len(METRICS) - 1
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def peer() -> dict[str, tuple[float, float]]:
    """Per metric that torchmetrics has: seconds for the value, and for one draw of its bootstrap."""
    import torch
    from torchmetrics import KLDivergence, PearsonCorrCoef, SpearmanCorrCoef
    from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError
    from torchmetrics.wrappers import BootStrapper

    warnings.simplefilter("ignore")
    p, q = (torch.from_numpy(each) for each in predictions())
    hard, entropies = q.argmax(1), [torch.special.entr(each).sum(1) for each in (p, q)]
    members: dict[str, tuple[Callable[[], object], tuple[object, object]]] = {
        "accuracy": (lambda: MulticlassAccuracy(N_CLASSES, average="micro"), (p, hard)),
        "ece": (lambda: MulticlassCalibrationError(N_CLASSES, n_bins=15), (p, hard)),
        "kl_divergence": (KLDivergence, (q, p)),
        "entropy_pearson": (PearsonCorrCoef, (entropies[0], entropies[1])),
        "entropy_spearman": (SpearmanCorrCoef, (entropies[0], entropies[1])),
    }
    found = {}
    for name, (make, (one, other)) in members.items():
        took = []
        for metric in (make(), BootStrapper(make(), num_bootstraps=PEER_DRAWS)):
            begun = time.perf_counter()
            metric.update(one, other)  # type: ignore[attr-defined]
            metric.compute()  # type: ignore[attr-defined]
            took.append(time.perf_counter() - begun)
        found[name] = took[0], took[1] / PEER_DRAWS
    return found


def ours_alone(name: str) -> float:
    """Seconds for a single metric, value and interval."""
    import pyarrow as pa

    from sfumato.evaluation import MatchedLabels, metric_from_name
    from sfumato.evaluation.metric_scores import score_matched

    predicted, people = predictions()
    matched = MatchedLabels(
        pa.array(map(str, range(N_ITEMS))), tuple(map(str, range(N_CLASSES))), predicted, people,
        n_annotators=np.full(N_ITEMS, N_VOTES),
    )  # fmt: skip
    begun = time.perf_counter()
    score_matched(matched, metrics=[metric_from_name(name)], resamples=DRAWS, rng=np.random.default_rng(0))
    return time.perf_counter() - begun


def speed() -> str:
    context = get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        whole = pool.apply(ours)
    with context.Pool(1, maxtasksperchild=1) as pool:
        theirs = pool.apply(peer)
    with context.Pool(1, maxtasksperchild=1) as pool:
        alone = {name: pool.apply(ours_alone, (name,)) for name in theirs}
    rows = [
        [
            f"all metrics, a million items, intervals of {DRAWS:,} draws",
            f"{whole['seconds']:.1f} s ({whole['cpu_seconds']:.1f} CPU-s), {whole['peak_mb']:,.0f} MB peak memory",
            "< 10 s, < 2 GB",
        ]
    ]
    for name, (value, draw) in theirs.items():
        rows.append(
            [
                f"{name} with its interval against torchmetrics",
                f"{alone[name]:.2f} s; torchmetrics {value:.2f} s for the value alone, {draw:.2f} s for one draw of "
                f"{DRAWS:,}: {draw * DRAWS / alone[name]:,.0f}x",
                "",
            ]
        )
    return markdown(["what", "measured", "required"], rows)


def covered(sharpness: float) -> np.ndarray:
    """The coverage in one population (runs in a worker process)."""
    return evaluate_coverage.coverage(1000, sharpness, evaluate_coverage.true_figures(sharpness), STUDIES, DRAWS)


def coverage() -> str:
    """The coverage of every metric in each population, with 1,000 items."""
    with get_context("spawn").Pool(2) as pool:
        columns = pool.map(covered, evaluate_coverage.POPULATIONS.values(), chunksize=1)
    rows = [
        [evaluate_coverage.label_of(metric), *(f"{column[i]:.1%}" for column in columns)]
        for i, metric in enumerate(evaluate_coverage.METRICS_UNDER_TEST)
    ]
    caption = (
        "Share of 95% intervals, each from 1,000 items, that contain the true value;"
        f" {STUDIES} simulated studies per population (standard error 1.3 points):"
    )
    return f"{caption}\n\n{markdown(['metric', *evaluate_coverage.POPULATIONS], rows)}"


PARTS: dict[str, Callable[[], str]] = {
    "speed": speed,
    "coverage": coverage,
    "cifar": lambda: evaluation_section("cifar"),
    "fashion": lambda: evaluation_section("fashion"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    for name in options.parts or PARTS:
        found = PARTS[name]()
        print(f"{found}\n", flush=True)
        if options.write:
            write(options.write, f"evaluate-{name}", found)


if __name__ == "__main__":
    main()
