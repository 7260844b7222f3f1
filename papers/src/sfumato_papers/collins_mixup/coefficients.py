"""Figures 4.2 to 4.5: the mixing coefficients that people infer from a mixed image, and how sure they are of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sfumato.evaluation.rank_correlation import spearman
from sfumato.reporting.charts import Chart, Field, bars, curve
from sfumato.tables.doubt import entropy
from sfumato.training.mixing import CurveFit, ShareCurve
from sfumato_papers.collins_mixup.hmix import Collection, all_collections, thesis_collection
from sfumato_papers.finding import LEVEL, Estimate, Finding, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun

COEFFICIENTS = (0.1, 0.25, 0.5, 0.75, 0.9)
NEAR = 0.1
"""How near a median is to the coefficient where it is called close to it."""
WHOLE = (0.0, 1.0)
SHOWN = {
    "Dog, Airplane": ("mixed_0.75_Airplane_74_Dog_3610.png", "0.42", "0.58", True),
    "Bird, Cat": ("mixed_0.5_Bird_7348_Cat_6202.png", "0.99", "0.01", False),
    "Automobile, Bird": ("mixed_0.5_Automobile_9830_Bird_5118.png", "0.87", "0.13", False),
}
"""The three images of figure 4.3: which they are, what is printed of each class, and whether the second class is the
first image. The thesis does not name them: these are the ones of their classes and coefficient with those means."""


def figure_4_2(rerun: Rerun) -> Part:
    thesis, everyone = thesis_collection(rerun), all_collections(rerun)
    medians, means = _by_coefficient(thesis, np.median), _by_coefficient(thesis, np.mean)
    apart = max(abs(median - at) for at, median in medians.items())
    relabeled = float((thesis.relabeling > 0.25).mean())
    findings: list[Finding | Statement] = []
    for name, of in (("median", np.median), ("mean", np.mean)):
        for column, each in (("the thesis' collection", thesis), ("all of H-Mix", everyone)):
            how = "drawn, not printed" if (name, each) == ("median", thesis) else ""
            for at, value in _by_coefficient(each, of).items():
                findings.append(Finding.exact(f"{name} at λ_f = {at:g}", column, None, value, places=3, how=how))
    findings += [
        Statement(
            "on aggregate",
            "participants recover close to the generating coefficient, by the median",
            apart <= NEAR,
            f"furthest off by {apart:.3f}; the means by {max(abs(m - at) for at, m in means.items()):.3f}",
            how=f"close: within {NEAR:g}",
        ),
        Statement(
            "image by image",
            "human perception is not consistently aligned with the coefficient",
            relabeled > 0.05,
            f"{relabeled:.1%} of judgments are off by more than 0.25, {float((thesis.relabeling > 0.1).mean()):.1%} by "
            "more than 0.1",
            how="not consistently: more than one judgment in twenty is off by a quarter",
        ),
    ]
    after = (
        f"Medians hide that people pull to the ends: at 0.25, {_share(thesis, 0.25, -1):.0%} of judgments are "
        f"below 0.25, and at 0.75 {_share(thesis, 0.75, 1):.0%} are above 0.75; while the means at 0.1 and 0.9, "
        f"{means[0.1]:.2f} and {means[0.9]:.2f}, lie inside of them, drawn there by the few who see the other class."
    )
    title = "Human-inferred against generating mixing coefficient"
    return Part("Figure 4.2", title, findings, charts=(_aggregate_chart(everyone, thesis),), after=after)


def figure_4_3(rerun: Rerun) -> Part:
    told = thesis_collection(rerun).judgments
    shares = dict(zip(told.items, told.mean(told.share).tolist(), strict=True))
    findings = []
    for name, (item, one, other, turned) in SHOWN.items():
        first = shares.get(item, float("nan"))
        values = (1 - first, first) if turned else (first, 1 - first)
        for of, published, value in zip(name.split(", "), (one, other), values, strict=True):
            findings.append(Finding.exact(name, f"λ_h of {of.lower()}", published, value, how=item, places=3))
    about = (
        "The mean of what participants say of three images. Which images they are is not said: these are of the "
        "classes and coefficients shown, with those means."
    )
    return Part("Figure 4.3", "Example relabelings", findings, about)


def _share(collection: Collection, at: float, side: int) -> float:
    """The share of judgments of a coefficient that lie on one side of it."""
    shares = collection.judgments.share[np.isclose(collection.generating, at)]
    return float((side * (shares - at) > 1e-9).mean())


def _by_coefficient(collection: Collection, of: Callable[[Float[np.ndarray, "rows"]], Any]) -> dict[float, float]:
    return {at: float(of(collection.judgments.share[np.isclose(collection.generating, at)])) for at in COEFFICIENTS}


def _aggregate_chart(everyone: Collection, thesis: Collection) -> Chart:
    rows: list[tuple[Any, ...]] = []
    for series, each in (("median, the thesis' collection", thesis), ("median, all of H-Mix", everyone)):
        for at in COEFFICIENTS:
            shares = each.judgments.share[np.isclose(each.generating, at)]
            low, middle, high = np.quantile(shares, [0.25, 0.5, 0.75]).tolist()
            rows.append((at, Estimate(middle, low, high), series))
    fitted, places = CurveFit(prior=0.0).fit(everyone.judgments).pooled, np.linspace(0, 1, 11)
    curved = zip(places.tolist(), fitted.at(places).tolist(), strict=True)
    rows += [(at, Estimate(value), "logistic fit, all of H-Mix") for at, value in curved]
    rows += [(at, Estimate(at), "as mixup assumes") for at in WHOLE]
    return curve(
        "figure-4-2",
        title="What people say went into a mixed image",
        caption="Median of judgments with the middle half of them; the straight line is the label of mixup.",
        **with_intervals(("generating", "inferred", "series"), rows),
        x=Field("generating", "generating coefficient λ_f", ".2f", domain=WHOLE),
        y=Field("inferred", "inferred coefficient λ_h", ".2f", domain=WHOLE),
        series="series",
    )


DRAWN = ((0, 4), (3, 5), (0, 8), (1, 9), (2, 4), (6, 8))
"""Pairs of classes by number; the first is the one the thesis draws, deer and airplane."""
AIRPLANE_DEER = "airplane and deer"


def figure_4_4(rerun: Rerun) -> Part:
    everyone, thesis = all_collections(rerun), thesis_collection(rerun)
    pooled = CurveFit(prior=0.0).fit(everyone.judgments).pooled
    signed = _deviations(everyone)
    furthest = max(signed, key=lambda pair: abs(signed[pair]))
    intervals = _intervals(everyone)
    n_means, n_shown = len(intervals), sum(each.leaves_out_0 for each in intervals.values())
    classes = everyone.judgments.classes
    row, pair = "furthest mean from λ_f", f"{classes[furthest[0]]} and {classes[furthest[1]]}"
    findings: list[Finding | Statement] = [
        Finding.exact(f"{AIRPLANE_DEER}: {row}", column, None, of[DRAWN[0]], places=3)
        for column, of in (("the thesis' collection", _deviations(thesis)), ("all of H-Mix", signed))
    ]
    findings += [
        Finding.exact(f"any pair: {row}", "all of H-Mix", None, abs(signed[furthest]), places=3, how=pair),
        Statement(
            "by pair of classes",
            "there are significant deviations from linearity",
            n_shown > 0.05 * n_means,
            f"{n_shown} of {n_means} means of a pair and coefficient differ from it (95%)",
            how="more than one in twenty would by chance",
        ),
    ]
    title = "Category boundaries by pair of classes"
    about = "The mean of judgments by class pair and coefficient. The thesis draws one pair, deer and airplane."
    return Part("Figure 4.4", title, findings, about, charts=(_pair_chart(everyone, pooled),))


def _cells(collection: Collection) -> dict[tuple[int, int, float], np.ndarray]:
    """What people said, by pair of classes and coefficient."""
    told = collection.judgments
    item = told.item_of_rows()
    keys = zip(told.first[item].tolist(), told.second[item].tolist(), collection.generating.tolist(), strict=True)
    found: dict[tuple[int, int, float], list[float]] = {}
    for key, share in zip(keys, told.share.tolist(), strict=True):
        found.setdefault(key, []).append(share)
    return {key: np.array(values) for key, values in found.items()}


def _deviations(collection: Collection) -> dict[tuple[int, int], float]:
    """For each pair of classes, the mean that lies furthest from its coefficient, less that."""
    found: dict[tuple[int, int], float] = {}
    for (first, second, at), values in _cells(collection).items():
        apart = float(values.mean() - at)
        if abs(apart) >= abs(found.get((first, second), 0.0)):
            found[first, second] = apart
    return found


def _intervals(collection: Collection) -> dict[tuple[int, int, float], Estimate]:
    """What a pair's mean differs from its coefficient by, at every coefficient judged at least twice."""
    judged = {key: values for key, values in _cells(collection).items() if len(values) > 1 and values.std() > 0}
    return {key: Estimate.over_seeds(values - key[2]) for key, values in judged.items()}


def _pair_chart(everyone: Collection, pooled: ShareCurve) -> Chart:
    classes = everyone.judgments.classes
    names = {pair: f"{classes[pair[0]]} in {classes[pair[1]]}" for pair in DRAWN}
    rows: list[tuple[Any, ...]] = []
    places = np.linspace(0, 1, 11)
    cells, intervals = _cells(everyone), _intervals(everyone)
    for pair, name in names.items():
        for at in COEFFICIENTS:
            if (*pair, at) in cells:
                apart = intervals.get((*pair, at), Estimate(np.nan))
                ends = np.clip([apart.low + at, apart.high + at], 0, 1).tolist()
                rows.append((at, Estimate(float(cells[*pair, at].mean()), *ends), "mean judgment", name))
        rows += [(at, Estimate(at), "as mixup assumes", name) for at in WHOLE]
        curved = zip(places.tolist(), pooled.at(places).tolist(), strict=True)
        rows += [(at, Estimate(value), "logistic fit, all pairs", name) for at, value in curved]
    return curve(
        "figure-4-4",
        title="Category boundaries of six pairs of classes",
        caption="Mean of judgments (95%) by generating coefficient of the class named first, all of H-Mix.",
        **with_intervals(("generating", "inferred", "series", "pair"), rows),
        x=Field("generating", "generating coefficient λ_f", ".2f", domain=WHOLE),
        y=Field("inferred", "inferred λ_h", ".2f", domain=WHOLE),
        series="series",
        panel="pair",
    )


HIGH, LOW = 0.5, 0.1
"""Nats under CIFAR-10H: both images at least the one, or at most the other."""
DRAWS = 2000
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
        **with_intervals(("endpoints", "mean", "series"), drawn),
        of="endpoints",
        value=Field("mean", "mean confidence", ".2f", domain=(0.0, 1.0)),
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
