"""Figure 4.4: what people see by pair of classes, and where it leaves the straight line."""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.paired_tests import t_interval
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve
from sfumato.training.mixing import CurveFit, ShareCurve
from sfumato_papers.collins_mixup.coefficients import COEFFICIENTS, WHOLE
from sfumato_papers.collins_mixup.hmix import Collection, all_collections, thesis_collection
from sfumato_papers.finding import LEVEL, Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun

DRAWN = ((0, 4), (3, 5), (0, 8), (1, 9), (2, 4), (6, 8))
"""Pairs of classes by number; the first is the one the thesis draws, deer and airplane."""


def figure_4_4(rerun: Rerun) -> Part:
    everyone, thesis = all_collections(rerun), thesis_collection(rerun)
    pooled = CurveFit(prior=0.0).fit(everyone.judgments).pooled
    deviations = {pair: abs(dev) for pair, dev in _deviations(everyone).items()}
    furthest = max(deviations, key=lambda pair: deviations[pair])
    n_shown = sum(not low <= 0 <= high for low, high in _intervals(everyone).values())
    airplane_deer = (0, 4)
    own = _deviations(thesis)[airplane_deer]
    classes = everyone.judgments.classes
    return Part(
        "Figure 4.4",
        "Category boundaries by pair of classes",
        (
            Finding("airplane and deer: furthest mean from λ_f", "the thesis' collection", None, Estimate(own)),
            Finding(
                "airplane and deer: furthest mean from λ_f", "all of H-Mix", None,
                Estimate(_deviations(everyone)[airplane_deer]),
            ),
            Finding(
                "any pair: furthest mean from λ_f", "all of H-Mix", None, Estimate(deviations[furthest]),
                how=f"{classes[furthest[0]]} and {classes[furthest[1]]}", places=3,
            ),
            Statement(
                "by pair of classes",
                "there are significant deviations from linearity",
                n_shown > 0.05 * len(_intervals(everyone)),
                f"{n_shown} of {len(_intervals(everyone))} means of a pair and coefficient differ from it (95%)",
                how="more than one in twenty would by chance",
            ),
        ),
        charts=(_pair_chart(everyone, pooled),),
        about="The mean of judgments by class pair and coefficient. The thesis draws one pair, deer and airplane.",
    )  # fmt: skip


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
    rows: dict[str, list[object]] = {name: [] for name in ("generating", "inferred", "low", "high", "series", "pair")}

    def add(pair: str, series: str, at: float, value: float, low: float | None, high: float | None) -> None:
        for name, each in zip(rows, (at, value, low, high, series, pair), strict=True):
            rows[name].append(each)

    cells, intervals = _cells(everyone), _intervals(everyone)
    for pair, name in names.items():
        for at in COEFFICIENTS:
            if (*pair, at) in cells:
                low, high = intervals.get((*pair, at), (np.nan, np.nan))
                clipped = [None if np.isnan(end) else float(np.clip(end + at, 0, 1)) for end in (low, high)]
                add(name, "mean judgment", at, float(cells[*pair, at].mean()), *clipped)
        for at in (0.0, 1.0):
            add(name, "as mixup assumes", at, at, None, None)
        for at in np.linspace(0, 1, 11):
            add(name, "logistic fit, all pairs", float(at), float(pooled.at(np.array([at]))[0]), None, None)
    return curve(
        "figure-4-4",
        title="Category boundaries of six pairs of classes",
        caption="Mean of judgments (95%) by generating coefficient of the class named first, all of H-Mix.",
        data=rows,
        x=Field("generating", "generating coefficient λ_f", ".2f", domain=WHOLE),
        y=Field("inferred", "inferred λ_h", ".2f", domain=WHOLE),
        low="low",
        high="high",
        series="series",
        panel="pair",
    )
