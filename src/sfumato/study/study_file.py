"""`study.toml` as a Study: what each table may hold, and what must be true of it.

Only what the file itself says is checked here; `sfumato.elicitation.study_check` also looks at items and kind.
"""

from __future__ import annotations

import os
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.study.study import (
    Assignment,
    ComprehensionQuestion,
    Entry,
    Framing,
    ItemSource,
    Limits,
    Pay,
    People,
    PracticeItem,
    Question,
    Study,
    Upscale,
)
from sfumato.study.study_file_people import (
    REGION,
    read_bonus,
    read_checks,
    read_languages,
    read_quality,
    read_recruiting,
    read_region,
)
from sfumato.study.study_file_questions import read_adaptive, read_arms, read_classes, read_deeper
from sfumato.study.text_file import is_folder, read_text
from sfumato.study.toml_fields import Fields
from sfumato.study.toml_mistakes import Mistakes, lines_of
from sfumato.tables.errors import BadFile, BadStudy, ErrorLocation, SfumatoError, listing, nearest, show

FILE_NAME = "study.toml"
MAX_BYTES = 1_000_000
MAX_PAGE_BYTES = 200_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
AT_LINE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)
NEAREST_REPEAT = 5
"""A repeat comes after at least so many other items: trials are held ahead, and memory must have gone on."""
TOP_KEYS = ("title", "name", "classes", "language", "languages")


@dataclass(frozen=True)
class Draft:
    """A study file as far as it could be read: its study, with defaults where something is wrong, and the mistakes."""

    study: Study
    mistakes: Mistakes


def read_study(path: Path) -> Study:
    """The study in `path` (its file, or the folder with its `study.toml`); raises `BadStudy` with every mistake."""
    draft = read_draft(path)
    if draft.mistakes.found:
        raise BadStudy(draft.mistakes.in_order(), file=draft.mistakes.file)
    return draft.study


def study_path(path: Path) -> Path:
    """The file of the study in `path`, which is that file or its folder."""
    return path / FILE_NAME if is_folder(path) else path


def read_draft(path: Path) -> Draft:
    """The study in `path` and its mistakes; raises `BadStudy` where it cannot be read as TOML at all."""
    file = study_path(path)
    try:
        text = read_text(file, limit=MAX_BYTES, what=f"a study file ({FILE_NAME}; sfumato study new writes one)")
        return draft_of(text, file)
    except SfumatoError as error:
        raise BadStudy([error], file=str(file)) from error


def draft_of(text: str, file: Path) -> Draft:
    """The study that `text` describes, as if it stood in `file`; an error where it is no TOML."""
    try:
        values = tomllib.loads(text)
        lines = lines_of(text)
    except (ValueError, RecursionError) as error:
        raise _no_toml(text, file, error) from error
    mistakes = Mistakes(str(file), lines)
    return Draft(_study(Fields(values, mistakes), file), mistakes)


def slug(text: str) -> str:
    """A short name made of letters, digits and dashes: `Cats & dogs` as `cats-dogs`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:64].strip("-") or "study"


def _study(top: Fields, file: Path) -> Study:
    base = file.parent
    title = top.text("title", prose=True, limit=200)
    if title is None and "title" not in top.values:
        top.missing("title", "what people read at the top of the page", '"What do you see?"')
    question = _question(top.table("question"))
    pages = top.table("pages")
    people = _people(top.table("people"))
    arms = read_arms(top, people.assignment)
    question = arms[0].question if arms else question
    classes = read_classes(top, base, question.kind)
    practice = _practice(top.tables("practice"), [each.name for each in classes])
    checks = read_checks(top, classes, practice, TOP_KEYS)
    study = Study(
        name=_name(top, slug(Path(os.path.abspath(file)).parent.name)),
        title=title or "",
        classes=classes,
        items=_items(top, base),
        question=question,
        instructions=_page(pages, "instructions", base),
        consent=_page(pages, "consent", base),
        practice=practice,
        checks=checks,
        quality=read_quality(top, len(checks), TOP_KEYS),
        comprehension=_comprehension(top.tables("comprehension")),
        people=people,
        adaptive=read_adaptive(top, people.assignment, people.answers_per_item, TOP_KEYS),
        deeper=read_deeper(top, people.assignment, question),
        arms=arms,
        limits=_limits(top.table("limits")),
        pay=_pay(top.table("pay")) if top.given("pay") else None,
        recruiting=read_recruiting(top),
        languages=read_languages(top),
        path=file,
    )
    pages.close(TOP_KEYS)
    top.close()
    return study


def _name(top: Fields, default: str) -> str:
    name = top.text("name", default) or default
    if not NAME.fullmatch(name):
        expected = "1 to 64 letters, digits and dashes"
        top.add("name", f"name = {show(name)}", expected=expected, fix=f"write name = {slug(name)!r}", code="bad-name")
    return name


def _items(top: Fields, base: Path) -> ItemSource:
    if "items" not in top.values:
        top.missing("items", "where the items come from", '{ folder = "images" }, or a table [items]')
    items = top.table("items")
    source = ItemSource(
        folder=items.file("folder", base, folder=True),
        csv=items.file("csv", base),
        npz=items.file("npz", base),
        upscale=items.choice("upscale", Upscale.LANCZOS),
        size=items.whole("size", 160, 16, 1600),
    )
    given = [key for key in ("folder", "csv", "npz") if key in items.values]
    if len(given) != 1 and "items" in top.values:
        items.add(
            None,
            f"{listing(given) or 'neither folder, csv nor npz'} in [items]",
            expected="one source: folder, csv or npz",
            fix='write folder = "images", or leave all but one out',
            code="one-source",
        )
    items.close(TOP_KEYS)
    return source


def _question(question: Fields) -> Question:
    kind = question.text("kind", "tokens") or "tokens"
    framing = question.choice("framing", Framing.OWN)
    prompt = question.text("prompt", one_line=False, limit=1000)
    # Whatever else stands here are settings of the kind, which checks them itself.
    return Question(kind, framing, prompt, question.rest())


def _page(pages: Fields, key: str, base: Path) -> str:
    """Markdown written in place, or in the file that is named."""
    value = pages.text(key, "", one_line=False) or ""
    if "\n" in value or not value.lower().endswith(".md"):
        return value
    try:
        return read_text(base / value, limit=MAX_PAGE_BYTES, what="a Markdown file")
    except BadFile as error:
        pages.mistakes.place((*pages.path, key), error)
        return ""


def _practice(entries: list[Fields], names: Sequence[str]) -> tuple[PracticeItem, ...]:
    kept: list[PracticeItem] = []
    for entry in entries:
        item = entry.text("item")
        if item is None and "item" not in entry.values:
            entry.missing("item", "the id of an item", '"..."')
        if item is not None and item in [each.item for each in kept]:
            found = f"item = {show(item)} in two [[practice]]"
            entry.add("item", found, expected="each item once", fix="leave one out", code="doubled-item")
        feedback = entry.text("feedback", "", one_line=False) or ""
        region = read_region(entry, names) if any(key in entry.values for key in REGION) else None
        kept.append(PracticeItem(item or "", feedback, entry.flag("deeper"), region))
        entry.close(TOP_KEYS)
    return tuple(kept)


def _comprehension(entries: list[Fields]) -> tuple[ComprehensionQuestion, ...]:
    kept = []
    for entry in entries:
        question = entry.text("question", one_line=False, limit=1000)
        choices = entry.texts("choices", 2, 10, prose=True)
        answer = entry.text("answer", prose=True)
        for key, example in (("question", '"..."'), ("choices", '["yes", "no"]'), ("answer", '"..."')):
            if key not in entry.values:
                entry.missing(key, "a question, its choices and the right answer", example)
        if answer is not None and choices and answer not in choices:
            entry.add(
                "answer",
                f"answer = {show(answer)}",
                expected=f"one of the choices: {listing(choices)}",
                fix=f"{nearest(answer, choices)}write the right choice, letter by letter",
                code="answer-not-a-choice",
            )
        entry.close(TOP_KEYS)
        kept.append(ComprehensionQuestion(question or "", tuple(choices), answer or ""))
    return tuple(kept)


def _people(people: Fields) -> People:
    batch_size = people.whole("batch_size", People.batch_size, 1, 10_000)
    kept = People(
        entry=people.choice("entry", Entry.OPEN),
        answers_per_item=people.whole("answers_per_item", People.answers_per_item, 1, 10_000),
        batch_size=batch_size,
        batches=people.whole("batches", People.batches, 1, 1000),
        repeats=people.whole("repeats", People.repeats, 0, batch_size),
        repeat_distance=people.whole("repeat_distance", 0, NEAREST_REPEAT, batch_size)
        if people.given("repeat_distance")
        else 0,
        assignment=people.choice("assignment", Assignment.FEWEST),
    )
    if kept.repeat_distance and kept.repeat_distance + kept.repeats > batch_size:
        people.add(
            "repeat_distance",
            f"repeat_distance = {kept.repeat_distance} and {kept.repeats} repeats in a batch of {batch_size}",
            expected="a batch that holds the distance and the repeats",
            fix=f"choose a distance of at most {max(batch_size - kept.repeats, 0)}, or a larger batch",
            code="out-of-range",
        )
    people.close(TOP_KEYS)
    return kept


def _limits(limits: Fields) -> Limits:
    kept = Limits(
        lease_minutes=limits.number("lease_minutes", Limits.lease_minutes, 0.01, 10_080),
        remind_after_minutes=limits.number("remind_after_minutes", Limits.remind_after_minutes, 0.01, 525_600),
        comprehension_attempts=limits.whole("comprehension_attempts", Limits.comprehension_attempts, 1, 100),
        link_days=limits.number("link_days", Limits.link_days, 0, 36_500),
    )
    limits.close(TOP_KEYS)
    return kept


def _pay(pay: Fields) -> Pay:
    for key, example in (("amount", "2.50"), ("currency", '"EUR"')):
        if key not in pay.values:
            pay.missing(key, "what a batch pays", example)
    kept = Pay(
        amount=pay.number("amount", 0, 0, 1_000_000),
        currency=pay.text("currency", limit=12) or "",
        minutes=pay.number("minutes", 1, 0.1, 10_080) if pay.given("minutes") else None,
        bonus=read_bonus(pay),
    )
    pay.close(TOP_KEYS)
    return kept


def _no_toml(text: str, file: Path, error: Exception) -> BadFile:
    match = AT_LINE.match(str(error))
    reason: Any = match.group(1) if match else "values nested too deep" if "recursion" in str(error) else error
    line = None
    if match:
        line = int(match.group(2)) if match.group(2) else text.rstrip("\n").count("\n") + 1
    return BadFile(
        f"found text that is no TOML ({str(reason)[:120]})",
        expected="TOML: [tables], and key = value with text in quotes",
        fix="mend this line; a quote or bracket may be open above it",
        code="bad-toml",
        where=ErrorLocation(str(file), line=line),
    )
