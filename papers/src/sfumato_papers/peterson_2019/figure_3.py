"""Figure 3 of Peterson et al. (2019): how sure networks are when right and when wrong, and how near to people."""

from __future__ import annotations

from sfumato.evaluation import metrics, read_runs
from sfumato.reporting.charts import Field
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun, once
from sfumato_papers.peterson_2019.figure_2 import LABELS, pairs_of_bars
from sfumato_papers.peterson_2019.protocol import CONTROL, FROM_SCRATCH, HUMAN, TRAINING, from_scratch, smaller
from sfumato_papers.peterson_2019.run_scores import ACROSS, Scored, scored, set_beside

RIGHT, WRONG = "confidence_when_right", "confidence_when_wrong"
COLUMNS = {
    RIGHT: "confidence when correct",
    WRONG: "confidence when incorrect",
    "kl_divergence": "KL divergence from people",
    "jsd": "JS divergence from people",
    "total_variation": "total variation from people",
    "entropy_spearman": "rank correlation of entropies",
    "accuracy": "same first choice as people",
}
CONFIDENCE, DISTANCE = Field("value", "mean confidence", ".0%"), Field("value", "distance from people", ".3~g")
AWAY = ("kl_divergence", "jsd", "total_variation")
ABOUT = """
The networks of Figure 2 on the held-out pictures. *Correct* is what most people chose. The paper's (A) comes without
numbers in its text; (B) is here three distances of all predictions from people's distributions.
"""


def figure_3(rerun: Rerun) -> Part:
    found = _fit(rerun)
    cells = [
        Finding.over_seeds(LABELS[target], column, None, found.of("people", ACROSS, target, metric))
        for target in FROM_SCRATCH
        for metric, column in COLUMNS.items()
    ]
    cells += [
        set_beside(f"human labels less {LABELS[rival]}", column, found.less("people", ACROSS, HUMAN, rival, metric))
        for rival in ("shuffled", "entropy-matched")
        for metric, column in COLUMNS.items()
    ]
    charts = tuple(
        pairs_of_bars(
            name,
            title=title,
            caption="Held-out pictures.",
            shown=[
                (COLUMNS[m].removesuffix(" from people"), LABELS[target], found.of("people", ACROSS, target, m))
                for m in shown
                for target in (CONTROL, HUMAN)
            ],
            value=value,
        )
        for name, shown, title, value in (
            ("figure-3-a", (RIGHT, WRONG), "(A) Confidence when correct and when incorrect", CONFIDENCE),
            ("figure-3-b", ("jsd", "total_variation"), "(B) Distance of predictions from people", DISTANCE),
        )
    )
    scaled_down = smaller(rerun.scale, TRAINING)
    return Part(
        "Figure 3", "Confidence, and fit to people", (*cells, *_statements(found)), ABOUT.strip(), scaled_down, charts
    )


@once
def _fit(rerun: Rerun) -> Scored:
    away = (metrics.KLDivergence(), metrics.JSD(), metrics.TotalVariation(), metrics.EntropySpearman())
    measures = (metrics.ConfidenceWhenRight(), metrics.ConfidenceWhenWrong(), *away, metrics.Accuracy())
    return Scored({"people": scored(read_runs(from_scratch(rerun)), rerun.data.cifar_10h, measures)})


def _statements(found: Scored) -> list[Statement]:
    def less(metric: str) -> Estimate:
        return found.less("people", ACROSS, HUMAN, CONTROL, metric)

    wrong, right = less(WRONG), less(RIGHT)
    return [
        Statement(
            "(A) When incorrect",
            "Soft-label models are far less confident when incorrect than hard-label controls.",
            holds=wrong.is_below_0,
            ours=wrong.signed(),
        ),
        Statement(
            "(A) When correct",
            "They are only slightly less confident when correct.",
            holds=wrong.is_below_0 and abs(right.value) < abs(wrong.value),
            ours=f"{right.signed()}, against {wrong.value:+.3f} when incorrect",
            how="slightly: by less than when incorrect",
        ),
        Statement(
            "(B) Fit to people",
            "Soft label training yields predictions that distribute probability mass more like people.",
            holds=all(less(metric).is_below_0 for metric in AWAY),
            ours="; ".join(
                f"{COLUMNS[metric].removesuffix(' from people')} {less(metric).signed()}" for metric in AWAY
            ),
        ),
        Statement(
            "(B) Same top choice",
            "... with the same top choice.",
            holds=not less("accuracy").is_below_0,
            ours=f"same first choice as people {less('accuracy').signed()}",
            how="not shown to be less often people's",
        ),
    ]
