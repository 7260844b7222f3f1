"""Forms compared, drawn: how far answers lie from the pooled label for the seconds that people spend on them."""

from __future__ import annotations

from sfumato.planning.form_comparison import TOTAL_VARIATION, FormScores
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve


def form_curves(scores: FormScores, measure: str = TOTAL_VARIATION) -> Chart:
    """A line a form, a point a number of answers: annotator-seconds an item across, divergence and its interval up."""
    rows = [each for each in scores.scores if each.measure == measure]
    return curve(
        "forms",
        title=f"{measure[0].upper()}{measure[1:]} from the pooled label, by the seconds spent on an item",
        caption=f"{rows[0].n_items:,} items. A point more is an answer more; bands are 95% intervals for other items.",
        data={
            "form": [each.form for each in rows],
            "seconds": [each.seconds for each in rows],
            "divergence": [each.divergence for each in rows],
            "low": [each.low for each in rows],
            "high": [each.high for each in rows],
            "answers": [each.n_answers for each in rows],
        },
        x=Field("seconds", "annotator-seconds an item", ".3~g", log=True),
        y=Field("divergence", measure, ".3~g", zero=True),
        low="low",
        high="high",
        series="form",
        told=(Field("answers", "answers an item", "d"),),
    )
