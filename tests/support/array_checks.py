"""How arguments and results are checked while tests run.

The import hook checks functions inside functions too, each time that they are defined. What checks them depends only on
their signature, so it is made once per signature, when a function is called for the first time. Functions without
arrays in their signature are not wrapped: mypy checks them, and most calls are to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import partial
from types import FunctionType
from typing import Any, get_args

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

Function = Callable[..., Any]


class SignatureCheck:
    """A decorator that makes the check of a signature once; `check` makes it."""

    def __init__(self, check: Callable[[Function], Function]) -> None:
        self._check = check
        self._made: dict[Hashable, Function] = {}

    def __call__(self, function: Function) -> Function:
        made: Function | None = None

        def call_checked(*args: Any, **kwargs: Any) -> Any:
            nonlocal made
            if made is None:
                made = self._check_of(function)
            return made(*args, **kwargs)

        return call_checked

    def _check_of(self, function: Function) -> Function:
        code = function.__code__
        signature = (
            function.__module__,
            function.__qualname__,
            code.co_varnames,
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
            len(function.__defaults__ or ()),
            frozenset(function.__kwdefaults__ or ()),
            tuple(function.__annotations__.items()),
        )
        try:
            made = self._made.get(signature)
        except TypeError:  # an annotation that cannot be looked up
            return self._check(function)
        if made is None:
            made = self._made[signature] = self._check(function)
        return made


checked = SignatureCheck(beartype)
checked_with_whole_numbers = SignatureCheck(beartype(conf=BeartypeConf(is_pep484_tower=True)))
"""Whole numbers are allowed where numbers are (PEP 484)."""


CHECK_ALL = jaxtyping.jaxtyped


def check_arrays_only() -> None:
    """Make the import hook leave functions without arrays in their signature as they are."""
    jaxtyping.jaxtyped = _jaxtyped


def _jaxtyped(function: Any = None, **settings: Any) -> Any:
    if function is None:
        return partial(_jaxtyped, **settings)
    if isinstance(function, FunctionType) and not has_arrays(function):
        return function
    return CHECK_ALL(function, **settings)


def has_arrays(function: FunctionType) -> bool:
    """Whether any annotation of `function` names an array type, or an alias of one in its module."""
    texts = (str(each) for each in function.__annotations__.values())
    names = {name for text in texts for name in re.findall(r"[A-Za-z_]\w*", text)}
    return any(_is_array_type(function.__globals__.get(name)) for name in names)


def _is_array_type(value: Any) -> bool:
    is_array = isinstance(value, type) and issubclass(value, (AbstractArray, jaxtyping.AbstractDtype))
    return is_array or any(_is_array_type(part) for part in get_args(value))
