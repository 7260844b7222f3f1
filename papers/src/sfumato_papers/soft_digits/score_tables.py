"""Tables 2, 3, 9 and 10: accuracy, KL divergence and Brier score, on soft-digits and on the substitute sets."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.reporting.charts import Chart, Field, bars, dots
from sfumato_papers.finding import Estimate, Finding, Statement, in_words, with_intervals
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_table import published_tables
from sfumato_papers.soft_digits import run_scores, training
from sfumato_papers.soft_digits.run_scores import ACCURACY, KLD, contrasts, is_above, is_below, measured, stand_in_cells
from sfumato_papers.soft_digits.sets import FASHION_MNIST_H, HLV, NO_HLV, ON_ORIGINAL, ON_PEOPLE, Audited, stand_ins

STRATA = tuple(column for column, (_, stratum) in run_scores.COLUMNS.items() if stratum in (NO_HLV, HLV))
BOTH = (ON_ORIGINAL, ON_PEOPLE)


def table_2(rerun: Rerun) -> Part:
    about = "Rows: set, labels scored on, labels trained on. In the Mukhoti part, `original` is synthetic."
    return _printed(rerun, 2, "Accuracy by human label variation", ACCURACY, about, factor=100, places=2)


def table_3(rerun: Rerun) -> Part:
    about = "KL(people, predicted), the mean over items in nats; people's label is the weighted one."
    return _printed(rerun, 3, "KL divergence from people's labels", KLD, about)


def table_9(rerun: Rerun) -> Part:
    return _printed(rerun, 9, "Accuracy over all test items", ACCURACY, factor=100, places=2)


def table_10(rerun: Rerun) -> Part:
    about = "The mean over items of the sum of squared differences, from 0 to 2."
    return _printed(rerun, 10, "Brier scores", run_scores.BRIER, about)


def _printed(
    rerun: Rerun, number: int, title: str, metric: str, about: str = "", *, factor: float = 1.0, places: int = 3
) -> Part:
    table = published_tables("soft_digits")[f"Table {number}"]
    findings = run_scores.cells(rerun, table, metric, factor=factor, places=places)
    return Part(f"Table {number}", title, tuple(findings), about, run_scores.smaller_than_published(rerun))


def _elsewhere(
    rerun: Rerun, number: int, findings: Sequence[Finding | Statement], about: str = "", *charts: Chart
) -> Part:
    title = "The same on CIFAR-10H and Fashion-MNIST-H"
    return Part(f"Table {number}, elsewhere", title, tuple(findings), about, run_scores.instead(rerun.scale), charts)


def table_2_elsewhere(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = [*stand_in_cells(rerun, ACCURACY, BOTH, STRATA, factor=100, places=1)]
    for audited in stand_ins(rerun):
        findings += _accuracy_statements(rerun, audited)
    about = (
        "In percent. `synthetic` are what a model says of the pictures (a ResNet-110 on CIFAR-10, a LeNet that "
        "learned other pictures of Fashion-MNIST). `shuffled` has people's labels on other pictures of the same "
        "class, `entropy-matched` as much doubt as people have but between no classes in particular; the paper "
        "has neither. Differences are paired by seed, and named with their 95% interval; a sentence holds where "
        "the interval of all three networks together (their mean, seed by seed) leaves out 0."
    )
    return _elsewhere(rerun, 2, findings, about, _accuracy_chart(rerun))


def table_3_elsewhere(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = [*stand_in_cells(rerun, KLD, (ON_PEOPLE,), STRATA)]
    for audited in stand_ins(rerun):
        findings += _against_controls(rerun, audited)
        findings += _kld_statements(rerun, audited)
    about = (
        "The rows `weighted less shuffled` and `weighted less entropy-matched` ask whether it is the doubt of "
        "the very picture, and between the very classes, that helps; the paper does not."
    )
    return _elsewhere(rerun, 3, findings, about, _kld_chart(rerun))


def table_9_elsewhere(rerun: Rerun) -> Part:
    return _elsewhere(rerun, 9, stand_in_cells(rerun, ACCURACY, BOTH, tuple(training.NETWORKS), factor=100, places=1))


def table_10_elsewhere(rerun: Rerun) -> Part:
    findings: list[Finding | Statement] = [*stand_in_cells(rerun, run_scores.BRIER, BOTH, STRATA)]
    says = "soft labels have lower Brier scores where people disagree"
    for audited in stand_ins(rerun):
        scores = measured(rerun, audited)[ON_PEOPLE]
        for base in (training.ORIGINAL, training.MAJORITY):
            found = contrasts(scores, training.WEIGHTED, base, run_scores.BRIER, HLV)
            findings.append(Statement(f"{audited.name}: soft for {base}", says, is_below(found), in_words(found)))
    return _elsewhere(rerun, 10, findings)


def _accuracy_statements(rerun: Rerun, audited: Audited) -> list[Statement]:
    scores = measured(rerun, audited)
    people, original = scores[ON_PEOPLE], scores[ON_ORIGINAL]
    soft = contrasts(people, training.WEIGHTED, training.MAJORITY, ACCURACY, HLV)
    moved = run_scores.differences(
        *(
            {n: run_scores.by_seed(each, training.MAJORITY, n, ACCURACY, HLV) for n in training.NETWORKS}
            for each in (people, original)
        )
    )
    made = contrasts(people, training.SYNTHETIC, training.MAJORITY, ACCURACY, HLV)
    fitted = contrasts(original, training.SYNTHETIC, training.MAJORITY, ACCURACY, HLV)
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
        shift = contrasts(people, training.MAJORITY, training.ORIGINAL, ACCURACY, HLV)
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


def _accuracy_chart(rerun: Rerun) -> Chart:
    rows = []
    for audited in stand_ins(rerun):
        scores = measured(rerun, audited)[ON_PEOPLE]
        for words, target, base in (
            ("majority for original", training.MAJORITY, training.ORIGINAL),
            ("soft for majority", training.WEIGHTED, training.MAJORITY),
        ):
            for stratum in (NO_HLV, HLV):
                for network, found in contrasts(scores, target, base, ACCURACY, stratum).items():
                    rows.append((f"{audited.name}, {stratum}, {network}: {words}", words, found.times(100)))
    return dots(
        "table-2",
        title="What other classes and what doubt add to accuracy",
        caption="Points of accuracy on people's labels, paired by seed, with 95% intervals over seeds.",
        **with_intervals(("change", "step", "points"), rows),
        of="change",
        value=Field("points", "points of accuracy", "+.1f"),
        series="step",
    )


COMPARABLE = 0.1
"""Half a tenth of a nat either way is what the paper's LeNet figures on NoHLV allow; twice that is taken here."""


def _against_controls(rerun: Rerun, audited: Audited) -> list[Finding]:
    """How people's own labels differ from labels with as much doubt that is not about the picture."""
    scores = measured(rerun, audited)[ON_PEOPLE]
    return [
        Finding(
            f"{audited.name}: weighted less {control}", f"{network} {stratum}", None,
            contrasts(scores, training.WEIGHTED, control, KLD, stratum, [network])[network],
        )
        for control in training.CONTROLS
        for network in training.NETWORKS
        for stratum in (NO_HLV, HLV)
    ]  # fmt: skip


def _kld_statements(rerun: Rerun, audited: Audited) -> list[Statement]:
    scores, name = measured(rerun, audited)[ON_PEOPLE], audited.name
    found = []
    for target in (training.EQUAL, training.WEIGHTED):
        for base in (training.ORIGINAL, training.MAJORITY):
            less, says = contrasts(scores, target, base, KLD, HLV), "soft labels have a lower KLD where people disagree"
            found.append(Statement(f"{name}: {target} for {base}", says, is_below(less), in_words(less)))
    agreed = contrasts(scores, training.WEIGHTED, training.MAJORITY, KLD, NO_HLV, ["LeNet"])
    made = contrasts(scores, training.WEIGHTED, training.SYNTHETIC, KLD, HLV)
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


def _kld_chart(rerun: Rerun) -> Chart:
    rows = [
        (audited.name, target, Estimate.over_seeds(run_scores.by_seed(scores, target, "LeNet", KLD, HLV).values()))
        for audited in stand_ins(rerun)
        for scores in (measured(rerun, audited)[ON_PEOPLE],)
        for target in (*training.TARGETS, training.SYNTHETIC, *training.CONTROLS)
    ]
    return bars(
        "table-3",
        title="How far from people, where people disagree",
        caption=f"KL divergence of LeNet's predictions from people's labels on HLV items, by set and target; one of "
        f"{len(training.NETWORKS)} networks. Bars with 95% intervals over seeds.",
        **with_intervals(("set", "target", "kld"), rows),
        of="set",
        value=Field("kld", "KL divergence, nats", ".2f"),
        series="target",
    )
