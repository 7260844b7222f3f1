"""`[platform]`, `[pay.bonus]` and languages of a study file: read as written, each mistake with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sfumato.cli import group
from sfumato.cli.checked_study import checked_study
from sfumato.recruitment import MTurk, Prolific, platform_of
from sfumato.recruitment.bonus_rules import BrierBonus, rule_of
from sfumato.study import read_study
from sfumato.study.study import Bonus, Recruiting
from sfumato.tables.errors import BadStudy, SfumatoError

PLATFORM = """\
[platform]
name = "prolific"
completed = "C1A2-B3"
screened_out = "S1"
no_consent = "N1"
study = "65f0a1b2c3d4e5f6a7b8c9d0"
fee = 0.33
"""
HITS = "3HIT00000000000000000000000001 3HIT00000000000000000000000002"
BONUS = """\
[pay.bonus]
rule = "brier"
most = 1.0
floor = 0.5
"""


def with_tables(folder: Path, text: str) -> Path:
    file = folder / "study.toml"
    file.write_text(file.read_text() + text)
    return folder


def mistakes(folder: Path) -> list[SfumatoError]:
    with pytest.raises(BadStudy) as error:
        checked_study(folder, pictures=True)
    return list(error.value.mistakes)


def test_a_platform_is_read_as_written(folder: Path) -> None:
    study = read_study(with_tables(folder, PLATFORM))
    assert study.recruiting == Recruiting(
        "prolific", "C1A2-B3", "S1", "N1", settings={"study": "65f0a1b2c3d4e5f6a7b8c9d0", "fee": 0.33}
    )
    assert platform_of(study) == Prolific("65f0a1b2c3d4e5f6a7b8c9d0", fee=0.33)
    checked_study(folder, pictures=True)


def test_the_least_there_is(folder: Path) -> None:
    text = f'[platform]\nname = "mturk"\ncompleted = "C"\nsandbox = true\nhit = "{HITS}"\n'
    study = read_study(with_tables(folder, text))
    assert study.recruiting == Recruiting("mturk", "C", settings={"sandbox": True, "hit": HITS})
    assert platform_of(study) == MTurk(HITS, True)


def test_a_study_without_has_none(folder: Path) -> None:
    study = read_study(folder)
    assert (study.recruiting, platform_of(study), rule_of(study)) == (None, None, None)


def test_a_bonus_is_read_as_written(folder: Path) -> None:
    study = read_study(with_tables(folder, BONUS))
    assert study.pay is not None
    assert study.pay.bonus == Bonus("brier", 1.0, 0.5)
    assert rule_of(study) == BrierBonus()


@pytest.mark.parametrize(
    ("old", "new", "code", "field", "hint"),
    [
        ('name = "prolific"', 'name = "prolifik"', "unknown-platform", "platform.name", "'prolific'"),
        ('name = "prolific"\n', "", "missing-key", "platform.name", "prolific"),
        ('name = "prolific"', "name = 3", "wrong-type", "platform.name", "quotes"),
        ('completed = "C1A2-B3"\n', "", "missing-key", "platform.completed", "C1A2"),
        (
            '"C1A2-B3"',
            '"https://app.prolific.com/submissions/complete?cc=C1"',
            "bad-code",
            "platform.completed",
            "not its address",
        ),
        ('"C1A2-B3"', '"C 1"', "bad-code", "platform.completed", "copy the code"),
        ('"C1A2-B3"', '""', "empty-text", "platform.completed", ""),
        ('"C1A2-B3"', f'"{"C" * 65}"', "bad-text", "platform.completed", "shorten"),
        ('"S1"', '"C1A2-B3"', "same-code", "platform.screened_out", "another code"),
        ('"N1"', '"S1"', "same-code", "platform.no_consent", "another code"),
        (
            'study = "65f0a1b2c3d4e5f6a7b8c9d0"',
            'study = "the first one"',
            "bad-setting",
            "platform.study",
            "copy the id",
        ),
        ('study = "65f0a1b2c3d4e5f6a7b8c9d0"', "study = 65", "bad-setting", "platform.study", "copy the id"),
        ("fee = 0.33", "fee = 33", "bad-setting", "platform.fee", "share"),
        ("fee = 0.33", 'fee = "a third"', "bad-setting", "platform.fee", "share"),
        ("fee = 0.33", "fee = true", "bad-setting", "platform.fee", "share"),
        ("fee = 0.33", "sandbox = true", "bad-setting", "platform.sandbox", ""),
        ("fee = 0.33", "feee = 0.33", "bad-setting", "platform.feee", ""),
        ("[platform]", "[[platform]]", "wrong-type", "platform", "[platform]"),
    ],
)
def test_a_mistake_in_the_platform_has_its_line(
    folder: Path, old: str, new: str, code: str, field: str, hint: str
) -> None:
    text = PLATFORM.replace(old, new)
    assert text != PLATFORM
    found = [each for each in mistakes(with_tables(folder, text)) if each.where.column == field]
    assert [each.code for each in found][:1] == [code], found
    lines = (folder / "study.toml").read_text().splitlines()
    where = lines[(found[0].where.line or 0) - 1]
    assert where in (new.strip(), "[platform]") or new.strip('"') in where
    assert hint in f"{found[0].fix} {found[0].expected}"


@pytest.mark.parametrize(
    ("old", "new", "code", "field"),
    [
        ('rule = "brier"', 'rule = "brief"', "unknown-bonus-rule", "pay.bonus.rule"),
        ('rule = "brier"\n', "", "missing-key", "pay.bonus.rule"),
        ("most = 1.0\n", "", "missing-key", "pay.bonus.most"),
        ("most = 1.0", "most = -1", "out-of-range", "pay.bonus.most"),
        ("most = 1.0", 'most = "1"', "wrong-type", "pay.bonus.most"),
        ("floor = 0.5", "floor = 1", "out-of-range", "pay.bonus.floor"),
        ("floor = 0.5", "flor = 0.5", "bad-setting", "pay.bonus.flor"),
    ],
)
def test_a_mistake_in_the_bonus_has_its_line(folder: Path, old: str, new: str, code: str, field: str) -> None:
    found = mistakes(with_tables(folder, BONUS.replace(old, new)))
    assert [(each.code, each.where.column) for each in found] == [(code, field)]
    assert found[0].where.line


def test_a_bonus_needs_answers_that_speak_of_classes(folder: Path) -> None:
    with_tables(folder, BONUS)
    file = folder / "study.toml"
    text = file.read_text().replace('kind = "tokens"', 'kind = "similarity"').replace("tokens = 20\n", "")
    file.write_text(
        text.replace('framing = "others"\n', "").replace('[[practice]]\nitem = "cat/1"\nfeedback = "A *cat*."\n', "")
    )
    assert ("wrong-kind", "pay.bonus.rule") in [(each.code, each.where.column) for each in mistakes(folder)]


def test_study_check_says_all_of_it(folder: Path) -> None:
    with_tables(folder, BONUS.replace("brier", "brief") + PLATFORM.replace('"prolific"', '"prolifik"'))
    shown = CliRunner().invoke(group, ["study", "check", str(folder)])
    assert isinstance(shown.exception, BadStudy)
    assert {each.code for each in shown.exception.mistakes} == {"unknown-bonus-rule", "unknown-platform"}


def test_an_open_door_beside_the_platforms_is_warned_of(folder: Path) -> None:
    with_tables(folder, PLATFORM)
    assert not [each for each in checked_study(folder, pictures=True).warnings if "platform" in each]
    file = folder / "study.toml"
    file.write_text(file.read_text().replace('entry = "links"', 'entry = "open"'))
    assert [each for each in checked_study(folder, pictures=True).warnings if "platform" in each]


@pytest.mark.parametrize(
    ("line", "languages"),
    [("", ("en",)), ('language = "de"\n', ("de",)), ('languages = ["fr", "en"]\n', ("fr", "en"))],
)
def test_languages_are_read_as_written(folder: Path, line: str, languages: tuple[str, ...]) -> None:
    file = folder / "study.toml"
    file.write_text(line + file.read_text())
    assert read_study(folder).languages == languages


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('language = "ge"\n', "unknown-language"),
        ('languages = ["en", "en"]\n', "doubled-text"),
        ("languages = []\n", "out-of-range"),
        ('language = "en"\nlanguages = ["de"]\n', "language-twice"),
        ("language = 1\n", "wrong-type"),
    ],
)
def test_a_language_we_have_not_is_said_with_those_we_have(folder: Path, line: str, code: str) -> None:
    file = folder / "study.toml"
    file.write_text(line + file.read_text())
    found = mistakes(folder)
    assert [each.code for each in found] == [code]
    assert found[0].where.line in (1, 2)
