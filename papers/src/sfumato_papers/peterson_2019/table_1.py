"""Table 1 of Peterson et al. (2019): ways to fine-tune a pretrained network, and how close each comes to people."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.reporting.charts import Chart, Field, dots
from sfumato.training.grid import PRETRAINED
from sfumato_papers.finding import Estimate, Finding, Reference, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.peterson_2019.protocol import BESIDE, CONTROL, HUMAN, MIXUP, NEEDS, NETWORKS, TUNING, smaller
from sfumato_papers.peterson_2019.run_scores import ENSEMBLE, HARD, PEOPLE, Scored, set_beside, tuned
from sfumato_papers.published_table import Cells, published_tables

TRAINED, CONTROL_ROW = "Trained CIFAR10", "FT CIFAR10"
MIXUP_ROW = "FT CIFAR10 with mixup"
CATEGORY_ROW = "FT CIFAR10H category soft targets"
SOFT_ROW = "FT CIFAR10H soft targets"
SAMPLED_ROW = "FT CIFAR10H sampled hard targets"
COLUMNS = ("c10H", "c10", "v4", "v6")

TABLE_1: dict[str, Cells] = {
    name: published_tables("peterson_2019")[f"Table 1: {name}"].cells
    for name in ("ResNet", "ResNet preact", "VGG", "DenseNet")
}
"""By architecture."""
ELSEWHERE = {"v4": "CIFAR10.1v4", "v6": "CIFAR10.1v6", "CINIC10": "CINIC10"}
"""Columns, and the test sets they are about; the last is ours."""
ROWS = {
    PRETRAINED: TRAINED,
    CONTROL: CONTROL_ROW,
    MIXUP: MIXUP_ROW,
    "category": CATEGORY_ROW,
    HUMAN: SOFT_ROW,
    "sampled": SAMPLED_ROW,
    "distilled": "FT distilled from three large networks",
    "shuffled": "FT CIFAR10H soft targets, shuffled within category",
    "entropy-matched": "FT CIFAR10 smoothed to as much doubt",
}
ABOUT = """
Networks are pretrained on hard labels of CIFAR-10's training pictures, then fine-tuned on pictures of its test set with
one target each; all targets of a seed begin with the same pretrained weights and see the same batches. The small
network of ours, plain convolutions with batch norm and max-pooling, stands next to the paper's VGG: its figures cannot
be the paper's, so what is judged is how a row differs from the control, *FT CIFAR10*.

Rows without a published figure are ours: distillation of what three large networks predict (the paper's comparison with
knowledge distillation is the next part), and the two controls of Figure 2. The column CINIC10 is ours too. Mixup has
one strength (alpha 0.5), where the paper searched ten for each architecture.
"""


def table_1(rerun: Rerun) -> Part:
    found = tuned(rerun)
    findings: list[Finding | Statement] = []
    several = len(rerun.scale.of(NETWORKS)) > 1
    for network in rerun.scale.of(NETWORKS):
        findings += _cells(found, network)
    for network in rerun.scale.of(NETWORKS):
        findings += _statements(found, network, f" ({BESIDE[network]})" if several else "")
    chart = _chart(found, next(iter(rerun.scale.of(NETWORKS))))
    title, scaled_down = "Crossentropy for each holdout set", smaller(rerun.scale, TUNING)
    return Part("Table 1", title, findings, ABOUT.strip(), scaled_down, (chart,), _of_mixup())


def _of_mixup() -> str:
    """Where the paper's own table does not bear out what it says of mixup."""
    nearer = [
        f"{name} ({cells[MIXUP_ROW, PEOPLE]} against {cells[CATEGORY_ROW, PEOPLE]})"
        for name, cells in TABLE_1.items()
        if (MIXUP_ROW, PEOPLE) in cells and cells[MIXUP_ROW, PEOPLE].value < cells[CATEGORY_ROW, PEOPLE].value
    ]
    return (
        "That mixup fits people less well than any method using their labels does not follow from the published table: "
        f"there it is nearer to people than category soft targets are, for {' and '.join(nearer)}."
    )


def _cells(found: Scored, network: str) -> list[Finding]:
    block = BESIDE[network]
    published = TABLE_1.get(block, {})
    on: Mapping[str, str] = {PEOPLE: PEOPLE, HARD: HARD, **ELSEWHERE}
    cells = []
    for target, row in ROWS.items():
        for column, name in on.items():
            figure = published.get((row, column))
            if name not in found.sets:
                if figure is not None:
                    cells.append(Finding(f"{block}: {row}", column, figure, needs=NEEDS[name]))
                continue
            own, base = (found.of(name, network, each, "cross_entropy") for each in (target, CONTROL))
            control = Reference(CONTROL_ROW, published.get((CONTROL_ROW, column)), base)
            reference = None if target == CONTROL else control
            cells.append(Finding.over_seeds(f"{block}: {row}", column, figure, own, reference=reference))
    rivals = {"shuffled": "shuffled within category", "entropy-matched": "smoothed", "distilled": "distilled"}
    return cells + [
        set_beside(
            f"{block}: soft targets less {what}", column, found.less(name, network, HUMAN, rival, "cross_entropy")
        )
        for rival, what in rivals.items()
        for column, name in on.items()
        if name in found.sets
    ]


def _statements(found: Scored, network: str, suffix: str) -> list[Statement]:
    def less(target: str, baseline: str, on: str = PEOPLE) -> Estimate:
        return found.less(on, network, target, baseline, "cross_entropy")

    def said(target: str, *baselines: str, on: str = PEOPLE) -> str:
        return "; ".join(f"less {each}: {less(target, each, on).signed()}" for each in baselines)

    own = found.of(PEOPLE, network, PRETRAINED, "cross_entropy")
    hard = found.of(HARD, network, PRETRAINED, "cross_entropy")
    ensemble = found.mean(PEOPLE, network, ENSEMBLE, "cross_entropy")
    accuracy = {each: found.less(HARD, network, each, CONTROL, "accuracy_original", times=100) for each in _HUMAN}
    others = (CONTROL, MIXUP, "category")
    return [
        Statement(
            f"Pretrained{suffix}",
            "For pretrained models crossentropy to ground truth labels is lower than to human soft labels.",
            holds=all(hard[seed] < own[seed] for seed in own),
            ours=f"{found.mean(HARD, network, PRETRAINED, 'cross_entropy'):.3f} to ground truth, "
            f"{found.mean(PEOPLE, network, PRETRAINED, 'cross_entropy'):.3f} to people",
        ),
        Statement(
            f"Ensemble of pretrained{suffix}",
            "An ensemble of hard-label networks is more like humans than any of them, but no substitute for people.",
            holds=ensemble < min(own.values())
            and ensemble > max(found.of(PEOPLE, network, HUMAN, "cross_entropy").values()),
            ours=f"ensemble of {len(own)} {ensemble:.3f}, the best of them {min(own.values()):.3f}, "
            f"fine-tuned on people {found.mean(PEOPLE, network, HUMAN, 'cross_entropy'):.3f}",
            how="our ensemble is of one architecture trained from several seeds",
        ),
        *(
            Statement(
                f"Best fit to humans: {ROWS[target].removeprefix('FT CIFAR10H ')}{suffix}",
                "Fit to humans is best when using image-level soft labels or sampling hard labels using them.",
                holds=all(less(target, each).is_below_0 for each in others),
                ours=said(target, *others),
            )
            for target in (HUMAN, "sampled")
        ),
        Statement(
            f"Category soft labels{suffix}",
            "Category soft labels were also effective, but to a lesser degree.",
            holds=less("category", CONTROL).is_below_0 and less(HUMAN, "category").is_below_0,
            ours=f"{said('category', CONTROL)}; image-level {said(HUMAN, 'category')}",
        ),
        Statement(
            f"mixup{suffix}",
            "mixup was more effective than ground truth labels alone, but less than any methods using people.",
            holds=less(MIXUP, CONTROL).is_below_0 and all(less(each, MIXUP).is_below_0 for each in _HUMAN),
            ours=f"mixup {said(MIXUP, CONTROL)}; "
            + "; ".join(f"{each} {said(each, MIXUP)}" for each in _HUMAN),
        ),
        Statement(
            f"Accuracy{suffix}",
            "No loss in accuracy when using human labels in any of the conditions that utilized them.",
            holds=not any(each.is_below_0 for each in accuracy.values()),
            ours="; ".join(f"{name} {each.signed(1)} points" for name, each in accuracy.items()),
            how="not shown to be lower than the control's",
        ),
        Statement(
            f"Generalization{suffix}",
            "Fine-tuning on human targets also produces the best generalization in terms of crossentropy.",
            holds=all(less(HUMAN, each, "CINIC10").is_below_0 for each in (PRETRAINED, CONTROL, MIXUP)),
            ours=f"on CINIC10 {said(HUMAN, PRETRAINED, CONTROL, MIXUP, on='CINIC10')}",
            how="CINIC10 for CIFAR10.1; lower than pretrained, control and mixup",
        ),
    ]  # fmt: skip


_HUMAN = ("category", HUMAN, "sampled")
"""The targets that use people's labels."""


def _chart(found: Scored, network: str) -> Chart:
    """How each row differs from the control in fit to humans: the paper's architectures, and ours."""
    rows = []
    for target, row in ROWS.items():
        if target == CONTROL:
            continue
        ours = found.less(PEOPLE, network, target, CONTROL, "cross_entropy")
        rows.append((row, "ours", ours))
        for name, cells in TABLE_1.items():
            figure, control = cells.get((row, PEOPLE)), cells[CONTROL_ROW, PEOPLE]
            if figure is not None:
                rows.append((row, f"{name}, published", Estimate(figure.less(control).value)))
    return dots(
        "table-1",
        title="Change in crossentropy to people from the control",
        caption="Left of zero is nearer to people than fine-tuning on hard labels. Lines: 95% for another training.",
        **with_intervals(("fine-tuning", "network", "change"), rows),
        of="fine-tuning",
        value=Field("change", "crossentropy to people, less control", "+.2f"),
        series="network",
    )
