"""The format `numpy`: one npz of plain arrays, no pickle."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.reporting.share.release import Release, Shared
from sfumato.tables.errors import BadTable, wrong_ending
from sfumato.tables.files.atomic_write import atomic_write, check_place

CHUNK = 2**14
MAX_TEXT_BYTES = 2**34
NO_COUNT = -1


@dataclass(frozen=True)
class NumpyArchive:
    """One `.npz`: items, classes, probs, n_annotators (-1 if unknown), target, and if given split, images or texts.
    `--inputs` reads the same file.

    All texts of an array take the space of the longest one; the file is compressed, but reading needs the memory.
    """

    name: ClassVar[str] = "numpy"
    holds_answers: ClassVar[bool] = False

    def check_place(self, place: Path) -> None:
        if not place.name.lower().endswith(".npz"):
            raise wrong_ending(place, [".npz"], "choose another name with -o")
        check_place(place)

    def write(self, release: Release, place: Path) -> Shared:
        """Write the file; an existing one is replaced when the new one is complete."""
        self.check_place(place)
        labels, inputs = release.labels, release.inputs
        counts = np.full(len(labels), NO_COUNT, np.int32) if labels.n_annotators is None else labels.n_annotators
        # allowZip64 is the default: arrays beyond 4 GB are fine.
        with atomic_write(place) as part, zipfile.ZipFile(part, "w") as archive:
            _write_texts(archive, "items", labels.items.to_pylist())
            _write_texts(archive, "classes", labels.classes)
            _write_array(archive, "probs", labels.probs)
            _write_array(archive, "n_annotators", counts)
            _write_texts(archive, "target", ["" if labels.estimand is None else labels.estimand.meaning])
            if release.split is not None:
                _write_texts(archive, "split", release.split.text().to_pylist())
            if inputs is not None and inputs.images is not None:
                _write_array(archive, "images", inputs.images)
            if inputs is not None and inputs.texts is not None:
                _write_texts(archive, "texts", inputs.texts)
        return Shared(place, (place.name,), f'numpy.load("{place}")')


def _write_array(archive: zipfile.ZipFile, name: str, values: np.ndarray) -> None:
    with archive.open(_member(name, zipfile.ZIP_STORED), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.ascontiguousarray(values), allow_pickle=False)


def _write_texts(archive: zipfile.ZipFile, name: str, texts: Sequence[str]) -> None:
    """Write an array of texts in chunks, because the whole array may be much larger than the texts."""
    longest = max(map(len, ["-", *texts]))
    if 4 * longest * len(texts) > MAX_TEXT_BYTES:
        raise BadTable(
            f"{len(texts):,} {name} of up to {longest:,} characters",
            f"texts that fit an array of {MAX_TEXT_BYTES:,} bytes, each as wide as the longest",
            "share them as huggingface, which supports texts of any length",
            "too-large",
        )
    kind = np.dtype(f"<U{longest}")
    with archive.open(_member(name, zipfile.ZIP_DEFLATED), "w", force_zip64=True) as member:
        header = {"descr": kind.str, "fortran_order": False, "shape": (len(texts),)}
        np.lib.format.write_array_header_1_0(member, header)
        for start in range(0, len(texts), CHUNK):
            part = np.array(texts[start : start + CHUNK], kind)
            if part.tolist() != list(texts[start : start + CHUNK]):
                # NumPy would drop such characters silently.
                found = f"a text that ends in a NUL character among the {name}"
                fix = "remove the character, or share them as huggingface"
                raise BadTable(found, "texts that an array can hold", fix, "nul-byte")
            member.write(part.tobytes())


def _member(name: str, compression: int) -> zipfile.ZipInfo:
    """The archive entry of an array, without a time, so that the same labels give the same file."""
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = compression
    return info
