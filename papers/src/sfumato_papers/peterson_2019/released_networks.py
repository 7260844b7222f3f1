"""Figure 1 and Section 6.3 of Peterson et al. (2019): released large networks that were trained on hard labels only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from sfumato.evaluation import MatchedLabels, match_labels, mean_over_items
from sfumato.reporting.charts import Chart, Field, dots, scatter
from sfumato.tables.bootstrap import Bootstrap
from sfumato_papers.finding import Change, Estimate, Finding, Published, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.peterson_2019.protocol import ENSEMBLE, NOT_THE_PAPERS, RELEASED, released
from sfumato_papers.peterson_2019.table_1 import SOFT_ROW, TABLE_1, TRAINED
from sfumato_papers.published_data import original_labels

PREDICTIONS = "the predictions of the paper's networks, which were not released"
SHOWN = 600
"""Images in the chart, drawn by chance."""
ABOUT_FIGURE_1 = """
The paper shows a few images on which people and its best network agree in the first guess. Its predictions were not
released; three networks of the same kind that others trained on CIFAR-10 (Kerrigan, Smyth and Steyvers 2021) replace
them their place, on all images where the first guess is the same.

How far such a network is from people is set next to how far as many *other* people would be: a second sample of as many
votes, drawn from people's shares.
"""


def figure_1(rerun: Rerun) -> Part:
    people = rerun.data.cifar_10h
    findings: list[Finding | Statement] = []
    for name in RELEASED:
        matched = match_labels(predicted=released(rerun)[name], people=people)
        same = matched.take(np.flatnonzero(matched.right == 1))
        away = np.abs(same.predicted - same.people).sum(axis=1) / 2
        others = _of_others(same, np.random.default_rng(0))
        surer = float((same.confidence > same.people.max(axis=1)).mean())
        findings += [
            Finding.exact(name, "same first guess, %", None, 100 * matched.right.mean(), places=1),
            Finding.exact(name, "distance from people there", None, away.mean(), places=4),
            Finding.exact(name, "of other people", None, others, places=4, how="total variation, in both columns"),
            Finding.exact(name, "network is surer, % of images", None, 100 * surer, places=1),
            Statement(
                f"{name}: systematic difference",
                "Humans and networks agree in their top guess, but systematically differ over other choices.",
                holds=float(away.mean()) > others,
                ours=f"total variation {away.mean():.4f} on {len(same):,} images with the same first guess; "
                f"other people {others:.4f}",
            ),
        ]  # fmt: skip
    says = "The same of the best traditionally trained network, Shake-Shake."
    findings.append(Statement("Shake-Shake", says, needs=PREDICTIONS))
    title = "Same first guess, other doubts"
    return Part("Figure 1", title, findings, ABOUT_FIGURE_1.strip(), NOT_THE_PAPERS, (_guess_chart(rerun),))


def _guess_chart(rerun: Rerun) -> Chart:
    matched = match_labels(predicted=released(rerun)["DenseNet"], people=rerun.data.cifar_10h)
    doubted = np.flatnonzero((matched.right == 1) & (matched.people.max(axis=1) < 1))
    drawn = np.sort(np.random.default_rng(0).choice(doubted, min(SHOWN, len(doubted)), replace=False))
    some = matched.take(drawn)
    return scatter(
        "figure-1",
        title="The first guess: how many people share it, and how sure the network is",
        caption=f"{len(some)} images about which people are not of one mind and whose first guess DenseNet shares. "
        "Where a point is higher than it is far to the right, the network is surer than people.",
        data={
            "people": some.people.max(axis=1),
            "network": some.confidence,
            "image": [f"image {item}" for item in some.items.to_pylist()],
        },
        x=Field("people", "share of people with the first guess", ".0%", domain=(0.2, 1.0)),
        y=Field("network", "the network's probability for it", ".0%", domain=(0.2, 1.0)),
        of="image",
    )


def _of_others(matched: MatchedLabels, rng: np.random.Generator) -> float:
    """The mean total variation between people's shares and those of as many votes drawn from them."""
    assert matched.n_annotators is not None
    drawn = rng.multinomial(matched.n_annotators, matched.people) / matched.n_annotators[:, None]
    return float(np.abs(drawn - matched.people).sum(axis=1).mean() / 2)


PUBLISHED_ENSEMBLE = Published("0.41")
"""Crossentropy to people of the mean of all eight networks."""
DRAWS = 1000
ABOUT_SECTION_6_3 = """
The first row of each block of Table 1, *Trained CIFAR10*, needs no training here: networks of full size that others
trained on CIFAR-10's 50,000 pictures, and released with what they predict of its test set (Kerrigan, Smyth and
Steyvers 2021), are scored on all 10,000 images. ResNet is the paper's own ResNet-110; the other two are relatives
(PreResNet-110 for a preactivated ResNet-164, DenseNet-BC-190-40 for 100-12). Each is one training; intervals are about
other images, and do not cover another training. So what is judged is how much further a network is from people than
from ground truth labels (*c10H* less *c10*). The ensemble is the mean of these three, where the paper has eight.
"""


def section_6_3(rerun: Rerun) -> Part:
    people, hard = rerun.data.cifar_10h, original_labels(rerun.data.cifar_10_test)
    fit: dict[tuple[str, str], Estimate] = {}
    cells: list[Finding] = []
    for name, predicted in released(rerun).items():
        to_people, to_hard = (match_labels(predicted=predicted, people=each).cross_entropies for each in (people, hard))
        fit[name, "c10H"], fit[name, "c10"] = _mean(to_people), _mean(to_hard)
        figure, reference = (_published(name, column) for column in ("c10H", "c10"))
        further = None
        if figure is not None and reference is not None:
            further = Change("c10", figure.less(reference), _mean(to_people - to_hard), reference)
        row = f"{name}: {TRAINED}"
        cells += [
            Finding(row, "c10H", figure, fit[name, "c10H"], further),
            Finding(row, "c10", reference, fit[name, "c10"]),
        ]
    title = "Networks that learned hard labels alone"
    return Part(
        "Section 6.3", title, (*cells, *_statements(fit)), ABOUT_SECTION_6_3.strip(), NOT_THE_PAPERS, (_fit_chart(fit),)
    )


def _published(name: str, column: str) -> Published | None:
    if name == ENSEMBLE:
        return PUBLISHED_ENSEMBLE if column == "c10H" else None
    return TABLE_1[name].get((TRAINED, column))


def _mean(values: Float[np.ndarray, "items"]) -> Estimate:
    """The mean over images, with the interval for other images."""
    bootstrap = Bootstrap.of(len(values), level=0.95, draws=DRAWS, rng=np.random.default_rng(0))
    found = mean_over_items(values, bootstrap)
    return Estimate.within(found.value, found.interval)


def _statements(fit: Mapping[tuple[str, str], Estimate]) -> list[Statement]:
    people = {name: fit[name, "c10H"] for name in RELEASED}
    both = fit[ENSEMBLE, "c10H"]
    best = min(people, key=lambda name: people[name].value)
    tuned = max(cells[SOFT_ROW, "c10H"].value for cells in TABLE_1.values() if (SOFT_ROW, "c10H") in cells)
    return [
        Statement(
            "Pretrained",
            "For pretrained models crossentropy to ground truth labels is always lower than to human soft labels.",
            holds=all(fit[name, "c10"].high < found.low for name, found in people.items()),
            ours="; ".join(
                f"{name} {fit[name, 'c10'].value:.3f} against {each.value:.3f}" for name, each in people.items()
            ),
        ),
        Statement(
            "Ensemble",
            "An ensemble is more like humans than any individual hard-label-trained model.",
            holds=both.high < people[best].low,
            ours=f"ensemble of three {both.value:.3f} ({both.low:.3f} to {both.high:.3f}), best alone {best} "
            f"{people[best].value:.3f}",
        ),
        Statement(
            "No substitute",
            "It is still not a substitute for human supervision.",
            holds=both.low > tuned,
            ours=f"ensemble of three {both.value:.3f}; the paper's networks fine-tuned on people at most {tuned:.2f}",
        ),
        Statement(
            "Recency",
            "Shake-Shake is the state of the art of the eight yet not one of the top three in fit to humans.",
            needs=PREDICTIONS,
        ),
    ]


def _fit_chart(fit: Mapping[tuple[str, str], Estimate]) -> Chart:
    rows = [(name, "ours", found) for (name, column), found in fit.items() if column == "c10H"]
    rows += [
        (name, "published", Estimate(each.value))
        for name in dict.fromkeys(name for name, _ in fit)
        if (each := _published(name, "c10H"))
    ]
    return dots(
        "section-6-3",
        title="Crossentropy to people of networks that learned hard labels",
        caption="10,000 images; lines: 95% for other images. The paper's ensemble is of eight networks, ours of three.",
        **with_intervals(("network", "from", "crossentropy"), rows),
        of="network",
        value=Field("crossentropy", "crossentropy to people, nats", ".2f"),
        series="from",
    )
