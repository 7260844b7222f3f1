"""The images in a folder and its subfolders, with their ids and the classes that folders name."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from sfumato.tables.errors import BadFile, show
from sfumato.tables.picture_file import picture_format

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
OTHER_PICTURES = (".svg", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jxl", ".jp2", ".psd", ".ppm", ".pgm")
"""Image formats we cannot show: skipping them would silently drop items."""


def picture_names(folder: Path) -> list[str]:
    """The images in `folder` and its subfolders as relative paths, in natural order (`9` before `10`); hidden files
    are skipped."""
    names = sorted(_pictures_in(folder), key=natural)
    if not names:
        expected = "PNG, JPEG, WebP, GIF or BMP files in the folder or its subfolders"
        raise BadFile("no image", expected, "put the images there, or choose another folder", "no-pictures", folder)
    return names


def has_pictures(folder: Path) -> bool:
    """Whether there is any image in the folder or its subfolders, also of a kind that cannot be read."""
    return any(each.suffix.lower() in (*SUFFIXES, *OTHER_PICTURES) for each in folder.rglob("*"))


def ids_of(names: Sequence[str]) -> list[str]:
    """The paths without file endings, except where two would be equal."""
    ids = [name[: -len(_suffix(name))] if _suffix(name) in SUFFIXES else name for name in names]
    while doubled := {name for name, n in Counter(ids).items() if n > 1}:
        ids = [whole if name in doubled else name for name, whole in zip(ids, names, strict=True)]
    return ids


def natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts `item-9` before `item-10`."""
    return [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.split(r"([0-9]+)", text)
        if part
    ]


def _pictures_in(folder: Path) -> Iterator[str]:
    """Every image in the folder and its subfolders, as a relative path; links must stay inside."""
    root = folder.resolve()
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            with os.scandir(folder / above) as entries:
                found = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            _unreadable(error)
        for entry in found:
            name = above + entry.name
            if entry.is_symlink() and not _is_inside(Path(entry.path), root):
                outside, fix = "a link to something outside the folder", "copy the images there, or choose their folder"
                raise BadFile(outside, "images inside the folder", fix, "link-outside", entry.path)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            # Pipes and devices are not opened: reading them may block forever.
            elif entry.is_file() and _is_picture(entry.path, name):
                yield name


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return False


def _is_picture(path: str, name: str) -> bool:
    """Whether the content is an image; an error if only the name says so."""
    try:
        with open(path, "rb", buffering=0) as file:
            start = file.read(16)
    except OSError as error:
        _unreadable(error)
    if picture_format(start) is not None:
        if not name.isprintable():
            expected, fix = "names in UTF-8 without control characters", "rename the file or its folder"
            raise BadFile(f"the file name {show(name)}", expected, fix, "bad-file-name", show(path))
        return True
    if _suffix(name) in SUFFIXES + OTHER_PICTURES:
        found = f"a {_suffix(name)} file whose content we cannot show" if start else "an empty file"
        fix = "save it as PNG or JPEG, or remove it from the folder"
        raise BadFile(found, "PNG, JPEG, WebP, GIF or BMP content", fix, "no-picture", path)
    return False


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _unreadable(error: OSError) -> NoReturn:
    found, expected = f"a place that cannot be read ({error.strerror})", "a readable folder with readable files"
    raise BadFile(found, expected, "check the path and its permissions", "unreadable", error.filename) from error
