"""Helpers for commands that use a study: check it, apply a plan, and read the truth for simulated annotators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.study.study import Assignment, Study
from sfumato.study.toml_mistakes import Mistakes
from sfumato.tables.errors import BadSetting, UnknownName

if TYPE_CHECKING:
    from sfumato.elicitation.simulated_annotator import Truth
    from sfumato.elicitation.study_check import StudyCheckResult
    from sfumato.study.stimulus import Item


def checked_study(path: Path, *, pictures: bool = False) -> StudyCheckResult:
    """The study in `path` after all checks; with `pictures` every image is opened."""
    from sfumato.elicitation.study_check import check_study
    from sfumato.recruitment import check_platform

    return check_study(path, pictures=pictures, also=(check_platform, check_bonus, check_rules))


def check_bonus(study: Study, mistakes: Mistakes) -> None:
    """Check `[pay.bonus]`, if there is one."""
    if study.pay is not None and study.pay.bonus is not None:
        from sfumato.recruitment.bonus_rules import check_bonus as check

        check(study, mistakes)


def check_rules(study: Study, mistakes: Mistakes) -> None:
    """Check the rules in `[quality]` and their settings."""
    rules = study.quality.rules
    if not rules:
        return
    from sfumato.labeling.screening_rules import rules_of

    table = ("quality", "rules")
    parts = {table: rules} if isinstance(rules, str) else {(*table, name): {name: rules[name]} for name in rules}
    for at, part in parts.items():
        try:
            if not mistakes.about(*at):
                rules_of(part)
        except (BadSetting, UnknownName) as error:
            mistakes.place(at, error)


def truth_of(path: Path | None, study: Study, items: Sequence[Item]) -> Truth:
    """What simulated annotators see in the items: the soft labels in a file, or simulated ones."""
    from sfumato.elicitation.simulated_annotator import Truth

    if path is None:
        return Truth.built_in(study.class_names, items)
    from sfumato.importers.label_file import read_labels
    from sfumato.importers.prediction_file import FileOptions

    return Truth.from_labels(read_labels(path, FileOptions(known=study.class_names)), study.class_names, items)


def asked_as_planned(checked: StudyCheckResult, plan: Path | None) -> tuple[Study, Sequence[Item]]:
    """The study and its items, changed by the plan if there is one."""
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
