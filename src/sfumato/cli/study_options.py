"""What several commands do with a study: check all of it, and change it as a plan says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.study.study import Study
from sfumato.study.toml_mistakes import Mistakes
from sfumato.tables.errors import BadSetting, UnknownName

if TYPE_CHECKING:
    from sfumato.elicitation.study_check import StudyCheckResult
    from sfumato.study.stimulus import Item


def checked_study(path: Path, *, pictures: bool = False) -> StudyCheckResult:
    """The study in `path`, with everything that can be wrong about it checked; `pictures` opens every picture too."""
    from sfumato.elicitation.study_check import check_study
    from sfumato.recruitment import check_platform

    return check_study(path, pictures=pictures, also=(check_platform, check_bonus, check_rules))


def check_bonus(study: Study, mistakes: Mistakes) -> None:
    """Note what is wrong with `[pay.bonus]`, if there is one."""
    if study.pay is not None and study.pay.bonus is not None:
        from sfumato.recruitment.bonus_rules import check_bonus as check

        check(study, mistakes)


def check_rules(study: Study, mistakes: Mistakes) -> None:
    """Note rules in `[quality]` that there are not, and settings that are none of theirs."""
    asked = study.quality.rules
    if not asked:
        return
    from sfumato.labeling.screening_rules import rules_of

    table = ("quality", "rules")
    parts = {table: asked} if isinstance(asked, str) else {(*table, name): {name: asked[name]} for name in asked}
    for at, part in parts.items():
        try:
            if not mistakes.about(*at):
                rules_of(part)
        except (BadSetting, UnknownName) as error:
            mistakes.place(at, error)


def asked_as_planned(checked: StudyCheckResult, plan: Path | None) -> tuple[Study, Sequence[Item]]:
    """The study and its items, as a plan would have them if there is one."""
    from sfumato.study.study import Assignment

    study, items = checked.study, checked.items
    if plan is not None:
        from sfumato.planning.plan_file import Plan
        from sfumato.planning.study_from_plan import plan_items, study_from_plan

        what = Plan.read(plan)
        items = plan_items(study, what, items)
        study = study_from_plan(study, what)
    if study.people.assignment is Assignment.ADAPTIVE:
        from sfumato.planning.adaptive_assignment import rule_of

        rule_of(study)
    return study, items
