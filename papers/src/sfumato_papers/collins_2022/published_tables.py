"""Tables 1 to 6 as they are printed: a mean over 15 trainings, and half of its 95% interval.

`10H` rows are evaluated on held-out labels of CIFAR-10H, `10S` rows on those of CIFAR-10S. The columns Time of Tables 4
and 5 stand with Section 5.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import hypot

from sfumato_papers.finding import Cells, published_cells


@dataclass(frozen=True, eq=False)
class Printed:
    """A printed table: its figures, and what follows each after the ±."""

    cells: Cells
    spreads: Cells

    @classmethod
    def of(cls, text: str) -> Printed:
        """From a text table whose cells are written `1.293±0.08`."""
        return cls(published_cells(re.sub(r"±\S+", "", text)), published_cells(re.sub(r"\S+±", "", text)))

    def is_shown(self, row: str, reference: str, column: str) -> bool:
        """Whether two rows differ by more than their printed intervals leave open, were their trainings independent."""
        apart = abs(self.cells[row, column].value - self.cells[reference, column].value)
        return apart > hypot(self.spreads[row, column].value, self.spreads[reference, column].value)

    def shown(self, reference: str) -> str:
        """How many of the table's changes from a reference, named without its block, its own intervals show."""
        changes = [(row, column, f"{block_of(row)}: {reference}") for row, column in self.cells]
        changes = [each for each in changes if each[0] != each[2]]
        n_shown = sum(self.is_shown(row, base, column) for row, column, base in changes)
        return f"{n_shown} of the {len(changes)} changes from {reference}"


def block_of(row: str) -> str:
    """`10H` of `10H: CIFAR-10H`."""
    return row.partition(":")[0]


TABLE_1 = Printed.of("""
                        CE          Calibration  FGSM Loss
10H: Hard Labels        2.026±0.18  0.277±0.01   15.455±7.5
10H: Random Labels      1.770±0.16  0.226±0.02   13.476±1.39
10H: Uniform Labels     1.599±0.13  0.203±0.02   10.199±3.82
10H: CIFAR-10H          1.325±0.07  0.201±0.01   8.750±1.80
10H: Ours (T2, Clamp)   1.369±0.07  0.203±0.01   8.872±1.63
10S: Hard Labels        4.460±0.49  0.425±0.09   15.782±4.67
10S: Random Labels      3.093±0.53  0.353±0.05   10.697±4.14
10S: Uniform Labels     2.923±0.26  0.311±0.06   11.768±5.18
10S: CIFAR-10H          2.558±0.16  0.313±0.03   8.416±1.64
10S: Ours (T2, Clamp)   2.591±0.19  0.324±0.02   9.116±1.63
""")
TABLE_2 = Printed.of("""
                        CE          Calibration  FGSM Loss
10H: CIFAR-10H          1.293±0.08  0.194±0.01   8.577±1.91
10H: Ours (T2, Clamp)   1.281±0.06  0.184±0.01   8.406±1.75
10S: CIFAR-10H          2.459±0.21  0.311±0.02   8.334±1.75
10S: Ours (T2, Clamp)   2.355±0.14  0.297±0.03   8.405±1.59
""")
TABLE_3 = Printed.of("""
                CE         Calibration  FGSM Loss
10H: 10H, M=2   1.71±0.15  0.25±0.02    14.16±0.67
10H: Ours, M=2  1.49±0.08  0.22±0.01    11.57±0.44
10H: 10H, M=1   2.17±0.11  0.29±0.01    19.20±0.86
10H: Ours, M=1  1.58±0.08  0.23±0.01    12.57±1.29
10S: 10H, M=2   3.37±0.42  0.34±0.08    13.13±0.7
10S: Ours, M=2  2.88±0.17  0.36±0.04    11.39±0.59
10S: 10H, M=1   4.49±0.31  0.45±0.05    17.85±0.68
10S: Ours, M=1  2.90±0.31  0.38±0.06    12.13±1.31
""")
TABLE_4 = Printed.of("""
                CE          Calibration  FGSM Loss
10H: T1, Unif   1.320±0.08  0.187±0.01   8.647±1.72
10H: T1, Clamp  1.299±0.06  0.19±0.01    8.385±1.55
10H: T2, Unif   1.287±0.10  0.180±0.02   8.345±1.63
10H: T2, Clamp  1.281±0.06  0.184±0.01   8.406±1.75
10S: T1, Unif   2.512±0.12  0.317±0.04   9.029±1.7
10S: T1, Clamp  2.501±0.18  0.306±0.03   8.590±1.42
10S: T2, Unif   2.437±0.16  0.293±0.04   8.605±1.59
10S: T2, Clamp  2.355±0.14  0.297±0.03   8.405±1.59
""")
TABLE_5 = Printed.of("""
                              CE          Calibration  FGSM Loss
10H: Select Top 2 Only        1.300±0.06  0.180±0.01   8.639±1.46
10H: Top 2 With Prob (Unif)   1.287±0.10  0.180±0.02   8.345±1.63
10H: Top 2 With Prob (Clamp)  1.281±0.06  0.184±0.01   8.406±1.75
10S: Select Top 2 Only        2.448±0.15  0.313±0.02   8.797±1.25
10S: Top 2 With Prob (Unif)   2.437±0.16  0.293±0.04   8.605±1.59
10S: Top 2 With Prob (Clamp)  2.355±0.14  0.297±0.03   8.405±1.59
""")
TABLE_6 = Printed.of("""
                        CE          Calibration  FGSM Loss
10H: Label Smoothing    1.368±0.19  0.175±0.05   6.965±1.7
10H: CIFAR-10H          1.293±0.08  0.194±0.01   8.577±1.91
10H: Ours (T2, Clamp)   1.281±0.06  0.184±0.01   8.406±1.75
10S: Label Smoothing    2.674±0.33  0.299±0.05   9.375±3.4
10S: CIFAR-10H          2.459±0.21  0.311±0.02   8.334±1.75
10S: Ours (T2, Clamp)   2.355±0.14  0.297±0.03   8.405±1.59
""")
