"""Tables 2 and 9: accuracy on original and on re-annotated labels."""

from __future__ import annotations

from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, dots
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.soft_digits.published_comparison import (
    COLUMNS,
    cells,
    instead,
    smaller_than_published,
    stand_in_cells,
)
from sfumato_papers.soft_digits.published_tables import ON_ORIGINAL, ON_PEOPLE, TABLE_2, TABLE_9
from sfumato_papers.soft_digits.run_scores import (
    ACCURACY,
    contrasts,
    differences,
    in_words,
    is_above,
    is_below,
    measured,
)
from sfumato_papers.soft_digits.run_scores import by_seed as of
from sfumato_papers.soft_digits.sets import FASHION_MNIST_H, HLV, NO_HLV, Audited, stand_ins
from sfumato_papers.soft_digits.training import MAJORITY, NETWORKS, ORIGINAL, SYNTHETIC, WEIGHTED

STRATA = tuple(column for column, (_, stratum) in COLUMNS.items() if stratum in (NO_HLV, HLV))


def table_2(rerun: Rerun) -> Part:
    """As printed, with ours where the file is given."""
    return Part(
        "Table 2",
        "Accuracy by human label variation",
        tuple(cells(rerun, TABLE_2, ACCURACY, factor=100, places=2)),
        about="Rows: set, labels scored on, labels trained on. In the Mukhoti part, `original` is synthetic.",
        scaled_down=smaller_than_published(rerun),
    )


def table_2_elsewhere(rerun: Rerun) -> Part:
    """The same protocol on the stand-ins, and whether its conclusions hold there."""
    findings: list[Finding | Statement] = []
    findings += stand_in_cells(rerun, ACCURACY, (ON_ORIGINAL, ON_PEOPLE), STRATA, factor=100, places=1)
    for audited in stand_ins(rerun):
        findings += _statements(rerun, audited)
    return Part(
        "Table 2, elsewhere",
        "The same on CIFAR-10H and Fashion-MNIST-H",
        tuple(findings),
        about=(
            "In percent. `synthetic` are what a model says of the pictures (a ResNet-110 on CIFAR-10, a LeNet that "
            "learned other pictures of Fashion-MNIST). `shuffled` has people's labels on other pictures of the same "
            "class, `entropy-matched` as much doubt as people have but between no classes in particular; the paper "
            "has neither. Differences are paired by seed, and named with their 95% interval; a sentence holds where "
            "the interval of all three networks together (their mean, seed by seed) leaves out 0."
        ),
        scaled_down=instead(rerun.scale),
        charts=(_chart(rerun),),
    )


def table_9(rerun: Rerun) -> Part:
    """Accuracy over all test items."""
    findings: list[Finding | Statement] = []
    findings += cells(rerun, TABLE_9, ACCURACY, factor=100, places=2)
    return Part("Table 9", "Accuracy over all test items", tuple(findings), scaled_down=smaller_than_published(rerun))


def table_9_elsewhere(rerun: Rerun) -> Part:
    """Accuracy over all test items of the stand-ins."""
    findings: list[Finding | Statement] = []
    findings += stand_in_cells(rerun, ACCURACY, (ON_ORIGINAL, ON_PEOPLE), tuple(NETWORKS), factor=100, places=1)
    return Part(
        "Table 9, elsewhere",
        "The same on CIFAR-10H and Fashion-MNIST-H",
        tuple(findings),
        scaled_down=instead(rerun.scale),
    )


def _statements(rerun: Rerun, audited: Audited) -> list[Statement]:
    scores = measured(rerun, audited)
    people, original = scores[ON_PEOPLE], scores[ON_ORIGINAL]
    soft = contrasts(people, WEIGHTED, MAJORITY, ACCURACY, HLV)
    moved = differences(*({n: of(each, MAJORITY, n, ACCURACY, HLV) for n in NETWORKS} for each in (people, original)))
    made = contrasts(people, SYNTHETIC, MAJORITY, ACCURACY, HLV)
    fitted = contrasts(original, SYNTHETIC, MAJORITY, ACCURACY, HLV)
    name = audited.name
    found = [
        Statement(
            f"{name}: soft for majority",
            "soft labels raise accuracy where people disagree, with the same first choices",
            is_above(soft), in_words(soft, percent=True),
        ),
        Statement(
            f"{name}: the labels scored on",
            "where people disagree, networks score higher on re-annotated than on original labels",
            is_above(moved), in_words(moved, percent=True), "trained on the majority",
        ),
        Statement(
            f"{name}: model-made labels, on people's",
            "trained on model-made labels, networks match people's choices less than those trained on people's "
            "majority",
            is_below(made), in_words(made, percent=True),
        ),
    ]  # fmt: skip
    if name == FASHION_MNIST_H:
        shift = contrasts(people, MAJORITY, ORIGINAL, ACCURACY, HLV)
        found += [
            Statement(
                f"{name}: majority for original",
                "the majority as target raises accuracy where people disagree (Mukhoti)",
                is_above(shift), in_words(shift, percent=True),
            ),
            Statement(
                f"{name}: model-made labels, on the original",
                "on the original labels model-made targets win over people's (Mukhoti)",
                is_above(fitted), in_words(fitted, percent=True),
            ),
        ]  # fmt: skip
    return found


def _chart(rerun: Rerun) -> Chart:
    rows = []
    for audited in stand_ins(rerun):
        scores = measured(rerun, audited)[ON_PEOPLE]
        for words, target, base in (
            ("majority for original", MAJORITY, ORIGINAL),
            ("soft for majority", WEIGHTED, MAJORITY),
        ):
            for stratum in (NO_HLV, HLV):
                for network, found in contrasts(scores, target, base, ACCURACY, stratum).items():
                    rows.append((f"{audited.name}, {stratum}, {network}: {words}", words, found))
    return dots(
        "table-2",
        title="What other classes and what doubt add to accuracy",
        caption="Points of accuracy on people's labels, paired by seed, with 95% intervals over seeds.",
        data={
            "change": [row[0] for row in rows],
            "step": [row[1] for row in rows],
            "points": [100 * row[2].value for row in rows],
            "low": [100 * row[2].low for row in rows],
            "high": [100 * row[2].high for row in rows],
        },
        of="change",
        value=Field("points", "points of accuracy", "+.1f"),
        low="low",
        high="high",
        series="step",
    )
