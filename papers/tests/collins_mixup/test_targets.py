"""Labels of mixed images next to others, and mixings made of two, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sfumato.tables.strategies import described
from sfumato.training.mixing import ClassPair, EntropyWeighted, HumanMixtures, Judgments, MixtureSmoothing, Mixup
from sfumato.training.training_set import TrainingSet
from sfumato_papers.collins_mixup.mixture_targets import ClassPairWeighted, MixtureLabels, labelings
from sfumato_papers.collins_mixup.run_scores import Together

CLASSES = ("cat", "dog", "fox", "owl")


@pytest.fixture
def mixtures() -> HumanMixtures:
    """Two images: cat in dog, judged twice, and fox in owl, judged once."""
    judgments = Judgments(
        ("m1", "m2"), CLASSES, np.array([0, 2]), np.array([1, 3]), np.array([0.5, 0.25]), np.array([0, 2, 3]),
        np.array([0.8, 0.4, 0.1]), np.array([1.0, 0.0, 0.5]),
    )  # fmt: skip
    return HumanMixtures(np.zeros((2, 8, 8, 3), np.uint8), judgments)


@pytest.fixture
def training_set() -> TrainingSet:
    return TrainingSet(("a", "m2", "b", "m1"), CLASSES, np.array([3, 2, 0, 1]))


def test_labels_by_hand(mixtures: HumanMixtures, training_set: TrainingSet) -> None:
    found = {
        name: each.labels(training_set, np.random.default_rng(0)).mean() for name, each in labelings(mixtures).items()
    }
    for name, labels in found.items():
        np.testing.assert_allclose(labels[[0, 2]], [[0, 0, 0, 1], [1, 0, 0, 0]], err_msg=name)
    np.testing.assert_allclose(found["generating"][[1, 3]], [[0, 0, 0.25, 0.75], [0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(found["averaged"][[1, 3]], [[0, 0, 0.1, 0.9], [0.6, 0.4, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(found["by-annotator"], found["averaged"], atol=1e-6)
    np.testing.assert_allclose(found["uniform"][[1, 3]], 0.25)
    # Sure: s = 0.005; not at all: s = 1; the mean of the two labels.
    sure = 0.995 * np.array([0.8, 0.2, 0, 0]) + 0.005 / 4
    np.testing.assert_allclose(found["by-annotator-confidence"][3], (sure + 0.25) / 2, atol=1e-6)
    share = (0.005 + 1 + 0.005**0.5) / 3
    np.testing.assert_allclose(
        found["generating-smoothed"][1], (1 - share) * np.array([0, 0, 0.25, 0.75]) + share / 4, atol=1e-6
    )
    assert found["random"][[1, 3]].max(axis=1).tolist() == [1, 1]


def test_one_annotator_at_a_time(mixtures: HumanMixtures, training_set: TrainingSet) -> None:
    labels = labelings(mixtures)["by-annotator"].labels(training_set, np.random.default_rng(0))
    drawn = labels.at(torch.tensor([3, 3, 1, 0]), torch.tensor([0.1, 0.9, 0.9, 0.5])).numpy()
    np.testing.assert_allclose(drawn, [[0.8, 0.2, 0, 0], [0.4, 0.6, 0, 0], [0, 0, 0.1, 0.9], [0, 0, 0, 1]], atol=1e-6)


def test_shuffled_confidence_keeps_every_share(mixtures: HumanMixtures, training_set: TrainingSet) -> None:
    kept, shuffled = (labelings(mixtures)[name] for name in ("by-annotator-confidence", "shuffled-confidence"))
    rows = [each.labels(training_set, np.random.default_rng(0)).rows for each in (kept, shuffled)]
    smallest = [sorted(each.min(axis=1).tolist()) for each in rows]
    np.testing.assert_allclose(smallest[0], smallest[1], atol=1e-7)


def test_what_a_run_keeps_of_it_changes_with_the_labels(mixtures: HumanMixtures) -> None:
    one = described(MixtureLabels.of("x", mixtures, mixtures.averaged()))
    again = described(MixtureLabels.of("x", mixtures, mixtures.averaged()))
    other = described(MixtureLabels.of("x", mixtures, mixtures.averaged(MixtureSmoothing())))
    assert one == again != other
    assert len(str(one)) < 300


def test_class_pairs_with_the_weighted_loss() -> None:
    x, y = torch.rand(6, 3, 4, 4), torch.eye(4)[torch.tensor([0, 1, 2, 3, 0, 1])][None]
    both = ClassPairWeighted(ClassPair(alpha=0.2), EntropyWeighted())
    one, other, linear = (
        mixing.mixed(x, y, torch.Generator().manual_seed(3))
        for mixing in (both, ClassPair(alpha=0.2), Mixup(alpha=0.2))
    )
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.y, other.y)
    # The same images as mixup has, under other labels.
    assert torch.equal(one.x, linear.x)
    assert not torch.allclose(one.y, linear.y)
    logits = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(1)) / 10
    p = logits.softmax(-1)
    entropy = -(p * p.log()).sum(-1)
    expected = (np.log(2) / entropy).clamp(0.7, 1) * -(one.y * p.log()).sum(-1)
    torch.testing.assert_close(both.losses(logits, one), expected.mean(-1), check_dtype=False)


def test_work_together() -> None:
    done: list[tuple[str, int]] = []

    class Counting:
        def __init__(self, name: str, n: int) -> None:
            self.name, self.n = name, n

        def missing(self) -> list[int]:
            return list(range(self.n))

        def run(self, job: int) -> None:
            done.append((self.name, job))

    work = Together((Counting("a", 2), Counting("b", 1)))
    for job in work.missing():
        work.run(job)
    assert done == [("a", 0), ("a", 1), ("b", 0)]
