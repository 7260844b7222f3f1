"""Figures 6 and 10: what networks reach by how many annotators were asked, and by how long they took."""

from __future__ import annotations

from sfumato.reporting.charts import Chart, Field, curve
from sfumato_papers.collins_2022 import protocol
from sfumato_papers.collins_2022.form import SECONDS_A_PAGE, SECONDS_A_VOTE
from sfumato_papers.collins_2022.tables import TABLE_2, TABLE_3
from sfumato_papers.finding import Estimate, Finding, Statement, with_intervals
from sfumato_papers.paper import Part, Rerun, Scale

HARD_VOTES, SOFT_LABELS = "CIFAR-10H", "Ours (T2, Clamp)"
ALL = {HARD_VOTES: 51, SOFT_LABELS: 6}
SECONDS = {HARD_VOTES: SECONDS_A_VOTE.value, SOFT_LABELS: SECONDS_A_PAGE.value}
PRINTED = (
    (SOFT_LABELS, 1, TABLE_3, "Ours, M=1"),
    (SOFT_LABELS, 2, TABLE_3, "Ours, M=2"),
    (SOFT_LABELS, ALL[SOFT_LABELS], TABLE_2, "Ours (T2, Clamp)"),
    (HARD_VOTES, 1, TABLE_3, "10H, M=1"),
    (HARD_VOTES, 2, TABLE_3, "10H, M=2"),
    (HARD_VOTES, ALL[HARD_VOTES], TABLE_2, "CIFAR-10H"),
)
"""The points of Figure 6 that the paper prints, and where."""


def pools(scale: Scale) -> list[tuple[str, int, str]]:
    """Label set, annotators an image, and what its runs are called."""
    found = [(HARD_VOTES, m, f"10h m={m}") for m in scale.of(protocol.VOTES)] + [(HARD_VOTES, ALL[HARD_VOTES], "10h")]
    found += [(SOFT_LABELS, m, f"10s m={m}") for m in scale.of(protocol.BELIEFS)]
    return [*found, (SOFT_LABELS, ALL[SOFT_LABELS], "10s")]


def figure_6(rerun: Rerun) -> Part:
    found = protocol.figures(rerun)
    both = [m for m in rerun.scale.of(protocol.BELIEFS) if m in rerun.scale.of(protocol.VOTES)]
    findings: list[Finding | Statement] = [
        *_cells(found, rerun.scale),
        *(
            statement
            for m in both
            for statement in protocol.better(found, f"ours beat CIFAR-10H at M = {m}", f"10s m={m}", f"10h m={m}")
        ),
    ]
    about = (
        "The paper draws these figures and prints those of M = 1, 2 and all, which are in Tables 2 and 3. "
        "M = 51 and M = 6 are all annotators there are."
    )
    title = "Performance by the number of annotators"
    smaller = protocol.scaled_down(rerun.scale)
    charts = (_chart("figure-6", found, rerun.scale, by="annotators"),)
    return Part("Figure 6", title, findings, about, smaller, charts, _worth(found, rerun.scale))


def figure_10(rerun: Rerun) -> Part:
    found = protocol.figures(rerun)
    price = SECONDS[SOFT_LABELS] / SECONDS[HARD_VOTES]
    rows = [_as_much_time(found, m, rerun.scale) for m in rerun.scale.of(protocol.BELIEFS)]
    about = (
        f"A soft label is taken to need {SECONDS_A_PAGE}, a vote {SECONDS_A_VOTE}, as in the paper: {price:.1f} votes "
        "in the time of one soft label. Soft labels are compared with the largest pool of votes that takes no longer."
    )
    title = "Performance by estimated annotation time"
    smaller = protocol.scaled_down(rerun.scale)
    charts = (_chart("figure-10", found, rerun.scale, by="seconds"),)
    return Part("Figure 10", title, tuple(row for row in rows if row is not None), about, smaller, charts)


def _cells(found: protocol.Figures, scale: Scale) -> list[Finding]:
    return [
        Finding.over_seeds(f"{block}: {name}, M={m}", metric, None, found[runs, block, metric])
        for block in protocol.BLOCKS
        for name, m, runs in pools(scale)
        for metric in protocol.METRICS
    ]


def _as_much_time(found: protocol.Figures, m: int, scale: Scale) -> Statement | None:
    """Whether `m` soft labels are no clear gain over the votes that could be had in the same time."""
    seconds = m * SECONDS[SOFT_LABELS]
    cheaper = [n for n in (*scale.of(protocol.VOTES), ALL[HARD_VOTES]) if n * SECONDS[HARD_VOTES] <= seconds]
    if not cheaper:
        return None
    n = max(cheaper)
    votes = "10h" if n == ALL[HARD_VOTES] else f"10h m={n}"
    each = {
        (b, metric): protocol.differences(found, f"10s m={m}", votes, b, metric)
        for b in protocol.BLOCKS
        for metric in protocol.METRICS
    }
    n_better, n_worse = sum(d.is_below_0 for d in each.values()), sum(d.is_above_0 for d in each.values())
    words = [f"{block} {metric} {d.value:+.3f}" for (block, metric), d in each.items()]
    return Statement(
        f"{m} soft label{'s' * (m > 1)} against {n} votes",
        "on the basis of time it is not clear whether soft labels are advantageous",
        holds=n_better <= len(each) / 2,
        ours=f"{seconds:g} s against {n * SECONDS[HARD_VOTES]:g} s: {n_better} of {len(each)} figures shown better, "
        f"{n_worse} worse ({'; '.join(words)})",
    )


def _worth(found: protocol.Figures, scale: Scale) -> str:
    """How many votes per image reach what one soft label does, block by block."""
    said = []
    for block in protocol.BLOCKS:
        every = {(name, m): found[runs, block, protocol.CE] for name, m, runs in pools(scale)}
        loss = {pool: Estimate.over_seeds(values.values()).value for pool, values in every.items()}
        one = loss[SOFT_LABELS, 1]
        enough = [m for (name, m), each in loss.items() if name == HARD_VOTES and each <= one]
        votes = f"{min(enough)} votes" if enough else "more votes than there are"
        said.append(f"on {block}, {votes} an image reach the cross-entropy of one soft label ({one:.3f})")
    return f"Of the pools that were trained: {'; '.join(said)}."


def _chart(name: str, found: protocol.Figures, scale: Scale, *, by: str) -> Chart:
    # Ours first, and so in blue, as in the paper.
    sets = sorted(pools(scale), key=lambda pool: pool[0] == HARD_VOTES)
    each = SECONDS if by == "seconds" else dict.fromkeys(SECONDS, 1.0)
    panels = [(block, metric, f"{metric}, on {block}") for block in protocol.BLOCKS for metric in protocol.METRICS]
    rows = [
        (panel, labels, m * each[labels], Estimate.over_seeds(found[runs, block, metric].values()))
        for block, metric, panel in panels
        for labels, m, runs in sets
    ]
    rows += [
        (panel, f"{labels}, published", m * each[labels], Estimate(printed.cells[f"{block}: {row}", metric].value))
        for block, metric, panel in panels
        for labels, m, printed, row in PRINTED
    ]
    x = {"annotators": "annotators an image", "seconds": "estimated seconds per image"}[by]
    return curve(
        name,
        title=f"What networks reach by {x}",
        caption="Means over trainings with 95% intervals, de-aggregated; lower is better. Published: the points that "
        "the paper prints, in Tables 2 and 3.",
        **with_intervals(("figure", "labels", by, "mean"), rows),
        x=Field(by, x, log=True),
        y=Field("mean", "", ".3~g"),
        series="labels",
        panel="figure",
        own_y=True,
    )
