"""What docs/extending.md shows is sound: each strategy keeps its family's contracts, the kind of question serves."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
CONTRACTS = ROOT / "tests" / "contracts"


def shown(word: str) -> dict[str, Any]:
    """What the example that defines `word` leaves behind, once it has run."""
    (script,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if f"class {word}" in text)
    left: dict[str, Any] = {"__name__": "example"}
    exec(compile(script, word, "exec", dont_inherit=True), left)
    return left


def contracts_of(family: str) -> ModuleType:
    path = CONTRACTS / f"test_{family}.py"
    spec = importlib.util.spec_from_file_location(f"contracts_of_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_aggregator_keeps_the_contracts() -> None:
    aggregator = shown("Hedged")["Hedged"]()
    for contract in contracts_of("aggregators").CONTRACTS:
        contract(aggregator)


def test_the_metric_keeps_the_contracts() -> None:
    metric = shown("Overlap")["Overlap"]
    for contract in contracts_of("metrics").CONTRACTS:
        contract(metric())


def test_the_index_keeps_the_contracts() -> None:
    left, contracts = shown("Undecided"), contracts_of("indices")
    for contract in contracts.CONTRACTS:
        contract(left["Undecided"](), contracts.known())
    assert left["state"].choose(contracts.np.random.default_rng(0)).item == 1


def test_the_target_keeps_the_contracts() -> None:
    target, contracts = shown("TopK")["TopK"](), contracts_of("targets")
    for contract in contracts.CONTRACTS:
        contract(target, contracts.TRAINING_SET)
    contracts.asks_for_what_it_needs(target, {"people"})


def titled(title: str) -> str:
    """The file that the page shows under this name."""
    (text,) = re.findall(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE, re.DOTALL)
    return str(text)


def entered(path: Path, after: str, line: str) -> None:
    """`line` put into a file, below the one and only line that is `after`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = lines.index(after)
    assert lines.count(after) == 1
    path.write_text("\n".join([*lines[: at + 1], line, *lines[at + 1 :]]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package to which somebody followed the page's four steps."""
    source = tmp_path_factory.mktemp("extended")
    package = source / "sfumato"
    shutil.copytree(ROOT / "src" / "sfumato", package, ignore=shutil.ignore_patterns("__pycache__", "training"))
    payloads = package / "tables" / "payloads.py"
    before, _, rest = payloads.read_text(encoding="utf-8").partition("@dataclass(frozen=True)\nclass PayloadKind:")
    changed = f"{before}{titled('tables/payloads.py')}\n\n@dataclass(frozen=True)\nclass PayloadKind:{rest}"
    payloads.write_text(changed, encoding="utf-8")
    entered(payloads, "PAYLOAD_KINDS = (", '    PayloadKind("agrees", 1, Agrees),')
    kinds = package / "elicitation" / "kinds"
    (kinds / "agrees").mkdir()
    for name in ("agrees.py", "agrees/form.html", "agrees/form.js", "agrees/form.css"):
        (kinds / name).write_text(titled(f"elicitation/kinds/{name}"), encoding="utf-8")
    entered(
        kinds / "__init__.py",
        "from sfumato.elicitation.kind import Kind",
        "from sfumato.elicitation.kinds.agrees import Agrees",
    )
    entered(kinds / "__init__.py", "KINDS: tuple[Any, ...] = (", "    Agrees,")
    label = package / "labeling"
    (label / "agrees.py").write_text(titled("labeling/agrees.py"), encoding="utf-8")
    entered(
        label / "__init__.py",
        "from sfumato.labeling.labeler import Labeler",
        "from sfumato.labeling.agrees import Agrees",
    )
    entered(label / "__init__.py", "LABELERS: tuple[Any, ...] = (", "    Agrees,")
    return source


def ran(package: Path, *command: str, cwd: Path) -> str:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), str(ROOT / "tests" / "support")])}
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_kind_keeps_the_contracts(package: Path, tmp_path: Path) -> None:
    shutil.copy(CONTRACTS / "test_kinds.py", tmp_path / "test_kinds.py")
    options = ["-p", "no:cacheprovider", "--rootdir", ".", "-W", "error", "-k", "test_contract and Agrees"]
    said = ran(package, "-m", "pytest", "-q", "test_kinds.py", *options, cwd=tmp_path)
    assert re.search(r"\b12 passed", said), said


def test_the_kind_can_be_asked(package: Path, tmp_path: Path) -> None:
    ran(package, "-m", "sfumato", "study", "new", "birds", "--classes", "duck,swan", cwd=tmp_path)
    (tmp_path / "birds" / "items.csv").write_text("item,text,class\none,quack,duck\ntwo,a long neck,swan\n")
    study = tmp_path / "birds" / "study.toml"
    text = re.sub(r"(?m)^folder = .*$", 'csv = "items.csv"', study.read_text(encoding="utf-8"))
    study.write_text(re.sub(r'(?m)^kind = "tokens"$', 'kind = "agrees"', text), encoding="utf-8")
    ran(package, "-m", "sfumato", "study", "check", "birds", cwd=tmp_path)
    ran(package, "-m", "sfumato", "simulate", "birds", "--annotators", "3", "--store", "s.sqlite", cwd=tmp_path)
    ran(package, "-m", "sfumato", "export", "birds", "--store", "s.sqlite", "-o", "answers.parquet", cwd=tmp_path)
    labelled = ran(package, "-m", "sfumato", "label", "answers.parquet", "--by", "agrees", "-o", "b.csv", cwd=tmp_path)
    assert "6 beliefs of 3 annotators about 2 items" in labelled
