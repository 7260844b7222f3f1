"""Which kind of label: agreement with cblearn's GNMDS, the regularities of the paper, and the time of one question.
Called by `bench/plan.py`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plan_figures import Figure
from plan_geometry import peer_python
from sfumato.planning.costs import CostModel
from sfumato.planning.informativeness.embedding import recovery
from sfumato.planning.informativeness.kind_recovery import NOISE, WORLD, RecoveryGrid, SimulatedKind, WorldSize
from sfumato.planning.informativeness.label_types import (
    HardLabels,
    LabelType,
    SoftLabelType,
    SparseLabels,
    TopClassLabels,
    label_kinds_named,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.label_choice import LabelQuestion
from sfumato.planning.label_map import label_map
from sfumato.planning.label_prices import prices_of, tradeoff_of

SIZES = (
    (20, 5, 5), (30, 10, 5), (60, 20, 5), (60, 10, 25), (40, 20, 25), (50, 8, 125), (10, 30, 5), (20, 60, 5),
    (12, 40, 25), (30, 40, 125),
)  # fmt: skip
"""Items, classes and dimensions; the last four with more classes than items."""
WORLDS_EACH = 4
KINDS: tuple[LabelType, ...] = (SoftLabelType(), HardLabels(), SparseLabels(2), TopClassLabels(4))
SEED = 5
"""Not the seed of any world on which a setting was chosen."""
GRID = (3, 8, 13, 22, 32, 42, 51, 61, 71, 80, 90)
FEW = 22
ROUGHLY = 0.05
"""A loss that is higher by at most this counts as about equal."""
EXAMPLE = ("--items", "80", "--classes", "20", "--utility", "logit", "--beta", "10")
EVERY_KIND = "hard,soft,sparse:2..10,top:2..10,similarity,triplet"
ALLOWED_SECONDS = 60
MUCH_BETTER = 0.01

PEER = """
import sys
import numpy as np
from cblearn.embedding import GNMDS

with np.load(sys.argv[1]) as given:
    found = {}
    for name in given.files:
        d, n_objects, seed = map(int, name.split("_")[1:])
        model = GNMDS(n_components=d, max_iter=100, random_state=seed)
        model.fit(given[name], n_objects=n_objects)
        found[name] = model.embedding_
np.savez(sys.argv[2], **found)
"""


def peer() -> Iterator[Figure]:
    """rho of every kind in 40 worlds, by cblearn from a random start and by `sfumato plan labels`, 100 iterations."""
    python = peer_python()
    triplets: dict[str, np.ndarray] = {}
    truths: dict[str, np.ndarray] = {}
    ours: dict[str, float] = {}
    for n, k, d in SIZES:
        kinds = tuple(SimulatedKind(kind) for kind in KINDS)
        grid = RecoveryGrid((WorldSize(n, k, (d,)),), kinds, WORLDS_EACH, seed=SEED)
        found = grid.run(workers=1, cache=False)[0].rho(items_only=False)
        for number in range(WORLDS_EACH):
            key = (n, k, d, number)
            streams = [np.random.SeedSequence(SEED, spawn_key=(*key, which)) for which in (WORLD, NOISE)]
            world = LatentWorld.sample(n, k, d, rng=np.random.default_rng(streams[0]))
            for i, kind in enumerate(KINDS):
                orders = kind.judge(world, rng=np.random.default_rng(streams[1]))
                name = f"{kind.title}-{n}-{k}-{number}_{d}_{n + k}_{number}"
                triplets[name], truths[name], ours[name] = orders.triplets(), world.cosines(), found[number, i]
    with tempfile.TemporaryDirectory() as folder:
        given, places = Path(folder) / "given.npz", Path(folder) / "places.npz"
        np.savez(given, **triplets)
        subprocess.run([python, "-c", PEER, given, places], check=True)
        with np.load(places) as kept:
            theirs = {name: recovery(found=kept[name] @ kept[name].T, true=truths[name]) for name in kept.files}
    for kind in KINDS:
        names = [name for name in ours if name.startswith(f"{kind.title}-")]
        means = [float(np.mean([each[name] for name in names])) for each in (theirs, ours)]
        ahead = float(np.mean([ours[name] >= theirs[name] - MUCH_BETTER for name in names]))
        worst = min(ours[name] - theirs[name] for name in names)
        print(
            f"{kind.title:9} cblearn {means[0]:.3f}, ours {means[1]:.3f}; at least cblearn's less 0.01 in {ahead:.0%} "
            f"of {len(names)} worlds, smallest difference {worst:+.3f}",
            flush=True,
        )
        what = f"mean rho of {kind.title} labels, {len(names)} worlds: at least cblearn's less 0.01"
        yield Figure(what, means[0] - MUCH_BETTER, means[1])


def regularities() -> Iterator[Figure]:
    """Where items or classes are few, soft labels are about as good; with a high beta hard ones win as both grow."""
    question = LabelQuestion(90, 90, label_kinds_named(["hard", "soft"], 90, 90))
    prices = prices_of(90, costs=CostModel())
    for utility, betas in (("logit", (0.01, 1.0, 10.0)), ("linear", (0.01, 1.0))):
        for beta in betas:
            tradeoff = tradeoff_of(90 * 90, utility=utility, beta=beta)
            drawn = label_map(question, prices, tradeoff, n=GRID, k=GRID)
            gains = {size: drawn.advantage(*size) for size in drawn.sizes}
            few = float(np.mean([gain > -ROUGHLY for (n, k), gain in gains.items() if min(n, k) <= FEW]))
            yield Figure(f"{utility}, beta {beta:g}: few items or classes, share soft at least about equal", 0.95, few)
            largest = gains[90, 90]
            if beta == max(betas) and utility == "logit":
                yield Figure(f"{utility}, beta {beta:g}: advantage of hard at 90 items, 90 classes", 1.0, -largest)
            if beta == min(betas):
                share = float(np.mean([gain > 0 for gain in gains.values()]))
                yield Figure(f"{utility}, beta {beta:g}: share of sizes where soft is preferred", 0.95, share)


def question() -> Iterator[Figure]:
    """The time of one question with 22 kinds and a page, without the cache."""
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "plan.html")
        typed = [*EXAMPLE, "--kinds", EVERY_KIND, "--cost", "soft=10", "--no-cache", "--page", page]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sfumato", "plan", "labels", *typed], check=True, capture_output=True)
        wall = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    load = f"a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
    what = f"one question with 22 kinds and its page, seconds at {load}"
    yield Figure(what, ALLOWED_SECONDS, wall, at_most=True, unit=" s")
    yield Figure("the same, CPU seconds / 2 cores", ALLOWED_SECONDS, cpu / 2, at_most=True, unit=" s")


def example() -> str:
    """The answer to the paper's example as printed, without its last part: what would change it."""
    typed = ["--no-cache", "--kinds", "hard,soft,sparse:2..5", *EXAMPLE]
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "plan", "labels", *typed], check=True, capture_output=True, text=True
    )
    return f"```text\n{done.stdout.partition('best number of classes')[0].rstrip()}\n```"
