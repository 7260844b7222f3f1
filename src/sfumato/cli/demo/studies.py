"""Three studies about the same digits, each with a form of its own: one class, ten tokens, or the two likeliest."""

from __future__ import annotations

import math
from pathlib import Path
from string import Template

from sfumato.tables.files.atomic_write import atomic_write

FORMS = ("tokens", "choice", "top_two")
"""The first one is the main study: it stands in the demo's folder itself, the others in folders of their own."""
HOW_TO = {
    "tokens": "Place ten tokens: all on one digit if you are sure, spread out if you are not.",
    "choice": "Choose the digit it is most likely to be.",
    "top_two": "Say which digit it is most likely to be and how sure you are, perhaps a second, and what it cannot be.",
}
REPEATS = 3
STUDY = Template("""\
# A study file: what is asked, about which items, of whom. `sfumato study new` writes one with every key explained.
title = "Which digit is it?"
name = "digits-$name"
classes = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]

[items]
npz = "$inputs"
upscale = "nearest"

[question]
kind = "$kind"

[pages]
consent = "The answers stay on this machine. You can stop at any time."
instructions = '''
Each picture is a digit that somebody wrote by hand, shown with very few pixels. $how_to
'''

[people]
answers_per_item = $answers
batch_size = $batch_size
repeats = $repeats
""")


def folder_of(folder: Path, form: str) -> Path:
    """Where the study with this form stands."""
    return folder if form == FORMS[0] else folder / form


def write_studies(folder: Path, *, n_items: int, n_people: int, n_answers: int) -> None:
    """A study file a form, so that `n_people` people give every item `n_answers` between them."""
    for form in FORMS:
        place = folder_of(folder, form)
        place.mkdir(parents=True, exist_ok=True)
        text = STUDY.substitute(
            name=form.replace("_", "-"),
            inputs="inputs.npz" if form == FORMS[0] else "../inputs.npz",
            kind=form,
            how_to=HOW_TO[form],
            # A few more than will come, so that the last ones need not search for an image they have not seen.
            answers=n_answers + 5,
            batch_size=min(n_items, math.ceil(n_answers * n_items / n_people)),
            repeats=REPEATS,
        )
        with atomic_write(place / "study.toml") as part:
            part.write_text(text, "utf-8")
