"""How large a corpus must be, in pictures and in labels per picture, and which pictures are there twice (A.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sfumato import Beliefs, Inputs, SoftLabels
from sfumato.evaluation import GivenStrata, RunPredictions, measure_runs, read_runs
from sfumato.evaluation.duplicates import find_duplicates
from sfumato.evaluation.metrics import Accuracy, KLDivergence
from sfumato.reporting.charts import Field, curve, dots
from sfumato.tables.scores import ALL
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import network_named
from sfumato.training.optimizers import Adam
from sfumato.training.recipe import Recipe
from sfumato.training.splits import NamedSplit
from sfumato.training.targets import DeaggregatedTarget, HardTarget, SoftTarget
from sfumato_papers.finding import Estimate, Finding, Published, Statement, chart_columns, with_intervals
from sfumato_papers.paper import Part, Rerun, Scale, once
from sfumato_papers.published_data import drawn_by_class, original_labels, vote_counts
from sfumato_papers.published_table import published_tables
from sfumato_papers.soft_digits import training
from sfumato_papers.soft_digits.dataset import TABLE_1
from sfumato_papers.soft_digits.run_scores import KLD, by_seed, instead
from sfumato_papers.soft_digits.sets import HLV, MUKHOTI, N_ANNOTATIONS, SEED, Audited, stand_ins

DIGITS = tuple(map(str, range(10)))
SIZES = {
    Scale.SMALL: (50, 100),
    Scale.CPU: (50, 100, 150, 300, 500, 1000),
    Scale.FULL: (50, 100, 150, 300, 500, 1000, 2000),
}
"""Pictures a digit to learn from."""
REPEATS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 5}
EPOCHS = 25
ENOUGH, ASKED = 150, 95.0
"""So many a digit are to reach so many percent."""

TABLE_5 = published_tables("soft_digits")["Table 5"].cells
LEFT = {"ARDIS": ("126", "7,474"), "Ambiguous-MNIST (Mukhoti)": ("1,392", "10,608")}
"""Duplicates that the paper took out, and what was left."""


def table_5(rerun: Rerun) -> Part:
    accuracy = {size: _accuracy(rerun, size) for size in rerun.scale.of(SIZES)}
    findings: list[Finding | Statement] = []
    for size, values in accuracy.items():
        found = Estimate.over_seeds(100 * value for value in values.values())
        findings.append(Finding("Avg. Acc.", str(size), TABLE_5["Avg. Acc.", str(size)], found, places=2))
    for size, values in accuracy.items():
        spread = Estimate(100 * float(np.std(list(values.values()), ddof=1)), covers="repeats")
        how = f"published {TABLE_5['Avg. Std.', str(size)]}"
        findings.append(Finding("Avg. Std.", f"{size} (ours)", None, spread, how=how, places=2))
    if ENOUGH in accuracy:
        mean = 100 * float(np.mean(list(accuracy[ENOUGH].values())))
        says, how = "suffice to reach about 95% on the test set", "rounded to whole percents"
        findings.append(Statement("150 a digit", says, round(mean) >= ASKED, f"{mean:.2f}%", how))
    rows = [("ours", size, 100 * float(np.mean(list(values.values())))) for size, values in accuracy.items()]
    rows += [("published", int(size), cell.value) for (row, size), cell in TABLE_5.items() if row == "Avg. Acc."]
    chart = curve(
        "table-5",
        title="How many pictures of a digit LeNet needs",
        caption="Accuracy on the 10,000 test pictures of MNIST, the mean of the repeats.",
        data=chart_columns(("from", "pictures", "accuracy"), rows),
        x=Field("pictures", "pictures a digit", ",d", log=True),
        y=Field("accuracy", "accuracy, %", ".1f"),
        series="from",
    )
    about = (
        f"LeNet, Adam with rate 0.001 (the paper's did not survive in its text), batches of 64, {EPOCHS} epochs; "
        "every repeat draws other pictures, as many of each digit, and other weights. The protocol is the "
        "paper's at every scale; the smaller ones leave out the larger sizes"
        + (f" and have {rerun.scale.of(REPEATS)} repeats for five." if rerun.scale is Scale.SMALL else ".")
    )
    return Part("Table 5", "How many pictures a digit", findings, about, charts=(chart,))


def appendix_a_2(rerun: Rerun) -> Part:
    splits = _mnist(rerun)
    found = find_duplicates(splits, near=False)
    n_pictures = sum(len(each) for each in splits.values())
    findings: list[Finding | Statement] = [
        Finding.exact("MNIST: pictures", "pictures", "70,000", n_pictures),
        Finding.exact("MNIST: duplicates", "pictures", "0", len(found), how="the same pixels"),
    ]
    for name, (taken, left) in LEFT.items():
        findings += [
            Finding(f"{name}: duplicates taken out", "pictures", Published(taken), needs=name),
            Finding(f"{name}: left", "pictures", Published(left), needs=name),
        ]
    return Part("Appendix A.2", "Pictures that are there twice", tuple(findings))


@once
def _mnist(rerun: Rerun) -> Mapping[str, Inputs]:
    found = {}
    for part in ("train", "test"):
        inputs = rerun.data.pictures("mnist", f"{part}.npz", classes=DIGITS)
        found[part] = replace(inputs, items=tuple(f"{part}/{item}" for item in inputs.items))
    return found


def _accuracy(rerun: Rerun, size: int) -> dict[int, float]:
    train, test = _mnist(rerun).values()
    assert train.labels is not None
    truth, values = original_labels(test), {}
    for repeat in range(rerun.scale.of(REPEATS)):
        rows = drawn_by_class(train.labels, size, np.random.default_rng(repeat))
        data, fold = training.learned_and_tested(train.take(rows), test)
        grid = size_grid(repeat, rerun.device)
        folder = rerun.train(f"mnist/{size}-a-digit/{repeat}", data=data, folds=[fold], grid=grid)
        scores = measure_runs(read_runs(folder), people=truth, metrics=[Accuracy()], resamples=100)
        figures = scores.of("hard", "lenet", "accuracy", ALL)
        assert figures is not None
        values[repeat] = float(figures.values[0])
    return values


def size_grid(repeat: int, device: str = "cpu") -> Grid:
    recipe = Recipe(epochs=EPOCHS, batch_size=64, optimiser=Adam(rate=1e-3), dynamics="none")
    return Grid({"hard": HardTarget()}, {"lenet": network_named("lenet")}, (repeat,), recipe, device=device)


SIX, EVERY = "six votes", "all votes"
NETWORK = "LeNet"
MOVED = "Mukhoti: pictures whose majority is another class"


def section_4(rerun: Rerun) -> Part:
    _, fashion = stand_ins(rerun)
    votes = rerun.data.fashion_mnist_h
    everyone = training.over_classes(fashion, votes.probs[votes.rows_of(list(fashion.inputs.items))], votes.classes)
    runs = [*_taught(rerun, fashion, votes, everyone)]
    runs += [
        run for run in training.performance(rerun, fashion) if (run.target, run.network) == (training.MAJORITY, "lenet")
    ]
    strata = [GivenStrata({item: fashion.stratum[item] for item in fashion.tested})]
    scores = measure_runs(runs, people=everyone, metrics=[KLDivergence()], strata=strata, resamples=100)
    own = {target: by_seed(scores, target, NETWORK, KLD, HLV) for target in (training.MAJORITY, SIX, EVERY)}
    gain = {target: Estimate.paired(own[target], own[training.MAJORITY]) for target in (SIX, EVERY)}
    share = gain[SIX].value / gain[EVERY].value
    moved = 100 - TABLE_1[MUKHOTI, "Orig. label agreement (%)"].value
    shown = {target: Estimate.over_seeds(values.values()) for target, values in own.items()}
    findings: list[Finding | Statement] = [
        *(Finding(f"Fashion-MNIST-H, HLV: {target}", "KLD", None, each) for target, each in shown.items()),
        Statement(
            "six labels per picture", "suffice for a significant gain in calibration; fifty are no strict requirement",
            gain[SIX].high < 0,
            f"{gain[SIX].signed()} nats from the majority, "
            f"{share:.0%} of what all votes gain ({gain[EVERY].value:+.3f})",
        ),
        Finding.exact(MOVED, "%", "33", moved, places=2, how="what Table 1 leaves of 100"),
    ]  # fmt: skip
    chart = dots(
        "section-4",
        title="How many votes per picture are enough",
        caption="KL divergence of LeNet's predictions from all votes on Fashion-MNIST-H, where people disagree; 95% "
        "intervals over seeds.",
        **with_intervals(("taught by", "kld"), shown.items()),
        of="taught by",
        value=Field("kld", "KL divergence, nats", ".2f"),
    )
    about = (
        "Some six single votes per picture, as many as Table 6 says, against all 53 to 79 there are, and against "
        "the majority of the panels; all scored on all votes."
    )
    return Part("Section 4", "Whether six labels per picture suffice", findings, about, instead(rerun.scale), (chart,))


def drawn_votes(votes: SoftLabels, items: tuple[str, ...], rng: np.random.Generator) -> np.ndarray:
    """The shares of a few votes on each item, drawn without replacement, as many as a picture of soft-digits has."""
    counts, n_votes = vote_counts(votes, items), rng.choice(N_ANNOTATIONS, len(items))
    few = np.array([rng.multivariate_hypergeometric(own, n) for own, n in zip(counts, n_votes, strict=True)])
    return np.asarray(few / few.sum(axis=1, keepdims=True))


def _taught(rerun: Rerun, audited: Audited, votes: SoftLabels, everyone: SoftLabels) -> list[RunPredictions]:
    """The same weights, batches and validation items as in the trainings on the majority."""
    items = audited.inputs.items
    few = training.over_classes(audited, drawn_votes(votes, items, np.random.default_rng(SEED)), votes.classes)
    beliefs = Beliefs.from_probs(item=items, annotator=["all"] * len(items), probs=few.probs, classes=few.classes)
    data = join_items(audited.inputs, people=everyone, beliefs=beliefs, classes=everyone.classes)
    grid = Grid(
        targets={SIX: DeaggregatedTarget(), EVERY: SoftTarget()},
        networks={"lenet": network_named("lenet")},
        seeds=tuple(range(rerun.scale.of(training.SEEDS))),
        recipe=training.best_recipe(rerun.scale, audited),
        device=rerun.device,
    )
    folds = NamedSplit(audited.learnt, audited.tested).folds(data)
    return read_runs(rerun.train("fashion-mnist-h-votes", data=data, folds=folds, grid=grid))
