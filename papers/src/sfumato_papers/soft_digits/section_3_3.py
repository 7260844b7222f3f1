"""Section 3.3: its sentences next to its own tables, and how much of a gain is other classes, how much is doubt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.stats import ttest_ind_from_stats

from sfumato.evaluation.gain_decomposition import PARTS, Shift, mode_shift
from sfumato.reporting.charts import Field, dots
from sfumato_papers.finding import Estimate, Finding, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_table import PublishedTable, published_tables
from sfumato_papers.soft_digits.run_scores import ACCURACY, BRIER, KLD, audited_sets, measured, row_of, smaller
from sfumato_papers.soft_digits.sets import HLV, MNIST, MUKHOTI, NO_HLV, ON_ORIGINAL, ON_PEOPLE, Audited
from sfumato_papers.soft_digits.training import EQUAL, MAJORITY, NETWORKS, ORIGINAL, TARGETS, WEIGHTED

TABLE_2, TABLE_3, TABLE_9 = (published_tables("soft_digits")[f"Table {number}"] for number in (2, 3, 9))
N_SEEDS = 6
ALPHA = 0.05
PEOPLES = (MAJORITY, EQUAL, WEIGHTED)
N_TESTED = {MNIST: (268, 189), MUKHOTI: (80, 293)}
"""Test items without and with HLV: what makes whole numbers of right answers of the printed accuracies."""


def section_3_3(rerun: Rerun) -> Part:  # noqa: ARG001
    about = (
        "Each figure is worked out from the printed tables. Where a sentence speaks of soft labels and not of "
        "which, both are looked at; `how` says what comes out with one of them. Significance: Welch's t from "
        "printed means and spreads of six seeds, 5%, uncorrected."
    )
    title = "Its sentences next to its own tables"
    return Part("Section 3.3", title, (*_gaps(), *_steps(), *_significant(), _whole(MNIST), _whole(MUKHOTI)), about)


def _gaps() -> list[Finding]:
    """How far apart the two kinds of label, and the two kinds of teacher, are on HLV items."""
    gain = [_hlv(MNIST, ON_PEOPLE, t, n) - _hlv(MNIST, ON_ORIGINAL, t, n) for t, n in product(TARGETS, NETWORKS)]

    def ahead(on: str, people: Sequence[str]) -> float:
        found = [
            _hlv(MUKHOTI, on, ORIGINAL, network) - np.mean([_hlv(MUKHOTI, on, each, network) for each in people])
            for network in NETWORKS
        ]
        return float(np.mean(found))

    return [
        Finding.exact(
            "MNIST, HLV: re-annotated less original labels", "points", "3", float(np.mean(gain)), places=2,
            how=f"the mean of twelve; they run from {min(gain):.2f} to {max(gain):.2f}",
        ),
        Finding.exact(
            "Mukhoti, HLV: synthetic ahead on original labels", "points", "28", ahead(ON_ORIGINAL, PEOPLES), places=2,
            how=f"of all three targets made by people; of the equal label alone {ahead(ON_ORIGINAL, [EQUAL]):.2f}",
        ),
        Finding.exact(
            "Mukhoti, HLV: synthetic behind on people's labels", "points", "7", -ahead(ON_PEOPLE, PEOPLES), places=2,
            how=f"of all three targets made by people; of the equal label alone {-ahead(ON_PEOPLE, [EQUAL]):.2f}",
        ),
    ]  # fmt: skip


def _steps() -> list[Finding]:
    """From target to target, on people's labels: the least and the most over the three networks."""
    asked = [
        ("MNIST, HLV: soft for majority", MNIST, HLV, MAJORITY, EQUAL, "1", "4"),
        ("MNIST, NoHLV: soft for majority", MNIST, NO_HLV, MAJORITY, EQUAL, "1", "2"),
        ("Mukhoti, HLV: majority for synthetic", MUKHOTI, HLV, ORIGINAL, MAJORITY, "1", "4"),
        ("Mukhoti, HLV: soft for majority", MUKHOTI, HLV, MAJORITY, EQUAL, "4", "6"),
    ]
    findings = []
    for row, name, stratum, base, target, least, most in asked:
        own, weighted, start = (
            np.array([_mean(TABLE_2, name, ON_PEOPLE, each, f"{network} {stratum}") for network in NETWORKS])
            for each in (target, WEIGHTED, base)
        )
        step, other = own - start, weighted - start
        how = f"with the weighted label {min(other):.2f} to {max(other):.2f}" if target == EQUAL else ""
        findings += [
            Finding.exact(f"{row}, least", "points", least, min(step), how=how, places=2),
            Finding.exact(f"{row}, most", "points", most, max(step), how=how, places=2),
        ]
    return findings


def _significant() -> list[Statement]:
    p = {n: p_of(TABLE_2, MNIST, f"{n} {HLV}", EQUAL, MAJORITY) for n in NETWORKS}
    compared = [*product((MNIST, MUKHOTI), (f"{n} {HLV}" for n in NETWORKS), (EQUAL, WEIGHTED), (ORIGINAL, MAJORITY))]
    worst = max(p_of(TABLE_3, *each) for each in compared)
    lower = all(
        _mean(TABLE_3, name, ON_PEOPLE, soft, column) < _mean(TABLE_3, name, ON_PEOPLE, base, column)
        for name, column, soft, base in compared
    )
    return [
        Statement(
            "MNIST, HLV: significant gains", "significant for the two more capable networks, for the simplest not",
            p["DeeperFFN"] < ALPHA and p["LeNet"] < ALPHA and p["SimpleFFN"] >= ALPHA,
            ", ".join(f"{name} p = {value:.4f}" for name, value in p.items()), "equal against majority",
        ),
        Statement(
            "HLV: KL divergence",
            "significantly lower with soft labels than with original or majority ones, throughout",
            lower and worst < ALPHA, f"largest of 24 p values {worst:.1e}",
        ),
    ]  # fmt: skip


def _whole(name: str) -> Statement:
    """Whether the accuracies over all test items are what the strata make together."""
    agreed, disagreed = N_TESTED[name]
    gaps = {}
    for target, network in product(TARGETS, NETWORKS):
        parts = [_mean(TABLE_2, name, ON_PEOPLE, target, f"{network} {stratum}") for stratum in (NO_HLV, HLV)]
        mixed = (agreed * parts[0] + disagreed * parts[1]) / (agreed + disagreed)
        gaps[network, target] = _mean(TABLE_9, name, ON_PEOPLE, target, network) - mixed
    far = max(gaps, key=lambda key: abs(gaps[key]))
    return Statement(
        f"{name}: Table 9 from Table 2", "Table 9 is about all test items, of which Table 2 shows the two strata",
        max(abs(each) for each in gaps.values()) <= 0.02,
        f"off by {gaps[far]:+.2f} points for {far[0]}, {far[1]}; in the middle by "
        f"{float(np.median(np.abs(list(gaps.values())))):.2f}",
        f"on people's labels, {agreed} items without and {disagreed} with HLV; 0.02 is what rounding "
        "allows. No shares of the strata make all rows fit: the two tables are not of the same trainings",
    )  # fmt: skip


def _hlv(name: str, on: str, target: str, network: str) -> float:
    return _mean(TABLE_2, name, on, target, f"{network} {HLV}")


def _mean(table: PublishedTable, name: str, on: str, target: str, column: str) -> float:
    return table.cells[row_of(name, on, target), column].value


def p_of(table: PublishedTable, name: str, column: str, one: str, other: str) -> float:
    """Welch's two-sided p of the printed means of two targets, six seeds each; seeds are not paired there."""
    figures: list[float] = []
    for target in (one, other):
        key = row_of(name, ON_PEOPLE, target), column
        figures += [table.cells[key].value, table.spreads[key].value, N_SEEDS]
    return float(np.asarray(ttest_ind_from_stats(*figures, equal_var=False).pvalue))


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
    chart = dots(
        "mode-shift",
        title="What of the gain is other classes, and what is doubt",
        caption="From original to majority to soft targets, scored on people's labels where people disagree; paired by "
        "seed, with 95% intervals over seeds. Accuracy gains to the right, KL divergence (nats) to the left.",
        **with_intervals(("step", "part", "difference"), rows),
        of="step",
        value=Field("difference", "difference", "+.2f"),
        series="part",
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
