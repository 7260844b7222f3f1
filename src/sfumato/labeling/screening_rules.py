"""Screening rules, and rule sets: a standard one and those of published studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.labeling.cheat_rules import CopiedAnswers, RegularTimes, UnrelatedAnswers
from sfumato.labeling.labeler import per_answer
from sfumato.labeling.record_rules import ImpossibleTimes, NoInput, SameDevice, SharedNetwork
from sfumato.labeling.screening import Rule, RuleResult, ScreeningData, TopClasses, names_classes, tied_classes
from sfumato.labeling.top_two_labelers import bad_percents
from sfumato.tables.errors import unknown
from sfumato.tables.payloads import TopTwoPayload
from sfumato.tables.setting_checks import at_least, not_negative
from sfumato.tables.setting_checks import share as check_share
from sfumato.tables.strategies import split_choices, strategy_from_name


@dataclass(frozen=True)
class FailedChecks:
    """The share of passed attention checks is below `at_least`. Passed: the answer is in the region of the study, or
    without a study, the gold class is the only most probable class."""

    at_least: float = 0.75

    name: ClassVar[str] = "checks_passed"

    def __post_init__(self) -> None:
        check_share("at_least", self.at_least)

    def find(self, data: ScreeningData) -> RuleResult:
        passed, shown = self._by_gold(data) if data.checks is None else self._by_study(data)
        share = _ratio(passed, shown)
        return RuleResult(share, share < self.at_least)

    def _by_gold(self, data: ScreeningData) -> tuple[np.ndarray, np.ndarray]:
        is_check = data.is_for("check")
        data.check_gold(self.name, is_check)
        shown = data.per_annotator(is_check)
        passed = data.per_annotator(is_check & data.right(self.name)) if is_check.any() else shown
        return passed, shown

    def _by_study(self, data: ScreeningData) -> tuple[np.ndarray, np.ndarray]:
        assert data.checks is not None
        judged, passed = data.checks.judged, data.checks.passed
        return data.per_annotator(judged & passed), data.per_annotator(judged)


@dataclass(frozen=True)
class RepeatsDisagree:
    """The share of repeated items where the annotator's most probable class changed is above `at_most`. If classes are
    tied, one in common is enough, as in `retest_by_annotator`. Applies to question types that name classes."""

    at_most: float = 0.5

    name: ClassVar[str] = "repeats_changed"

    def __post_init__(self) -> None:
        check_share("at_most", self.at_most)

    def find(self, data: ScreeningData) -> RuleResult:
        table = data.annotations
        usable = names_classes(table)
        answer = table.item.codes.astype(np.int64) * data.n_annotators + table.annotator.codes
        labels, repeats = (np.flatnonzero(usable & data.is_for(purpose)) for purpose in ("label", "repeat"))
        if not len(labels) or not len(repeats):
            return RuleResult.without_data(data.n_annotators)
        known, first = np.unique(answer[labels], return_index=True)
        at = np.minimum(np.searchsorted(known, answer[repeats]), len(known) - 1)
        paired = known[at] == answer[repeats]
        before, after = labels[first[at[paired]]], repeats[paired]
        compared = np.union1d(before, after)
        top = TopClasses.of(table.take(np.isin(np.arange(len(table)), compared)), tied_classes)
        sets = list(top.sets)
        codes = np.stack([top.code[np.searchsorted(compared, rows)] for rows in (before, after)])
        pairs, pair = np.unique(codes, axis=1, return_inverse=True)
        differs = np.array([sets[a] != sets[b] and not sets[a] & sets[b] for a, b in pairs.T.tolist()], bool)
        changed = differs[pair.reshape(-1)]
        who = table.annotator.codes[after]
        n_changed = np.bincount(who, weights=changed, minlength=data.n_annotators)
        share = _ratio(n_changed, np.bincount(who, minlength=data.n_annotators))
        return RuleResult(share, share > self.at_most)


@dataclass(frozen=True)
class Contradictions:
    """Contradictory top-two answers, as in CIFAR-10S: a percent outside 0..100, the first or second class marked
    impossible, or no first percent.

    Excluded with `remove_at` or more contradictions (the paper: more than two, so 3; its code: 2); with fewer, but at
    least one, only if the first class is right for less than `accuracy` of the items. Accuracy alone never excludes.
    """

    remove_at: int = 3
    accuracy: float = 0.75

    name: ClassVar[str] = "contradictions"

    def __post_init__(self) -> None:
        at_least("remove_at", self.remove_at, 1)
        check_share("accuracy", self.accuracy)

    def find(self, data: ScreeningData) -> RuleResult:
        offending = per_answer(data.annotations, "top_two", _contradicts, bool)
        count = data.per_annotator(offending)
        offends = count >= self.remove_at
        unclear = (count > 0) & ~offends
        if unclear.any():
            known = data.is_for("label") & data.has_gold()
            right = data.right(self.name)
            share = _ratio(data.per_annotator(known & right), data.per_annotator(known))
            offends |= unclear & (share < self.accuracy)
        return RuleResult(count.astype(np.float64), offends)


def _contradicts(answer: TopTwoPayload) -> bool:
    return bad_percents(answer) or bool({answer.first, answer.second} & set(answer.impossible))


@dataclass(frozen=True)
class TooFast:
    """Too fast: the annotator's median time is below `crowd` times the median over annotators, or more than `at_most`
    of the answers took less than `own` times the annotator's own median. The number is the median in seconds."""

    crowd: float = 1 / 3
    own: float = 0.2
    at_most: float = 0.1

    name: ClassVar[str] = "median_seconds"

    def __post_init__(self) -> None:
        not_negative("crowd", self.crowd)
        check_share("own", self.own)
        check_share("at_most", self.at_most)

    def find(self, data: ScreeningData) -> RuleResult:
        who, seconds = data.annotations.annotator.codes, data.annotations.seconds
        timed = ~np.isnan(seconds)
        medians = data.annotations.median_seconds()
        if np.isnan(medians).all():
            return RuleResult.without_data(data.n_annotators)
        hasty = timed & (np.nan_to_num(seconds) < self.own * np.nan_to_num(medians)[who])
        share = _ratio(data.per_annotator(hasty), data.per_annotator(timed))
        return RuleResult(medians, (medians < self.crowd * np.nanmedian(medians)) | (share > self.at_most))


@dataclass(frozen=True)
class IdenticalRuns:
    """More than `at_most` identical answers in a row, in the order of trials, if such a run has a probability below
    `chance` when the same answers are in random order.

    So a run of ten with two classes does not count, nor a long run if nearly all items are of one class. Without trial
    numbers the rule does not apply.
    """

    at_most: int = 10
    chance: float = 0.001

    name: ClassVar[str] = "longest_run"

    def __post_init__(self) -> None:
        at_least("at_most", self.at_most, 1)
        check_share("chance", self.chance)

    def find(self, data: ScreeningData) -> RuleResult:
        import polars as pl

        table = data.annotations
        if table.trial.null_count:
            return RuleResult.without_data(data.n_annotators)
        _, text = np.unique(pl.Series(table.payload.cast(pa.string())).hash().to_numpy(), return_inverse=True)
        order = np.lexsort((table.trial.to_numpy(), table.annotator.codes))
        who, said = table.annotator.codes[order], text[order]
        starts = np.ones(len(order), dtype=bool)
        starts[1:] = (who[1:] != who[:-1]) | (said[1:] != said[:-1])
        lengths = np.diff(np.flatnonzero(np.append(starts, True)))
        longest = np.zeros(data.n_annotators)
        np.maximum.at(longest, who[starts], lengths)
        is_long = longest > self.at_most
        return RuleResult(longest, is_long & (_expected_runs(who, said, longest) < self.chance))


def _expected_runs(who: np.ndarray, said: np.ndarray, length: np.ndarray) -> Float[np.ndarray, "annotators"]:
    """The expected number of runs of at least `length` if the annotator's answers were in random order: the sum over
    distinct answers of n (1 - p) p ** length."""
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
    "paid": (
        FailedChecks(),
        TooFast(),
        IdenticalRuns(),
        UnrelatedAnswers(),
        CopiedAnswers(),
        RegularTimes(),
        ImpossibleTimes(),
        NoInput(),
        SameDevice(),
        SharedNetwork(),
    ),
}
"""Our own sets (`paid`: studies that pay strangers), and those of CIFAR-10H (75% of checks), CIFAR-10S (contradictions)
and soft-digits (all checks)."""


SCREENING_RULES: tuple[Any, ...] = (
    FailedChecks,
    RepeatsDisagree,
    Contradictions,
    TooFast,
    IdenticalRuns,
    UnrelatedAnswers,
    CopiedAnswers,
    RegularTimes,
    ImpossibleTimes,
    NoInput,
    SameDevice,
    SharedNetwork,
)
"""All rules; the name of a rule is its column in the table."""


def rules_of(chosen: str | Mapping[str, Mapping[str, float]]) -> tuple[Rule, ...]:
    """The rules of a study: the name of a set (default `standard`), or single rules with their settings, as a table or
    as text (`checks_passed:at_least=0.9,longest_run`)."""
    if isinstance(chosen, str) and any(chosen.startswith(rule.name) for rule in SCREENING_RULES):
        return tuple(strategy_from_name("screening rule", SCREENING_RULES, each, {}) for each in split_choices(chosen))
    if isinstance(chosen, str):
        return rule_set(chosen or "standard")
    return tuple(_rule(name, settings) for name, settings in chosen.items())


def _rule(name: str, settings: Mapping[str, float]) -> Any:
    """One rule; whole numbers become integers where the setting is one."""
    own = [field for member in SCREENING_RULES if member.name == name for field in fields(member)]
    counts = {field.name for field in own if type(field.default) is int}
    numbers = {key: int(each) if key in counts and each.is_integer() else each for key, each in settings.items()}
    return strategy_from_name("screening rule", SCREENING_RULES, name, numbers)


def rule_set(name: str) -> tuple[Rule, ...]:
    """The rule set called `name`."""
    if name not in RULE_SETS:
        rules = ", ".join(rule.name for rule in SCREENING_RULES)
        raise unknown("rule set", name, list(RULE_SETS), fix=f"or give single rules: {rules}")
    return RULE_SETS[name]


def _ratio(part: np.ndarray, whole: np.ndarray) -> Float[np.ndarray, "annotators"]:
    """part / whole, NaN where `whole` is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
