"""Section 3: how many triplets labels answer, and what noise leaves of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from jaxtyping import Int
from scipy.spatial.distance import cdist

from sfumato.planning.informativeness import answered_triplets
from sfumato.planning.informativeness.answered_triplets import RankedLists, possible_triplets
from sfumato.planning.informativeness.embedding import Gnmds, recovery
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.reporting.charts import Chart, Field, curve, heat_map
from sfumato_papers.finding import Estimate, Finding, Statement, chart_columns, with_intervals
from sfumato_papers.paper import Part, Rerun, Scale

COUNTED = tuple(product((3, 8, 20, 40), (3, 5, 12), (2, 5)))
"""Points, classes and dimensions of the worlds whose triplets are mined."""
DRAWN = (3, 8, 13, 22, 32, 42, 51, 61, 71, 80, 90)
FAR = 1_000
"""How many times as many points as classes, or the other way round, is far into a phase."""
CLASSES = 20


def triplet_constraints(rerun: Rerun) -> Part:  # noqa: ARG001
    soft_off, hard_off, exact_off = [], [], []
    for n, k, d in COUNTED:
        world = LatentWorld.sample(n, k, d, rng=np.random.default_rng([n, k, d]))
        soft = world.soft_labels()
        soft_off.append(
            RankedLists.of_labels(SoftLabelType().labels(soft)).n_triplets - SoftLabelType().n_triplets(n, k)
        )
        hard = HardLabels().labels(soft)
        found = RankedLists.of_labels(hard).n_triplets
        n_each = hard.sum(axis=0)
        hard_off.append(found / HardLabels().n_triplets(n, k) - 1)
        exact_off.append(found - (n * (k - 1) + n**2 - (n_each**2).sum()))
    even = RankedLists.of_labels(np.eye(6)[np.arange(60) % 6]).n_triplets
    findings = (
        Statement(
            "Soft labels",
            "n soft labels give T_S(n, k) = kn(k + n - 2)/2 triplet constraints",
            holds=not np.any(soft_off),
            ours=f"mined: the same in {np.mean(np.array(soft_off) == 0):.0%} of {len(COUNTED)} worlds",
        ),
        Statement(
            "Hard labels, evenly distributed",
            "n hard labels give T_H(n, k) = n(k - 1) + n²(1 - 1/k) constraints",
            holds=even == HardLabels().n_triplets(60, 6),
            ours=f"60 points of 6 classes: mined {even:,}, by formula {HardLabels().n_triplets(60, 6):,.0f}",
        ),
        Statement(
            "Hard labels of the worlds simulated",
            "the same, where hard labels are the nearest centroid",
            holds=not np.any(hard_off),
            ours=f"mined, they are {np.mean(hard_off):+.1%} on average and {min(hard_off):+.1%} at worst",
            how="the nearest centroid makes classes uneven; exactly n(k - 1) + n² - Σ n_c², which is never more: "
            f"that is what is mined in {np.mean(np.array(exact_off) == 0):.0%} of the worlds",
        ),
        Statement(
            "Unique queries",
            "n points and k centroids have 3 C(n + k, 3) queries",
            holds=all(possible_triplets(m) == len(_written_out(m)) for m in (3, 7, 12)),
            ours=f"12 objects: written out {len(_written_out(12)):,}, by formula {possible_triplets(12):,}",
        ),
    )
    about = (
        "Counted, not trained: every comparison of two entries in a row or a column of simulated labels is a triplet, "
        "ties are none."
    )
    return Part("Section 3", "Triplet constraints in hard and soft labels", findings, about=about)


def information_ratios(rerun: Rerun) -> Part:  # noqa: ARG001
    many = CLASSES * FAR
    limits = {
        "soft, many-shot": (_ratio("soft", many, CLASSES) / (CLASSES / many), "k/n"),
        "soft, one-shot": (_ratio("soft", many, many) / 0.25, "1/4"),
        "soft, less-than-one-shot": (_ratio("soft", CLASSES, many) / (CLASSES / many), "n/k"),
        "hard, many-shot": (_ratio("hard", many, CLASSES) / (2 * (1 - 1 / CLASSES) / many), "1/n"),
        "hard, one-shot": (_ratio("hard", many, many) / (1 / (2 * many)), "1/n"),
        "hard, less-than-one-shot": (_ratio("hard", CLASSES, many) / (2 * CLASSES / many**2), "n/k²"),
    }
    phases = [
        Statement(
            name,
            f"the information ratio goes as {as_what}",
            holds=abs(share - 1) < 0.01,
            ours=f"{share:.3f} of that, constants apart, {FAR:,} times as many of one as of the other"
            if "one-shot" not in name or "less" in name
            else f"{share:.3f} of that, constants apart, at n = k = {many:,}",
        )
        for name, (share, as_what) in limits.items()
    ]
    slopes = {n: _ratio("soft", n, n) for n in (3, 10, 30, 90)}
    fold = [_ratio("soft", k * FAR, k) / _ratio("hard", k * FAR, k) for k in (5, 20, 80)]
    findings: tuple[Finding | Statement, ...] = (
        *phases,
        Statement(
            "One-shot, soft",
            "representations should not degrade as points and classes increase together",
            holds=slopes[90] / slopes[30] > 0.98,
            ours=", ".join(f"{ratio:.3f} at n = k = {n}" for n, ratio in slopes.items()),
        ),
        Statement(
            "Many-shot, hard next to soft",
            "hard and soft labels have similar asymptotic behavior with many points",
            holds=abs(_ratio("soft", 2 * many, CLASSES) / _ratio("soft", many, CLASSES) - 0.5) < 0.01
            and abs(_ratio("hard", 2 * many, CLASSES) / _ratio("hard", many, CLASSES) - 0.5) < 0.01,
            ours=f"twice the points halve both; soft labels answer {fold[0]:.1f}, {fold[1]:.1f} and {fold[2]:.1f} "
            "times as many at k = 5, 20 and 80",
            how="alike in how they fall with n alone: soft over hard tends to k²/(2(k - 1)), so classes still tell",
        ),
    )
    findings += tuple(
        Finding(f"n = {n}, k = {k}", kind, None, Estimate(_ratio(kind, n, k)), places=4)
        for n, k in ((80, 20), (90, 3), (90, 90), (3, 90))
        for kind in ("soft", "hard")
    )
    about = "By the formulas above, over n and k from 3 to 90; n = 80, k = 20 is the data set of the paper's example."
    return Part("Figure 1, analysis", "Information ratios in three regimes", findings, about=about, charts=(_maps(),))


def _ratio(kind: str, n: int, k: int) -> float:
    labels = SoftLabelType() if kind == "soft" else HardLabels()
    return answered_triplets.information_ratio(labels.n_triplets(n, k), n + k)


def _written_out(n_objects: int) -> set[tuple[int, int, int]]:
    """Every query: an anchor, and two others of which one may be nearer."""
    return {(a, b, c) for a in range(n_objects) for b in range(n_objects) for c in range(b) if len({a, b, c}) == 3}


def _maps() -> Chart:
    rows = [
        (f"{kind} labels", n, k, _ratio(kind, n, k), np.log10(_ratio(kind, n, k)))
        for kind in ("soft", "hard")
        for n in DRAWN
        for k in DRAWN
    ]
    return heat_map(
        "figure-1-analysis",
        title="Soft labels answer most where points and classes are as many; hard labels only where both are few",
        caption="Share of all triplet queries that n labels of k classes answer, on a logarithmic scale: on the "
        "diagonal soft labels stay near 1/4, hard labels fall everywhere.",
        data=chart_columns(("labels", "n", "k", "ratio", "exponent"), rows),
        x=Field("n", "points (n)", ",d"),
        y=Field("k", "classes (k)", ",d"),
        value=Field("exponent", "information ratio, power of ten", ".1f"),
        tooltip=(Field("ratio", "information ratio", ".4f"),),
        panel="labels",
    )


SIZE = (20, 8, 5)
"""Points, classes and dimensions of the worlds whose triplets are flipped."""
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
N_WORLDS = {Scale.SMALL: 5, Scale.CPU: 20, Scale.FULL: 50}
FALSE_SIZES = ((90, 10), (90, 30), (30, 30))
FALSE_DIMENSIONS = (5, 25, 125)
MODELS: dict[str, answered_triplets.NoiseModel] = {
    "(1 - ε) T, as published": answered_triplets.true_triplets,
    "channel capacity": answered_triplets.channel_capacity,
}
MEASURED = "measured"


def signal_and_noise(rerun: Rerun) -> Part:
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
    rows = [(rate, name, _mean(rho[name, rate])) for name in (MEASURED, *MODELS) for rate in RATES]
    chart = curve(
        "section-3-noise",
        title="Half the answers wrong is no answer at all",
        caption="What is recovered when each triplet is wrong with probability ε, and what two models say is left of "
        "it. Bands: 95% over worlds.",
        **with_intervals(("rate", "model", "rho"), rows),
        x=Field("rate", "probability that a triplet is wrong (ε)", ".1f"),
        y=Field("rho", "rank correlation with the truth (ρ)", ".2f"),
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
                kept = round(model(rate) * len(triplets))
                given[name] = triplets[rng.permutation(len(triplets))[:kept]]
            for name, some in given.items():
                found = 0.0
                if len(some):
                    orders = RankedLists.of_triplets(some, n + k)
                    gram = Gnmds(d).embed(orders, rng=np.random.default_rng(0)).gram()
                    found = recovery(found=gram, true=true)
                rho.setdefault((name, rate), []).append(found)
    return rho


def _mean(values: list[float]) -> Estimate:
    return replace(Estimate.over_seeds(values), covers=f"95% over {len(values)} worlds")
