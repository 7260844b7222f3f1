"""Section 4 and Section 8 of Peterson et al. (2019): what CIFAR-10H holds, counted from the released data."""

from __future__ import annotations

import numpy as np

from sfumato import Annotations
from sfumato.importers import Cifar10HImporter
from sfumato.reporting.charts import Field, bars, curve, histogram
from sfumato.tables.doubt import entropy
from sfumato_papers.finding import Finding, Published, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_data import vote_counts

RAW = "cifar10h-raw.csv (single answers with times and attention checks), which is not among the data here"
BULK = 0.30
"""The share of images that is said to hold the bulk of people's doubt."""
ABOUT = """
Counted from the released votes; nothing is trained. The participants are read from the part of the single
answers that can be had, on 500 of the 10,000 images.
"""


def dataset(rerun: Rerun) -> Part:
    people = rerun.data.cifar_10h
    assert people.n_annotators is not None
    n = people.n_annotators
    votes = vote_counts(people, people.items.to_pylist())
    doubt = entropy(people.probs)
    with np.load(rerun.data.path("cifar10h", "counts.npz")) as file:
        label = file["labels"].astype(int)
    first = votes == votes.max(axis=1, keepdims=True)
    n_seen = (votes > 0).sum(axis=1)
    per_category = np.bincount(label, weights=n, minlength=votes.shape[1])
    least, most = per_category.min(), per_category.max()
    evenly = "every category alike" if least == most else f"{least:,.0f} to {most:,.0f}"
    single = rerun.data.table(Cifar10HImporter(annotator_level=True), Annotations, "cifar10h")
    # Both totals are whole participants of 200 images each.
    why_400 = (
        f"{(2571 - 14) * 200:,} is 2,571 participants less the 14 excluded, times 200 images; "
        f"the released counts hold {votes.sum():,}, as of {votes.sum() / 200:,.0f} participants"
    )
    findings = [
        _exact("Human judgments", "511,400", votes.sum(), how=why_400),
        _exact("Images", "10,000", len(votes)),
        _exact("Images a category", "1,000", np.bincount(label, minlength=10).max()),
        _exact("Judgments a category", None, per_category.mean(), how=evenly),
        _exact("Judgments an image, on average", "51", n.mean(), places=1),
        _exact("Judgments an image, fewest", "47", n.min()),
        _exact("Judgments an image, most", "63", n.max()),
        _exact("Participants", "2,571", len(single.annotator.names), how="who answered about images 9500 to 9999"),
        *(
            Finding(row, "CIFAR10H", Published(figure), needs=RAW)
            for row, figure in (
                ("Images a participant", "200"),
                ("Images a participant and category", "20"),
                ("Participants below 75% of attention checks", "14"),
                ("Minutes to complete, on average", "15"),
            )
        ),
        _exact("Mean entropy, nats", None, doubt.mean(), places=5),
        _exact("Median entropy, nats", None, np.median(doubt), places=4),
        _exact("Largest entropy, nats", None, doubt.max(), places=4, how=f"image {people.items[int(doubt.argmax())]}"),
        _exact(
            "Most frequent choice is CIFAR10's label, %", None, 100 * (votes.argmax(axis=1) == label).mean(), places=2,
            how=f"{int((first.sum(axis=1) > 1).sum())} ties go to the first class",
        ),
        _exact("Images with 1 category chosen", None, (n_seen == 1).sum()),
        *(_exact(f"Images with {k} categories chosen", None, (n_seen == k).sum()) for k in range(2, 11)),
    ]  # fmt: skip
    charts = (
        histogram(
            "section-4-entropy",
            title="How much people doubt an image",
            caption="Entropy of people's label distributions on the 10,000 test images of CIFAR-10.",
            data={"entropy": doubt},
            value=Field("entropy", "entropy, nats", ".2f"),
        ),
        bars(
            "section-4-categories",
            title="How many categories people chose for an image",
            caption="Images by the number of categories that anybody chose for them.",
            data={"categories": [str(k) for k in range(1, 11)], "images": [(n_seen == k).sum() for k in range(1, 11)]},
            of="categories",
            value=Field("images", "images", ",d"),
        ),
    )
    return Part("Section 4", "Dataset construction: CIFAR10H", findings, ABOUT.strip(), charts=charts)


def concentration(rerun: Rerun) -> Part:
    doubt = np.sort(entropy(rerun.data.cifar_10h.probs))[::-1]
    share = np.cumsum(doubt) / doubt.sum()
    within = float(share[round(BULK * len(doubt)) - 1])
    half = float(np.searchsorted(share, 0.5) + 1) / len(doubt)
    at = np.linspace(0, 1, 101)
    rows = np.maximum(np.ceil(at * len(doubt)).astype(int), 1) - 1
    findings: list[Finding | Statement] = [
        Statement(
            "Concentration",
            "The bulk of human uncertainty is concentrated in approximately 30% of the images.",
            holds=within > 0.5,
            ours=f"the most doubtful 30% hold {100 * within:.1f}% of all entropy; "
            f"half of it is in {100 * half:.1f}% of the images",
            how="the bulk: more than half of the summed entropy",
        )
    ]
    chart = curve(
        "section-8",
        title="How much of all doubt the most doubtful images hold",
        caption="Share of the summed entropy that the most doubtful images hold.",
        data={"images": at, "entropy": np.where(at > 0, share[rows], 0.0)},
        x=Field("images", "share of images, most doubtful first", ".0%"),
        y=Field("entropy", "share of all entropy", ".0%"),
    )
    return Part("Section 8", "Discussion: where people's doubt is", findings, charts=(chart,))


def _exact(row: str, published: str | None, ours: float, *, places: int = 0, how: str = "") -> Finding:
    return Finding.exact(row, "CIFAR10H", published, ours, how=how, places=places)
