"""Explains natural mistakes in Python: wrong arguments of a call, and attributes that do not exist."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sfumato.tables.errors import BadSetting, UnknownName, listing, nearest, show

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

ALSO_CALLED = {"truth": "original", "gold": "original"}
"""Arguments by the names that people expect, and ours."""


def explained(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same function, with an error of ours for arguments that are missing, misspelled or without a name."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            raise _wrong_call(function.__qualname__, signature, args, kwargs) from None
        return function(*args, **kwargs)

    return call


def _wrong_call(name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BadSetting:
    own = {each.name: each for each in signature.parameters.values() if each.name not in ("self", "cls")}
    n_self = len(signature.parameters) - len(own)
    by_place = [each.name for each in own.values() if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    needed = [each.name for each in own.values() if each.default is inspect.Parameter.empty and each.kind <= 3]
    form = f"sf.{name}({', '.join([*by_place, *(f'{each}=...' for each in needed if each not in by_place)])})"
    takes = f"arguments of sf.{name}: {listing(list(own), len(own))}"
    strange = next((each for each in kwargs if each not in own), None)
    if strange is not None:
        meant = ALSO_CALLED.get(strange, "")
        hint = f"did you mean {meant!r}? " if meant in own else nearest(strange, own)
        return BadSetting(f"the argument {strange}", takes, f"{hint}write {form}", "wrong-argument")
    if len(args) - n_self > len(by_place):
        found = f"{len(args) - n_self} values without a name"
        return BadSetting(found, takes, f"name them: {form}", "wrong-argument")
    missing = [each for each in needed if each not in kwargs and each not in by_place[: len(args) - n_self]]
    found = f"no {' and no '.join(missing)}" if missing else "an argument given twice"
    return BadSetting(found, takes, f"write {form}", "wrong-argument")


def check_kind(name: str, value: object, kinds: tuple[type, ...], expected: str, fix: str) -> None:
    """Raise unless the argument `name` is of one of these types."""
    if not isinstance(value, kinds):
        raise BadSetting(f"a {type(value).__name__} as {name}", expected, fix, "wrong-argument")


class UnknownAttribute(UnknownName, AttributeError):
    """An attribute that does not exist; an AttributeError too, as `hasattr` expects."""

    default_code = "unknown-attribute"


def no_attribute(what: str, name: str, known: Sequence[str], hints: Mapping[str, str]) -> AttributeError:
    """The error for an attribute `name` of `what`; `hints` say what to use instead of names from other libraries."""
    if name.startswith("_"):
        return AttributeError(f"{what} has no attribute {name!r}")
    public = [each for each in known if not each.startswith("_")]
    fix = hints.get(name) or nearest(name, public).strip() or f"dir({what.split()[-1]}) lists what there is"
    return UnknownAttribute(f"{show(name)} of {what}", f"one of {listing(public, 8)}", fix)
