"""Planning, the geometry of labels: how fast, and how near to the published simulations.

    python bench/plan_geometry.py [peer] [evaluation] [grid]

peer        GNMDS beside that of cblearn on the triplets of soft labels, 100 iterations at most, in processor seconds.
            Ours also after 10 iterations from the unfolding, a budget chosen because rho gains little after it.
            cblearn needs an older numpy, so it has a virtual environment of its own, made in the user's cache.
evaluation  one loss and gradient of half a billion triplets.
grid        the uniform 10 x 10 grid of points and classes in 5, 25 and 125 dimensions, soft and hard labels, one core.

Without a name: all. Run it alone.
"""

# ruff: noqa: E402

from __future__ import annotations

import os

# One core each, the peer's too: what is compared is the work.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sfumato.plan.embedding import Embedder, Embedding, recovery
from sfumato.plan.gnmds import Gnmds, loss_and_gradient
from sfumato.plan.grids import Grid
from sfumato.plan.kinds import Soft
from sfumato.plan.latent import World
from sfumato.plan.orders import Orders
from sfumato.plan.unfolding import SpectralUnfolding

GOAL = {30: 80, 90: 100, 180: 500}
DIMENSIONS = (5, 25)
N_WORLDS = 3
EARLIER = {5: (0.85, 0.13), 25: (0.79, 0.14), 125: (0.70, 0.15)}
"""Mean rho of soft and of hard labels in an earlier simulation of the same grid, by dimensions."""

PEER = """
import json, sys, time
import numpy as np
from cblearn.embedding import GNMDS

given = np.load(sys.argv[1])
GNMDS(n_components=2, max_iter=2, random_state=0).fit(given["triplets"][:50])
begun = time.process_time()
model = GNMDS(n_components=int(given["d"]), max_iter=100, random_state=int(given["seed"]))
model.fit(given["triplets"], n_objects=int(given["n_objects"]))
seconds = time.process_time() - begun
np.save(sys.argv[2], model.embedding_)
print(json.dumps({"seconds": seconds, "loss": float(model.stress_)}))
"""


def peer_python() -> Path:
    """The interpreter of an environment that has cblearn."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sfumato-bench" / "cblearn"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    if subprocess.run([python, "-c", "import cblearn"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "cblearn"], check=True)
    return python


def peer_run(python: Path, orders: Orders, d: int, seed: int, true: np.ndarray) -> dict[str, float]:
    """Seconds, loss and rho of cblearn."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npy"
        np.savez(given, triplets=orders.triplets(), d=d, seed=seed, n_objects=orders.n_objects)
        done = subprocess.run([python, "-c", PEER, given, found], capture_output=True, text=True, check=True)
        places = np.load(found)
    return {**json.loads(done.stdout.splitlines()[-1]), "rho": recovery(found=places @ places.T, true=true)}


def our_run(embedder: Embedder, orders: Orders, true: np.ndarray) -> dict[str, float]:
    """The same of ours; the best of five times, compiled before."""

    def once() -> Embedding:
        return embedder.embed(orders, rng=np.random.default_rng(1))

    found = once()
    return {"seconds": best_of(5, once), "loss": found.loss, "rho": recovery(found=found.gram(), true=true)}


def best_of(times: int, what: Callable[[], object]) -> float:
    """The least processor seconds that `what` took."""
    took = []
    for _ in range(times):
        begun = time.process_time()
        what()
        took.append(time.process_time() - begun)
    return min(took)


def peer() -> None:
    python = peer_python()
    print(f"GNMDS against cblearn, soft labels, {N_WORLDS} worlds each, processor time; ratios are cblearn's over ours")
    for n_objects, goal in GOAL.items():
        for d in DIMENSIONS:
            n = 2 * n_objects // 3
            runs: dict[str, list[dict[str, float]]] = {}
            for seed in range(N_WORLDS):
                world = World.drawn(n, n_objects - n, d, rng=np.random.default_rng([n_objects, d, seed]))
                orders, true = Soft().judge(world), world.cosines()
                runs.setdefault("cblearn, 100", []).append(peer_run(python, orders, d, seed, true))
                for name, embedder in (
                    ("random start, 100", Gnmds(d, random_start=True)),
                    ("unfolded start, 100", Gnmds(d)),
                    ("unfolded start, 10", Gnmds(d, n_iterations=10)),
                    ("spectral unfolding", SpectralUnfolding()),
                ):
                    runs.setdefault(name, []).append(our_run(embedder, orders, true))
            print(f"  N = {n_objects}, d = {d}, {orders.n_triplets:,} triplets (goal: x{goal} at an equal rho)")
            theirs = np.mean([run["seconds"] for run in runs["cblearn, 100"]])
            for name, each in runs.items():
                seconds, loss, rho = (np.mean([run[key] for run in each]) for key in ("seconds", "loss", "rho"))
                print(
                    f"    {name:20} x{theirs / seconds:<6.1f} {1e3 * seconds:9.2f} ms  rho {rho:.3f}  loss {loss:,.0f}"
                )


def evaluation() -> None:
    rng = np.random.default_rng(0)
    world = World.drawn(10_000, 10, 10, rng=rng)
    orders, places = Soft().judge(world), np.random.default_rng(1).standard_normal((10_010, 10))
    loss_and_gradient(orders, places)
    seconds = best_of(5, lambda: loss_and_gradient(orders, places))
    print(f"One loss and gradient, n = 10,000, k = 10, {orders.n_triplets:,} triplets: {seconds:.3f} s (goal: < 0.2)")


def grid() -> None:
    begun = time.process_time()
    cells = Grid().run().cells
    print(f"The grid, {len(cells)} cells: {time.process_time() - begun:.1f} s on one core (goal: < 60)")
    for d, (soft_earlier, hard_earlier) in EARLIER.items():
        soft, hard = ([cell for cell in cells if cell.d == d and cell.kind == kind] for kind in ("soft", "hard"))
        rho = [np.array([cell.rho for cell in each]) for each in (soft, hard)]
        ratio, needed = np.array([(cell.information_ratio, cell.effective_dimensionality) for cell in soft]).T
        print(
            f"  d = {d:3}  rho soft {rho[0].mean():.2f} (earlier {soft_earlier:.2f})  hard {rho[1].mean():.2f} "
            f"(earlier {hard_earlier:.2f})  soft >= hard in {100 * (rho[0] >= rho[1]).mean():.1f}%  "
            f"r(information ratio, effective dimensionality) {np.corrcoef(ratio, needed)[0, 1]:.3f} (goal: .70 to .82)"
        )


PARTS = {"peer": peer, "evaluation": evaluation, "grid": grid}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all without a name")
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()
