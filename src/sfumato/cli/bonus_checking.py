"""The bonus of a study, checked with the rest of its file; the rules are loaded only where there is one."""

from __future__ import annotations

from sfumato.study.mistakes import Mistakes
from sfumato.study.study import Study


def check_bonus(study: Study, mistakes: Mistakes) -> None:
    """Note what is wrong with `[pay.bonus]`, if there is one."""
    if study.pay is not None and study.pay.bonus is not None:
        from sfumato.recruitment.pay import check_bonus as check

        check(study, mistakes)
