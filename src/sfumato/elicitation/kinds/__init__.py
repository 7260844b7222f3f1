"""The kinds of question: each is a module, and a folder with its form. `KINDS` lists them all."""

from __future__ import annotations

from typing import Any

from sfumato.elicitation.kind import Kind
from sfumato.elicitation.kinds.choice import ChoiceKind
from sfumato.elicitation.kinds.mixture import MixtureKind
from sfumato.elicitation.kinds.plausible import PlausibleKind
from sfumato.elicitation.kinds.similarity import SimilarityKind
from sfumato.elicitation.kinds.sliders import SlidersKind
from sfumato.elicitation.kinds.tokens import TokensKind
from sfumato.elicitation.kinds.top_two import TopTwoKind
from sfumato.elicitation.kinds.triplet import TripletKind
from sfumato.elicitation.kinds.typicality import TypicalityKind
from sfumato.study.study import Question, Study
from sfumato.tables.errors import unknown
from sfumato.tables.strategies import strategy_from_name

KINDS: tuple[Any, ...] = (
    ChoiceKind,
    TopTwoKind,
    PlausibleKind,
    SlidersKind,
    TokensKind,
    TypicalityKind,
    SimilarityKind,
    TripletKind,
    MixtureKind,
)


def kind_asked(question: Question) -> Kind:
    """The kind of a question, with its settings."""
    return strategy_from_name("kind", KINDS, question.kind, question.settings)  # type: ignore[no-any-return]


def kind_of(study: Study) -> Kind:
    """The kind of the main question of `study`."""
    return kind_asked(study.question)


def kinds_of(study: Study) -> tuple[Kind, ...]:
    """The kind of every question of `study`, in order."""
    return tuple(kind_asked(each) for each in study.questions)


def kind_named(name: str) -> Any:
    """The kind called `name`, without settings; an error lists the known names."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise unknown("kind", name, [kind.name for kind in KINDS])
