"""Reads `study.toml` into a Study and reports all its mistakes with their lines.

Only the file itself is checked; `sfumato.elicitation.study_check` also checks the items and the question type.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from sfumato.study.study import Assignment, Limits, Privacy, Question, Study, StudyClass
from sfumato.study.study_file_tables import (
    read_adaptive,
    read_arms,
    read_checks,
    read_classes,
    read_comprehension,
    read_deeper,
    read_items,
    read_languages,
    read_pay,
    read_people,
    read_practice,
    read_quality,
    read_recruiting,
)
from sfumato.study.toml_fields import Fields, outside
from sfumato.study.toml_mistakes import Mistakes, lines_of
from sfumato.tables.errors import BadFile, BadStudy, SfumatoError, show
from sfumato.tables.text_file import is_folder, path_inside, read_text
from sfumato.tables.toml_file import parse_toml

FILE_NAME = "study.toml"
MAX_BYTES = 1_000_000
MAX_PAGE_BYTES = 200_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")


@dataclass(frozen=True)
class Draft:
    """A study as far as it could be read, with defaults for wrong values, and its mistakes."""

    study: Study
    mistakes: Mistakes


def read_study(path: Path) -> Study:
    """The study in `path` (the file, or the folder with `study.toml`); raises `BadStudy` with all mistakes."""
    draft = read_draft(path)
    if draft.mistakes.found:
        raise BadStudy(draft.mistakes.in_order(), file=draft.mistakes.file)
    return draft.study


def study_path(path: Path) -> Path:
    """The study file for `path`, which is the file or its folder."""
    return path / FILE_NAME if is_folder(path) else path


def read_draft(path: Path) -> Draft:
    """The study in `path` and its mistakes; raises `BadStudy` if the file is not TOML."""
    file = study_path(path)
    try:
        text = read_text(file, limit=MAX_BYTES, what=f"a study file ({FILE_NAME}; sfumato study new writes one)")
        return draft_of(text, file)
    except SfumatoError as error:
        raise BadStudy([error], file=str(file)) from error


def draft_of(text: str, file: Path) -> Draft:
    """The study in `text`, read as if it were in `file`; an error if it is not TOML."""
    values = parse_toml(text, file, "TOML: [tables], and key = value with text in quotes")
    mistakes = Mistakes(str(file), lines_of(text))
    return Draft(_study(Fields(values, mistakes), file), mistakes)


def slug(text: str) -> str:
    """A short name of letters, digits and dashes: `Cats & dogs` becomes `cats-dogs`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:64].strip("-") or "study"


def _study(top: Fields, file: Path) -> Study:
    base = file.parent
    top.require("title", "the title at the top of the page", '"What do you see?"')
    title = top.text("title", prose=True, limit=200)
    question = top.table("question").read(Question)
    pages = top.table("pages")
    people = read_people(top.table("people"))
    arms = read_arms(top, people.assignment)
    question = arms[0].question if arms else question
    classes = read_classes(top, base, question.kind)
    practice = read_practice(top, classes)
    checks = read_checks(top, classes, practice)
    study = Study(
        name=_name(top, slug(Path(os.path.abspath(file)).parent.name)),
        title=title or "",
        classes=classes,
        items=read_items(top, base),
        question=question,
        instructions=_page(pages, "instructions", base),
        consent=_page(pages, "consent", base),
        practice=practice,
        checks=checks,
        quality=read_quality(top, len(checks)),
        comprehension=read_comprehension(top),
        people=people,
        adaptive=read_adaptive(top, people),
        deeper=read_deeper(top, people.assignment is Assignment.ADAPTIVE, question),
        arms=arms,
        limits=top.table("limits").read(Limits),
        privacy=top.table("privacy").read(Privacy),
        pay=read_pay(top),
        recruiting=read_recruiting(top),
        languages=read_languages(top),
        ordered=_ordered(top, classes),
        path=file,
    )
    pages.close()
    top.close()
    return study


def _ordered(top: Fields, classes: tuple[StudyClass, ...]) -> bool:
    ordered = top.flag("ordered")
    if ordered and not classes and not top.given("classes"):
        fix = "leave it out, or write classes = [...] from the lowest to the highest"
        top.add("ordered", "ordered = true without classes", "classes on a scale", fix, "no-classes")
    return ordered


def _name(top: Fields, default: str) -> str:
    name = top.text("name", default) or default
    if not NAME.fullmatch(name):
        fix = f"write name = {slug(name)!r}"
        top.add("name", f"name = {show(name)}", "1 to 64 letters, digits and dashes", fix, "bad-name")
    return name


def _page(pages: Fields, key: str, base: Path) -> str:
    """Markdown written in the study file, or in the file that it names."""
    value = pages.text(key, "", one_line=False) or ""
    if "\n" in value or not value.lower().endswith(".md"):
        return value
    path = path_inside(base / value, (base,))
    if path is None:
        pages.add(key, *outside(f"{key} = {show(value)}", is_item=False))
        return ""
    try:
        return read_text(path, limit=MAX_PAGE_BYTES, what="a Markdown file")
    except BadFile as error:
        pages.mistakes.place((*pages.path, key), error)
        return ""
