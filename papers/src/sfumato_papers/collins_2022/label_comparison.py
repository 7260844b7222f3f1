"""Statements about which of two label sets is better, decided by trainings that pair up."""

from __future__ import annotations

from sfumato_papers.collins_2022.held_out_scores import BLOCKS, METRICS, Figures
from sfumato_papers.finding import Estimate, Statement


def differences(found: Figures, one: str, other: str, block: str, metric: str) -> Estimate:
    """How much higher `one` is than `other`, paired by training."""
    mine, theirs = found[one, block, metric], found[other, block, metric]
    return Estimate.over_seeds([mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys())])


def better(
    found: Figures, says: str, one: str, other: str, *, blocks: tuple[str, ...] = BLOCKS, skip: tuple[str, ...] = ()
) -> list[Statement]:
    """Whether `one` is lower than `other` by intervals that leave out 0, in more than half of metrics, a block each."""
    statements = []
    for block in blocks:
        each = {m: differences(found, one, other, block, m) for m in METRICS if m not in skip}
        n_better = sum(d.leaves_out_0 and d.value < 0 for d in each.values())
        words = [f"{m} {d.value:+.3f} ({d.low:+.3f} to {d.high:+.3f})" for m, d in each.items()]
        statements.append(
            Statement(
                f"{block}: {says}",
                f"{says}, evaluated on {block}",
                holds=n_better > len(each) / 2,
                ours=f"{n_better} of {len(each)} metrics shown better: {'; '.join(words)}",
            )
        )
    return statements


def alike(found: Figures, says: str, one: str, other: str) -> list[Statement]:
    """Whether neither of two is better by an interval that leaves out 0 in most metrics."""
    statements = []
    for block in BLOCKS:
        each = {m: differences(found, one, other, block, m) for m in METRICS}
        n_apart = sum(d.leaves_out_0 for d in each.values())
        words = [f"{m} {d.value:+.3f} ({d.low:+.3f} to {d.high:+.3f})" for m, d in each.items()]
        statements.append(
            Statement(
                f"{block}: {says}",
                f"{says}, evaluated on {block}",
                holds=n_apart <= len(each) / 2,
                ours=f"{n_apart} of {len(each)} metrics shown to differ: {'; '.join(words)}",
            )
        )
    return statements
