"""Figure 1 of Peterson et al. (2019): networks that agree with people in their first guess and differ over the rest."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, scatter
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.peterson_2019.released_predictions import NOT_THE_PAPERS, RELEASED, released

SHOWN = 600
"""Images in the chart, drawn by chance."""
ABOUT = """
The paper shows a few images on which people and its best network agree in the first guess. Its predictions were not
released; three networks of the same kind that others trained on CIFAR-10 (Kerrigan, Smyth and Steyvers 2021) replace
them their place, on all images where the first guess is the same.

How far such a network is from people is set next to how far as many *other* people would be: a second sample of as many
votes, drawn from people's shares.
"""


def figure_1(rerun: Rerun) -> Part:
    """How far networks are from people where both have the same first guess."""
    people = rerun.data.cifar_10h
    findings: list[Finding | Statement] = []
    for name in RELEASED:
        matched = match_labels(predicted=released(rerun)[name], people=people)
        same = matched.take(np.flatnonzero(matched.right == 1))
        away, others = _away(same), _of_others(same, np.random.default_rng(0))
        surer = float((same.confidence > same.people.max(axis=1)).mean())
        findings += [
            Finding(
                name, "same first guess, %", None, Estimate(100 * float(matched.right.mean())), places=1,
            ),
            Finding(name, "distance from people there", None, Estimate(float(away.mean())), places=4),
            Finding(name, "of other people", None, Estimate(others), places=4, how="total variation, in both columns"),
            Finding(name, "network is surer, % of images", None, Estimate(100 * surer), places=1),
            Statement(
                f"{name}: systematic difference",
                "Humans and networks agree in their top guess, but systematically differ over other choices.",
                holds=float(away.mean()) > others,
                ours=f"total variation {away.mean():.4f} on {len(same):,} images with the same first guess; "
                f"other people {others:.4f}",
            ),
        ]  # fmt: skip
    findings.append(
        Statement(
            "Shake-Shake",
            "The same of the best traditionally trained network, Shake-Shake.",
            needs="the predictions of the paper's networks, which were not released",
        )
    )
    return Part(
        "Figure 1", "Same first guess, other doubts", tuple(findings), ABOUT.strip(), NOT_THE_PAPERS, (_chart(rerun),)
    )


def _chart(rerun: Rerun) -> Chart:
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


def _away(matched: MatchedLabels) -> Float[np.ndarray, "items"]:
    """Total variation between network and people."""
    return np.asarray(np.abs(matched.predicted - matched.people).sum(axis=1) / 2)


def _of_others(matched: MatchedLabels, rng: np.random.Generator) -> float:
    """The mean total variation between people's shares and those of as many votes drawn from them."""
    assert matched.n_annotators is not None
    drawn = rng.multinomial(matched.n_annotators, matched.people) / matched.n_annotators[:, None]
    return float(np.abs(drawn - matched.people).sum(axis=1).mean() / 2)
