"""Readers for the tables of `study.toml` with rules between keys. Called from `study_file`.

Limits of single keys are in `study`; here are the rules that involve several keys or tables.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.study.study import (
    LANGUAGES,
    Adaptive,
    Arm,
    Assignment,
    Bonus,
    Check,
    ComprehensionQuestion,
    Deeper,
    ItemSource,
    Pay,
    People,
    PracticeItem,
    Quality,
    Question,
    Recruiting,
    Region,
    StudyClass,
)
from sfumato.study.toml_fields import ITEM_KEYS, Fields, item_folders, show_value
from sfumato.tables.errors import listing, nearest, show

WITHOUT_CLASSES = frozenset({"similarity", "triplet"})
"""Question types that compare items with each other and do not need classes."""
RESERVED_KEYS: Mapping[str, str] = {"tokens": "o"}
"""Shortcuts that a form uses itself: `o` adds further options."""
MAX_CLASSES = 1000
MAX_ANSWERS = 1_000_000
SHORTEST_DISTANCE = 5
"""A repeat comes after at least this many other items: trials are reserved ahead, and people should not remember."""
REGION_KEYS = ("classes", "at_least", "none_on", "near", "within")
FIRST_KIND = "choice"
"""The question type that a deeper form may follow."""
DEFAULT_SHARE = 0.1
"""The share of answers after which the deeper form opens at random."""


def read_classes(top: Fields, base: Path, kind: str) -> tuple[StudyClass, ...]:
    """The classes, as plain names or tables, in the order of the file."""
    value = top.values["classes"] if top.given("classes") else []
    if not isinstance(value, list):
        fix = 'write classes = ["cat", "dog"]'
        top.add("classes", f"classes = {show_value(value)}", "a list of names", fix, "wrong-type")
        return ()
    if len(value) == 1 or len(value) > MAX_CLASSES or (not value and kind not in WITHOUT_CLASSES):
        found = f"{len(value):,} class{'es' * (len(value) != 1)}"
        fix = 'write classes = ["cat", "dog"] above the first [table]'
        code = "too-few-classes" if len(value) < 2 else "too-many-classes"
        top.add("classes", found, f"2 to {MAX_CLASSES:,} classes", fix, code)
    kept = [_read_class(top, number, each, base) for number, each in enumerate(value)]
    _check_unique(top, [each.name for each in kept], "name", lambda name: unicodedata.normalize("NFC", name))
    _check_unique(top, [each.key for each in kept], "key", str.lower)
    for number, each in enumerate(kept):
        if each.key is not None and each.key.lower() in RESERVED_KEYS.get(kind, ""):
            found = f"key = {show_value(each.key)}, which the form of {kind} uses itself"
            top.mistakes.add(("classes", number, "key"), found, "another key", "choose another key", "reserved-key")
    return tuple(kept)


def _read_class(top: Fields, number: int, value: Any, base: Path) -> StudyClass:
    if not isinstance(value, Mapping):
        return StudyClass(top.checked_text(("classes", number), value, limit=200) or "")
    entry = Fields(value, top.mistakes, ("classes", number))
    entry.require("name", "the name of the class", '"cat"')
    name = entry.text("name", limit=200)
    key = entry.text("key") if "key" in value and value["key"] != " " else None
    if entry.given("key") and (value["key"] == " " or (key is not None and not _is_key(key))):
        expected = "one character on the keyboard, except space and ? (Enter, Tab and Escape have other functions)"
        fix = 'write a letter or a digit: key = "c"'
        entry.add("key", f"key = {show_value(value['key'])}", expected, fix, "bad-key")
        key = None
    example = entry.file("example", base)
    entry.close()
    return StudyClass(name or "", key, example)


def _is_key(text: str) -> bool:
    """Whether `text` is typed with one key; the page compares keys in lower case."""
    return len(text) == 1 and len(text.lower()) == 1 and text != "?" and not unicodedata.combining(text)


def _check_unique(top: Fields, values: list[Any], what: str, normalize: Callable[[str], str]) -> None:
    """Record each class with the same name or key as an earlier one."""
    first: dict[str, int] = {}
    for number, value in enumerate(values):
        if value and first.setdefault(normalize(value), number) != number:
            is_table = isinstance(top.values["classes"][number], Mapping)
            path = ("classes", number, what) if is_table else ("classes", number)
            found = f"{what} = {show_value(value)}, which class {first[normalize(value)] + 1} already has"
            fix = "rename one of them" if what == "name" else "choose another key; upper and lower case are the same"
            top.mistakes.add(path, found, f"a different {what} for every class", fix, f"doubled-{what}")


def read_languages(top: Fields) -> tuple[str, ...]:
    """The languages of the pages: `language = "de"`, or several as `languages = ["en", "de"]`."""
    if top.given("language") and "languages" in top.values:
        top.add("language", "language and languages", "one of the two", "remove one of them", "language-twice")
    one = top.text("language", limit=20)
    several = top.texts("languages", 1, len(LANGUAGES))
    names = several or ((one,) if one else LANGUAGES[:1])
    for name in names:
        if name not in LANGUAGES:
            key = "languages" if several else "language"
            fix = f"{nearest(name, LANGUAGES)}write one of these"
            top.add(key, f"the language {show(name)}", f"one of {listing(LANGUAGES)}", fix, "unknown-language")
    return tuple(name for name in names if name in LANGUAGES) or LANGUAGES[:1]


def read_items(top: Fields, base: Path) -> ItemSource:
    """`[items]`: exactly one source."""
    top.require("items", "where the items come from", '{ folder = "images" }, or a table [items]')
    table = top.table("items")
    others = item_folders()
    places: dict[str, Any] = {key: table.file(key, base, folder=key == "folder", also_in=others) for key in ITEM_KEYS}
    sources = [key for key in places if key in table.values]
    if len(sources) != 1 and "items" in top.values:
        found = f"{listing(sources) or 'neither folder, csv, npz nor texts'} in [items]"
        fix = 'write folder = "images", or remove all but one'
        table.add(None, found, "one source: folder, csv, npz or texts", fix, "one-source")
    if "text" in table.values and "texts" not in table.values:
        fix = 'write texts = "items.jsonl" too, or remove the key'
        table.add("text", "text without texts", "the column of a file named by texts", fix, "text-without-texts")
    return table.read(ItemSource, **places, roots=(base, *others))


def read_arms(top: Fields, assignment: Assignment) -> tuple[Arm, ...]:
    """`[[arms]]`: forms that are compared, in order."""
    kept: list[Arm] = []
    for entry in top.tables("arms"):
        kind = entry.text("kind", "") or ""
        if not kind:
            entry.add("kind", "no kind", "the question type of this arm", 'write kind = "tokens"', "missing-key")
        name = entry.text("name", kind, limit=40) or kind
        if name in [each.name for each in kept]:
            key = "name" if "name" in entry.values else "kind"
            fix = "write name = ... for one of them"
            entry.add(key, f"the arm {show(name)} twice", "a different name for each arm", fix, "doubled-arm")
        kept.append(Arm(name, entry.read(Question, kind=kind or "tokens")))
    form = next((key for key in ("question", "deeper") if key in top.values), None)
    if kept and form:
        fix = f"move the contents of [{form}] to an arm"
        top.add(form, f"[{form}] together with [[arms]]", "forms only in the arms", fix, "two-forms")
    if kept and assignment is Assignment.ADAPTIVE:
        expected = f"one of {listing([each.value for each in Assignment if each is not Assignment.ADAPTIVE])}"
        fix = "compare forms with the same number of answers per item"
        top.add("people", 'assignment = "adaptive" together with [[arms]]', expected, fix, "two-forms")
    if len(kept) == 1:
        fix = "add another [[arms]], or write [question] instead"
        top.add("arms", "one arm", "at least 2 forms to compare", fix, "out-of-range")
    return tuple(kept)


def read_practice(top: Fields, classes: Sequence[StudyClass]) -> tuple[PracticeItem, ...]:
    """`[[practice]]`, in order."""
    kept: list[PracticeItem] = []
    for entry in top.tables("practice"):
        entry.require("item", "the id of an item", '"..."')
        item = entry.text("item")
        if item is not None and item in [each.item for each in kept]:
            found = f"item = {show(item)} in two [[practice]]"
            entry.add("item", found, "each item once", "leave one out", "doubled-item")
        region = read_region(entry, classes) if any(key in entry.values for key in REGION_KEYS) else None
        kept.append(entry.read(PracticeItem, item=item or "", region=region))
    return tuple(kept)


def read_checks(top: Fields, classes: Sequence[StudyClass], practice: Sequence[PracticeItem]) -> tuple[Check, ...]:
    """`[[checks]]`, in order."""
    kept: list[Check] = []
    used = {each.item: "[[practice]]" for each in practice}
    for entry in top.tables("checks"):
        entry.require("item", "the id of an item", '"..."')
        item = entry.text("item")
        if item in used:
            found = f"item = {show(item)} in {used[item]} too"
            entry.add("item", found, "an item that is used only here", "choose another item", "doubled-item")
        if item:
            used[item] = "another [[checks]]"
        at = entry.whole("at", None, 1, MAX_ANSWERS)
        kept.append(entry.read(Check, item=item or "", region=read_region(entry, classes), at=at))
    return tuple(kept)


def read_region(entry: Fields, study_classes: Sequence[StudyClass]) -> Region:
    """The region of a check or practice item; a mistake if it has no condition or no answer can be in it."""
    known = [each.name for each in study_classes]
    classes, none_on = entry.texts("classes", 1, 1000), entry.texts("none_on", 1, 1000)
    at_least = entry.number("at_least", 1.0 if classes else 0.0, 0, 1)
    near = _read_near(entry)
    within = entry.number("within", 0.3 if near else 1.0, 0, 1)
    for key, names in (("classes", classes), ("none_on", none_on), ("near", tuple(near))):
        for name in names:
            if known and name not in known:
                expected = f"classes of the study: {listing(known, 8)}"
                fix = f"{nearest(name, known)}write the exact name of a class"
                entry.add(key, f"the class {show(name)} in {key}", expected, fix, "unknown-class")
    for key, needed in (("at_least", "classes"), ("within", "near")):
        if key in entry.values and needed not in entry.values:
            entry.add(key, f"{key} without {needed}", f"{needed} with it", f"add {needed}", "missing-key")
    if not (classes or none_on or near):
        expected = "classes with at_least, none_on, or near with within"
        fix = 'write for example classes = ["cat"] and at_least = 0.6'
        entry.add(None, "a check without a condition on its answer", expected, fix, "missing-key")
    if classes and at_least > 0 and set(classes) <= set(none_on):
        found = f"the same classes in none_on and classes: {listing(classes)}"
        entry.add("none_on", found, "a region that is not empty", "remove them from one of the two", "empty-region")
    return Region(classes, at_least, none_on, near, within)


def _read_near(entry: Fields) -> dict[str, float]:
    """A distribution by class name; other classes have no mass."""
    if not entry.given("near"):
        return {}
    table = entry.table("near")
    near = {name: table.number(name, 0.0, 0, 1) for name in table.values}
    if near and abs(sum(near.values()) - 1) > 1e-6:
        found, fix = f"near with a sum of {sum(near.values()):g}", "write shares such as { cat = 0.7, dog = 0.3 }"
        entry.add("near", found, "shares that sum to 1", fix, "bad-sum")
    return near


def read_quality(top: Fields, n_checks: int) -> Quality:
    """`[quality]`; the names of rules are checked by `study_check`."""
    table = top.table("quality")
    rules: str | dict[str, dict[str, float]]
    if table.given("rules") and isinstance(table.values["rules"], Mapping):
        tables = table.table("rules")
        by_name = {name: tables.table(name) for name in tables.values}
        rules = {name: {key: one.number(key, 0, 0, MAX_ANSWERS) for key in one.values} for name, one in by_name.items()}
    else:
        rules = table.text("rules", "", limit=40) or ""
    quality = table.read(Quality, rules=rules, checks_per_person=table.whole("checks_per_person", None, 1, 1000))
    if quality.stop and not n_checks:
        fix = "add [[checks]], or remove stop"
        table.add("stop", "stop = true in a study without checks", "at least one of [[checks]]", fix, "no-checks")
    if quality.checks_per_person is not None and quality.checks_per_person > n_checks:
        found = f"checks_per_person = {quality.checks_per_person} with {n_checks} checks"
        fix = "add [[checks]], or write a smaller number"
        table.add("checks_per_person", found, "at most the number of [[checks]]", fix, "too-few-checks")
    return quality


def read_comprehension(top: Fields) -> tuple[ComprehensionQuestion, ...]:
    """`[[comprehension]]`, in order."""
    kept = []
    for entry in top.tables("comprehension"):
        for key, example in (("question", '"..."'), ("choices", '["yes", "no"]'), ("answer", '"..."')):
            entry.require(key, "a question, its choices and the correct answer", example)
        choices = entry.texts("choices", 2, 10, prose=True)
        answer = entry.text("answer", prose=True)
        if answer is not None and choices and answer not in choices:
            expected = f"one of the choices: {listing(choices)}"
            fix = f"{nearest(answer, choices)}write the correct choice exactly as in choices"
            entry.add("answer", f"answer = {show(answer)}", expected, fix, "answer-not-a-choice")
        kept.append(entry.read(ComprehensionQuestion, choices=choices, answer=answer or ""))
    return tuple(kept)


def read_people(table: Fields) -> People:
    """`[people]`: repeats and their distance must fit in a batch."""
    size = table.whole("batch_size", People.batch_size, 1, 10_000)
    repeats = table.whole("repeats", 0, 0, size)
    distance = table.whole("repeat_distance", 0, SHORTEST_DISTANCE, size)
    if distance and distance + repeats > size:
        found = f"repeat_distance = {distance} and {repeats} repeats in a batch of {size}"
        fix = f"choose a distance of at most {max(size - repeats, 0)}, or a larger batch"
        table.add("repeat_distance", found, "a batch that holds the distance and the repeats", fix, "out-of-range")
    return table.read(People, batch_size=size, repeats=repeats, repeat_distance=distance)


def read_adaptive(top: Fields, people: People) -> Adaptive:
    """`[adaptive]`: only with adaptive assignment."""
    table = top.table("adaptive")
    if "adaptive" in top.values and people.assignment is not Assignment.ADAPTIVE:
        found = "[adaptive] in a study whose assignment is not adaptive"
        fix = 'write assignment = "adaptive" in [people], or remove [adaptive]'
        top.add("adaptive", found, 'assignment = "adaptive" in [people]', fix, "not-adaptive")
    most = people.answers_per_item
    return table.read(Adaptive, fewest=table.whole("fewest", min(Adaptive.fewest, most), 0, most))


def read_deeper(top: Fields, is_adaptive: bool, usual: Question) -> Deeper | None:
    """`[deeper]`: another question type than the usual one, and at least one condition that opens it."""
    if not top.given("deeper"):
        return None
    table = top.table("deeper")
    for key, example in (("kind", '"top_two"'), ("votes", "1.07"), ("seconds", "44"))[: 3 if is_adaptive else 1]:
        table.require(key, "a question type, what an answer is worth in votes, and how long it takes", example)
    kind = table.text("kind", "tokens") or "tokens"
    if kind == usual.kind:
        found = f"kind = {kind!r} in [question] and in [deeper]"
        fix = "choose a more detailed question type, or remove [deeper]"
        table.add("kind", found, "another question type than in [question]", fix, "same-kind")
    deeper = table.read(
        Deeper,
        close=False,
        question=usual,
        items=table.texts("items", 1, 10_000),
        # An adaptive study chooses the deeper form itself; others need conditions, which are on by default.
        unsure=table.flag("unsure", not is_adaptive),
        share=table.number("share", 0 if is_adaptive else DEFAULT_SHARE, 0, 1),
    )
    if not (is_adaptive or deeper.follows):
        key = "unsure" if "unsure" in table.values else "share"
        expected = "unsure = true, a share above 0, or a disagreement"
        fix = "allow one of these conditions, or remove [deeper]"
        table.add(key, "a deeper form that never opens", expected, fix, "never-opens")
    if deeper.follows and usual.kind != FIRST_KIND:
        found, expected = f"a deeper form after the kind {usual.kind}", f'kind = "{FIRST_KIND}" in [question]'
        table.add(None, found, expected, f'write kind = "{FIRST_KIND}" in [question]', "wrong-kind")
    framing = table.choice("framing", usual.framing)
    return replace(deeper, question=table.read(Question, kind=kind, framing=framing))


def read_pay(top: Fields) -> Pay | None:
    """`[pay]` and `[pay.bonus]`."""
    if not top.given("pay"):
        return None
    table = top.table("pay")
    table.require("amount", "what a batch pays", "2.50")
    table.require("currency", "what a batch pays", '"EUR"')
    bonus = None
    if table.given("bonus"):
        entry = table.table("bonus")
        entry.require("rule", "the bonus rule", '"brier"')
        entry.require("most", "what the best answers earn", "1.00")
        bonus = entry.read(Bonus)
    return table.read(Pay, bonus=bonus)


def read_recruiting(top: Fields) -> Recruiting | None:
    """`[platform]`: a different completion code per outcome."""
    if not top.given("platform"):
        return None
    table = top.table("platform")
    table.require("name", "the platform's name", '"prolific"')
    table.require("completed", "the code for participants who finished", '"C1A2B3C4"')
    name = table.text("name", limit=40) or ""
    codes: dict[str, str | None] = {}
    for outcome in ("completed", "screened_out", "no_consent"):
        code = codes[outcome] = table.text(outcome, limit=64)
        if code is not None and not (code.isascii() and code.replace("-", "").isalnum()):
            expected = "letters, digits and dashes, as the platform shows it"
            fix = "copy the code from the platform; not its address"
            table.add(outcome, f"{outcome} = {show(code)}", expected, fix, "bad-code")
        if code is not None and list(codes.values()).count(code) > 1:
            found = f"{outcome} = {show(code)}, which is the code of another outcome"
            fix = "create another code on the platform"
            table.add(outcome, found, "a different code for each outcome", fix, "same-code")
    completed, screened_out, no_consent = codes.values()
    return Recruiting(name, completed or "", screened_out, no_consent, table.rest())
