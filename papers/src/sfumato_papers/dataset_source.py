"""Source: where a data set comes from, its terms, and the SHA-256 of the content of every file.

All of them are written down in `dataset_sources.toml`. Nothing of any set is part of this package.
"""

from __future__ import annotations

import gzip
import hashlib
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from sfumato.tables.errors import BadFile, unknown
from sfumato.tables.files import read_arrays

PIECE_BYTES = 1 << 20


def digest_of(path: Path) -> str:
    """The SHA-256 of what `path` holds.

    Of a NumPy file: names, types, shapes and values of its arrays, in the order of their names. Of a `.gz`: the bytes
    that were packed. Of any other: its bytes. A ZIP or gzip file carries the time of its making and depends on the
    version of the packer, so the same data packed twice differs in its bytes, and not in this.
    """
    digest = hashlib.sha256()
    if path.suffix in (".npy", ".npz"):
        for name, array in sorted(read_arrays(path).items()):
            digest.update(f"{name}\0{array.dtype.str}{array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


DAMAGE = (BadFile, OSError, EOFError, zlib.error)
"""What reading a damaged file raises."""


@dataclass(frozen=True)
class Upstream:
    """A file as its authors give it out. Its size is known, so that nothing larger is ever taken."""

    url: str
    n_bytes: int
    sha256: str

    @property
    def name(self) -> str:
        return unquote(self.url.rpartition("/")[2])


@dataclass(frozen=True)
class Source:
    """A data set: its home, its terms, and the content of every file of its folder."""

    name: str
    """What its folder is called."""
    title: str
    licence: str
    """As its home states it; `none stated` where it states none."""
    citation: str
    home: str
    """The page to read before it is used; `not public` where there is none."""
    files: Mapping[str, str]
    """The files of the folder, and the SHA-256 of what each holds (`sfumato_papers.dataset_source`)."""
    upstream: tuple[Upstream, ...] = ()
    """The files it is made of, as its authors give them out; none where it is not public."""
    after: tuple[str, ...] = ()
    """The sets it takes something from (the classes of its pictures): they must be there first."""

    @property
    def origin(self) -> str:
        """Where it is from and on what terms, in a few words."""
        return f"home: {self.home}; license: {self.licence}"

    @property
    def terms(self) -> str:
        """What to read before it is downloaded, in a line."""
        return f"{self.title}; {self.origin}; cite {self.citation}"

    def differing(self, folder: Path) -> tuple[str, ...]:
        """The released files that `folder` lacks, `(missing)` after their name, or holds otherwise than released."""
        missing = [file for file in self.files if not (folder / file).is_file()]
        changed = [file for file in self.files if file not in missing and not _holds(folder / file, self.files[file])]
        return tuple(sorted([*(f"{file} (missing)" for file in missing), *changed]))


def _holds(path: Path, digest: str) -> bool:
    try:
        return digest_of(path) == digest
    except DAMAGE:
        return False


def published_files(listed: str) -> tuple[Upstream, ...]:
    """Files as their authors publish them: a line with the address of a folder, then a line per file of it."""
    files, address = [], ""
    for line in filter(None, map(str.strip, listed.splitlines())):
        if line.startswith(("https://", "github:")):
            address = line.replace("github:", "https://raw.githubusercontent.com/")
            continue
        size, sha256, name = line.split(maxsplit=2)
        files.append(Upstream(f"{address}/{quote(name)}", int(size), sha256))
    return tuple(files)


def _read_sources(path: Path) -> tuple[Source, ...]:
    found = []
    for name, entry in tomllib.loads(path.read_text("utf-8")).items():
        files = dict(reversed(line.split()) for line in entry.pop("files", "").splitlines())
        upstream, after = published_files(entry.pop("upstream", "")), tuple(entry.pop("after", ()))
        found.append(Source(name, **entry, files=files, upstream=upstream, after=after))
    return tuple(found)


SOURCES = _read_sources(Path(__file__).with_name("dataset_sources.toml"))


def source_named(name: str, sources: Sequence[Source] = SOURCES) -> Source:
    for source in sources:
        if source.name == name:
            return source
    raise unknown("data set", name, [source.name for source in sources])
