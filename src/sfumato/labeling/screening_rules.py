"""Rules for setting somebody aside, and the published studies' own sets of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from sfumato.labeling.labeler import only_kind
from sfumato.labeling.screening import Rule, RuleResult, ScreeningData
from sfumato.tables.errors import unknown
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.settings import at_least, not_negative
from sfumato.tables.settings import share as check_share
from sfumato.tables.strategies import strategy_from_name


@dataclass(frozen=True)
class FailedChecks:
    """The share of attention checks passed is below `at_least`; passing is lying in the region that the study has for
    it, or without a study putting the gold class, alone, first."""

    at_least: float = 0.75

    name: ClassVar[str] = "checks_passed"

    def __post_init__(self) -> None:
        check_share("at_least", self.at_least)

    def find(self, evidence: ScreeningData) -> RuleResult:
        passed, shown = self._by_gold(evidence) if evidence.checks is None else self._by_study(evidence)
        share = _ratio(passed, shown)
        return RuleResult(share, share < self.at_least)

    def _by_gold(self, evidence: ScreeningData) -> tuple[np.ndarray, np.ndarray]:
        is_check = evidence.is_for("check")
        evidence.check_gold(self.name, is_check)
        shown = evidence.per_annotator(is_check)
        passed = evidence.per_annotator(is_check & evidence.right(self.name)) if is_check.any() else shown
        return passed, shown

    def _by_study(self, evidence: ScreeningData) -> tuple[np.ndarray, np.ndarray]:
        assert evidence.checks is not None
        judged, passed = evidence.checks.judged, evidence.checks.passed
        return evidence.per_annotator(judged & passed), evidence.per_annotator(judged)


@dataclass(frozen=True)
class RepeatsDisagree:
    """The share of repeated items where the person's leading class changed is above `at_most`."""

    at_most: float = 0.5

    name: ClassVar[str] = "repeats_changed"

    def __post_init__(self) -> None:
        check_share("at_most", self.at_most)

    def find(self, evidence: ScreeningData) -> RuleResult:
        table = evidence.annotations
        answer = table.item.codes.astype(np.int64) * evidence.n_annotators + table.annotator.codes
        labels, repeats = np.flatnonzero(evidence.is_for("label")), np.flatnonzero(evidence.is_for("repeat"))
        nobody = np.full(evidence.n_annotators, np.nan)
        if not len(labels) or not len(repeats):
            return RuleResult(nobody, np.zeros(len(nobody), dtype=bool))
        known, first = np.unique(answer[labels], return_index=True)
        at = np.minimum(np.searchsorted(known, answer[repeats]), len(known) - 1)
        paired = known[at] == answer[repeats]
        before, after = labels[first[at[paired]]], repeats[paired]
        changed = evidence.leading.code[before] != evidence.leading.code[after]
        who = table.annotator.codes[after]
        n_changed = np.bincount(who, weights=changed, minlength=evidence.n_annotators)
        share = _ratio(n_changed, np.bincount(who, minlength=evidence.n_annotators))
        return RuleResult(share, share > self.at_most)


@dataclass(frozen=True)
class Contradictions:
    """Top-two answers that cannot be meant, as in CIFAR-10S: a percent outside 0..100, the person's own first or second
    class marked impossible, or no first percent.

    Set aside at `remove_at` offences (the paper: more than two, so 3; its code: 2); with fewer, but any, only if the
    person's first class is right on less than `accuracy` of their items. Accuracy alone never excludes.
    """

    remove_at: int = 3
    accuracy: float = 0.75

    name: ClassVar[str] = "contradictions"

    def __post_init__(self) -> None:
        at_least("remove_at", self.remove_at, 1)
        check_share("accuracy", self.accuracy)

    def find(self, evidence: ScreeningData) -> RuleResult:
        offending = contradictory(evidence)
        count = evidence.per_annotator(offending)
        offends = count >= self.remove_at
        doubtful = (count > 0) & ~offends
        if doubtful.any():
            asked = evidence.is_for("label") & evidence.has_gold()
            right = evidence.right(self.name)
            share = _ratio(evidence.per_annotator(asked & right), evidence.per_annotator(asked))
            offends |= doubtful & (share < self.accuracy)
        return RuleResult(count.astype(np.float64), offends)


def contradictory(evidence: ScreeningData) -> Bool[np.ndarray, "rows"]:
    """Which top-two answers contradict themselves."""
    kind = only_kind(evidence.annotations, ("top_two",))
    parts = [
        np.array([_contradicts(answer) for answer in answers], dtype=bool)[inverse]
        for answers, inverse, _ in evidence.annotations.decoded(kind)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)


def _contradicts(answer: object) -> bool:
    assert isinstance(answer, TopTwoPayload)
    named = {answer.first, answer.second} - {None}
    percents = [answer.first_percent, answer.second_percent if answer.second is not None else None]
    out_of_range = any(p is not None and not 0 <= p <= 100 for p in percents)
    return answer.first_percent is None or out_of_range or bool(named & set(answer.impossible))


@dataclass(frozen=True)
class TooFast:
    """Too fast for the crowd: the person's median time is below `crowd` of the median person's. Or for oneself: more
    than `at_most` of the answers took less than `own` of the person's own median. The number shown is the
    person's median in seconds."""

    crowd: float = 1 / 3
    own: float = 0.2
    at_most: float = 0.1

    name: ClassVar[str] = "median_seconds"

    def __post_init__(self) -> None:
        not_negative("crowd", self.crowd)
        check_share("own", self.own)
        check_share("at_most", self.at_most)

    def find(self, evidence: ScreeningData) -> RuleResult:
        who, seconds = evidence.annotations.annotator.codes, evidence.annotations.seconds
        timed = ~np.isnan(seconds)
        medians = _medians(who[timed], seconds[timed], evidence.n_annotators)
        if np.isnan(medians).all():
            return RuleResult(medians, np.zeros(len(medians), dtype=bool))
        hasty = timed & (np.nan_to_num(seconds) < self.own * np.nan_to_num(medians)[who])
        share = _ratio(evidence.per_annotator(hasty), evidence.per_annotator(timed))
        return RuleResult(medians, (medians < self.crowd * np.nanmedian(medians)) | (share > self.at_most))


@dataclass(frozen=True)
class IdenticalRuns:
    """A run of more than `at_most` answers that are the same to the letter, in the order of trials, and that somebody
    who gives each answer as often as this person, in random order, would have with less than `chance`.

    With two classes a run of ten is nothing; so is a long one for a person who nearly always meets the same class.
    Without trials there is no order, and no verdict.
    """

    at_most: int = 10
    chance: float = 0.001

    name: ClassVar[str] = "longest_run"

    def __post_init__(self) -> None:
        at_least("at_most", self.at_most, 1)
        check_share("chance", self.chance)

    def find(self, evidence: ScreeningData) -> RuleResult:
        import polars as pl

        table = evidence.annotations
        if table.trial.null_count:
            nobody = np.full(evidence.n_annotators, np.nan)
            return RuleResult(nobody, np.zeros(len(nobody), dtype=bool))
        _, text = np.unique(pl.Series(table.payload.cast(pa.string())).hash().to_numpy(), return_inverse=True)
        order = np.lexsort((table.trial.to_numpy(), table.annotator.codes))
        who, said = table.annotator.codes[order], text[order]
        starts = np.ones(len(order), dtype=bool)
        starts[1:] = (who[1:] != who[:-1]) | (said[1:] != said[:-1])
        lengths = np.diff(np.flatnonzero(np.append(starts, True)))
        longest = np.zeros(evidence.n_annotators)
        np.maximum.at(longest, who[starts], lengths)
        suspicious = longest > self.at_most
        return RuleResult(longest, suspicious & (_expected_runs(who, said, longest) < self.chance))


def _expected_runs(who: np.ndarray, said: np.ndarray, length: np.ndarray) -> Float[np.ndarray, "annotators"]:
    """How many runs of at least `length` each person would have if their answers came in random order:
    the sum over their answers of n (1 - p) p ** length."""
    pairs, n_each = np.unique(np.stack([who, said]), axis=1, return_counts=True)
    n_answers = np.bincount(who, minlength=len(length))
    share = n_each / n_answers[pairs[0]]
    expected = n_answers[pairs[0]] * (1 - share) * share ** length[pairs[0]]
    return np.bincount(pairs[0], weights=expected, minlength=len(length))


RULE_SETS: dict[str, tuple[Rule, ...]] = {
    "standard": (FailedChecks(), RepeatsDisagree(), TooFast(), IdenticalRuns()),
    "cifar-10h": (FailedChecks(at_least=0.75),),
    "cifar-10s": (Contradictions(),),
    "soft-digits": (FailedChecks(at_least=1.0),),
}
"""Ready-made: our own, CIFAR-10H's (75% of checks), CIFAR-10S's (contradictions), soft-digits' (any failed check)."""


SCREENING_RULES: tuple[Any, ...] = (FailedChecks, RepeatsDisagree, Contradictions, TooFast, IdenticalRuns)
"""Every rule; each is called as its column in the table is."""


def rules_of(asked: str | Mapping[str, Mapping[str, float]]) -> tuple[Rule, ...]:
    """The rules that a study asks for: a set by its name (`standard` where it says none), or rules one by one with the
    numbers they go by."""
    if isinstance(asked, str):
        return rule_set(asked or "standard")
    return tuple(_rule(name, settings) for name, settings in asked.items())


def _rule(name: str, settings: Mapping[str, float]) -> Any:
    """One rule; numbers that it wants whole are made so, where they are."""
    own = [field for member in SCREENING_RULES if member.name == name for field in fields(member)]
    counts = {field.name for field in own if type(field.default) is int}
    numbers = {key: int(each) if key in counts and each.is_integer() else each for key, each in settings.items()}
    return strategy_from_name("screening rule", SCREENING_RULES, name, numbers)


def rule_set(name: str) -> tuple[Rule, ...]:
    """The rule set called `name`."""
    if name not in RULE_SETS:
        raise unknown("rule set", name, list(RULE_SETS))
    return RULE_SETS[name]


def _ratio(part: np.ndarray, whole: np.ndarray) -> Float[np.ndarray, "annotators"]:
    """part / whole, NaN where there is nothing to divide by."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _medians(who: np.ndarray, values: np.ndarray, n: int) -> Float[np.ndarray, "annotators"]:
    """Each annotator's median; NaN for whoever has no values."""
    ordered = values[np.lexsort((values, who))]
    n_values = np.bincount(who, minlength=n)
    start = np.cumsum(n_values) - n_values
    has = n_values > 0
    low, high = start + (n_values - 1) // 2, start + n_values // 2
    medians = np.full(n, np.nan)
    medians[has] = (ordered[low[has]] + ordered[high[has]]) / 2
    return medians
