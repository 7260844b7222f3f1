"""The Markdown: what a person wrote stays, whatever else changes, and nothing of theirs is overwritten in silence."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import pytest

from sfumato.reporting.share.datasheet import PARTS, QUESTIONS, datasheet, markdown, words_in, write_markdown
from sfumato.tables.errors import BadFile, CannotWrite

ALL = ("annotations", "study", "beliefs", "inputs", "screening", "scores")


def fill_in(path, question, words):
    """Write as a person would: in place of the marked sentence, with an editor."""
    text = path.read_text()
    opens, ends = f"<!-- yours: {question} -->\n", f"<!-- end: {question} -->"
    before, _, rest = text.partition(opens)
    _, _, after = rest.partition(ends)
    path.write_text(f"{before}{opens}{words}\n{ends}{after}")


@pytest.fixture
def sheet(folder):
    return datasheet(folder.sources(*ALL), title="Cats | dogs <b>")


def test_every_part_and_question_is_there_in_order(sheet):
    text = markdown(sheet)
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads == [*(part.title for part in PARTS), "Open points", "Sources"]
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == [question.text for question in QUESTIONS]
    assert re.findall(r"^<!-- yours: (\S+) -->$", text, re.MULTILINE) == [question.id for question in QUESTIONS]


def test_open_points_are_marked_listed_and_counted(sheet):
    text = markdown(sheet)
    body, _, tail = text.partition("## Open points")
    marked = re.findall(r"^<!-- yours: (\S+) -->\n\[TO FILL IN: [^\n]{10,}\.\]\n", body, re.MULTILINE)
    assert marked == [question.id for question in sheet.open_points]
    assert re.findall(r"^- \[ \] .* \(`(\S+)`\)$", tail, re.MULTILINE) == marked
    assert f"{len(marked)} of {len(QUESTIONS)} questions are open." in tail


def test_every_file_stands_with_its_hash(sheet, folder):
    text = markdown(sheet)
    for option in ("labels", *ALL):
        path = getattr(folder, option)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert f"| --{option} | `{path.name}` | {path.stat().st_size:,} | `{digest}` |" in text
    assert "--labels labels.parquet --annotations annotations.parquet --study study.toml" in text
    assert str(folder.path) not in text, "where files lie on one machine is nobody else's business"


def test_names_from_data_break_nothing(sheet):
    text = markdown(sheet)
    assert "# Datasheet: Cats | dogs \\<b\\>" in text
    assert "| `dog\\|wolf` | 16.67% | 0 |" in text
    assert "> \\<!-- end: asked -->" in text, "instructions cannot end a place of ours"


def test_what_a_person_wrote_stays(sheet, folder, tmp_path):
    path = tmp_path / "sheet.md"
    write_markdown(sheet, path)
    assert words_in(path) == {}
    purpose = "To see **doubt**.\n\n- one | two\n\n### A heading of mine\n<b>kept</b>"
    fill_in(path, "purpose", purpose)
    fill_in(path, "classes", "Wolves are dogs here.")
    assert words_in(path) == {"purpose": purpose, "classes": "Wolves are dogs here."}
    fewer = datasheet(folder.sources("beliefs"), title="Other numbers", words=words_in(path))
    write_markdown(fewer, path)
    text = path.read_text()
    assert "# Datasheet: Other numbers" in text
    assert f"<!-- yours: purpose -->\n{purpose}\n<!-- end: purpose -->" in text
    assert words_in(path) == {"purpose": purpose, "classes": "Wolves are dogs here."}
    assert "purpose" not in [question.id for question in fewer.open_points]


def test_writing_it_again_changes_nothing(sheet, folder, tmp_path):
    path = tmp_path / "sheet.md"
    write_markdown(sheet, path)
    fill_in(path, "makers", "We did.")
    write_markdown(replace_words(sheet, words_in(path)), path)
    once = path.read_bytes()
    write_markdown(replace_words(sheet, words_in(path)), path)
    assert path.read_bytes() == once


def replace_words(sheet, words):
    answers = tuple(replace(each, words=words.get(each.question.id, "")) for each in sheet.answers)
    return replace(sheet, answers=answers)


def test_words_beside_the_mark_stay_and_stay_open(sheet, tmp_path):
    path = tmp_path / "sheet.md"
    write_markdown(sheet, path)
    half = "We know this much.\n[TO FILL IN: ask Ann for the rest]"
    fill_in(path, "funding", half)
    assert words_in(path) == {"funding": half}
    assert "funding" in [question.id for question in replace_words(sheet, words_in(path)).open_points]


def test_answers_to_questions_no_longer_asked_are_kept(folder, tmp_path):
    path = tmp_path / "sheet.md"
    write_markdown(datasheet(folder.sources(), words={"asked-once": "An old answer."}), path)
    assert words_in(path) == {"asked-once": "An old answer."}
    assert "questions that no longer exist" in path.read_text()


def test_windows_line_ends_and_ticked_points_are_fine(sheet, tmp_path):
    path = tmp_path / "sheet.md"
    write_markdown(sheet, path)
    fill_in(path, "funding", "Nobody.")
    text = path.read_text().replace("- [ ] Who paid for it?", "- [x] Who paid for it?")
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert words_in(path) == {"funding": "Nobody."}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("- 2 labeled items.", "- 2 labeled items, all checked."),
        lambda text: text.replace("<!-- yours: funding -->\n", "Nobody paid.\n"),
        lambda text: text.replace("<!-- end: funding -->", ""),
    ],
)
def test_words_elsewhere_are_not_overwritten(sheet, tmp_path, change):
    path = tmp_path / "sheet.md"
    write_markdown(sheet, path)
    changed = change(path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    with pytest.raises(CannotWrite, match=r"changes outside the places for your text.*write between the comment lines"):
        words_in(path)
    assert path.read_text() == changed


def test_another_file_is_not_overwritten(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("# Mine\n")
    with pytest.raises(CannotWrite, match=r"not a sfumato datasheet; the file is unchanged.*choose another name"):
        words_in(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile):
        words_in(path)
