"""`sfumato study` as a user types it: a new study, what a check says, and every mistake on a line of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from sfumato_command import sfumato

from sfumato.cli.checked_study import checked_study
from sfumato.elicitation.kinds import KINDS
from sfumato.elicitation.new_study import begin_study
from sfumato.study.study import ABOUT_ONE_ITEM
from sfumato.tables.errors import BadSetting, CannotWrite, UnknownName

NAMES = [kind.name for kind in KINDS]


def test_a_good_study_is_summed_up(folder: Path) -> None:
    done = sfumato("study", "check", folder)
    assert done.stderr == ""
    lines = [line.split(None, 1) for line in done.stdout.splitlines()[1:]]
    shown = dict(lines)
    assert done.stdout.startswith("Which pet?: no mistakes\n")
    assert shown["items"] == "4 pictures"
    # Two of the four items are for practice: 2 x 3 answers; a batch of 2 has everything, and one of it again.
    assert shown["answers"] == "2 questions x 3 people = 6"
    assert shown["people"] == "3, if each gives all 3 answers"
    assert shown["cost"] == "about 7.50 EUR (2.50 per batch)"
    assert shown["kept"] == "ids and links without limit; records and times without limit"


def test_the_cost_has_the_platforms_fee_and_the_most_that_bonuses_are(folder: Path) -> None:
    file = folder / "study.toml"
    recruiting = '[platform]\nname = "prolific"\ncompleted = "DONE-1"\nfee = 0.4\n'
    bonus = '[pay.bonus]\nrule = "agreement"\nmost = 1.0\n'
    whole = file.read_text()

    def cost(*more: str) -> str:
        file.write_text("\n".join([whole, *more]))
        shown = sfumato("study", "check", folder).stdout.splitlines()
        return next(line for line in shown if line.startswith("  cost")).split(None, 1)[1]

    with_fee = "about 10.50 EUR: base 7.50 (2.50 per batch), platform fee 3.00"
    assert cost(recruiting) == with_fee
    assert cost(recruiting, bonus) == f"{with_fee}; bonuses at most 3.00 more, 4.20 with the fee"
    assert cost(bonus) == "about 7.50 EUR (2.50 per batch); bonuses at most 3.00 more"


def test_a_batch_larger_than_the_study_is_a_warning(folder: Path) -> None:
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("batch_size = 2", "batch_size = 3"))
    assert sfumato("study", "check", folder).stderr.startswith("warning: batch_size is 3, but there are only 2 items")


def test_every_mistake_is_a_line_and_the_exit_code_is_2(folder: Path) -> None:
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("size = 200", "size = 0").replace("repeats = 1", "repeats = 9"))
    done = sfumato("study", "check", folder, code=2)
    assert [line.split(" ")[0] for line in done.stderr.splitlines()] == ["error[out-of-range]"] * 2
    as_json = sfumato("study", "check", folder, "--json", code=2)
    found = [json.loads(line) for line in as_json.stderr.splitlines()]
    assert [(each["column"], each["line"]) for each in found] == [("items.size", 16), ("people.repeats", 51)]
    assert done.stdout == as_json.stdout == ""


def test_a_new_study_passes_once_pictures_are_there(tmp_path: Path) -> None:
    place = tmp_path / "my study"
    done = sfumato("study", "new", place, "--classes", 'a,b "c",d\\,e')
    assert "study.toml: a study file" in done.stdout
    assert "error[no-pictures]" in sfumato("study", "check", place, code=2).stderr
    Image.new("L", (9, 9)).save(place / "images" / "one.png")
    checked = checked_study(place, pictures=True)
    assert checked.study.class_names == ("a", 'b "c"', "d,e")
    assert checked.study.name == "my-study"
    assert [item.id for item in checked.items] == ["one"]


def test_the_demo_can_be_served_at_once(tmp_path: Path) -> None:
    sfumato("study", "new", tmp_path / "demo", "--demo")
    done = sfumato("study", "check", tmp_path / "demo")
    assert done.stderr == ""
    assert "12 pictures" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_demo_of_every_kind_has_no_mistake(name: str, tmp_path: Path) -> None:
    checked = checked_study(begin_study(tmp_path / name, name, demo=True), pictures=True)
    assert checked.study.question.kind == name
    assert checked.warnings == ()
    assert {item.given for item in checked.items} == {"circle", "square"}
    assert 10 <= len(checked.stimuli) <= 12


@pytest.mark.parametrize("name", NAMES)
def test_all_that_is_commented_out_may_be_taken_in(name: str, tmp_path: Path) -> None:
    """The template holds every key there is: with each line of keys taken in, only its own examples are missing."""
    file = begin_study(tmp_path / name, name, ["cat", "dog"])
    Image.new("L", (9, 9)).save(tmp_path / name / "images" / "first.png")
    kept = []
    for line in file.read_text().splitlines():
        bare = line.removeprefix("# ")
        is_key = line.startswith("# ") and (bare.split(" ")[1:2] == ["="] or bare.startswith("["))
        # `classes`, `csv`, `npz` and `texts` stand for the lines above them; `...` is no value.
        others = ("[[classes", 'name = "cat"', "key =", "example", "csv", "npz", "texts")
        instead = bare.startswith(others) or "= ..." in bare
        kept.append(bare if is_key and not instead else line)
    file.write_text("\n".join(kept))
    from sfumato.study import read_study

    study = read_study(file)
    assert study.pay is not None
    assert study.comprehension
    assert study.practice[0].item == "first"
    assert [check.item for check in study.checks] == ["second"] * (name in ABOUT_ONE_ITEM)
    assert (study.deeper is not None and study.deeper.follows) is (name == "choice")
    assert (study.privacy.keep_ids_days, study.privacy.keep_records_days) == (90, 365)
    assert study.name == "birds-2"
    assert (study.people.batches, study.limits.lease_minutes, study.items.size) == (1, 10, 160)


def test_a_study_that_is_there_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    assert "error[exists]" in sfumato("study", "new", tmp_path, code=2).stderr
    with pytest.raises(CannotWrite):
        begin_study(tmp_path, "tokens", demo=True)
    assert (tmp_path / "study.toml").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_nor_is_one_that_came_to_be_a_moment_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study.toml").write_text("mine")
    monkeypatch.setattr(Path, "exists", lambda path: False)
    with pytest.raises(CannotWrite, match="exists"):
        begin_study(tmp_path, "tokens")
    assert (tmp_path / "study.toml").read_text() == "mine"


def test_pictures_that_are_there_stay(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "x.png").write_bytes(b"mine")
    with pytest.raises(CannotWrite, match="images"):
        begin_study(tmp_path, "tokens", demo=True)
    begin_study(tmp_path, "tokens")
    assert [path.read_bytes() for path in (tmp_path / "images").rglob("*")] == [b"mine"]


def test_a_file_in_the_place_of_the_pictures(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("mine")
    with pytest.raises(CannotWrite, match="images"):
        begin_study(tmp_path, "tokens")
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_what_cannot_be_begun(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'tokens'"):
        begin_study(tmp_path / "a", "token")
    with pytest.raises(BadSetting, match="doubled-name"):
        begin_study(tmp_path / "a", "tokens", ["cat", "cat"])
    with pytest.raises(BadSetting, match="too-few-classes"):
        begin_study(tmp_path / "a", "tokens", ["cat"])
    with pytest.raises(BadSetting, match="demo="):
        begin_study(tmp_path / "a", "tokens", ["cat", "dog"], demo=True)
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        begin_study(tmp_path / "file" / "below", "tokens")


def test_checking_loads_neither_numpy_nor_arrow() -> None:
    code = "import sys, sfumato.elicitation.study_check, sfumato.elicitation.new_study, sfumato.cli.study\n"
    code += "print(*[name for name in ('numpy', 'pyarrow', 'polars', 'scipy', 'PIL', 'json') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["json"]
