"""Text of results on a terminal, the same for commands and for `print`: names, numbers, and differences of models."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.tables.errors import one_line

if TYPE_CHECKING:
    from sfumato.tables.scores import Difference

WIDTH = 100
NAME_WIDTH = 19


def printable(text: str, limit: int = 60) -> str:
    """An id for the terminal: control characters escaped, long ones shortened."""
    safe = one_line(text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def wrapped(text: str, indent: str = "", hanging: int | None = None) -> list[str]:
    """A sentence as lines: `indent` before it, later lines `hanging` characters further right than the margin."""
    rest = " " * (len(indent) if hanging is None else hanging)
    return textwrap.wrap(one_line(text), WIDTH, initial_indent=indent, subsequent_indent=rest, break_on_hyphens=False)


def number_cell(value: float, sign: str = "") -> str:
    """A value in a column; a dash if it is not known."""
    if value != value:
        return f"{'-':>7}"
    return f"{value:>{sign}7.4f}" if abs(value) < 100 else f"{value:>{sign}7.1f}"


def half_cell(half: float) -> str:
    """Half of an interval or a standard error in a column."""
    return f"{'-':>6}" if half != half else f"{half:>6.4f}" if half < 10 else f"{half:>6.1f}"


DIFFERENCE_HEAD = f"{'difference':>10}  {'±':>6}  {'p':>6}  result"


def difference_cells(less: Difference) -> str:
    """The difference, half of its interval, the corrected p, and the result, below `DIFFERENCE_HEAD`."""
    half = max(less.high - less.difference, less.difference - less.low)
    p = "-" if less.p_corrected != less.p_corrected else f"{less.p_corrected:.3f}"
    p = "<0.001" if less.p_corrected < 0.001 else p
    return f"{number_cell(less.difference, '+'):>10}  {half_cell(half)}  {p:>6}  {_result(less)}"


def _result(less: Difference) -> str:
    """The verdict; without one, the smallest difference that would have been found."""
    if less.verdict:
        return less.verdict
    return f"no evidence ({less.detectable:.2g})" if less.is_tested else "not tested"


def block_head(metric: str, network: str, condition: str, n_items: Sequence[int], better: str = "") -> str:
    """The heading of a block: `brier, resnet18: lower is better; 40 items`."""
    named = ", ".join(printable(part, 40) for part in (metric, network, condition) if part and part != "all")
    fewest, most = min(n_items), f"{max(n_items):,} item{'s' * (max(n_items) != 1)}"
    return f"{named}: {better}{'; ' if better else ''}{most if fewest == max(n_items) else f'{fewest:,} to {most}'}"


def difference_lines(differences: Sequence[Difference]) -> list[str]:
    """One block per metric, condition and network, and what the differences are."""
    if not differences:
        return ["nothing to compare: there is one model"]
    names = {printable(name) for each in differences for name in (each.target, each.baseline)}
    width = min(NAME_WIDTH, max(len("target"), *map(len, names)))
    column = "target" if any(each.network or each.n_seeds > 1 for each in differences) else "model"
    lines: list[str] = []
    for metric, condition, network in dict.fromkeys(
        (each.metric, each.condition, each.network) for each in differences
    ):
        own = [
            each for each in differences if (each.metric, each.condition, each.network) == (metric, condition, network)
        ]
        lines += [block_head(metric, network, condition, [each.n_items for each in own])]
        lines += [f"{column:{width}}  {'value':>7}  {DIFFERENCE_HEAD}"]
        first = own[0]
        lines += [f"{printable(first.baseline, width):{width}}  {number_cell(first.baseline_value)}"]
        for each in own:
            start = f"{printable(each.target, width):{width}}  {number_cell(each.value)}"
            lines.append(f"{start}  {difference_cells(each)}".rstrip())
        lines.append("")
    return [*lines, *difference_notes(differences)]


def difference_notes(compared: Sequence[Difference]) -> list[str]:
    """What the differences are, how they were tested, and why some were not."""
    baseline = printable(compared[0].baseline)
    lines = wrapped(f"difference: from {baseline}, on the same items; {tested_text(compared)}", hanging=2)
    if any(each.is_tested and not each.verdict for each in compared):
        lines += wrapped(
            "no evidence: there is no evidence of a difference; in brackets the smallest difference that would have "
            "been found with a probability of 80%",
            hanging=2,
        )
    reasons = dict.fromkeys(each.covers.removeprefix("none: ") for each in compared if not each.is_tested)
    for reason in reasons:
        of = dict.fromkeys(each.metric for each in compared if each.covers.removeprefix("none: ") == reason)
        lines += wrapped(f"not tested ({', '.join(of)}): {reason}", hanging=2)
    return lines


def tested_text(differences: Sequence[Difference]) -> str:
    """How differences were tested and corrected; the number of comparisons may differ between metrics."""
    tested = [each for each in differences if each.is_tested]
    if not tested:
        return "not tested"
    covered = " or ".join(dict.fromkeys(each.covers.partition(":")[0] for each in tested))
    if tested[0].correction == "none":
        return f"interval and p for {covered}, not corrected"
    how, _, _ = tested[0].correction.partition(" over ")
    numbers = sorted({int(each.correction.rpartition(" ")[2]) for each in tested})
    n = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return f"interval and p for {covered}, {how} over {n} comparison{'s' * (numbers[-1] > 1)}"
