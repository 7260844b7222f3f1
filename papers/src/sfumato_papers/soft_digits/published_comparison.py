"""A table of the paper next to ours: on soft-digits where its file is given, and on the substitute sets."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.tables.scores import ALL
from sfumato_papers.finding import Estimate, Finding, Reference
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.soft_digits.published_tables import Printed, PrintedTable
from sfumato_papers.soft_digits.released_file import NEEDS, soft_digits
from sfumato_papers.soft_digits.run_scores import by_seed, measured
from sfumato_papers.soft_digits.sets import HLV, N_LEARNT, NO_HLV, Audited, stand_ins
from sfumato_papers.soft_digits.training import (
    CONTROLS,
    EQUAL,
    FIXED_EPOCHS,
    MAJORITY,
    MOST_EPOCHS,
    NETWORKS,
    ORIGINAL,
    SEEDS,
    SYNTHETIC,
    TARGETS,
    WEIGHTED,
)

MEASURED_FROM = {MAJORITY: ORIGINAL, EQUAL: MAJORITY, WEIGHTED: MAJORITY}
"""What a target is compared with: other classes alone, then doubt alone."""
COLUMNS = {
    **{f"{network} {stratum}": (network, stratum) for network in NETWORKS for stratum in (NO_HLV, HLV)},
    **{network: (network, ALL) for network in NETWORKS},
}
IN_PLACE = "CIFAR-10H and Fashion-MNIST-H in place of soft-digits"


def cells(rerun: Rerun, table: PrintedTable, metric: str, *, factor: float = 1.0, places: int = 3) -> list[Finding]:
    """Every cell of a printed table, with ours where the file is given."""
    found = {each.name: each for each in soft_digits(rerun)}
    if not found:
        return [Finding(cell.row, cell.column, cell.mean, needs=NEEDS, places=places) for cell in table.cells]
    return [_cell(rerun, found[cell.set], table, cell, metric, factor, places) for cell in table.cells]


def _cell(
    rerun: Rerun, audited: Audited, table: PrintedTable, cell: Printed, metric: str, factor: float, places: int
) -> Finding:
    network, stratum = COLUMNS[cell.column]
    scores = measured(rerun, audited)[cell.scored_on]

    def values(target: str) -> dict[int, float]:
        return {seed: factor * each for seed, each in by_seed(scores, target, network, metric, stratum).items()}

    reference = None
    if base := MEASURED_FROM.get(cell.target):
        printed = table.at(cell.set, cell.scored_on, base, cell.column)
        reference = Reference(base, printed.mean, values(base))
    how = f"the paper's spread over seeds is {cell.spread}"
    return Finding.over_seeds(
        cell.row, cell.column, cell.mean, values(cell.target), reference=reference, how=how, places=places
    )


def stand_in_cells(
    rerun: Rerun, metric: str, scored_on: Sequence[str], columns: Sequence[str], *, factor: float = 1.0, places: int = 3
) -> list[Finding]:
    """The same cells of the stand-ins, with model-made labels and the two controls as rows of their own."""
    findings = []
    for audited in stand_ins(rerun):
        for on in scored_on:
            scores = measured(rerun, audited)[on]
            for target in (*TARGETS, SYNTHETIC, *CONTROLS):
                for column in columns:
                    network, stratum = COLUMNS[column]
                    own = [factor * each for each in by_seed(scores, target, network, metric, stratum).values()]
                    row = f"{audited.name} on {on}: {target}"
                    findings.append(Finding(row, column, None, Estimate.over_seeds(own), places=places))
    return findings


def smaller_than_published(rerun: Rerun) -> str:
    """In what a rerun on soft-digits itself is smaller; empty where it is as published, or the file is not there."""
    scale = rerun.scale
    if scale is not Scale.SMALL or not soft_digits(rerun):
        return ""
    return f"{scale.of(SEEDS)} seeds for 6, at most {scale.of(MOST_EPOCHS)} epochs for 60"


def instead(scale: Scale) -> str:
    """In what the stand-ins differ from the paper."""
    if scale is not Scale.SMALL:
        return IN_PLACE
    return (
        f"{IN_PLACE}; {scale.of(SEEDS)} seeds for 6, {scale.of(N_LEARNT):,} pictures for 2,131, "
        f"at most {scale.of(MOST_EPOCHS)} epochs for 60, {scale.of(FIXED_EPOCHS)} of a fixed length for 40"
    )


def audited_sets(rerun: Rerun) -> tuple[Audited, ...]:
    """The two parts of soft-digits where its file is given, else the substitute sets."""
    return soft_digits(rerun) or stand_ins(rerun)


def smaller(rerun: Rerun) -> str:
    """In what a rerun on those differs from the paper."""
    return smaller_than_published(rerun) if soft_digits(rerun) else instead(rerun.scale)
