"""Pay: who is owed what, computed and listed, never sent.

One bonus rule a file; `BONUS_RULES` lists them all. `reconciling` sets what we know beside what the platform knows,
`paying` lists base and bonus, `asking` reads both from a study's store.
"""

from __future__ import annotations

from typing import Any

from sfumato.recruitment.pay.agreement import AgreementBonus
from sfumato.recruitment.pay.brier import BrierBonus
from sfumato.recruitment.pay.correlated_agreement import CorrelatedAgreementBonus
from sfumato.recruitment.pay.rule import BonusRule, PeerAnswers
from sfumato.study.study import ABOUT_ONE_ITEM, Study
from sfumato.study.toml_mistakes import Mistakes
from sfumato.tables.errors import BadSetting, UnknownName
from sfumato.tables.strategies import strategy_from_name

BONUS_RULES: tuple[Any, ...] = (AgreementBonus, BrierBonus, CorrelatedAgreementBonus)

__all__ = [
    "BONUS_RULES",
    "AgreementBonus",
    "BonusRule",
    "BrierBonus",
    "CorrelatedAgreementBonus",
    "PeerAnswers",
    "check_bonus",
    "rule_of",
]


def rule_of(study: Study) -> BonusRule | None:
    """The rule by which answers to a study earn a bonus; the one place where a name becomes an object."""
    if study.pay is None or study.pay.bonus is None:
        return None
    bonus = study.pay.bonus
    return strategy_from_name("bonus rule", BONUS_RULES, bonus.rule, bonus.settings)  # type: ignore[no-any-return]


def check_bonus(study: Study, mistakes: Mistakes) -> None:
    """Note what is wrong with `[pay.bonus]`: a rule we do not know, its settings, a kind it cannot look at."""
    table = ("pay", "bonus")
    if mistakes.about(*table, "rule"):
        return
    try:
        rule = rule_of(study)
    except (BadSetting, UnknownName) as error:
        words = error.found.replace("-", "_").split()
        settings = study.pay.bonus.settings if study.pay and study.pay.bonus else {}
        mistakes.place((*table, next((key for key in settings if key in words), "rule")), error)
        return
    asked = [question.kind for question in study.questions if question.kind not in ABOUT_ONE_ITEM]
    if rule is not None and asked:
        mistakes.add(
            (*table, "rule"),
            f"a bonus by {rule.name} with the kind {asked[0]}",
            expected=f"a kind that tells how likely each class is: {', '.join(ABOUT_ONE_ITEM)}",
            fix="leave [pay.bonus] out, or choose another kind",
            code="wrong-kind",
        )
