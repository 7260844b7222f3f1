"""Sets from their public homes into a folder, each whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfumato.tables.errors import BadFile, CannotWrite, ErrorLocation
from sfumato_papers.dataset_source import Source, Upstream
from sfumato_papers.dataset_sources import source_named
from sfumato_papers.http_file import Fetcher, SayLine

DOWNLOADS = "downloads"
"""Holds the authors' files until the sets are made of them."""
LOCK = ".lock"
TERMS = "PROVENANCE.md"


def download(names: Sequence[str], place: Path, sources: Sequence[Source], fetcher: Fetcher) -> None:
    """Put the sets called `names` into `place`, a folder each, with those that they take something from.

    Their terms are said first. What is there is left alone. The authors' files are checked as they come, and go once
    all sets are made of them; after an error they stay, so that the next call goes on. Two commands at once are safe:
    the second waits, and finds the work done.
    """
    wanted = in_order(names, sources)
    _check_public(wanted, place)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _alone_in(place, fetcher.say):
            missing = [source for source in wanted if not (place / source.name).is_dir()]
            for source in missing:
                fetcher.say(f"{source.name}: {source.terms}")
            for source in missing:
                _put(source, place, fetcher)
            shutil.rmtree(place / DOWNLOADS, ignore_errors=True)
    except BrokenPipeError:
        raise  # nobody listens to what is said: no matter of the folder
    except OSError as error:
        raise CannotWrite(
            f"writing failed ({error.strerror or error})",
            expected="a folder to download into",
            fix="free some space or check its permissions, and run the command again; or give a folder that has the "
            "data with --data",
            code="cannot-write",
            where=ErrorLocation(str(place)),
        ) from error


def in_order(names: Sequence[str], sources: Sequence[Source]) -> list[Source]:
    """The sources called `names`, each after those that it takes something from."""
    found: dict[str, Source] = {}
    for name in names:
        source = source_named(name, sources)
        found |= {each.name: each for each in in_order(source.after, sources)}
        found[name] = source
    return list(found.values())


def _put(source: Source, place: Path, fetcher: Fetcher) -> None:
    """Fetch the files of `source`, and make its folder of them."""
    from sfumato_papers.converters import CONVERTERS

    downloads = place / DOWNLOADS
    downloads.mkdir(exist_ok=True)
    # Two sets may have files of the same name: what tells them apart stands before it.
    files = {file: downloads / f"{file.sha256[:8]}-{file.name}" for file in source.upstream}
    if wanted := [file for file, path in files.items() if not path.exists()]:
        fetcher.say(f"{source.name}: fetching {_amount(wanted)}")
    for file, path in files.items():
        fetcher.fetch(file, source, path)
    made = place / f".{source.name}.part"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    CONVERTERS[source.name]({file.name: path for file, path in files.items()}, place, made)
    (made / TERMS).write_text(_terms(source), "utf-8")
    _sync(made)
    os.replace(made, place / source.name)
    differs = source.differing(place / source.name)
    state = f", but differs from the release: {', '.join(differs)}" if differs else ""
    fetcher.say(f"{source.name}: is in {place / source.name}{state}")


def _terms(source: Source) -> str:
    """What a set is and on what terms, to stand next to it."""
    lines = [
        f"# {source.name}\n\n{source.title}.\n",
        f"- Home: {source.home}",
        f"- License: {source.licence}",
        f"- Cite: {source.citation}",
        "\n## Made of\n",
        *(f"- {file.url} ({file.n_bytes:,} bytes, SHA-256 {file.sha256})" for file in source.upstream),
    ]
    return "\n".join(lines) + "\n"


def _check_public(sources: Sequence[Source], place: Path) -> None:
    for source in sources:
        if not source.upstream and not (place / source.name).is_dir():
            raise BadFile(
                f"found no {source.name}, which is not public",
                expected="sets that are here, or that their authors give out",
                fix=f"ask the authors of {source.citation!r}, and put it into {place / source.name}",
                code="not-public",
                where=ErrorLocation(str(place)),
            )


@contextmanager
def _alone_in(place: Path, say: SayLine) -> Iterator[None]:
    """While this lasts no other command downloads into `place`; the lock goes with the process, however it ends."""
    with (place / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another command downloads into {place}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync(folder: Path) -> None:
    """Everything in `folder` is on the disk before the folder gets its name."""
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _amount(files: Sequence[Upstream]) -> str:
    n_bytes = sum(file.n_bytes for file in files)
    size = f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"
    return f"{len(files)} file{'s' * (len(files) != 1)}, {size}"
