"""Screening: which annotators to exclude, with reasons, as a table; nothing is deleted.

Each rule computes one number per annotator and whether it is out of range. Exclusion and payment are two decisions, so
they are two columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import ColumnTable
from sfumato.tables.errors import BadSetting, BadTable, show, unknown
from sfumato.tables.files.table_file import check_columns, read_rows
from sfumato.tables.option_words import is_command
from sfumato.tables.payloads import ChoicePayload, MixturePayload, TokensPayload, TopTwoPayload, payload_kind
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import TextReader


def top_classes(answer: Any) -> frozenset[str]:
    """The most probable classes of an answer: one, several if tied, or none if all were ruled out."""
    match answer:
        case ChoicePayload():
            return frozenset((answer.chosen,))
        case TopTwoPayload():
            return frozenset((answer.first,))
        case TokensPayload():
            return _largest(answer.tokens)
        case MixturePayload():
            return _largest({answer.classes[0]: answer.share, answer.classes[1]: 1 - answer.share})
        case dict() if set(answer.values()) <= {"yes", "no", "unsure"}:
            # A yes counts more than an unsure.
            return _largest({name: ("no", "unsure", "yes").index(mark) for name, mark in answer.items()})
        case dict():
            return _largest(answer)
    expected = "answers that name classes (choice, top_two, plausible, sliders, tokens, mixture)"
    fix = "choose such answers with --kind, or screen in Python with rules that need no classes"
    raise BadSetting(f"answers of type {type(answer).__name__}", expected, fix, "wrong-kind")


def tied_classes(answer: Any) -> frozenset[str]:
    """As `top_classes`, but as beliefs have it: both classes of a top-two answer with equal percents, and all classes
    if every slider is at 0."""
    if (
        isinstance(answer, TopTwoPayload)
        and answer.second is not None
        and answer.second_percent == answer.first_percent
    ):
        return frozenset((answer.first, answer.second))
    if isinstance(answer, dict) and all(value == 0 for value in answer.values()):
        return frozenset(answer)
    return top_classes(answer)


NAMES_CLASSES = ("choice", "top_two", "plausible", "sliders", "tokens", "mixture")
"""The question types whose answers have a most probable class."""


def names_classes(table: Annotations) -> Bool[np.ndarray, "rows"]:
    """Which answers have a most probable class."""
    return table.kind.among({name for name in table.kind.names.to_pylist() if name.split("/")[0] in NAMES_CLASSES})


def _largest(values: dict[str, Any]) -> frozenset[str]:
    largest = max(values.values(), default=0)
    return frozenset(name for name, value in values.items() if value == largest and value > 0)


@dataclass(frozen=True)
class RuleResult:
    """Per annotator, the value of a rule (NaN: no data) and whether it breaks the rule, so that they are excluded; and
    for some rules whether it is a sign, which excludes nobody but is a reason to look at the answers."""

    value: Float[np.ndarray, "annotators"]
    offends: Bool[np.ndarray, "annotators"]
    sign: Bool[np.ndarray, "annotators"] | None = None

    @classmethod
    def without_data(cls, n_annotators: int) -> RuleResult:
        """The result of a rule that does not apply to these answers."""
        return cls(np.full(n_annotators, np.nan), np.zeros(n_annotators, dtype=bool))


@runtime_checkable
class Rule(Protocol):
    """A reason to exclude an annotator; `name` is a column of the table and an entry in `reasons`."""

    @property
    def name(self) -> str: ...

    def find(self, data: ScreeningData) -> RuleResult: ...


@dataclass(frozen=True, eq=False)
class CheckResults:
    """Whether each row is a check that was evaluated against its region in the study, and whether it passed."""

    judged: Bool[np.ndarray, "rows"]
    passed: Bool[np.ndarray, "rows"]


@dataclass(frozen=True, eq=False)
class AnswerRecords:
    """How each answer was made, as the page recorded it: per row the time that the browser claims (NaN: not known) and
    the number of inputs (-1: not known); per annotator the number of their network, of their window, and of both
    together, which may be one device (-1: not known)."""

    claimed_seconds: Float[np.ndarray, "rows"]
    n_inputs: Int[np.ndarray, "rows"]
    network: Int[np.ndarray, "annotators"]
    device: Int[np.ndarray, "annotators"]
    window: Int[np.ndarray, "annotators"]
    n_matched: int = 0
    """Answers that have a record."""
    n_of_one_address: int = 0
    """Annotators whose network is not used, because nearly all have it: that of a proxy, or of one place."""

    @property
    def known(self) -> Bool[np.ndarray, "rows"]:
        return np.asarray(self.n_inputs >= 0)


@dataclass(frozen=True, eq=False)
class ScreeningData:
    """The input of the rules, with values that several rules need."""

    annotations: Annotations
    gold: SoftLabels | None = None
    checks: CheckResults | None = None
    records: AnswerRecords | None = None

    @property
    def n_annotators(self) -> int:
        return len(self.annotations.annotator.names)

    def is_for(self, purpose: str) -> Bool[np.ndarray, "rows"]:
        """Which rows were shown for `purpose`."""
        return self.annotations.purpose.among({purpose})

    def per_annotator(self, rows: Bool[np.ndarray, "rows"]) -> Int[np.ndarray, "annotators"]:
        """The number of `rows` of each annotator."""
        return np.asarray(np.bincount(self.annotations.annotator.codes[rows], minlength=self.n_annotators))

    @cached_property
    def leading(self) -> TopClasses:
        """The most probable classes of each answer."""
        return TopClasses.of(self.annotations, top_classes)

    def right(self, needed_for: str) -> Bool[np.ndarray, "rows"]:
        """Which rows have the gold class as their only most probable class; an error without gold labels."""
        if self.gold is None:
            found, expected = f"no gold labels for the rule {needed_for}", "the correct class of every item it uses"
            study = "the study with --study" if is_command() else "checks=study.checks"
            fix = f"give them with --gold, or for the checks of your own study {study}"
            raise BadSetting(found, expected, fix, "missing-gold")
        gold = dict(zip(self.gold.items.to_pylist(), self.gold.probs.argmax(axis=1).tolist(), strict=True))
        wanted = [
            self.leading.sets.get(frozenset((self.gold.classes[gold[name]],)), -1) if name in gold else -1
            for name in self.annotations.item.names.to_pylist()
        ]
        return np.asarray(self.leading.code == np.array(wanted, np.int32)[self.annotations.item.codes])

    def check_gold(self, needed_for: str, rows: Bool[np.ndarray, "rows"]) -> None:
        """Raise unless every item of `rows` has a gold label, and its classes are classes of the answers."""
        if self.gold is None or not rows.any():
            return
        missing = np.flatnonzero(rows & ~self.has_gold())
        if len(missing):
            found = f"no gold label for {len(np.unique(self.annotations.item.codes[missing])):,} of the items"
            expected = f"the correct class of every item that the rule {needed_for} uses"
            fix = "add them to the gold labels"
            raise BadTable(found, expected, fix, "missing-gold", self.annotations.where(int(missing[0]), "item"))
        for name in self.gold.classes:
            if self.annotations.classes and name not in self.annotations.classes:
                raise unknown("class", name, self.annotations.classes, fix="use the class names of the answers")

    def has_gold(self) -> Bool[np.ndarray, "rows"]:
        """Which rows are about an item with a gold label."""
        known = set() if self.gold is None else set(self.gold.items.to_pylist())
        return self.annotations.item.among(known)


@dataclass(frozen=True)
class TopClasses:
    """Per row, the number of its set of most probable classes, and the sets by number."""

    code: Int[np.ndarray, "rows"]
    sets: dict[frozenset[str], int]

    @classmethod
    def of(cls, annotations: Annotations, read: Callable[[Any], frozenset[str]]) -> TopClasses:
        """The sets that `read` finds in the answers."""
        sets: dict[frozenset[str], int] = {}
        code = np.empty(len(annotations), np.int32)
        for kind_code, kind_name in enumerate(annotations.kind.names.to_pylist()):
            of_kind = annotations.kind.codes == kind_code
            rows = np.flatnonzero(of_kind)
            for answers, inverse, start in annotations.take(of_kind).decoded(payload_kind(kind_name)):
                of_answer = [sets.setdefault(read(answer), len(sets)) for answer in answers]
                code[rows[start : start + len(inverse)]] = np.array(of_answer, np.int32)[inverse]
        return cls(code, sets)


@dataclass(frozen=True, eq=False, repr=False)
class Screening(ColumnTable):
    """One row per annotator: whether they are excluded (`set_aside`), the reasons, signs that exclude nobody, whether
    they are paid, and the number of each rule."""

    annotators: pa.StringArray
    n_answers: Int[np.ndarray, "annotators"]
    set_aside: Bool[np.ndarray, "annotators"]
    reasons: tuple[str, ...]
    signs: tuple[str, ...]
    pay: Bool[np.ndarray, "annotators"]
    findings: dict[str, Float[np.ndarray, "annotators"]]

    renamed: ClassVar[Mapping[str, str]] = {"annotators": "annotator"}

    def excluded_names(self) -> list[str]:
        """The annotators whose answers are excluded."""
        return self.annotators.filter(pa.array(self.set_aside)).to_pylist()  # type: ignore[no-any-return]


def screen(
    annotations: Annotations,
    rules: Sequence[Rule],
    *,
    gold: SoftLabels | None = None,
    checks: CheckResults | None = None,
    records: AnswerRecords | None = None,
    unpaid: Sequence[Rule] = (),
    must_apply: bool = True,
) -> Screening:
    """Exclude annotators who break any of `rules`. All are paid except those who break a rule in `unpaid`.

    Attention checks are evaluated by `checks` (the regions of the study) if given, otherwise by `gold`. A rule that
    cannot be applied (no gold labels, another question type) is an error, or without `must_apply` has no data.
    """
    data = ScreeningData(annotations, gold, checks, records)
    findings = {}
    for rule in rules:
        try:
            findings[rule.name] = rule.find(data)
        except BadSetting:
            if must_apply:
                raise
            findings[rule.name] = RuleResult.without_data(data.n_annotators)
    offends = {name: finding.offends for name, finding in findings.items()}
    weak = {name: each.sign & ~each.offends for name, each in findings.items() if each.sign is not None}
    pay = np.ones(data.n_annotators, dtype=bool)
    for rule in unpaid:
        pay &= ~rule.find(data).offends
    n_answers = np.bincount(annotations.annotator.codes, minlength=data.n_annotators)
    values = {name: finding.value for name, finding in findings.items()}
    excluded = np.any([np.zeros(data.n_annotators, bool), *offends.values()], axis=0)
    reasons, signs = (_listed(each, data.n_annotators) for each in (offends, weak))
    return Screening(annotations.annotator.names, n_answers, excluded, reasons, signs, pay, values)


def _listed(found: Mapping[str, Bool[np.ndarray, "annotators"]], n_annotators: int) -> tuple[str, ...]:
    """Per annotator, the names of the rules that found something."""
    return tuple("; ".join(name for name, each in found.items() if each[i]) for i in range(n_annotators))


def read_excluded(path: str | Path) -> list[str]:
    """The excluded annotators of a screening table: those with `set_aside` true."""
    rows = read_rows(path)
    check_columns(rows, ("annotator", "set_aside"))
    reader = TextReader(rows, "annotator")
    names: list[str] = []
    for chunk in rows.chunks:
        start = reader.n_rows
        annotators = [name for piece in reader.read(chunk.column("annotator")) for name in piece.to_pylist()]
        for i, value in enumerate(chunk.column("set_aside").to_pylist()):
            excluded = str(value).lower()
            if excluded not in ("true", "false"):
                fix, where = "write true or false for every annotator", rows.where(start + i, "set_aside")
                raise BadTable(show(value), "true or false", fix, "bad-value", where)
            names += [annotators[i]] if excluded == "true" else []
    return names


@dataclass(frozen=True)
class Screened:
    """A screening table as it is read back: per annotator, whether excluded (`set_aside`), and the reasons."""

    annotators: tuple[str, ...]
    set_aside: tuple[bool, ...]
    reasons: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, path: str | Path) -> Screened:
        excluded = set(read_excluded(path))
        rows = read_rows(path)
        check_columns(rows, ("annotator", "set_aside", "reasons"))
        names, texts = [], []
        for chunk in rows.chunks:
            names += [str(name) for name in chunk.column("annotator").to_pylist()]
            texts += [str(text or "") for text in chunk.column("reasons").to_pylist()]
        reasons = (tuple(each for each in text.split("; ") if each) for text in texts)
        return cls(tuple(names), tuple(name in excluded for name in names), tuple(reasons))

    @cached_property
    def excluded(self) -> tuple[str, ...]:
        return tuple(name for name, is_out in zip(self.annotators, self.set_aside, strict=True) if is_out)

    def most_common_reasons(self) -> list[tuple[str, int]]:
        """Every reason with its number of annotators, the most frequent first."""
        return self.reasons_for(set(self.annotators))

    def reasons_for(self, annotators: Container[str]) -> list[tuple[str, int]]:
        """The reasons for these annotators, each with its number of annotators, the most frequent first."""
        given = zip(self.annotators, self.reasons, strict=True)
        return Counter(reason for name, reasons in given if name in annotators for reason in reasons).most_common()
