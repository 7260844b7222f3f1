"""Language: the sentences people read, one catalogue a language (`texts/`), and which of them somebody reads.

A sentence is found by its key and filled in by name: `say("rest.done", n=3, wanted=25)`. One that depends on a number
has a form for each case of the language, chosen by `n`. The page's script has the same catalogue (`static/texts.js`).
"""

from __future__ import annotations

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
"""Languages of a browser that are looked at."""
NO_SCRIPT = ("landing", "errors", "error", "format", "bonus")
"""Parts that only the server says."""
STICKS = re.compile(r"(?<=«) | (?=[:;?!»%…×])")
"""Spaces at which no line ends."""
FORM_IN: Mapping[str, Callable[[float], str]] = {"fr": lambda n: "one" if 0 <= n < 2 else "other"}
"""The form for a number, in languages in which it is not `one` for 1 and `other` for the rest (Unicode's plural rules,
which browsers have built in)."""


class Translator(Protocol):
    """What templates call."""

    def __call__(self, key: str, /, **values: Any) -> str: ...


@dataclass(frozen=True)
class Translations:
    """The catalogue of one language."""

    language: str
    sentences: Mapping[str, Any] = field(repr=False)

    def say(self, key: str, /, **values: Any) -> str:
        """The sentence at `key` with `values` filled in; HTML among them (`Markup`) makes the whole of it HTML."""
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
        """What the script of the page may have to say in a study with these kinds."""
        said = {name: table for name, table in self.sentences.items() if name not in (*NO_SCRIPT, "kinds")}
        # The scale of typicality is used by others, too.
        wanted = [name for name in self.sentences["kinds"] if name in (*kinds, "typicality")]
        return {**said, "kinds": {name: self.sentences["kinds"][name] for name in wanted}}

    def prompt(self, kind: Kind, framing: Framing) -> str:
        """The sentence above the form of a kind; that of the kind itself where the catalogue does not know it."""
        if kind.name not in self.sentences["kinds"]:
            return kind.prompt(framing)
        values = {**asdict(kind), **getattr(kind, "in_prompt", {})}  # type: ignore[call-overload]
        return self.say(f"kinds.{kind.name}.prompt_{framing.value}", **values)

    def pay(self, study: Study) -> str | None:
        """What taking part pays, as a sentence."""
        if study.pay is None:
            return None
        said = partial(self.say, amount=self._amount(study.pay.amount), currency=study.pay.currency)
        if not study.pay.minutes:
            return said("format.pay")
        return said("format.pay_minutes", minutes=self._decimal(f"{study.pay.minutes:g}"), n=study.pay.minutes)

    def bonus(self, study: Study) -> str | None:
        """By what rule answers earn more, in a few sentences; a rule the catalogue does not know in its own English."""
        if study.pay is None or study.pay.bonus is None:
            return None
        bonus = study.pay.bonus
        said = [self.say("bonus.most", amount=self._amount(bonus.most), currency=study.pay.currency)]
        if bonus.rule in self.sentences["bonus"]:
            said.append(self.say(f"bonus.{bonus.rule}"))
        else:
            from sfumato.recruitment.bonus_rules import rule_of

            said.append(getattr(rule_of(study), "said", ""))
        if bonus.floor:
            said.append(self.say("bonus.floor", points=self._decimal(f"{100 * bonus.floor:g}")))
        return " ".join(said)

    def _amount(self, amount: float) -> str:
        return self._decimal(f"{amount:.2f}")

    def _decimal(self, number: str) -> str:
        return number.replace(".", self.say("format.decimal"))

    def error(self, error: SfumatoError) -> tuple[str, str]:
        """What somebody reads who came the wrong way: what was found, and what to do."""
        errors = self.sentences["errors"]
        known = errors.get(error.code, errors["other"])
        return known["message"], known["fix"]

    def _form(self, forms: Mapping[str, str], n: float) -> str:
        if n == 0 and "zero" in forms:
            return "zero"
        form = FORM_IN[self.language](n) if self.language in FORM_IN else "one" if n == 1 else "other"
        return form if form in forms else "other"


@lru_cache
def texts_in(language: str) -> Translations:
    """The catalogue of a language, which is one of `LANGUAGES`; read once."""
    assert language in LANGUAGES
    return Translations(language, _set(tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))))


def _set(sentences: Any) -> Any:
    """The sentences with the spaces in them that do not break, which an editor would not show."""
    if isinstance(sentences, str):
        return STICKS.sub("\N{NO-BREAK SPACE}", sentences)
    return {key: _set(value) for key, value in sentences.items()}


def chosen(accept: str, offered: Sequence[str]) -> str:
    """The language of those offered that a browser likes best (`Accept-Language`), else the first.

    `de-AT` is content with `de`. Nonsense counts as no wish.
    """
    wishes: list[tuple[float, str]] = []
    for part in accept[:1000].split(",")[:MOST_PREFERENCES]:
        name, _, weight = part.partition(";")
        try:
            liked = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        wishes.append((liked, name.strip().lower().partition("-")[0]))
    fitting = [(liked, name) for liked, name in wishes if 0 < liked <= 1 and name in offered]
    return max(fitting, key=lambda wish: wish[0])[1] if fitting else offered[0]
