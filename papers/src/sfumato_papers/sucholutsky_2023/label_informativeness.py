"""Figure 4 and Section 7.2: what label sets say about which images are alike.

The paper compares with judgments of similarity over 200 images, which are not public. Here the votes of half of
CIFAR-10H's annotators replace them: two images are as alike as it is probable that two such votes agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.transforms import Temper
from sfumato.planning.informativeness.embedding import recovery
from sfumato.planning.informativeness.gnmds import Gnmds
from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.planning.informativeness.triplets import flip_rate
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, scatter
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.sucholutsky_2023 import label_sets as sets

N_IMAGES = 200
N_COMPARED = 30
"""Images whose every triplet is written out, for the error rate."""
D = 9
S = "CIFAR-10S"
HALF = "CIFAR-10H (half)"
TEMPERATURES = (0.5, 2.0, 4.0, 8.0)
JUDGMENTS = "49,500 judgments of similarity"


@dataclass(frozen=True)
class Informative:
    """What a label set says about 200 images, and how soft it is there."""

    name: str
    rho: float
    error_rate: float
    entropy: float
    variance: float
    """Of the mass of the most probable class."""
    by_people: bool


def label_informativeness(rerun: Rerun) -> Part:
    """Recovered similarity by label set, against its error rate and its softness."""
    found = rerun.once("informative", lambda: informative(rerun))
    hard, people = found[sets.HARD], [each for each in found.values() if each.by_people]
    smoothed = [found[name] for name in (sets.LOW, sets.HIGH)]
    r = float(np.corrcoef([each.error_rate for each in found.values()], [each.rho for each in found.values()])[0, 1])
    softest, best = (max(people, key=lambda each: getattr(each, by)) for by in ("entropy", "rho"))
    findings: tuple[Finding | Statement, ...] = (
        *(
            Finding(each.name, column, None, Estimate(value))
            for each in found.values()
            for column, value in (
                ("ρ with held-out votes", each.rho),
                ("error rate", each.error_rate),
                ("entropy", each.entropy),
                ("variance of the largest", each.variance),
            )
        ),
        *(Finding(name, "ρ with similarity judgments", None, needs=JUDGMENTS) for name in sets.PAPER_SETS),
        Statement(
            "Softness",
            "performance generally increases with softness",
            holds=min(each.rho for each in people) > hard.rho,
            ours=f"hard labels ρ = {hard.rho:.2f}; people's {min(e.rho for e in people):.2f} to "
            f"{max(e.rho for e in people):.2f}",
        ),
        Statement(
            "Smoothed hard labels",
            "it does not increase when smoothing hard labels",
            holds=max(each.rho for each in smoothed) <= hard.rho + 0.01,
            ours=f"ρ = {hard.rho:.3f} hard, {smoothed[0].rho:.3f} and {smoothed[1].rho:.3f} smoothed",
            how="smoothing changes no order of two entries, so not a single triplet",
        ),
        Statement(
            "Sweet spot",
            "after some softness performance begins to decrease",
            holds=best.name != softest.name and softest.rho < best.rho - 0.01,
            ours=f"best {best.name} (entropy {best.entropy:.2f}, ρ = {best.rho:.2f}), softest {softest.name} (entropy "
            f"{softest.entropy:.2f}, ρ = {softest.rho:.2f})",
        ),
        Statement(
            "Error rate",
            "a linear relationship between error rate and performance",
            holds=r < -0.9,
            ours=f"r = {r:.2f} over {len(found)} label sets",
        ),
    )
    about = (
        f"The {N_IMAGES} of the 1,000 CIFAR-10S images with the highest entropy under CIFAR-10H; labels embedded by "
        f"GNMDS in {D} dimensions. **Half of CIFAR-10H's votes replace the paper's judgments of similarity**, "
        "which are not public, so they favor labels that are votes. Error rate: share of triplets of the embedding "
        f"that these turn round, over {N_COMPARED} images. Temperatures make one set softer or harder."
    )
    return Part(
        "Figure 4; Section 7.2",
        "Label informativeness",
        findings,
        about=about,
        scaled_down="half of CIFAR-10H's votes for judgments of similarity",
        charts=(_chart(found),),
    )


def informative(rerun: Rerun) -> dict[str, Informative]:
    """All label sets over the same images."""
    people, elicited = rerun.data.cifar_10h, sets.cifar_10s(rerun.data)
    items = elicited.items.to_pylist()
    rows = people.rows_of(items)
    doubt = entropy(people.probs[rows])
    chosen = np.sort(np.argsort(-doubt, kind="stable")[:N_IMAGES])
    names = [items[i] for i in chosen]
    shown, held_out = halves(people, people.rows_of(names), np.random.default_rng(2023))
    half = SoftLabels.from_numpy(names, shown, people.classes)
    every = sets.label_sets(rerun)
    compared = {name: every[name].probs[every[name].rows_of(names)] for name in (sets.HARD, sets.LOW, sets.HIGH)}
    compared |= {S: elicited.probs[chosen], HALF: shown}
    compared |= {f"{HALF}, temperature {each:g}": Temper(each).apply(half).probs for each in TEMPERATURES}
    by_people = set(compared) - {sets.HARD, sets.LOW, sets.HIGH}
    true = held_out @ held_out.T
    return {name: _measured(name, probs, true, name in by_people) for name, probs in compared.items()}


def halves(
    people: SoftLabels, rows: Int[np.ndarray, "items"], rng: np.random.Generator
) -> tuple[Float[np.ndarray, "items classes"], Float[np.ndarray, "items classes"]]:
    """The votes of each image parted at random, as two sets of labels."""
    assert people.n_annotators is not None
    n_each = people.n_annotators[rows]
    counts = np.rint(people.probs[rows] * n_each[:, None]).astype(np.int64)
    one = np.stack([rng.multivariate_hypergeometric(each, int(each.sum()) // 2) for each in counts])
    other = counts - one
    return one / one.sum(axis=1, keepdims=True), other / other.sum(axis=1, keepdims=True)


def _measured(
    name: str, probs: Float[np.ndarray, "items classes"], true: Float[np.ndarray, "items items"], by_people: bool
) -> Informative:
    n = len(probs)
    gram = Gnmds(D).embed(RankedLists.of_labels(probs), rng=np.random.default_rng(0)).gram()[:n, :n]
    some = np.linspace(0, n - 1, N_COMPARED).astype(np.int64)
    judged, truth = (RankedLists.of_similarities(each[np.ix_(some, some)]) for each in (np.round(gram, 9), true))
    largest = probs.max(axis=1)
    return Informative(
        name,
        recovery(found=gram, true=true),
        flip_rate(judged=judged, true=truth),
        float(entropy(probs).mean()),
        float(largest.var()),
        by_people,
    )


def _chart(found: dict[str, Informative]) -> Chart:
    measures = {"error rate": "error_rate", "entropy (nats)": "entropy", "variance of the largest": "variance"}
    rows = [
        (title, each.name, "people's" if each.by_people else "hard, smoothed", getattr(each, column), each.rho)
        for title, column in measures.items()
        for each in found.values()
    ]
    return scatter(
        "figure-4",
        title="Recovered similarity falls with the error rate",
        caption="ρ of embedded label sets with the held-out half of CIFAR-10H's votes, which replaces judgments "
        "of similarity, against three properties of the labels.",
        data=dict(zip(("measure", "labels", "from", "value", "rho"), zip(*rows, strict=True), strict=True)),
        x=Field("value", "value", ".2f", domain=(0.0, 1.5)),
        y=Field("rho", "rank correlation (ρ)", ".2f"),
        of="labels",
        series="from",
        panel="measure",
    )
