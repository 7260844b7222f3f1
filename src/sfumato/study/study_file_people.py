"""The tables `[[checks]]` and `[quality]` of a study file: items whose answer is known, and what failing leads to.

The tables `[platform]` and `[pay.bonus]` of a study file, and its languages: who comes, what they earn, what they
read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.study.study import LANGUAGES, Bonus, Check, PracticeItem, Quality, Recruiting, Region, StudyClass
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


CODE_CHARACTERS = "letters, digits and dashes, as the platform shows it"
OUTCOMES = ("completed", "screened_out", "no_consent")


def read_recruiting(top: Fields) -> Recruiting | None:
    """The platform people come from, if there is one."""
    if not top.given("platform"):
        return None
    table = top.table("platform")
    for key, expected, example in (
        ("name", "the platform's name", '"prolific"'),
        ("completed", "the code for who has finished", '"C1A2B3C4"'),
    ):
        if key not in table.values:
            table.missing(key, expected, example)
    name = table.text("name", limit=40) or ""
    codes = {outcome: _code(table, outcome) for outcome in OUTCOMES}
    for outcome in OUTCOMES[1:]:
        if codes[outcome] is not None and codes[outcome] in [codes[each] for each in OUTCOMES if each != outcome]:
            found = f"{outcome} = {show(codes[outcome])}, which is another outcome's code"
            table.add(
                outcome,
                found,
                expected="a code of its own for each outcome",
                fix="make another code on the platform",
                code="same-code",
            )
    # Whatever else stands here are settings of the platform, which checks them itself.
    return Recruiting(name, codes["completed"] or "", codes["screened_out"], codes["no_consent"], table.rest())


def read_bonus(pay: Fields) -> Bonus | None:
    """What answers earn beside the base, if anything."""
    if not pay.given("bonus"):
        return None
    table = pay.table("bonus")
    for key, expected, example in (
        ("rule", "the rule it goes by", '"brier"'),
        ("most", "what the best answers earn", "1.00"),
    ):
        if key not in table.values:
            table.missing(key, expected, example)
    return Bonus(
        table.text("rule", limit=40) or "",
        table.number("most", 0, 0, 1_000_000),
        table.number("floor", Bonus.floor, 0, 0.999),
        # The settings of the rule, which checks them itself.
        table.rest(),
    )


def read_languages(top: Fields) -> tuple[str, ...]:
    """The languages the pages come in: `language = "de"`, or several as `languages = ["en", "de"]`."""
    if top.given("language") and "languages" in top.values:
        fix = "write one of them"
        top.add("language", "language and languages", expected="one of the two", fix=fix, code="language-twice")
    one = top.text("language", limit=20)
    several = top.texts("languages", 1, len(LANGUAGES)) if top.given("languages") else []
    given = several or ([one] if one else [LANGUAGES[0]])
    key = "languages" if several else "language"
    for name in given:
        if name not in LANGUAGES:
            expected = f"one of {listing(list(LANGUAGES))}"
            fix = f"{nearest(name, LANGUAGES)}write one of these"
            top.add(key, f"the language {show(name)}", expected=expected, fix=fix, code="unknown-language")
    return tuple(name for name in given if name in LANGUAGES) or LANGUAGES[:1]


def _code(table: Fields, outcome: str) -> str | None:
    code = table.text(outcome, limit=64)
    if code is not None and not (code.isascii() and code.replace("-", "").isalnum()):
        fix = "copy the code from the platform; not its address"
        table.add(outcome, f"{outcome} = {show(code)}", expected=CODE_CHARACTERS, fix=fix, code="bad-code")
    return code
