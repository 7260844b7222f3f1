"""A new study: its folder, its commented study file, and a folder for its images.

The demo study has images of shapes between a circle and a square, from clear to ambiguous.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from sfumato.study.study_file import FILE_NAME, draft_of
from sfumato.study.study_file_tables import WITHOUT_CLASSES
from sfumato.study.template import INSTRUCTIONS, template
from sfumato.tables.errors import BadSetting, CannotWrite


def begin_study(folder: Path, kind_name: str, classes: Sequence[str] | None = None, *, demo: bool = False) -> Path:
    """Write `study.toml` into `folder` (created if missing) and return its path; an existing one is not changed.

    With `demo` images are written too, so that it can be served immediately.
    """
    from sfumato.elicitation.kinds import KINDS, kind_named

    if demo and classes:
        raise BadSetting("--classes with --demo", "the classes of the demo: circle and square", "leave out one of them")
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
        # Practice items show one image, so questions about several have none.
        practice=PRACTICE if demo and not few else "",
        settings=few if demo else {},
        batch_size=10 if demo else 25,
    )
    file = folder / FILE_NAME
    # Classes from the command line are checked like those of a file.
    wrong = [each for each in draft_of(text, file).mistakes.found if (each.where.column or "").startswith("classes")]
    if wrong:
        first = wrong[0]
        raise BadSetting(first.found, first.expected, first.fix, code=first.code)
    _write(folder, file, text, demo=demo)
    return file


def _write(folder: Path, file: Path, text: str, *, demo: bool) -> None:
    """Images first, so that a failure leaves no study file behind."""
    pictures = folder / "images"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.exists() or (demo and pictures.exists()):
            raise FileExistsError(0, "", str(file if file.exists() else pictures))
        pictures.mkdir(exist_ok=True)
        if demo:
            draw_shapes(pictures)
        # Never overwrites, not even a file created a moment ago.
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError as error:
        found = f"found {error.filename!r}, which exists already and was not changed"
        fix = "choose another folder, or continue with the existing study"
        raise CannotWrite(found, "a folder without a study", fix, "exists", file) from error
    except (OSError, ValueError) as error:
        found = f"writing failed ({getattr(error, 'strerror', None) or error})"
        raise CannotWrite(found, "a place to write", "check the folder and its permissions", where=folder) from error


CLASSES = ("circle", "square")
TITLE = "Circle or square?"
N_PICTURES = 12
SIDE = 160
EXAMPLE_INSTRUCTIONS = """\
You will see shapes, one after the other. Some are **circles**, some are **squares**, and many are in between.
Say how likely each is. It is fine to be unsure."""
PRACTICE = """\
[[practice]]
item = "circle/shape-01"
feedback = "A clear circle: here you can be sure."

[[practice]]
item = "square/shape-12"
feedback = "A clear square: here you can be sure, too."

"""

FEW = {"pairs": 12, "triplets": 12}
"""Settings of the kinds that combine several items; few, because there are few images."""


def draw_shapes(folder: Path) -> None:
    """Write the images into `folder`, one folder per class: squares with corners from round to sharp."""
    from PIL import Image, ImageDraw

    for number in range(N_PICTURES):
        squareness = number / (N_PICTURES - 1)
        place = folder / CLASSES[squareness > 0.5]
        place.mkdir(parents=True, exist_ok=True)
        # Drawn at four times the size and scaled down, for smooth edges.
        image = Image.new("RGB", (4 * SIDE, 4 * SIDE), "#f4f1ea")
        edges = (0.6 * SIDE, 0.6 * SIDE, 3.4 * SIDE, 3.4 * SIDE)
        ImageDraw.Draw(image).rounded_rectangle(edges, 1.4 * SIDE * (1 - squareness), fill="#37506b")
        image.resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(place / f"shape-{number + 1:02}.png")
