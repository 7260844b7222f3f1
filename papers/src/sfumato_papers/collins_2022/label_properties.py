"""Section 4.3 with Figures 3, 4, 5, 8 and 9: how CIFAR-10S labels differ from those of CIFAR-10H."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import pearsonr, spearmanr, wasserstein_distance

from sfumato.evaluation import MatchedLabels
from sfumato.importers.importer import CIFAR_10
from sfumato.labeling import TopTwoClamp, TopTwoUniform
from sfumato.reporting.charts import Chart, Field, bars, curve, scatter
from sfumato_papers.collins_2022.elicitation import Cifar10sAnswers, as_released, counted, first_pass
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import Part, Rerun

OURS, VOTES = "Ours (T2, Clamp)", "CIFAR-10H"
NEARLY_HARD = 0.95
"""From which share of the votes on a label of CIFAR-10H counts as nearly hard."""


def section_4_3(rerun: Rerun) -> Part:
    released, first = as_released(rerun), first_pass(rerun)
    matched = released.beside_votes()
    own = first.beside_votes()
    uniform = released.beside_votes(TopTwoUniform(as_released=True))
    correlation = _pearson(matched)
    findings: list[Finding | Statement] = [
        counted(
            "entropy correlation with CIFAR-10H (Pearson)",
            "0.596",
            correlation,
            places=3,
            how=f"does not come out of the released labels. Nearest: Spearman's correlation of the same, "
            f"{spearmanr(matched.predicted_entropy, matched.people_entropy)[0]:.3f}",
        ),
        counted("the same, first pass alone", None, _pearson(own), places=3),
        counted("the same, first pass and our rule", None, _pearson(first.beside_votes(TopTwoClamp())), places=3),
        counted(
            "mean Wasserstein distance to CIFAR-10H",
            "0.028",
            wasserstein(matched).mean(),
            places=4,
            how="scipy's call on the ten probabilities as if they were observations, blind to which class is "
            f"which; Figure 8 comes out by it. T2, Unif labels give {wasserstein(uniform).mean():.4f}",
        ),
        counted(
            "mean total variation",
            None,
            total_variation(matched).mean(),
            places=3,
            how="the share of the mass that lies on other classes",
        ),
    ]
    about = (
        "Released labels (6,723, repeats among them), averaged image by image. Two labels that put the same "
        "probabilities on *different* classes have the published distance 0; the total variation is the one to read."
    )
    return Part(
        "Section 4.3", "CIFAR-10H and CIFAR-10S labels compared", findings, about, charts=(_entropies(matched),)
    )


def figures_3_and_9(rerun: Rerun) -> Part:
    matched = as_released(rerun).beside_votes()
    sure = np.flatnonzero(matched.people.max(axis=1) >= NEARLY_HARD)
    softer = matched.predicted_entropy[sure] > matched.people_entropy[sure]
    vehicles = [CIFAR_10.index(name) for name in ("automobile", "truck")]
    of_vehicles = sure[np.isin(matched.people[sure].argmax(axis=1), vehicles)]
    rest = matched.predicted[of_vehicles].copy()
    rest[np.arange(len(rest)), matched.people[of_vehicles].argmax(axis=1)] = 0
    n_other = int(np.isin(rest.argmax(axis=1), vehicles).sum())
    most = sure[np.argsort(-matched.predicted_entropy[sure], kind="stable")[:3]]
    findings: list[Finding | Statement] = [
        counted(f"images with {NEARLY_HARD:.0%} of the votes on one class", None, len(sure)),
        Statement(
            "softer",
            "CIFAR-10S labels spread mass over more classes where CIFAR-10H is all but hard",
            holds=bool(softer.mean() > 0.5),
            ours=f"higher entropy on {int(softer.sum())} of {len(sure)} images; mean "
            f"{matched.predicted_entropy[sure].mean():.3f} against {matched.people_entropy[sure].mean():.3f} nats",
        ),
        Statement(
            "automobile and truck",
            "the mass goes to similar classes: from automobile to truck, and back",
            holds=n_other > len(of_vehicles) / 2,
            ours=f"the other vehicle of the road comes second on {n_other} of {len(of_vehicles)} such images",
        ),
    ]
    charts = tuple(_labels(matched, row, f"figure-9-{n + 1}", "A hard label, softened") for n, row in enumerate(most))
    return Part("Figures 3 and 9", "Our soft variant of hard CIFAR-10H labels", findings, charts=charts)


def figures_4_and_8(rerun: Rerun) -> Part:
    matched = as_released(rerun).beside_votes()
    original = as_released(rerun).original
    names = matched.items.to_pylist()
    farthest = np.argsort(-wasserstein(matched), kind="stable")
    classes = [CIFAR_10[original[int(names[row])]] for row in farthest]
    by_variation = np.argsort(-total_variation(matched), kind="stable")[:3]
    others = [CIFAR_10[original[int(names[row])]] for row in by_variation]
    doubtful = np.flatnonzero(matched.people_entropy >= 1)
    near = int(doubtful[np.argmin(total_variation(matched)[doubtful])])
    findings: list[Finding | Statement] = [
        Statement(
            "Figure 8",
            "the three labels at the highest Wasserstein distance are of a dog, a frog and a bird",
            holds=classes[:3] == ["dog", "frog", "bird"],
            ours=f"images {', '.join(names[row] for row in farthest[:3])}: {', '.join(classes[:3])}",
            how=f"by total variation they are images {', '.join(names[row] for row in by_variation)}: "
            f"{', '.join(others)}",
        ),
        Statement(
            "Figure 4",
            "a frog and an airplane are at a high distance",
            holds={"frog", "airplane"} <= set(classes[: len(classes) // 100]),
            ours=f"{classes[: len(classes) // 100].count('frog')} frogs and "
            f"{classes[: len(classes) // 100].count('airplane')} airplanes are in the most distant hundredth",
        ),
        Statement(
            "similarly rich labels",
            "there are images of high entropy where 8.5 times fewer people give a like label",
            holds=bool(total_variation(matched)[near] < 0.1),
            ours=f"image {names[near]}: entropy {matched.predicted_entropy[near]:.2f} and "
            f"{matched.people_entropy[near]:.2f} nats, total variation {total_variation(matched)[near]:.3f}",
        ),
    ]
    charts = (
        *(_labels(matched, row, f"figure-8-{n + 1}", "A high distance") for n, row in enumerate(farthest[:3])),
        _labels(matched, near, "figure-4-3", "High entropy in both"),
    )
    return Part("Figures 4 and 8", "Labels that differ most, and one that does not", findings, charts=charts)


def figure_5(rerun: Rerun) -> Part:
    answers = first_pass(rerun)
    n_possible = np.array([10 - len(set(answer.impossible)) for answer in answers.each], np.float64)
    doubt = answers.entropy_of_votes
    with_first, with_number = (float(pearsonr(each, doubt)[0]) for each in (answers.first_percent, n_possible))
    findings: list[Finding | Statement] = [
        Statement(
            "first percent",
            "the higher the entropy under CIFAR-10H, the less probable the most probable label",
            holds=with_first < 0,
            ours=f"Pearson {with_first:+.2f}, Spearman {spearmanr(answers.first_percent, doubt)[0]:+.2f} over "
            f"{len(doubt):,} answers",
        ),
        Statement(
            "possible labels",
            "the higher the entropy under CIFAR-10H, the more labels stay possible",
            holds=with_number > 0,
            ours=f"Pearson {with_number:+.2f}, Spearman {spearmanr(n_possible, doubt)[0]:+.2f}",
        ),
    ]
    title = "Most probable label and possible labels track CIFAR-10H entropy"
    return Part("Figure 5", title, findings, charts=(_by_entropy(answers, n_possible),))


def wasserstein(matched: MatchedLabels) -> Float[np.ndarray, "items"]:
    """The paper's distance: between the ten probabilities of either label, taken as two samples of numbers."""
    rows = zip(matched.predicted, matched.people, strict=True)
    return np.array([wasserstein_distance(ours, votes) for ours, votes in rows], np.float64)


def total_variation(matched: MatchedLabels) -> Float[np.ndarray, "items"]:
    return np.asarray(np.abs(matched.predicted - matched.people).sum(axis=1) / 2)


def _pearson(matched: MatchedLabels) -> float:
    return float(pearsonr(matched.predicted_entropy, matched.people_entropy)[0])


def _entropies(matched: MatchedLabels) -> Chart:
    return scatter(
        "section-4-3-entropy",
        title="Entropy of the labels of 1,000 images",
        caption="CIFAR-10S (T2, Clamp, about 6 annotators per image) against CIFAR-10H (about 51). The gap below "
        "0.25 is how the images were chosen.",
        data={"image": matched.items.to_pylist(), "votes": matched.people_entropy, "ours": matched.predicted_entropy},
        x=Field("votes", "entropy under CIFAR-10H (nats)"),
        y=Field("ours", "entropy under CIFAR-10S (nats)"),
        of="image",
        regression=True,
    )


def _labels(matched: MatchedLabels, row: int, name: str, title: str) -> Chart:
    item = matched.items[int(row)].as_py()
    return bars(
        name,
        title=f"{title}: image {item}",
        caption=f"Total variation {total_variation(matched)[row]:.2f}.",
        data={
            "class": [*CIFAR_10, *CIFAR_10],
            "labels": [OURS] * len(CIFAR_10) + [VOTES] * len(CIFAR_10),
            "probability": [*matched.predicted[row], *matched.people[row]],
        },
        of="class",
        value=Field("probability", "probability", ".2f"),
        series="labels",
    )


def _by_entropy(answers: Cifar10sAnswers, n_possible: Float[np.ndarray, "answers"]) -> Chart:
    """The means of either within tenths of the answers, by entropy."""
    tenths = np.array_split(np.argsort(answers.entropy_of_votes, kind="stable"), 10)
    measures = {"percent on the most probable label": answers.first_percent, "labels left possible": n_possible}
    data: dict[str, list[Any]] = {
        "measure": [name for name in measures for _ in tenths],
        "entropy": [float(answers.entropy_of_votes[part].mean()) for _ in measures for part in tenths],
        "mean": [float(values[part].mean()) for values in measures.values() for part in tenths],
    }
    return curve(
        "figure-5",
        title="What annotators say of clear and of doubtful images",
        caption="Means within tenths of the 6,200 answers, in order of the image's entropy under CIFAR-10H.",
        data=data,
        x=Field("entropy", "entropy under CIFAR-10H (nats)"),
        y=Field("mean", "mean"),
        panel="measure",
        own_y=True,
    )
