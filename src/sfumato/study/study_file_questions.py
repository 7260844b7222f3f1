"""The classes of a study file: plain names, or tables with a key and an example picture each.

The tables `[[arms]]` of a study file: several forms compared on the same items.

The tables `[adaptive]` and `[deeper]` of a study file: which item is asked about next, and in how rich a form.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.study.study import Adaptive, Arm, Assignment, Deeper, Framing, Question, StudyClass
from sfumato.study.toml_fields import Fields, show_value
from sfumato.tables.errors import listing, show

WITHOUT_CLASSES = frozenset({"similarity", "triplet"})
"""Kinds that compare items with each other, and so can do without classes."""
RESERVED_KEYS: Mapping[str, str] = {"tokens": "o"}
"""Shortcuts that a form keeps for itself: `o` says that others are possible."""
MAX_CLASSES = 1000


def read_classes(top: Fields, base: Path, kind: str) -> tuple[StudyClass, ...]:
    """The classes, in the order of the file."""
    value = top.values.get("classes", [])
    top.given("classes")
    if not isinstance(value, list):
        fix = 'write classes = ["cat", "dog"]'
        top.add("classes", f"classes = {show_value(value)}", expected="a list of names", fix=fix, code="wrong-type")
        return ()
    if len(value) == 1 or len(value) > MAX_CLASSES or (not value and kind not in WITHOUT_CLASSES):
        top.add(
            "classes",
            f"{len(value):,} class{'es' * (len(value) != 1)}",
            expected=f"2 to {MAX_CLASSES:,} classes",
            fix='write classes = ["cat", "dog"] above the first [table]',
            code="too-few-classes" if len(value) < 2 else "too-many-classes",
        )
    kept = [_read_class(top, number, each, base) for number, each in enumerate(value)]
    _check_once(top, [each.name for each in kept], "name", _same_name)
    _check_once(top, [each.key for each in kept], "key", str.lower)
    for number, each in enumerate(kept):
        if each.key is not None and each.key.lower() in RESERVED_KEYS.get(kind, ""):
            top.mistakes.add(
                ("classes", number, "key"),
                f"key = {show_value(each.key)}, which the form of {kind} uses itself",
                expected="a key of its own",
                fix="choose another key",
                code="reserved-key",
            )
    return tuple(kept)


def _read_class(top: Fields, number: int, value: Any, base: Path) -> StudyClass:
    if not isinstance(value, Mapping):
        return StudyClass(top.checked_text(("classes", number), value, limit=200) or "")
    entry = Fields(value, top.mistakes, ("classes", number))
    name = entry.text("name", limit=200)
    if name is None and "name" not in value:
        entry.missing("name", "the name of the class", '"cat"')
    key = entry.text("key") if "key" in value and value["key"] != " " else None
    if entry.given("key") and (value["key"] == " " or (key is not None and not _is_key(key))):
        entry.add(
            "key",
            f"key = {show_value(value['key'])}",
            expected="one character on the keyboard, but not space or ? (Enter, Tab and Escape have their own work)",
            fix='write a letter or a digit: key = "c"',
            code="bad-key",
        )
        key = None
    example = entry.file("example", base)
    entry.close(("title", "items"))
    return StudyClass(name or "", key, example)


def _is_key(text: str) -> bool:
    """Whether a press of one key gives `text`; the page compares keys in lower case."""
    return len(text) == 1 and len(text.lower()) == 1 and text != "?" and not unicodedata.combining(text)


def _same_name(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _check_once(top: Fields, values: list[Any], what: str, form: Any) -> None:
    """Note each class whose name or key an earlier one has."""
    seen: dict[str, int] = {}
    for number, value in enumerate(values):
        if not value:
            continue
        first = seen.setdefault(form(value), number)
        if first != number:
            at = (
                ("classes", number, what) if isinstance(top.values["classes"][number], Mapping) else ("classes", number)
            )
            top.mistakes.add(
                at,
                f"{what} = {show_value(value)}, which class {first + 1} has already",
                expected=f"a {what} of its own for every class",
                fix="rename one of them" if what == "name" else "choose another key; case makes no difference",
                code=f"doubled-{what}",
            )


FEWEST = 2


def read_arms(top: Fields, assignment: Assignment) -> tuple[Arm, ...]:
    """The arms, in order; none where there are no such tables."""
    kept: list[Arm] = []
    for entry in top.tables("arms"):
        kind = entry.text("kind", "") or ""
        if not kind:
            entry.missing("kind", "the kind of question of this arm", '"tokens"')
        name = entry.text("name", kind, limit=40) or kind
        if name in [each.name for each in kept]:
            entry.add(
                "name" if "name" in entry.values else "kind",
                f"the arm {show(name)} twice",
                expected="a name of its own for each arm",
                fix="write name = ... for one of them",
                code="doubled-arm",
            )
        framing = entry.choice("framing", Framing.OWN)
        prompt = entry.text("prompt", one_line=False, limit=1000)
        # Whatever else stands here are settings of the kind, which checks them itself.
        kept.append(Arm(name, Question(kind or "tokens", framing, prompt, entry.rest())))
    if kept:
        _check_alone(top, assignment)
    if len(kept) == 1:
        top.add(
            "arms",
            "one arm",
            expected=f"at least {FEWEST} forms to compare",
            fix="add another [[arms]], or write [question] instead",
            code="out-of-range",
        )
    return tuple(kept)


def _check_alone(top: Fields, assignment: Assignment) -> None:
    """Note what cannot stand beside arms."""
    beside = [key for key in ("question", "deeper") if key in top.values]
    if beside:
        top.add(
            beside[0],
            f"[{beside[0]}] beside [[arms]]",
            expected="a form in every arm, and none beside them",
            fix=f"move what stands in [{beside[0]}] to an arm",
            code="two-forms",
        )
    if assignment is Assignment.ADAPTIVE:
        top.add(
            "people",
            'assignment = "adaptive" beside [[arms]]',
            expected=f"one of {listing([each.value for each in Assignment if each is not Assignment.ADAPTIVE])}",
            fix="compare forms with as many answers about every item",
            code="two-forms",
        )


MOST_SECONDS = 86_400
USUAL_SHARE = 0.1
"""The share of answers in which the deeper form opens by chance, unless the study file says another."""
FIRST = "choice"
"""The kind that a deeper form may follow."""


def read_adaptive(top: Fields, assignment: Assignment, answers_per_item: int, keys: tuple[str, ...]) -> Adaptive:
    """The rule of an adaptive study; a mistake where there is one and the study is none."""
    rule = top.table("adaptive")
    if "adaptive" in top.values and assignment is not Assignment.ADAPTIVE:
        _without_adaptive(top, "adaptive")
    kept = Adaptive(
        index=rule.text("index", Adaptive.index, limit=40) or Adaptive.index,
        threshold=rule.number("target", 0.02, 1e-9, 100) if rule.given("target") else None,
        lead=rule.whole("lead", 8, 1, 10_000) if rule.given("lead") else None,
        fewest=rule.whole("fewest", min(Adaptive.fewest, answers_per_item), 0, answers_per_item),
        answers=rule.whole("answers", 1, 1, 1_000_000_000) if rule.given("answers") else None,
        audit=rule.number("audit", Adaptive.audit, 0, 1),
        seconds=rule.number("seconds", Adaptive.seconds, 0.01, MOST_SECONDS),
    )
    rule.close(keys)
    return kept


def read_deeper(top: Fields, assignment: Assignment, usual: Question) -> Deeper | None:
    """The deeper form, if there is one, and when it opens."""
    if not top.given("deeper"):
        return None
    table = top.table("deeper")
    is_adaptive = assignment is Assignment.ADAPTIVE
    needed = (("kind", '"top_two"'), *((("votes", "1.07"), ("seconds", "44")) if is_adaptive else ()))
    for key, example in needed:
        if key not in table.values:
            table.missing(key, "a kind of question, what an answer is worth in votes, and how long it takes", example)
    kind = table.text("kind", "tokens") or "tokens"
    if kind == usual.kind:
        table.add(
            "kind",
            f"kind = {kind!r} in [question] and in [deeper]",
            expected="another kind than the usual one",
            fix="choose a richer kind, or leave [deeper] out",
            code="same-kind",
        )
    votes = table.number("votes", 1, 0.001, 1000)
    seconds = table.number("seconds", 1, 0.01, MOST_SECONDS)
    items = table.texts("items", 1, 10_000) if table.given("items") else []
    # Without the weighing of an adaptive study the doors are all there is: they stand open unless they are shut.
    unsure = table.flag("unsure") if table.given("unsure") else not is_adaptive
    share = table.number("share", 0 if is_adaptive else USUAL_SHARE, 0, 1)
    disagreement = table.number("disagreement", 0.3, 0.01, 1) if table.given("disagreement") else None
    framing = table.choice("framing", Framing.OWN if "framing" in table.values else usual.framing)
    prompt = table.text("prompt", one_line=False, limit=1000)
    # Whatever else stands here are settings of the kind, which checks them itself.
    kept = Deeper(
        Question(kind, framing, prompt, table.rest()), votes, seconds, tuple(items), unsure, share, disagreement
    )
    if not (is_adaptive or kept.follows):
        table.add(
            "unsure" if "unsure" in table.values else "share",
            "a deeper form that never opens",
            expected="unsure = true, a share above 0, or a disagreement",
            fix="open one of the doors, or leave [deeper] out",
            code="never-opens",
        )
    if kept.follows and usual.kind != FIRST:
        table.add(
            None,
            f"a deeper form after the kind {usual.kind}",
            expected=f'kind = "{FIRST}" in [question]: a single choice first',
            fix=f'write kind = "{FIRST}" in [question]',
            code="wrong-kind",
        )
    return kept


def _without_adaptive(top: Fields, table: str) -> None:
    top.add(
        table,
        f"[{table}] in a study whose assignment is not adaptive",
        expected='assignment = "adaptive" in [people]',
        fix=f'write assignment = "adaptive" in [people], or leave [{table}] out',
        code="not-adaptive",
    )
