"""The tables `[adaptive]` and `[deeper]` of a study file: which item is asked about next, and in how rich a form."""

from __future__ import annotations

from sfumato.study.study import Adaptive, Assignment, Deeper, Framing, Question
from sfumato.study.toml_fields import Fields

MOST_SECONDS = 86_400
USUAL_SHARE = 0.1
"""The share of answers in which the deeper form opens by chance, unless the study file says another."""
FIRST = "choice"
"""The kind that a deeper form may follow."""


def read_adaptive(top: Fields, assignment: Assignment, answers_per_item: int, keys: tuple[str, ...]) -> Adaptive:
    """The rule of an adaptive study; a mistake where there is one and the study is none."""
    rule = top.table("adaptive")
    if "adaptive" in top.values and assignment is not Assignment.ADAPTIVE:
        _without_adaptive(top, "adaptive")
    kept = Adaptive(
        index=rule.text("index", Adaptive.index, limit=40) or Adaptive.index,
        target=rule.number("target", 0.02, 1e-9, 100) if rule.given("target") else None,
        lead=rule.whole("lead", 8, 1, 10_000) if rule.given("lead") else None,
        fewest=rule.whole("fewest", min(Adaptive.fewest, answers_per_item), 0, answers_per_item),
        answers=rule.whole("answers", 1, 1, 1_000_000_000) if rule.given("answers") else None,
        audit=rule.number("audit", Adaptive.audit, 0, 1),
        seconds=rule.number("seconds", Adaptive.seconds, 0.01, MOST_SECONDS),
    )
    rule.close(keys)
    return kept


def read_deeper(top: Fields, assignment: Assignment, usual: Question) -> Deeper | None:
    """The deeper form, if there is one, and when it opens."""
    if not top.given("deeper"):
        return None
    table = top.table("deeper")
    is_adaptive = assignment is Assignment.ADAPTIVE
    needed = (("kind", '"top_two"'), *((("votes", "1.07"), ("seconds", "44")) if is_adaptive else ()))
    for key, example in needed:
        if key not in table.values:
            table.missing(key, "a kind of question, what an answer is worth in votes, and how long it takes", example)
    kind = table.text("kind", "tokens") or "tokens"
    if kind == usual.kind:
        table.add(
            "kind",
            f"kind = {kind!r} in [question] and in [deeper]",
            expected="another kind than the usual one",
            fix="choose a richer kind, or leave [deeper] out",
            code="same-kind",
        )
    votes = table.number("votes", 1, 0.001, 1000)
    seconds = table.number("seconds", 1, 0.01, MOST_SECONDS)
    items = table.texts("items", 1, 10_000) if table.given("items") else []
    # Without the weighing of an adaptive study the doors are all there is: they stand open unless they are shut.
    unsure = table.flag("unsure") if table.given("unsure") else not is_adaptive
    share = table.number("share", 0 if is_adaptive else USUAL_SHARE, 0, 1)
    disagreement = table.number("disagreement", 0.3, 0.01, 1) if table.given("disagreement") else None
    framing = table.choice("framing", Framing.OWN if "framing" in table.values else usual.framing)
    prompt = table.text("prompt", one_line=False, limit=1000)
    # Whatever else stands here are settings of the kind, which checks them itself.
    kept = Deeper(
        Question(kind, framing, prompt, table.rest()), votes, seconds, tuple(items), unsure, share, disagreement
    )
    if not (is_adaptive or kept.follows):
        table.add(
            "unsure" if "unsure" in table.values else "share",
            "a deeper form that never opens",
            expected="unsure = true, a share above 0, or a disagreement",
            fix="open one of the doors, or leave [deeper] out",
            code="never-opens",
        )
    if kept.follows and usual.kind != FIRST:
        table.add(
            None,
            f"a deeper form after the kind {usual.kind}",
            expected=f'kind = "{FIRST}" in [question]: a single choice first',
            fix=f'write kind = "{FIRST}" in [question]',
            code="wrong-kind",
        )
    return kept


def _without_adaptive(top: Fields, table: str) -> None:
    top.add(
        table,
        f"[{table}] in a study whose assignment is not adaptive",
        expected='assignment = "adaptive" in [people]',
        fix=f'write assignment = "adaptive" in [people], or leave [{table}] out',
        code="not-adaptive",
    )
