"""Figures 4.2 to 4.4: the mixing coefficients that people infer from a mixed image, against the true ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.paired_tests import t_interval
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve
from sfumato.training.mixing import CurveFit, ShareCurve
from sfumato_papers.chart_data import chart_columns
from sfumato_papers.collins_mixup.hmix import Collection, all_collections, thesis_collection
from sfumato_papers.finding import LEVEL, Finding, Statement
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
            low, middle, high = np.quantile(shares, [0.25, 0.5, 0.75])
            rows.append((at, float(middle), float(low), float(high), series))
    fitted, places = CurveFit(prior=0.0).fit(everyone.judgments).pooled, np.linspace(0, 1, 11)
    curved = zip(places.tolist(), fitted.at(places).tolist(), strict=True)
    rows += [(*point, None, None, "logistic fit, all of H-Mix") for point in curved]
    rows += [(at, at, None, None, "as mixup assumes") for at in WHOLE]
    return curve(
        "figure-4-2",
        title="What people say went into a mixed image",
        caption="Median of judgments with the middle half of them; the straight line is the label of mixup.",
        data=chart_columns(("generating", "inferred", "low", "high", "series"), rows),
        x=Field("generating", "generating coefficient λ_f", ".2f", domain=WHOLE),
        y=Field("inferred", "inferred coefficient λ_h", ".2f", domain=WHOLE),
        low="low",
        high="high",
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
    n_shown = sum(not low <= 0 <= high for low, high in _intervals(everyone).values())
    classes = everyone.judgments.classes
    findings: list[Finding | Statement] = [
    *(
                    Finding.exact(f"{AIRPLANE_DEER}: furthest mean from λ_f", column, None, of[DRAWN[0]], places=3)
                    for column, of in (("the thesis' collection", _deviations(thesis)), ("all of H-Mix", signed))
                ),
                Finding.exact(
                    "any pair: furthest mean from λ_f", "all of H-Mix", None, abs(signed[furthest]), places=3,
                    how=f"{classes[furthest[0]]} and {classes[furthest[1]]}",
                ),
                Statement(
                    "by pair of classes",
                    "there are significant deviations from linearity",
                    n_shown > 0.05 * len(_intervals(everyone)),
                    f"{n_shown} of {len(_intervals(everyone))} means of a pair and coefficient differ from it (95%)",
                    how="more than one in twenty would by chance",
                ),
    ]  # fmt: skip
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


def _intervals(collection: Collection) -> dict[tuple[int, int, float], tuple[float, float]]:
    """What a pair's mean differs from its coefficient by, 95%, at every coefficient judged at least twice."""
    found = {}
    for key, values in _cells(collection).items():
        if len(values) > 1 and values.std() > 0:
            interval = t_interval(values - key[2], LEVEL)
            found[key] = (interval.low, interval.high)
    return found


def _pair_chart(everyone: Collection, pooled: ShareCurve) -> Chart:
    classes = everyone.judgments.classes
    names = {pair: f"{classes[pair[0]]} in {classes[pair[1]]}" for pair in DRAWN}
    rows: list[tuple[Any, ...]] = []
    places = np.linspace(0, 1, 11)
    cells, intervals = _cells(everyone), _intervals(everyone)
    for pair, name in names.items():
        for at in COEFFICIENTS:
            if (*pair, at) in cells:
                low, high = intervals.get((*pair, at), (np.nan, np.nan))
                clipped = [None if np.isnan(end) else float(np.clip(end + at, 0, 1)) for end in (low, high)]
                rows.append((at, float(cells[*pair, at].mean()), *clipped, "mean judgment", name))
        rows += [(at, at, None, None, "as mixup assumes", name) for at in WHOLE]
        curved = zip(places.tolist(), pooled.at(places).tolist(), strict=True)
        rows += [(*point, None, None, "logistic fit, all pairs", name) for point in curved]
    return curve(
        "figure-4-4",
        title="Category boundaries of six pairs of classes",
        caption="Mean of judgments (95%) by generating coefficient of the class named first, all of H-Mix.",
        data=chart_columns(("generating", "inferred", "low", "high", "series", "pair"), rows),
        x=Field("generating", "generating coefficient λ_f", ".2f", domain=WHOLE),
        y=Field("inferred", "inferred λ_h", ".2f", domain=WHOLE),
        low="low",
        high="high",
        series="series",
        panel="pair",
    )
