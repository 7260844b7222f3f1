"""Figure 7: the entropy of predictions next to that of the labels they were learned from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.reporting.charts import Field, scatter
from sfumato.tables.doubt import entropy
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.sucholutsky_2023 import label_sets as sets
from sfumato_papers.sucholutsky_2023 import training


def predicted_entropy(rerun: Rerun) -> Part:
    """The entropy of predictions next to that of the labels they were learned from."""
    runs, every = training.predictions(rerun), sets.label_sets(rerun)
    gaps: dict[str, dict[int, float]] = {}
    rows: list[tuple[str, float, float]] = []
    for run in runs:
        labels = every[run.target]
        learned = float(entropy(labels.probs[labels.rows_of(run.predictions.items)]).mean())
        own = float(entropy(run.predictions.probs).mean())
        gaps.setdefault(run.target, {})[run.seed] = own - learned
        rows.append((run.target, learned, own))
    mean = {name: float(np.mean(list(each.values()))) for name, each in gaps.items()}
    closest = min((sets.S_HARD, sets.H, sets.HARD, sets.LOW, sets.HIGH), key=lambda name: abs(mean[name]))
    findings: list[Finding | Statement] = [
        Finding.over_seeds(name, "entropy of predictions minus that of labels", None, values)
        for name, values in gaps.items()
    ]
    findings.append(
        Statement(
            "Resonance",
            "remarkable alignment for networks trained on the CIFAR-10S varieties",
            holds=closest == sets.S_HARD,
            ours=f"nearest among the paper's sets: {closest} ({mean[closest]:+.2f}); {sets.S_HARD} "
            f"{mean[sets.S_HARD]:+.2f}",
            how=_of_all(mean),
        )
    )
    chart = scatter(
        "figure-7",
        title="Entropy of predictions next to that of the labels learned from",
        caption="Mean over the images that were not learned from; a point a training.",
        data=dict(zip(("labels", "learned", "predicted"), zip(*rows, strict=True), strict=True)),
        x=Field("learned", "mean entropy of labels (nats)", ".2f"),
        y=Field("predicted", "mean entropy of predictions (nats)", ".2f"),
        series="labels",
    )
    return Part(
        "Figure 7; Appendix C",
        "Elicited-human against model-predicted entropy",
        tuple(findings),
        scaled_down=training.scaled_down(rerun.scale),
        charts=(chart,),
    )


def _of_all(gaps: Mapping[str, float]) -> str:
    """What the gaps have in common, where they do."""
    if min(gaps.values()) > 0:
        return "after so few epochs networks doubt more than any of the labels they learned from"
    if max(gaps.values()) < 0:
        return "all networks are surer than the labels they learned from"
    return ""
