"""The experiments of Peterson et al. (2019) on Fashion-MNIST-H, which is beyond the paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato import Inputs
from sfumato.evaluation import metrics, read_runs
from sfumato.evaluation.metrics import Accuracy, AccuracyOriginal, CrossEntropy
from sfumato.reporting.charts import Field, dots
from sfumato.training.attacks import attack_named
from sfumato.training.corruptions import GaussianNoise
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.mixing import Mixup
from sfumato.training.networks import LeNet
from sfumato.training.recipe import Recipe
from sfumato.training.robustness_runs import corruptions_for
from sfumato.training.splits import Fold
from sfumato.training.trained_runs import CLEAN
from sfumato_papers.finding import Estimate, Finding, Statement, with_intervals
from sfumato_papers.paper import BEYOND, Part, Rerun, Scale, once
from sfumato_papers.peterson_2019.protocol import ALPHA, CONTROL, FINE_TUNED, HUMAN, MIXUP
from sfumato_papers.peterson_2019.run_scores import Scored, scored, set_beside, under, under_attack
from sfumato_papers.published_data import original_labels

NETWORK = "lenet"
N_LEARNT = {Scale.SMALL: 2000, Scale.CPU: 7000, Scale.FULL: 7000}
N_HELD_OUT = {Scale.SMALL: 1000, Scale.CPU: 3000, Scale.FULL: 3000}
EPOCHS = {Scale.SMALL: 10, Scale.CPU: 15, Scale.FULL: 60}
SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 10}
SEVERITIES = {Scale.SMALL: (3,), Scale.CPU: (1, 3, 5), Scale.FULL: (1, 2, 3, 4, 5)}
TARGETS = {name: target for name, target in FINE_TUNED.items() if name != "distilled"}


def fashion_grid(scale: Scale, device: str = "cpu") -> Grid:
    """What is trained, mixup apart."""
    recipe = Recipe(epochs=scale.of(EPOCHS), dynamics="none")
    return Grid(TARGETS, {NETWORK: LeNet()}, tuple(range(scale.of(SEEDS))), recipe, device=device)


@once
def _pictures(rerun: Rerun) -> Inputs:
    return rerun.data.pictures("fashion-mnist", "test.npz", classes=rerun.data.fashion_mnist_h.classes)


def _trained(rerun: Rerun) -> Path:
    inputs, scale = _pictures(rerun), rerun.scale
    data = join_items(inputs, people=rerun.data.fashion_mnist_h)
    fold = Fold(0, np.arange(scale.of(N_LEARNT)), np.arange(7000, 7000 + scale.of(N_HELD_OUT)))
    grid = fashion_grid(scale, rerun.device)
    mixed = replace(grid, targets={MIXUP: FINE_TUNED[CONTROL]}, recipe=replace(grid.recipe, mixing=Mixup(alpha=ALPHA)))
    for each in (grid, mixed):
        folder = rerun.train("fashion", data=data, folds=[fold], grid=each)
    return folder


@once
def on_held_out(rerun: Rerun) -> Scored:
    """Held-out pictures against people and against original labels, and with noise against people."""
    folder, inputs, people = _trained(rerun), _pictures(rerun), rerun.data.fashion_mnist_h
    noise = corruptions_for(inputs, [GaussianNoise()], rerun.scale.of(SEVERITIES))[1:]
    noisy = rerun.shifted(folder, "fashion-noise", inputs=inputs, corrupted=noise)
    runs, hard = read_runs(folder), original_labels(inputs)
    confidence = (metrics.ConfidenceWhenRight(), metrics.ConfidenceWhenWrong())
    measures = (CrossEntropy(), Accuracy(), metrics.SecondBestAccuracy(), *confidence)
    found = {
        "people": scored(runs, people, measures),
        "original": scored(runs, hard, (CrossEntropy(), AccuracyOriginal()), original=hard),
    }
    for each in noise:
        found[each.name] = scored(under(noisy, each.name), people, (CrossEntropy(), Accuracy()))
    return Scored(found)


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
    over = [found.of("people", NETWORK, target, "cross_entropy").values() for target in ROWS]
    shown = [(row, Estimate.over_seeds(values)) for row, values in zip(ROWS.values(), over, strict=True)]
    chart = dots(
        "fashion-fit",
        title="Crossentropy to people on Fashion-MNIST-H",
        caption="Held-out pictures; lines: 95% for another training.",
        **with_intervals(("labels", "crossentropy"), shown),
        of="labels",
        value=Field("crossentropy", "crossentropy to people, nats", ".2f"),
        emphasized=ROWS[HUMAN],
    )
    title = "Fashion-MNIST-H: fit to people and generalization"
    return Part(BEYOND, title, (*cells, *_statements(found)), ABOUT.strip(), _smaller(rerun.scale), (chart,))


def fashion_attacked(rerun: Rerun) -> Part:
    fgsm = attack_named("fgsm", {"eps": 4 / 255})
    found, attacked = under_attack(rerun, _trained(rerun), "fashion-fgsm", fgsm, _pictures(rerun), ROWS)
    cells = [
        Finding.over_seeds(ROWS[target], f"{what} {when}", None, found.of(on, NETWORK, target, metric), places=places)
        for target in ROWS
        for what, metric, places in (("accuracy", "accuracy_original", 3), ("crossentropy", "cross_entropy", 2))
        for on, when in ((CLEAN, "before"), (attacked, "after FGSM"))
    ]
    lower = {each: found.less(attacked, NETWORK, HUMAN, each, "cross_entropy") for each in ROWS if each != HUMAN}
    better = found.less(attacked, NETWORK, HUMAN, CONTROL, "accuracy_original", times=100)
    findings: list[Finding | Statement] = [
        *cells,
        Statement(
            "Loss under attack",
            "Using human labels always results in lower (better) crossentropy.",
            holds=lower[CONTROL].is_below_0,
            ours=lower[CONTROL].signed(2),
        ),
        Statement(
            "Accuracy under attack",
            "Accuracy also improves when using human soft targets.",
            holds=better.is_above_0,
            ours=f"{better.signed(1)} points",
        ),
        *(
            set_beside(f"{ROWS[HUMAN]} less {ROWS[rival].lower()}", "crossentropy after FGSM", lower[rival], places=2)
            for rival in ("shuffled", "entropy-matched")
        ),
    ]
    title = "Fashion-MNIST-H: FGSM attacks"
    smaller = _smaller(rerun.scale)
    about = "The networks of the part before, led away from the original label by four gray levels a pixel at most."
    return Part(BEYOND, title, findings, about, smaller)


def _statements(found: Scored) -> list[Statement]:
    def less(target: str, baseline: str, metric: str = "cross_entropy", on: str = "people") -> Estimate:
        return found.less(on, NETWORK, target, baseline, metric)

    def below(target: str, *baselines: str) -> bool:
        return all(less(target, each).is_below_0 for each in baselines)

    def said(target: str, *baselines: str) -> str:
        return "; ".join(f"less {each}: {less(target, each).signed()}" for each in baselines)

    wrong, right = (less(HUMAN, CONTROL, f"confidence_when_{each}") for each in ("wrong", "right"))
    second = less(HUMAN, CONTROL, "second_best_accuracy")
    agreed = less(HUMAN, CONTROL, "accuracy")
    original_gain = less(HUMAN, CONTROL, "accuracy_original", on="original")
    noisiest = list(found.sets)[-1]
    growth = found.growth(noisiest, "people", NETWORK, HUMAN, CONTROL, "cross_entropy", times=-1)
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
                  holds=second.is_above_0, ours=second.signed()),
        Statement("When incorrect", "Soft-label models are far less confident when incorrect.",
                  holds=wrong.is_below_0, ours=wrong.signed()),
        Statement("When correct", "They are only slightly less confident when correct.",
                  holds=wrong.is_below_0 and abs(right.value) < abs(wrong.value),
                  ours=f"{right.signed()}, against {wrong.value:+.3f} when incorrect",
                  how="slightly: by less than when incorrect"),
        Statement("Accuracy", "No loss in accuracy when using human labels.",
                  holds=not original_gain.is_below_0,
                  ours=f"original labels {original_gain.signed()}; people's first choice {agreed.signed()}",
                  how="of original labels, which people's first choice is on 82% of the pictures"),
        Statement("Distance", "The gain increases as test pictures move away from those learned.",
                  holds=growth.is_above_0,
                  ours=f"gain in crossentropy under {noisiest} less gain without: {growth.signed()}",
                  how="noise on the held-out pictures, for other test sets"),
    ]  # fmt: skip


def _smaller(scale: Scale) -> str:
    """Always: another data set and network than the paper's."""
    return (
        f"LeNet for eight architectures, and another data set; {scale.of(N_LEARNT):,} pictures to learn from and "
        f"{scale.of(N_HELD_OUT):,} held out; {scale.of(EPOCHS)} epochs; {scale.of(SEEDS)} seeds"
    )
