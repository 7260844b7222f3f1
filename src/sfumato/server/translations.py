"""Texts of the participant pages, one catalog per language (`locale/`), and the choice of language.

A sentence has a key and named values: `say("rest.done", n=3, wanted=25)`. `n` selects the plural form. The scripts of
the page use the same catalog (`static/texts.js`).
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

from markupsafe import Markup

from sfumato.elicitation.kind import Kind
from sfumato.study.study import LANGUAGES, Framing, Study
from sfumato.tables.errors import SfumatoError

FOLDER = Path(__file__).parent / "locale"
MOST_PREFERENCES = 20
"""Languages of a browser that are considered."""
SERVER_ONLY = ("landing", "errors", "error", "format", "bonus")
"""Tables that scripts do not need."""
NO_BREAK = re.compile(r"(?<=«) | (?=[:;?!»%…×])")
"""Spaces at which a line must not end."""
PLURAL_RULES: Mapping[str, Callable[[float], str]] = {"fr": lambda n: "one" if 0 <= n < 2 else "other"}
"""Plural rules (Unicode CLDR) of languages that do not use `one` for 1 and `other` for the rest."""


class Translator(Protocol):
    """The function `say` of the templates."""

    def __call__(self, key: str, /, **values: Any) -> str: ...


@dataclass(frozen=True)
class Translations:
    """The catalog of one language."""

    language: str
    sentences: Mapping[str, Any] = field(repr=False)

    def say(self, key: str, /, **values: Any) -> str:
        """The sentence at `key` with `values` filled in; if one of them is `Markup`, the result is HTML."""
        found: Any = self.sentences
        for part in key.split("."):
            found = found[part]
        if isinstance(found, Mapping):
            found = found[self._form(found, values["n"])]
        if any(isinstance(value, Markup) for value in values.values()):
            return Markup.escape(found).format(**values)
        return str(found).format(**values)

    def within(self, table: str) -> Translator:
        """`say` for the keys of one table."""
        return lambda key, /, **values: self.say(f"{table}.{key}", **values)

    def for_script(self, kinds: Sequence[str]) -> dict[str, Any]:
        """The sentences that the scripts need in a study with these question types."""
        tables = {name: table for name, table in self.sentences.items() if name not in (*SERVER_ONLY, "kinds")}
        # The scale of typicality is also used by similarity.
        wanted = [name for name in self.sentences["kinds"] if name in (*kinds, "typicality")]
        return {**tables, "kinds": {name: self.sentences["kinds"][name] for name in wanted}}

    def prompt(self, kind: Kind, framing: Framing) -> str:
        """The question above a form; in English if the catalog does not have the question type."""
        if kind.name not in self.sentences["kinds"]:
            return kind.prompt(framing)
        values = {**asdict(kind), **getattr(kind, "in_prompt", {})}  # type: ignore[call-overload]
        return self.say(f"kinds.{kind.name}.prompt_{framing.value}", **values)

    def pay(self, study: Study, n_batches: int = 1) -> str | None:
        """The pay for taking part: that of all batches a participant can do, and that of one."""
        if study.pay is None:
            return None
        say = partial(self.say, currency=study.pay.currency)
        amount = self._decimal(f"{n_batches * study.pay.amount:.2f}")
        if not study.pay.minutes:
            whole = say("format.pay", amount=amount)
        else:
            minutes = n_batches * study.pay.minutes
            whole = say("format.pay_minutes", amount=amount, minutes=self._decimal(f"{minutes:g}"), n=minutes)
        if n_batches == 1:
            return whole
        part = self._decimal(f"{study.pay.amount:.2f}")
        return say("format.pay_parts", whole=whole, n=n_batches, amount=part, size=study.people.batch_size)

    def bonus(self, study: Study) -> str | None:
        """The bonus rule in a few sentences; in English if the catalog does not have the rule."""
        if study.pay is None or study.pay.bonus is None:
            return None
        bonus = study.pay.bonus
        text = [self.say("bonus.most", amount=self._decimal(f"{bonus.most:.2f}"), currency=study.pay.currency)]
        if bonus.rule in self.sentences["bonus"]:
            text.append(self.say(f"bonus.{bonus.rule}"))
        else:
            from sfumato.recruitment.bonus_rules import rule_of

            text.append(getattr(rule_of(study), "said", ""))
        if bonus.floor:
            text.append(self.say("bonus.floor", points=self._decimal(f"{100 * bonus.floor:g}")))
        return " ".join(text)

    def _decimal(self, number: str) -> str:
        return number.replace(".", self.say("format.decimal"))

    def error(self, error: SfumatoError, platform: str = "") -> tuple[str, str]:
        """The message of an error for participants, and how to fix it; `platform` is the one they come from."""
        errors = self.sentences["errors"]
        known = errors.get(error.code, errors["other"])
        return known["message"].format(platform=platform), known["fix"].format(platform=platform)

    def _form(self, forms: Mapping[str, str], n: float) -> str:
        if n == 0 and "zero" in forms:
            return "zero"
        form = PLURAL_RULES[self.language](n) if self.language in PLURAL_RULES else "one" if n == 1 else "other"
        return form if form in forms else "other"


@lru_cache
def translations_for(language: str) -> Translations:
    """The catalog of one of `LANGUAGES`; read once."""
    assert language in LANGUAGES
    return Translations(language, _with_no_break(tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))))


def _with_no_break(sentences: Any) -> Any:
    """The sentences with no-break spaces, which are not visible in an editor and so are not in the file."""
    if isinstance(sentences, str):
        return NO_BREAK.sub("\N{NO-BREAK SPACE}", sentences)
    return {key: _with_no_break(value) for key, value in sentences.items()}


def preferred_language(accept: str, offered: Sequence[str]) -> str:
    """The offered language that a browser prefers (`Accept-Language`), otherwise the first. `de-AT` matches `de`."""
    preferences: list[tuple[float, str]] = []
    for part in accept[:1000].split(",")[:MOST_PREFERENCES]:
        name, _, weight = part.partition(";")
        with contextlib.suppress(ValueError):
            preferences.append((float(weight.strip().removeprefix("q=") or 1), name.strip().lower().partition("-")[0]))
    possible = [(weight, name) for weight, name in preferences if 0 < weight <= 1 and name in offered]
    return max(possible, key=lambda each: each[0])[1] if possible else offered[0]
