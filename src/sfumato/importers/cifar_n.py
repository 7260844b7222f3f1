"""CIFAR-10N and CIFAR-100N: labels by people for the training images of CIFAR (Wei et al. 2022)."""

from __future__ import annotations

import io
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.importers.counts import original_from_numbers
from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import CIFAR_10, PUBLISHED, ImportResult, find_file
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, ErrorLocation, UnsafeFile, bad_number, damaged_file, listing, wrong_ending
from sfumato.tables.files.file_type import check_readable
from sfumato.tables.files.npz import DAMAGE

FILES = ("CIFAR-10_human.pt", "CIFAR-100_human.pt", "CIFAR-10_human_ordered.npy", "CIFAR-100_human_ordered.npy")
VOTES = ("random_label1", "random_label2", "random_label3")
ONE_VOTE = ("noisy_label", "noise_label")
MAX_BYTES = 64 * 2**20
"""The largest pickle that is opened; the published ones have 2 MB."""
ALLOWED = {
    ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"),
}  # fmt: skip
"""All that a pickled dictionary of arrays needs; anything else in a pickle is refused."""


@dataclass(frozen=True)
class CifarNImporter:
    """`CIFAR-10_human.pt` as Counts of three votes per image (`random_label1` to `3`); `CIFAR-100_human.pt` as Counts
    of one vote. `clean_label` is the original label. `aggre_label` and `worse_label` are derived from the three votes
    and are not counted. Items are the index in the training set (CIFAR-10H's are those of the test set); files in
    TensorFlow's order (`_ordered.npy`) keep that order, and are named `tf:0`, `tf:1` and so on.

    The worker ids in `side_info_cifar10N.csv` do not belong to the votes, so that there are no annotators.
    """

    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "cifar-n"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        is_pickled = any(name.endswith("/data.pkl") for name in preview.files) or preview.files == ("dtype O",)
        if not is_pickled or not preview.path.is_file():
            return None
        named = _arrays(preview.path)
        if "clean_label" in named and (set(VOTES) <= named.keys() or set(ONE_VOTE) & named.keys()):
            return Evidence(f"pickled arrays {listing(list(named))}")
        return None

    def read(self, source: str | Path) -> ImportResult:
        path = find_file(source, FILES)
        named = _arrays(path)
        columns = [name for name in VOTES if name in named] or [name for name in ONE_VOTE if name in named]
        if not columns:
            expected = f"{', '.join(VOTES)}, or noisy_label"
            raise BadTable(f"arrays {listing(list(named)) or 'none'}", expected, PUBLISHED, "missing-column", path)
        votes = np.stack([_numbers(path, name, named[name]) for name in columns], axis=1)
        classes = self.classes or (CIFAR_10 if len(columns) == 3 else tuple(map(str, range(100))))
        wrong = (votes < 0) | (votes >= len(classes))
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            where = ErrorLocation(str(path), row=row, column=columns[column])
            raise bad_number(int(votes[row, column]), f"a class number from 0 to {len(classes) - 1}", PUBLISHED, where)
        prefix = "tf:" if path.suffix == ".npy" else ""
        items = [f"{prefix}{row}" for row in range(len(votes))]
        counts = np.zeros((len(votes), len(classes)), np.int32)
        for column in votes.T:
            counts[np.arange(len(votes)), column] += 1
        table = Counts.from_numpy(items, counts, classes)
        original = None
        if "clean_label" in named:
            original = original_from_numbers(path, items, _numbers(path, "clean_label", named["clean_label"]), classes)
        unread = [name for name in named if name not in (*columns, "clean_label")]
        notes = (
            f"{len(table):,} items, {len(columns)} votes each ({', '.join(columns)}), {len(classes)} classes",
            "item ids are the index in the training set" + (", in TensorFlow's order" if prefix else ""),
            f"not read: {listing(unread) or 'nothing'} (derived from the votes, or coarse classes)",
            "worker ids are published in a file of their own, which is not read"
            + (": in CIFAR-10N they do not belong to the votes" if len(columns) == 3 else ""),
        )
        return ImportResult(table, notes, original)


def _numbers(path: Path, name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        found, where = f"{array.dtype} of shape {array.shape}", ErrorLocation(str(path), column=name)
        raise BadTable(found, "one class number per image", PUBLISHED, "wrong-type", where)
    return array.astype(np.int64)


def _arrays(path: Path) -> dict[str, Any]:
    """The dictionary of arrays in a PyTorch file or a pickled `.npy`, read without running any code of the file."""
    check_readable(path)
    if not path.name.lower().endswith((".pt", ".pth", ".npy")):
        raise wrong_ending(path, (".pt", ".npy"), "give the published file")
    try:
        data = _pickled(path)
        value = _ArrayUnpickler(io.BytesIO(data)).load()
    except (*DAMAGE, pickle.UnpicklingError, IndexError) as error:
        raise damaged_file("file of arrays", error, path) from error
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value.item()
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def _pickled(path: Path) -> bytes:
    """The bytes of the pickle in the file."""
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            header(file)
            return _limited(path, file.read(MAX_BYTES + 1))
    with zipfile.ZipFile(path) as archive:
        name = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if name is None:
            raise ValueError("no data.pkl in it")
        with archive.open(name) as member:
            return _limited(path, member.read(MAX_BYTES + 1))


def _limited(path: Path, data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        fix = "save the arrays as npz"
        raise UnsafeFile(f"a pickle of more than {MAX_BYTES:,} bytes", "a smaller one", fix, "bomb", path)
    return data


class _ArrayUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, numbers and NumPy arrays; anything else that a pickle names is an error."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            fix = "save the arrays as npz (a pickle can run any program when it is opened)"
            raise UnsafeFile(f"a pickle with {module}.{name}", "arrays of numbers", fix, "pickle")
        return super().find_class(module, name)
