"""Paper tables: what stands in them, escaped as each form needs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trained

from sfumato.evaluation import compare_runs, cross_label, kinds_of_labels, measure_against, measure_runs, mode_shift
from sfumato.evaluation import scores_over_seeds as over_seeds
from sfumato.evaluation.metrics import Brier, CrossEntropy
from sfumato.evaluation.publication_tables import (
    PaperTable,
    TableCell,
    table_of_cross_label,
    table_of_mode_shift,
    table_of_scores,
)
from sfumato.tables.errors import BadFile

METRICS = [Brier(), CrossEntropy()]
SMALL = PaperTable(
    ("target", "brier ↓"),
    (
        (TableCell(text="a_b|c & 50% #1"), TableCell(0.12345, 0.11335, 0.13355, is_best=True, mark="*")),
        (TableCell(text="=1+1"), TableCell(np.inf)),
        (TableCell(text="skewed"), TableCell(0.05, 0.01, 0.13)),
        (TableCell(text="none"), TableCell()),
    ),
    "note_",
)


def test_markdown() -> None:
    assert SMALL.markdown().splitlines() == [
        "| target | brier ↓ |",
        "| --- | --- |",
        r"| a\_b\|c & 50% #1 | **0.123 ± 0.010**\* |",
        "| =1+1 | ∞ |",
        "| skewed | 0.050 (0.010 to 0.130) |",
        "| none | – |",
        "",
        r"note\_",
    ]


def test_latex() -> None:
    assert SMALL.latex().splitlines() == [
        "% note_",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"target & brier $\downarrow$ \\",
        r"\midrule",
        r"a\_b|c \& 50\% \#1 & \textbf{0.123 $\pm$ 0.010}* \\",
        r"=1+1 & $\infty$ \\",
        r"skewed & 0.050 (0.010 to 0.130) \\",
        r"none & – \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_csv_keeps_every_digit() -> None:
    assert SMALL.csv().splitlines() == [
        "target,brier ↓,brier ↓ low,brier ↓ high",
        "a_b|c & 50% #1,0.12345,0.11335,0.13355",
        "'=1+1,inf,,",
        "skewed,0.05,0.01,0.13",
        "none,,,",
    ]


def test_files_by_their_ending(tmp_path: Path) -> None:
    for ending in ("md", "tex", "csv"):
        SMALL.write(tmp_path / f"t.{ending}")
    assert (tmp_path / "t.tex").read_text() == SMALL.latex()
    with pytest.raises(BadFile, match=r"\.md, \.tex, \.csv"):
        SMALL.write(tmp_path / "t.docx")


def test_scores_with_the_best_in_bold() -> None:
    measured = measure_runs(trained.grid(), people=trained.people(), metrics=METRICS)
    scores, differences = over_seeds(measured), compare_runs(measured, baseline="hard")
    table = table_of_scores(scores, METRICS, differences)
    assert table.head == ("target", "brier ↓", "cross_entropy ↓")
    assert [row[0].text for row in table.rows] == ["hard", "soft"]
    assert [(cell.is_best, cell.mark) for row in table.rows for cell in row[1:]] == [
        (False, ""), (False, ""), (True, "*"), (True, "*")
    ]  # fmt: skip
    first = scores.scores[0]
    assert (table.rows[0][1].low, table.rows[0][1].high) == (first.low, first.high)
    assert "another training and other items: 95% t interval; * differs from hard" in table.note
    alone = table_of_scores(over_seeds(measure_runs(trained.grid(["soft"], [0]), people=trained.people())), METRICS)
    assert not any(cell.is_best for cell in alone.rows[0])
    how = "interval (± or low to high): 95% bootstrap of t over items, 1,000 resamples"
    assert alone.note == f"value and {how}; best in bold"
    # A bootstrap of t is not symmetric: both ends are printed.
    one = next(score for score in over_seeds(measure_runs(trained.grid(["soft"], [0]), people=trained.people())).scores
               if score.metric == "brier")  # fmt: skip
    assert f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" in alone.markdown()


def test_mode_shift_and_cross_label() -> None:
    kinds = kinds_of_labels(trained.people(), trained.original())
    measured = measure_against(trained.grid(("hard", "majority", "soft")), kinds, metrics=METRICS)
    shift = table_of_mode_shift(mode_shift({name: measured[name] for name in ("original", "people")}))
    assert [row[2].text for row in shift.rows] == ["original", "original", "people", "people"]
    assert all(row[4].value + row[5].value == pytest.approx(row[6].value) for row in shift.rows)
    cross = table_of_cross_label(cross_label(measured), METRICS)
    assert cross.head == ("metric", "network", "trained on", "original", "majority", "people", "class-level")
    assert len(cross.rows) == 2 * 3
    people = [row[5] for row in cross.rows[:3]]
    assert [cell.is_best for cell in people] == [False, False, True]
    assert "lllrrrr" in cross.latex()
