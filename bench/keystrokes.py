"""Time to enter the published CIFAR-10S answers, by the keystroke-level model: as tokens and as published.

    SFUMATO_DATA=... python bench/keystrokes.py [--write docs/elicit.md]

Each of the 6,200 first-pass answers is entered twice: in the form of the published study (first and second class, their
percents, a box for every class it is definitely not), and as the ten tokens closest to the belief that `top-two-clamp`
computes from it, with "others are possible" if a class without a token has a positive probability. The rules for
placing M (a mental decision) are in `tests/support/keystroke_model.py`; the table also shows two others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pages import markdown, write
from sfumato import Annotations
from sfumato.importers import Cifar10SImporter
from sfumato.labeling import TopTwoClamp
from sfumato.tables.payloads import TokensPayload, TopTwoPayload, payload_kind

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
from keystroke_model import (
    BOXES,
    SECONDS,
    Event,
    nearest_tokens,
    operators,
    planned_tokens,
    planned_top_two,
)

Placing = Callable[[Sequence[Event]], float]


def read() -> tuple[list[TopTwoPayload], list[TokensPayload], Annotations]:
    """The answers as published and as tokens, and their table."""
    table = Cifar10SImporter().read(Path(os.environ["SFUMATO_DATA"]) / "cifar10s").table
    assert isinstance(table, Annotations)
    answers = [answers[k] for answers, inverse, _ in table.decoded(payload_kind("top_two/1")) for k in inverse.tolist()]
    beliefs = TopTwoClamp().label(table).soft
    assert beliefs is not None
    return answers, [nearest_tokens(belief, table.classes) for belief in beliefs.tolist()], table


def as_documented(events: Sequence[Event]) -> float:
    return sum(SECONDS[each] for each in operators(events))


def one_m_per_box(events: Sequence[Event]) -> float:
    """Also one M before each further "definitely not" box, as every class is a decision."""
    n_boxes = sum(event[1] == "pointerdown" and event[2].startswith(BOXES) for event in events)
    return as_documented(events) + SECONDS["M"] * max(n_boxes - 1, 0)


def one_m_before_submitting(events: Sequence[Event]) -> float:
    """Also one M before submitting, to check the answer."""
    return as_documented(events) + SECONDS["M"]


PLACINGS: dict[str, Placing] = {
    "as documented": as_documented,
    "one M per box": one_m_per_box,
    "also one M before submitting": one_m_before_submitting,
}


def main() -> None:
    answers, tokens, table = read()
    forms = {
        "tokens": [planned_tokens(each) for each in tokens],
        "top_two": [planned_top_two(each) for each in answers],
    }
    print(f"{len(answers):,} published answers; people took a median of {np.nanmedian(table.seconds):.1f} s per page")
    for name, entered in forms.items():
        keys = np.array([sum(event[1] == "keydown" for event in events) for events in entered])
        points = np.array([operators(events).count("P") for events in entered])
        print(f"{name:8} keys {keys.mean():4.1f}, pointing actions {points.mean():4.1f} per answer on average")
    rows = []
    for placing, took in PLACINGS.items():
        ours, theirs = (np.array([took(events) for events in entered]) for entered in forms.values())
        rows.append(
            [
                placing,
                *(f"{each:.2f}" for each in (np.median(ours), ours.mean(), np.median(theirs), theirs.mean())),
                f"{np.median(theirs) / np.median(ours):.1f}",
            ]
        )
    head = [
        "placement of M (times in seconds)",
        "tokens: median",
        "mean",
        "top_two as published: median",
        "mean",
        "ratio",
    ]
    text = markdown(head, rows)
    print(f"\n{text}")
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        write(Path(sys.argv[2]), "keystrokes", text)


if __name__ == "__main__":
    main()
