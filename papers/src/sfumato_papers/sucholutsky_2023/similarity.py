"""Figures 8 and 10 and appendix D.3: whether networks find alike what people find alike.

The paper's judgments, over 200 CIFAR-10 images, are not public. A small public set replaces them: 90 pairs of
hand-written digits, 30 each of 4, 7 and 8, that seven people rated from 1 to 10 (a student project of 2018).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from jaxtyping import Float

from sfumato import Inputs
from sfumato.evaluation.rank_correlation import RankCorrelation, rank_correlation
from sfumato.evaluation.representation import FeatureSimilarity, alike
from sfumato.evaluation.similarity_judgments import Ratings, leave_one_out
from sfumato.reporting.charts import Field, dots
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import NAMED
from sfumato.training.recipe import Recipe
from sfumato.training.splits import RandomSplit
from sfumato.training.targets import HardTarget, SmoothingTarget
from sfumato.training.trained_runs import TrainedRuns, features_of, predictor_of
from sfumato_papers.finding import Estimate, Finding, chart_columns
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.sucholutsky_2023.label_informativeness import JUDGMENTS

DIGITS = tuple("0123456789")
N_LEARNT = {Scale.SMALL: 1500, Scale.CPU: 6000, Scale.FULL: 60_000}
EPOCHS = {Scale.SMALL: 3, Scale.CPU: 6, Scale.FULL: 20}
SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 10}
NETWORKS = ("lenet", "simple-ffn")
SMOOTHED = 0.2
PIXELS = "pixels"
PAIRS_A_DIGIT = 30


def similarity_judgments(rerun: Rerun) -> Part:
    ratings, shown = rated(rerun)
    assert shown.images is not None
    means = ratings.means()
    pixels = agreeing(shown.images.reshape(len(shown), -1).astype(np.float64), ratings)
    ceiling = leave_one_out(ratings)
    networks = of_networks(rerun, ratings, shown)
    findings: list[Finding] = [
        Finding("every label set, every network", "Figure 8: ρ with similarity judgments", None, needs=JUDGMENTS),
        Finding("every label set, every network", "Figure 10: loss by ρ of labels", None, needs=JUDGMENTS),
        Finding("the images", "Figures 11 to 22", None, needs="the list of the 200 images that were chosen"),
        Finding(
            "Digits: pixels",
            "ρ with ratings",
            None,
            Estimate.within(pixels.rho, pixels.interval),
            how=f"{len(means)} pairs, {len(ratings.rating):,} ratings of {ratings.n_annotators} people",
        ),
        Finding(
            "Digits: a person",
            "ρ with the others' ratings",
            None,
            Estimate(ceiling),
            how="each left out in turn: about the most to expect of a network",
        ),
        *(
            Finding.over_seeds(f"Digits: {network}, {target} labels", "ρ with ratings", None, values)
            for (network, target), values in networks.items()
        ),
    ]
    rows = [("pixels", PIXELS, pixels.rho), ("a person, by the others", "people", ceiling)]
    rows += [(f"{net}, {kind}", kind, float(np.mean(list(v.values())))) for (net, kind), v in networks.items()]
    chart = dots(
        "figure-8",
        title="How far networks find digits alike that people find alike",
        caption="Rank correlation of cosines in the last layer but one with mean ratings of 90 pairs of digits, which "
        "replace the paper's judgments over CIFAR-10 images.",
        data=chart_columns(("what", "labels", "rho"), rows),
        of="what",
        value=Field("rho", "rank correlation with ratings (ρ)", ".2f", zero=True),
        series="labels",
    )
    about = (
        "**Stand-in:** 630 ratings of 90 pairs of the same digit, for 49,500 of CIFAR-10 images. Pairs show one digit, "
        "so labels alone say nothing about them: what is compared is the last layer but one of networks that learned "
        f"MNIST, from hard labels and from labels smoothed by {SMOOTHED}."
    )
    title = "Similarity judgments and representations"
    smaller = "90 pairs of digits for 9,900 of CIFAR-10 images; LeNet and a feed-forward network for five others"
    return Part("Figure 8; Appendix D.3", title, findings, about, smaller, (chart,), _said(pixels.rho, networks))


def _said(pixels: float, networks: dict[tuple[str, str], dict[int, float]]) -> str:
    """Whether any network is nearer to people than pixels are."""
    best = max(networks, key=lambda key: float(np.mean(list(networks[key].values()))))
    rho = Estimate.over_seeds(networks[best].values())
    nearer = "nearer to people than" if rho.low > pixels else "not shown to be nearer to people than"
    return f"The best network ({best[0]}, {best[1]} labels, ρ = {rho.value:.2f}) is {nearer} the pixels ({pixels:.2f})."


def rated(rerun: Rerun) -> tuple[Ratings, Inputs]:
    """The ratings, and the images they are about: those of a pair stand side by side."""
    table = pl.read_csv(rerun.data.path("digit-similarity", "ratings.csv.gz"))
    with np.load(rerun.data.path("digit-similarity", "pairs.npz")) as file:
        first, second = file["images1"], file["images2"]
    row = table["digit"].to_numpy() * PAIRS_A_DIGIT + table["pair"].to_numpy()
    used, pair = np.unique(row, return_inverse=True)
    images = np.stack([first[used], second[used]], axis=1).reshape(-1, *first.shape[1:])
    items = tuple(f"{number}-{side}" for number in used.tolist() for side in "ab")
    pairs = np.arange(2 * len(used), dtype=np.int64).reshape(-1, 2)
    annotator = table["rater"].to_numpy().astype(np.int64)
    rating = table["similarity_1_10"].to_numpy().astype(np.float64)
    return Ratings(items, pairs, pair.astype(np.int64), annotator, rating), Inputs(items=items, images=images)


def agreeing(features: Float[np.ndarray, "items dims"], ratings: Ratings) -> RankCorrelation:
    """How well cosines of features rank the pairs as people do."""
    return rank_correlation(alike(features, ratings.pairs, FeatureSimilarity.COSINE), ratings.means())


def of_networks(rerun: Rerun, ratings: Ratings, shown: Inputs) -> dict[tuple[str, str], dict[int, float]]:
    """Rank correlation by network, label and seed."""
    pictures = rerun.data.pictures("mnist", "train.npz", classes=DIGITS).take(np.arange(rerun.scale.of(N_LEARNT)))
    data = join_items(pictures, classes=DIGITS)
    grid = digit_grid(rerun.scale, rerun.device)
    folder = rerun.train("digits", data=data, folds=RandomSplit(0.1).folds(data), grid=grid)
    found: dict[tuple[str, str], dict[int, float]] = {}
    for run in TrainedRuns.in_folder(folder).runs:
        features = features_of(predictor_of(run, {}), shown).features.astype(np.float64)
        key = str(run.metadata["network"]), str(run.metadata["target"])
        found.setdefault(key, {})[int(run.metadata["seed"])] = agreeing(features, ratings).rho
    return found


def digit_grid(scale: Scale, device: str = "cpu") -> Grid:
    return Grid(
        targets={"hard": HardTarget(), "smoothed": SmoothingTarget(SMOOTHED)},
        networks={name: NAMED[name] for name in NETWORKS},
        seeds=tuple(range(scale.of(SEEDS))),
        recipe=Recipe(epochs=scale.of(EPOCHS), dynamics="none"),
        device=device,
    )
