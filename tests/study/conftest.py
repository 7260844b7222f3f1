"""A good study in a folder: what the tests change one thing of."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

GOOD = '''\
title = "Which pet?"
name = "pets-1"

[[classes]]
name = "cat"
key = "c"
example = "examples/cat.png"

[[classes]]
name = "dog"
key = "d"

[items]
folder = "images"
upscale = "nearest"
size = 200

[question]
kind = "tokens"
framing = "others"
prompt = "How would they divide?"
tokens = 20

[pages]
instructions = "instructions.md"
consent = """
You may stop
at any time.
"""

[[practice]]
item = "cat/1"
feedback = "A *cat*."

[[practice]]
item = "dog/007"

[[comprehension]]
question = "Is doubt a good answer?"
choices = [
    "yes",
    "no",
]
answer = "yes"

[people]
entry = "links"
answers_per_item = 3
batch_size = 2
batches = 4
repeats = 1

[limits]
lease_minutes = 5
remind_after_minutes = 30.5
comprehension_attempts = 2

[pay]
amount = 2.50
currency = "EUR"
minutes = 8
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the good study."""
    place = tmp_path / "My pets!"
    for name in ("images/cat/1", "images/cat/2", "images/dog/007", "images/dog/7", "examples/cat"):
        path = place / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(path)
    (place / "instructions.md").write_text("# Look\nand say.\n")
    (place / "study.toml").write_text(GOOD)
    return place
