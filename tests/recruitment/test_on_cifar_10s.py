"""The figures of docs/platforms.md: what the rules say of people who looked, and of the same people had they not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato import Annotations
from sfumato.recruitment.bonus_rules import BONUS_RULES, BonusRule
from sfumato.recruitment.payment_inputs import peer_answers

PAGE = Path(__file__).parents[2] / "docs" / "platforms.md"
N_BLIND = 40


@pytest.mark.slow
@pytest.mark.parametrize("rule", [member() for member in BONUS_RULES], ids=lambda rule: rule.name)
def test_figures_on_cifar_10s(rule: BonusRule, first_pass: Annotations) -> None:
    answers = peer_answers(first_pass, first_pass.classes, first_pass.annotator.names.to_pylist())
    assert (len(answers.item), answers.n_annotators, answers.n_items) == (6200, 248, 1000)
    people = np.quantile(rule.scores(answers), [0.05, 0.5, 0.95])
    rng = np.random.default_rng(0)
    n_classes = len(first_pass.classes)

    def blind(said: np.ndarray) -> float:
        """The mean score of people who say this instead, one at a time."""
        scores = []
        for person in range(N_BLIND):
            probs = np.where((answers.annotator == person)[:, None], said, answers.probs)
            scores.append(rule.scores(replace(answers, probs=probs))[person])
        return float(np.mean(scores))

    at_random = np.eye(n_classes)[rng.integers(0, n_classes, len(answers.item))]
    found = [*people, blind(at_random), blind(np.eye(n_classes)[[3]]), blind(np.full((1, n_classes), 1 / n_classes))]
    (row,) = re.findall(rf"(?m)^\| `{rule.name}` \| (0\.[^a-z]+) \|$", PAGE.read_text())
    assert found == pytest.approx([float(each) for each in re.findall(r"\.\d+", row)], abs=0.0051)
    assert min(people) > max(found[3:])
