"""Mode shift: of what people's labels gain, how much is other classes, and how much is doubt."""

from __future__ import annotations

from sfumato.evaluation.gain_decomposition import PARTS, Shift, mode_shift
from sfumato.reporting.charts import Field, dots
from sfumato_papers.chart_data import interval_chart
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.soft_digits.run_scores import ACCURACY, BRIER, KLD, audited_sets, measured, smaller
from sfumato_papers.soft_digits.sets import HLV, ON_PEOPLE, Audited
from sfumato_papers.soft_digits.training import MAJORITY, NETWORKS, ORIGINAL, WEIGHTED

METRICS = {ACCURACY: "accuracy", KLD: "KL divergence", BRIER: "Brier"}
OTHER_CLASSES, DOUBT, BOTH = PARTS


def section_3_3_mode_shift(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = []
    rows = []
    for audited in audited_sets(rerun):
        found = shifts_of(rerun, audited)
        for metric, words in METRICS.items():
            for network in NETWORKS:
                for part in PARTS:
                    each = found[network, metric, part]
                    row = f"{audited.name}, {network}: {words}"
                    ours = Estimate(each.difference, each.low, each.high, each.covers)
                    findings.append(Finding(row, part, None, ours))
                    if part != BOTH and metric != BRIER:
                        rows.append((f"{row}, {part}", part, ours))
        findings += _statements(audited, found)
    chart = interval_chart(
        dots,
        "mode-shift",
        "What of the gain is other classes, and what is doubt",
        "From original to majority to soft targets, scored on people's labels where people disagree; paired by "
        "seed, with 95% intervals over seeds. Accuracy gains to the right, KL divergence (nats) to the left.",
        rows,
        ("step", "part"),
        Field("difference", "difference", "+.2f"),
    )
    about = (
        "soft − original = (majority − original) + (soft − majority): the first step changes classes alone, the "
        "second adds doubt alone. The paper argues with this split and prints no figure of it."
    )
    return Part(
        "Section 3.3, mode shift", "Other classes and doubt, taken apart", findings, about, smaller(rerun), (chart,)
    )


def shifts_of(rerun: Rerun, audited: Audited) -> dict[tuple[str, str, str], Shift]:
    """The parts by network (the paper's name), metric and part, on HLV items."""
    scores = {ON_PEOPLE: measured(rerun, audited)[ON_PEOPLE]}
    named = {ours: name for name, ours in NETWORKS.items()}
    found = mode_shift(scores, hard=ORIGINAL, majority=MAJORITY, soft=WEIGHTED)
    return {(named[each.network], each.metric, each.part): each for each in found.shifts if each.condition == HLV}


def _statements(audited: Audited, found: dict[tuple[str, str, str], Shift]) -> list[Statement]:
    share = {n: found[n, ACCURACY, OTHER_CLASSES] for n in NETWORKS}
    doubt = {n: found[n, KLD, DOUBT] for n in NETWORKS}
    other = {n: found[n, KLD, OTHER_CLASSES] for n in NETWORKS}
    whole = [found[n, ACCURACY, BOTH] for n in NETWORKS]
    clear = [n for n in NETWORKS if share[n].share == share[n].share]
    return [
        Statement(
            f"{audited.name}: accuracy",
            "a substantial share of the accuracy gained is the change of classes",
            bool(clear) and all(share[n].share >= 0.25 for n in clear),
            ", ".join(
                f"{n} {100 * share[n].difference:+.1f} of {100 * each.difference:+.1f} points"
                + ("" if n in clear else " (no gain shown)")
                for n, each in zip(NETWORKS, whole, strict=True)
            ),
            "a quarter or more, of every gain that is clear of 0 over seeds",
        ),
        Statement(
            f"{audited.name}: calibration",
            "the larger value of doubt is in calibration: it lowers KLD beyond what the change of classes does",
            all(each.high < 0 for each in doubt.values()),
            ", ".join(
                f"{n} {doubt[n].difference:+.3f} by doubt, {other[n].difference:+.3f} by classes" for n in NETWORKS
            ),
            "the interval of doubt's part is below 0 for every network",
        ),
    ]
