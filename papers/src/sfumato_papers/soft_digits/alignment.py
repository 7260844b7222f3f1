"""Table 4 and Appendix F.4: do networks doubt what people doubt?"""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.doubt_correlation import AXES, HumanDoubt, doubt_correlations
from sfumato.reporting.charts import Chart, Field, bars
from sfumato_papers.finding import Estimate, Finding, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.soft_digits.maps import maps
from sfumato_papers.soft_digits.run_scores import audited_sets, smaller
from sfumato_papers.soft_digits.sets import Audited
from sfumato_papers.soft_digits.training import MAJORITY, ORIGINAL, SYNTHETIC, WEIGHTED, watched_networks

SIGNALS = {"mean_doubt": "mean uncertainty", "unsure_proportion": "unsure proportion"}
CONFIDENCE, VARIABILITY = AXES


def table_4(rerun: Rerun) -> Part:
    return _part(rerun, "Table 4", "mean_doubt", with_chart=True)


def appendix_f_4(rerun: Rerun) -> Part:
    return _part(rerun, "Appendix F.4", "unsure_proportion", with_chart=False)


def _part(rerun: Rerun, place: str, signal: str, *, with_chart: bool) -> Part:
    findings: list[Finding | Statement] = []
    networks = list(watched_networks(rerun.scale))
    found = {audited.name: correlations(rerun, audited, signal) for audited in audited_sets(rerun)}
    for audited in audited_sets(rerun):
        own = found[audited.name]
        for (network, target, axis), rho in own.items():
            findings.append(Finding(f"{audited.name}: {target}", f"{network} {axis}", None, rho))
        findings += _statements(audited, own, networks)
    about = (
        "Spearman's correlation over items, with its 95% interval over items. The figures of this table did not "
        "survive in the paper's text; what it says of them did."
    )
    title = f"Human doubt ({SIGNALS[signal]}) and how items are learned"
    return Part(place, title, findings, about, smaller(rerun), (_chart(found),) if with_chart else ())


def correlations(rerun: Rerun, audited: Audited, signal: str) -> dict[tuple[str, str, str], Estimate]:
    """By network, target and axis of the data map."""
    doubt = HumanDoubt(audited.doubt.items, {signal: np.asarray(getattr(audited.doubt, signal))})
    found = {}
    for (network, target), drawn in maps(rerun, audited).items():
        scores = doubt_correlations(drawn, [doubt])
        for k, axis in enumerate(AXES):
            assert scores.metric[k].startswith(axis)
            ends = float(scores.low[k]), float(scores.high[k])
            found[network, target, axis] = Estimate(float(scores.value[k]), *ends, scores.covers[k])
    return found


def _statements(audited: Audited, found: dict[tuple[str, str, str], Estimate], networks: list[str]) -> list[Statement]:
    made = ORIGINAL if audited.is_synthetic else SYNTHETIC
    name = audited.name

    def told(axis: str, *targets: str) -> str:
        return "; ".join(f"{n}: " + ", ".join(f"{t} {found[n, t, axis].value:+.2f}" for t in targets) for n in networks)

    def size(network: str, target: str, axis: str) -> float:
        return abs(found[network, target, axis].value)

    says = [
        Statement(
            f"{name}: confidence", "falls with people's doubt",
            all(found[n, t, CONFIDENCE].high < 0 for n in networks for t in (MAJORITY, WEIGHTED)),
            told(CONFIDENCE, MAJORITY, WEIGHTED),
        ),
        Statement(
            f"{name}: variability", "rises with people's doubt",
            all(found[n, t, VARIABILITY].low > 0 for n in networks for t in (MAJORITY, WEIGHTED)),
            told(VARIABILITY, MAJORITY, WEIGHTED),
        ),
        Statement(
            f"{name}: soft targets", "have the strongest correlation of confidence with doubt",
            all(
                size(n, WEIGHTED, CONFIDENCE) > size(n, t, CONFIDENCE)
                for n, t, axis in found
                if axis == CONFIDENCE and t != WEIGHTED
            ),
            told(CONFIDENCE, WEIGHTED, MAJORITY, ORIGINAL),
        ),
    ]  # fmt: skip
    if (networks[0], made, CONFIDENCE) in found:
        says.append(
            Statement(
                f"{name}: model-made labels",
                "leave confidence less aligned with people's doubt than their majority does",
                all(size(n, made, CONFIDENCE) < size(n, MAJORITY, CONFIDENCE) for n in networks),
                told(CONFIDENCE, made, MAJORITY),
            )
        )  # fmt: skip
    return says


def _chart(found: dict[str, dict[tuple[str, str, str], Estimate]]) -> Chart:
    rows = [
        (f"{name}, {network}", target, rho.times(-1))
        for name, own in found.items()
        for (network, target, axis), rho in own.items()
        if axis == CONFIDENCE
    ]
    return bars(
        "table-4",
        title="How far networks doubt what people doubt",
        caption="Spearman's correlation of people's mean uncertainty with a lack of confidence (its sign turned), with "
        "95% intervals over items.",
        **with_intervals(("where", "target", "rho"), rows),
        of="where",
        value=Field("rho", "correlation of doubts", ".2f"),
        series="target",
    )
