"""Section 3, signal and noise: whether triplets of labels are true, and what wrong ones cost."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy.spatial.distance import cdist

from sfumato.planning.informativeness.embedding import recovery
from sfumato.planning.informativeness.gnmds import Gnmds
from sfumato.planning.informativeness.label_types import SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.planning.informativeness.triplets import ChannelCapacity, NoiseModel, TrueTriplets
from sfumato.reporting.charts import Field, curve
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun, Scale

SIZE = (20, 8, 5)
"""Points, classes and dimensions of the worlds whose triplets are flipped."""
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
N_WORLDS = {Scale.SMALL: 5, Scale.CPU: 20, Scale.FULL: 50}
FALSE_SIZES = ((90, 10), (90, 30), (30, 30))
FALSE_DIMENSIONS = (5, 25, 125)
MODELS: dict[str, NoiseModel] = {"(1 - ε) T, as published": TrueTriplets(), "channel capacity": ChannelCapacity()}
MEASURED = "measured"


def signal_and_noise(rerun: Rerun) -> Part:
    """The noise model, and the triplets that are false without any noise."""
    wrong = false_triplets(rerun.scale.of(N_WORLDS))
    rho = flipped(rerun.scale.of(N_WORLDS))
    off = {
        name: np.array([np.mean(rho[name, rate]) - np.mean(rho[MEASURED, rate]) for rate in RATES]) for name in MODELS
    }
    published, capacity = off
    findings: list[Finding | Statement] = [
        Finding(f"{name}, d = {d}", "false triplets", None, Estimate(100 * share), places=1)
        for (name, d), share in wrong.items()
    ]
    class_anchored = [share for (name, _), share in wrong.items() if name.startswith("class")]
    findings += [
        Statement(
            "Triplets of noise-free soft labels",
            "a point with more of a class is nearer to its centroid",
            holds=max(class_anchored) == 0,
            ours=f"false in {min(class_anchored):.0%} to {max(class_anchored):.0%} of the triplets about a class, in "
            "none about a point",
            how="labels are normalized by point: one far from everything has more of its class than a nearer one "
            "between two",
        ),
        *(
            Finding(name, f"ρ at ε = {rate}", None, _mean(rho[name, rate]), places=2)
            for name in (MEASURED, *MODELS)
            for rate in RATES
        ),
        Statement(
            "Bits that are flipped",
            "with a flip rate ε, labels are worth (1 - ε) T constraints",
            holds=bool(np.abs(off[published]).max() < 0.1),
            ours=f"at ε = 0.5 that is ρ = {np.mean(rho[published, 0.5]):.2f}; measured, "
            f"{np.mean(rho[MEASURED, 0.5]):+.2f}",
            how=f"1 - H₂(ε), the capacity of such a channel, is off by {np.abs(off[capacity]).mean():.2f} on average, "
            f"1 - ε by {np.abs(off[published]).mean():.2f}",
        ),
    ]
    n, k, d = SIZE
    about = (
        f"Flips: all triplets of soft labels of {n} points, {k} classes, {d} dimensions, each turned round with "
        f"probability ε, embedded by GNMDS; next to it, the share of them that a model says is left, all true. "
        f"{rerun.scale.of(N_WORLDS)} worlds. False triplets: worlds of "
        f"{', '.join(f'{a} x {b}' for a, b in FALSE_SIZES)} points and classes. The paper has no figure for either."
    )
    rows = [(rate, name, *_band(rho[name, rate])) for name in (MEASURED, *MODELS) for rate in RATES]
    chart = curve(
        "section-3-noise",
        title="Half the answers wrong is no answer at all",
        caption="What is recovered when each triplet is wrong with probability ε, and what two models say is left of "
        "it. Bands: 95% over worlds.",
        data=dict(zip(("rate", "model", "rho", "low", "high"), zip(*rows, strict=True), strict=True)),
        x=Field("rate", "probability that a triplet is wrong (ε)", ".1f"),
        y=Field("rho", "rank correlation with the truth (ρ)", ".2f"),
        low="low",
        high="high",
        series="model",
    )
    return Part(
        "Section 3, noise", "Signal-to-noise ratio: do the claims survive?", tuple(findings), about, charts=(chart,)
    )


def false_triplets(n_worlds: int) -> dict[tuple[str, int], float]:
    """The share of false triplets in soft labels without noise: those about a class, and those about a point."""
    found: dict[tuple[str, int], float] = {}
    for d in FALSE_DIMENSIONS:
        wrong: dict[str, list[float]] = {}
        for n, k in FALSE_SIZES:
            for number in range(n_worlds):
                world = LatentWorld.sample(n, k, d, rng=np.random.default_rng([n, k, d, number]))
                triplets = SoftLabelType().judge(world).triplets()
                is_wrong = wrong_of(world, triplets)
                is_class = triplets[:, 0] >= n
                wrong.setdefault("class-anchored", []).append(float(is_wrong[is_class].mean()))
                wrong.setdefault("point-anchored", []).append(float(is_wrong[~is_class].mean()))
        found |= {(name, d): float(np.mean(shares)) for name, shares in wrong.items()}
    return dict(sorted(found.items()))


def wrong_of(world: LatentWorld, triplets: Int[np.ndarray, "triplets 3"]) -> np.ndarray:
    """Which of the triplets "anchor, near, far" are false in a world."""
    distances = cdist(world.objects, world.objects)
    anchor, near, far = triplets.T
    return np.asarray(distances[anchor, near] > distances[anchor, far])


def flipped(n_worlds: int) -> dict[tuple[str, float], list[float]]:
    """What is recovered with every rate of wrong answers, and with what each model leaves of right ones."""
    n, k, d = SIZE
    rho: dict[tuple[str, float], list[float]] = {}
    for number in range(n_worlds):
        world = LatentWorld.sample(n, k, d, rng=np.random.default_rng([*SIZE, number]))
        triplets, true = SoftLabelType().judge(world).triplets(), world.cosines()
        for rate in RATES:
            rng = np.random.default_rng([number, round(100 * rate)])
            turned = np.where(rng.random((len(triplets), 1)) < rate, triplets[:, [0, 2, 1]], triplets)
            given = {MEASURED: turned}
            for name, model in MODELS.items():
                kept = round(model.kept(rate) * len(triplets))
                given[name] = triplets[rng.permutation(len(triplets))[:kept]]
            for name, some in given.items():
                found = _recovered(some, n + k, d, true) if len(some) else 0.0
                rho.setdefault((name, rate), []).append(found)
    return rho


def _recovered(triplets: Int[np.ndarray, "triplets 3"], n_objects: int, d: int, true: np.ndarray) -> float:
    orders = RankedLists.of_triplets(triplets, n_objects)
    gram = Gnmds(d).embed(orders, rng=np.random.default_rng(0)).gram()
    return recovery(found=gram, true=true)


def _mean(values: list[float]) -> Estimate:
    mean, low, high = _band(values)
    return Estimate(mean, low, high, f"95% over {len(values)} worlds")


def _band(values: list[float]) -> tuple[float, float, float]:
    from sfumato.evaluation.paired_tests import t_interval

    found = t_interval(np.array(values), 0.95)
    return float(np.mean(values)), found.low, found.high
