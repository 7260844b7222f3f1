"""NumPy archives: values, pickles, bombs and damage."""

from __future__ import annotations

import gc
import io
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.errors import BadFile, SfumatoError, UnsafeFile
from sfumato.tables.files import read_arrays

ARRAYS = {
    "counts": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "probs": np.array([[0.1, 0.9]]),
    "items": np.array(["a", "é", ""]),
    "empty": np.empty((0, 3), np.float32),
    "scalar": np.array(7),
}


def refusal(path: Path) -> tuple[str, str | None]:
    """The code and place of the error that `path` raises, and nothing that keeps its traceback alive."""
    with pytest.raises(BadFile) as caught:
        read_arrays(path)
    return caught.value.code, caught.value.where.file


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_is_its_arrays_by_name(tmp_path, save):
    save(tmp_path / "a.npz", **ARRAYS)
    arrays = read_arrays(tmp_path / "a.npz")
    assert arrays.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        assert arrays[name].dtype == expected.dtype
        assert np.array_equal(arrays[name], expected)
        assert arrays[name].shape == expected.shape


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_single_array_goes_by_the_files_name(tmp_path, order):
    values = np.asarray(np.arange(6).reshape(2, 3), order=order)
    np.save(tmp_path / "cifar10h-counts.npy", values)
    arrays = read_arrays(tmp_path / "cifar10h-counts.npy")
    assert list(arrays) == ["cifar10h-counts"]
    assert np.array_equal(arrays["cifar10h-counts"], values)


class Trap:
    """An object whose unpickling would be seen."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_pickle_is_refused_and_not_run(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    values = np.array([Trap()], dtype=object)
    if suffix == ".npy":
        np.save(path, values, allow_pickle=True)
    else:
        np.savez(path, counts=np.arange(3), objects=values)
    with pytest.raises(UnsafeFile) as caught:
        read_arrays(path)
    assert (caught.value.code, caught.value.where.file) == ("pickle", str(path))
    assert Trap.sprung is False


def test_a_bomb_is_refused_before_it_goes_off(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, counts=np.zeros(70 * 2**20, np.uint8))
    assert path.stat().st_size < 200_000

    def opened(*_, **__):
        raise AssertionError("the arrays must not be unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", opened)
    with pytest.raises(UnsafeFile, match="at most 500 times the compressed size") as caught:
        read_arrays(path)
    assert caught.value.code == "bomb"


def test_a_small_file_may_grow_as_it_likes(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", counts=np.zeros(2**20, np.uint8))
    assert (tmp_path / "a.npz").stat().st_size * 500 < 2**20
    assert not read_arrays(tmp_path / "a.npz")["counts"].any()


def test_a_large_file_without_tricks_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.tables.files.npz.FREE_EXPANSION_BYTES", 1_000)
    values = np.random.default_rng(0).integers(0, 256, 100_000).astype(np.uint8)
    np.savez(tmp_path / "a.npz", counts=values)
    assert np.array_equal(read_arrays(tmp_path / "a.npz")["counts"], values)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_file_cut_short_is_damaged(tmp_path, suffix, share):
    path = tmp_path / f"a{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, np.arange(1000.0))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert refusal(path) == ("damaged", str(path))
    gc.collect()  # a file left open must be this test's fault, not another's


def test_a_damaged_file_is_closed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, np.arange(1000.0))
    path.write_bytes(path.read_bytes()[:-40])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert refusal(path) == ("damaged", str(path))
        gc.collect()
    assert [str(warning.message) for warning in caught if str(path) in str(warning.message)] == []


def test_no_flipped_byte_is_more_than_a_refusal(tmp_path):
    """Whatever byte is damaged, the file is read or refused by an error of ours, never by another."""
    path = tmp_path / "a.npz"
    values = np.random.default_rng(0).normal(size=50)
    np.savez_compressed(path, a=values, b=np.arange(5))
    whole = path.read_bytes()
    escaped = {}
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0x41
        path.write_bytes(broken)
        try:
            read_arrays(path)
        except SfumatoError:
            continue
        except Exception as error:  # noqa: BLE001
            escaped[f"{type(error).__name__}: {error}"] = position
    gc.collect()
    assert not escaped


def test_a_header_that_promises_a_petabyte_is_damaged(written):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    with pytest.raises(BadFile) as caught:
        read_arrays(written("a.npy", header.getvalue() + b"12345678"))
    assert caught.value.code == "damaged"


@pytest.mark.parametrize("content", [b"item,annotator\n", b"\x80\x04\x95pickled", b"PAR1"])
def test_other_content_is_refused_by_its_first_bytes(written, content):
    with pytest.raises(BadFile) as caught:
        read_arrays(written("a.npz", content))
    assert caught.value.code == "wrong-content"
