"""Run folders and checkpoints that someone else made on purpose: only our errors, and memory as for their weights."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import save_file

from sfumato.cli import group
from sfumato.evaluation.run_predictions import read_runs
from sfumato.tables.errors import BadFile, BadTable, SfumatoError, UnsafeFile
from sfumato.training.checkpoint import FORMAT, Checkpoints, _digest
from sfumato.training.fingerprint import Fingerprint
from sfumato.training.networks import network_named
from sfumato.training.run_folder import MAX_HEADER_BYTES, Run

GOOD: dict[str, Any] = {
    "target": "soft",
    "network": "simple-ffn",
    "seed": 0,
    "fold": 0,
    "ended": "epochs",
    "settings": {"network": {"name": "simple-ffn", "hidden": 4}},
    "classes": ["a", "b", "c"],
    "shape": [1, 8, 8],
    "scale": {"mean": [0.5], "std": [0.3]},
}
CRAFTED: dict[str, Any] = {
    "number": 5,
    "null": None,
    "list": [],
    "settings": GOOD | {"settings": 3},
    "network": GOOD | {"settings": {"network": {"name": ["simple-ffn"]}}},
    "hidden": GOOD | {"settings": {"network": {"name": "simple-ffn", "hidden": 10**12}}},
    "hidden of some gigabytes": GOOD | {"settings": {"network": {"name": "simple-ffn", "hidden": 16_000}}}
    | {"shape": [3, 200, 200]} | {"scale": {"mean": [0.5] * 3, "std": [0.3] * 3}},
    "deep": GOOD | {"settings": {"network": {"name": "simple-ffn:hidden=" + "[" * 5000}}},
    "classes": GOOD | {"classes": 5},
    "classes that are no names": GOOD | {"classes": [1, 2]},
    "many classes": GOOD | {"classes": ["c"] * 100_000},
    "shape": GOOD | {"shape": [3, 10**6, 10**6]},
    "shape of text": GOOD | {"shape": "abc"},
    "no scale": GOOD | {"scale": None},
    "scale of text": GOOD | {"scale": {"mean": ["a"], "std": [0]}},
    "scale of other channels": GOOD | {"scale": {"mean": [0] * 10_000, "std": [1] * 10_000}},
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "run"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(GOOD))
    save_file(network_named("simple-ffn", {"hidden": 4}).build((1, 8, 8), 3).state_dict(), folder / "model.safetensors")
    return folder


def test_the_sound_run_is_read(run: Path) -> None:
    assert Run.read(run).predictor().classes == ("a", "b", "c")


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_run_is_refused(run: Path, name: str) -> None:
    (run / "run.json").write_text(json.dumps(CRAFTED[name]))
    with pytest.raises(SfumatoError):
        Run.read(run).predictor()


def test_weights_are_refused_by_their_header(run: Path) -> None:
    path = run / "model.safetensors"
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    head, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    name = next(key for key in head if key != "__metadata__")
    changes: tuple[dict[str, Any], ...] = (
        {"shape": [2**40, 2**40]}, {"dtype": "F64"}, {"dtype": "OBJECT"}, {"data_offsets": [0, 2**50]},
    )  # fmt: skip
    for change in changes:
        crafted = copy.deepcopy(head)
        crafted[name] |= change
        text = json.dumps(crafted).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + body)
        with pytest.raises(BadFile, match="damaged"):
            Run.read(run).predictor()
    for length in (2**63, 2**32, MAX_HEADER_BYTES + 1):
        path.write_bytes(struct.pack("<Q", length) + data[8:])
        with pytest.raises(BadFile, match="damaged"):
            Run.read(run).predictor()


def test_links_out_of_a_run_are_not_followed(run: Path, tmp_path: Path) -> None:
    for name, read in (
        ("model.safetensors", lambda: Run.read(run).weights()),
        ("run.json", lambda: Run.read(run)),
        ("predictions.parquet", lambda: read_runs(run.parent)),
    ):
        (tmp_path / name).write_bytes((run / name).read_bytes() if (run / name).exists() else b"PAR1")
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(tmp_path / name)
        with pytest.raises(BadFile, match="outside"):
            read()
        (run / name).unlink()
        (run / name).write_bytes((tmp_path / name).read_bytes())


@pytest.mark.filterwarnings("ignore:history.csv. columns are separated by tab")
@pytest.mark.parametrize("text", [b"", b"a,b\n1,2,3\n", b'a,b\n"x,1\n', b"a\n\xff\n", bytes(range(256))])
def test_a_crafted_history_is_refused(run: Path, text: bytes) -> None:
    (run / "history.csv").write_bytes(text)
    with pytest.raises(SfumatoError):
        _ = Run.read(run).history


@pytest.mark.parametrize("training", ["[", "5", "{}", '{"epoch": 1, "members": [5]}', "[" * 100_000])
@pytest.mark.parametrize("fingerprint", ["[]", "{", None])
def test_a_checkpoint_with_a_correct_hash_that_describes_no_training(
    tmp_path: Path, training: str, fingerprint: str | None
) -> None:
    found = Fingerprint.__new__(Fingerprint)
    tensors = {"state.a": torch.zeros(2)}
    said = {} if fingerprint is None else {"fingerprint": fingerprint}
    metadata = {"format": FORMAT, "training": training, **said}
    save_file(tensors, tmp_path / "checkpoint-00000001.safetensors", metadata | {"sha256": _digest(metadata, tensors)})
    with pytest.raises(BadFile, match="damaged"):
        Checkpoints(tmp_path, found).load()


# --- dynamics, for `sfumato map` ---

DYNAMICS = {"item": list("abab"), "epoch": [1, 1, 2, 2], "gold": [0.2, 0.3, 0.5, 0.9], "correct": [False, True] * 2}
CRAFTED_DYNAMICS: dict[str, dict[str, Any]] = {
    "epochs that are no whole numbers": {"epoch": [1.5, 1.5, 2.5, 2.5]},
    "epochs beyond all": {"epoch": [1.0, 1.0, 1e300, 1e300]},
    "epochs without value": {"epoch": [1, 1, 2, None]},
    "epochs in lists": {"epoch": [[1], [1], [2], [2]]},
    "probabilities above 1": {"gold": [0.2, 0.3, 0.5, 7.0]},
    "infinite probabilities": {"gold": [0.2, 0.3, 0.5, float("inf")]},
    "right beyond measure": {"correct": [5, 6, 7, 8]},
    "right or wrong in words": {"correct": ["maybe"] * 4},
    "items that are bytes": {"item": [b"\xff"] * 4},
    "items twice": {"epoch": [1, 1, 1, 1]},
}


def mapped(run: Path, *options: str) -> Result:
    output = run.parent.parent / "map.csv"
    return CliRunner().invoke(group, ["map", str(run.parent), "-o", str(output), *options], catch_exceptions=True)


def write_dynamics(run: Path, changed: Mapping[str, Any] | None = None) -> Path:
    path = run / "dynamics.parquet"
    pq.write_table(
        pa.table({name: pa.array(column) for name, column in (DYNAMICS | dict(changed or {})).items()}), path
    )
    return path


def test_sound_dynamics_are_read(run: Path) -> None:
    write_dynamics(run)
    done = mapped(run)
    assert done.exit_code == 0, done.exception


@pytest.mark.parametrize("name", CRAFTED_DYNAMICS)
def test_crafted_dynamics_are_refused(run: Path, name: str) -> None:
    write_dynamics(run, CRAFTED_DYNAMICS[name])
    assert isinstance(mapped(run).exception, BadTable)


def test_no_escape_sequence_of_dynamics_is_printed(run: Path) -> None:
    write_dynamics(run, {"when": ["\x1b]0;title\x07" + "x" * 10_000] * 4})
    done = mapped(run)
    assert done.exit_code == 0, done.exception
    assert "\x1b" not in done.output
    assert len(done.output) < 2_000


@pytest.mark.parametrize("seed", ["abc", [1], {}, None, 1.5])
def test_a_seed_is_a_whole_number(run: Path, seed: Any) -> None:
    write_dynamics(run)
    (run / "run.json").write_text(json.dumps(GOOD | {"seed": seed}))
    assert isinstance(mapped(run).exception, BadFile)


@pytest.mark.parametrize("name", ["dynamics.parquet", "run.json"])
def test_links_out_of_a_run_are_not_followed_by_the_map(run: Path, tmp_path: Path, name: str) -> None:
    write_dynamics(run)
    outside = tmp_path / f"outside-{name}"
    (run / name).rename(outside)
    (run / name).symlink_to(outside)
    assert isinstance(mapped(run).exception, UnsafeFile)


# --- attacks ---


@pytest.mark.parametrize("name", CRAFTED)
def test_no_crafted_run_is_attacked(run: Path, tmp_path: Path, name: str) -> None:
    (run / "run.json").write_text(json.dumps(CRAFTED[name]))
    images = tmp_path / "images.npz"
    np.savez(images, images=np.zeros((2, 8, 8), np.uint8))
    (tmp_path / "original.csv").write_text("item,label\n0,a\n1,b\n")
    options = ["--inputs", str(images), "--original", str(tmp_path / "original.csv"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(group, ["attack", str(run.parent), *options, "--processes", "1"])
    assert isinstance(done.exception, SfumatoError), done.output
    assert not list((tmp_path / "out").rglob("*.parquet"))
