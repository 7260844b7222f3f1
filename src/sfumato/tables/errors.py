"""What can go wrong, as one tree.

    SfumatoError                 everything we raise on purpose
    ├── BadFile                  a file that cannot be read as what it claims to be
    │   └── UnsafeFile           a file we refuse to open: bombs, pickles
    ├── BadTable                 columns, types, ids or keys of a table
    │   └── BadProbabilities     rows that are no distribution
    ├── InvalidAnswer            a payload that is no answer of its kind
    ├── UnknownName              a class, strategy or format we do not know, with the nearest one we do
    ├── BadSetting               an option out of its range, or that does not belong here
    ├── BadStudy                 a study file with its mistakes, each an error of its own
    ├── NotThere                 a link or trial that does not exist, or is somebody else's
    ├── NotNow                   a step that cannot be taken now, and why
    ├── NoReply                  a server that did not answer in time
    ├── Refused                  a request that a server will not take, however often it is sent
    ├── StoreDown                the store cannot write at the moment; nothing was acknowledged
    ├── CannotWrite              disk full, folder missing, no permission; the old file is intact
    └── MissingExtra             a feature whose optional packages are not installed

Each one says what was found, what must hold, where, and what to do. As text:
``error[code] file:line:column found; expected what; fix: remedy``.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ErrorLocation:
    """The place an error speaks of; `line` counts from 1 in text files, `row` from 0 in tables."""

    file: str | None = None
    line: int | None = None
    row: int | None = None
    item: str | None = None
    annotator: str | None = None
    column: str | None = None

    def __str__(self) -> str:
        place = f"{self.line}" if self.line is not None else f"row {self.row}" if self.row is not None else None
        answer = f"item {show(self.item)}, annotator {show(self.annotator)}" if self.item is not None else None
        return ":".join(part for part in (self.file, place, answer, self.column) if part)


class SfumatoError(Exception):
    """Base of every error raised on purpose; `code` is stable and made for programs."""

    def __init__(self, found: str, *, expected: str, fix: str, code: str, where: ErrorLocation | None = None) -> None:
        self.found = one_line(found)
        self.expected = one_line(expected)
        self.fix = one_line(fix)
        self.code = code
        self.where = where or ErrorLocation()
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments need help to survive a process pool.
        return _rebuilt, (type(self), self.found, self.expected, self.fix, self.code, self.where)

    def __str__(self) -> str:
        place = f"{one_line(str(self.where))} " if str(self.where) else ""
        return f"error[{self.code}] {place}{self.found}; expected {self.expected}; fix: {self.fix}"

    def as_dict(self) -> dict[str, object]:
        """The same fields for `--json` and for HTTP 422 bodies."""
        return {
            "code": self.code,
            **asdict(self.where),
            "found": self.found,
            "expected": self.expected,
            "fix": self.fix,
        }


def _rebuilt(
    kind: type[SfumatoError], found: str, expected: str, fix: str, code: str, where: ErrorLocation
) -> SfumatoError:
    return kind(found, expected=expected, fix=fix, code=code, where=where)


class BadFile(SfumatoError):
    """A file that cannot be read as what it claims to be."""


class UnsafeFile(BadFile):
    """A file we refuse to open: decompression bombs, pickles."""


class BadTable(SfumatoError):
    """Columns, types, ids or keys of a table."""


class BadProbabilities(BadTable):
    """Rows that are no distribution: not finite, negative, or not summing to one."""


class InvalidAnswer(SfumatoError):
    """A payload that is no answer of its kind."""


class UnknownName(SfumatoError):
    """A class, strategy or format we do not know."""


class BadSetting(SfumatoError):
    """An option out of its range, or one that does not belong here."""


class BadStudy(SfumatoError):
    """A study file with mistakes; `mistakes` holds them all, each with its line. As text: one a line."""

    def __init__(self, mistakes: Sequence[SfumatoError], *, file: str | None = None) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(
            f"found {len(self.mistakes)} mistake{'s' * (len(self.mistakes) != 1)}",
            expected="a study file without mistakes",
            fix="mend each of them; sfumato study check lists them again",
            code="bad-study",
            where=ErrorLocation(file),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt_study, (self.mistakes, self.where.file)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)

    def as_dict(self) -> dict[str, object]:
        """The same fields as every error, and the mistakes."""
        return {**super().as_dict(), "mistakes": [mistake.as_dict() for mistake in self.mistakes]}


def _rebuilt_study(mistakes: tuple[SfumatoError, ...], file: str | None) -> BadStudy:
    return BadStudy(mistakes, file=file)


class NotThere(SfumatoError):
    """A link or trial that does not exist, or belongs to somebody else: nobody can tell which."""


class NotNow(SfumatoError):
    """A step that cannot be taken now: out of order, or taken already."""


class NoReply(SfumatoError):
    """A server that did not answer before the deadline."""


class Refused(SfumatoError):
    """A request that a server will not take, however often it is sent."""


class StoreDown(SfumatoError):
    """The store cannot write at the moment; nothing was acknowledged, and trying again is safe."""


class Busy(StoreDown):
    """More comes than can be stored; whoever hears this comes back in `seconds`."""

    def __init__(self, most: int, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(
            f"found {most:,} requests waiting to be stored",
            expected="a moment with fewer",
            fix=f"try again in {seconds} seconds; nothing was acknowledged, so nothing is lost",
            code="busy",
        )


class CannotWrite(SfumatoError):
    """Disk full, folder missing, no permission; whatever stood there before is intact."""


class MissingExtra(SfumatoError):
    """A feature whose optional packages are not installed."""


class SfumatoWarning(UserWarning):
    """Something accepted that a careful reader would want to know."""


def one_line(text: str) -> str:
    """Text as it may go to a terminal or a log: control characters, line breaks and lone surrogates escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def show(value: object, limit: int = 60) -> str:
    """A value as it may be printed: quoted, control characters escaped, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - 2:,} characters)"


def listing(names: Sequence[str], limit: int = 12) -> str:
    """Names in a row, the tail counted when there are many."""
    shown = ", ".join(name if name.isprintable() and len(name) <= 40 else show(name, 40) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown}, ... ({len(names):,} in all)"


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy's first half: `did you mean 'dog'? ` where something known is near, else nothing."""
    if len(name) > 200:
        return ""
    folded = {_folded(other): other for other in known}
    match = difflib.get_close_matches(_folded(name), list(folded), n=1, cutoff=0.6)
    if not match:
        return ""
    strange = [c for c in name if not c.isascii() and c not in folded[match[0]]]
    alike = f" (found {', '.join(unicodedata.name(c, hex(ord(c))) for c in strange[:3])})" if strange else ""
    return f"did you mean {folded[match[0]]!r}?{alike} "


# Cyrillic and Greek letters that look like Latin ones.
LOOK_ALIKES = str.maketrans("аеорсухіјѕкмнтвԁɡαορτυνκι", "aeopcyxijskmhtbdgaoptuvki")


def _folded(name: str) -> str:
    """A name for comparison: case, width and look-alike letters made the same."""
    return unicodedata.normalize("NFKC", name).casefold().strip().translate(LOOK_ALIKES)


def unknown(
    what: str, name: str, known: Sequence[str], *, where: ErrorLocation | None = None, fix: str = ""
) -> UnknownName:
    """The error for a name that is not among the known ones."""
    remedy = f"{nearest(name, known)}{fix}".strip() or f"use one of the {what} names listed"
    return UnknownName(
        f"found {what} {show(name)}",
        expected=f"one of {listing(list(known))}",
        fix=remedy,
        code=f"unknown-{what.replace(' ', '-')}",
        where=where,
    )
