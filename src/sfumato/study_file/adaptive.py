"""The tables `[adaptive]` and `[deeper]` of a study file: which item is asked about next, and in how rich a form."""

from __future__ import annotations

from sfumato.study import Adaptive, Assignment, Deeper, Framing, Question
from sfumato.study_file.fields import Fields

MOST_SECONDS = 86_400


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
    """The deeper form, if there is one."""
    if not top.given("deeper"):
        return None
    table = top.table("deeper")
    if assignment is not Assignment.ADAPTIVE:
        _without_adaptive(top, "deeper")
    for key, example in (("kind", '"top_two"'), ("votes", "1.07"), ("seconds", "44")):
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
    framing = table.choice("framing", Framing.OWN if "framing" in table.values else usual.framing)
    prompt = table.text("prompt", one_line=False, limit=1000)
    # Whatever else stands here are settings of the kind, which checks them itself.
    return Deeper(Question(kind, framing, prompt, table.rest()), votes, seconds, tuple(items))


def _without_adaptive(top: Fields, table: str) -> None:
    top.add(
        table,
        f"[{table}] in a study whose assignment is not adaptive",
        expected='assignment = "adaptive" in [people]',
        fix=f'write assignment = "adaptive" in [people], or leave [{table}] out',
        code="not-adaptive",
    )
