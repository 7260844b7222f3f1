"""Appendix C: the curve from what went into an image to what people see, by pair of classes, as a mixing."""

from __future__ import annotations

import numpy as np

from sfumato.reporting.charts import Field, heat_map
from sfumato.training.mixing import CurveFit, PairCurve
from sfumato_papers.collins_mixup.hmix import all_collections, thesis_collection
from sfumato_papers.finding import Estimate, Finding, Published, Statement
from sfumato_papers.paper import Part, Rerun


def curves_of_class_pairs(rerun: Rerun) -> Part:
    everyone, thesis = all_collections(rerun), thesis_collection(rerun)
    fit = CurveFit(prior=0.0)
    curves, first = fit.fit(everyone.judgments), fit.fit(thesis.judgments)
    ends = curves.pooled.at(np.array([0.0, 1.0]))
    middles = np.array([pair.curve.x0 for pair in curves.pairs])
    steep = np.array([pair.curve.k for pair in curves.pairs])
    classes = everyone.judgments.classes
    cells = {
        "of": [classes[pair.first] for pair in curves.pairs],
        "in": [classes[pair.second] for pair in curves.pairs],
        "x0": middles.tolist(),
        "k": steep.tolist(),
        "judgments": list(curves.n_judgments),
    }
    chart = heat_map(
        "appendix-c",
        title="How much of a class must be in a mixed image to be half of what people see",
        caption="x0 of the logistic curve of each pair of classes, all released judgments; 0.5 is what mixup assumes. "
        "Above it, people see less of the row's class than went in.",
        data=cells,
        x=Field("in", "mixed with"),
        y=Field("of", "share of"),
        value=Field("x0", "x0", ".2f"),
        about=0.5,
        written=True,
        tooltip=(Field("k", "k", ".2f"), Field("judgments", "judgments", ",d")),
    )

    def row(name: str, column: str, value: float, places: int = 3, how: str = "") -> Finding:
        return Finding(name, column, None, Estimate(float(value)), how=how, places=places)

    everyone_, thesis_ = f"all {everyone.n_annotators} participants", f"the thesis' {thesis.n_annotators}"
    findings: list[Finding | Statement] = [
        Finding("pairs of classes with a curve", everyone_, Published("45"), Estimate(len(curves.pairs)), places=0),
        row("k, all pairs together", everyone_, curves.pooled.k, 2),
        row("k, all pairs together", thesis_, first.pooled.k, 2),
        row("x0, all pairs together", everyone_, curves.pooled.x0),
        row("x0, all pairs together", thesis_, first.pooled.x0),
        row("τ(0)", everyone_, ends[0], 2, "what a class that is not in the image is given"),
        row("τ(1)", everyone_, ends[1], 2, "what a class that is alone in the image is given"),
        row("smallest x0 of a pair", everyone_, middles.min(), how=_pair(classes, curves.pairs[middles.argmin()])),
        row("largest x0 of a pair", everyone_, middles.max(), how=_pair(classes, curves.pairs[middles.argmax()])),
        row("smallest k of a pair", everyone_, steep.min(), 2, _pair(classes, curves.pairs[steep.argmin()])),
        row("largest k of a pair", everyone_, steep.max(), 2, _pair(classes, curves.pairs[steep.argmax()])),
    ]
    about = (
        "`1 / (1 + exp(-k (λ_f - x0)))` by least squares, each pair of classes by itself, the class that stands "
        "first in CIFAR-10's order being counted. The thesis prints the method and none of its fits."
    )
    after = (
        f"The curve does not reach its ends: an image with none of a class is still given {ends[0]:.2f} of it, "
        f"and one of that class alone only {ends[1]:.2f}. Used as a target, it takes mass from labels that are certain"
        "; `class-pair` offers the form that is anchored at both ends."
    )
    return Part(
        "Appendix C", "Logistic functions fitted to human judgments", findings, about, charts=(chart,), after=after
    )


def _pair(classes: tuple[str, ...], pair: PairCurve) -> str:
    return f"{classes[pair.first]} in {classes[pair.second]}"
