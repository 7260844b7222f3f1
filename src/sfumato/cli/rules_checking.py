"""The screening rules that a study names, checked with the rest of its file; loaded only where it names any."""

from __future__ import annotations

from sfumato.errors import UnknownName
from sfumato.study import Study
from sfumato.study_file.mistakes import Mistakes


def check_rules(study: Study, mistakes: Mistakes) -> None:
    """Note rules in `[quality]` that there are not."""
    if not study.quality.rules:
        return
    from sfumato.label.rules import rules_named

    try:
        rules_named(study.quality.rules)
    except UnknownName as error:
        mistakes.place(("quality", "rules"), error)
