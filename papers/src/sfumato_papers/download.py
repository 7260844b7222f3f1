"""Data sets downloaded from their public homes into a folder, each complete or not at all.

Files come over https only, no larger than their known size, and are checked before they count."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sfumato.tables.errors import BadFile, CannotWrite, NoReply, Refused
from sfumato.tables.files.atomic_write import sync_path
from sfumato_papers.dataset_source import PIECE_BYTES, Source, Upstream, source_named

TIMEOUT_SECONDS = 30.0
TRIES = 5
"""How often a connection that breaks is taken up again, as long as each one brings something."""
LARGE_BYTES = 20_000_000
"""Downloads of this size or more show progress, a quarter at a time."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PASSING = (408, 425, 429)
"""What a server says that will not answer now, and may later; so does any code from 500."""
BEYOND_THE_END = 416
NETWORK = (URLError, OSError, http.client.HTTPException)

SayLine = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Fetcher:
    """Fetches the files of a source. `homes` gives other addresses in place of the beginnings of those of the files;
    what is not on this machine is asked for by https alone."""

    say: SayLine
    homes: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float = TIMEOUT_SECONDS

    def fetch(self, file: Upstream, source: Source, path: Path) -> None:
        """Put `file` at `path`, or raise with nothing there. What came before a connection broke is kept next to it as
        `.part`, and taken up by the next call."""
        if path.exists():
            found = sha256_of(path)
            if found == file.sha256:
                return
            self.say(f"{path} has SHA-256 {found}, not {file.sha256}: fetched again")
            path.unlink()
        part = path.with_name(f"{path.name}.part")
        if _size(part) > file.n_bytes:
            part.unlink()
        resumed = part.exists()
        try:
            self._receive(file, source, part, path)
        except BadFile:
            part.unlink(missing_ok=True)
            raise
        found = sha256_of(part)
        if found == file.sha256:
            os.replace(part, path)
            return
        part.unlink()
        if not resumed:
            raise _not_released(file, source, f"a file with SHA-256 {found}")
        self.say(f"{file.name}: what was there of it does not fit: fetched again")
        self.fetch(file, source, path)

    def _receive(self, file: Upstream, source: Source, part: Path, path: Path) -> None:
        """Bring `part` to the file's full size."""
        for left in reversed(range(TRIES)):
            have = _size(part)
            if have == file.n_bytes:
                return
            try:
                with self._opened(file, source, have, path) as answer:
                    self._write(answer, file, source, part)
                broke = f"only {_size(part):,} of {file.n_bytes:,} bytes"
            except _Broken as error:
                broke = str(error)
            if _size(part) < file.n_bytes and (_size(part) <= have or not left):
                fix = f"try again when the network is there: it goes on where it was; or {_by_hand(path)}"
                raise NoReply(broke, _wanted(file, source), fix, "no-download", file.url)

    def _opened(self, file: Upstream, source: Source, have: int, path: Path) -> Any:
        url = file.url
        moved = (home + url.removeprefix(start) for start, home in self.homes.items() if url.startswith(start))
        address = next(moved, url)
        if not _is_safe(address):
            raise _refused(file, source, path, f"the address {address}, which is not https")
        request = Request(address, headers={"User-Agent": "sfumato"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            return build_opener(_SafeRedirects).open(request, timeout=self.timeout_seconds)
        except HTTPError as error:
            error.close()
            if error.code in PASSING or error.code >= 500:
                raise _Broken(f"the answer {error.code} {error.reason}") from error
            if error.code == BEYOND_THE_END:
                raise _not_released(file, source, f"a file of no more than {have:,} bytes") from error
            raise _refused(file, source, path, f"the answer {error.code} {error.reason}") from error
        except NETWORK as error:
            raise _Broken(f"no answer ({_reason(error)})") from error

    def _write(self, answer: Any, file: Upstream, source: Source, part: Path) -> None:
        """Add what `answer` brings to `part`; where the server sends all of it, begin again."""
        goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        have = _size(part) if goes_on else 0
        promised = answer.headers.get("Content-Length")
        if promised is not None and have + int(promised) != file.n_bytes:
            raise _not_released(file, source, f"a file of {have + int(promised):,} bytes")
        with part.open("ab" if goes_on else "wb") as out:
            for piece in _pieces(answer):
                before, have = have, have + len(piece)
                if have > file.n_bytes:
                    break
                out.write(piece)
                out.flush()  # there for the next call, even if this one is killed
                if file.n_bytes >= LARGE_BYTES and 4 * have // file.n_bytes > 4 * before // file.n_bytes:
                    self.say(f"{file.name}: {have / 1e6:,.0f} of {file.n_bytes / 1e6:,.0f} MB")
        if have > file.n_bytes:
            raise _not_released(file, source, f"a file of more than {file.n_bytes:,} bytes")


class _Broken(Exception):
    """A connection that ended before its time."""


class _SafeRedirects(HTTPRedirectHandler):
    """Goes where a server points to, but never from a safe connection to an open one."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if not _is_safe(newurl) or (urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https"):
            raise URLError(f"it points to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def _pieces(answer: Any) -> Iterator[bytes]:
    while True:
        try:
            piece = answer.read1(PIECE_BYTES)  # what has come, without waiting for more
        except NETWORK as error:
            raise _Broken(f"a connection that broke ({_reason(error)})") from error
        if not piece:
            return
        yield piece


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", error)
    return str(getattr(inner, "strerror", None) or inner) or type(inner).__name__


def _refused(file: Upstream, source: Source, path: Path, found: str) -> Refused:
    fix = f"look whether the file has moved, on {source.home}, then {_by_hand(path)}"
    return Refused(found, _wanted(file, source), fix, "no-download", file.url)


def _not_released(file: Upstream, source: Source, found: str) -> BadFile:
    return BadFile(
        f"{found}; nothing of it was kept",
        f"the released one of {file.n_bytes:,} bytes with SHA-256 {file.sha256}",
        f"try again; if it stays so, the file has changed at its home {source.home}, or something on the way changes "
        "it: give a folder that has the released data with --data",
        "wrong-checksum",
        file.url,
    )


def _wanted(file: Upstream, source: Source) -> str:
    return f"{file.name}, of which {source.name} is made ({source.origin})"


def _by_hand(path: Path) -> str:
    return f"fetch it elsewhere and save it as {path}; or give a folder that has the data with --data"


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
        fix = "free some space or check its permissions, and run the command again; or give a folder that has the data"
        found, expected = f"writing failed ({error.strerror or error})", "a folder to download into"
        raise CannotWrite(found, expected, f"{fix} with --data", where=place) from error


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
    for path in (*made.iterdir(), made):
        sync_path(path)
    os.replace(made, place / source.name)
    differs = source.differing(place / source.name)
    state = f", but differs from the release: {', '.join(differs)}" if differs else ""
    fetcher.say(f"{source.name}: is in {place / source.name}{state}")


def _terms(source: Source) -> str:
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
            found = f"no {source.name}, which is not public"
            expected = "sets that are here, or that their authors give out"
            fix = f"ask the authors of {source.citation!r}, and put it into {place / source.name}"
            raise BadFile(found, expected, fix, "not-public", place)


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


def _amount(files: Sequence[Upstream]) -> str:
    n_bytes = sum(file.n_bytes for file in files)
    size = f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"
    return f"{len(files)} file{'s' * (len(files) != 1)}, {size}"
