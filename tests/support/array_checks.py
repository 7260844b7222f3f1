"""How arguments and results are checked while tests run.

The import hook checks functions inside functions too, each time that they are defined. What checks them depends only on
their signature, so it is made once per signature, when a function is called for the first time. Functions without
arrays in their signature are not wrapped: mypy checks them, and most calls are to them.

The result of a check depends only on the types, dtypes and shapes of arguments and result. Calls with the same ones as
a call that passed are not checked again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from enum import Enum
from functools import partial, wraps
from types import FunctionType, NoneType
from typing import Any, get_args

import jaxtyping
import numpy as np
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
    if isinstance(function, FunctionType):
        return checked_once(function, **settings) if has_arrays(function) else function
    if isinstance(function, type) and is_dataclass(function):
        # Only an `__init__` that the class defines itself; an inherited one is checked already.
        if isinstance(function.__dict__.get("__init__"), FunctionType):
            function.__init__ = _jaxtyped(function.__init__, **settings)
        return function
    return CHECK_ALL(function, **settings)


_PASSED: dict[Hashable, dict[Hashable, set[Hashable]]] = {}
"""The forms of the arguments that passed, with the forms of the results that passed, of each function."""


def checked_once(function: FunctionType, **settings: Any) -> Function:
    """The function with a check of each form of its arguments and of its result."""
    signature = (function.__code__, tuple((name, str(each)) for name, each in function.__annotations__.items()))
    passed = _PASSED.setdefault(signature, {})
    made: dict[str, Function] = {}
    held = threading.local()

    def return_held(*_: Any, **__: Any) -> Any:
        return held.result

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = form_of((args, tuple(kwargs.items())))
        if given is None or given not in passed:
            if "call" not in made:
                made["call"] = CHECK_ALL(function, **settings)
            result = made["call"](*args, **kwargs)
            if given is not None:
                passed.setdefault(given, set()).add(form_of(result))
            return result
        result = function(*args, **kwargs)
        found = form_of(result)
        if found is None or found not in passed[given]:
            if "result" not in made:
                # Annotations are text, and their names are found among the globals of the function.
                alike = FunctionType(
                    return_held.__code__, function.__globals__, function.__name__, None, return_held.__closure__
                )
                made["result"] = CHECK_ALL(wraps(function)(alike), **settings)
            held.result = result
            made["result"](*args, **kwargs)
            passed[given].add(found)
        return result

    return call


def form_of(value: Any) -> Hashable:
    """What checks see of a value: its type, and dtype and shape of an array; None if they look at its contents."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape
    if kind is tuple:
        forms = tuple(map(form_of, value))
        return None if None in forms else forms
    if kind in (str, bool, NoneType) or isinstance(value, Enum):
        return kind, value
    if kind in (int, float):
        return kind
    if isinstance(value, (list, dict, set, frozenset, tuple)):
        return None
    return kind, getattr(value, "dtype", None), getattr(value, "shape", None)


def has_arrays(function: FunctionType) -> bool:
    """Whether any annotation of `function` names an array type, or an alias of one in its module."""
    texts = (str(each) for each in function.__annotations__.values())
    names = {name for text in texts for name in re.findall(r"[A-Za-z_]\w*", text)}
    return any(_is_array_type(function.__globals__.get(name)) for name in names)


def _is_array_type(value: Any) -> bool:
    is_array = isinstance(value, type) and issubclass(value, (AbstractArray, jaxtyping.AbstractDtype))
    return is_array or any(_is_array_type(part) for part in get_args(value))
