"""The tables `[[arms]]` of a study file: several forms compared on the same items."""

from __future__ import annotations

from sfumato.study.study import Arm, Assignment, Framing, Question
from sfumato.study.toml_fields import Fields
from sfumato.tables.errors import listing, show

FEWEST = 2


def read_arms(top: Fields, assignment: Assignment) -> tuple[Arm, ...]:
    """The arms, in order; none where there are no such tables."""
    kept: list[Arm] = []
    for entry in top.tables("arms"):
        kind = entry.text("kind", "") or ""
        if not kind:
            entry.missing("kind", "the kind of question of this arm", '"tokens"')
        name = entry.text("name", kind, limit=40) or kind
        if name in [each.name for each in kept]:
            entry.add(
                "name" if "name" in entry.values else "kind",
                f"the arm {show(name)} twice",
                expected="a name of its own for each arm",
                fix="write name = ... for one of them",
                code="doubled-arm",
            )
        framing = entry.choice("framing", Framing.OWN)
        prompt = entry.text("prompt", one_line=False, limit=1000)
        # Whatever else stands here are settings of the kind, which checks them itself.
        kept.append(Arm(name, Question(kind or "tokens", framing, prompt, entry.rest())))
    if kept:
        _check_alone(top, assignment)
    if len(kept) == 1:
        top.add(
            "arms",
            "one arm",
            expected=f"at least {FEWEST} forms to compare",
            fix="add another [[arms]], or write [question] instead",
            code="out-of-range",
        )
    return tuple(kept)


def _check_alone(top: Fields, assignment: Assignment) -> None:
    """Note what cannot stand beside arms."""
    beside = [key for key in ("question", "deeper") if key in top.values]
    if beside:
        top.add(
            beside[0],
            f"[{beside[0]}] beside [[arms]]",
            expected="a form in every arm, and none beside them",
            fix=f"move what stands in [{beside[0]}] to an arm",
            code="two-forms",
        )
    if assignment is Assignment.ADAPTIVE:
        top.add(
            "people",
            'assignment = "adaptive" beside [[arms]]',
            expected=f"one of {listing([each.value for each in Assignment if each is not Assignment.ADAPTIVE])}",
            fix="compare forms with as many answers about every item",
            code="two-forms",
        )
