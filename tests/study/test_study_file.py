"""A good study file says what it says; a file that is no study file is refused with its place."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sfumato.study import read_study
from sfumato.study.study import (
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
    StudyClass,
    Upscale,
)
from sfumato.study.study_file import slug
from sfumato.tables.errors import BadStudy


def test_every_field_of_a_good_file(folder: Path) -> None:
    assert read_study(folder) == Study(
        name="pets-1",
        title="Which pet?",
        classes=(StudyClass("cat", "c", folder / "examples/cat.png"), StudyClass("dog", "d")),
        items=ItemSource(folder=folder / "images", upscale=Upscale.NEAREST, size=200),
        question=Question("tokens", Framing.OTHERS, "How would they divide?", {"tokens": 20}),
        instructions="# Look\nand say.\n",
        consent="You may stop\nat any time.\n",
        practice=(PracticeItem("cat/1", "A *cat*."), PracticeItem("dog/007")),
        comprehension=(ComprehensionQuestion("Is doubt a good answer?", ("yes", "no"), "yes"),),
        people=People(Entry.LINKS, answers_per_item=3, batch_size=2, batches=4, repeats=1),
        limits=Limits(5.0, 30.5, 2),
        pay=Pay(2.5, "EUR", 8.0),
        path=folder / "study.toml",
    )


@pytest.mark.parametrize("space", ["\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}"])
def test_spaces_that_do_not_break_belong_into_sentences(folder: Path, space: str) -> None:
    file = folder / "study.toml"
    text = file.read_text()
    for old, new in (
        ("Which pet?", f"Quel animal{space}?"),
        ("How would they divide?", f"Comment répartir{space}?"),
        ("at any time.", f"à tout moment{space}!"),
        ("A *cat*.", f"Un *chat*{space}!"),
        ("Is doubt a good answer?", f"Le doute compte-t-il{space}?"),
        ('"yes"', f'"oui{space}!"'),
    ):
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    study = read_study(folder)
    assert study.title == f"Quel animal{space}?"
    (asked,) = study.comprehension
    assert asked.answer == asked.choices[0] == f"oui{space}!"
    written = (study.question.prompt, study.consent, study.practice[0].feedback, asked.question)
    assert [space in (each or "") for each in written] == [True] * 4


def test_the_file_and_its_folder_are_the_same_study(folder: Path) -> None:
    assert read_study(folder / "study.toml") == read_study(folder)


def test_the_least_study_takes_the_defaults(folder: Path) -> None:
    (folder / "study.toml").write_text('title = "T"\nclasses = ["a", "b"]\nitems.folder = "images"\n')
    assert read_study(folder) == Study(
        name="my-pets",
        title="T",
        classes=(StudyClass("a"), StudyClass("b")),
        items=ItemSource(folder=folder / "images"),
        path=folder / "study.toml",
    )


def test_names_and_tables_may_be_mixed_among_classes(folder: Path) -> None:
    text = 'title = "T"\nclasses = ["a", { name = "b", key = "B" }]\nitems.folder = "images"\n'
    (folder / "study.toml").write_text(text)
    assert read_study(folder).classes == (StudyClass("a"), StudyClass("b", "B"))


def test_comparing_items_needs_no_classes(folder: Path) -> None:
    text = 'title = "T"\nitems.folder = "images"\nquestion.kind = "{}"\n'
    (folder / "study.toml").write_text(text.format("triplet"))
    assert read_study(folder).classes == ()
    (folder / "study.toml").write_text(text.format("choice"))
    with pytest.raises(BadStudy, match="too-few-classes"):
        read_study(folder)


def test_absolute_paths_are_taken_as_they_are(folder: Path) -> None:
    text = f'title = "T"\nclasses = ["a", "b"]\nitems.folder = "{folder / "images"}"\n'
    (folder / "study.toml").write_text(text)
    assert read_study(folder).items.folder == folder / "images"


def test_a_byte_order_mark_and_windows_line_ends_are_no_mistake(folder: Path) -> None:
    before = read_study(folder)
    data = (folder / "study.toml").read_bytes()
    (folder / "study.toml").write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert read_study(folder) == before


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"", "empty-file", None),
        (b"  \n\n", "empty-file", None),
        ('title = "T"'.encode("utf-16"), "not-utf8", 1),
        (b'title = "T"\nname = "caf\xe9"\n', "not-utf8", 2),
        (b'\xef\xbb\xbftitle = "T"\n\nname = "\xff"\n', "not-utf8", 3),
        (b'title = "T"\n\nname = "a\0"\n', "nul-byte", 3),
        (b"x" * 1_000_001, "huge-file", None),
        (b'title = "T"\nclasses = [\n"a", "b"\n[items]\n', "bad-toml", 4),
        (b'title = "T"\ntitle = "U"\n', "bad-toml", 2),
        (b'title = "T"\n\nconsent = """\nnever closed\n\n\n', "bad-toml", 4),
        (b"title = Pets\n", "bad-toml", 1),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "huge-toml", 1),
        (b"a = " + b"9" * 5000, "bad-toml", None),
        (b'title = "T"\nday = 2024-13-45\n', "bad-toml", 2),
    ],
)
def test_what_is_no_toml_is_one_mistake_with_its_line(folder: Path, data: bytes, code: str, line: int | None) -> None:
    (folder / "study.toml").write_bytes(data)
    with pytest.raises(BadStudy) as caught:
        read_study(folder)
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.where.line, mistake.where.file) == (code, line, str(folder / "study.toml"))


def test_a_folder_without_a_study_says_so(tmp_path: Path) -> None:
    for path, code in ((tmp_path, "no-such-file"), (tmp_path / "nowhere", "no-such-file")):
        with pytest.raises(BadStudy) as caught:
            read_study(path)
        assert [each.code for each in caught.value.mistakes] == [code]
    (tmp_path / "study.toml").mkdir()
    with pytest.raises(BadStudy) as caught:
        read_study(tmp_path)
    assert [each.code for each in caught.value.mistakes] == ["is-a-folder"]


def test_mistakes_survive_a_process_pool(folder: Path) -> None:
    (folder / "study.toml").write_text('tilte = "T"\n')
    with pytest.raises(BadStudy) as caught:
        read_study(folder)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert str(again) == str(caught.value)
    assert [each.as_dict() for each in again.mistakes] == [each.as_dict() for each in caught.value.mistakes]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Cats & dogs", "cats-dogs"), ("Käse_7", "kase-7"), ("犬", "study"), ("--", "study"), ("x" * 80, "x" * 64)],
)
def test_the_name_of_a_folder_as_a_short_name(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_the_name_does_not_depend_on_how_the_folder_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "study.toml").write_text('title = "T"\nclasses = ["a", "b"]\nitems.folder = "images"\n')
    monkeypatch.chdir(folder / "images")
    for written in ("..", "../study.toml", "../images/.."):
        assert read_study(Path(written)).name == "my-pets"
