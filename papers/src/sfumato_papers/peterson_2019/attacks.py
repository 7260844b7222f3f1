"""Section 7 of Peterson et al. (2019): fine-tuned networks under attack, Table 2 (FGSM) and Figure 4 (PGD)."""

from __future__ import annotations

from sfumato.reporting.charts import Field, curve
from sfumato.training.attacks import Attack, attack_named
from sfumato.training.trained_runs import CLEAN
from sfumato_papers.finding import Estimate, Finding, Published, Reference, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun, Scale, once
from sfumato_papers.peterson_2019.protocol import BESIDE, CONTROL, HUMAN, NETWORKS, TUNING, fine_tuned, smaller
from sfumato_papers.peterson_2019.run_scores import Scored, set_beside, under_attack
from sfumato_papers.published_table import Cells, published_tables

EPS = 4 / 255
STEPS = {Scale.SMALL: 5, Scale.CPU: 10, Scale.FULL: 20}
"""Of PGD. The paper does not say in its text how many there were, nor how long each."""
ATTACKED = (CONTROL, HUMAN, "shuffled", "entropy-matched")
COLUMN = {
    CONTROL: "C10",
    HUMAN: "C10H",
    "shuffled": "C10H, shuffled within category",
    "entropy-matched": "C10, smoothed to as much doubt",
}
TABLE_2: dict[str, Cells] = {
    what: published_tables("peterson_2019")[f"Table 2: {what}"].cells for what in ("Accuracy", "Crossentropy")
}
ROUGHLY_HALF = max(
    figure.value / TABLE_2["Crossentropy"][row, "C10"].value
    for (row, column), figure in TABLE_2["Crossentropy"].items()
    if column == "C10H"
)
"""What the paper calls roughly half: the largest share of the control's crossentropy in its table."""
METRIC = {"Accuracy": ("accuracy_original", 100.0), "Crossentropy": ("cross_entropy", 1.0)}
AFTER_PGD = {CONTROL: Published("0", "%"), HUMAN: Published("1", "%")}
"""Accuracy in the end, of every network."""
ABOUT = """
The fine-tuned networks of Table 1, on held-out pictures, led away from the class a picture came with by no more than
four gray levels a pixel; pixels lie in 0..1 and normalization is part of the network. The small network stands next to
VGG, and what is judged is how human labels differ from the control. The two controls of Figure 2 stand next to them.
"""


def table_2(rerun: Rerun) -> Part:
    found, condition = _under(rerun, "fgsm", attack_named("fgsm", {"eps": EPS}))
    findings: list[Finding | Statement] = []
    for network in rerun.scale.of(NETWORKS):
        row = BESIDE[network]
        for what, (metric, times) in METRIC.items():
            published = TABLE_2[what]
            values = {each: found.of(condition, network, each, metric, times=times) for each in ATTACKED}
            control, places = Reference("C10", published[row, "C10"], values[CONTROL]), 1 if times > 1 else 2
            for target, own in values.items():
                column, figure = f"{what} {COLUMN[target]}", published.get((row, COLUMN[target]))
                reference = None if target == CONTROL else control
                findings.append(Finding.over_seeds(row, column, figure, own, reference=reference, places=places))
            for rival in ("shuffled", "entropy-matched"):
                less = Estimate.paired(values[HUMAN], values[rival])
                findings.append(set_beside(row, f"{what} C10H less {COLUMN[rival]}", less, places=places))
            if what == "Crossentropy":
                findings += _statements(found, condition, network)
    return Part(
        "Table 2", "Accuracy and crossentropy after FGSM attacks", findings, ABOUT.strip(), smaller(rerun.scale, TUNING)
    )


def _statements(found: Scored, condition: str, network: str) -> list[Statement]:
    row = BESIDE[network]
    lower = found.less(condition, network, HUMAN, CONTROL, "cross_entropy")
    before = found.less(CLEAN, network, HUMAN, CONTROL, "cross_entropy")
    human, control = (found.mean(condition, network, each, "cross_entropy") for each in (HUMAN, CONTROL))
    better = found.less(condition, network, HUMAN, CONTROL, "accuracy_original", times=100)
    return [
        Statement(
            f"{row}: loss",
            "Using human labels always results in lower (better) crossentropy.",
            holds=lower.is_below_0,
            ours=f"{lower.signed(2)}; before the attack {before.signed(2)}",
        ),
        Statement(
            f"{row}: half the loss",
            "Crossentropy is much lower (roughly half) after attacking the human-tuned network.",
            holds=human <= ROUGHLY_HALF * control,
            ours=f"{human:.2f} against {control:.2f}, {human / control:.2f} of it",
            how=f"roughly half: no more than {ROUGHLY_HALF:.2f} of it, the most among the published figures",
        ),
        Statement(
            f"{row}: accuracy",
            "For five out of eight architectures, accuracy also improves when using human soft targets.",
            holds=better.is_above_0,
            ours=f"{better.signed(1)} points",
        ),
    ]


def figure_4(rerun: Rerun) -> Part:
    steps = rerun.scale.of(STEPS)
    found, last = _under(rerun, "pgd", attack_named("pgd", {"eps": EPS, "alpha": 1 / 255, "steps": steps}))
    findings: list[Finding | Statement] = []
    rows = []
    for each in rerun.scale.of(NETWORKS):
        column = f"accuracy after {steps} iterations, %"
        control, human = (found.of(last, each, target, "accuracy_original", times=100) for target in (CONTROL, HUMAN))
        for target, own, reference in (
            (CONTROL, control, None),
            (HUMAN, human, Reference("C10", AFTER_PGD[CONTROL], control)),
        ):
            row, figure = f"{BESIDE[each]}: {COLUMN[target]}", AFTER_PGD[target]
            findings.append(Finding.over_seeds(row, column, figure, own, reference=reference, places=2))
        findings += _iterated(found, each, steps)
        for target in ATTACKED:
            for step, name in enumerate(found.sets):
                over = Estimate.over_seeds(list(found.of(name, each, target, "cross_entropy").values()))
                rows.append((BESIDE[each], COLUMN[target], step, over))
    about = (
        f"{ABOUT.strip()}\n\n{steps} iterations of one gray level each, from a start drawn within four gray levels; "
        "iteration 0 is the picture as it is."
    )
    chart = curve(
        "figure-4",
        title="Crossentropy by PGD iteration",
        caption="Crossentropy to the original class by iteration of PGD; bands: 95% for another training.",
        **with_intervals(("network", "labels", "iteration", "crossentropy"), rows),
        x=Field("iteration", "PGD iteration", "d"),
        y=Field("crossentropy", "crossentropy, nats", ".3~g", zero=True),
        series="labels",
        panel="network" if len(rerun.scale.of(NETWORKS)) > 1 else None,
    )
    title = "Crossentropy as a function of PGD iteration"
    return Part("Figure 4", title, findings, about, smaller(rerun.scale, TUNING), (chart,))


def _iterated(found: Scored, network: str, steps: int) -> list[Statement]:
    names = list(found.sets)
    last = found.less(names[-1], network, HUMAN, CONTROL, "cross_entropy")
    rise = {
        target: [found.mean(name, network, target, "cross_entropy") for name in names] for target in (CONTROL, HUMAN)
    }
    gained = {target: values[-1] - values[0] for target, values in rise.items()}
    late = {target: (values[-1] - values[-2]) for target, values in rise.items()}
    return [
        Statement(
            f"{BESIDE[network]}: slower",
            "Successive iterations increase crossentropy, but more slowly after soft-label fine-tuning.",
            holds=last.is_below_0 and gained[HUMAN] < gained[CONTROL] and min(gained.values()) > 0,
            ours=f"after {steps} iterations {last.signed(2)}; "
            f"risen by {gained[HUMAN]:.2f} against {gained[CONTROL]:.2f}",
        ),
        Statement(
            f"{BESIDE[network]}: asymptotes",
            "Loss for standard labels is driven up much more rapidly, whereas with human labels it asymptotes quickly.",
            holds=late[HUMAN] < late[CONTROL],
            ours=f"the last iteration adds {late[HUMAN]:.3f}, with standard labels {late[CONTROL]:.3f}",
        ),
    ]


@once
def _under(rerun: Rerun, name: str, attack: Attack) -> tuple[Scored, str]:
    return under_attack(rerun, fine_tuned(rerun), f"tuned-{name}", attack, rerun.data.cifar_10_test, ATTACKED)
