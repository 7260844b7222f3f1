"""Verdicts: whether a published figure came out again. Always computed, by the rules written here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sfumato_papers.finding import Change, Estimate, Finding, Published, Statement

WIDEST = 0.1
"""An interval that reaches further than this share of a published figure to either side says nothing about it."""
SLACK = 1 + 1e-9


class Verdict(StrEnum):
    """What came of a published figure."""

    REPRODUCED = "reproduced"
    SAME_DIRECTION = "same direction"
    NOT_REPRODUCED = "not reproduced"
    NEEDS_DATA = "needs data not public"
    NO_VERDICT = "no verdict"
    """Nothing is published next to it, or it is what the other rows of a smaller protocol are measured from."""


MARKS = {
    Verdict.REPRODUCED: "✓",
    Verdict.SAME_DIRECTION: "≈",
    Verdict.NOT_REPRODUCED: "✗",
    Verdict.NEEDS_DATA: "∅",
    Verdict.NO_VERDICT: "",
}


@dataclass(frozen=True)
class Judged:
    """A verdict, with the reason in a few words."""

    verdict: Verdict
    why: str


def judge(finding: Finding | Statement, *, scaled_down: bool) -> Judged:
    """The verdict on a finding.

    A figure is *reproduced* if it rounds to what is printed, or if what is printed lies in our interval and the
    interval is narrow enough to have said otherwise. Failing that it is of the *same direction* if it differs from its
    reference the way the published figures do, by an interval without 0.

    Where the protocol was scaled down (a smaller network, fewer epochs) no absolute figure can be expected to come out,
    and one that did would be chance: what is compared then is the change from the reference. It is *reproduced* if the
    published change lies in our interval, and the interval leaves out 0.
    """
    if finding.needs:
        return Judged(Verdict.NEEDS_DATA, finding.needs)
    if isinstance(finding, Statement):
        if not finding.holds:
            return Judged(Verdict.NOT_REPRODUCED, "does not hold here")
        return Judged(Verdict.SAME_DIRECTION, "holds here") if scaled_down else Judged(Verdict.REPRODUCED, "holds")
    assert finding.ours is not None, f"{finding.row}: neither a figure nor what it needs"
    if finding.published is None:
        return Judged(Verdict.NO_VERDICT, "nothing published next to it")
    if not scaled_down and (why := _agrees(finding.published, finding.ours, finding.change)):
        return Judged(Verdict.REPRODUCED, why)
    if finding.change is not None:
        return _judge_change(finding.change, scaled_down=scaled_down)
    if scaled_down:
        return Judged(Verdict.NO_VERDICT, "what the other rows are measured from")
    return Judged(Verdict.NOT_REPRODUCED, f"off by {finding.ours.value - finding.published.value:+.3g}")


def _agrees(published: Published, ours: Estimate, change: Change | None) -> str:
    """Why ours is the published figure; empty where it is not."""
    if abs(ours.value - published.value) <= published.half_unit * SLACK:
        return "rounds to what is printed"
    if ours.is_exact or not ours.holds(published.value, published.half_unit):
        return ""
    if change is not None and change.reference_value is not None:
        is_narrow = not ours.holds(change.reference_value.value)
    else:
        is_narrow = (ours.high - ours.low) / 2 <= WIDEST * abs(published.value)
    return "lies in our interval" if is_narrow else ""


def _judge_change(change: Change, *, scaled_down: bool) -> Judged:
    """Whether ours differs from its reference as the published figure does."""
    ours, published = change.ours, change.published
    interval = "" if ours.is_exact else f" ({ours.low:+.3g} to {ours.high:+.3g})"
    said = f"{ours.value:+.3g}{interval} from {change.reference}, published {published.value:+g}"
    if abs(published.value) <= published.half_unit * SLACK:
        if ours.leaves_out_0:
            return Judged(Verdict.NOT_REPRODUCED, said)
        return Judged(Verdict.SAME_DIRECTION, f"{said}: no change shown in either")
    if not ours.leaves_out_0:
        return Judged(Verdict.NOT_REPRODUCED, f"{said}: no change shown")
    if (ours.value > 0) != (published.value > 0):
        return Judged(Verdict.NOT_REPRODUCED, f"{said}: the other way")
    if scaled_down and not ours.is_exact and ours.holds(published.value, published.half_unit):
        return Judged(Verdict.REPRODUCED, f"{said}: the published change lies in our interval")
    return Judged(Verdict.SAME_DIRECTION, said)
