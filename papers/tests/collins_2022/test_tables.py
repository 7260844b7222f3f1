"""The tables as printed agree with each other and with what the paper says of them; verdicts follow the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato_papers.collins_2022.efficiency import figure_6, figure_10, pools
from sfumato_papers.collins_2022.protocol import BELIEFS, BLOCKS, METRICS, VOTES, figures
from sfumato_papers.collins_2022.tables import (
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    is_shown,
    shown,
    table_1,
    table_2,
    table_3,
    table_4,
    table_5,
    table_6,
)
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.published_data import PublishedData
from sfumato_papers.published_table import PublishedTable
from sfumato_papers.verdict import Verdict

PRINTED = {
    "hard": (TABLE_1, "Hard Labels"),
    "random": (TABLE_1, "Random Labels"),
    "uniform": (TABLE_1, "Uniform Labels"),
    "10h aggregated": (TABLE_1, "CIFAR-10H"),
    "10s aggregated": (TABLE_1, "Ours (T2, Clamp)"),
    "10s shuffled": (TABLE_1, "Ours (T2, Clamp)"),
    "10s entropy-matched": (TABLE_1, "Ours (T2, Clamp)"),
    "10h": (TABLE_2, "CIFAR-10H"),
    "10s": (TABLE_2, "Ours (T2, Clamp)"),
    "10h m=1": (TABLE_3, "10H, M=1"),
    "10h m=2": (TABLE_3, "10H, M=2"),
    "10s m=1": (TABLE_3, "Ours, M=1"),
    "10s m=2": (TABLE_3, "Ours, M=2"),
    "10s t1 unif": (TABLE_4, "T1, Unif"),
    "10s t1 clamp": (TABLE_4, "T1, Clamp"),
    "10s t2 unif": (TABLE_4, "T2, Unif"),
    "10s select": (TABLE_5, "Select Top 2 Only"),
    "smoothing": (TABLE_6, "Label Smoothing"),
    "smoothing 900": (TABLE_6, "Label Smoothing"),
    "10h m=16": (TABLE_2, "CIFAR-10H"),
}
"""What each training at small scale represents."""
TABLES = (table_1, table_2, table_3, table_4, table_5, table_6)


def rerun_with(tmp_path: Path, value: Callable[[float], float], scale: Scale = Scale.SMALL) -> Rerun:
    """A rerun whose trainings came out as `value` of what is printed, a little different from seed to seed."""
    rerun = Rerun(PublishedData(tmp_path), scale, tmp_path)
    noise = np.random.default_rng(0).normal(0, 1e-4, (6, 3))
    rerun.known[figures,] = {
        (name, block, metric): {
            seed: value(printed.cells[f"{block}: {row}", metric].value) + noise[k, seed] * (1 + place / 10)
            for seed in range(3)
        }
        for place, (name, (printed, row)) in enumerate(PRINTED.items())
        for k, (block, metric) in enumerate((block, metric) for block in BLOCKS for metric in METRICS)
    }
    return rerun


def tally(part: Part, of: Callable[[str], bool] = lambda row: True) -> set[Verdict]:
    return {judged.verdict for each, judged in zip(part.findings, part.judged, strict=True) if of(each.row)}


@pytest.mark.parametrize(
    ("one", "row", "other", "other_row"),
    [
        (TABLE_2, "CIFAR-10H", TABLE_6, "CIFAR-10H"),
        (TABLE_2, "Ours (T2, Clamp)", TABLE_4, "T2, Clamp"),
        (TABLE_2, "Ours (T2, Clamp)", TABLE_5, "Top 2 With Prob (Clamp)"),
        (TABLE_2, "Ours (T2, Clamp)", TABLE_6, "Ours (T2, Clamp)"),
        (TABLE_4, "T2, Unif", TABLE_5, "Top 2 With Prob (Unif)"),
    ],
)
def test_rows_that_two_tables_share(one: PublishedTable, row: str, other: PublishedTable, other_row: str) -> None:
    for block in BLOCKS:
        for metric in METRICS:
            for part in ("cells", "spreads"):
                mine, theirs = getattr(one, part), getattr(other, part)
                assert mine[f"{block}: {row}", metric].text == theirs[f"{block}: {other_row}", metric].text


def test_every_cell_is_there() -> None:
    assert [len(each.cells) for each in (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6)] == [
        30,
        12,
        24,
        24,
        18,
        18,
    ]


def test_what_the_paper_says_of_its_tables() -> None:
    """Ours win every cell of Table 2 but one, and every cell of Table 3 but calibration on 10S with M = 2."""

    def lost(printed: PublishedTable, ours: str, theirs: str) -> list[tuple[str, str]]:
        table = printed.cells
        cells = [(block, metric) for block in BLOCKS for metric in METRICS]
        return [
            (b, m) for b, m in cells if table[f"{b}: {ours}", m].value >= table[f"{b}: {theirs}", m].value
        ]  # fmt: skip

    assert lost(TABLE_2, "Ours (T2, Clamp)", "CIFAR-10H") == [("10S", "FGSM Loss")]
    assert lost(TABLE_3, "Ours, M=1", "10H, M=1") == []
    assert lost(TABLE_3, "Ours, M=2", "10H, M=2") == [("10S", "Calibration")]
    assert lost(TABLE_1, "Ours (T2, Clamp)", "Hard Labels") == []
    assert lost(TABLE_6, "Label Smoothing", "CIFAR-10H") == [("10H", "CE"), ("10S", "CE"), ("10S", "FGSM Loss")]


def changes(part: Part) -> set[Verdict]:
    """The verdicts on cells whose change is more than nothing, as printed."""
    return {
        judged.verdict
        for each, judged in zip(part.findings, part.judged, strict=True)
        if getattr(each, "change", None) is not None and abs(each.change.published.value) > 0
    }


def test_what_the_printed_intervals_show() -> None:
    """By hand: 10H CE of Table 2 moves by 0.012 with ±0.08 and ±0.06; of M = 1 in Table 3 by 0.59 with ±0.11 and
    ±0.08."""
    assert not is_shown(TABLE_2, "10H: Ours (T2, Clamp)", "10H: CIFAR-10H", "CE")
    assert is_shown(TABLE_3, "10H: Ours, M=1", "10H: 10H, M=1", "CE")
    assert shown(TABLE_2, "CIFAR-10H").endswith(" show 0 of the 6 changes from CIFAR-10H.")
    two = PublishedTable.of("""
             CE
    10H: a   1.0±0.3
    10H: b   1.6±0.4
    10S: a   1.0±0.3
    10S: b   1.4±0.4
    """)
    assert shown(two, "a").endswith(" show 1 of the 2 changes from a.")


def test_figures_as_printed_are_reproduced(tmp_path: Path) -> None:
    rerun = rerun_with(tmp_path, lambda value: value)
    for table in TABLES:
        part = table(rerun)
        assert part.scaled_down
        assert changes(part) == {Verdict.REPRODUCED}, table.__name__


def test_figures_the_other_way_round_are_not(tmp_path: Path) -> None:
    rerun = rerun_with(tmp_path, lambda value: -value)
    for table in TABLES:
        assert changes(table(rerun)) == {Verdict.NOT_REPRODUCED}, table.__name__


def test_statements_follow_the_figures(tmp_path: Path) -> None:
    row = "10H: ours beat CIFAR-10H from one annotator"
    for sign, expected in ((1, Verdict.SAME_DIRECTION), (-1, Verdict.NOT_REPRODUCED)):
        rerun = rerun_with(tmp_path, lambda value, sign=sign: sign * value)
        assert tally(table_3(rerun), lambda each: each == row) == {expected}
        assert tally(figure_6(rerun), lambda each: each == "10H: ours beat CIFAR-10H at M = 1") == {expected}


def test_by_time_votes_are_as_good(tmp_path: Path) -> None:
    """One soft label takes 32 s, sixteen votes 28.8 s; as printed all votes are better than one soft label."""
    part = figure_10(rerun_with(tmp_path, lambda value: value))
    first = part.findings[0]
    assert first.row == "1 soft label against 16 votes"
    assert "32 s against 28.8 s: 0 of 6 figures shown better, 6 worse" in first.ours
    assert part.judged[0].verdict == Verdict.SAME_DIRECTION
    swapped = figure_10(rerun_with(tmp_path, lambda value: -value))
    assert swapped.judged[0].verdict == Verdict.NOT_REPRODUCED


def test_charts_have_every_pool(tmp_path: Path) -> None:
    rerun = rerun_with(tmp_path, lambda value: value)
    (chart,) = figure_6(rerun).charts
    assert chart.name == "figure-6"
    assert len(chart.columns["mean"]) == 6 * (len(pools(Scale.SMALL)) + 6)
    assert list(chart.columns["labels"][:4]) == ["Ours (T2, Clamp)"] * 3 + ["CIFAR-10H"]
    assert chart.columns["mean"][-1] == 8.334
    assert (chart.columns["low"][0] is None, chart.columns["low"][-1]) == (False, None)
    (by_time,) = figure_10(rerun).charts
    assert by_time.columns["seconds"][:7] == pytest.approx([32, 64, 192, 1.8, 3.6, 28.8, 51 * 1.8])


def test_pools_at_full_scale_are_those_of_the_figure() -> None:
    assert [m for name, m, _ in pools(Scale.FULL) if name == "CIFAR-10H"] == [1, 2, 4, 8, 16, 32, 51]
    assert [m for name, m, _ in pools(Scale.FULL) if name != "CIFAR-10H"] == [1, 2, 3, 4, 5, 6]
    for scale in Scale:
        assert {1, 2} <= {*VOTES[scale]} & {*BELIEFS[scale]}
