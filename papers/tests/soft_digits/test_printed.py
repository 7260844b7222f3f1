"""The tables as printed: whole, and in accord with each other where they can be."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sfumato_papers.finding import Published
from sfumato_papers.published_table import PublishedTable, published_tables
from sfumato_papers.soft_digits.run_scores import row_of
from sfumato_papers.soft_digits.section_3_3 import N_SEEDS, N_TESTED, p_of, section_3_3
from sfumato_papers.soft_digits.sets import HLV, MNIST, MUKHOTI, NO_HLV, ON_ORIGINAL, ON_PEOPLE
from sfumato_papers.soft_digits.training import NETWORKS, TARGETS
from sfumato_papers.verdict import Verdict

TABLE_2, TABLE_3, TABLE_9, TABLE_10 = (published_tables("soft_digits")[f"Table {k}"] for k in (2, 3, 9, 10))


@pytest.mark.parametrize(("table", "n"), [(TABLE_2, 84), (TABLE_3, 48), (TABLE_9, 48), (TABLE_10, 84)])
def test_no_cell_is_missing(table, n):
    assert len(table.cells) == n
    assert table.cells.keys() == table.spreads.keys()
    assert all(0 <= table.spreads[key].value < figure.value for key, figure in table.cells.items())


def test_cells_stand_where_the_paper_has_them():
    """The first and last of each block, read off the paper."""
    assert str(TABLE_2.cells[row_of(MNIST, ON_ORIGINAL, "original"), "SimpleFFN HLV"]) == "56.61%"
    assert str(TABLE_2.spreads[row_of(MUKHOTI, ON_PEOPLE, "weighted"), "LeNet HLV"]) == "2.38%"
    assert str(TABLE_3.cells[row_of(MNIST, ON_PEOPLE, "original"), "LeNet HLV"]) == "2.214"
    assert str(TABLE_9.cells[row_of(MUKHOTI, ON_ORIGINAL, "original"), "LeNet"]) == "87.67%"
    assert str(TABLE_9.cells[row_of(MUKHOTI, ON_PEOPLE, "original"), "LeNet"]) == "60.46%"
    assert str(TABLE_10.cells[row_of(MNIST, ON_PEOPLE, "majority"), "LeNet NoHLV"]) == "0.093"


def off_whole(table: PublishedTable) -> float:
    """How far, at most, a printed accuracy is from one that so many right answers of six seeds give."""
    worst = 0.0
    for (row, column), figure in table.cells.items():
        n = N_SEEDS * N_TESTED[row.split()[0]][0 if column.endswith(NO_HLV) else 1]
        right = round(figure.value / 100 * n)
        worst = max(worst, abs(100 * right / n - figure.value))
    return worst


def changed(table: PublishedTable, key: tuple[str, str], text: str) -> PublishedTable:
    assert key in table.cells
    return replace(table, cells={**table.cells, key: Published(text)})


def test_accuracies_by_stratum_are_whole_numbers_of_right_answers():
    """So the sizes of the strata are right, and no digit of Table 2 was misread: the step is 0.04 to 0.2 points."""
    assert off_whole(TABLE_2) <= 0.0101
    key = list(TABLE_2.cells)[40]
    assert off_whole(changed(TABLE_2, key, f"{TABLE_2.cells[key].value + 0.03:.2f}")) > 0.015


def test_no_share_of_strata_makes_table_9_of_table_2():
    """Each cell of Table 9 says which share of items is HLV, were it the mix of Table 2: no two agree."""
    for name in (MNIST, MUKHOTI):
        shares = []
        for target, network in product(TARGETS, NETWORKS):
            row = row_of(name, ON_PEOPLE, target)
            agreed, disagreed = (TABLE_2.cells[row, f"{network} {s}"].value for s in (NO_HLV, HLV))
            shares.append((agreed - TABLE_9.cells[row, network].value) / (agreed - disagreed))
        assert max(shares) - min(shares) > 0.05, "rounding moves a share by less than 0.001"


def test_p_is_welchs():
    """Two samples made to have the printed means and spreads."""
    keys = [(row_of(MNIST, ON_PEOPLE, target), "DeeperFFN HLV") for target in ("equal", "majority")]
    z = np.array([-1.5, -0.7, -0.2, 0.3, 0.8, 1.3])
    z = (z - z.mean()) / z.std(ddof=1)
    a, b = (TABLE_2.cells[key].value + TABLE_2.spreads[key].value * z for key in keys)
    found = p_of(TABLE_2, MNIST, "DeeperFFN HLV", "equal", "majority")
    assert found == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_sentences_are_judged_by_the_printed_tables(monkeypatch):
    """By hand: 1.31, 0.74 and 4.43 points from synthetic to majority; and another table, another verdict."""
    part = section_3_3(None)
    verdicts = {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}
    assert verdicts["Mukhoti, HLV: majority for synthetic, least"] is Verdict.REPRODUCED
    assert verdicts["Mukhoti, HLV: majority for synthetic, most"] is Verdict.REPRODUCED
    assert verdicts["MNIST, HLV: soft for majority, most"] is Verdict.NOT_REPRODUCED
    assert verdicts["Mukhoti, HLV: synthetic ahead on original labels"] is Verdict.NOT_REPRODUCED
    other = changed(TABLE_2, (row_of(MNIST, ON_PEOPLE, "equal"), "DeeperFFN HLV"), "64.00")
    monkeypatch.setattr("sfumato_papers.soft_digits.section_3_3.TABLE_2", other)
    part = section_3_3(None)
    again = {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}
    assert again["MNIST, HLV: soft for majority, most"] is Verdict.REPRODUCED, "64.00 - 59.97 = 4.03"
