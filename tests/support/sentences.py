"""Checks of the participants' texts: the catalogs, the keys that pages and scripts use, and text outside a catalog.

`sources()` are the files with texts for participants. `asked_for(source)` lists their calls of `say`; `left_in` lists
text outside `say`; `differences` compares two catalogs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import sfumato
from sfumato.elicitation.kind import folder_of
from sfumato.elicitation.kinds import KINDS

PACKAGE = Path(sfumato.__file__).parent
FORMS = {"zero", "one", "two", "few", "many", "other"}
VALUES: Mapping[str, Sequence[str]] = {
    "framing.value": ("own", "others"),
    "mark": ("yes", "unsure", "no"),
    "named": ("enter", "backspace", "delete", "shift", "tab", "space"),
}
"""The possible values of the variable parts of keys."""
SEEN_ATTRIBUTES = {"alt", "aria-description", "aria-label", "aria-roledescription", "aria-valuetext", "placeholder"} | {
    "label",
    "title",
}
KEYS_AND_HEADERS = re.compile(
    r"(Enter|Tab|Shift|Space|Backspace|Delete|Escape|Home|End|Page(Up|Down)|Arrow(Left|Right|Up|Down)|POST"
    r"|Content-Type|Retry-After|X-Sfumato-Age|Broadcast\w+)"
)
SENTENCE = re.compile(r"[^\W\d_]{2,}[,;:]? +[^\W\d_]{2,}|[^\W\d_]{2,}[.!?…]$|^[A-Z][a-z]+")
SINK = re.compile(
    r"(\b(textContent|alt|title|innerText|placeholder)\s*=(?!=)|\b(announce|notice)\(|"
    r"\bsetAttribute\(\s*'(aria-label|aria-valuetext|aria-description|title|alt|placeholder)'\s*,|"
    r"\belement\(\s*'\w+'\s*,)\s*"
)


@dataclass(frozen=True)
class Source:
    """A file with texts for participants."""

    name: str
    text: str
    table: str
    """The table of the catalog with its keys; '' for the whole catalog."""


@dataclass(frozen=True)
class Asked:
    """A call of `say`: its possible keys, and the names of its values."""

    keys: tuple[str, ...]
    values: frozenset[str]
    where: str


def sources() -> list[Source]:
    """All templates and scripts for participants."""
    found = [
        Source(path.name, path.read_text("utf-8"), "")
        for folder, ending in (("templates", "html"), ("static", "js"))
        for path in sorted((PACKAGE / "server" / folder).glob(f"*.{ending}"))
        if not path.name.startswith("dashboard") and path.name != "texts.js"
    ]
    for kind in KINDS:
        for name in ("form.html", "form.js"):
            text = (folder_of(kind) / name).read_text("utf-8")
            found.append(Source(f"{kind.name}/{name}", text, f"kinds.{kind.name}"))
    return found


def leaves(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Key -> sentence, or the plural forms of a sentence."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, str) or FORMS.issuperset(value):
            found[before + key] = value
        else:
            found |= leaves(value, f"{before}{key}.")
    return found


def placeholders(sentence: str | Mapping[str, str]) -> set[str]:
    """The names of the placeholders in all forms."""
    forms = [sentence] if isinstance(sentence, str) else list(sentence.values())
    return {name for form in forms for _, name, _, _ in string.Formatter().parse(form) if name is not None}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Keys and placeholders that differ between two catalogs."""
    a, b = leaves(one), leaves(other)
    found = [f"{key} in one of them only" for key in sorted(set(a) ^ set(b))]
    return found + [
        f"{key} fills in {sorted(placeholders(a[key]))} here, {sorted(placeholders(b[key]))} there"
        for key in sorted(set(a) & set(b))
        if placeholders(a[key]) != placeholders(b[key])
    ]


def flaws(catalog: Mapping[str, Any]) -> list[str]:
    """Sentences that are empty or badly formatted, and plural forms with missing placeholders."""
    found = []
    for key, sentence in leaves(catalog).items():
        forms = {"": sentence} if isinstance(sentence, str) else sentence
        for name, form in forms.items():
            if not form.strip() or form != form.strip() or "  " in form:
                found.append(f"{key} {name}: empty, or extra spaces")
            if re.search(r"[<>&]", form):
                found.append(f"{key} {name}: markup")
            if re.search(r"['\"]|\.\.\.", form):
                found.append(f"{key} {name}: typewriter quotes or dots")
        if not isinstance(sentence, str):
            if "other" not in sentence:
                found.append(f"{key}: no form for the other numbers")
            elif placeholders(sentence["other"]) != placeholders(sentence):
                found.append(f"{key}: the form for the other numbers leaves something out")
    return found


def asked_for(source: Source) -> list[Asked]:
    """Every call of `say` in a file."""
    text = source.text if source.name.endswith(".html") else without_comments(source.text)
    found = []
    for call in re.finditer(r"(?<![\w#.])say\(", text):
        where = f"{source.name}:{text[: call.start()].count(chr(10)) + 1}"
        first, *rest = arguments(text, call.end())
        before = f"{source.table}." if source.table else ""
        keys = tuple(before + key for key in _keys(first, where))
        found.append(Asked(keys, frozenset(_names(rest, where)), where))
    return found


def _keys(expression: str, where: str) -> list[str]:
    """The possible keys of an expression."""
    expression = expression.strip()
    if joined := re.fullmatch(r"\"(\w+)\" ~ ([\w.]+)", expression):
        return [joined[1] + value for value in _values(joined[2], where)]
    if filled := re.fullmatch(r"`([\w.]*)\$\{(\w+)\}`", expression):
        return [filled[1] + value for value in _values(filled[2], where)]
    if re.fullmatch(r"[\w.]+", expression):
        return list(_values(expression, where))
    literals = re.findall(r"'([\w.]+)'|\"([\w.]+)\"", expression)
    assert literals, f"{where}: no key"
    assert not re.search(r"[`~+]", re.sub(r"\[\w+ \+ 1\]$", "", expression)), (
        f"{where}: a key that cannot be parsed: {expression}"
    )
    return [one or other for one, other in literals]


def _values(name: str, where: str) -> Sequence[str]:
    assert name in VALUES, f"{where}: list what {name} can be in VALUES"
    return VALUES[name]


def _names(rest: Sequence[str], where: str) -> Iterator[str]:
    """The names of the values: keys of an object in JavaScript, keywords in a template."""
    for argument in rest:
        text = argument.strip()
        parts = arguments(text, 1, "}") if text.startswith("{") else [text]
        for part in filter(str.strip, parts):
            name = re.match(r"\s*(\w+)\s*(?:$|[:=](?!=))", part)
            assert name, f"{where}: values that cannot be parsed: {part}"
            yield name[1]


def arguments(text: str, start: int, end: str = ")") -> list[str]:
    """The parts between commas from `start` to the closing bracket."""
    found, depth, begin, at = [], 0, start, start
    while True:
        character = text[at]
        if character in "'\"`":
            at = text.index(character, at + 1)
        elif character in "([{":
            depth += 1
        elif character == end and depth == 0:
            return [*found, text[begin:at]]
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
        at += 1


def left_in(name: str, text: str) -> list[str]:
    """Texts in a template or a script that are not from a catalog."""
    return list(_left_in_html(text)) if name.endswith(".html") else list(_left_in_script(text))


class _Visible(HTMLParser):
    """The text and the attributes that people see or hear (screen readers)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self._around: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._around.append(tag)
        self.seen += [f"{name}={value}" for name, value in attrs if name in SEEN_ATTRIBUTES and _has_letters(value)]

    def handle_endtag(self, tag: str) -> None:
        while self._around and self._around.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        is_key = self._around[-1:] == ["kbd"] and len(data.strip()) == 1
        if _has_letters(data) and not is_key:
            self.seen.append(data.strip())


def _left_in_html(text: str) -> Iterator[str]:
    text = re.sub(r"\{#.*?#\}", "", text, flags=re.S)
    for code in re.findall(r"\{[{%](.*?)[%}]\}", text, flags=re.S):
        for one, other in re.findall(r"\"([^\"]*)\"|'([^']*)'", code):
            if SENTENCE.search(re.sub(r"<[^>]*>", "", one or other)):
                yield one or other
    yield from _Visible(re.sub(r"\{[{%].*?[%}]\}", "", text, flags=re.S)).seen


def _left_in_script(text: str) -> Iterator[str]:
    code = re.sub(r"\bclass: [^,}]*", "", without_comments(text))
    for literal in literals(code):
        if _is_for_programs(literal.text) or re.search(r"\b(new Error|Symbol|say)\($", code[: literal.start].rstrip()):
            continue
        if SENTENCE.search(literal.said) and not KEYS_AND_HEADERS.fullmatch(literal.said):
            yield literal.text
    for sink in SINK.finditer(code):
        said = _until_end(code, sink.end())
        # Arguments of `say` are keys, and names of elements are not text.
        said = re.sub(r"(?<![\w#.])(say|byId)\((?:[^()]|\([^()]*\))*\)", "", said)
        for literal in literals(said):
            if _has_letters(literal.said):
                yield literal.text


def _is_for_programs(text: str) -> bool:
    """Whether a text is a selector or an address."""
    return bool(re.search(r"[\[\]#=/]|^[.*]|^\w+(-\w+)+$", re.sub(r"\$\{[^}]*\}", "", text)))


def _until_end(code: str, start: int) -> str:
    """The argument or value that starts at `start`."""
    depth, at = 0, start
    while at < len(code):
        character = code[at]
        if character in "'\"`":
            at = code.index(character, at + 1)
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and character in ",;\n"):
            break
        at += 1
    return code[start:at]


@dataclass(frozen=True)
class Literal:
    """A string literal; `said` is its text without `${...}`."""

    text: str
    said: str
    start: int


def literals(code: str) -> list[Literal]:
    """All string literals in a script without comments."""
    return [
        Literal(match[0][1:-1], re.sub(r"\$\{[^}]*\}", "", match[0][1:-1]), match.start())
        for match in re.finditer(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`", code)
    ]


def without_comments(code: str) -> str:
    """The script with comments replaced by spaces; line numbers do not change."""
    parts = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`|/\*.*?\*/|//[^\n]*", re.S)
    return parts.sub(lambda part: re.sub(r"[^\n]", " ", part[0]) if part[0].startswith("/") else part[0], code)


def _has_letters(text: str | None) -> bool:
    return bool(re.search(r"[^\W\d_]", text or ""))
