"""The geometry of labels: speed, and agreement with the published simulations. Called by `bench/plan.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from plan_figures import Figure
from sfumato.planning.informativeness.answered_triplets import RankedLists
from sfumato.planning.informativeness.embedding import Embedder, Gnmds, SpectralUnfolding, loss_and_gradient, recovery
from sfumato.planning.informativeness.label_types import SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.simulation import Cells, SimulationGrid

GOAL = {30: 80, 90: 100, 180: 500}
DIMENSIONS = (5, 25)
N_WORLDS = {30: 9, 90: 5, 180: 3}
FRESH = 1
"""Part of the seed of every world here, because the default tolerance of `Gnmds` was chosen on worlds without it."""
REPETITIONS = {30: 5, 90: 5, 180: 3}
"""Repetitions per method; the fastest counts."""
EARLIER = {5: (0.85, 0.13), 25: (0.79, 0.14), 125: (0.70, 0.15)}
"""Mean rho of soft and of hard labels in an earlier simulation of the same grid, by number of dimensions."""
FULL = SimulationGrid(n=tuple(range(3, 91)), k=tuple(range(3, 91)))
CORES = 2
SAMPLE = 60

PEER = """
import json, sys, time
import numpy as np
from cblearn.embedding import GNMDS

given = np.load(sys.argv[1])
GNMDS(n_components=2, max_iter=2, random_state=0).fit(given["triplets"][:50])
seconds = []
for _ in range(int(given["times"])):
    begun = time.process_time()
    model = GNMDS(n_components=int(given["d"]), max_iter=100, random_state=int(given["seed"]))
    model.fit(given["triplets"], n_objects=int(given["n_objects"]))
    seconds.append(time.process_time() - begun)
np.save(sys.argv[2], model.embedding_)
print(json.dumps({"seconds": min(seconds), "loss": float(model.stress_), "iterations": int(model.n_iter_)}))
"""


def peer_python() -> Path:
    """The interpreter of an environment with cblearn; creates the environment if needed."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sfumato-bench" / "cblearn"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    if subprocess.run([python, "-c", "import cblearn"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "cblearn"], check=True)
    return python


def peer_run(python: Path, orders: RankedLists, d: int, seed: int, true: np.ndarray) -> dict[str, float]:
    """CPU seconds, loss, iterations and rho of cblearn; creating the triplets is not timed."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npy"
        n_objects = orders.n_objects
        np.savez(given, triplets=orders.triplets(), d=d, seed=seed, n_objects=n_objects, times=REPETITIONS[n_objects])
        done = subprocess.run([python, "-c", PEER, given, found], capture_output=True, text=True, check=True)
        places = np.load(found)
    return {**json.loads(done.stdout.splitlines()[-1]), "rho": recovery(found=places @ places.T, true=true)}


def our_run(embedder: Embedder, orders: RankedLists, true: np.ndarray) -> dict[str, float]:
    """The same for sfumato; compilation is not timed."""
    found = embedder.embed(orders, rng=np.random.default_rng(1))
    seconds = best_of(REPETITIONS[orders.n_objects], lambda: embedder.embed(orders, rng=np.random.default_rng(1)))
    rho = recovery(found=found.gram(), true=true)
    return {"seconds": seconds, "loss": found.loss, "iterations": found.n_iterations, "rho": rho}


def best_of(times: int, what: Callable[[], object]) -> float:
    """The CPU seconds of the fastest of several runs of `what`."""
    took = []
    for _ in range(times):
        begun = time.process_time()
        what()
        took.append(time.process_time() - begun)
    return min(took)


def gnmds() -> Iterator[Figure]:
    python = peer_python()
    print("soft labels; x: CPU seconds of cblearn / ours, median over worlds")
    for (n_objects, goal), d in product(GOAL.items(), DIMENSIONS):
        n = 2 * n_objects // 3
        runs: dict[str, list[dict[str, float]]] = {}
        for seed in range(N_WORLDS[n_objects]):
            world = LatentWorld.sample(n, n_objects - n, d, rng=np.random.default_rng([n_objects, d, seed, FRESH]))
            orders, true = SoftLabelType().judge(world), world.cosines()
            runs.setdefault("cblearn", []).append(peer_run(python, orders, d, seed, true))
            for name, embedder in (
                ("ours", Gnmds(d)),
                ("ours, until 100", Gnmds(d, tolerance=0.0)),
                ("ours, random start, until 100", Gnmds(d, tolerance=0.0, random_start=True)),
                ("spectral unfolding", SpectralUnfolding()),
            ):
                runs.setdefault(name, []).append(our_run(embedder, orders, true))
        print(f"  N = {n_objects}, d = {d}, {orders.n_triplets:,} triplets, {N_WORLDS[n_objects]} worlds")
        theirs = [run["seconds"] for run in runs["cblearn"]]
        for name, each in runs.items():
            ratio = np.median([a / run["seconds"] for a, run in zip(theirs, each, strict=True)])
            mean = {key: np.mean([run[key] for run in each]) for key in each[0]}
            print(
                f"    {name:30} x{ratio:<7.1f} {1e3 * mean['seconds']:9.2f} ms  {mean['iterations']:5.0f} iterations  "
                f"rho {mean['rho']:.3f}  loss {mean['loss']:,.0f}",
                flush=True,
            )
        for name, how in (("ours", "stops early"), ("ours, until 100", "100 iterations")):
            ours = np.median([a / run["seconds"] for a, run in zip(theirs, runs[name], strict=True)])
            yield Figure(f"GNMDS, N = {n_objects}, d = {d}, {how}: x cblearn", goal, float(ours), unit="x")
        rho = [float(np.mean([run["rho"] for run in runs[name]])) for name in ("cblearn", "ours")]
        yield Figure(f"GNMDS, N = {n_objects}, d = {d}: rho, at least cblearn's", round(rho[0], 4), rho[1])


def gradient() -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    world = LatentWorld.sample(10_000, 10, 10, rng=rng)
    orders, places = SoftLabelType().judge(world), np.random.default_rng(1).standard_normal((10_010, 10))
    loss_and_gradient(orders, places)
    seconds = best_of(5, lambda: loss_and_gradient(orders, places))
    what = f"loss and gradient, n = 10,000, k = 10, {orders.n_triplets:,} triplets"
    yield Figure(what, 0.2, seconds, at_most=True, unit=" s")


@cache
def uniform_grid() -> tuple[Cells, float]:
    """The cells of the uniform grid, and the CPU seconds to compute them."""
    begun = time.process_time()
    cells = SimulationGrid().run()
    return cells, time.process_time() - begun


def grid() -> Iterator[Figure]:
    cells, seconds = uniform_grid()
    yield Figure(f"uniform grid, {len(cells)} cells, CPU seconds", 60, seconds, at_most=True, unit=" s")
    for d, earlier in EARLIER.items():
        soft, hard = _by_kind(cells, d)
        rho = [np.array([cell.rho for cell in each]) for each in (soft, hard)]
        share = float((rho[0] >= rho[1]).mean())
        print(
            f"d = {d:3}  mean rho: soft {rho[0].mean():.3f} (earlier {earlier[0]:.2f}), "
            f"hard {rho[1].mean():.3f} (earlier {earlier[1]:.2f})"
        )
        yield Figure(f"d = {d}: share of worlds where soft >= hard", 0.98, share)


def correlation() -> Iterator[Figure]:
    yield from _correlations(uniform_grid()[0])


def _correlations(cells: Cells) -> Iterator[Figure]:
    for d in EARLIER:
        soft, _ = _by_kind(cells, d)
        ratio, needed = np.array([(cell.information_ratio, cell.effective_dimensionality) for cell in soft]).T
        what = f"d = {d}: r(information ratio, effective dimensionality)"
        yield Figure(what, 0.70, float(np.corrcoef(ratio, needed)[0, 1]), up_to=0.82)


def _by_kind(cells: Cells, d: int) -> tuple[list, list]:  # type: ignore[type-arg]
    soft, hard = ([cell for cell in cells.cells if (cell.d, cell.kind) == (d, kind)] for kind in ("soft", "hard"))
    return soft, hard


def grid_full(*, sample_only: bool, output: Path | None) -> Iterator[Figure]:
    worlds = FULL.worlds()
    some = np.random.default_rng(0).choice(len(worlds), SAMPLE, replace=False)
    begun = time.perf_counter()
    for i in some:
        n, k, d, _ = worlds[i]
        SimulationGrid(n=(n,), k=(k,), d=(d,)).run()
    minutes = (time.perf_counter() - begun) / SAMPLE * len(worlds) / CORES / 60
    print(f"{len(worlds):,} worlds; about {minutes:.1f} min on {CORES} cores, from {SAMPLE} of them", flush=True)
    if sample_only:
        yield Figure("grid of all n, k = 3 to 90, estimated minutes", 45, minutes, at_most=True)
        return
    begun = printed_at = time.perf_counter()

    def print_progress(done: int, of: int) -> None:
        nonlocal printed_at
        now = time.perf_counter()
        if now - printed_at > 20 or done == of:
            printed_at, left = now, (now - begun) / done * (of - done)
            print(f"  {done:,} of {of:,} worlds, {now - begun:.0f} s, about {left:.0f} s to go", flush=True)

    cells = FULL.run(n_processes=CORES, progress=print_progress)
    if output:
        cells.write(output)
    yield Figure(
        f"grid of all n, k = 3 to 90, {len(cells):,} cells, minutes",
        45,
        (time.perf_counter() - begun) / 60,
        at_most=True,
    )
    yield from _correlations(cells)
