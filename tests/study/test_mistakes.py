"""Every field wrong in turn: each mistake has its line, its code, and names its field; several are all listed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sfumato.cli.checked_study import checked_study
from sfumato.tables.errors import BadStudy, SfumatoError


@dataclass(frozen=True)
class Wrong:
    """The good study with `old` replaced by `new`: the mistake stands on the line that holds `at` (`new`, if empty)."""

    old: str
    new: str
    code: str
    field: str
    at: str = ""
    hint: str = ""


HUGE = "0x" + "f" * 5000

CASES = [
    # title and name
    Wrong('title = "Which pet?"\n', "", "missing-key", "title", at='name = "pets-1"'),
    Wrong('title = "Which pet?"', "title = 7", "wrong-type", "title", hint="quotes"),
    Wrong('title = "Which pet?"', 'title = " "', "empty-text", "title"),
    Wrong('title = "Which pet?"', 'title = "a\\nb"', "bad-text", "title"),
    Wrong('title = "Which pet?"', f'title = "{"a" * 201}"', "bad-text", "title", hint="shorten"),
    Wrong('title = "Which pet?"', 'titel = "x"\ntitle = "y"', "unknown-key", "titel", at="titel", hint="'title'"),
    Wrong('"pets-1"', '"pets 1"', "bad-name", "name", hint="'pets-1'"),
    Wrong('"pets-1"', '"../x"', "bad-name", "name"),
    Wrong('name = "pets-1"', "name = true", "wrong-type", "name"),
    # classes
    Wrong('name = "dog"', "name = 3", "wrong-type", "classes[1].name"),
    Wrong('name = "dog"\n', "", "missing-key", "classes[1].name", at='[[classes]]\nkey = "d"'),
    Wrong('name = "dog"', 'name = "dog "', "bad-text", "classes[1].name", hint="remove the space"),
    Wrong('name = "dog"', 'name = "cat"', "doubled-name", "classes[1].name", at='"cat"\nkey = "d"'),
    Wrong('name = "dog"', 'name = "do\\u0000g"', "bad-text", "classes[1].name"),
    Wrong('name = "dog"', 'name = "a\u00a0dog"', "bad-text", "classes[1].name", hint="a plain space"),
    Wrong('item = "dog/007"', 'item = "dog\u202f7"', "bad-text", "practice[1].item", hint="a plain space"),
    Wrong('[[classes]]\nname = "dog"\nkey = "d"\n', "", "too-few-classes", "classes", at="[[classes]]"),
    Wrong('key = "d"', 'key = "C"', "doubled-key", "classes[1].key", hint="case"),
    Wrong('key = "d"', 'key = "O"', "reserved-key", "classes[1].key"),
    Wrong('key = "d"', 'key = "?"', "bad-key", "classes[1].key"),
    Wrong('key = "d"', 'key = " "', "bad-key", "classes[1].key"),
    Wrong('key = "d"', 'key = "Enter"', "bad-key", "classes[1].key"),
    Wrong('key = "d"', 'key = "\\t"', "empty-text", "classes[1].key"),
    Wrong('key = "d"', 'key = "\\u001b"', "bad-text", "classes[1].key"),
    Wrong('key = "d"', "key = 4", "wrong-type", "classes[1].key", hint="quotes"),
    Wrong('key = "d"', 'kee = "d"', "unknown-key", "classes[1].kee", hint="'key'"),
    Wrong("examples/cat.png", "examples/cta.png", "no-such-file", "classes[0].example", hint="'cat.png'"),
    Wrong("examples/cat.png", "examples", "no-such-file", "classes[0].example"),
    Wrong("examples/cat.png", "instructions.md", "no-picture", "classes[0].example", at="example ="),
    # items
    Wrong('folder = "images"', 'folder = "imgaes"', "no-such-file", "items.folder", hint="'images'"),
    Wrong('folder = "images"', 'folder = "study.toml"', "no-such-file", "items.folder"),
    Wrong('folder = "images"', 'folder = "a\\u0000b"', "bad-text", "items.folder"),
    Wrong('folder = "images"', 'folder = ["images"]', "wrong-type", "items.folder"),
    Wrong('folder = "images"\n', "", "one-source", "items", at="[items]"),
    Wrong('folder = "images"', 'folder = "images"\ncsv = "instructions.md"', "one-source", "items", at="[items]"),
    Wrong('folder = "images"', 'npz = "x.npz"', "no-such-file", "items.npz"),
    Wrong('folder = "images"', 'npz = "study.toml"', "wrong-content", "items.npz"),
    Wrong('folder = "images"', 'texts = "x.jsonl"', "no-such-file", "items.texts"),
    Wrong(
        'folder = "images"',
        'folder = "images"\ntext = "tweet"',
        "text-without-texts",
        "items.text",
        at='text = "tweet"',
    ),
    Wrong('folder = "images"', 'folder = "empty"', "no-pictures", "items.folder"),
    Wrong('upscale = "nearest"', 'upscale = "nearst"', "unknown-upscale", "items.upscale", hint="'nearest'"),
    Wrong('upscale = "nearest"', "upscale = true", "unknown-upscale", "items.upscale"),
    Wrong("size = 200", "size = 15", "out-of-range", "items.size"),
    Wrong("size = 200", "size = true", "wrong-type", "items.size"),
    Wrong("size = 200", "size = 200.0", "wrong-type", "items.size"),
    Wrong("size = 200", 'classes = ["a"]', "unknown-key", "items.classes", hint="above the first"),
    # question
    Wrong('kind = "tokens"', 'kind = "tokns"', "unknown-kind", "question.kind", hint="'tokens'"),
    Wrong('kind = "tokens"', "kind = 1", "wrong-type", "question.kind"),
    Wrong('framing = "others"', 'framing = "theirs"', "unknown-framing", "question.framing"),
    Wrong('prompt = "How would they divide?"', 'prompt = ""', "empty-text", "question.prompt"),
    Wrong("tokens = 20", "tokens = 1", "bad-setting", "question.tokens"),
    Wrong("tokens = 20", 'tokens = "20"', "wrong-type", "question.tokens"),
    Wrong("tokens = 20", "tokens = true", "wrong-type", "question.tokens"),
    Wrong("tokens = 20", "drag = 1", "wrong-type", "question.drag"),
    Wrong("tokens = 20", "token = 20", "unknown-key", "question.token", hint="'tokens'"),
    Wrong("tokens = 20", "framed = 20", "unknown-key", "question.framed", hint="'framing'"),
    # pages
    Wrong('"instructions.md"', '"instruction.md"', "no-such-file", "pages.instructions"),
    Wrong('"instructions.md"', "3", "wrong-type", "pages.instructions"),
    Wrong('instructions = "instructions.md"', 'instruction = "x"', "unknown-key", "pages.instruction"),
    Wrong("at any time.", "at any\\u0007 time.", "bad-text", "pages.consent", at="consent ="),
    # practice
    Wrong('item = "dog/007"', 'item = "dog/07"', "unknown-item", "practice[1].item", hint="did you mean"),
    Wrong('item = "dog/007"', "item = 7", "wrong-type", "practice[1].item", hint="quotes"),
    Wrong('item = "dog/007"', "", "missing-key", "practice[1].item", at="[[practice]]\n\n"),
    Wrong('item = "dog/007"', 'item = "cat/1" #', "doubled-item", "practice[1].item"),
    Wrong('feedback = "A *cat*."', 'feed = "A"', "unknown-key", "practice[0].feed", hint="'feedback'"),
    Wrong('feedback = "A *cat*."', "feedback = 1.5", "wrong-type", "practice[0].feedback"),
    # comprehension
    Wrong('answer = "yes"', 'answer = "Yes!"', "answer-not-a-choice", "comprehension[0].answer", hint="'yes'"),
    Wrong('answer = "yes"\n', "", "missing-key", "comprehension[0].answer", at="[[comprehension]]"),
    Wrong('question = "Is doubt', '# question = "Is doubt', "missing-key", "comprehension[0].question", at="[[comp"),
    Wrong('    "no",\n', "", "out-of-range", "comprehension[0].choices", at="choices ="),
    Wrong('    "no",', '    "yes",#', "doubled-text", "comprehension[0].choices[1]"),
    Wrong('    "no",', "    2,", "wrong-type", "comprehension[0].choices[1]"),
    # people
    Wrong('entry = "links"', 'entry = "link"', "unknown-entry", "people.entry", hint="'links'"),
    Wrong("answers_per_item = 3", "answers_per_item = 0", "out-of-range", "people.answers_per_item"),
    Wrong("answers_per_item = 3", f"answers_per_item = {HUGE}", "out-of-range", "people.answers_per_item"),
    Wrong("answers_per_item = 3", "answer_per_item = 3", "unknown-key", "people.answer_per_item", hint="did you mean"),
    Wrong("batch_size = 2", 'batch_size = "2"', "wrong-type", "people.batch_size", hint="leave out the quotes"),
    Wrong("batch_size = 2", "batch_size = -2", "out-of-range", "people.batch_size"),
    Wrong("batches = 4", "batches = nan", "wrong-type", "people.batches"),
    Wrong("batches = 4", "batches = 1001", "out-of-range", "people.batches"),
    Wrong("repeats = 1", "repeats = 3", "out-of-range", "people.repeats"),
    Wrong("repeats = 1", "repeats = false", "wrong-type", "people.repeats"),
    # limits
    Wrong("lease_minutes = 5", "lease_minutes = 0", "out-of-range", "limits.lease_minutes"),
    Wrong("lease_minutes = 5", "lease_minutes = inf", "out-of-range", "limits.lease_minutes"),
    Wrong("remind_after_minutes = 30.5", "remind_after_minutes = nan", "out-of-range", "limits.remind_after_minutes"),
    Wrong("remind_after_minutes = 30.5", "remind = 3", "unknown-key", "limits.remind"),
    Wrong("comprehension_attempts = 2", "comprehension_attempts = 1.5", "wrong-type", "limits.comprehension_attempts"),
    # pay
    Wrong("amount = 2.50", "amount = -1", "out-of-range", "pay.amount"),
    Wrong("amount = 2.50", 'amount = "2,50"', "wrong-type", "pay.amount"),
    Wrong("amount = 2.50\n", "", "missing-key", "pay.amount", at="[pay]"),
    Wrong('currency = "EUR"\n', "", "missing-key", "pay.currency", at="[pay]"),
    Wrong('currency = "EUR"', 'currency = "a long currency"', "bad-text", "pay.currency"),
    Wrong("minutes = 8", "minutes = 0", "out-of-range", "pay.minutes"),
    Wrong("minutes = 8", "hours = 1", "unknown-key", "pay.hours"),
    # tables that are something else
    Wrong(
        "[limits]\nlease_minutes = 5",
        "[people.limits]\nlease_minutes = 5",
        "unknown-key",
        "people.limits",
        at="[people.limits",
    ),
    Wrong('title = "Which pet?"', 'title = "T"\nlimit = 3', "unknown-key", "limit", at="limit = 3", hint="'limits'"),
    Wrong('title = "Which pet?"', 'pepole.entry = "open"\ntitle = "T"', "unknown-key", "pepole", at="pepole"),
]


def mistakes_of(folder: Path) -> list[SfumatoError]:
    (folder / "empty").mkdir(exist_ok=True)
    with pytest.raises(BadStudy) as caught:
        checked_study(folder, pictures=True)
    return list(caught.value.mistakes)


@pytest.mark.parametrize("wrong", CASES, ids=lambda wrong: f"{wrong.field}-{wrong.code}-{wrong.new[:12]!r}")
def test_each_field_wrong_in_turn(folder: Path, wrong: Wrong) -> None:
    file = folder / "study.toml"
    good = file.read_text()
    assert wrong.old in good
    text = good.replace(wrong.old, wrong.new, 1)
    file.write_text(text)
    (mistake,) = mistakes_of(folder)
    assert (mistake.code, mistake.where.column) == (wrong.code, wrong.field)
    assert mistake.where.line == text[: text.index(wrong.at or wrong.new)].count("\n") + 1
    assert wrong.field.split(".")[-1] in str(mistake)
    assert wrong.hint in mistake.fix
    assert str(mistake).startswith(f"error[{wrong.code}] {file}:{mistake.where.line}:{wrong.field} found ")
    assert len(str(mistake)) < 600


def test_the_good_study_has_no_mistake(folder: Path) -> None:
    assert checked_study(folder, pictures=True).study.name == "pets-1"


@pytest.mark.parametrize("key", ["question", "pages", "people", "limits", "pay", "items"])
def test_a_value_where_a_table_belongs(folder: Path, key: str) -> None:
    (folder / "study.toml").write_text(f'title = "T"\nclasses = ["a", "b"]\n\n{key} = 5\n')
    first = next(each for each in mistakes_of(folder) if each.where.column == key)
    assert (first.code, first.where.line) == ("wrong-type", 4)


@pytest.mark.parametrize("key", ["practice", "comprehension"])
@pytest.mark.parametrize("value", ["5", '["a"]', "{ item = 'x' }"])
def test_a_value_where_tables_belong(folder: Path, key: str, value: str) -> None:
    text = f'title = "T"\nclasses = ["a", "b"]\nitems.folder = "images"\n{key} = {value}\n'
    (folder / "study.toml").write_text(text)
    (mistake,) = mistakes_of(folder)
    assert (mistake.code, mistake.where.line, mistake.where.column) == ("wrong-type", 4, key)
    assert f"[[{key}]]" in mistake.fix


@pytest.mark.parametrize("value", ["5", '"a, b"', "{ a = 1 }"])
def test_classes_that_are_no_list(folder: Path, value: str) -> None:
    (folder / "study.toml").write_text(f'title = "T"\nclasses = {value}\nitems.folder = "images"\n')
    (mistake,) = mistakes_of(folder)
    assert (mistake.code, mistake.where.line, mistake.where.column) == ("wrong-type", 2, "classes")


def test_plain_classes_are_checked_on_their_own_lines(folder: Path) -> None:
    text = 'title = "T"\nclasses = [\n"a",\n"",\n"a",\n7,\n]\nitems.folder = "images"\n'
    (folder / "study.toml").write_text(text)
    found = [(each.where.line, each.where.column, each.code) for each in mistakes_of(folder)]
    assert found == [
        (4, "classes[1]", "empty-text"),
        (5, "classes[2]", "doubled-name"),
        (6, "classes[3]", "wrong-type"),
    ]


def test_several_mistakes_are_all_listed_from_top_to_end(folder: Path) -> None:
    file = folder / "study.toml"
    text = file.read_text()
    wrong = [CASES[0], *(next(c for c in CASES if c.field == field) for field in (
        "classes[1].key", "items.size", "question.tokens", "practice[1].item", "people.batches", "pay.amount",
    ))]  # fmt: skip
    for each in wrong:
        text = text.replace(each.old, each.new, 1)
    file.write_text(text)
    (folder / "images/cat/2.png").write_bytes(b"\x89PNG\r\n\x1a\n cut short")
    found = mistakes_of(folder)
    assert [each.where.column for each in found[:-1]] == [each.field for each in wrong]
    assert [each.code for each in found[:-1]] == [each.code for each in wrong]
    lines = [each.where.line for each in found[:-1]]
    assert lines == sorted(lines)
    assert (found[-1].code, found[-1].where.file) == ("damaged-picture", str(folder / "images/cat/2.png"))


def test_damaged_pictures_are_named_up_to_a_score_and_then_counted(folder: Path) -> None:
    for number in range(23):
        (folder / "images" / f"bad{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n cut short")
    found = mistakes_of(folder)
    assert [each.code for each in found].count("damaged-picture") == 20
    (rest,) = [each for each in found if each.code == "damaged-pictures"]
    assert "3 more" in rest.found


def test_what_the_items_lack_is_owed_to_the_kind(folder: Path) -> None:
    text = 'title = "T"\nclasses = ["bird", "fish"]\nitems.folder = "images"\n\n[question]\nkind = "typicality"\n'
    (folder / "study.toml").write_text(text)
    (mistake,) = mistakes_of(folder)
    assert (mistake.where.line, mistake.where.column) == (6, "question.kind")


def test_a_mistake_in_the_csv_of_items_has_its_line_there(folder: Path) -> None:
    (folder / "items.csv").write_text("item,text\na,hello\na,again\n")
    (folder / "study.toml").write_text('title = "T"\nclasses = ["a", "b"]\nitems.csv = "items.csv"\n')
    (mistake,) = mistakes_of(folder)
    assert (mistake.code, mistake.where.file, mistake.where.line) == ("doubled-item", str(folder / "items.csv"), 3)
