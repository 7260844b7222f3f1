"""Tables 1 to 6: training on different label sets, next to what the paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import hypot

from sfumato_papers.collins_2022 import protocol
from sfumato_papers.finding import Finding, Reference, Statement
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
    found = protocol.figures(rerun)
    rows = {
        "Hard Labels": "hard",
        "Random Labels": "random",
        "Uniform Labels": "uniform",
        "CIFAR-10H": "10h aggregated",
        "Ours (T2, Clamp)": "10s aggregated",
        "Ours, shuffled within a class (control)": "10s shuffled",
        "Smoothing with our entropy (control)": "10s entropy-matched",
    }
    said = [
        *protocol.better(found, "soft labels beat hard ones", "10s aggregated", "hard"),
        *protocol.alike(found, "ours are comparable to CIFAR-10H", "10s aggregated", "10h aggregated"),
    ]
    about = (
        "Labels of 900 CIFAR-10S images are exchanged; all others are learned with the CIFAR-10 class. The paper "
        "counts 6,100 others, that is with the 100 of CIFAR-10S that are held out; these are not learned here, so they "
        "are 6,000. Which 100 were held out is not said: ours are drawn. What a random label is, neither: ours is a "
        "distribution drawn evenly from all. Calibration is the published code's, without the last, most confident "
        "bin (bins of 100 items on 10H, of 10 on 10S, where a model without fault scores about 0.12). FGSM has an eps "
        "of 4/255 and leads away from the CIFAR-10 class; its loss is against that class on 10H, against the soft "
        "label on 10S. Figures are compared by their change from hard labels of the same seed."
    )
    part = _part(rerun, 1, "Training on labels aggregated from humans", rows, said, about)
    return replace(part, after=f"{part.after} {_controlled(found)}")


def table_2(rerun: Rerun) -> Part:
    found = protocol.figures(rerun)
    said = [
        *protocol.better(found, "ours beat CIFAR-10H when de-aggregated", "10s", "10h"),
        *protocol.better(found, "de-aggregated beats aggregated: CIFAR-10H", "10h", "10h aggregated"),
        *protocol.better(found, "de-aggregated beats aggregated: ours", "10s", "10s aggregated"),
    ]
    about = (
        "Each time an image is learned from, the label of one of its annotators is drawn. On average that is the "
        "aggregated label, and cross-entropy is linear in the label: only the noise of the gradient differs."
    )
    rows = {"CIFAR-10H": "10h", "Ours (T2, Clamp)": "10s"}
    return _part(rerun, 2, "Training with de-aggregated labels", rows, said, about)


def table_3(rerun: Rerun) -> Part:
    found = protocol.figures(rerun)
    findings: list[Finding] = []
    for m in (2, 1):
        findings += _cells(found, TABLE_3, {f"10H, M={m}": f"10h m={m}", f"Ours, M={m}": f"10s m={m}"})
    return Part(
        "Table 3",
        "Fewer annotators",
        (
            *sorted(findings, key=lambda each: block_of(each.row)),
            *protocol.better(found, "ours beat CIFAR-10H from two annotators", "10s m=2", "10h m=2"),
            *protocol.better(found, "ours beat CIFAR-10H from one annotator", "10s m=1", "10h m=1"),
        ),
        about="M annotators of every image are drawn once a seed, those of M = 1 among those of M = 2; one of them is "
        "drawn each time the image is learned from.",
        scaled_down=protocol.scaled_down(rerun.scale),
    )


def table_4(rerun: Rerun) -> Part:
    rows = {"T1, Unif": "10s t1 unif", "T1, Clamp": "10s t1 clamp", "T2, Unif": "10s t2 unif", "T2, Clamp": "10s"}
    claim = "all that was asked is better than the first label alone"
    said = protocol.better(protocol.figures(rerun), claim, "10s", "10s t1 unif")
    about = "The column Time is under Section 5.1: it is arithmetic, not measured."
    return _part(rerun, 4, "Labels from parts of what was elicited", rows, said, about)


def table_5(rerun: Rerun) -> Part:
    rows = {
        "Select Top 2 Only": "10s select",
        "Top 2 With Prob (Unif)": "10s t2 unif",
        "Top 2 With Prob (Clamp)": "10s",
    }
    said = [
        *protocol.better(protocol.figures(rerun), "percents help: T2, Unif", "10s t2 unif", "10s select"),
        *protocol.better(protocol.figures(rerun), "percents help: T2, Clamp", "10s", "10s select"),
    ]
    about = (
        "Half on either class that was named, all on the first where there is no second. The column Time is under "
        "Section 5.1."
    )
    return _part(rerun, 5, "Labels without annotators' probabilities", rows, said, about)


def table_6(rerun: Rerun) -> Part:
    found = protocol.figures(rerun)
    rows = {
        "Label Smoothing": "smoothing",
        "CIFAR-10H": "10h",
        "Ours (T2, Clamp)": "10s",
        "Label Smoothing of the 900 alone": "smoothing 900",
    }
    said = [
        *protocol.better(
            found, "smoothing beats ours on 10H but in CE", "smoothing", "10s", blocks=("10H",), skip=("CE",)
        ),
        *protocol.better(found, "ours beat smoothing on 10S", "10s", "smoothing", blocks=("10S",)),
    ]
    about = (
        f"{protocol.SMOOTHING:g} of the mass, over all ten classes, of every image that is learned from, as the "
        "appendix words it; the last row smooths the 900 alone, as the other rows soften them alone."
    )
    return _part(rerun, 6, "De-aggregated human labels against label smoothing", rows, said, about)


def _part(
    rerun: Rerun, number: int, title: str, rows: Mapping[str, str], said: Sequence[Statement], about: str
) -> Part:
    """A table next to ours, measured from its first row, and what the paper says of it."""
    printed = published_tables("collins_2022")[f"Table {number}"]
    cells = _cells(protocol.figures(rerun), printed, rows)
    after = shown(printed, next(iter(rows)))
    return Part(f"Table {number}", title, (*cells, *said), about, protocol.scaled_down(rerun.scale), after=after)


def _controlled(found: protocol.Figures) -> str:
    """What the controls say that the paper does not have."""
    said = []
    for name, control in (("shuffled within a class", "10s shuffled"), ("smoothing", "10s entropy-matched")):
        each = [
            (block, protocol.differences(found, "10s aggregated", control, block, protocol.METRICS[0]))
            for block in protocol.BLOCKS
        ]
        words = [f"{d.signed()} on {block}" for block, d in each]
        said.append(f"from {name}, {' and '.join(words)}")
    return (
        "Controls, which the paper lacks: the same labels on other images of their class, and smoothing that gives "
        f"every image as much entropy. Our labels differ in cross-entropy {'; '.join(said)}."
    )


def _cells(found: protocol.Figures, printed: PublishedTable, rows: Mapping[str, str]) -> list[Finding]:
    """Block by block, row by row; each row's change is from the first of its block."""
    findings = []
    first, reference = next(iter(rows.items()))
    for block, (name, target), metric in product(protocol.BLOCKS, rows.items(), protocol.METRICS):
        row, base = f"{block}: {name}", f"{block}: {first}"
        beside = Reference(base, printed.cells.get((base, metric)), found[reference, block, metric])
        spread, figure = printed.spreads.get((row, metric)), printed.cells.get((row, metric))
        how, own = f"printed with ±{spread}" if spread else "", found[target, block, metric]
        findings.append(
            Finding.over_seeds(row, metric, figure, own, reference=None if name == first else beside, how=how)
        )
    return findings
