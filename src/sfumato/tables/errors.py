"""All errors that sfumato raises on purpose, and constructors for those that recur.

    SfumatoError                 base class
    ├── BadFile                  a file that cannot be read
    │   └── UnsafeFile           a file that is not opened: decompression bombs, pickles
    ├── BadTable                 wrong columns, types, ids or keys
    │   ├── BadProbabilities     rows that are not distributions
    │   └── BadRows              several faults, each an error of its own
    ├── InvalidAnswer            a payload that its question type does not allow
    ├── UnknownName              an unknown class, strategy or format; suggests the nearest known name
    ├── BadSetting               an option out of range, or not allowed here
    ├── BadStudy                 a study file with mistakes, each an error of its own
    ├── NotThere                 a link or trial that does not exist or belongs to another participant
    ├── NotNow                   an action that is not possible in the current state
    ├── NoReply                  no reply from a server before the deadline
    ├── Refused                  a request that a server rejects permanently
    ├── StoreDown                the store cannot write now; nothing was acknowledged
    ├── CannotWrite              disk full, folder missing, no permission; existing files are unchanged
    └── MissingExtra             a feature whose optional packages are not installed

Every error has four parts: what was found, what was expected, where, and how to fix it. As text:
``error[code] file:line:column found; expected what; fix: remedy``.
"""

from __future__ import annotations

import difflib
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class ErrorLocation:
    """Where an error is; `line` counts from 1 in text files, `row` from 0 in tables."""

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


Where = ErrorLocation | Path | str | None


class SfumatoError(Exception):
    """Base class. The parts are given in the order they are printed: `found` (the word "found" is
    added), `expected`, `fix`; then the stable `code` for programs, and a location or path.
    """

    default_code: ClassVar[str] = "error"
    first_word: ClassVar[str] = "found "

    def __init__(self, found: str, expected: str, fix: str, code: str = "", where: Where = None) -> None:
        prefix = "" if not found or found.startswith("found ") else self.first_word
        self.found, self.expected, self.fix = (one_line(_worded(part)) for part in (prefix + found, expected, fix))
        self.code = code or self.default_code
        self.where = ErrorLocation(str(where)) if isinstance(where, (Path, str)) else where or ErrorLocation()
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses may have another __init__: rebuild from the parts, for process pools.
        return _rebuilt, (type(self), self.found, self.expected, self.fix, self.code, self.where)

    def __str__(self) -> str:
        place = f"{one_line(str(self.where))} " if str(self.where) else ""
        return f"error[{self.code}] {place}{self.found}; expected {self.expected}; fix: {self.fix}"

    def as_dict(self) -> dict[str, object]:
        """The parts as fields, for `--json` and HTTP 422 bodies."""
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
    return kind(found, expected, fix, code, where)


class BadFile(SfumatoError):
    """A file that cannot be read."""

    default_code = "bad-file"


class UnsafeFile(BadFile):
    """A file that is not opened: decompression bombs, pickles."""


class BadTable(SfumatoError):
    """Wrong columns, types, ids or keys of a table."""

    default_code = "bad-table"


class BadProbabilities(BadTable):
    """Rows that are not distributions: not finite, negative, or not summing to 1."""


class InvalidAnswer(SfumatoError):
    """A payload that its question type does not allow."""

    default_code = "invalid-answer"


class UnknownName(SfumatoError):
    """An unknown class, strategy or format."""

    default_code = "unknown-name"


class BadSetting(SfumatoError):
    """An option out of range, or one that is not allowed here."""

    default_code = "bad-setting"


class SeveralMistakes(SfumatoError):
    """A file with several mistakes: `mistakes` holds them with their places. As text: one per line."""

    what: ClassVar[str] = "file"
    again: ClassVar[str] = ""

    def __init__(self, mistakes: Sequence[SfumatoError], *, file: str | None = None) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(
            f"{len(self.mistakes)} mistake{'s' * (len(self.mistakes) != 1)}",
            f"a {self.what} without mistakes",
            f"correct each of them{self.again}",
            where=file,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt_mistakes, (type(self), self.mistakes, self.where.file)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)

    def as_dict(self) -> dict[str, object]:
        """The fields of every error, and the mistakes."""
        return {**super().as_dict(), "mistakes": [mistake.as_dict() for mistake in self.mistakes]}


def _rebuilt_mistakes(
    kind: type[SeveralMistakes], mistakes: tuple[SfumatoError, ...], file: str | None
) -> SeveralMistakes:
    return kind(mistakes, file=file)


class BadStudy(SeveralMistakes):
    """A study file with mistakes."""

    default_code = "bad-study"
    what = "study file"
    again = "; sfumato study check lists them again"


class BadRows(SeveralMistakes, BadTable):
    """A table with several faults, of which `mistakes` holds the first ten."""

    default_code = "bad-rows"
    what = "table"


MOST_FAULTS = 10
"""How many faults of one table are reported together."""


def raise_together(faults: Sequence[SfumatoError], n_faults: int = 0) -> None:
    """Raise the faults of one table together, the first ten of `n_faults`; does nothing if there are none."""
    if not faults:
        return
    n_more = max(n_faults, len(faults)) - MOST_FAULTS
    if len(faults) == 1 and n_more < 0:
        raise faults[0]
    shown = list(faults[:MOST_FAULTS])
    file = shown[0].where.file
    if n_more > 0:
        fix = "correct these first"
        shown.append(BadTable(f"{n_more:,} more such faults", "none", fix, "more-faults", file))
    raise BadRows(shown, file=file)


class NotThere(SfumatoError):
    """A link or trial that does not exist or belongs to another participant: the message is the same."""

    default_code = "not-there"


class NotNow(SfumatoError):
    """An action that is not possible in the current state: out of order, or already done."""

    default_code = "not-now"


class NoReply(SfumatoError):
    """No reply from a server before the deadline."""

    default_code = "no-reply"


class Refused(SfumatoError):
    """A request that a server rejects permanently: repeating it does not help."""

    default_code = "refused"


class StoreDown(SfumatoError):
    """The store cannot write now; nothing was acknowledged, and retrying is safe."""

    default_code = "store-down"


class Busy(StoreDown):
    """The write queue is full; the client retries after `seconds`."""

    def __init__(self, most: int, seconds: int) -> None:
        self.seconds = seconds
        fix = f"try again in {seconds} seconds; nothing was acknowledged, so nothing is lost"
        super().__init__(f"{most:,} requests waiting to be stored", "a moment with fewer", fix, code="busy")


class CannotWrite(SfumatoError):
    """Disk full, folder missing, no permission; existing files are unchanged."""

    default_code = "cannot-write"
    first_word = ""


class MissingExtra(SfumatoError):
    """A feature whose optional packages are not installed."""

    default_code = "missing-extra"


class SfumatoWarning(UserWarning):
    """Something accepted that the user should know about."""


def warn(sentence: str) -> None:
    """Warn with `SfumatoWarning`, at the line of the first caller outside this package."""
    caller, level = sys._getframe(1), 2
    while caller.f_back is not None and caller.f_globals.get("__name__", "").startswith("sfumato"):
        caller, level = caller.f_back, level + 1
    warnings.warn(_worded(sentence), SfumatoWarning, stacklevel=level)


@contextmanager
def warnings_off() -> Iterator[None]:
    """Ignore `SfumatoWarning` in the block of a `with` statement."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        yield


def _worded(text: str) -> str:
    from sfumato.tables.option_words import worded  # here, to keep chains of imports short

    return worded(text)


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


def unknown(what: str, name: str, known: Sequence[str], where: Where = None, fix: str = "") -> UnknownName:
    """A name that is not among the known ones; suggests the nearest."""
    remedy = f"{nearest(name, known)}{fix}".strip() or f"use one of the {what} names listed"
    code = f"unknown-{what.replace(' ', '-')}"
    return UnknownName(f"{what} {show(name)}", f"one of {listing(list(known))}", remedy, code, where)


def missing_extra(package: str, purpose: str, extra: str, otherwise: str = "") -> MissingExtra:
    """A package that is not installed: `purpose` continues its name ("torch, to train networks")."""
    return MissingExtra(f"no {package}", f"{package}, {purpose}", f'pip install "sfumato[{extra}]"{otherwise}')


def no_rows(
    expected: str = "at least one row",
    fix: str = "check how the file was made",
    where: Where = None,
    found: str = "no rows",
) -> BadTable:
    """An empty table."""
    return BadTable(found, expected, fix, "no-rows", where)


def doubled_item(
    item: object, where: Where, expected: str = "each item once", fix: str = "keep one row per item"
) -> BadTable:
    """An item with a second row in a table of one row per item."""
    return BadTable(f"item {show(item)} a second time", expected, fix, "doubled-item", where)


def select_command(table: Where, has: Where, default: str = "labels.parquet") -> str:
    """The command that keeps the items of a table that another file has."""
    name = Path(str(table or default))
    part = name.with_name(f"part-{name.name}") if table else Path(f"part-{default}")
    return f"sfumato select {name} --items {has or 'inputs.npz'} -o {part}"


def missing_column(columns: Iterable[str], expected: str, fix: str, where: Where = None) -> BadTable:
    """A table without a column it needs."""
    return BadTable(f"columns {listing(list(columns))}", expected, fix, "missing-column", where)


def wrong_shape(
    found: str, expected: str, fix: str = "give one row per item and one column per class", where: Where = None
) -> BadTable:
    """Arrays or columns of the wrong size."""
    return BadTable(found, expected, fix, "wrong-shape", where)


def bad_classes(
    found: str, classes: Sequence[str], fix: str = "use the same class names in the same order", where: Where = None
) -> BadTable:
    """A table over other classes than `classes`."""
    return BadTable(found, f"the classes {listing(classes)}", fix, "bad-classes", where)


def bad_number(value: object, expected: str, fix: str, where: Where = None) -> BadTable:
    """A cell that does not hold the expected number."""
    return BadTable(show(value), expected, fix, "bad-number", where)


def damaged_file(what: str, reason: object, path: Path, fix: str = "copy or save the file again") -> BadFile:
    """A file whose content is broken; `reason` is the reader's error."""
    return BadFile(f"a damaged {what} ({str(reason)[:120]})", f"a complete {what}", fix, "damaged", path)


def wrong_ending(path: Path, endings: Iterable[str], fix: str = "choose another name") -> BadFile:
    """A file name whose ending is not supported."""
    return BadFile(f"a file named {path.name!r}", f"a name ending in {', '.join(endings)}", fix, "file-kind", path)


MAX_EXPANSION = 500
"""A compressed file may expand this many times ..."""


FREE_EXPANSION_BYTES = 16 * 2**20
"""... or to this many bytes; beyond both it is a decompression bomb."""


def decompression_bomb(path: Path, found: str, limit: str, otherwise: str = "decompress it first") -> UnsafeFile:
    """The error for a file whose content is too large for its size; `otherwise` is what to do with a trusted file."""
    return UnsafeFile(found, f"at most {limit}", f"if you trust the file, {otherwise}", "bomb", path)
