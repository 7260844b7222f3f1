"""Tables 1 to 6: training on different label sets, next to what the paper prints."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from sfumato_papers.collins_2022.held_out_scores import BLOCKS, METRICS, Figures, alike, better, differences, figures
from sfumato_papers.collins_2022.protocol import SMOOTHING, scaled_down
from sfumato_papers.finding import Finding, Reference
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.published_table import PublishedTable, published_tables

TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6 = published_tables("collins_2022").values()


def is_shown(printed: PublishedTable, row: str, reference: str, column: str) -> bool:
    """Whether two rows differ by more than their printed intervals leave open, were their trainings independent."""
    apart = abs(printed.cells[row, column].value - printed.cells[reference, column].value)
    return apart > hypot(printed.spreads[row, column].value, printed.spreads[reference, column].value)


def shown(printed: PublishedTable, reference: str) -> str:
    """How many of the table's changes from a reference, named without its block, its own intervals show."""
    changes = [(row, f"{block_of(row)}: {reference}", column) for row, column in printed.cells]
    changes = [each for each in changes if each[0] != each[1]]
    n_shown = sum(is_shown(printed, *each) for each in changes)
    return f"The printed intervals themselves show {n_shown} of the {len(changes)} changes from {reference}."


def block_of(row: str) -> str:
    """`10H` of `10H: CIFAR-10H`."""
    return row.partition(":")[0]


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
        after=f"{shown(TABLE_1, 'Hard Labels')} {_controlled(found)}",
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
        after=shown(TABLE_2, "CIFAR-10H"),
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
        after=shown(TABLE_4, "T1, Unif"),
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
        after=shown(TABLE_5, "Select Top 2 Only"),
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
        after=shown(TABLE_6, "Label Smoothing"),
    )


def _controlled(found: Figures) -> str:
    """What the controls say that the paper does not have."""
    said = []
    for name, control in (("shuffled within a class", "10s shuffled"), ("smoothing", "10s entropy-matched")):
        each = [(block, differences(found, "10s aggregated", control, block, METRICS[0])) for block in BLOCKS]
        words = [f"{d.signed()} on {block}" for block, d in each]
        said.append(f"from {name}, {' and '.join(words)}")
    return (
        "Controls, which the paper lacks: the same labels on other images of their class, and smoothing that gives "
        f"every image as much entropy. Our labels differ in cross-entropy {'; '.join(said)}."
    )


def _table(found: Figures, printed: PublishedTable, rows: Mapping[str, str], *, reference: str) -> list[Finding]:
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
