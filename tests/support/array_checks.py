"""How arguments and results are checked while tests run.

The import hook checks functions inside functions too, each time that they are defined. What checks them depends only on
their signature, so it is made once per signature, when a function is called for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from beartype import BeartypeConf, beartype

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
