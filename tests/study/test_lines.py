"""The line of every key: on a document by hand, and on any that hypothesis can write."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.study.toml_mistakes import lines_of

DOCUMENT = '''\
# [no.table]
title = "a # b"   # title = 2
'quoted key'."x.y" = 1
classes = [
  "a]", # ]
  'b', { name = "c", key = "k" },
]
text = """
[people]
fake = 1 \\""" still
""""
literal = \'\'\'
[[practice]]
\'\'\'\'
at = 1979-05-27 07:32:00

[ deep . "er" ]
k = 1
[[practice]]
item = "one"
[practice.more]
x = 1
[[practice]]
[[practice.inner]]
y = [[1,
2], []]
[[practice.inner]]
[deep]
z = true
'''


def test_lines_by_hand() -> None:
    lines = lines_of(DOCUMENT)
    assert lines == {
        ("title",): 2,
        ("quoted key",): 3,
        ("quoted key", "x.y"): 3,
        ("classes",): 4,
        ("classes", 0): 5,
        ("classes", 1): 6,
        ("classes", 2): 6,
        ("classes", 2, "name"): 6,
        ("classes", 2, "key"): 6,
        ("text",): 8,
        ("literal",): 12,
        ("at",): 15,
        ("deep",): 28,
        ("deep", "er"): 17,
        ("deep", "er", "k"): 18,
        ("practice",): 19,
        ("practice", 0): 19,
        ("practice", 0, "item"): 20,
        ("practice", 0, "more"): 21,
        ("practice", 0, "more", "x"): 22,
        ("practice", 1): 23,
        ("practice", 1, "inner"): 24,
        ("practice", 1, "inner", 0): 24,
        ("practice", 1, "inner", 0, "y"): 25,
        ("practice", 1, "inner", 0, "y", 0): 25,
        ("practice", 1, "inner", 0, "y", 0, 0): 25,
        ("practice", 1, "inner", 0, "y", 0, 1): 26,
        ("practice", 1, "inner", 0, "y", 1): 26,
        ("practice", 1, "inner", 1): 27,
        ("deep", "z"): 29,
    }
    assert set(lines) == paths_of(tomllib.loads(DOCUMENT))


def test_windows_line_ends_count_once() -> None:
    assert lines_of(DOCUMENT.replace("\n", "\r\n")) == lines_of(DOCUMENT)


def paths_of(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every way to a value of what tomllib read."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path for _ in [0] if path}.union(*(paths_of(each, (*path, key)) for key, each in inside))


KEYS = st.text(st.sampled_from("ab -_.\"'é#=[]\\\t"), max_size=4)
TEXTS = st.text(st.sampled_from("ab\n\"'\\#=[]{},é "), max_size=12)


def basic(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


@st.composite
def written_values(draw: st.DrawFn, depth: int = 2) -> str:
    """A value as TOML, of every form a string, array or inline table can take."""
    forms = ["plain", "basic", "long", "literal", "long literal"] + ["array", "table"] * (depth > 0)
    form = draw(st.sampled_from(forms))
    if form == "plain":
        return draw(st.sampled_from(["1", "-1.5e3", "true", "nan", "1979-05-27", "1979-05-27 07:32:00Z"]))
    if form in ("array", "table"):
        gap = draw(st.sampled_from(["", " ", "\n", " # note ] }\n"])) if form == "array" else " "
        values = draw(st.lists(written_values(depth - 1), max_size=3))
        if form == "array":
            return "[" + gap + ("," + gap).join(values) + gap + "]"
        keys = draw(st.lists(KEYS, min_size=len(values), max_size=len(values), unique=True))
        return "{" + ", ".join(f"{basic(key)} = {value}" for key, value in zip(keys, values, strict=True)) + "}"
    text = draw(TEXTS)
    if form == "basic":
        return basic(text)
    if form == "long":
        return '"""' + text.replace("\\", "\\\\").replace('"""', '""\\"') + '"""'
    plain = text.replace("'", "").replace("\n", "")
    return f"'{plain}'" if form == "literal" else "'''" + text.replace("'''", "") + "'''"


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[tuple[str | int, ...], int]]:
    """A document and the lines of the keys its writer knows."""
    lines: dict[tuple[str | int, ...], int] = {}
    text = ""
    tables = draw(st.lists(st.tuples(st.booleans(), KEYS), max_size=4, unique_by=lambda table: table[1]))
    for is_array, name in [(False, None), *tables]:
        for number in range(draw(st.integers(1, 3)) if is_array else 1):
            path: tuple[str | int, ...] = () if name is None else (name, number) if is_array else (name,)
            if name is not None:
                text += draw(st.sampled_from(["", "\n", "# [note]\n"]))
                lines.setdefault((name,), text.count("\n") + 1)
                lines[path] = text.count("\n") + 1
                text += f"[[ {basic(name)} ]]\n" if is_array else f"[{basic(name)}] # x = 1\n"
            taken = [each[1] for each in tables] if name is None else []
            for key in draw(st.lists(KEYS.filter(lambda key: key not in taken), max_size=3, unique=True)):  # noqa: B023
                lines[(*path, key)] = text.count("\n") + 1
                text += f"{basic(key)}\t=  {draw(written_values())}\n"
    return text, lines


@given(documents())
def test_every_key_of_any_document_has_its_line(written: tuple[str, dict[tuple[str | int, ...], int]]) -> None:
    text, expected = written
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # the writer must write TOML, or the test says nothing
        pytest.fail(f"{error}: {text!r}")
    found = lines_of(text)
    assert set(found) == paths_of(values)
    assert {path: found[path] for path in expected} == expected
