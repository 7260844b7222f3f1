"""Section 6.3 of Peterson et al. (2019): networks that learned hard labels alone, with large networks of others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import match_labels
from sfumato.evaluation.metric import mean_over_items
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, dots
from sfumato.tables.bootstrap import Bootstrap
from sfumato_papers.finding import Change, Estimate, Finding, Published, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.peterson_2019.pictures import judged, original
from sfumato_papers.peterson_2019.published_table_1 import SOFT_ROW, TABLE_1, TRAINED
from sfumato_papers.peterson_2019.released_predictions import ENSEMBLE, NOT_THE_PAPERS, RELEASED, released

PUBLISHED_ENSEMBLE = Published("0.41")
"""Crossentropy to people of the mean of all eight networks."""
DRAWS = 1000
ABOUT = """
The first row of each block of Table 1, *Trained CIFAR10*, needs no training here: networks of full size that others
trained on CIFAR-10's 50,000 pictures, and released with what they predict of its test set (Kerrigan, Smyth and
Steyvers 2021), are scored on all 10,000 images. ResNet is the paper's own ResNet-110; the other two are relatives
(PreResNet-110 for a preactivated ResNet-164, DenseNet-BC-190-40 for 100-12). Each is one training; intervals are about
other images, and do not cover another training. So what is judged is how much further a network is from people than
from ground truth labels (*c10H* less *c10*). The ensemble is the mean of these three, where the paper has eight.
"""


def section_6_3(rerun: Rerun) -> Part:
    """Crossentropy of large hard-label networks, and of their ensemble."""
    people, hard = rerun.data.cifar_10h, original(judged(rerun))
    fit: dict[tuple[str, str], Estimate] = {}
    cells: list[Finding] = []
    for name, predicted in released(rerun).items():
        to_people, to_hard = (match_labels(predicted=predicted, people=each).cross_entropies for each in (people, hard))
        fit[name, "c10H"], fit[name, "c10"] = _mean(to_people), _mean(to_hard)
        figure, reference = (_published(name, column) for column in ("c10H", "c10"))
        further = (
            None
            if figure is None or reference is None
            else Change("c10", figure.less(reference), _mean(to_people - to_hard), reference)
        )
        row = f"{name}: {TRAINED}"
        cells += [
            Finding(row, "c10H", figure, fit[name, "c10H"], further),
            Finding(row, "c10", reference, fit[name, "c10"]),
        ]
    return Part(
        "Section 6.3",
        "Networks that learned hard labels alone",
        (*cells, *_statements(fit)),
        ABOUT.strip(),
        NOT_THE_PAPERS,
        (_chart(fit),),
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
            needs="the predictions of the paper's networks, which were not released",
        ),
    ]


def _chart(fit: Mapping[tuple[str, str], Estimate]) -> Chart:
    rows: list[tuple[str, str, float, float | None, float | None]] = [
        (name, "ours", found.value, found.low, found.high) for (name, column), found in fit.items() if column == "c10H"
    ]
    rows += [
        (name, "published", each.value, None, None)
        for name in dict.fromkeys(name for name, _ in fit)
        if (each := _published(name, "c10H"))
    ]
    return dots(
        "section-6-3",
        title="Crossentropy to people of networks that learned hard labels",
        caption="10,000 images; lines: 95% for other images. The paper's ensemble is of eight networks, ours of three.",
        data={
            "network": [row[0] for row in rows],
            "from": [row[1] for row in rows],
            "crossentropy": [row[2] for row in rows],
            "low": [row[3] for row in rows],
            "high": [row[4] for row in rows],
        },
        of="network",
        value=Field("crossentropy", "crossentropy to people, nats", ".2f"),
        low="low",
        high="high",
        series="from",
    )
