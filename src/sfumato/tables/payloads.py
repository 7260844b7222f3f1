"""Payloads: the answers to each question type as typed values, read from strict JSON.

A payload is JSON in the units of its form. Every field is required, and no others are allowed. `decode` reads many at
once and reports the first wrong one. Light: does not import NumPy or Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, Any, Literal

import msgspec

from sfumato.tables.errors import show, unknown


class DoubledKey(ValueError):
    """A key that occurs twice in one JSON object."""

    def __init__(self, key: str) -> None:
        super().__init__(f"doubled key {show(key)}")
        self.key = key


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that rejects duplicate keys; `json` would keep the last."""
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        raise DoubledKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ChoicePayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Pick one class (CIFAR-10H)."""

    chosen: str = msgspec.field(name="class")


class TopTwoPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The most probable class and its percentage, optionally a second, and the impossible ones (CIFAR-10S).

    Percentages are as typed: they may sum to more than 100, be missing, or out of range (screening reports it).
    """

    first: str
    first_percent: float | None
    second: str | None
    second_percent: float | None
    impossible: tuple[str, ...]


class TokensPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Tokens distributed over the classes, and whether other classes are possible."""

    tokens: dict[str, Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]]
    others: bool


class TypicalityPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """How typical of its class, 0 to 1 (CIFAR-10T)."""

    given: str = msgspec.field(name="class")
    typicality: Share = msgspec.field()


class SimilarityPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The similarity of two items, 0 to 6."""

    other: str
    rating: Annotated[float, msgspec.Meta(ge=0, le=6)]


class TripletPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Whether the item is closer to a or to b."""

    a: str
    b: str
    closer: Literal["a", "b"]


class MixturePayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The share of the first of two classes in a mixed image, and the confidence (human-in-the-loop mixup)."""

    classes: tuple[str, str]
    share: Share
    confidence: Share


Plausible = dict[str, Literal["yes", "no", "unsure"]]
"""Yes, no or unsure for every class (soft-digits)."""

Sliders = dict[str, Share]
"""How well each class fits, 0 to 1 (CIFAR-10DS)."""


@dataclass(frozen=True)
class PayloadKind:
    """A question type by its stored name and version, with the type of its payload."""

    name: str
    version: int
    payload: Any

    @property
    def label(self) -> str:
        """The name in tables: `top_two/1`."""
        return f"{self.name}/{self.version}"


PAYLOAD_KINDS = (
    PayloadKind("choice", 1, ChoicePayload),
    PayloadKind("top_two", 1, TopTwoPayload),
    PayloadKind("plausible", 1, Plausible),
    PayloadKind("sliders", 1, Sliders),
    PayloadKind("tokens", 1, TokensPayload),
    PayloadKind("typicality", 1, TypicalityPayload),
    PayloadKind("similarity", 1, SimilarityPayload),
    PayloadKind("triplet", 1, TripletPayload),
    PayloadKind("mixture", 1, MixturePayload),
)


def payload_kind(label: str) -> PayloadKind:
    """The question type stored as `label` (`top_two/1`), or an error."""
    for kind in PAYLOAD_KINDS:
        if kind.label == label:
            return kind
    raise unknown("kind", label, [kind.label for kind in PAYLOAD_KINDS])


@dataclass
class PayloadFault(Exception):
    """What is wrong with payload number `index`."""

    index: int
    found: str
    expected: str


def decode(payloads: Sequence[str], kind: PayloadKind) -> list[Any]:
    """The payloads as values of `kind.payload`; raises `PayloadFault` for the first wrong one."""
    reader = msgspec.json.Decoder(kind.payload).decode
    try:
        values = [reader(text) for text in payloads]
    except (msgspec.MsgspecError, RecursionError):
        index, message = _first_fault(payloads, reader)
        raise PayloadFault(index, message, f"a {kind.name} answer") from None
    # Each key has one colon, so more colons than keys mean a doubled key, or a colon inside a text.
    for index, (text, n_keys) in enumerate(zip(payloads, _n_keys(values, kind.payload), strict=True)):
        if text.count(":") != n_keys:
            _check_doubled_key(index, text)
    return values


def check_objects(payloads: Sequence[str]) -> None:
    """Raise `PayloadFault` unless every payload is a JSON object; faster than decoding."""
    reader = msgspec.json.Decoder(msgspec.Raw).decode
    try:
        for text in payloads:
            reader(text)
    except (msgspec.MsgspecError, RecursionError):
        index, message = _first_fault(payloads, reader)
        raise PayloadFault(index, message, "a JSON object") from None
    for index, text in enumerate(payloads):
        if text[:1] != "{" and not text.lstrip().startswith("{"):
            raise PayloadFault(index, "a value that is not an object", "a JSON object")


def _n_keys(values: list[Any], payload: Any) -> Iterable[int]:
    """The number of keys of each payload."""
    if payload is TokensPayload:
        return (2 + len(value.tokens) for value in values)
    if isinstance(payload, type) and issubclass(payload, msgspec.Struct):
        return repeat(len(payload.__struct_fields__), len(values))
    return map(len, values)


def _check_doubled_key(index: int, text: str) -> None:
    try:
        json.loads(text, object_pairs_hook=unique_keys)
    except DoubledKey as error:
        raise PayloadFault(index, str(error), "each key once") from None


def _first_fault(payloads: Sequence[str], reader: Any) -> tuple[int, str]:
    for index, text in enumerate(payloads):
        try:
            reader(text)
        except RecursionError:
            return index, "values nested too deep"
        except msgspec.MsgspecError as error:
            return index, str(error)
    raise AssertionError("a payload failed once and was then read")
