"""PublishedData: the folder with the released data sets, one folder each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Int

from sfumato import Annotations, Counts, Inputs, SoftLabels
from sfumato.importers import Cifar10HImporter, Cifar10SImporter, FashionMnistHImporter, Importer
from sfumato.importers.importer import CIFAR_10
from sfumato.tables.errors import BadFile, BadTable
from sfumato_papers.dataset_source import SOURCES, Source, source_named
from sfumato_papers.download import Fetcher, SayLine, download

PLACE = "SFUMATO_DATA"
"""Names the folder with the data, where the command does not."""
AnyTable = TypeVar("AnyTable")
WANTED = "the released data, a folder per set"
AS_RELEASED, UNCHECKED, NOT_HERE, UNKNOWN = "as released", "unchecked", "not here", "not known here"


def _silent(line: str) -> None:  # noqa: ARG001
    return


@dataclass(frozen=True)
class Described:
    """A set as it is here: on what terms, and whether it is the released data."""

    set: str
    licence: str
    home: str
    n_files: int
    state: str
    """`as released`, `differs: counts.npz`, `unchecked` or `not here`."""


@dataclass(frozen=True, eq=False)
class PublishedData:
    """The released data sets, read when asked for. `folder` holds `cifar10h`, `cifar10s`, `fashion-mnist` and so on.

    Where `downloads`, sets that are missing are fetched from their public homes; their terms are said first.
    """

    folder: Path
    downloads: bool = False
    say: SayLine = _silent
    homes: Mapping[str, str] = field(default_factory=dict)
    """Other addresses in place of the beginnings of the authors'; none but in tests."""
    sources: tuple[Source, ...] = SOURCES

    @classmethod
    def found(cls, folder: Path | None = None, *, download: bool = True, say: SayLine = _silent) -> PublishedData:
        """The data in `folder`, else in the folder that `SFUMATO_DATA` names, else in the cache of this user.

        Only the cache is downloaded into: a folder that somebody named is theirs, and only read.
        """
        named = folder or (Path(os.environ[PLACE]) if os.environ.get(PLACE) else None)
        if named is None:
            return cls(cache_folder(), download, say)
        if not named.is_dir():
            fix = f"check {'--data' if folder else PLACE}; without --data and {PLACE} it is downloaded"
            raise BadFile(f"no folder {str(named)!r}", WANTED, fix, "no-such-folder")
        return cls(named, say=say)

    def need(self, sets: Sequence[str]) -> None:
        """Make sure that the sets are here, each as a folder; whether a folder is as released is for `described`."""
        missing = [name for name in sets if not (self.folder / name).is_dir()]
        if missing and not self.downloads:
            raise self._not_here(missing)
        if missing:
            download(missing, self.folder, self.sources, Fetcher(self.say, self.homes))

    def described(self, sets: Sequence[str]) -> tuple[Described, ...]:
        """Every set of `sets` as it is here. A changed file is no error: its set's state tells of it."""
        return tuple(map(self._described, sets))

    def _described(self, name: str) -> Described:
        folder = self.folder / name
        source = next((each for each in self.sources if each.name == name), None)
        here = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
        state = UNCHECKED if here else NOT_HERE
        if source is None:
            return Described(name, UNKNOWN, UNKNOWN, len(here), state)
        if here and source.files:
            differs = source.differing(folder)
            state = f"differs: {', '.join(differs)}" if differs else AS_RELEASED
        n_files = len(here & source.files.keys()) if source.files else len(here)
        return Described(name, source.licence, source.home, n_files, state)

    def _not_here(self, missing: Sequence[str]) -> BadFile:
        """The error for sets that are not here and may not be fetched; it tells of the first."""
        source = source_named(missing[0], self.sources)
        files = ", ".join(source.files) or "what its authors have"
        public = f"; or leave out --data, {PLACE} and --no-download, and it is downloaded" if source.upstream else ""
        expected = f"a folder {source.name} with {files} ({source.origin})"
        fix = f"put it there, or name another folder with --data{public}"
        return BadFile(f"no {', '.join(missing)}", expected, fix, "no-such-data", self.folder)

    def path(self, *parts: str) -> Path:
        """A file or folder of the data; an error that says what is missing."""
        path = self.folder.joinpath(*parts)
        if not path.exists():
            # A folder that is there is never downloaded over.
            half = f"remove {self.folder / parts[0]} and " if len(parts) > 1 and path.parent.is_dir() else ""
            fix = f"give its folder with --data, or {half}let it be downloaded"
            raise BadFile(f"no {'/'.join(parts)}", WANTED, fix, "no-such-file", self.folder)
        return path

    def table(self, importer: Importer, kind: type[AnyTable], *parts: str) -> AnyTable:
        """What an importer reads from a file or folder of the data, which is a table of this kind."""
        table = importer.read(self.path(*parts)).table
        assert isinstance(table, kind)
        return table

    @cached_property
    def cifar_10h(self) -> SoftLabels:
        """How people judge the 10,000 test pictures of CIFAR-10."""
        return self.table(Cifar10HImporter(), Counts, "cifar10h").labels()

    @cached_property
    def cifar_10s(self) -> Annotations:
        """What annotators answered about 1,000 of them, repeats included."""
        return self.table(Cifar10SImporter(), Annotations, "cifar10s")

    @cached_property
    def fashion_mnist_h(self) -> SoftLabels:
        """How people judge the 10,000 test pictures of Fashion-MNIST."""
        return self.table(FashionMnistHImporter(), Counts, "fashion-mnist-h").labels()

    @cached_property
    def cifar_10_test(self) -> Inputs:
        """The 10,000 test pictures of CIFAR-10 with their classes."""
        return self.pictures("cifar10-test", "images.npz", classes=CIFAR_10)

    @cached_property
    def cinic_10(self) -> Inputs:
        """The pictures of CINIC-10 that are not CIFAR-10's."""
        pictures = self.pictures("cinic10-sample", "images.npz", classes=CIFAR_10)
        with np.load(self.path("cinic10-sample", "images.npz")) as file:
            return pictures.take(np.flatnonzero(~file["in_cifar10"]))

    def pictures(self, *parts: str, classes: tuple[str, ...]) -> Inputs:
        """The pictures of an npz with the class each came with: `pictures("cifar10-test", "images.npz", ...)`."""
        with np.load(self.path(*parts)) as file:
            images, numbers = file["images"], file["labels"].astype(int)
        items = tuple(map(str, range(len(images))))
        return Inputs(items=items, images=images, labels=tuple(classes[k] for k in numbers), classes=classes)

    def cifar_split(self) -> tuple[Int[np.ndarray, "train"], Int[np.ndarray, "test"]]:
        """The 7,000 and 3,000 test pictures of CIFAR-10 that Collins et al. (2022) learn from and predict."""
        train, test = (np.load(self.path("cifar10s", f"{part}_indices.npy")) for part in ("train", "test"))
        return train, test


def original_labels(inputs: Inputs) -> SoftLabels:
    """The class that each picture came with, as a label."""
    assert inputs.labels is not None
    assert inputs.classes is not None
    return SoftLabels.one_hot(inputs.items, inputs.labels, inputs.classes)


def vote_counts(votes: SoftLabels, items: Sequence[str]) -> Int[np.ndarray, "items classes"]:
    """How many people chose each class, for each of `items`."""
    if votes.n_annotators is None:
        found = "labels without the number of votes behind them"
        raise BadTable(found, "votes that can be counted", "give the published counts", "no-counts")
    rows = votes.rows_of(items)
    return np.asarray(np.rint(votes.probs[rows] * votes.n_annotators[rows, None]), np.int64)


def drawn_by_class(labels: Sequence[str], per_class: int, rng: np.random.Generator) -> Int[np.ndarray, "drawn"]:
    """The rows of `per_class` items of every class, drawn without replacement, in order."""
    named = np.array(labels)
    rows = [rng.permutation(np.flatnonzero(named == each))[:per_class] for each in sorted(set(labels))]
    return np.sort(np.concatenate(rows))


def cache_folder() -> Path:
    """Where downloaded sets are kept: `sfumato/data` in the user's cache (XDG Base Directory Specification)."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    caches = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return caches / "sfumato" / "data"
