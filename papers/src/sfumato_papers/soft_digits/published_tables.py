"""Tables as the paper prints them: mean±spread over six seeds, by set, labels scored on, target and column.

Tables 2, 3, 9 and 10 of the paper, cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind_from_stats

from sfumato_papers.finding import Published, published_cells

N_SEEDS = 6
SPREAD = re.compile(r"±[\d.]+")
MNIST, MUKHOTI = "MNIST", "Mukhoti"
ON_ORIGINAL, ON_PEOPLE = "original labels", "re-annotated labels"


@dataclass(frozen=True)
class Printed:
    """A cell: what it is about, its mean, and the standard deviation next to it."""

    set: str
    scored_on: str
    target: str
    column: str
    mean: Published
    spread: Published

    @property
    def row(self) -> str:
        return f"{self.set} on {self.scored_on}: {self.target}"


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper, cell by cell, in its order."""

    cells: tuple[Printed, ...]

    @classmethod
    def of(cls, blocks: Mapping[tuple[str, str], str], unit: str = "") -> PrintedTable:
        """From its blocks, each a set and the labels it is scored on; `-` stands where nothing is printed."""
        return cls(tuple(cell for (name, on), text in blocks.items() for cell in _cells(name, on, text, unit)))

    def at(self, name: str, on: str, target: str, column: str) -> Printed:
        return next(
            cell
            for cell in self.cells
            if (cell.set, cell.scored_on, cell.target, cell.column) == (name, on, target, column)
        )

    def mean(self, name: str, on: str, target: str, column: str) -> float:
        return self.at(name, on, target, column).mean.value


def p_of(one: Printed, other: Printed) -> float:
    """Welch's two-sided p of two printed means, six seeds each; seeds are not paired there."""
    found = ttest_ind_from_stats(
        one.mean.value, one.spread.value, N_SEEDS, other.mean.value, other.spread.value, N_SEEDS, equal_var=False
    )
    return float(np.asarray(found.pvalue))


def _cells(name: str, on: str, text: str, unit: str) -> Iterator[Printed]:
    means = published_cells(SPREAD.sub("", text), unit=unit)
    spreads = published_cells(re.sub(r"[\d.]+±", "", text), unit=unit)
    for (target, column), mean in means.items():
        yield Printed(name, on, target, column, mean, spreads[target, column])


TABLE_2 = PrintedTable.of(
    {
        (MNIST, ON_ORIGINAL): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  -                56.61±2.16     -                57.94±0.90     -            72.49±1.50
        majority  -                58.03±0.85     -                56.35±1.36     -            69.84±1.98
        equal     -                58.91±0.95     -                60.23±2.39     -            73.72±0.50
        weighted  -                57.14±0.81     -                61.02±2.15     -            74.69±2.23
        """,
        (MNIST, ON_PEOPLE): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  84.52±0.71       59.79±1.93     85.14±0.73       60.32±1.56     93.91±1.39   73.90±1.04
        majority  85.08±1.18       61.46±1.31     84.27±2.28       59.97±1.25     93.53±1.73   73.72±1.13
        equal     86.26±0.79       62.35±1.60     86.13±1.25       64.90±2.76     95.15±1.10   76.63±0.48
        weighted  85.63±0.83       60.49±1.95     86.44±1.19       64.82±2.64     95.03±0.80   77.16±2.23
        """,
        (MUKHOTI, ON_ORIGINAL): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  74.58±3.20       77.08±1.70     82.50±2.50       80.03±1.08     89.58±1.86   88.00±1.03
        majority  73.33±2.13       48.92±0.51     71.88±1.73       48.46±1.01     78.13±2.47   56.83±4.91
        equal     75.21±1.12       50.80±2.78     75.42±0.93       50.40±1.33     80.21±1.33   59.39±2.73
        weighted  74.79±1.12       50.00±1.62     74.79±1.12       50.17±1.55     80.00±1.44   57.57±1.85
        """,
        (MUKHOTI, ON_PEOPLE): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  69.58±4.49       53.87±1.21     75.00±1.02       55.29±0.71     77.71±2.54   56.26±1.37
        majority  83.54±2.09       55.18±1.27     83.96±4.11       56.03±2.96     92.50±1.44   60.69±1.48
        equal     89.58±1.38       59.78±2.76     91.04±1.33       62.34±2.08     96.46±1.97   65.07±2.15
        weighted  88.96±1.83       58.59±2.74     90.63±1.40       61.32±1.98     95.83±1.86   65.47±2.38
        """,
    },
    "%",
)
"""Top-1 accuracy in percent. `original` is the synthetic label in the Mukhoti part, throughout."""

TABLE_3 = PrintedTable.of(
    {
        (MNIST, ON_PEOPLE): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  0.487±0.007      1.917±0.100    0.453±0.022      2.049±0.181    0.178±0.041  2.214±0.073
        majority  0.457±0.010      1.543±0.049    0.443±0.025      1.484±0.107    0.175±0.031  1.661±0.061
        equal     0.453±0.019      1.028±0.025    0.408±0.022      0.989±0.021    0.181±0.014  0.669±0.023
        weighted  0.454±0.021      1.021±0.019    0.407±0.023      0.983±0.027    0.183±0.016  0.660±0.029
        """,
        (MUKHOTI, ON_PEOPLE): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  0.804±0.036      1.525±0.069    0.667±0.024      1.525±0.019    0.529±0.040  1.612±0.044
        majority  0.565±0.028      0.922±0.037    0.516±0.069      0.915±0.040    0.266±0.031  0.905±0.024
        equal     0.425±0.018      0.550±0.012    0.351±0.030      0.537±0.011    0.262±0.034  0.479±0.013
        weighted  0.451±0.022      0.556±0.014    0.368±0.013      0.543±0.010    0.265±0.019  0.468±0.011
        """,
    }
)
"""KL divergence of predictions from people's labels, in nats."""

TABLE_9 = PrintedTable.of(
    {
        (MNIST, ON_ORIGINAL): """
                  SimpleFFN   DeeperFFN   LeNet
        original  73.16±0.73  73.05±1.55  84.54±0.71
        majority  74.11±0.43  73.41±0.73  84.39±0.72
        equal     74.40±0.55  75.13±0.37  85.41±0.78
        weighted  73.52±0.86  74.87±0.59  85.41±1.24
        """,
        (MNIST, ON_PEOPLE): """
                  SimpleFFN   DeeperFFN   LeNet
        original  74.47±0.81  74.00±1.55  85.01±1.18
        majority  75.53±0.29  74.58±0.73  85.96±0.56
        equal     75.97±0.15  76.44±0.67  86.69±0.94
        weighted  75.16±0.95  76.40±0.71  86.69±1.10
        """,
        (MUKHOTI, ON_ORIGINAL): """
                  SimpleFFN   DeeperFFN   LeNet
        original  76.23±1.17  78.91±1.20  87.67±2.52
        majority  54.29±1.57  53.44±2.47  61.39±1.92
        equal     56.12±1.51  55.59±1.71  63.72±1.82
        weighted  55.32±2.16  55.50±1.82  63.63±2.08
        """,
        (MUKHOTI, ON_PEOPLE): """
                  SimpleFFN   DeeperFFN   LeNet
        original  57.78±0.89  58.13±0.57  60.46±1.39
        majority  61.66±1.20  62.51±2.75  65.28±1.16
        equal     65.28±1.90  67.43±1.51  71.63±1.69
        weighted  65.77±2.02  67.56±2.33  72.12±1.40
        """,
    },
    "%",
)
"""Top-1 accuracy over all test items, in percent. The paper prints the two kinds of label side by side."""

TABLE_10 = PrintedTable.of(
    {
        (MNIST, ON_ORIGINAL): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  -                0.613±0.022    -                0.610±0.017    -            0.425±0.010
        majority  -                0.611±0.017    -                0.611±0.008    -            0.454±0.010
        equal     -                0.577±0.015    -                0.554±0.017    -            0.370±0.024
        weighted  -                0.579±0.013    -                0.552±0.017    -            0.366±0.024
        """,
        (MNIST, ON_PEOPLE): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  0.225±0.006      0.399±0.018    0.215±0.010      0.402±0.013    0.094±0.018  0.290±0.006
        majority  0.217±0.006      0.387±0.012    0.214±0.015      0.382±0.012    0.093±0.020  0.281±0.008
        equal     0.213±0.008      0.333±0.009    0.192±0.013      0.312±0.013    0.073±0.011  0.189±0.013
        weighted  0.214±0.008      0.331±0.007    0.195±0.010      0.312±0.013    0.073±0.011  0.183±0.012
        """,
        (MUKHOTI, ON_ORIGINAL): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  0.218±0.018      0.187±0.009    0.167±0.006      0.149±0.002    0.079±0.007  0.075±0.006
        majority  0.305±0.013      0.460±0.012    0.303±0.016      0.481±0.020    0.227±0.014  0.411±0.040
        equal     0.243±0.012      0.415±0.016    0.240±0.007      0.419±0.006    0.184±0.010  0.341±0.013
        weighted  0.249±0.010      0.423±0.014    0.245±0.009      0.427±0.011    0.186±0.010  0.349±0.013
        """,
        (MUKHOTI, ON_PEOPLE): """
                  SimpleFFN NoHLV  SimpleFFN HLV  DeeperFFN NoHLV  DeeperFFN HLV  LeNet NoHLV  LeNet HLV
        original  0.419±0.026      0.337±0.008    0.367±0.008      0.337±0.007    0.297±0.026  0.334±0.005
        majority  0.273±0.016      0.263±0.003    0.249±0.034      0.270±0.016    0.134±0.023  0.237±0.006
        equal     0.194±0.006      0.185±0.006    0.160±0.013      0.184±0.005    0.110±0.015  0.157±0.005
        weighted  0.205±0.010      0.188±0.006    0.168±0.008      0.188±0.002    0.104±0.012  0.157±0.005
        """,
    }
)
"""Brier scores."""
