"""`sfumato shift` and `sfumato attack` as a user types them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import toy_data
from click.testing import CliRunner

from sfumato.cli import attack, shift
from sfumato.cli import train as train_command
from sfumato.tables.errors import SfumatoError
from sfumato.training.attacks import ATTACKS
from sfumato.training.corruptions import CORRUPTIONS
from sfumato.training.robustness_runs import TARGETS
from sfumato.training.run_folder import Run

ROOT = Path(__file__).parent.parent.parent
COMMANDS = {"shift": shift.command, "attack": attack.command}
SOFT = "soft.simple-ffn.seed-0.fold-0"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, and the runs that came of them."""
    folder = tmp_path_factory.mktemp("made")
    toy_data.write_files(folder)
    options = ["--inputs", "x.npz", "--labels", "labels.parquet"]
    options = [str(folder / part) if "." in part else part for part in options]
    small = ["--model", "simple-ffn", "--epochs", "2", "--batch-size", "16", "--processes", "1"]
    done = CliRunner().invoke(train_command.command, [*options, *small, "-o", str(folder / "runs")])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(autouse=True)
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    np.savez(tmp_path / "other.npz", images=toy_data.images(7, 5))
    np.savez(tmp_path / "texts.npz", texts=["a", "b"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str, *arguments: object) -> str:
    """The command in this process: torch is loaded once."""
    result = CliRunner().invoke(COMMANDS[name], [*map(str, arguments), "--processes", "1"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(name: str, *arguments: object) -> SfumatoError:
    options: dict[str, Any] = {"catch_exceptions": False, "standalone_mode": False}
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(COMMANDS[name], ["--processes", "1", "-o", "out", *map(str, arguments)], **options)
    return caught.value


def test_every_kind_that_fits(folder: Path) -> None:
    shown = run("shift", "runs", "--inputs", "x.npz", "--severities", "2,5", "--extra", "drawn=other.npz", "-o", "out")
    assert shown == "out: 2 runs under 20 conditions\n  - left out saturate: the images are gray\n"
    names = {each.name for each in CORRUPTIONS} - {"saturate"}
    expected = {f"{name}-{severity}" for name in names for severity in (2, 5)} | {"clean", "drawn"}
    assert {path.name for path in (folder / "out").iterdir()} == expected
    assert Run.read(folder / "out" / "jpeg-5" / SOFT).metadata["condition"] == "jpeg/5"
    assert len(Run.read(folder / "out" / "drawn" / SOFT).predictions) == 5
    again = run("shift", "runs", "--inputs", "x.npz", "--severities", "2,5", "--extra", "drawn=other.npz", "-o", "out")
    assert again == shown


def test_one_run_and_an_attack(folder: Path) -> None:
    place = f"runs/{SOFT}"
    asked = ("--inputs", "x.npz", "--labels", "labels.parquet", "--by", "pgd", "--steps", 2, "--eps", "8/255")
    shown = run("attack", place, *asked, "--alpha", "0.01", "--targets", "majority", "--batch-size", 7, "-o", "out")
    assert shown == "out: 1 run under pgd eps=8/255 targets=majority step 2\n"
    under = Run.read(folder / "out" / "pgd-eps-8-255-targets-majority-step-2" / SOFT).metadata["under"]
    assert under["attack"] == {"name": "pgd", "eps": 8 / 255, "alpha": 0.01, "steps": 2, "norm": "linf"}
    (folder / "o.csv").write_text("item,label\n" + "".join(f"{item},emu\n" for item in toy_data.ITEMS))
    shown = run("attack", place, "--inputs", "x.npz", "--original", "o.csv", "--eps", 0, "-o", "out")
    assert shown == "out: 1 run under fgsm eps=0/255 targets=hard\n"
    same = [
        Run.read(folder / "out" / name / SOFT).predictions.probs for name in ("clean", "fgsm-eps-0-255-targets-hard")
    ]
    np.testing.assert_allclose(*same, rtol=0, atol=1e-6)  # batches of 7 and of 64: sums in another order


def test_runs_that_are_left_out_are_said(folder: Path) -> None:
    path = folder / "runs" / SOFT / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ended": "diverged"}))
    shown = run("shift", "runs", "--inputs", "x.npz", "--kinds", "jpeg", "--severities", 1, "-o", "out")
    assert f"left out {SOFT}: a run that diverged" in shown
    assert "1 run under 2 conditions" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("runs",), "missing-source", "--inputs"),
        (("runs", "--kinds", "jpeg", "--extra", "a=other.npz"), "missing-source", "--inputs"),
        (("runs", "--inputs", "x.npz", "--kinds", "jpgg"), "unknown-corruption", "did you mean 'jpeg'?"),
        (("runs", "--inputs", "x.npz", "--kinds", "saturate"), "no-colour", "saturate"),
        (("runs", "--inputs", "x.npz", "--severities", "1,6"), "unknown-severity", "'6'"),
        (("runs", "--inputs", "x.npz", "--severities", "much"), "unknown-severity", "1 (least) to 5 (most)"),
        (("runs", "--inputs", "x.npz", "--extra", "other.npz"), "bad-setting", "cinic=cinic.npz"),
        (("runs", "--extra", "a=other.npz", "--extra", "a=other.npz"), "bad-setting", "already used"),
        (("runs", "--inputs", "x.npz", "--extra", "clean=other.npz"), "bad-setting", "a second time"),
        (("runs", "--extra", "a=nowhere.npz"), "no-such-file", "nowhere.npz"),
        (("runs", "--inputs", "texts.npz"), "no-images", "texts.npz"),
        (("runs", "--inputs", "other.npz"), "missing-input", "other.npz"),
        (("nowhere", "--inputs", "x.npz"), "no-such-run", "nowhere"),
        (("runs", "--inputs", "x.npz", "--device", "attic"), "bad-setting", "attic"),
        (("runs", "--inputs", "x.npz", "--processes", -1), "bad-setting", "--processes"),
    ],
)  # fmt: skip
def test_shifts_that_are_none(folder: Path, arguments: tuple[object, ...], code: str, says: str) -> None:
    error = refused("shift", *arguments)
    assert error.code == code
    assert says in str(error)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--by", "fgms"), "unknown-attack", "did you mean 'fgsm'?"),
        (("--eps", 4), "bad-setting", "--eps 4/255"),
        (("--eps", "-1/255"), "bad-setting", "eps"),
        (("--eps", "much"), "bad-setting", "--eps 'much'"),
        (("--eps", "1/0"), "bad-setting", "'1/0'"),
        (("--steps", 3), "bad-setting", "steps for fgsm"),
        (("--by", "pgd", "--steps", 0), "bad-setting", "1 or more"),
        (("--by", "pgd", "--norm", "l3"), "bad-setting", "linf, l2"),
        (("--targets", "sofd"), "unknown-target", "did you mean 'soft'?"),
        (("--targets", "soft"), "missing-source", "--labels"),
        (("--targets", "soft", "--labels", "few.csv"), "missing-item", "few.csv"),
        (("--inputs", "texts.npz"), "no-images", "texts"),
        (("--inputs", "other.npz"), "missing-source", "--targets majority"),
    ],
)
def test_attacks_that_are_none(folder: Path, arguments: tuple[object, ...], code: str, says: str) -> None:
    (folder / "few.csv").write_text("item,p:cat,p:dog,p:emu\ni0,1,0,0\n")
    error = refused("attack", "runs", "--inputs", "x.npz", *arguments)
    assert error.code == code
    assert says in str(error)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_place_that_is_a_file_and_no_torch(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "out").write_text("mine")
    assert refused(name, "runs", "--inputs", "x.npz").code == "not-a-folder"
    (folder / "out").unlink()
    monkeypatch.setattr("sfumato.cli.options.find_spec", lambda name: None)
    assert refused(name, "runs", "--inputs", "x.npz").code == "missing-extra"


def test_pages_and_help_name_every_member() -> None:
    for name, members in (("shift", CORRUPTIONS), ("attack", (*ATTACKS, *TARGETS))):
        page = (ROOT / "docs" / f"{name}.md").read_text()
        assert [each.name for each in members if f"`{each.name}`" not in page] == []
        shown = CliRunner().invoke(COMMANDS[name], ["--help"]).output
        assert [each.name for each in members if f"  {each.name} " not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_in_the_pages_run(name: str) -> None:
    text = (ROOT / "docs" / f"{name}.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines() if line]
    assert len(lines) == 2
    for line in lines:
        program, command, *arguments = shlex.split(line, comments=True)
        assert (program, command) == ("sfumato", name)
        run(name, *arguments)


def test_numbers_may_be_fractions() -> None:
    number = attack.Number()
    assert [number.convert(text, None, None) for text in ("4/255", " 4 / 255 ", "0.5", "1e-3")] == [
        4 / 255, 4 / 255, 0.5, 0.001
    ]  # fmt: skip
    assert isinstance(number, click.ParamType)
