"""Tables 3 and 10: how far predictions are from people's labels, by KL divergence and Brier score."""

from __future__ import annotations

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, bars
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.soft_digits.accuracy import STRATA
from sfumato_papers.soft_digits.published_comparison import cells, instead, smaller_than_published, stand_in_cells
from sfumato_papers.soft_digits.published_tables import ON_ORIGINAL, ON_PEOPLE, TABLE_3, TABLE_10
from sfumato_papers.soft_digits.run_scores import BRIER, KLD, by_seed, contrasts, in_words, is_below, measured
from sfumato_papers.soft_digits.sets import HLV, NO_HLV, Audited, stand_ins
from sfumato_papers.soft_digits.training import (
    CONTROLS,
    EQUAL,
    MAJORITY,
    NETWORKS,
    ORIGINAL,
    SYNTHETIC,
    TARGETS,
    WEIGHTED,
)

COMPARABLE = 0.1
"""Half a tenth of a nat either way is what the paper's LeNet figures on NoHLV allow; twice that is taken here."""


def table_3(rerun: Rerun) -> Part:
    """As printed, with ours where the file is given."""
    return Part(
        "Table 3",
        "KL divergence from people's labels",
        tuple(cells(rerun, TABLE_3, KLD)),
        about="KL(people, predicted), the mean over items in nats; people's label is the weighted one.",
        scaled_down=smaller_than_published(rerun),
    )


def table_3_elsewhere(rerun: Rerun) -> Part:
    """The same protocol on the stand-ins."""
    findings: list[Finding | Statement] = []
    findings += stand_in_cells(rerun, KLD, (ON_PEOPLE,), STRATA)
    for audited in stand_ins(rerun):
        findings += _against_controls(rerun, audited)
        findings += _statements(rerun, audited)
    return Part(
        "Table 3, elsewhere",
        "The same on CIFAR-10H and Fashion-MNIST-H",
        tuple(findings),
        about=(
            "The rows `weighted less shuffled` and `weighted less entropy-matched` ask whether it is the doubt of "
            "the very picture, and between the very classes, that helps; the paper does not."
        ),
        scaled_down=instead(rerun.scale),
        charts=(_chart(rerun),),
    )


def table_10(rerun: Rerun) -> Part:
    """Brier scores."""
    return Part(
        "Table 10",
        "Brier scores",
        tuple(cells(rerun, TABLE_10, BRIER)),
        about="The mean over items of the sum of squared differences, from 0 to 2.",
        scaled_down=smaller_than_published(rerun),
    )


def table_10_elsewhere(rerun: Rerun) -> Part:
    """Brier scores on the stand-ins."""
    findings: list[Finding | Statement] = []
    findings += stand_in_cells(rerun, BRIER, (ON_ORIGINAL, ON_PEOPLE), STRATA)
    for audited in stand_ins(rerun):
        scores = measured(rerun, audited)[ON_PEOPLE]
        for base in (ORIGINAL, MAJORITY):
            found = contrasts(scores, WEIGHTED, base, BRIER, HLV)
            findings.append(
                Statement(
                    f"{audited.name}: soft for {base}", "soft labels have lower Brier scores where people disagree",
                    is_below(found), in_words(found),
                )
            )  # fmt: skip
    return Part(
        "Table 10, elsewhere",
        "The same on CIFAR-10H and Fashion-MNIST-H",
        tuple(findings),
        scaled_down=instead(rerun.scale),
    )


def _against_controls(rerun: Rerun, audited: Audited) -> list[Finding]:
    """How people's own labels differ from labels with as much doubt that is not about the picture."""
    scores = measured(rerun, audited)[ON_PEOPLE]
    return [
        Finding(
            f"{audited.name}: weighted less {control}", f"{network} {stratum}", None,
            contrasts(scores, WEIGHTED, control, KLD, stratum, [network])[network],
        )
        for control in CONTROLS
        for network in NETWORKS
        for stratum in (NO_HLV, HLV)
    ]  # fmt: skip


def _statements(rerun: Rerun, audited: Audited) -> list[Statement]:
    scores, name = measured(rerun, audited)[ON_PEOPLE], audited.name
    found = []
    for target in (EQUAL, WEIGHTED):
        for base in (ORIGINAL, MAJORITY):
            less = contrasts(scores, target, base, KLD, HLV)
            found.append(
                Statement(
                    f"{name}: {target} for {base}", "soft labels have a lower KLD where people disagree",
                    is_below(less), in_words(less),
                )
            )  # fmt: skip
    agreed = contrasts(scores, WEIGHTED, MAJORITY, KLD, NO_HLV, ["LeNet"])
    made = contrasts(scores, WEIGHTED, SYNTHETIC, KLD, HLV)
    found += [
        Statement(
            f"{name}: where all agree", "soft labels keep a KLD comparable to the majority's, with LeNet above all",
            all(abs(each.value) <= COMPARABLE for each in agreed.values()), in_words(agreed),
            f"no more than {COMPARABLE} nats apart",
        ),
        Statement(
            f"{name}: model-made labels", "people's soft labels are nearer to people than model-made ones",
            is_below(made), in_words(made),
        ),
    ]  # fmt: skip
    return found


def _chart(rerun: Rerun) -> Chart:
    rows = [
        (audited.name, target, Estimate.over_seeds(list(by_seed(scores, target, "LeNet", KLD, HLV).values())))
        for audited in stand_ins(rerun)
        for scores in (measured(rerun, audited)[ON_PEOPLE],)
        for target in (*TARGETS, SYNTHETIC, *CONTROLS)
    ]
    return bars(
        "table-3",
        title="How far from people, where people disagree",
        caption=f"KL divergence of LeNet's predictions from people's labels on HLV items, by set and target; one of "
        f"{len(NETWORKS)} networks. Bars with 95% intervals over seeds.",
        data={
            "set": [row[0] for row in rows],
            "target": [row[1] for row in rows],
            "kld": [row[2].value for row in rows],
            "low": [row[2].low for row in rows],
            "high": [row[2].high for row in rows],
        },
        of="set",
        value=Field("kld", "KL divergence, nats", ".2f"),
        low="low",
        high="high",
        series="target",
    )
