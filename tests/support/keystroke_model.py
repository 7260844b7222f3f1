"""The keystroke-level model: how long a practised person needs to enter an answer they have made up their mind about.

Card, Moran and Newell (1980), "The keystroke-level model for user performance time with interactive systems",
Communications of the ACM 23(7), with its operators: K a key 0.28 s (somebody who types 40 words per minute), P pointing
1.1 s, B pressing or letting go of a button 0.1 s, H moving the hand between keyboard and pointer 0.4 s, M making ready
for what comes next 1.35 s. Looking at the picture is not in it, nor is making up one's mind about what it shows.

**Where an M stands** (their rules for placing it, as they apply here). Before every key and every pointing, except
- within one number typed into a field, and between pointing at the field and typing into it: a value is one chunk
  (rules 0 and 2). So a field decided has one M;
- between the boxes of one "definitely not" question: which classes to mark is one chunk, too (rule 2). This is to the
  advantage of the form that has them: with an M for each box it takes ten seconds more;
- before the same key, or a press on the same control, again: it is anticipated by the one before (rules 1 and 2).
  So a class has one M however many tokens it gets;
- before Enter, Tab and the submit button: they end a routine that is known (rules 3 and 4).
That leaves one M for each class given tokens, each class chosen, each field, each row of boxes, and for "others".

Pointing at what the pointer already is on takes no P. A hand begins where the trial before has left it: no H at first.
A modifier is a key more, without an M of its own. Clicks and input events follow from these and take no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.tables.payloads import TokensPayload, TopTwoPayload

SECONDS = {"K": 0.28, "P": 1.1, "B": 0.1, "H": 0.4, "M": 1.35}
"""What each operator takes."""

ENDING = frozenset({"Enter", "Tab"})
MODIFIERS = frozenset({"Shift", "Control", "Alt", "AltGraph", "Meta"})
FIELDS = frozenset({"first_percent", "second_percent"})
"""Controls (their `data-name`) into which values are typed."""
BOXES = "impossible:"
"""How the boxes begin that are marked together."""
SUBMIT = "submit"

Event = Sequence[Any]
"""As a record has it: milliseconds, what happened, to which control, with which key or value."""


def operators(events: Iterable[Event]) -> str:
    """The operators that `events` (those of a stored record) amount to, in order: `MKMKKK` for `1 2 2 Enter`."""
    said: list[str] = []
    hand = Hand()
    for event in events:
        said += hand.moved(str(event[1]), str(event[2]), str(event[3]))
    return "".join(said)


def seconds(events: Iterable[Event]) -> float:
    return sum(SECONDS[operator] for operator in operators(events))


@dataclass
class Hand:
    """Where the hand is, and what was last made ready for."""

    device: str = ""
    over: str | None = None
    """The control under the pointer."""
    chunk: str | None = None
    """What the last M, or the last thing without one, was about."""

    def moved(self, what: str, control: str, key: str) -> Iterator[str]:
        if what == "keydown":
            yield from self._to("keyboard")
            if key not in MODIFIERS:
                yield from self._ready(_chunk(control, key))
            yield "K"
        elif what == "pointerdown":
            yield from self._to("pointer")
            yield from self._ready(_chunk(control))
            yield from self._point(control)
            yield "B"
        elif what == "pointerup":
            yield from self._point(control)
            yield "B"

    def _to(self, device: str) -> Iterator[str]:
        if self.device not in ("", device):
            yield "H"
        self.device = device

    def _ready(self, chunk: str | None) -> Iterator[str]:
        if chunk is not None and chunk != self.chunk:
            yield "M"
        self.chunk = chunk

    def _point(self, control: str) -> Iterator[str]:
        if control != self.over:
            yield "P"
        self.over = control


def planned_tokens(answer: TokensPayload, keys: Mapping[str, str] | None = None) -> list[Event]:
    """What the quickest way to place these tokens leaves in a record: the keys alone.

    The class with the most tokens comes first and gets them all; each further press moves one over. `keys` are the
    keys of the classes (by default each has one of its own).
    """
    largest, *others = sorted((name for name, n in answer.tokens.items() if n), key=lambda name: -answer.tokens[name])
    pressed = [largest, *(name for name in others for _ in range(answer.tokens[name]))]
    typed = [(keys or {}).get(name, name) for name in pressed] + ["o"] * answer.others + ["Enter"]
    return [(0, "keydown", "form", key) for key in typed]


def planned_top_two(answer: TopTwoPayload) -> list[Event]:
    """What filling in the form of CIFAR-10S leaves in a record: classes, boxes and submit clicked, percents clicked
    into and typed. The answer need not be one that our own form takes."""
    events = _clicked(f"first:{answer.first}") + _typed("first_percent", answer.first_percent)
    events += _clicked(f"second:{answer.second or 'none'}")
    if answer.second is not None:
        events += _typed("second_percent", answer.second_percent)
    for name in answer.impossible:
        events += _clicked(f"impossible:{name}")
    return events + _clicked(SUBMIT)


def nearest_tokens(belief: Sequence[float], classes: Sequence[str], n: int = 10) -> TokensPayload:
    """The `n` tokens nearest to `belief` (largest remainders); others where a class without a token has some belief."""
    # A whisker is no remainder: 0.7 of ten is seven.
    wanted = [round(n * float(p), 9) for p in belief]
    placed = [int(share) for share in wanted]
    by_remainder = sorted(range(len(wanted)), key=lambda k: placed[k] - wanted[k])
    for k in by_remainder[: n - sum(placed)]:
        placed[k] += 1
    tokens = {name: count for name, count in zip(classes, placed, strict=True) if count}
    return TokensPayload(tokens, any(p > 0 and not count for p, count in zip(belief, placed, strict=True)))


def _chunk(control: str, key: str | None = None) -> str | None:
    """What a press is about; none for those that end a routine."""
    if key in ENDING or (key is None and control == SUBMIT):
        return None
    if control.startswith(BOXES):
        return BOXES
    return control if key is None or control in FIELDS else f"key {key}"


def _clicked(control: str) -> list[Event]:
    return [(0, what, control, "mouse") for what in ("pointerdown", "pointerup")]


def _typed(field: str, percent: float | None) -> list[Event]:
    if percent is None:
        return []
    return _clicked(field) + [(0, "keydown", field, character) for character in f"{percent:g}"]
