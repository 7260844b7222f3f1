"""What the documents say is true: their examples run, their lists are complete. Names: see test_docs_names.py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loaded_python import LIBRARIES, loaded_python

from sfumato.aggregation import AGGREGATORS
from sfumato.cli import COMMANDS
from sfumato.elicitation.kinds import KINDS
from sfumato.evaluation import METRICS, STRATA
from sfumato.importers import FORMATS
from sfumato.labeling import LABELERS
from sfumato.labeling.agreement import MEASURES
from sfumato.labeling.screening_rules import RULE_SETS
from sfumato.labeling.transforms import TRANSFORMS
from sfumato.planning.answer_value import INDICES
from sfumato.recruitment.bonus_rules import BONUS_RULES
from sfumato.recruitment.reconciliation import MISMATCHES
from sfumato.tables.payloads import PAYLOAD_KINDS
from sfumato.training.crowd_layers import CROWDS
from sfumato.training.mixing import MIXINGS
from sfumato.training.networks import NAMED
from sfumato.training.optimizers import OPTIMIZERS, SCHEDULES
from sfumato.training.targets import TARGETS

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text()) if kind == language]


def run(script: str, folder: Path) -> str:
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


Script = Callable[[str, Path], str]
"""Runs a script of Python in a folder, and returns what it writes to stdout."""


@pytest.fixture(scope="module")
def python() -> Iterator[Script]:
    """Python with warnings as errors, as `python -W error -c`."""
    with loaded_python(LIBRARIES, "-W", "error") as running:

        def run_script(script: str, folder: Path) -> str:
            done = running.run(["-c", script], folder=folder)
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run_script


def test_scripts_must_import_what_they_use(python: Script, tmp_path: Path) -> None:
    assert python("import sys\nprint([name for name in sys.modules if 'sfumato' in name])", tmp_path) == "[]\n"
    for script in ("numpy.zeros(1)", "import sfumato\nsfumato.evaluation", "raise SystemExit(3)", "open('none')"):
        with pytest.raises(AssertionError):
            python(script, tmp_path)
    with pytest.raises(AssertionError, match="UserWarning: odd"):
        python("import warnings\nwarnings.warn('odd')", tmp_path)


def test_the_readme_example_works(python: Script, tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    (tmp_path / "votes.csv").write_text(blocks(readme, "csv")[0])
    (commands,) = (text for text in blocks(readme, "sh") if "sfumato" in text)
    shown = run(commands, tmp_path)
    assert "6 answers by 3 annotators about 2 items" in shown
    assert "photo-1" in shown
    (script,) = blocks(readme, "python")
    assert len(script.splitlines()) <= 12
    shown = python(script, tmp_path)
    assert "0.6365" in shown  # the entropy of two cats and a dog
    assert "alpha-nominal" in shown


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first steps of the demo leave behind, with few images and few people."""
    folder = tmp_path_factory.mktemp("demo")
    run("python -m sfumato.cli.demo.demo_digits demo-out --images 30 --people 6 --answers 3", folder)
    run("python -m sfumato.cli.demo.demo_people demo-out --people 6", folder)
    run("sfumato export demo-out -o demo-out/annotations.parquet", folder)
    return folder / "demo-out"


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_python_in_the_docs_runs(path: Path, python: Script, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    scripts = blocks(path, "python")
    if any("demo-out" in script for script in scripts):
        shutil.copytree(request.getfixturevalue("demo"), tmp_path / "demo-out")
    for script in scripts:
        python(script, tmp_path)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(path: Path, python: Script, tmp_path: Path) -> None:
    assert python(path.read_text(), tmp_path)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("import.md", [each.name for each in FORMATS]),
        ("label.md", [each.name for each in LABELERS]),
        ("screen.md", list(RULE_SETS)),
        ("transform.md", [each.name for each in TRANSFORMS]),
        ("aggregate.md", [each.name for each in AGGREGATORS]),
        ("agreement.md", [each.name for each in MEASURES]),
        ("evaluate.md", [each.name for each in (*METRICS, *STRATA)]),
        ("tables.md", [kind.label for kind in PAYLOAD_KINDS]),
        ("elicit.md", [kind.name for kind in KINDS]),
        ("train.md", [each.name for each in (*TARGETS, *CROWDS, *MIXINGS, *OPTIMIZERS, *SCHEDULES)]),
        ("train.md", list(NAMED)),
        ("plan-methods.md", [each.name for each in INDICES]),
        ("platforms.md", [each.name for each in BONUS_RULES]),
        ("platforms.md", list(MISMATCHES)),
    ],
)
def test_pages_name_every_member(page: str, names: list[str]) -> None:
    text = (ROOT / "docs" / page).read_text()
    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_metric_has_its_row() -> None:
    text = (ROOT / "docs" / "evaluate.md").read_text()
    rows = [line.replace("\\|", "").strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    said = {cells[0].strip("`"): cells[3] for cells in rows if len(cells) == 5}
    assert said == {each.name: each.better.split()[0] for each in METRICS}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("import", [each.name for each in FORMATS]),
        ("label", [each.name for each in LABELERS]),
        ("screen", list(RULE_SETS)),
        ("transform", [each.name for each in TRANSFORMS]),
        ("aggregate", [each.name for each in AGGREGATORS]),
        ("train", [each.name for each in (*TARGETS, *CROWDS)]),
    ],
)
def test_help_names_every_member(command: str, names: list[str], tmp_path: Path) -> None:
    shown = run(f"sfumato {command} --help", tmp_path)
    assert [name for name in names if f"  {name} " not in shown] == []


def test_every_command_is_documented() -> None:
    everything = "".join(path.read_text() for path in [*DOCS, ROOT / "README.md", ROOT / "CHANGELOG.md"])
    assert [name for name in COMMANDS if f"sfumato {name}" not in everything] == []
