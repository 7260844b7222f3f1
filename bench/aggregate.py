"""Speed, memory and scaling of aggregation, compared with crowd-kit.

    python bench/aggregate.py [speed] [others] [scale]          (default: all three)

speed   Dawid-Skene end to end from the same DataFrame (text ids, K = 10) with 50 thousand, 500 thousand and 5 million
        answers, alternating with crowd-kit: ratios of wall and CPU time, the largest difference between the posteriors,
        and the memory each adds, measured in separate processes.
others  one-coin, GLAD and MACE compared with crowd-kit at 50 thousand answers.
scale   Dawid-Skene from Parquet, 1 to 100 million answers of 100,000 annotators: seconds per iteration, nanoseconds per
        answer, and the peak memory of the whole process, including reading and writing.

Needs the extra `bench`. The scale part writes up to 700 MB to the temporary folder and takes about ten minutes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato import Beliefs
from sfumato.aggregation import DawidSkene, Glad, Mace, OneCoin, kernels

N_CLASSES = 10
ANSWERS_PER_ITEM = 10
SIZES = ((50_000, 100), (500_000, 20), (5_000_000, 5))
SCALES = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
N_ANNOTATORS_AT_SCALE = 100_000
MEMORY_LIMIT_MIB = 3 * 2**10


def votes(n: int) -> pd.DataFrame:
    """`n` votes in random order: ten per item, about 1,000 per annotator, two thirds of them correct."""
    rng = np.random.default_rng(0)
    n_items, n_annotators = n // ANSWERS_PER_ITEM, max(n // 1000, 50)
    truth = rng.integers(0, N_CLASSES, n_items)
    item = rng.permutation(np.repeat(np.arange(n_items), ANSWERS_PER_ITEM))
    annotator = rng.integers(0, n_annotators, n)
    right = rng.random(n) < rng.beta(6, 3, n_annotators)[annotator]
    label = np.where(right, truth[item], rng.integers(0, N_CLASSES, n))
    return pd.DataFrame(
        {
            "task": pd.Series(item).map(lambda i: f"item-{i}"),
            "worker": pd.Series(annotator).map(lambda w: f"w{w}"),
            "label": label,
        }
    )


def ours(frame: pd.DataFrame, aggregator: Any) -> pd.DataFrame:
    """Our posteriors, computed from the DataFrame."""
    beliefs = Beliefs.from_votes(item=frame["task"], annotator=frame["worker"], label=frame["label"])
    labels = aggregator.aggregate(beliefs).labels
    return pd.DataFrame(labels.probs, index=labels.items.to_pandas(), columns=[int(name) for name in labels.classes])


def theirs(frame: pd.DataFrame, aggregator: Any) -> pd.DataFrame:
    return aggregator.fit_predict_proba(frame)


def both(iterations: int) -> tuple[Any, Any]:
    """Our Dawid-Skene and crowd-kit's: no prior, a fixed number of iterations."""
    from crowdkit.aggregation import DawidSkene as CrowdKit

    return DawidSkene(prior=0, iterations=iterations, tolerance=0), CrowdKit(n_iter=iterations, tol=-1e18)


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds and the result of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(*given)
    return time.perf_counter() - wall, time.process_time() - cpu, result


def verdict(reached: bool) -> str:
    return "ok" if reached else "MISSED"


def added_memory(n: int, iterations: int, library: str) -> float:
    """Memory in MiB that one run adds to a process with the DataFrame and both libraries loaded."""
    line = [sys.executable, __file__, "--one", library, str(n), str(iterations)]
    return float(json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()[-1]))


def run_one(library: str, n: int, iterations: int) -> None:
    """Print how much one run raises the peak memory of this process.

    A small run comes first, so that what the library loads and compiles is not counted.
    """
    small, frame = votes(20_000), votes(n)
    method = {"ours": ours, "theirs": theirs}[library]
    kernels.build()
    method(small, both(2)[library == "theirs"])
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    method(frame, both(iterations)[library == "theirs"])
    print(json.dumps(status("VmHWM") - before))


def status(field: str) -> float:
    """A memory field of /proc/self/status, in MiB."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found.group(1)) / 1024


def speed() -> None:
    print("Dawid-Skene, end to end from one DataFrame, compared with crowd-kit")
    kernels.build()
    for n, iterations in SIZES:
        frame = votes(n)
        mine, peer = both(iterations)
        times: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
        for _ in range(1 if n > 10**6 else 3):
            # Alternating, with ours before and after theirs, so that a busy moment affects both.
            for library, work, method in (("ours", ours, mine), ("theirs", theirs, peer), ("ours", ours, mine)):
                wall, cpu, result = timed(work, frame, method)
                times[library].append((wall, cpu))
                if library == "ours":
                    posterior = result
                else:
                    reference = result
        difference = float(np.abs(posterior.loc[reference.index, reference.columns] - reference).to_numpy().max())
        wall, cpu = (np.mean(times["theirs"], axis=0) / np.mean(times["ours"], axis=0)).tolist()
        mine_added, peer_added = (added_memory(n, iterations, each) for each in ("ours", "theirs"))
        share = mine_added / peer_added
        print(
            f"  {n:>9,} answers x {iterations:>3} iterations: speedup {wall:6.1f} in wall time ({verdict(wall >= 40)}),"
            f" {cpu:6.1f} in CPU time; ours {np.mean(times['ours'], axis=0)[0]:.2f} s,"
            f" theirs {np.mean(times['theirs'], axis=0)[0]:.1f} s; memory added: ours {mine_added:,.0f} MiB, theirs"
            f" {peer_added:,.0f} MiB, ratio {share:.2f} ({verdict(share <= 0.25)}); largest difference of the"
            f" posteriors {difference:.0e} ({verdict(difference <= 1e-9)})",
            flush=True,
        )


def others() -> None:
    from crowdkit.aggregation import GLAD, MACE, OneCoinDawidSkene

    print("One-coin (100 iterations), GLAD and MACE (default settings) at 50,000 answers, compared with crowd-kit")
    frame = votes(50_000)
    truth_of = votes_truth(50_000)
    for name, mine, peer, required in (
        ("one-coin", OneCoin(prior=0, iterations=100, tolerance=0), OneCoinDawidSkene(n_iter=100, tol=-1e18), 100),
        ("glad", Glad(), GLAD(), 15),
        ("mace", Mace(), MACE(), 10),
    ):
        runs = [timed(ours, frame, mine) for _ in range(3)]
        peer_wall, peer_cpu, reference = timed(theirs, frame, peer)
        runs += [timed(ours, frame, mine) for _ in range(2)]
        wall, cpu = np.mean([run[0] for run in runs[1:]]), np.mean([run[1] for run in runs[1:]])
        accuracies = [
            float((probs.idxmax(axis=1) == truth_of.reindex(probs.index)).mean()) for probs in (runs[-1][2], reference)
        ]
        print(
            f"  {name:9} speedup {peer_wall / wall:6.1f} in wall time ({verdict(peer_wall / wall >= required)},"
            f" required {required}), {peer_cpu / cpu:6.1f} in CPU time; ours {wall:.3f} s, theirs {peer_wall:.1f} s;"
            f" accuracy: ours {accuracies[0]:.4f}, theirs {accuracies[1]:.4f}",
            flush=True,
        )


def votes_truth(n: int) -> pd.Series:
    """The true class of every item of `votes(n)`."""
    truth = np.random.default_rng(0).integers(0, N_CLASSES, n // ANSWERS_PER_ITEM)
    return pd.Series(truth, index=[f"item-{i}" for i in range(len(truth))])


def write_beliefs(path: Path, n: int) -> None:
    """Write a Beliefs file of `n` votes by 100,000 annotators: ten per item, not in order of items."""
    rng = np.random.default_rng(0)
    n_items = n // ANSWERS_PER_ITEM
    truth, skill = rng.integers(0, N_CLASSES, n_items), rng.beta(6, 3, N_ANNOTATORS_AT_SCALE)
    stride = 7_368_787  # a prime that does not divide n: every row occurs once, and an item's rows are far apart
    names = [f"class {k}" for k in range(N_CLASSES)]
    empty = Beliefs.from_votes(item=["0"], annotator=["0"], label=[names[0]], classes=names).to_arrow()
    with pq.ParquetWriter(path, empty.schema, compression="zstd") as writer:
        for start in range(0, n, 2**18):
            row = np.arange(start, min(start + 2**18, n), dtype=np.int64)
            item = row * stride % n // ANSWERS_PER_ITEM
            annotator = rng.integers(0, N_ANNOTATORS_AT_SCALE, len(row))
            right = rng.random(len(row)) < skill[annotator]
            label = np.where(right, truth[item], rng.integers(0, N_CLASSES, len(row)))
            probs = pa.FixedSizeListArray.from_arrays(pa.array(np.eye(N_CLASSES)[label].ravel()), N_CLASSES)
            columns = [pa.array(item).cast(pa.string()), pa.array(annotator).cast(pa.string()), probs]
            writer.write_table(pa.table(columns, schema=empty.schema))


def run_at_scale(path: str, output: str) -> None:
    """Read, aggregate and write as the command does; print the times and the peak memory."""
    from sfumato.aggregation import AggregationInputs, AnswerMatrix

    at: list[float] = []
    begun = time.perf_counter()
    warnings.simplefilter("ignore")
    answers = AnswerMatrix.of(Beliefs.read(path), AggregationInputs(progress=lambda *_: at.append(time.perf_counter())))
    ready = time.perf_counter()
    result = DawidSkene(prior=0, iterations=6, tolerance=0).fit(answers)
    result.labels.write(output)
    done = time.perf_counter()
    # The last iteration also stores the posterior, so it is not counted.
    print(json.dumps([ready - begun, float(np.median(np.diff(at[:-1]))), done - begun, status("VmHWM")]))


def scale() -> None:
    print("Dawid-Skene from Parquet, 100,000 annotators, K = 10, ten answers per item")
    curve = []
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder) / "beliefs.parquet", Path(folder) / "labels.parquet"
        for n in SCALES:
            write_beliefs(path, n)
            line = [sys.executable, __file__, "--scale", str(path), str(output)]
            done = subprocess.run(line, capture_output=True, text=True, check=True)
            reading, iteration, total, peak = json.loads(done.stdout.splitlines()[-1])
            curve.append(iteration)
            print(
                f"  {n:>11,} answers: {iteration:7.3f} s per iteration = {iteration / n * 1e9:5.1f} ns per answer;"
                f" reading {reading:6.1f} s, total {total:6.1f} s, peak memory {peak:,.0f} MiB"
                f" ({verdict(peak <= MEMORY_LIMIT_MIB)})",
                flush=True,
            )
    sizes, seconds = np.array(SCALES) / 1e6, np.array(curve)
    slope, fixed = np.polyfit(sizes, seconds, 1, w=1 / seconds)
    off = float(np.abs(slope * sizes + fixed - seconds).max() / seconds[-1])
    print(
        f"  linear fit per iteration: {fixed:.2f} s (confusion matrices of {N_ANNOTATORS_AT_SCALE:,} annotators) +"
        f" {slope * 1000:.0f} ns per answer; largest deviation {off:.3f} of the last value ({verdict(off <= 0.15)})"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        run_one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["--scale"]:
        run_at_scale(sys.argv[2], sys.argv[3])
    else:
        warnings.simplefilter("ignore")
        for part in sys.argv[1:] or ["speed", "others", "scale"]:
            {"speed": speed, "others": others, "scale": scale}[part]()


if __name__ == "__main__":
    main()
