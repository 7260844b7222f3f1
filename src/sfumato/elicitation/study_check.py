"""Checks a whole study before it is served: file, items, images, kind; and estimates participants and cost."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.elicitation.item_images import check_picture
from sfumato.elicitation.items import read_items
from sfumato.elicitation.kind import Kind
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import ABOUT_ONE_ITEM, Entry, Question, Study
from sfumato.study.study_file import Draft, read_draft
from sfumato.study.toml_mistakes import KeyPath, Mistakes, written
from sfumato.tables.errors import BadFile, BadSetting, BadStudy, SfumatoError, UnknownName, listing, nearest, show

MAX_LISTED = 20
"""How many damaged images are listed; the rest are counted."""
TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes"}


@dataclass(frozen=True)
class StudyCheckResult:
    """A study without mistakes, with estimates and warnings."""

    study: Study
    items: Sequence[Item]
    stimuli: Sequence[Stimulus]
    n_answers: int
    """Answers wanted in total, without practice and repeats."""
    n_people: int
    """Participants needed if each does all batches."""
    n_per_person: int
    """Answers per participant with repeats and checks, without practice."""
    n_fresh: int
    """Of these, answers about new items that count."""
    cost: float | None
    warnings: tuple[str, ...]


def check_study(
    path: Path, *, pictures: bool = True, also: Sequence[Callable[[Study, Mistakes], None]] = ()
) -> StudyCheckResult:
    """The study in `path` after all checks; raises `BadStudy` with every mistake and its line.

    Without `pictures` the images are not opened, which takes a while. `also` are further checks.
    """
    draft = read_draft(path)
    study, mistakes = draft.study, draft.mistakes
    items = _items(draft)
    kind = _kind_in(("arms", 0) if study.arms else ("question",), study.question, mistakes)
    stimuli = _stimuli(kind, items, study, mistakes) if kind and items else []
    _check_deeper(study, stimuli, items, mistakes)
    for number, arm in enumerate(study.arms):
        _check_same_stimuli(("arms", number), arm.question, stimuli, items, study, mistakes)
    # If the kind itself is wrong, list the items instead.
    known = [each.item for each in stimuli] if kind else [each.id for each in items]
    for table, named in (("practice", study.practice), ("checks", study.checks)):
        _check_known(table, [each.item for each in named], list(dict.fromkeys(known)), mistakes)
    _check_judged(study, mistakes)
    for check in also:
        check(study, mistakes)
    if pictures:
        _check_pictures(study, items, mistakes)
    if mistakes.found:
        raise BadStudy(mistakes.in_order(), file=mistakes.file)
    return _summary(study, items, stimuli)


def _items(draft: Draft) -> list[Item]:
    """The items; none if the study file does not say where they are."""
    study, mistakes = draft.study, draft.mistakes
    key = next((key for key in ("folder", "csv", "npz", "texts") if getattr(study.items, key)), None)
    if key is None or any(mistakes.about("items", each) for each in ("folder", "csv", "npz", "texts")):
        return []
    if any(each.code == "one-source" for each in mistakes.found):
        return []
    try:
        return read_items(study.items, study.class_names)
    except SfumatoError as error:
        if error.where.line is None:
            mistakes.place(("items", key), error)
        else:
            mistakes.found.append(error)  # it already has a line, in the file of the items
        return []


def _kind_in(table: KeyPath, question: Question, mistakes: Mistakes) -> Kind | None:
    """The kind in a table of the study file, with its settings; None if something is wrong."""
    from sfumato.elicitation.kinds import KINDS, kind_asked

    member = next((each for each in KINDS if each.name == question.kind), None)
    if member is not None and not _settings_fit(table, member, question, mistakes):
        return None
    try:
        return kind_asked(question)
    except (BadSetting, UnknownName) as error:
        mistakes.place((*table, *_key_named(error, question)), error)
        return None


def _check_deeper(study: Study, stimuli: Sequence[Stimulus], items: Sequence[Item], mistakes: Mistakes) -> None:
    """Check the deeper form and its practice items."""
    for number, practice in enumerate(study.practice):
        if practice.deeper and study.deeper is None:
            found, fix = "deeper = true without [deeper]", "add [deeper], or leave it out here"
            mistakes.add(("practice", number, "deeper"), found, "a deeper form to practice", fix, "no-deeper")
    if study.deeper is None:
        return
    _check_same_stimuli(("deeper",), study.deeper.question, stimuli, items, study, mistakes)
    if not stimuli:
        return
    unknown = sorted(set(study.deeper.items) - {each.item for each in stimuli})
    if unknown:
        found = f"{listing(unknown, 3)}, which is not asked about"
        mistakes.add(("deeper", "items"), found, "ids of items", "write ids of the items", "unknown-item")


def _check_same_stimuli(
    table: KeyPath,
    question: Question,
    stimuli: Sequence[Stimulus],
    items: Sequence[Item],
    study: Study,
    mistakes: Mistakes,
) -> None:
    """Check that another form of the study is valid, and asks about the same items as the first."""
    # The first arm was checked before.
    kind = _kind_in(table, question, mistakes) if question is not study.question else None
    if kind is None or not stimuli:
        return
    try:
        same = kind.stimuli(items, study) == list(stimuli)
    except SfumatoError:
        same = False
    if not same:
        found = f"the kinds {study.question.kind} and {kind.name}, which show different items"
        fix = f"choose among {listing(list(ABOUT_ONE_ITEM))}"
        mistakes.add((*table, "kind"), found, "forms that ask about the same single items", fix, "other-stimuli")


def _settings_fit(table: KeyPath, member: Any, question: Question, mistakes: Mistakes) -> bool:
    """Check names and types of the settings; the kind itself checks the values."""
    known = [each.name for each in fields(member)]
    types_of = typing.get_type_hints(member)
    n_before = len(mistakes.found)
    for key, value in question.settings.items():
        at = (*table, key)
        if key not in known:
            settings = [*["name"] * (table[0] == "arms"), "kind", "framing", "prompt", *known]
            found = f"the key {show(key)} for the kind {member.name}"
            fix = f"{nearest(key, settings)}leave it out, or choose another kind"
            mistakes.add(
                at, found, f"the keys of [{written(table)}] for {member.name}: {listing(settings)}", fix, "unknown-key"
            )
        elif not _is_of(value, types_of[key]):
            expected = TYPE_NAMES.get(_plain_type(types_of[key]), "another type of value")
            fix = f"write {expected}"
            mistakes.add(at, f"{key} = {show(value)}", expected=expected, fix=fix, code="wrong-type")
    return len(mistakes.found) == n_before


def _plain_type(hint: Any) -> Any:
    """`int` for `int | None`: a study file cannot hold None."""
    if isinstance(hint, types.UnionType):
        return next((each for each in hint.__args__ if each is not types.NoneType), hint)
    return hint


def _is_of(value: object, hint: Any) -> bool:
    wanted = _plain_type(hint)
    if wanted is float:
        return type(value) in (int, float)
    return wanted not in TYPE_NAMES or type(value) is wanted


def _key_named(error: SfumatoError, question: Question) -> tuple[str, ...]:
    """The key of the question's table that an error of the kind is about."""
    if isinstance(error, UnknownName):
        return ("kind",)
    words = error.found.replace("-", "_").split()
    return next(((key,) for key in question.settings if key in words), ())


def _stimuli(kind: Kind, items: list[Item], study: Study, mistakes: Mistakes) -> list[Stimulus]:
    try:
        return kind.stimuli(items, study)
    except SfumatoError as error:
        if not mistakes.about("classes"):
            at = ("question", "kind")
            mistakes.place(at if at in mistakes.lines else at[:1], error)
        return []


def _check_known(table: str, named: Sequence[str], asked: list[str], mistakes: Mistakes) -> None:
    """Check that items of `[[practice]]` or `[[checks]]` exist."""
    known = set(asked)
    for number, item in enumerate(named):
        if asked and item and item not in known:
            found = f"item = {show(item)}, which is not asked about"
            fix = f"{nearest(item, asked[:10_000])}write an id of the items"
            mistakes.add((table, number, "item"), found, f"the id of an item: {listing(asked, 6)}", fix, "unknown-item")


def _check_judged(study: Study, mistakes: Mistakes) -> None:
    """Check that regions are used only with kinds whose answers give class probabilities."""
    if study.question.kind in ABOUT_ONE_ITEM:
        _check_choices(study, mistakes)
        return
    placed = [("practice", n) for n, each in enumerate(study.practice) if each.region is not None]
    for at in ([("checks", 0)] if study.checks else []) + placed[:1]:
        found = f"{at[0]} with a region and the kind {study.question.kind}"
        expected = f"a kind that gives class probabilities: {listing(list(ABOUT_ONE_ITEM))}"
        mistakes.add(at, found, expected, "leave the region out, or choose another kind", "wrong-kind")


def _check_choices(study: Study, mistakes: Mistakes) -> None:
    """Check that a choice can be in the region of every check: it puts everything on one class."""
    asked = [arm.question for arm in study.arms] or [study.question]
    if not any(question.kind == "choice" for question in asked):
        return
    for number, check in enumerate(study.checks):
        if not any(check.region.has({name: 1.0}) for name in study.class_names):
            found = f"a region for {show(check.item)} that no choice of one class is in"
            fix = "change the region, or choose a question type in which people can divide their answer"
            mistakes.add(("checks", number), found, "a region with at least one class alone", fix, "empty-region")


def _check_pictures(study: Study, items: list[Item], mistakes: Mistakes) -> None:
    """Check that every image can be shown."""
    for number, each in enumerate(study.classes):
        if each.example is not None and not mistakes.about("classes", number, "example"):
            try:
                check_picture(each.example)
            except BadFile as error:
                mistakes.place(("classes", number, "example"), error)
    n_bad = 0
    for item in items:
        if item.picture is None:
            continue
        try:
            check_picture(item.picture)
        except BadFile as error:
            n_bad += 1
            if n_bad <= MAX_LISTED:
                mistakes.found.append(error)
    if n_bad > MAX_LISTED:
        found = f"{n_bad - MAX_LISTED:,} more images that cannot be shown"
        mistakes.add(("items",), found, "intact images", "fix those listed, and check again", "damaged-pictures")


def _summary(study: Study, items: list[Item], stimuli: list[Stimulus]) -> StudyCheckResult:
    people = study.people
    special = study.special_items
    labeled = [each for each in stimuli if each.item not in special]
    n_arms = max(len(study.arms), 1)
    n_answers = len(labeled) * people.answers_per_item * n_arms
    n_fresh = min(people.batch_size * people.batches, len(labeled))
    in_an_arm = math.ceil(len(labeled) * people.answers_per_item / n_fresh) if n_fresh else 0
    n_people = n_arms * max(people.answers_per_item, in_an_arm) if n_fresh else 0
    n_batches = math.ceil(n_fresh / people.batch_size)
    warnings = []
    if not labeled:
        warnings.append("every item is used for practice, so none is labeled")
    elif people.batch_size > len(labeled):
        warnings.append(
            f"batch_size is {people.batch_size}, but there are only {len(labeled)} items: batches are shorter"
        )
    n_per_person = n_fresh + people.repeats * n_batches + study.n_checks_per_person
    late = [each.item for each in study.checks if each.at is not None and each.at >= n_per_person]
    if late:
        warnings.append(
            f"these checks come after the last of {n_per_person} answers and are never shown: {listing(late, 3)}"
        )
    if study.recruiting is not None and study.people.entry is Entry.OPEN:
        warnings.append('participants come from a platform, but anyone may take part: entry = "links" prevents that')
    if study.recruiting is not None and study.checks and len(study.checks) < 2 * study.n_checks_per_person:
        warnings.append(
            f"people are paid, and everybody sees at least half of the same {len(study.checks)} checks, so that people "
            "who take part twice recognize them; add [[checks]], and set checks_per_person in [quality]"
        )
    if study.comprehension and not study.instructions:
        warnings.append("there are comprehension questions, but no instructions")
    return StudyCheckResult(
        study,
        items,
        labeled,
        n_answers,
        n_people,
        n_per_person,
        n_fresh,
        None if study.pay is None else study.pay.amount * n_people * n_batches,
        tuple(warnings),
    )
