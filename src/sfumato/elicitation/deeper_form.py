"""Depth: when the deeper form opens after a single choice, why, and with what probability.

A sample in two phases. Everybody makes a choice, or says that they are not sure. The deeper form then opens with a
probability that follows from that, and from what was said about the item before: certainly for who is not sure, and
where the item is still uncertain; elsewhere for a share of answers, by chance. The probability is kept with the trial
whether the form opened or not, so that `sfumato.planning.deeper_form_estimates` can say what the form would have said
of all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from sfumato.study.study import Deeper

UNSURE, UNCERTAIN, RANDOM, LISTED, WORTH, PRACTICE = "unsure", "uncertain", "random", "listed", "worth", "practice"
"""Why the deeper form was asked: the person is not sure; the item is uncertain; by chance; the study lists the item; an
adaptive study found it worth its time and asked it outright; to practise it."""
FEWEST = 2
"""Answers before an item can be called uncertain."""


@dataclass(frozen=True, slots=True)
class DeeperDraw:
    """Whether the deeper form opens in a trial (`why`, or None), and with what probability it does."""

    why: str | None = None
    probability: float | None = None


NOT_ASKED = DeeperDraw()


class DeeperFormRule:
    """The deeper form of one study, and what people chose about each item before it opened."""

    def __init__(self, rule: Deeper | None, listed: Collection[int] = ()) -> None:
        """`listed` are the items about which it is asked in any case."""
        self._rule = rule if rule is not None and rule.follows else None
        self._listed = frozenset(listed)
        self._chosen: dict[int, Counter[str | None]] = {}

    @property
    def follows(self) -> bool:
        """Whether the deeper form opens after the usual one."""
        return self._rule is not None

    def heard(self, item: int, chosen: str | None) -> None:
        """Somebody chose a class, or was not sure (None)."""
        if self._rule is not None and self._rule.disagreement is not None:
            self._chosen.setdefault(item, Counter())[chosen] += 1

    def is_uncertain(self, item: int) -> bool:
        """Whether enough of the answers about an item name another class than most of them do, or none."""
        chosen = self._chosen.get(item)
        if self._rule is None or self._rule.disagreement is None or chosen is None or chosen.total() < FEWEST:
            return False
        most = max((n for name, n in chosen.items() if name is not None), default=0)
        return 1 - most / chosen.total() >= self._rule.disagreement - 1e-9

    def drawn(self, item: int, purpose: str, rng: random.Random) -> DeeperDraw:
        """Whether the deeper form opens in a new trial that asks the usual one first.

        In checks by chance alone, as nothing is to tell them from items; never in repeats, which ask as the first time.
        """
        if self._rule is None or purpose not in ("label", "check"):
            return NOT_ASKED
        if purpose == "label" and item in self._listed:
            return DeeperDraw(LISTED, 1.0)
        if purpose == "label" and self.is_uncertain(item):
            return DeeperDraw(UNCERTAIN, 1.0)
        share = self._rule.share
        return DeeperDraw(RANDOM if rng.random() < share else None, share)
