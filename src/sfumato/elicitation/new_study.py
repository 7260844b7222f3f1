"""A new study: its folder, its commented study file, and a place for its pictures.

A small study that works at once: shapes between a circle and a square, from clear to undecidable.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from sfumato.study.study_file import FILE_NAME, draft_of
from sfumato.study.study_tables import WITHOUT_CLASSES
from sfumato.study.template import INSTRUCTIONS, template
from sfumato.tables.errors import BadSetting, CannotWrite, ErrorLocation


def begin_study(folder: Path, kind_name: str, classes: Sequence[str] | None = None, *, demo: bool = False) -> Path:
    """Write `study.toml` into `folder` (made where it is missing) and return its path; one that is there stays.

    With `demo` there are pictures, too, so that it can be served as it is.
    """
    from sfumato.elicitation.kinds import KINDS, kind_named

    if demo and classes:
        raise BadSetting(
            "found --classes with --demo",
            expected="the classes of the demo: circle and square",
            fix="leave out one of them",
            code="bad-setting",
        )
    kind = kind_named(kind_name)
    plain = ("cat", "dog") if kind_name not in WITHOUT_CLASSES else ()
    few = {key: value for key, value in FEW.items() if key in [each.name for each in fields(kind)]}
    text = template(
        folder=shlex.quote(str(folder)) if str(folder).isprintable() else ".",
        title=TITLE if demo else "What do you see?",
        classes=CLASSES if demo else classes or plain,
        kind=kind,
        kinds=[each.name for each in KINDS],
        instructions=EXAMPLE_INSTRUCTIONS if demo else INSTRUCTIONS,
        # Practice is about one picture, and so is not there for questions about several.
        practice=PRACTICE if demo and not few else "",
        settings=few if demo else {},
        batch_size=10 if demo else 25,
    )
    file = folder / FILE_NAME
    # The classes come from the command line: they are checked as those of a file are.
    wrong = [each for each in draft_of(text, file).mistakes.found if (each.where.column or "").startswith("classes")]
    if wrong:
        first = wrong[0]
        raise BadSetting(first.found, expected=first.expected, fix=first.fix, code=first.code)
    _write(folder, file, text, demo=demo)
    return file


def _write(folder: Path, file: Path, text: str, *, demo: bool) -> None:
    """The pictures first: where something is in their way, no study is left that cannot be begun again."""
    pictures = folder / "images"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.exists() or (demo and pictures.exists()):
            raise FileExistsError(0, "", str(file if file.exists() else pictures))
        pictures.mkdir(exist_ok=True)
        if demo:
            draw_shapes(pictures)
        # Never over one that is there, not even one that came to be a moment ago.
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError as error:
        raise CannotWrite(
            f"found {error.filename!r}, which is there already and unchanged",
            expected="a folder without a study",
            fix="choose another folder, or go on with the study that is there",
            code="exists",
            where=ErrorLocation(str(file)),
        ) from error
    except (OSError, ValueError) as error:
        raise CannotWrite(
            f"writing failed ({getattr(error, 'strerror', None) or error})",
            expected="a place to write",
            fix="check the folder and its permissions",
            code="cannot-write",
            where=ErrorLocation(str(folder)),
        ) from error


CLASSES = ("circle", "square")
TITLE = "Circle or square?"
N_PICTURES = 12
SIDE = 160
EXAMPLE_INSTRUCTIONS = """\
You will see shapes, one after the other. Some are **circles**, some are **squares**, and many lie between.
Say how likely each is. Doubt is a good answer where there is doubt."""
PRACTICE = """\
[[practice]]
item = "circle/shape-01"
feedback = "A clear circle: here one can be sure."

[[practice]]
item = "square/shape-12"
feedback = "A clear square: here one can be sure, too."

"""

FEW = {"pairs": 12, "triplets": 12}
"""Settings of the kinds that draw several items together: few, as there are few pictures."""


def draw_shapes(folder: Path) -> None:
    """Write the pictures into `folder`, one folder a class: the corners of a square, from wholly round to sharp."""
    from PIL import Image, ImageDraw

    for number in range(N_PICTURES):
        squareness = number / (N_PICTURES - 1)
        place = folder / CLASSES[squareness > 0.5]
        place.mkdir(parents=True, exist_ok=True)
        # Drawn four times as large and made smaller, for smooth edges.
        image = Image.new("RGB", (4 * SIDE, 4 * SIDE), "#f4f1ea")
        edges = (0.6 * SIDE, 0.6 * SIDE, 3.4 * SIDE, 3.4 * SIDE)
        ImageDraw.Draw(image).rounded_rectangle(edges, 1.4 * SIDE * (1 - squareness), fill="#37506b")
        image.resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(place / f"shape-{number + 1:02}.png")
