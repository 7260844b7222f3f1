"""When the deeper form opens after a single choice, why, and with what probability.

A two-phase sample. Every participant makes a choice or says "not sure". The deeper form then opens: always for "not
sure" and for items that are still uncertain; otherwise for a random share of answers. The probability is stored with
the trial whether the form opened or not, so that `sfumato.planning.deeper_form_estimates` can estimate what the form
would have given for all answers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from sfumato.study.study import Deeper

UNSURE, UNCERTAIN, RANDOM, LISTED, WORTH, PRACTICE = "unsure", "uncertain", "random", "listed", "worth", "practice"
"""Why the deeper form was asked: the participant is not sure; the item is uncertain; at random; the study lists the
item; an adaptive study found it worth its time and asked it directly; for practice."""
MIN_ANSWERS = 2
"""Answers before an item can be called uncertain."""


@dataclass(frozen=True, slots=True)
class DeeperDraw:
    """Whether the deeper form opens in a trial (`why`, or None), and with what probability it does."""

    why: str | None = None
    probability: float | None = None


NOT_ASKED = DeeperDraw()


class DeeperFormRule:
    """The rule of one study, with the choices made about each item before the deeper form opened."""

    def __init__(self, rule: Deeper | None, listed: Collection[int] = ()) -> None:
        """For `listed` items the form always opens."""
        self._rule = rule if rule is not None and rule.follows else None
        self._listed = frozenset(listed)
        self._choices: dict[int, Counter[str | None]] = {}

    @property
    def follows(self) -> bool:
        """Whether the deeper form opens after the usual one."""
        return self._rule is not None

    def add_choice(self, item: int, chosen: str | None) -> None:
        """Count a choice of a class, or "not sure" (None)."""
        if self._rule is not None and self._rule.disagreement is not None:
            self._choices.setdefault(item, Counter())[chosen] += 1

    def is_uncertain(self, item: int) -> bool:
        """Whether the share of answers that differ from the most frequent class is large enough."""
        choices = self._choices.get(item)
        if self._rule is None or self._rule.disagreement is None or choices is None or choices.total() < MIN_ANSWERS:
            return False
        most = max((n for name, n in choices.items() if name is not None), default=0)
        return 1 - most / choices.total() >= self._rule.disagreement - 1e-9

    def draw(self, item: int, purpose: str, rng: random.Random) -> DeeperDraw:
        """Whether the deeper form opens in a new trial that asks the usual one first.

        In checks only at random, so that they look like other items; never in repeats, which repeat the first question.
        """
        if self._rule is None or purpose not in ("label", "check"):
            return NOT_ASKED
        if purpose == "label" and item in self._listed:
            return DeeperDraw(LISTED, 1.0)
        if purpose == "label" and self.is_uncertain(item):
            return DeeperDraw(UNCERTAIN, 1.0)
        share = self._rule.share
        return DeeperDraw(RANDOM if rng.random() < share else None, share)
