"""Items from a CSV: a column `item`, a column `text` or `image`, optionally `class`, and columns that a kind needs.

Read strictly with Python's csv module, because the server loads no table reader. Ids stay text (`007` is not `7`).
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.study.stimulus import Item
from sfumato.study.toml_fields import outside
from sfumato.tables.errors import BadTable, ErrorLocation, listing, nearest, show
from sfumato.tables.picture_file import picture_format
from sfumato.tables.text_file import is_file, path_inside, read_text

MAX_BYTES = 200_000_000
MAX_TEXT = 100_000
MAX_ID = 500
MAX_COLUMNS = 1000
RECORD = re.compile(r'(?:"[^"]*(?:""[^"]*)*"|[^",\r\n]*)(?:,|\r\n|\n|\r|\Z)')


def read_item_table(path: Path, classes: Sequence[str], roots: Sequence[Path] = ()) -> list[Item]:
    """The items of the CSV `path` in order; errors have line numbers. Images must be in one of `roots` (default: the
    folder of the CSV)."""
    text = read_text(path, limit=MAX_BYTES, what="a CSV of items")
    _check_quotes(path, text)
    rows = _rows(path, text)
    _, header = next(rows, (1, []))
    content = _content_column(path, header)
    items: list[Item] = []
    line_of: dict[str, int] = {}
    for line, fields in rows:
        if len(fields) != len(header):
            found = f"{len(fields)} fields ({show(','.join(fields))})"
            fix = "add or remove commas; quote text that contains one"
            raise _bad(path, line, None, found, f"{len(header)} fields as in the header", fix, "ragged-row")
        row = dict(zip(header, fields, strict=True))
        item = _item(path, line, row, content, classes, roots or (path.parent,))
        if item.id in line_of:
            found = f"the item {show(item.id)} again (first on line {line_of[item.id]})"
            raise _bad(path, line, "item", found, "each id once", "rename or remove one of them", "doubled-item")
        line_of[item.id] = line
        items.append(item)
    if not items:
        raise _bad(path, None, None, "a header and no rows", "at least one item", "add the items", "no-items")
    return items


def _item(
    path: Path, line: int, row: dict[str, str], content: str, classes: Sequence[str], roots: Sequence[Path]
) -> Item:
    name, shown, given = row.pop("item"), row.pop(content), row.pop("class", "")
    if not name.strip() or not name.isprintable() or len(name) > MAX_ID or name != name.strip():
        expected = f"a printable id of 1 to {MAX_ID} characters, without leading or trailing space"
        raise _bad(path, line, "item", f"the id {show(name)}", expected, "correct the id", "bad-id")
    if not shown.strip():
        raise _bad(path, line, content, f"an empty {content}", "something to show", "fill it in", f"empty-{content}")
    if given and classes and given not in classes:
        fix = f"{nearest(given, classes)}correct the class, or leave the field empty"
        raise _bad(path, line, "class", f"the class {show(given)}", f"one of {listing(classes)}", fix, "unknown-class")
    if content == "image":
        return Item(name, picture=_picture(path, line, shown, roots), given=given or None, columns=row)
    bad = next((c for c in shown if not c.isprintable() and c not in "\n\r\t" and not c.isspace()), None)
    # Joiners and direction marks are part of many scripts.
    if len(shown) > MAX_TEXT or (bad is not None and bad < "\x80"):
        found = f"{len(shown):,} characters" if len(shown) > MAX_TEXT else f"the character {show(bad)}"
        expected = f"at most {MAX_TEXT:,} characters, none of them a control character"
        raise _bad(path, line, "text", found, expected, "shorten or clean the text", "bad-text")
    return Item(name, text=shown, given=given or None, columns=row)


def _picture(path: Path, line: int, written: str, roots: Sequence[Path]) -> Path:
    # Checked before the file is touched: errors must not say which files exist elsewhere.
    picture = path_inside(path.parent / written, roots)
    if picture is None:
        raise _bad(path, line, "image", *outside(show(written), is_item=True))
    if not is_file(picture):
        fix = "check the path; it is relative to the folder of the CSV"
        found = f"{show(written)}, which does not exist"
        raise _bad(path, line, "image", found, "an existing image", fix, "no-such-file")
    with picture.open("rb") as file:
        start = file.read(16)
    if picture_format(start) is None:
        found, fix = f"{show(written)}, which is not an image", "save it as PNG or JPEG"
        raise _bad(path, line, "image", found, "PNG, JPEG, WebP, GIF or BMP", fix, "no-picture")
    return picture


def _content_column(path: Path, header: Sequence[str]) -> str:
    """The content column, `text` or `image`; raises if the header is wrong."""
    separator = next((s for s in (";", "\t", "|") if len(header) == 1 and s in header[0]), None)
    doubled = [name for name, n in Counter(header).items() if n > 1]
    contents = [name for name in ("text", "image") if name in header]
    if separator:
        found, fix, code = f"a header separated by {separator!r}", "save the file with commas", "wrong-separator"
    elif len(header) > MAX_COLUMNS:
        found, fix, code = f"{len(header):,} columns", f"leave some out: {MAX_COLUMNS:,} at most", "too-many-columns"
    elif doubled:
        found, fix, code = f"column {listing(doubled)} more than once", "rename or remove one", "doubled-column"
    elif not all(name.strip() for name in header):
        found, fix, code = "a column without a name", "write the names into the first line", "unnamed-column"
    elif "item" not in header:
        fix = f"{nearest('item', header)}write item,text (or item,image) into the first line"
        found, code = f"no column item among {listing(header)}", "no-such-column"
    elif len(contents) != 1:
        found = "both text and image" if contents else f"neither text nor image among {listing(header)}"
        fix, code = "give the items one column of texts or one of images", "no-such-column"
    else:
        return contents[0]
    raise _bad(path, 1, None, found, "columns item and text, or item and image", fix, code)


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The records that are not empty, each with its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    start = 1
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            fix = "look for an unclosed quote, or for a document pasted into a field"
            found = f"text that is not CSV ({error})"
            raise _bad(path, start, None, found, "comma-separated rows", fix, "bad-csv") from error
        if fields is None:
            return
        if fields:
            yield start, fields
        start = reader.line_num + 1


def _check_quotes(path: Path, text: str) -> None:
    """Raise unless quotes enclose whole fields: the csv module accepts a quote inside a field."""
    at = 0
    while '"' in text and at < len(text):
        match = RECORD.match(text, at)
        if match is None:
            unclosed = text[at] == '"' and text.count('"', at) % 2
            found = "a quote that is never closed" if unclosed else "a quote inside a field"
            fix = 'close the quote; write a quote inside quoted text twice ("")'
            code = "unclosed-quote" if unclosed else "bad-csv"
            line = len(re.findall(r"\r\n|\n|\r", text[:at])) + 1
            raise _bad(path, line, None, found, "quotes in pairs, around whole fields", fix, code)
        at = match.end()


def _bad(path: Path, line: int | None, column: str | None, found: str, expected: str, fix: str, code: str) -> BadTable:
    return BadTable(found, expected, fix, code=code, where=ErrorLocation(str(path), line=line, column=column))
