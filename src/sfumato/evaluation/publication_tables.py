"""Tables of scores and comparisons for publications, in Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sfumato.evaluation.cross_label import CrossLabel
from sfumato.evaluation.gain_decomposition import ModeShift
from sfumato.evaluation.metric import Better, Metric
from sfumato.tables.errors import one_line, wrong_ending
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.csv import guard_formula
from sfumato.tables.printed_text import is_symmetric
from sfumato.tables.scores import Differences, RunScore, RunScores

PLACES = 3
ENDINGS = (".md", ".tex", ".csv")
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
        "↓": r"$\downarrow$", "↑": r"$\uparrow$", "−": "--", "∞": r"$\infty$",
    }
)  # fmt: skip


@dataclass(frozen=True)
class TableCell:
    """A number with its interval (NaN: none), or a text."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    is_best: bool = False
    mark: str = ""
    """Printed after the number: `*` for a significant difference."""
    text: str | None = None
    signed: bool = False


@dataclass(frozen=True)
class PaperTable:
    """Rows of cells with a header; `note` explains them."""

    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    note: str = ""
    places: int = PLACES

    def markdown(self) -> str:
        lines = [[_in_markdown(name) for name in self.head], ["---"] * len(self.head)]
        lines += [[self._cell(cell, _in_markdown, "**{}**") for cell in row] for row in self.rows]
        note = f"\n\n{_in_markdown(self.note)}" if self.note else ""
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + note + "\n"

    def latex(self) -> str:
        """A `tabular` with the rules of booktabs."""
        texts = all(row[0].text is not None for row in self.rows)
        n_texts = next((k for k, cell in enumerate(self.rows[0]) if cell.text is None), 1) if self.rows and texts else 1
        body = [" & ".join(self._cell(cell, _in_latex, r"\textbf{{{}}}") for cell in row) for row in self.rows]
        lines = [
            rf"\begin{{tabular}}{{{'l' * n_texts}{'r' * (len(self.head) - n_texts)}}}",
            r"\toprule",
            " & ".join(map(_in_latex, self.head)) + r" \\",
            r"\midrule",
            *(line + r" \\" for line in body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        note = [f"% {one_line(self.note)}"] if self.note else []
        return "\n".join([*note, *lines]) + "\n"

    def csv(self) -> str:
        """Numbers are not rounded; both ends of intervals are in columns of their own."""
        has_ends = [any(not np.isnan(row[k].low) for row in self.rows) for k in range(len(self.head))]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            [
                each
                for name, ends in zip(map(guard_formula, self.head), has_ends, strict=True)
                for each in (name, *([f"{name} low", f"{name} high"] if ends else []))
            ]
        )
        for row in self.rows:
            line: list[object] = []
            for cell, ends in zip(row, has_ends, strict=True):
                line.append(guard_formula(cell.text) if cell.text is not None else _number(cell.value))
                line += [_number(cell.low), _number(cell.high)] if ends else []
            writer.writerow(line)
        return out.getvalue()

    def write(self, path: str | Path) -> None:
        """Write in the format of the file name: `.md`, `.tex` or `.csv`."""
        path = Path(path)
        ways: Mapping[str, Callable[[], str]] = {".md": self.markdown, ".tex": self.latex, ".csv": self.csv}
        text = ways[check_ending(path)]()
        with atomic_write(path) as part:
            part.write_text(text, "utf-8")

    def _cell(self, cell: TableCell, escaped: Callable[[str], str], bold: str) -> str:
        if cell.text is not None:
            return escaped(cell.text)
        sign = "+" if cell.signed else ""
        if np.isnan(cell.value):
            return escaped("–")
        figure = f"{cell.value:{sign}.{self.places}f}" if np.isfinite(cell.value) else escaped("∞")
        if not np.isnan(cell.low):
            figure += self._interval(cell, "±" if escaped is _in_markdown else r"$\pm$")
        if cell.is_best:
            figure = bold.format(figure)
        return figure + escaped(cell.mark)

    def _interval(self, cell: TableCell, plus_minus: str) -> str:
        """± half the width, or both ends if they are not equally far from the value."""
        half = f"{max(cell.high - cell.value, cell.value - cell.low):.{self.places}f}"
        if is_symmetric(cell.value, cell.low, cell.high):
            return f" {plus_minus} {half}"
        sign = "+" if cell.signed else ""
        return f" ({cell.low:{sign}.{self.places}f} to {cell.high:{sign}.{self.places}f})"


def check_ending(path: Path) -> str:
    """The ending of `path`; an error if the format is not supported."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise wrong_ending(path, ENDINGS, "choose another ending")
    return ending


def table_of_scores(
    scores: RunScores, metrics: Sequence[Metric], differences: Differences | None = None, *, places: int = PLACES
) -> PaperTable:
    """Targets in rows, metrics in columns: the mean over seeds and its interval, the best of each network in bold.

    With `differences`, a star marks significant differences from the baseline.
    """
    cells = _Cells(scores.scores, metrics, differences)
    keys = list(dict.fromkeys((score.network, score.condition, score.target) for score in scores.scores))
    has_network, has_condition = len({key[0] for key in keys}) > 1, len({key[1] for key in keys}) > 1
    names = list(dict.fromkeys(score.metric for score in scores.scores))
    head = ["target", *["network"] * has_network, *["condition"] * has_condition]
    rows = [
        (
            *(TableCell(text=text) for text in (target, *[network] * has_network, *[condition] * has_condition)),
            *(cells.cell(target, network, name, condition) for name in names),
        )
        for network, condition, target in keys
    ]
    star = f"; * differs from {differences.differences[0].baseline}" if differences and len(differences) else ""
    note = f"{_averaged(scores.scores)} and {_covered(scores.scores)}{star}; best in bold"
    return PaperTable((*head, *(cells.headed(name) for name in names)), tuple(rows), note, places)


def table_of_mode_shift(shift: ModeShift, *, places: int = PLACES) -> PaperTable:
    """One row per metric and kind of label: the two parts of the gain and the whole, with their intervals."""
    head = ("network", "metric", "against", "condition", "other classes", "doubt", "both", "share of doubt")
    rows = []
    for i in range(0, len(shift), 3):
        labels, doubt, both = shift.shifts[i : i + 3]
        rows.append(
            (
                *(TableCell(text=text) for text in (both.network, both.metric, both.against, both.condition)),
                *(TableCell(each.difference, each.low, each.high, signed=True) for each in (labels, doubt, both)),
                TableCell(doubt.share),
            )
        )
    first = shift.shifts[-1] if len(shift) else None
    note = (
        f"{first.target} − {first.baseline} = other classes (majority − {first.baseline}) + doubt ({first.target} − "
        f"majority); {_covered(shift.shifts)}"
        if first
        else ""
    )
    return PaperTable(head, tuple(rows), note, places)


def table_of_cross_label(cross: CrossLabel, metrics: Sequence[Metric], *, places: int = PLACES) -> PaperTable:
    """Targets in rows, kinds of label in columns, one block per metric; best in bold."""
    better = {metric.name: metric.better for metric in metrics}
    kinds = list(dict.fromkeys(score.against for score in cross.scores))
    blocks = list(dict.fromkeys((score.metric, score.network, score.condition) for score in cross.scores))
    has_condition = len({condition for _, _, condition in blocks}) > 1
    rows = []
    for metric, network, condition in blocks:
        own = [s for s in cross.scores if (s.metric, s.network, s.condition) == (metric, network, condition)]
        best = {kind: _best([s.value for s in own if s.against == kind], better[metric]) for kind in kinds}
        for target in dict.fromkeys(score.target for score in own):
            of_target = {score.against: score for score in own if score.target == target}
            rows.append(
                (
                    *(TableCell(text=text) for text in (_arrowed(metric, better[metric]), network)),
                    *(TableCell(text=text) for text in [condition] * has_condition),
                    TableCell(text=target),
                    *(_cell_of(of_target.get(kind), best[kind]) for kind in kinds),
                )
            )
    values = f"{_averaged(cross.scores)} and {_covered(cross.scores)}"
    note = f"trained on (down), scored against (across); {values}; best in bold"
    head = ("metric", "network", *["condition"] * has_condition, "trained on")
    return PaperTable((*head, *kinds), tuple(rows), note, places)


@dataclass(frozen=True)
class _Cells:
    """Scores by cell, and which is the best."""

    scores: tuple[RunScore, ...]
    metrics: Sequence[Metric]
    differences: Differences | None

    @cached_property
    def _together(self) -> dict[tuple[str, str, str], list[RunScore]]:
        """The scores of all targets per network, metric and condition."""
        found: dict[tuple[str, str, str], list[RunScore]] = {}
        for score in self.scores:
            found.setdefault((score.network, score.metric, score.condition), []).append(score)
        return found

    @cached_property
    def _shown(self) -> set[tuple[str, str, str, str]]:
        """The cells with a significant difference."""
        differences = self.differences.differences if self.differences else ()
        return {(each.target, each.network, each.metric, each.condition) for each in differences if each.verdict}

    def better(self, name: str) -> Better:
        return next((metric.better for metric in self.metrics if metric.name == name), Better.NEITHER)

    def headed(self, name: str) -> str:
        return _arrowed(name, self.better(name))

    def cell(self, target: str, network: str, metric: str, condition: str) -> TableCell:
        own = self._together.get((network, metric, condition), [])
        score = next((each for each in own if each.target == target), None)
        shown = (target, network, metric, condition) in self._shown
        return _cell_of(score, _best([each.value for each in own], self.better(metric)), "*" if shown else "")


def _cell_of(score: RunScore | None, best: float, mark: str = "") -> TableCell:
    if score is None:
        return TableCell()
    return TableCell(score.value, score.low, score.high, is_best=bool(score.value == best), mark=mark)


def _best(values: Sequence[float], better: Better) -> float:
    """The best of the values; NaN with fewer than two, or if neither direction is better."""
    found = [value for value in values if not np.isnan(value)]
    if len(found) < 2 or better is Better.NEITHER:
        return float("nan")
    return max(found) if better is Better.HIGH else min(found)


def _arrowed(name: str, better: Better) -> str:
    return name + {Better.LOW: " ↓", Better.HIGH: " ↑"}.get(better, "")


def _averaged(scores: Sequence[RunScore]) -> str:
    return "mean over seeds" if any(score.n_seeds > 1 for score in scores) else "value"


def _covered(rows: Sequence[object]) -> str:
    """The method of the first interval."""
    kinds = [str(row.covers) for row in rows]  # type: ignore[attr-defined]
    kind = next((kind for kind in kinds if not kind.startswith("none")), None)
    return "no interval" if kind is None else f"interval (± or low to high): {kind}"


def _in_markdown(text: str) -> str:
    return one_line(text).replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _in_latex(text: str) -> str:
    return one_line(text).translate(LATEX)


def _number(value: float) -> str:
    return "" if np.isnan(value) else repr(float(value))
