"""The kinds of question. One folder a kind; `KINDS` lists them all, and nothing else needs to know a new one."""

from __future__ import annotations

from typing import Any

from sfumato.elicit.kind import Kind
from sfumato.elicit.kinds.choice.kind import Choice
from sfumato.elicit.kinds.mixture.kind import Mixture
from sfumato.elicit.kinds.plausible.kind import Plausible
from sfumato.elicit.kinds.similarity.kind import Similarity
from sfumato.elicit.kinds.sliders.kind import Sliders
from sfumato.elicit.kinds.tokens.kind import Tokens
from sfumato.elicit.kinds.top_two.kind import TopTwo
from sfumato.elicit.kinds.triplet.kind import Triplet
from sfumato.elicit.kinds.typicality.kind import Typicality
from sfumato.study.study import Question, Study
from sfumato.tables.errors import unknown
from sfumato.tables.strategies import strategy_named

KINDS: tuple[Any, ...] = (
    Choice,
    TopTwo,
    Plausible,
    Sliders,
    Tokens,
    Typicality,
    Similarity,
    Triplet,
    Mixture,
)


def kind_asked(question: Question) -> Kind:
    """The kind of a question, with its settings; the one place where a name becomes an object."""
    return strategy_named("kind", KINDS, question.kind, question.settings)  # type: ignore[no-any-return]


def kind_of(study: Study) -> Kind:
    """The kind of question that `study` usually asks."""
    return kind_asked(study.question)


def kinds_of(study: Study) -> tuple[Kind, ...]:
    """The kind of every question of `study`, in their order."""
    return tuple(kind_asked(each) for each in study.questions)


def kind_named(name: str) -> Any:
    """The kind called `name` as it stands in `KINDS`, before any settings; an error lists the names there are."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise unknown("kind", name, [kind.name for kind in KINDS])
