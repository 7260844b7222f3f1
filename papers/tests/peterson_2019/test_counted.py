"""What is counted from CIFAR-10H comes out as it is known, and verdicts follow the votes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.errors import BadFile
from sfumato_papers.finding import Finding
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.peterson_2019.dataset import concentration, dataset
from sfumato_papers.published_data import PublishedData
from sfumato_papers.verdict import Verdict

KNOWN = {
    "Human judgments": 511_000,
    "Images": 10_000,
    "Images a category": 1000,
    "Judgments an image, on average": 51.1,
    "Judgments an image, fewest": 47,
    "Judgments an image, most": 63,
    "Participants": 2571,
    "Mean entropy, nats": 0.15446,
    "Median entropy, nats": 0.0950,
    "Largest entropy, nats": 1.9825,
    "Most frequent choice is CIFAR10's label, %": 99.21,
}
"""Found by other means than this code."""
CATEGORIES = (4393, 3322, 1334, 570, 257, 89, 23, 6, 3, 3)


def verdicts(part: Part) -> dict[str, Verdict]:
    return {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}


def figures(part: Part) -> dict[str, float]:
    return {each.row: each.ours.value for each in part.findings if isinstance(each, Finding) and each.ours}


def test_the_facts_of_the_data_set(rerun: Rerun) -> None:
    part = dataset(rerun)
    found = figures(part)
    for row, value in KNOWN.items():
        assert found[row] == pytest.approx(value, abs=5e-5), row
    counted = [value for row, value in found.items() if row.startswith("Images with ")]
    assert tuple(counted) == CATEGORIES
    assert sum(counted) == 10_000
    largest = next(each for each in part.findings if each.row == "Largest entropy, nats")
    assert largest.how == "image 6750"
    ties = next(each for each in part.findings if each.row.startswith("Most frequent"))
    assert ties.how.startswith("3 ties")
    assert part.scaled_down == ""


def test_what_comes_out_and_what_does_not(rerun: Rerun) -> None:
    found = verdicts(dataset(rerun))
    assert found["Human judgments"] is Verdict.NOT_REPRODUCED
    assert found["Judgments an image, most"] is Verdict.REPRODUCED
    assert found["Participants"] is Verdict.REPRODUCED
    assert found["Participants below 75% of attention checks"] is Verdict.NEEDS_DATA
    assert found["Mean entropy, nats"] is Verdict.NO_VERDICT


def test_400_more_votes_would_reproduce_the_total(with_votes: Callable[..., Rerun]) -> None:
    def more(counts: np.ndarray) -> np.ndarray:
        few = np.flatnonzero(counts.sum(axis=1) == 50)[:400]
        counts[few, 0] += 1
        return counts

    part = dataset(with_votes(more))
    assert figures(part)["Human judgments"] == 511_400
    assert verdicts(part)["Human judgments"] is Verdict.REPRODUCED


def test_an_image_with_fewer_votes_is_seen(with_votes: Callable[..., Rerun]) -> None:
    def fewer(counts: np.ndarray) -> np.ndarray:
        counts[17] = np.eye(10, dtype=np.int64)[3] * 40
        return counts

    found = verdicts(dataset(with_votes(fewer)))
    assert found["Judgments an image, fewest"] is Verdict.NOT_REPRODUCED
    assert found["Judgments an image, on average"] is Verdict.REPRODUCED


def test_doubt_is_in_a_third_of_the_images(rerun: Rerun) -> None:
    statement = concentration(rerun).findings[0]
    assert "82.6%" in statement.ours
    assert verdicts(concentration(rerun))["Concentration"] is Verdict.REPRODUCED


def test_doubt_spread_evenly_is_not(with_votes: Callable[..., Rerun]) -> None:
    even = concentration(with_votes(lambda counts: np.full_like(counts, 5)))
    assert verdicts(even)["Concentration"] is Verdict.NOT_REPRODUCED
    assert "30.0%" in even.findings[0].ours


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="found no cifar10h") as caught:
        dataset(Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs"))
    assert "--data" in str(caught.value)
