"""Text of results, the same for commands, for `print` and in notebooks: names, numbers, scores, differences of models.

A result is a `PrintedResult`: its `lines` are what commands print.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from sfumato.tables.errors import one_line

if TYPE_CHECKING:
    from sfumato.tables.scores import Difference, RunScore, Score

WIDTH = 100
NAME_WIDTH = 19
BAR = 24


class PrintedResult:
    """A result that `print` and notebooks show as text; without lines, as its `repr`."""

    def lines(self) -> list[str]:
        """The text, as commands print it."""
        return []

    def __str__(self) -> str:
        return "\n".join(self.lines()) or repr(self)

    def _repr_html_(self) -> str:
        return f'<pre class="sfumato">{escape(str(self))}</pre>'


def counted(n: int, noun: str) -> str:
    """`1 item`, `2 items`."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def bar(parts: Sequence[tuple[float, str]], width: int = BAR) -> str:
    """Shares as runs of characters: `[(0.5, "█"), (0.25, "░")]`; the rest is blank."""
    drawn = ""
    total = 0.0
    for share, mark in parts:
        total += share
        drawn += mark * max(round(total * width) - len(drawn), 0)
    return drawn.ljust(width)


def printable(text: str, limit: int = 60) -> str:
    """An id for the terminal: control characters escaped, long ones shortened."""
    safe = one_line(text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def name_width(names: Iterable[str], heading: str = "target", limit: int = NAME_WIDTH) -> int:
    """The width of a column of names: at most `limit`, but more where shortened names would lose their label set
    (`soft@equal`) or be the same as another."""
    shown = {printable(name) for name in names}
    widest = max(len(heading), *map(len, shown)) if shown else len(heading)
    if widest <= limit or any("@" in name for name in shown if len(name) > limit):
        return widest
    distinct = (width for width in range(limit, widest) if len({printable(n, width) for n in shown}) == len(shown))
    return next(distinct, widest)


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


SYMMETRIC = 0.01
"""An interval whose halves differ by at most this share is printed with ±."""


def is_symmetric(value: float, low: float, high: float) -> bool:
    """Whether an interval can be printed with ±; also if there is none."""
    below, above = value - low, high - value
    return below != below or abs(below - above) <= max(SYMMETRIC * above, 5e-5)


def interval_cell(low: float, high: float) -> str:
    """Both ends of an interval in a column; a dash if there is none."""
    return "-" if low != low else f"{number_cell(low)} to {number_cell(high)}"


def score_lines(rows: Sequence[Score], level: float | None = None) -> list[str]:
    """One block per condition, the methods of the intervals, and what the floors are."""
    if not rows:
        return ["no scores"]
    width = max(*(len(row.metric) for row in rows), *(min(len(row.condition), 30) for row in rows), len("all items"))
    head = "interval" if level is None else f"{100 * level:g}% interval"
    lines = []
    for condition in dict.fromkeys(row.condition for row in rows):
        name = "all items" if condition == "all" else printable(condition, width)
        lines.append(f"{name:{width}}  {'value':>8}  {head:>20}  {'floor':>8}  {'items':>9}")
        for row in rows:
            if row.condition == condition:
                between, counts = interval_cell(row.low, row.high), f"{number_cell(row.floor)}  {row.n_items:>9,}"
                lines.append(f"{row.metric:{width}}  {number_cell(row.value)}  {between:>20}  {counts}")
        lines.append("")
    kinds = dict.fromkeys(row.covers for row in rows)
    for kind in kinds:
        of = list(dict.fromkeys(row.metric for row in rows if row.covers == kind))
        whose = "of the others" if len(of) > len(rows) / 2 else f"of {', '.join(of)}"
        lines += wrapped(f"interval {whose}: {kind}" if len(kinds) > 1 else f"interval: {kind}", hanging=2)
    return [*lines, *floor_lines(rows)]


def floor_lines(rows: Sequence[Score] | Sequence[RunScore]) -> list[str]:
    """What the floors are, or why there are none, by metric and, if the reason differs, by condition."""
    notes: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.floor_note:
            notes.setdefault(row.floor_note, {})[row.metric] = None
    lines = []
    for note, metrics in notes.items():
        where = list(dict.fromkeys(row.condition for row in rows if row.floor_note == note))
        every = {row.condition for row in rows if row.metric in metrics}
        named = "" if len(where) == len(every) else f" ({', '.join(printable(each, 30) for each in where)})"
        lines += wrapped(f"floor of {', '.join(metrics)}{named}: {note}", hanging=2)
    return lines


def run_score_lines(rows: Sequence[RunScore]) -> list[str]:
    """One block per metric, condition and network: a row per target."""
    if not rows:
        return ["no scores"]
    width = name_width(row.target for row in rows)
    lines = []
    for metric, condition, network in dict.fromkeys((row.metric, row.condition, row.network) for row in rows):
        own = [row for row in rows if (row.metric, row.condition, row.network) == (metric, condition, network)]
        lines.append(block_head(metric, network, condition, [row.n_items for row in own]))
        lines.append(f"{'target':{width}}  {'value':>7}  {'interval':>18}  {'floor':>7}  {'seeds':>5}")
        for row in own:
            start = f"{printable(row.target, width):{width}}  {number_cell(row.value)}"
            between = interval_cell(row.low, row.high)
            lines.append(f"{start}  {between:>18}  {number_cell(row.floor)}  {row.n_seeds:>5}")
        lines.append("")
    covers = dict.fromkeys(row.covers for row in rows)
    for kind in covers:
        lines += wrapped(f"interval: {kind}", hanging=2)
    return [*lines, *floor_lines(rows)]


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
    width = name_width(name for each in differences for name in (each.target, each.baseline))
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
