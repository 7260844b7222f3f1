"""A study of pictures with consent, practice, comprehension questions, examples and pay."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

PICTURE_STUDY = """\
title = "Pets"
name = "{name}"
[[classes]]
name = "cat"
example = "examples/whiskers-the-example.png"
[[classes]]
name = "dog"
[items]
folder = "images"
size = 16
[question]
kind = "choice"
[pages]
consent = "Do you agree?"
instructions = "Look, and say."
[[practice]]
item = "cat/hushed-1"
feedback = "A cat."
[[comprehension]]
question = "Is doubt allowed?"
choices = ["yes", "no"]
answer = "yes"
[[comprehension]]
question = "How many?"
choices = ["1", "2"]
answer = "2"
[people]
entry = "{entry}"
answers_per_item = 97
batch_size = 4
[limits]
comprehension_attempts = 2
[pay]
amount = 2.5
currency = "EUR"
minutes = 8
"""
SECRETS = ("hushed-", "whiskers-the-example", ".png", "97")
"""Texts that no reply may contain: parts of item ids, file names, and the quota."""


def write_picture_study(folder: Path, *, name: str = "pets", entry: str = "open") -> Path:
    """Write the study to `folder`, with eight pictures and an example."""
    for i in range(8):
        picture = folder / "images" / ("cat", "dog")[i % 2] / f"hushed-{i + 1}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (20 * i, 0, 0)).save(picture)
    (folder / "examples").mkdir(exist_ok=True)
    Image.new("RGB", (8, 8), "white").save(folder / "examples" / "whiskers-the-example.png")
    (folder / "study.toml").write_text(PICTURE_STUDY.format(name=name, entry=entry))
    return folder
