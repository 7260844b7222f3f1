"""`sfumato share` as a user runs it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from peak_memory import most_bytes

from sfumato.cli.share import FORMAT_LINES, command
from sfumato.importers import Cifar10HImporter
from sfumato.reporting.share import FORMATS
from sfumato.tables.errors import SfumatoError
from sfumato.tables.soft_labels import SoftLabels

SFUMATO = Path(sys.executable).parent / "sfumato"
MOST_BYTES = 10**9


def run(*arguments: object) -> str:
    done = CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    labels = SoftLabels.from_numpy(["007", "1e5"], [[0.5, 0.5], [1, 0]], ["cat", "dog"], [2, 0])
    labels.write(tmp_path / "labels.parquet")
    np.savez(tmp_path / "X.npz", images=np.arange(24, dtype=np.uint8).reshape(2, 3, 4), items=np.array(["1e5", "007"]))
    (tmp_path / "splits.csv").write_text("item,split\n007,train\n1e5,test\n")
    (tmp_path / "beliefs.csv").write_text("item,annotator,p:cat,p:dog\n007,a,1,0\n007,b,0,1\n1e5,a,1,0\n")
    return tmp_path


def test_all_of_it_as_huggingface(files):
    shown = run(
        "labels.parquet", "--as", "huggingface", "-o", "out", "--inputs", "X.npz", "--splits",
        "splits.csv", "--beliefs", "beliefs.csv", "--licence", "mit", "--title", "Two",
    )  # fmt: skip
    assert "out: 2 items as huggingface, 6 files" in shown
    assert 'read with: datasets.load_dataset("out")' in shown
    assert pq.read_table(files / "out/data/test-00000-of-00001.parquet").column("item").to_pylist() == ["1e5"]
    assert pq.read_table(files / "out/beliefs/train-00000-of-00001.parquet").num_rows == 2


@pytest.mark.parametrize("name", [each.name for each in FORMATS])
def test_every_format_runs_twice(files, name):
    out = "out.npz" if name == "numpy" else "out"
    for _ in range(2):
        shown = run("labels.parquet", "--as", name, "-o", out, "--inputs", "X.npz")
    assert "no license: others may not use the data" in shown
    assert sorted(path.name for path in files.iterdir()) == sorted(
        ["labels.parquet", "X.npz", "splits.csv", "beliefs.csv", out]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--as", "hugging-face", "-o", "out"], "error[unknown-format]"),
        (["--as", "numpy", "-o", "out"], "error[file-kind]"),
        (["--as", "numpy", "-o", "out.npz", "--beliefs", "beliefs.csv"], "omit --beliefs, or choose another format"),
        (["--as", "numpy", "-o", "X.npz", "--inputs", "X.npz"], "found the same path"),
        (
            ["--as", "csv", "-o", "taken"],
            "error[folder-not-empty] taken found a folder with other files in it (mine.txt)",
        ),
        (["--as", "csv", "-o", "none/out"], "error[no-such-folder]"),
        (["--as", "csv", "-o", "out", "--inputs", "none.npz"], "error[no-such-file]"),
    ],
)
def test_mistakes_are_said_and_change_nothing(files, arguments, said):
    (files / "taken").mkdir()
    (files / "taken" / "mine.txt").write_text("mine")
    before = sorted(files.rglob("*"))
    with pytest.raises(SfumatoError, match=re.escape(said)):
        run("labels.parquet", *arguments)
    assert sorted(files.rglob("*")) == before


def test_the_help_and_the_page_name_every_format():
    page = (Path(__file__).parents[2] / "docs" / "share.md").read_text()
    for each in FORMATS:
        assert f"  {each.name} " in FORMAT_LINES
        assert f"| `{each.name}` |" in page


def test_cifar_10h_as_huggingface(published, tmp_path):
    table = Cifar10HImporter().read(published / "cifar10h").table.labels()
    table.write(tmp_path / "labels.parquet")
    run(tmp_path / "labels.parquet", "--as", "huggingface", "-o", tmp_path / "out")
    read = pq.read_table(tmp_path / "out" / "data")
    assert read.column("item").to_pylist() == table.items.to_pylist()
    assert np.array_equal(np.array(read.column("probs").to_pylist()), table.probs)
    names = json.loads(read.schema.metadata[b"huggingface"])["info"]["features"]["label"]["names"]
    assert tuple(names) == table.classes


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in FORMATS])
def test_a_million_items_need_less_than_a_gigabyte(name, tmp_path):
    rng, n = np.random.default_rng(0), 1_000_000
    items = [f"item-{i:07d}" for i in range(n)]
    SoftLabels.from_numpy(items, rng.dirichlet([0.3] * 10, n), list("abcdefghij")).write(tmp_path / "labels.parquet")
    out = tmp_path / ("out.npz" if name == "numpy" else "out")
    arguments = [SFUMATO, "share", tmp_path / "labels.parquet", "--as", name, "-o", out]
    assert most_bytes(arguments) < MOST_BYTES
