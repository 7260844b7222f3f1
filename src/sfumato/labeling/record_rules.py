"""Screening rules that need the records of the answers: claimed times, inputs, devices and networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from sfumato.labeling.screening import RuleResult, ScreeningData
from sfumato.tables.setting_checks import above_0, at_least
from sfumato.tables.setting_checks import share as check_share


@dataclass(frozen=True)
class ImpossibleTimes:
    """The browser claimed more time than had passed on the server, by more than `seconds`, in `most` answers or more.
    No unmodified page does that."""

    seconds: float = 2.0
    most: int = 2

    name: ClassVar[str] = "impossible_times"

    def __post_init__(self) -> None:
        above_0("seconds", self.seconds)
        at_least("most", self.most, 1)

    def find(self, data: ScreeningData) -> RuleResult:
        if data.records is None:
            return RuleResult.without_data(data.n_annotators)
        excess = data.records.claimed_seconds - data.annotations.seconds
        n_known = data.per_annotator(~np.isnan(excess))
        count = data.per_annotator(np.nan_to_num(excess) > self.seconds)
        return RuleResult(np.where(n_known > 0, count, np.nan), count >= self.most)


@dataclass(frozen=True)
class NoInput:
    """More than `at_most` of the answers came without a single click or key press. The page records every input, so
    such answers were not given in it."""

    at_most: float = 0.2

    name: ClassVar[str] = "without_input"

    def __post_init__(self) -> None:
        check_share("at_most", self.at_most)

    def find(self, data: ScreeningData) -> RuleResult:
        if data.records is None:
            return RuleResult.without_data(data.n_annotators)
        known = data.records.known
        n_known = data.per_annotator(known)
        n_without = data.per_annotator(known & (data.records.n_inputs == 0))
        share = np.where(n_known > 0, n_without / np.maximum(n_known, 1), np.nan)
        return RuleResult(share, share > self.at_most)


HOUSEHOLD = 6
"""More people than this with one network address are a school, an office, a provider or a proxy."""


@dataclass(frozen=True)
class SameDevice:
    """Other annotators used the same network address and a window of the same size and resolution: perhaps one device.

    This is a sign. It excludes only where another explanation is unlikely: at most `household` annotators have the
    address, and fewer than `chance` others there are expected to have the same window by chance, which is how frequent
    the window is in other networks. With `chance` 0.1, if one annotator in ten shares an address with another, at most
    1% are excluded by chance. In a computer room or with a common phone, equal windows mean nothing.
    """

    chance: float = 0.1
    household: int = HOUSEHOLD

    name: ClassVar[str] = "same_device"

    def __post_init__(self) -> None:
        above_0("chance", self.chance)
        check_share("chance", self.chance)
        at_least("household", self.household, 2)

    def find(self, data: ScreeningData) -> RuleResult:
        if data.records is None or (data.records.device < 0).all():
            return RuleResult.without_data(data.n_annotators)
        network, window = data.records.network, data.records.window
        n_same, n_network = _n_others(data.records.device), _n_others(network)
        known = n_same >= 0
        n_window = np.bincount(window[known])[np.where(known, window, 0)] - n_same - 1
        n_elsewhere = known.sum() - n_network - 1
        expected = n_network * (n_window + 1) / (n_elsewhere + 1)
        sign = n_same > 0
        offends = sign & (n_network < self.household) & (expected < self.chance)
        return RuleResult(np.where(known, n_same, np.nan), offends, sign)


@dataclass(frozen=True)
class SharedNetwork:
    """More than `at_most` other annotators came from the same network address. Only a sign, which excludes nobody:
    universities, offices and mobile providers share addresses too."""

    at_most: int = HOUSEHOLD - 1

    name: ClassVar[str] = "same_network"

    def __post_init__(self) -> None:
        at_least("at_most", self.at_most, 0)

    def find(self, data: ScreeningData) -> RuleResult:
        if data.records is None or (data.records.network < 0).all():
            return RuleResult.without_data(data.n_annotators)
        n_same = _n_others(data.records.network)
        nobody = np.zeros(data.n_annotators, bool)
        return RuleResult(np.where(n_same >= 0, n_same, np.nan), nobody, n_same > self.at_most)


def _n_others(number: Int[np.ndarray, "annotators"]) -> Int[np.ndarray, "annotators"]:
    """How many other annotators have the same number; -1 where it is not known (-1)."""
    known = number >= 0
    return np.asarray(np.where(known, np.bincount(number[known])[np.where(known, number, 0)] - 1, -1))


RECORD_RULES = (ImpossibleTimes, NoInput, SameDevice, SharedNetwork)
NEED_RECORDS = frozenset(rule.name for rule in RECORD_RULES)
"""The rules that have no data without the records of the answers."""
