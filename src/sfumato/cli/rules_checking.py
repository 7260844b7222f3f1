"""The screening rules that a study names, checked with the rest of its file; loaded only where it names any."""

from __future__ import annotations

from sfumato.study.mistakes import Mistakes
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, UnknownName


def check_rules(study: Study, mistakes: Mistakes) -> None:
    """Note rules in `[quality]` that there are not, and settings that are none of theirs."""
    asked = study.quality.rules
    if not asked:
        return
    from sfumato.label.rules import rules_of

    table = ("quality", "rules")
    parts = {table: asked} if isinstance(asked, str) else {(*table, name): {name: asked[name]} for name in asked}
    for at, part in parts.items():
        try:
            if not mistakes.about(*at):
                rules_of(part)
        except (BadSetting, UnknownName) as error:
            mistakes.place(at, error)
