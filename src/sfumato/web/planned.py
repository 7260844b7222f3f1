"""A Plan put to work: the study as the plan would have it asked, and the items that the plan is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.elicit.kind import Item
from sfumato.errors import BadSetting, listing
from sfumato.plan.plan_file import Adaptive as AdaptivePlan
from sfumato.plan.plan_file import Plan
from sfumato.study import ABOUT_ONE_ITEM, Adaptive, Assignment, Deeper, Question, Study


def planned(study: Study, plan: Plan) -> Study:
    """The study with the plan's question, assignment and numbers of answers; all else stays as its file has it.

    The question keeps the file's wording and settings where the plan asks for the same kind.
    """
    if sorted(plan.classes) != sorted(study.class_names):
        raise BadSetting(
            f"found a plan for the classes {listing(list(plan.classes))}",
            expected=f"the classes of the study: {listing(list(study.class_names))}",
            fix="plan from a pilot of this study",
            code="wrong-classes",
        )
    answers, people = plan.answers, study.people
    question = _asked(study, plan.question.kind)
    if not isinstance(answers, AdaptivePlan):
        kept = replace(people, answers_per_item=answers.each, assignment=Assignment.FEWEST)
        return replace(study, question=question, people=kept, adaptive=Adaptive(), deeper=None)
    deeper = None
    if (form := plan.question.deeper) is not None:
        deeper = Deeper(_asked(study, form.kind), form.votes, form.seconds, plan.deeper_items)
    return replace(
        study,
        question=question,
        people=replace(people, answers_per_item=answers.most, assignment=Assignment.ADAPTIVE),
        adaptive=Adaptive(
            index=answers.index,
            target=answers.target,
            lead=answers.lead,
            fewest=answers.fewest,
            answers=plan.cost.answers,
            audit=answers.audit,
            seconds=plan.question.seconds or 1.0,
        ),
        deeper=deeper,
    )


def planned_items(study: Study, plan: Plan, items: Sequence[Item]) -> list[Item]:
    """The items that the plan is for, and those everybody practises on."""
    if plan.items == "all":
        return list(items)
    known = {item.id for item in items}
    if missing := [item for item in plan.items if item not in known]:
        raise BadSetting(
            f"found {len(missing):,} items in the plan that the study does not have: {listing(missing, 3)}",
            expected="a plan for items of this study",
            fix="give the study that the plan was made for, or plan anew",
            code="unknown-item",
        )
    wanted = {*plan.items, *(each.item for each in study.practice)}
    return [item for item in items if item.id in wanted]


def _asked(study: Study, kind: str) -> Question:
    """The study's own question of this kind if it has one, else a plain one."""
    if same := next((each for each in study.questions if each.kind == kind), None):
        return same
    if kind not in ABOUT_ONE_ITEM:
        raise BadSetting(
            f"found a plan that asks with {kind}, and a study that asks with {study.question.kind}",
            expected=f"the study's own kind, or one that needs nothing but the item: {listing(list(ABOUT_ONE_ITEM))}",
            fix="set the kind in the study file, with what it needs",
            code="wrong-kind",
        )
    return Question(kind, study.question.framing)
