"""The tables as printed: whole, and in accord with each other where they can be."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sfumato_papers.finding import Published
from sfumato_papers.soft_digits.published_tables import (
    MNIST,
    MUKHOTI,
    N_SEEDS,
    ON_ORIGINAL,
    ON_PEOPLE,
    TABLE_2,
    TABLE_3,
    TABLE_9,
    TABLE_10,
    PrintedTable,
    p_of,
)
from sfumato_papers.soft_digits.sentences import N_TESTED, section_3_3
from sfumato_papers.soft_digits.sets import HLV, NO_HLV
from sfumato_papers.soft_digits.training import NETWORKS, TARGETS
from sfumato_papers.verdict import Verdict


@pytest.mark.parametrize(("table", "n"), [(TABLE_2, 84), (TABLE_3, 48), (TABLE_9, 48), (TABLE_10, 84)])
def test_no_cell_is_missing(table, n):
    assert len(table.cells) == n
    assert len({(cell.row, cell.column) for cell in table.cells}) == n
    assert all(0 <= cell.spread.value < cell.mean.value for cell in table.cells)


def test_cells_stand_where_the_paper_has_them():
    """The first and last of each block, read off the paper."""
    assert TABLE_2.at(MNIST, ON_ORIGINAL, "original", "SimpleFFN HLV").mean.text == "56.61"
    assert TABLE_2.at(MUKHOTI, ON_PEOPLE, "weighted", "LeNet HLV").spread.text == "2.38"
    assert TABLE_3.at(MNIST, ON_PEOPLE, "original", "LeNet HLV").mean.text == "2.214"
    assert TABLE_9.at(MUKHOTI, ON_ORIGINAL, "original", "LeNet").mean.text == "87.67"
    assert TABLE_9.at(MUKHOTI, ON_PEOPLE, "original", "LeNet").mean.text == "60.46"
    assert TABLE_10.at(MNIST, ON_PEOPLE, "majority", "LeNet NoHLV").mean.text == "0.093"


def off_whole(table: PrintedTable) -> float:
    """How far, at most, a printed accuracy is from one that so many right answers of six seeds give."""
    worst = 0.0
    for cell in table.cells:
        n = N_SEEDS * N_TESTED[cell.set][0 if cell.column.endswith(NO_HLV) else 1]
        right = round(cell.mean.value / 100 * n)
        worst = max(worst, abs(100 * right / n - cell.mean.value))
    return worst


def test_accuracies_by_stratum_are_whole_numbers_of_right_answers():
    """So the sizes of the strata are right, and no digit of Table 2 was misread: the step is 0.04 to 0.2 points."""
    assert off_whole(TABLE_2) <= 0.0101
    cells = list(TABLE_2.cells)
    cells[40] = replace(cells[40], mean=Published(f"{cells[40].mean.value + 0.03:.2f}"))
    assert off_whole(PrintedTable(tuple(cells))) > 0.015


def test_no_share_of_strata_makes_table_9_of_table_2():
    """Each cell of Table 9 says which share of items is HLV, were it the mix of Table 2: no two agree."""
    for name in (MNIST, MUKHOTI):
        shares = []
        for target, network in product(TARGETS, NETWORKS):
            agreed, disagreed = (TABLE_2.mean(name, ON_PEOPLE, target, f"{network} {s}") for s in (NO_HLV, HLV))
            shares.append((agreed - TABLE_9.mean(name, ON_PEOPLE, target, network)) / (agreed - disagreed))
        assert max(shares) - min(shares) > 0.05, "rounding moves a share by less than 0.001"


def test_p_is_welchs():
    """Two samples made to have the printed means and spreads."""
    one, other = (TABLE_2.at(MNIST, ON_PEOPLE, t, "DeeperFFN HLV") for t in ("equal", "majority"))
    z = np.array([-1.5, -0.7, -0.2, 0.3, 0.8, 1.3])
    z = (z - z.mean()) / z.std(ddof=1)
    a, b = (cell.mean.value + cell.spread.value * z for cell in (one, other))
    assert p_of(one, other) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_sentences_are_judged_by_the_printed_tables(monkeypatch):
    """By hand: 1.31, 0.74 and 4.43 points from synthetic to majority; and another table, another verdict."""
    part = section_3_3(None)
    verdicts = {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}
    assert verdicts["Mukhoti, HLV: majority for synthetic, least"] is Verdict.REPRODUCED
    assert verdicts["Mukhoti, HLV: majority for synthetic, most"] is Verdict.REPRODUCED
    assert verdicts["MNIST, HLV: soft for majority, most"] is Verdict.NOT_REPRODUCED
    assert verdicts["Mukhoti, HLV: synthetic ahead on original labels"] is Verdict.NOT_REPRODUCED
    changed = tuple(
        replace(cell, mean=Published("64.00"))
        if (cell.set, cell.scored_on, cell.target, cell.column) == (MNIST, ON_PEOPLE, "equal", "DeeperFFN HLV")
        else cell
        for cell in TABLE_2.cells
    )
    monkeypatch.setattr("sfumato_papers.soft_digits.sentences.TABLE_2", PrintedTable(changed))
    part = section_3_3(None)
    again = {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}
    assert again["MNIST, HLV: soft for majority, most"] is Verdict.REPRODUCED, "64.00 - 59.97 = 4.03"
