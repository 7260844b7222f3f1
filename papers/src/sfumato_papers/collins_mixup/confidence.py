"""Section 4.2.2 and Figure 4.5: how sure people are of what went in, by the doubt about the two images."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from sfumato.evaluation.rank_correlation import spearman
from sfumato.reporting.charts import Field, bars
from sfumato.tables.doubt import entropy
from sfumato_papers.chart_data import chart_columns
from sfumato_papers.collins_mixup.coefficients import COEFFICIENTS
from sfumato_papers.collins_mixup.hmix import Collection, all_collections, thesis_collection
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun

HIGH, LOW = 0.5, 0.1
"""Nats under CIFAR-10H: both images at least the one, or at most the other."""
DRAWS = 2000
LEVEL = 0.95
COLUMNS = ("the thesis' collection", "all of H-Mix")


def figure_4_5(rerun: Rerun) -> Part:
    people = rerun.data.cifar_10h
    doubt = entropy(people.probs)[people.rows_of([str(i) for i in range(len(people))])]
    both = dict(zip(COLUMNS, (thesis_collection(rerun), all_collections(rerun)), strict=True))
    findings: list[Finding | Statement] = []
    drawn = []
    estimates = {}
    for column, each in both.items():
        groups = _groups(each, doubt)
        confidence = each.judgments.confidence
        for name, rows in groups.items():
            sure, moved = _mean(confidence, rows, each), _mean(each.relabeling, rows, each)
            findings += [
                Finding.exact(f"judgments, {name}", column, None, rows.sum()),
                Finding(f"mean confidence, {name}", column, None, sure, how="drawn, not printed"),
                Finding(f"mean amount of relabeling, {name}", column, None, moved),
            ]
            drawn.append((name, sure, column))
        high, low = groups.values()
        estimates[column] = (_gap(confidence, high, low, each), _gap(each.relabeling, high, low, each))
        summed = doubt[each.first_image] + doubt[each.second_image]
        for what, values in (("confidence", confidence), ("relabeling", each.relabeling)):
            rho = spearman(summed, values)
            findings.append(Finding.exact(f"Spearman, entropy of both and {what}", column, None, rho, places=3))
    sure, moved = estimates[COLUMNS[0]]
    by_coefficient = {
        at: float(both[COLUMNS[0]].judgments.confidence[np.isclose(both[COLUMNS[0]].generating, at)].mean())
        for at in COEFFICIENTS
    }
    findings += [
        Statement(
            "confidence",
            "is markedly lower where both endpoints are of high entropy",
            sure.is_below_0,
            f"high less low: {sure.signed()}; all of H-Mix {estimates[COLUMNS[1]][0].value:+.3f}",
            how="95% bootstrap over annotators, the thesis' collection",
        ),
        Statement(
            "amount of relabeling",
            "is not significantly affected by the endpoints' entropy",
            not moved.leaves_out_0,
            f"high less low: {moved.signed()}; all of H-Mix {estimates[COLUMNS[1]][1].signed()}",
            how="95% bootstrap over annotators, the thesis' collection",
        ),
        Statement(
            "confidence by coefficient",
            "is lowest at λ_f = 0.5",
            min(by_coefficient, key=lambda at: by_coefficient[at]) == 0.5,
            ", ".join(f"{at:g}: {value:.3f}" for at, value in by_coefficient.items()),
        ),
    ]
    about = (
        f"Entropies are those of CIFAR-10H's labels: both images at least {HIGH:g} nats, or both at most {LOW:g}"
        ". Confidence is on a scale from 0 to 1."
    )
    chart = bars(
        "figure-4-5",
        title="How sure people are of what went into an image",
        caption="Mean confidence with 95% over annotators, by the entropy of both images under CIFAR-10H.",
        data=chart_columns(("endpoints", "mean", "series"), drawn),
        of="endpoints",
        value=Field("mean", "mean confidence", ".2f", domain=(0.0, 1.0)),
        low="low",
        high="high",
        series="series",
    )
    after = (
        f"The thesis' comparison rests on {int(next(iter(_groups(both[COLUMNS[0]], doubt).values())).sum())} "
        "judgments with two images of high entropy."
    )
    return Part(
        "Figure 4.5", "Confidence by the entropy of what was mixed", findings, about, charts=(chart,), after=after
    )


Rows = Bool[np.ndarray, "rows"]


def _groups(collection: Collection, doubt: Float[np.ndarray, "images"]) -> dict[str, Rows]:
    first, second = doubt[collection.first_image], doubt[collection.second_image]
    return {"both high": (first >= HIGH) & (second >= HIGH), "both low": (first <= LOW) & (second <= LOW)}


def _mean(values: Float[np.ndarray, "rows"], rows: Rows, collection: Collection) -> Estimate:
    return _estimate(float(values[rows].mean()), _means(values, rows, collection))


def _gap(values: Float[np.ndarray, "rows"], one: Rows, other: Rows, collection: Collection) -> Estimate:
    """How much larger a mean is in one group than in the other, annotators being drawn once for both."""
    drawn = _means(values, one, collection) - _means(values, other, collection)
    return _estimate(float(values[one].mean() - values[other].mean()), drawn)


def _means(values: Float[np.ndarray, "rows"], rows: Rows, collection: Collection) -> Float[np.ndarray, "draws"]:
    """The mean of every draw of annotators."""
    who = _annotator_of_rows(collection)
    n = int(who.max()) + 1
    sums, counts = np.bincount(who[rows], values[rows], n), np.bincount(who[rows], minlength=n)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), DRAWS).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray((drawn @ sums) / (drawn @ counts))


def _estimate(value: float, drawn: Float[np.ndarray, "draws"]) -> Estimate:
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high), "95% bootstrap over annotators")


def _annotator_of_rows(collection: Collection) -> np.ndarray:
    """Whose each judgment is; judgments stand item by item, answers as they came."""
    order = np.argsort(collection.annotations.item.codes, kind="stable")
    return np.asarray(collection.annotations.annotator.codes[order])
