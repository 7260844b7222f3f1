"""The tables `[platform]` and `[pay.bonus]` of a study file, and its languages: who comes, what they earn, what they
read."""

from __future__ import annotations

from sfumato.study.study import LANGUAGES, Bonus, Recruiting
from sfumato.study.toml_fields import Fields
from sfumato.tables.errors import listing, nearest, show

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
