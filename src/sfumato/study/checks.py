"""The tables `[[checks]]` and `[quality]` of a study file: items whose answer is known, and what failing leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.study.study import Check, PracticeItem, Quality, Region, StudyClass
from sfumato.study.toml_fields import Fields
from sfumato.tables.errors import listing, nearest, show

MOST_ANSWERS = 1_000_000
REGION = ("classes", "at_least", "none_on", "near", "within")
"""The keys by which a region is said."""


def read_checks(
    top: Fields, classes: Sequence[StudyClass], practice: Sequence[PracticeItem], keys: tuple[str, ...]
) -> tuple[Check, ...]:
    """The checks, in order."""
    kept: list[Check] = []
    taken = {each.item: "[[practice]]" for each in practice}
    for entry in top.tables("checks"):
        item = entry.text("item")
        if item is None and "item" not in entry.values:
            entry.missing("item", "the id of an item", '"..."')
        if item in taken:
            entry.add(
                "item",
                f"item = {show(item)} in {taken[item]} too",
                expected="an item that is for nothing else",
                fix="choose another item",
                code="doubled-item",
            )
        if item:
            taken[item] = "another [[checks]]"
        at = entry.whole("at", 1, 1, MOST_ANSWERS) if entry.given("at") else None
        kept.append(Check(item or "", read_region(entry, [each.name for each in classes]), at))
        entry.close(keys)
    return tuple(kept)


def read_region(entry: Fields, classes: Sequence[str]) -> Region:
    """Where the answer must lie; a mistake where nothing says so, or what is said can never hold."""
    named = entry.texts("classes", 1, 1000) if entry.given("classes") else []
    none_on = entry.texts("none_on", 1, 1000) if entry.given("none_on") else []
    at_least = entry.number("at_least", 1.0 if named else 0.0, 0, 1)
    near = _near(entry)
    within = entry.number("within", 0.3 if near else 1.0, 0, 1)
    for key, names in (("classes", named), ("none_on", none_on), ("near", list(near))):
        for name in names:
            if classes and name not in classes:
                entry.add(
                    key,
                    f"the class {show(name)} in {key}",
                    expected=f"classes of the study: {listing(list(classes), 8)}",
                    fix=f"{nearest(name, classes)}write a class letter by letter",
                    code="unknown-class",
                )
    for key, needs in (("at_least", "classes"), ("within", "near")):
        if key in entry.values and needs not in entry.values:
            entry.add(
                key,
                f"{key} without {needs}",
                expected=f"{needs} beside it",
                fix=f"say of what with {needs}",
                code="missing-key",
            )
    if not (named or none_on or near):
        entry.add(
            None,
            "a check that says nothing of its answer",
            expected="classes with at_least, none_on, or near with within",
            fix='write for example classes = ["cat"] and at_least = 0.6',
            code="missing-key",
        )
    if named and at_least > 0 and set(named) <= set(none_on):
        entry.add(
            "none_on",
            f"none_on and classes that name the same: {listing(named)}",
            expected="a region that an answer can lie in",
            fix="leave them out of one of the two",
            code="empty-region",
        )
    return Region(tuple(named), at_least, tuple(none_on), near, within)


def _near(entry: Fields) -> dict[str, float]:
    """A distribution by the names of classes; what is not named has no mass."""
    if not entry.given("near"):
        return {}
    table = entry.table("near")
    found = {name: table.number(name, 0.0, 0, 1) for name in list(table.values)}
    if found and abs(sum(found.values()) - 1) > 1e-6:
        entry.add(
            "near",
            f"near whose parts sum to {sum(found.values()):g}",
            expected="parts that sum to 1",
            fix="write shares such as { cat = 0.7, dog = 0.3 }",
            code="bad-sum",
        )
    return found


def _rules(table: Fields) -> str | dict[str, dict[str, float]]:
    """A set of rules by its name, or rules one by one with the numbers they go by; which there are is checked later."""
    if not isinstance(table.values.get("rules"), Mapping):
        return table.text("rules", "", limit=40) or ""
    rules = table.table("rules")
    asked = {name: rules.table(name) for name in rules.values}
    return {
        name: {key: numbers.number(key, 0, 0, MOST_ANSWERS) for key in numbers.values}
        for name, numbers in asked.items()
    }


def read_quality(top: Fields, n_checks: int, keys: tuple[str, ...]) -> Quality:
    """What follows from failing checks, and which rules are looked at live."""
    table = top.table("quality")
    kept = Quality(
        most_failed=table.whole("most_failed", Quality.most_failed, 1, 1000),
        stop=table.flag("stop"),
        rules=_rules(table),
    )
    if kept.stop and not n_checks:
        table.add(
            "stop",
            "stop = true in a study without checks",
            expected="[[checks]] to be failed",
            fix="add [[checks]], or leave stop out",
            code="no-checks",
        )
    table.close(keys)
    return kept
