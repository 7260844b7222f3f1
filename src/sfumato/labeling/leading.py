"""Which class an answer puts first, whatever kind of question it answers."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from sfumato.tables.errors import BadSetting
from sfumato.tables.payloads import ChoicePayload, MixturePayload, TokensPayload, TopTwoPayload


@singledispatch
def leading_classes(answer: Any) -> frozenset[str]:
    """The classes held most probable: one, several that tie, or none where everything was ruled out."""
    raise BadSetting(
        f"found answers of type {type(answer).__name__}",
        expected="answers that name classes (choice, top_two, plausible, sliders, tokens, mixture)",
        fix="pick the answers that do with --kind, or screen in Python with rules that need no classes",
        code="wrong-kind",
    )


@leading_classes.register
def _(answer: ChoicePayload) -> frozenset[str]:
    return frozenset((answer.chosen,))


@leading_classes.register
def _(answer: TopTwoPayload) -> frozenset[str]:
    return frozenset((answer.first,))


@leading_classes.register
def _(answer: TokensPayload) -> frozenset[str]:
    return _largest(answer.tokens)


@leading_classes.register
def _(answer: MixturePayload) -> frozenset[str]:
    return _largest({answer.classes[0]: answer.share, answer.classes[1]: 1 - answer.share})


@leading_classes.register
def _(answer: dict) -> frozenset[str]:  # type: ignore[type-arg]
    marks = set(answer.values())
    if marks <= {"yes", "no", "unsure"}:
        for mark in ("yes", "unsure"):
            if mark in marks:
                return frozenset(name for name, given in answer.items() if given == mark)
        return frozenset()
    return _largest(answer)


def _largest(values: dict[str, Any]) -> frozenset[str]:
    largest = max(values.values(), default=0)
    return frozenset(name for name, value in values.items() if value == largest and value > 0)
