"""Tables 1 to 6: training on different label sets, next to what the paper prints (a mean over 15 trainings, and half of
its 95% interval).

`10H` rows are evaluated on held-out labels of CIFAR-10H, `10S` rows on those of CIFAR-10S. The columns Time of Tables 4
and 5 are in Section 5.1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot

from sfumato_papers.collins_2022.held_out_scores import BLOCKS, METRICS, Figures, alike, better, differences, figures
from sfumato_papers.collins_2022.protocol import SMOOTHING, scaled_down
from sfumato_papers.finding import Cells, Finding, Reference, published_cells
from sfumato_papers.paper import Part, Rerun


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


def table_1(rerun: Rerun) -> Part:
    found = figures(rerun)
    rows = {
        "Hard Labels": "hard",
        "Random Labels": "random",
        "Uniform Labels": "uniform",
        "CIFAR-10H": "10h aggregated",
        "Ours (T2, Clamp)": "10s aggregated",
        "Ours, shuffled within a class (control)": "10s shuffled",
        "Smoothing with our entropy (control)": "10s entropy-matched",
    }
    return Part(
        "Table 1",
        "Training on labels aggregated from humans",
        (
            *_table(found, TABLE_1, rows, reference="Hard Labels"),
            *better(found, "soft labels beat hard ones", "10s aggregated", "hard"),
            *alike(found, "ours are comparable to CIFAR-10H", "10s aggregated", "10h aggregated"),
        ),
        about="Labels of 900 CIFAR-10S images are exchanged; all others are learned with the CIFAR-10 class. The paper "
        "counts 6,100 others, that is with the 100 of CIFAR-10S that are held out; these are not learned here, so they "
        "are 6,000. Which 100 were held out is not said: ours are drawn. What a random label is, neither: ours is a "
        "distribution drawn evenly from all. Calibration is the published code's, without the last, most confident "
        "bin (bins of 100 items on 10H, of 10 on 10S, where a model without fault scores about 0.12). FGSM has an eps "
        "of 4/255 and leads away from the CIFAR-10 class; its loss is against that class on 10H, against the soft "
        "label on 10S. Figures are compared by their change from hard labels of the same seed.",
        scaled_down=scaled_down(rerun.scale),
        after=f"{_shown(TABLE_1, 'Hard Labels')} {_controlled(found)}",
    )


def table_2(rerun: Rerun) -> Part:
    found = figures(rerun)
    return Part(
        "Table 2",
        "Training with de-aggregated labels",
        (
            *_table(found, TABLE_2, {"CIFAR-10H": "10h", "Ours (T2, Clamp)": "10s"}, reference="CIFAR-10H"),
            *better(found, "ours beat CIFAR-10H when de-aggregated", "10s", "10h"),
            *better(found, "de-aggregated beats aggregated: CIFAR-10H", "10h", "10h aggregated"),
            *better(found, "de-aggregated beats aggregated: ours", "10s", "10s aggregated"),
        ),
        about="Each time an image is learned from, the label of one of its annotators is drawn. On average that is the "
        "aggregated label, and cross-entropy is linear in the label: only the noise of the gradient differs.",
        scaled_down=scaled_down(rerun.scale),
        after=_shown(TABLE_2, "CIFAR-10H"),
    )


def table_3(rerun: Rerun) -> Part:
    found = figures(rerun)
    rows = {f"{name}, M={m}": f"{of} m={m}" for m in (2, 1) for name, of in (("10H", "10h"), ("Ours", "10s"))}
    findings = [
        *_table(found, TABLE_3, {k: v for k, v in rows.items() if k.endswith("=2")}, reference="10H, M=2"),
        *_table(found, TABLE_3, {k: v for k, v in rows.items() if k.endswith("=1")}, reference="10H, M=1"),
    ]
    return Part(
        "Table 3",
        "Fewer annotators",
        (
            *sorted(findings, key=lambda each: each.row.split(":")[0]),
            *better(found, "ours beat CIFAR-10H from two annotators", "10s m=2", "10h m=2"),
            *better(found, "ours beat CIFAR-10H from one annotator", "10s m=1", "10h m=1"),
        ),
        about="M annotators of every image are drawn once a seed, those of M = 1 among those of M = 2; one of them is "
        "drawn each time the image is learned from.",
        scaled_down=scaled_down(rerun.scale),
    )


def table_4(rerun: Rerun) -> Part:
    found = figures(rerun)
    rows = {"T1, Unif": "10s t1 unif", "T1, Clamp": "10s t1 clamp", "T2, Unif": "10s t2 unif", "T2, Clamp": "10s"}
    return Part(
        "Table 4",
        "Labels from parts of what was elicited",
        (
            *_table(found, TABLE_4, rows, reference="T1, Unif"),
            *better(found, "all that was asked is better than the first label alone", "10s", "10s t1 unif"),
        ),
        about="The column Time is under Section 5.1: it is arithmetic, not measured.",
        scaled_down=scaled_down(rerun.scale),
        after=_shown(TABLE_4, "T1, Unif"),
    )


def table_5(rerun: Rerun) -> Part:
    found = figures(rerun)
    rows = {
        "Select Top 2 Only": "10s select",
        "Top 2 With Prob (Unif)": "10s t2 unif",
        "Top 2 With Prob (Clamp)": "10s",
    }
    return Part(
        "Table 5",
        "Labels without annotators' probabilities",
        (
            *_table(found, TABLE_5, rows, reference="Select Top 2 Only"),
            *better(found, "percents help: T2, Unif", "10s t2 unif", "10s select"),
            *better(found, "percents help: T2, Clamp", "10s", "10s select"),
        ),
        about="Half on either class that was named, all on the first where there is no second. The column Time stands "
        "under Section 5.1.",
        scaled_down=scaled_down(rerun.scale),
        after=_shown(TABLE_5, "Select Top 2 Only"),
    )


def table_6(rerun: Rerun) -> Part:
    found = figures(rerun)
    rows = {
        "Label Smoothing": "smoothing",
        "CIFAR-10H": "10h",
        "Ours (T2, Clamp)": "10s",
        "Label Smoothing of the 900 alone": "smoothing 900",
    }
    return Part(
        "Table 6",
        "De-aggregated human labels against label smoothing",
        (
            *_table(found, TABLE_6, rows, reference="Label Smoothing"),
            *better(found, "smoothing beats ours on 10H but in CE", "smoothing", "10s", blocks=("10H",), skip=("CE",)),
            *better(found, "ours beat smoothing on 10S", "10s", "smoothing", blocks=("10S",)),
        ),
        about=f"{SMOOTHING:g} of the mass, over all ten classes, of every image that is learned from, as the appendix "
        "words it; the last row smooths the 900 alone, as the other rows soften them alone.",
        scaled_down=scaled_down(rerun.scale),
        after=_shown(TABLE_6, "Label Smoothing"),
    )


def _controlled(found: Figures) -> str:
    """What the controls say that the paper does not have."""
    said = []
    for name, control in (("shuffled within a class", "10s shuffled"), ("smoothing", "10s entropy-matched")):
        each = [(block, differences(found, "10s aggregated", control, block, METRICS[0])) for block in BLOCKS]
        words = [f"{d.value:+.3f} ({d.low:+.3f} to {d.high:+.3f}) on {block}" for block, d in each]
        said.append(f"from {name}, {' and '.join(words)}")
    return (
        "Controls, which the paper lacks: the same labels on other images of their class, and smoothing that gives "
        f"every image as much entropy. Our labels differ in cross-entropy {'; '.join(said)}."
    )


def _table(found: Figures, printed: Printed, rows: Mapping[str, str], *, reference: str) -> list[Finding]:
    """The findings of a table: block by block, row by row; each row's change is from the reference of its block."""
    findings = []
    for block in BLOCKS:
        for name, target in rows.items():
            row = f"{block}: {name}"
            for metric in METRICS:
                cells, spread = printed.cells, printed.spreads.get((row, metric))
                base = f"{block}: {reference}"
                beside = Reference(base, cells.get((base, metric)), found[rows[reference], block, metric])
                findings.append(
                    Finding.over_seeds(
                        row,
                        metric,
                        cells.get((row, metric)),
                        found[target, block, metric],
                        reference=None if name == reference else beside,
                        how=f"printed with ±{spread}" if spread else "",
                    )
                )
    return findings


def _shown(printed: Printed, reference: str) -> str:
    return f"The printed intervals themselves show {printed.shown(reference)}."
