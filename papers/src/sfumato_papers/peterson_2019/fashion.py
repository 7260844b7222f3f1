"""Beyond Peterson et al. (2019): the same claims on Fashion-MNIST, whose labels people doubt five times as much."""

from __future__ import annotations

from sfumato.reporting.charts import Field, dots
from sfumato.training.trained_runs import CLEAN
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import BEYOND, Part, Rerun, Scale
from sfumato_papers.peterson_2019.fashion_runs import (
    EPOCHS,
    N_HELD_OUT,
    N_LEARNT,
    NETWORK,
    SEEDS,
    on_held_out,
    under_attack,
)
from sfumato_papers.peterson_2019.protocol import CONTROL, HUMAN, MIXUP
from sfumato_papers.peterson_2019.run_scores import Scored, difference, is_above, is_below, set_beside, signed

ROWS = {
    CONTROL: "Control (hard labels)",
    MIXUP: "Control with mixup",
    "category": "Category soft targets",
    HUMAN: "Human soft targets",
    "sampled": "Sampled hard targets",
    "shuffled": "Human soft targets, shuffled within category",
    "entropy-matched": "Smoothed to as much doubt",
}
COLUMNS = {
    ("people", "cross_entropy"): "crossentropy to people",
    ("original", "cross_entropy"): "crossentropy to original labels",
    ("people", "accuracy"): "accuracy, people's first choice",
    ("original", "accuracy_original"): "accuracy, original labels",
    ("people", "second_best_accuracy"): "second best accuracy",
    ("people", "confidence_when_right"): "confidence when correct",
    ("people", "confidence_when_wrong"): "confidence when incorrect",
}
ABOUT = """
Fashion-MNIST-H (Ishida et al. 2023) has 67 votes on each of Fashion-MNIST's 10,000 test pictures; their mean entropy is
0.82 nats where CIFAR-10H's is 0.15, and people's first choice is the original label on 82% of the pictures. The
conditions of Section 6 are trained from scratch with LeNet, and the paper's statements are held against what comes out.
Nothing here was published by the authors; a statement that holds is of the same direction, no more.
"""


def fashion(rerun: Rerun) -> Part:
    """The conditions of Table 1 and Figures 2 and 3 on Fashion-MNIST-H."""
    found = on_held_out(rerun)
    cells = [
        Finding.over_seeds(row, column, None, found.of(on, NETWORK, target, metric))
        for target, row in ROWS.items()
        for (on, metric), column in COLUMNS.items()
    ]
    cells += [
        set_beside(f"{ROWS[HUMAN]} less {ROWS[rival].lower()}", column, found.less(on, NETWORK, HUMAN, rival, metric))
        for rival in ("category", "shuffled", "entropy-matched")
        for (on, metric), column in COLUMNS.items()
    ]
    return Part(
        BEYOND,
        "Fashion-MNIST-H: fit to people and generalization",
        (*cells, *_statements(found)),
        ABOUT.strip(),
        _smaller(rerun.scale),
        (
            dots(
                "fashion-fit",
                title="Crossentropy to people on Fashion-MNIST-H",
                caption="Held-out pictures; lines: 95% for another training.",
                data=_columns(found),
                of="labels",
                value=Field("crossentropy", "crossentropy to people, nats", ".2f"),
                low="low",
                high="high",
                emphasized=ROWS[HUMAN],
            ),
        ),
    )


def fashion_attacked(rerun: Rerun) -> Part:
    """Table 2 on Fashion-MNIST-H."""
    found, attacked = under_attack(rerun)
    cells = [
        Finding.over_seeds(ROWS[target], f"{what} {when}", None, found.of(on, NETWORK, target, metric), places=places)
        for target in ROWS
        for what, metric, places in (("accuracy", "accuracy_original", 3), ("crossentropy", "cross_entropy", 2))
        for on, when in ((CLEAN, "before"), (attacked, "after FGSM"))
    ]
    lower = {each: found.less(attacked, NETWORK, HUMAN, each, "cross_entropy") for each in ROWS if each != HUMAN}
    better = found.less(attacked, NETWORK, HUMAN, CONTROL, "accuracy_original", times=100)
    return Part(
        BEYOND,
        "Fashion-MNIST-H: FGSM attacks",
        (
            *cells,
            Statement(
                "Loss under attack",
                "Using human labels always results in lower (better) crossentropy.",
                holds=is_below(lower[CONTROL]),
                ours=signed(lower[CONTROL], 2),
            ),
            Statement(
                "Accuracy under attack",
                "Accuracy also improves when using human soft targets.",
                holds=is_above(better),
                ours=f"{signed(better, 1)} points",
            ),
            *(
                set_beside(
                    f"{ROWS[HUMAN]} less {ROWS[rival].lower()}", "crossentropy after FGSM", lower[rival], places=2
                )
                for rival in ("shuffled", "entropy-matched")
            ),
        ),
        "The networks of the part before, led away from the original label by four gray levels a pixel at most.",
        _smaller(rerun.scale),
    )


def _statements(found: Scored) -> list[Statement]:
    def less(target: str, baseline: str, metric: str = "cross_entropy", on: str = "people") -> Estimate:
        return found.less(on, NETWORK, target, baseline, metric)

    def below(target: str, *baselines: str) -> bool:
        return all(is_below(less(target, each)) for each in baselines)

    def said(target: str, *baselines: str) -> str:
        return "; ".join(f"less {each}: {signed(less(target, each))}" for each in baselines)

    wrong, right = (less(HUMAN, CONTROL, f"confidence_when_{each}") for each in ("wrong", "right"))
    second = less(HUMAN, CONTROL, "second_best_accuracy")
    agreed = less(HUMAN, CONTROL, "accuracy")
    original_gain = less(HUMAN, CONTROL, "accuracy_original", on="original")
    noisiest = list(found.sets)[-1]
    human = ("category", HUMAN, "sampled")
    return [
        Statement("Fit to humans", "Soft labels bring predictions nearer to people than hard ones.",
                  holds=below(HUMAN, CONTROL), ours=said(HUMAN, CONTROL)),
        *(
            Statement(f"Best fit to humans: {ROWS[target].lower()}",
                      "Fit to humans is best with image-level soft labels or sampling hard labels using them.",
                      holds=below(target, CONTROL, MIXUP, "category"), ours=said(target, CONTROL, MIXUP, "category"))
            for target in (HUMAN, "sampled")
        ),
        Statement("mixup", "mixup is more effective than hard labels alone, but less than any human information.",
                  holds=below(MIXUP, CONTROL) and all(below(each, MIXUP) for each in human),
                  ours=f"mixup {said(MIXUP, CONTROL)}; " + "; ".join(f"{each} {said(each, MIXUP)}" for each in human)),
        Statement("Second best accuracy", "Soft labels show significant boosts in second best accuracy.",
                  holds=is_above(second), ours=signed(second)),
        Statement("When incorrect", "Soft-label models are far less confident when incorrect.",
                  holds=is_below(wrong), ours=signed(wrong)),
        Statement("When correct", "They are only slightly less confident when correct.",
                  holds=is_below(wrong) and abs(right.value) < abs(wrong.value),
                  ours=f"{signed(right)}, against {wrong.value:+.3f} when incorrect",
                  how="slightly: by less than when incorrect"),
        Statement("Accuracy", "No loss in accuracy when using human labels.",
                  holds=not is_below(original_gain),
                  ours=f"original labels {signed(original_gain)}; people's first choice {signed(agreed)}",
                  how="of original labels, which people's first choice is on 82% of the pictures"),
        Statement("Distance", "The gain increases as test pictures move away from those learned.",
                  holds=is_above(_growth(found, noisiest)),
                  ours=f"gain in crossentropy under {noisiest} less gain without: {signed(_growth(found, noisiest))}",
                  how="noise on the held-out pictures, for other test sets"),
    ]  # fmt: skip


def _growth(found: Scored, noisy: str) -> Estimate:
    """How much more crossentropy is saved on noisy pictures, seed by seed."""
    saved = []
    for on in (noisy, "people"):
        human, control = (found.of(on, NETWORK, each, "cross_entropy") for each in (HUMAN, CONTROL))
        saved.append({seed: control[seed] - human[seed] for seed in human})
    return difference(*saved)


def _columns(found: Scored) -> dict[str, list[float] | list[str]]:
    over = [Estimate.over_seeds(list(found.of("people", NETWORK, each, "cross_entropy").values())) for each in ROWS]
    return {
        "labels": list(ROWS.values()),
        "crossentropy": [each.value for each in over],
        "low": [each.low for each in over],
        "high": [each.high for each in over],
    }


def _smaller(scale: Scale) -> str:
    """Always: another data set and network than the paper's."""
    return (
        f"LeNet for eight architectures, and another data set; {scale.of(N_LEARNT):,} pictures to learn from and "
        f"{scale.of(N_HELD_OUT):,} held out; {scale.of(EPOCHS)} epochs; {scale.of(SEEDS)} seeds"
    )
