"""A study changed by a plan: its question, assignment and numbers of answers, and the items of the plan. Called by
`serve` and `simulate` with `--plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.planning.plan_file import Plan, PlanAdaptive
from sfumato.study.stimulus import Item
from sfumato.study.study import ABOUT_ONE_ITEM, Adaptive, Assignment, Deeper, Question, Study
from sfumato.tables.errors import BadSetting, listing


def study_from_plan(study: Study, plan: Plan) -> Study:
    """The study with the plan's question, assignment and numbers of answers; everything else as in its file.

    The question keeps the wording and settings of the file if the kind is the same.
    """
    if sorted(plan.classes) != sorted(study.class_names):
        raise BadSetting(
            f"a plan for the classes {listing(list(plan.classes))}",
            f"the classes of the study: {listing(list(study.class_names))}",
            "make the plan from a pilot of this study",
            "wrong-classes",
        )
    answers, people = plan.answers, study.people
    question = _asked(study, plan.question.kind)
    deeper = None
    if (form := plan.question.deeper) is not None:
        deeper = Deeper(_asked(study, form.kind), form.votes, form.seconds, plan.deeper_items)
    if isinstance(answers, PlanAdaptive):
        each, by = answers.most, Assignment.ADAPTIVE
        adaptive = Adaptive(
            index=answers.index,
            target=answers.threshold,
            lead=answers.lead,
            fewest=answers.fewest,
            answers=_in_all(plan, answers),
            audit=answers.audit,
            seconds=plan.question.seconds or 1.0,
        )
    else:
        # Deeper items need an item selector, if only one with equal numbers of answers.
        each, adaptive = answers.each, Adaptive(index="uniform", audit=0.0)
        by = Assignment.ADAPTIVE if deeper is not None and deeper.items else Assignment.FEWEST
    return replace(
        study,
        question=question,
        people=replace(people, answers_per_item=each, assignment=by),
        adaptive=adaptive,
        deeper=deeper if by is Assignment.ADAPTIVE else None,
    )


def _in_all(plan: Plan, answers: PlanAdaptive) -> int | None:
    """The total number of answers: those the budget pays; without one those planned, unless items stop by
    themselves."""
    if (budget := plan.budget) is not None:
        affordable = budget.amount if budget.unit == "answers" else budget.amount / max(plan.cost.an_answer, 1e-12)
        return max(int(affordable + 1e-9), plan.cost.answers)
    return None if answers.threshold or answers.lead else plan.cost.answers


def plan_items(study: Study, plan: Plan, items: Sequence[Item]) -> list[Item]:
    """The items of the plan, and the practice items."""
    if plan.items == "all":
        return list(items)
    known = {item.id for item in items}
    if missing := [item for item in plan.items if item not in known]:
        raise BadSetting(
            f"{len(missing):,} items in the plan that are not in the study: {listing(missing, 3)}",
            "a plan for items of this study",
            "give the study that the plan was made for, or make the plan again",
            "unknown-item",
        )
    wanted = {*plan.items, *(each.item for each in study.practice)}
    return [item for item in items if item.id in wanted]


def _asked(study: Study, kind: str) -> Question:
    """The study's own question of this kind if it has one, else a plain one."""
    if same := next((each for each in study.questions if each.kind == kind), None):
        return same
    if kind not in ABOUT_ONE_ITEM:
        raise BadSetting(
            f"a plan with the kind {kind}, and a study with the kind {study.question.kind}",
            f"the study's own kind, or one that needs only the item: {listing(list(ABOUT_ONE_ITEM))}",
            "set the kind in the study file, with its settings",
            "wrong-kind",
        )
    return Question(kind, study.question.framing)
