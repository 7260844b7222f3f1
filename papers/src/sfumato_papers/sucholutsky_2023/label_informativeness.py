"""Properties of the label sets, and how informative each type of label is."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from jaxtyping import Float, Int

from sfumato import SoftLabels
from sfumato.labeling.transforms import Temper
from sfumato.planning.informativeness.answered_triplets import RankedLists, flip_rate
from sfumato.planning.informativeness.embedding import Gnmds, recovery
from sfumato.reporting.charts import Chart, Field, dots, scatter
from sfumato.tables.doubt import entropy
from sfumato.training.networks import NAMED
from sfumato_papers.finding import Estimate, Finding, Published, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun, once
from sfumato_papers.published_table import published_tables
from sfumato_papers.sucholutsky_2023 import label_sets as sets
from sfumato_papers.sucholutsky_2023.label_sets import DS, NOT_PUBLIC, S_DENSE, H, T, cifar_10s, label_sets

TABLE_2 = published_tables("sucholutsky_2023")["Table 2"].cells
TABLE_2_NAMES = {
    "VGG": "vgg-15-bn",
    "WRN": "wrn-28-10",
    "DenseNet": "densenet-bc-100-12",
    "Shake shake": "shake-shake-26",
}
MASS = "ε: mass on the nine other classes of"
CIFAR_SHAPE, N_CLASSES = (3, 32, 32), 10


def experimental_setup(rerun: Rerun) -> Part:
    people, elicited = rerun.data.cifar_10h, cifar_10s(rerun.data)
    assert people.n_annotators is not None
    n_votes, n_each = int(people.n_annotators.sum()), float(people.n_annotators.mean())
    every = {name: float(entropy(labels.probs).mean()) for name, labels in label_sets(rerun).items()}
    findings: tuple[Finding | Statement, ...] = (
        Statement(
            "CIFAR-10H, judgments",
            "over 500,000 hard labels, roughly 50 an image",
            holds=n_votes > 500_000 and abs(n_each - 50) < 2.5,
            ours=f"{n_votes:,}, {n_each:.1f} an image",
        ),
        Finding.exact("CIFAR-10LS (Low)", f"{MASS} CIFAR-10H", "0.05", 1 - people.probs.max(axis=1).mean(), places=3),
        Finding("CIFAR-10LS (High)", f"{MASS} CIFAR-10DS", Published("0.2"), needs=NOT_PUBLIC[DS]),
        Finding.exact("CIFAR-10S", "images", "1,000", len(elicited)),
        Finding.exact(
            "CIFAR-10S",
            "mean entropy (D.2)",
            "0.69",
            entropy(elicited.probs).mean(),
            places=3,
            how="of the mean of all 6,723 released labels, repeats among them; of the first-pass answers alone 0.696",
        ),
        Finding("CIFAR-10DS, top two", "mean entropy (D.2)", Published("0.75"), needs=NOT_PUBLIC[DS]),
        Statement(
            "Similarity judgments",
            "49,500 in all: 5 for each pair within two sets of 100 images",
            holds=2 * comb(100, 2) * 5 == 49_500,
            ours=f"2 x C(100, 2) x 5 = {2 * comb(100, 2) * 5:,}",
            how="the arithmetic alone: the judgments are not public",
        ),
        Finding("CIFAR-10DS", "judgments", Published("500,000"), needs=NOT_PUBLIC[DS]),
        Finding("CIFAR-10T", "judgments", Published("350,000"), needs=NOT_PUBLIC[T]),
        *(Finding(name, "mean entropy, 10,000 images", None, Estimate(value)) for name, value in every.items()),
    )
    chart = dots(
        "section-7-1-entropies",
        title="How soft the label sets are",
        caption=f"Mean entropy over the 10,000 test images, in nats. {S_DENSE}, {DS} and {T} are not public; what "
        f"replaces the first is made of {H}.",
        data={"labels": list(every), "entropy": list(every.values())},
        of="labels",
        value=Field("entropy", "mean entropy (nats)", ".2f", zero=True),
    )
    about = (
        "Counted from the released CIFAR-10H and CIFAR-10S. CIFAR-10DS, CIFAR-10T and the similarity judgments were "
        "collected for the paper and are not public."
    )
    return Part("Section 7.1; Appendix D", "The label sets", findings, about=about, charts=(chart,))


def table_2(rerun: Rerun) -> Part:  # noqa: ARG001
    findings = []
    for (row, column), published in TABLE_2.items():
        network = NAMED[TABLE_2_NAMES[row]].build(CIFAR_SHAPE, N_CLASSES)
        n = sum(int(np.prod(each.shape)) for each in network.parameters())
        findings.append(Finding.exact(row, column, published.text, n, how=TABLE_2_NAMES[row]))
    about = "The networks here of those names, counted; ResNet has no figure in the paper."
    return Part("Table 2", "Image classifiers", tuple(findings), about)


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
    found = informative(rerun)
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
    title = "Label informativeness"
    smaller = "half of CIFAR-10H's votes for judgments of similarity"
    return Part("Figure 4; Section 7.2", title, findings, about, smaller, (_chart(found),))


@once
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
        data=chart_columns(("measure", "labels", "from", "value", "rho"), rows),
        x=Field("value", "value", ".2f", domain=(0.0, 1.5)),
        y=Field("rho", "rank correlation (ρ)", ".2f"),
        of="labels",
        series="from",
        panel="measure",
    )
