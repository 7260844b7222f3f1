"""What labels of each kind recover in simulated worlds of one size or of many: Spearman's rho of recovered with true
similarities, per world, by GNMDS and by spectral unfolding. Results are cached by their settings."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sfumato.jobs import n_cores, run_jobs
from sfumato.planning.informativeness.embedding import (
    Embedder,
    Gnmds,
    SpectralUnfolding,
    centered_ranks,
    correlation,
    effective_dimensionality,
)
from sfumato.planning.informativeness.label_types import LabelType, SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld, check_world
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import above_0, at_least, bad_setting, not_negative

GNMDS, SPECTRAL, AUTO = "gnmds", "spectral", "auto"
EMBEDDERS = (AUTO, GNMDS, SPECTRAL)
"""How positions are recovered; `auto` is the better of the other two for each kind, on average over the worlds."""
METHODS = {
    GNMDS: "GNMDS in as many dimensions as the world has, from the spectral unfolding, at most 100 iterations",
    SPECTRAL: "spectral unfolding",
    AUTO: "the better of GNMDS (at most 100 iterations, from the spectral unfolding) and spectral unfolding, per kind",
}
WORLD, NOISE, START = range(3)
"""The random streams of a world: the truth, the noise, initial values."""
CACHE_VERSION = 1
"""To be increased when the same settings give other numbers."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SimulatedKind:
    """Labels of a kind by people who perceive distances with `noise`, each judged `times` times on average."""

    kind: LabelType
    noise: float = 0.0
    times: float = 1.0

    def __post_init__(self) -> None:
        not_negative("noise", self.noise)
        above_0("times", self.times)


@dataclass(frozen=True)
class WorldSize:
    """`n` points of `k` classes in worlds of these numbers of dimensions, which take turns."""

    n: int
    k: int
    dimensions: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.dimensions:
            raise bad_setting("dimensions", "()", "one number or more")
        if self.n < 3:
            raise BadSetting(
                f"{self.n} item{'s' * (self.n != 1)}",
                "three items or more: with fewer there are no similarities to compare",
                "label more items",
            )
        for d in self.dimensions:
            check_world(self.n, self.k, d)


@dataclass(frozen=True)
class RecoveryGrid:
    """Worlds of some sizes, labeled by every kind; kinds are compared in the same worlds.

    The random draws of a world follow from `seed`, its size and its number, regardless of the rest.
    """

    sizes: tuple[WorldSize, ...]
    kinds: tuple[SimulatedKind, ...]
    n_worlds: int
    embedder: str = AUTO
    seed: int = 0
    with_dimensionality: bool = False
    """Whether to compute the effective dimensionality of soft labels, which takes longer."""

    def __post_init__(self) -> None:
        if self.embedder not in EMBEDDERS:
            raise unknown("embedder", self.embedder, list(EMBEDDERS))
        if not self.kinds or not self.sizes:
            raise bad_setting("kinds or sizes", "()", "one or more")
        at_least("n_worlds", self.n_worlds, 1)
        at_least("seed", self.seed, 0)
        for size in self.sizes:
            for each in self.kinds:
                # Raises now, not after a minute, if such labels are impossible.
                each.kind.n_triplets(size.n, size.k)

    def run(
        self, *, workers: int = 0, cache: bool = True, progress: Progress | None = None
    ) -> tuple[KindRecovery, ...]:
        """What is recovered, one table per size; the numbers do not depend on the number of workers (0: one per core).

        `progress` is called with the number of worlds done, and of all.
        """
        kept = self._kept_at() if cache else None
        if kept is not None and (found := _read(kept, len(self.sizes))) is not None:
            return found
        jobs = [(i, number) for i in range(len(self.sizes)) for number in range(self.n_worlds)]
        seconds = sum(self.n_worlds * self.seconds_per_world(size) for size in self.sizes)
        n_workers = min(workers or n_cores(), 1 if seconds < ALONE else len(jobs))
        results = list(run_jobs(self.world, jobs, workers=n_workers, on_progress=progress))
        found = tuple(
            KindRecovery(np.array([each.d for each in of_size]), np.stack([each.rho for each in of_size]),
                np.array([each.needed for each in of_size]), self.embedder)
            for i in range(len(self.sizes))
            for of_size in [[each for (size, _), each in zip(jobs, results, strict=True) if size == i]]
        )  # fmt: skip
        if kept is not None:
            _write(kept, found)
        return found

    def seconds_per_world(self, size: WorldSize) -> float:
        """The estimated CPU time per world, from its size alone, so that it is the same on every machine."""
        n, k, d = size.n, size.k, float(np.mean(size.dimensions))
        pairs = [max(each.kind.judgments(n, k), n * k) for each in self.kinds]
        embedding = 1.0 if self.embedder != SPECTRAL else 0.2
        each_pair = 1e-6 * (0.5 + 0.025 * d + 0.002 * (n + k))
        people = 1e-7 * n * k * sum(each.times for each in self.kinds if each.noise)
        return embedding * each_pair * sum(pairs) + people + 4e-7 * len(self.kinds) * (n + k) ** 2

    def world(self, job: tuple[int, int]) -> WorldRecovery:
        """What every kind recovers in one world, by every embedder."""
        place, number = job
        size = self.sizes[place]
        d = size.dimensions[number % len(size.dimensions)]

        def stream(which: int) -> np.random.Generator:
            return np.random.default_rng(
                np.random.SeedSequence(self.seed, spawn_key=(size.n, size.k, d, number, which))
            )

        world = LatentWorld.sample(size.n, size.k, d, rng=stream(WORLD))
        cosines = world.cosines()
        n = size.n
        true, true_points = centered_ranks(cosines), centered_ranks(cosines[:n, :n])
        dimensions = min(d, n + size.k - 1)
        methods: dict[str, Embedder] = {GNMDS: Gnmds(dimensions), SPECTRAL: SpectralUnfolding()}
        used = [methods[name] for name in ((GNMDS, SPECTRAL) if self.embedder == AUTO else (self.embedder,))]
        rho = np.zeros((len(used), len(self.kinds), 2))
        for j, each in enumerate(self.kinds):
            orders = each.kind.judge(world, noise=each.noise, times=each.times, rng=stream(NOISE))
            for i, embedder in enumerate(used):
                found = embedder.embed(orders, rng=stream(START)).gram()
                of_points = correlation(centered_ranks(found[:n, :n]), true_points)
                has_classes = len(found) > n
                rho[i, j] = correlation(centered_ranks(found), true) if has_classes else of_points, of_points
        soft = [j for j, each in enumerate(self.kinds) if isinstance(each.kind, SoftLabelType)]
        needed = -1
        if self.with_dimensionality and soft and n + size.k <= MOST_MEASURED:
            needed = effective_dimensionality(world, float(rho[:, soft[0], 0].max()))
        return WorldRecovery(d, rho, needed)

    def _kept_at(self) -> Path:
        import sfumato

        digest = hashlib.sha256(f"{CACHE_VERSION} {sfumato.__version__} {self!r}".encode()).hexdigest()
        return cache_folder() / f"{digest[:24]}.npz"


MOST_MEASURED = 200
"""The effective dimensionality is computed up to this many items and classes."""
ALONE = 6.0
"""Work of fewer CPU seconds is done in this process: others would take a second or two to start."""


@dataclass(frozen=True, eq=False)
class WorldRecovery:
    """`rho` of each kind in a world of `d` dimensions, over items and classes and over items only; and the effective
    dimensionality of its soft labels, -1 if not computed."""

    d: int
    rho: Float[np.ndarray, "embedders kinds 2"]
    needed: int


@dataclass(frozen=True, eq=False)
class KindRecovery:
    """What kinds recover in worlds of one size. `every` has all embedders, in the order of their names; kinds without
    classes (similarities, triplets) have the same number twice."""

    dimensions: Int[np.ndarray, "worlds"]
    every: Float[np.ndarray, "worlds embedders kinds 2"]
    needed: Int[np.ndarray, "worlds"]
    embedder: str

    def __post_init__(self) -> None:
        freeze(self, "dimensions", "every", "needed")

    @property
    def names(self) -> tuple[str, ...]:
        return (GNMDS, SPECTRAL) if self.embedder == AUTO else (self.embedder,)

    def best(self, *, items_only: bool) -> Int[np.ndarray, "kinds"]:
        """The number of the embedder that recovers most of each kind, on average over the worlds."""
        return np.asarray(self.every[..., int(items_only)].mean(axis=0).argmax(axis=0))

    def rho(self, *, items_only: bool) -> Float[np.ndarray, "worlds kinds"]:
        """By the embedder that recovers most of each kind; over items and classes, or over items only."""
        best = self.best(items_only=items_only)
        every = self.every[..., int(items_only)]
        return np.asarray(np.take_along_axis(every, best[None, None, :], axis=1)[:, 0])

    def used(self, *, items_only: bool) -> tuple[str, ...]:
        """The name of the embedder of each kind."""
        return tuple(self.names[i] for i in self.best(items_only=items_only))


def cache_folder() -> Path:
    """Where simulations are cached: `sfumato/plan` in the user's cache (XDG Base Directory Specification)."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    caches = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return caches / "sfumato" / "plan"


def _read(path: Path, n_sizes: int) -> tuple[KindRecovery, ...] | None:
    """The cached tables; None if there are none, or the file is damaged."""
    try:
        with np.load(path) as kept:
            arrays: dict[str, Any] = {name: kept[name] for name in kept.files}
        embedder = str(arrays["embedder"])
        return tuple(
            KindRecovery(arrays[f"d{i}"], arrays[f"rho{i}"], arrays[f"needed{i}"], embedder) for i in range(n_sizes)
        )
    except (OSError, ValueError, KeyError, EOFError):
        return None


def _write(path: Path, tables: Sequence[KindRecovery]) -> None:
    """Keep the tables; without a message if the cache cannot be written, because nothing depends on it."""
    arrays: dict[str, Any] = {"embedder": np.array(tables[0].embedder)}
    for i, each in enumerate(tables):
        arrays |= {f"d{i}": each.dimensions, f"rho{i}": each.every, f"needed{i}": each.needed}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part, part.open("wb") as file:
            np.savez(file, **arrays)
    except OSError:
        return
