"""What our scripts and pages must not do, looked for in every file. Each rule is tried on lines that break it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato

PACKAGE = Path(sfumato.__file__).parent
FOLDERS = (PACKAGE / "server", PACKAGE / "elicitation" / "kinds")
SCRIPTS = sorted(path for folder in FOLDERS for path in folder.rglob("*.js"))
PAGES = sorted(path for folder in FOLDERS for path in folder.rglob("*.html"))
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)

RUNS = r"\beval\(|new Function\b|document\.write|insertAdjacentHTML|outerHTML|innerHTML|set(?:Timeout|Interval)\(['\"`]"
MESSAGES = (
    r"(?<!#channel\?)\.(?:addEventListener\('message'|postMessage)|(?<!\.)\baddEventListener\('message'|onmessage"
)
LOOSE = r"[^=!<>]==[^=]|!=[^=]"
PROPERTY = r"\w\[(?!\d)[^\]'\"`]+\] = |__proto__|Object\.(?:assign|setPrototypeOf)|\.prototype\b"
FOREIGN = r"<(?:object|embed|applet|iframe)\b|https?://(?!www\.w3\.org/)|(?:src|href)=\"//"
PASTE = r"paste"
ALLOWED = {
    "innerHTML": {"dom.js"},
    "Object.assign": {"dashboard.js"},
    "#percent[question] = ": {"form.js"},
}
"""HTML that the server made from Markdown; sections of the server's own figures; the number of a slider."""


def broken(pattern: str, files: list[Path]) -> list[str]:
    return [
        f"{file.name}: {found}"
        for file in files
        for line in COMMENT.sub("", file.read_text("utf-8")).splitlines()
        for found in re.findall(pattern, line)
        if not any(file.name in names and text in line for text, names in ALLOWED.items())
    ]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (RUNS, ("eval(text)", "new Function(text)", "target.innerHTML = text", "setTimeout('run()', 1)")),
        (MESSAGES, ("addEventListener('message', f)", "window.onmessage = f", "parent.postMessage(x, '*')")),
        (LOOSE, ("if (a == b)", "if (a != null)")),
        (PROPERTY, ("known[name] = value", "a.__proto__ = b", "Object.assign(known, sent)")),
        (FOREIGN, ('<object data="x">', '<script src="https://cdn.example/x.js">', '<img src="//evil.example">')),
        (PASTE, ("field.addEventListener('paste', stop)", '<input onpaste="return false">')),
    ],
)
def test_each_rule_finds_what_breaks_it(pattern: str, lines: tuple[str, ...]) -> None:
    assert [line for line in lines if not re.search(pattern, line)] == []


def test_no_script_runs_text_as_code_or_inserts_html() -> None:
    assert len(SCRIPTS) > 20
    assert broken(RUNS, SCRIPTS) == []


def test_no_page_receives_messages_of_other_pages() -> None:
    """Only tabs of the same origin talk to each other, by a channel."""
    assert broken(MESSAGES, SCRIPTS) == []


def test_scripts_compare_strictly() -> None:
    assert broken(LOOSE, SCRIPTS) == []


def test_no_name_from_outside_becomes_a_property() -> None:
    assert broken(PROPERTY, SCRIPTS) == []


def test_pages_use_no_plugins_and_nothing_from_other_hosts() -> None:
    assert len(PAGES) > 10
    assert broken(FOREIGN, [*SCRIPTS, *PAGES]) == []


def test_password_fields_mask_and_take_what_a_password_manager_fills_in() -> None:
    assert broken(PASTE, [*SCRIPTS, *PAGES]) == []
    fields = [tag for page in PAGES for tag in re.findall(r"<input\b[^>]*password[^>]*>", page.read_text("utf-8"))]
    assert fields
    for tag in fields:
        assert 'type="password"' in tag
        assert 'autocomplete="current-password"' in tag
        assert 'maxlength="1000"' in tag
