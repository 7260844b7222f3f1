"""Section 4: do six labels per picture suffice? LeNet taught by some six votes, and by all there are."""

from __future__ import annotations

import numpy as np

from sfumato.evaluation import GivenStrata, RunPredictions, measure_runs, read_runs
from sfumato.evaluation.metrics import KLDivergence
from sfumato.reporting.charts import Field, dots
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import network_named
from sfumato.training.splits import NamedSplit
from sfumato.training.targets import DeaggregatedTarget, SoftTarget
from sfumato_papers.chart_data import chart_columns
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.soft_digits.dataset import TABLE_1
from sfumato_papers.soft_digits.run_scores import KLD, by_seed, instead
from sfumato_papers.soft_digits.sets import ANNOTATIONS_PER_IMAGE, HLV, MUKHOTI, SEED, Audited, stand_ins
from sfumato_papers.soft_digits.training import MAJORITY, SEEDS, best_recipe, over_classes, performance

SIX, EVERY = "six votes", "all votes"
NETWORK = "LeNet"
MOVED = "Mukhoti: pictures whose majority is another class"


def section_4(rerun: Rerun) -> Part:
    _, fashion = stand_ins(rerun)
    votes = rerun.data.fashion_mnist_h
    everyone = over_classes(fashion, votes.probs[votes.rows_of(list(fashion.inputs.items))], votes.classes)
    runs = [*_taught(rerun, fashion, votes, everyone)]
    runs += [run for run in performance(rerun, fashion) if (run.target, run.network) == (MAJORITY, "lenet")]
    strata = [GivenStrata({item: fashion.stratum[item] for item in fashion.tested})]
    scores = measure_runs(runs, people=everyone, metrics=[KLDivergence()], strata=strata, resamples=100)
    own = {target: by_seed(scores, target, NETWORK, KLD, HLV) for target in (MAJORITY, SIX, EVERY)}
    gain = {target: Estimate.paired(own[target], own[MAJORITY]) for target in (SIX, EVERY)}
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
        data=chart_columns(("taught by", "kld"), shown.items()),
        of="taught by",
        value=Field("kld", "KL divergence, nats", ".2f"),
        low="low",
        high="high",
    )
    about = (
        "Some six single votes per picture, as many as Table 6 says, against all 53 to 79 there are, and against "
        "the majority of the panels; all scored on all votes."
    )
    return Part("Section 4", "Whether six labels per picture suffice", findings, about, instead(rerun.scale), (chart,))


def drawn_votes(votes: SoftLabels, items: tuple[str, ...], rng: np.random.Generator) -> np.ndarray:
    """The shares of a few votes on each item, drawn without replacement, as many as a picture of soft-digits has."""
    assert votes.n_annotators is not None
    rows = votes.rows_of(list(items))
    counts = np.rint(votes.probs[rows] * votes.n_annotators[rows, None]).astype(np.int64)
    sizes = np.repeat(list(ANNOTATIONS_PER_IMAGE), list(ANNOTATIONS_PER_IMAGE.values()))
    n_votes = rng.choice(sizes, len(items))
    few = np.array([rng.multivariate_hypergeometric(own, n) for own, n in zip(counts, n_votes, strict=True)])
    return np.asarray(few / few.sum(axis=1, keepdims=True))


def _taught(rerun: Rerun, audited: Audited, votes: SoftLabels, everyone: SoftLabels) -> list[RunPredictions]:
    """The same weights, batches and validation items as in the trainings on the majority."""
    items = audited.inputs.items
    few = over_classes(audited, drawn_votes(votes, items, np.random.default_rng(SEED)), votes.classes)
    beliefs = Beliefs.from_probs(item=items, annotator=["all"] * len(items), probs=few.probs, classes=few.classes)
    data = join_items(audited.inputs, people=everyone, beliefs=beliefs, classes=everyone.classes)
    grid = Grid(
        targets={SIX: DeaggregatedTarget(), EVERY: SoftTarget()},
        networks={"lenet": network_named("lenet")},
        seeds=tuple(range(rerun.scale.of(SEEDS))),
        recipe=best_recipe(rerun.scale, audited),
        device=rerun.device,
    )
    folds = NamedSplit(audited.learnt, audited.tested).folds(data)
    return read_runs(rerun.train("fashion-mnist-h-votes", data=data, folds=folds, grid=grid))
