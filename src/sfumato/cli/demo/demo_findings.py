"""What came out of this run, in plain words: every figure read from the files of the run, with its interval.

A difference is called one only where its interval leaves out 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float

from sfumato.cli.demo.demo_steps import FORMS, folder_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.doubt import Doubt, entropy
from sfumato.tables.soft_labels import SoftLabels

DOUBTFUL_NATS = 0.6
DRAWS = 2000
UNITS: Mapping[str, tuple[str, float, str, bool]] = {
    "cross_entropy": ("cross-entropy against people", 1.0, " nats", False),
    "accuracy": ("accuracy", 100.0, " points", True),
    "ece": ("expected calibration error", 1.0, "", False),
}
"""What a metric is called, what its figures are multiplied by, in what unit, and whether more is better."""


@dataclass(frozen=True)
class DemoFigure:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.told()

    def told(self, unit: str = "") -> str:
        """The number, its unit, and the interval: `.12 (.08 to .16)`, `81% (73 to 88)`."""
        if np.isnan(self.low):
            return f"{shown(self.value)}{unit} (no interval: too few, or all alike)"
        ends = f"{shown(self.low)} or more" if np.isinf(self.high) else f"{shown(self.low)} to {shown(self.high)}"
        return f"{shown(self.value)}{unit} ({ends})"


def findings(folder: Path) -> list[str]:
    """The findings of the run in `folder`, a sentence or two each."""
    return [
        *_of_people(folder),
        *_of_forms(folder),
        _of_pools(folder),
        *_of_targets(folder),
        _of_attack(folder),
        *_of_plan(folder),
    ]


def _of_people(folder: Path) -> list[str]:
    """Who was set aside, and what the doubt is made of: within people, or between them."""
    screened = pl.read_csv(folder / "screening.csv")
    doubt = Beliefs.read(folder / "beliefs.parquet").doubt()
    votes = Beliefs.read(folder / "choice" / "beliefs.parquet").doubt()
    total, within, between = (mean_of(each) for each in (doubt.total, doubt.within, doubt.between))
    is_doubtful = doubt.total >= DOUBTFUL_NATS
    n_quarrels = int((is_doubtful & (doubt.between > doubt.within)).sum())
    n_doubtful = int(is_doubtful.sum())
    quarrel, riddle = (int(np.argmax(each)) for each in (doubt.between - doubt.within, doubt.within - doubt.between))
    return [
        f"{int(screened['set_aside'].sum())} of {len(screened)} people were set aside; their reasons stand in "
        "screening.csv.",
        f"Doubt about an image: {total.told(' nats')}, of which {within} within people, who are unsure, and {between} "
        f"between them, who disagree. Answers that name one digit show {mean_of(votes.total)}, all of it as "
        "disagreement: they cannot say who was unsure.",
        f"Of {n_doubtful} images with {shown(DOUBTFUL_NATS)} nats or more, people mostly disagree about {n_quarrels}, "
        f"and are mostly unsure about {n_doubtful - n_quarrels}. {_parts(doubt, quarrel)}; {_parts(doubt, riddle)}.",
    ]


def _parts(doubt: Doubt, row: int) -> str:
    within, between = float(doubt.within[row]), float(doubt.between[row])
    return f"{doubt.items[row].as_py()}: {shown(within)} within, {shown(between)} between"


def _of_forms(folder: Path) -> list[str]:
    """How near the labels of each form come to the belief that the simulated people were drawn from."""
    truth = SoftLabels.read(folder / "truth.csv")
    distance = {}
    for form in FORMS:
        labels = SoftLabels.read(folder_of(folder, form) / "labels.parquet")
        distance[form] = 0.5 * np.abs(labels.probs[labels.rows_of(truth.items.to_pylist())] - truth.probs).sum(axis=1)
    each = ", ".join(f"{form} {mean_of(distance[form])}" for form in FORMS)
    less = [
        f"{form} by {gap}"
        for form in ("tokens", "top_two")
        if (gap := mean_of(distance["choice"] - distance[form])).low > 0
    ]
    nearer = f"Nearer than choice: {', '.join(less)}." if less else "None can be told to be nearer than choice."
    return [f"Mean labels lie so far from what these people believe on average (total variation): {each}. {nearer}"]


def _of_pools(folder: Path) -> str:
    """What each way of pooling leaves of the doubt, and how often its first class is the digit that was written."""
    gold = SoftLabels.read(folder / "gold.csv")
    said = []
    for name in ("mean", "bayes", "mixture-pool", "dawid-skene"):
        path = folder / ("labels.parquet" if name == "mean" else f"labels/{name}.parquet")
        labels = SoftLabels.read(path)
        probs = labels.probs[labels.rows_of(gold.items.to_pylist())]
        right = mean_of(100.0 * (probs.argmax(axis=1) == gold.probs.argmax(axis=1)))
        said.append(f"{name} {mean_of(entropy(probs)).told(' nats')}, {right.told('%')}")
    return (
        f"Doubt left in the labels, and how often the first class is the digit as written: {'; '.join(said)}. "
        "Dawid-Skene estimates what is true, the others how people judge."
    )


def _of_targets(folder: Path) -> list[str]:
    table = pl.read_csv(folder / "differences.csv", infer_schema_length=None)
    whole = table.filter(pl.col("condition") == "all").row(0, named=True)
    overall = [compared(table, "soft", metric, "all") for metric in UNITS]
    control = compared(table, "shuffled", "cross_entropy", "all")
    apart = [f"where {where}, {compared(table, 'soft', 'cross_entropy', where)}" for where in _strata(table)]
    return [
        f"Taught with {whole['n_seeds']} seeds, tested on {whole['n_items']} images held back: {'; '.join(overall)}.",
        f"Apart: {'; '.join(apart)}.",
        f"The control, people's labels dealt out anew within a digit: {control}. It keeps the doubt and loses which "
        "image it belongs to.",
    ]


def _strata(table: pl.DataFrame) -> list[str]:
    return [name for name in table["condition"].unique(maintain_order=True) if name != "all"]


def _of_attack(folder: Path) -> str:
    table = pl.read_csv(folder / "attacked-differences.csv", infer_schema_length=None)
    attack = next(name for name in table["condition"].unique(maintain_order=True) if name != "clean")
    each = "; ".join(compared(table, "soft", metric, attack) for metric in ("cross_entropy", "accuracy"))
    return f"On images changed by {attack.split(' targets')[0]}: {each}."


def _of_plan(folder: Path) -> list[str]:
    from sfumato.cli.plan_decide import decision
    from sfumato.planning.plan_file import Plan

    forms = pl.read_csv(folder / "forms.csv", infer_schema_length=None).filter(pl.col("goal") == "distribution")
    said = []
    for name in ("tokens", "top_two"):
        row = forms.row(by_predicate=pl.col("kind") == name, named=True)
        worth = DemoFigure(row["votes"], row["votes_low"], row["votes_high"])
        said.append(f"{name} is worth {worth} votes and takes {row['seconds']:.1f} s")
    vote = forms.row(by_predicate=pl.col("kind") == "choice", named=True)
    best = forms.sort("rank_budget").row(0, named=True)["kind"]
    return [
        f"Of an answer: {'; '.join(said)}; a vote takes {vote['seconds']:.1f} s. At equal cost {best} tells most about "
        "how people judge.",
        f"With 200 USD: {decision(Plan.read(folder / 'plan.json'))}",
    ]


def compared(table: pl.DataFrame, target: str, metric: str, condition: str) -> str:
    """How `target` compares with its baseline: by how much, where another training on other items would agree; or only
    another training, and it says so, where a metric has no interval over items."""
    row = table.row(
        by_predicate=(pl.col("target") == target) & (pl.col("metric") == metric) & (pl.col("condition") == condition),
        named=True,
    )
    title, scale, unit, more_is_better = UNITS[metric]
    gained = scale if more_is_better else -scale
    ends = ("both_low", "both_high")
    if row["both_low"] is None or np.isnan(row["both_low"]):
        ends, title = ("low", "high"), f"{title} (interval over seeds alone)"
    value = gained * float(row["difference"])
    low, high = sorted(gained * float(row[name]) for name in ends)
    names = f"{target} {{}} {row['baseline']}"
    if low > 0:
        return f"{names.format('beat')} by {DemoFigure(value, low, high).told(unit)} in {title}"
    if high < 0:
        return f"{names.format('lost to')} by {DemoFigure(-value, -high, -low).told(unit)} in {title}"
    return f"{names.format('and')} cannot be told apart in {title}: {shown(low, True)} to {shown(high, True)}{unit}"


def mean_of(values: Float[np.ndarray, "items"]) -> DemoFigure:
    """The mean over items, with a bootstrap interval over items."""
    rng = np.random.default_rng(0)
    drawn = Bootstrap.of(len(values), level=0.95, draws=DRAWS, rng=rng)
    interval = drawn.interval(drawn.sums(values, np.ones(len(values))), lambda sums: sums[:, 0] / sums[:, 1])
    return DemoFigure(float(np.mean(values)), interval.low, interval.high)


def shown(value: float, signed: bool = False) -> str:
    """A number in three digits or so: `.12`, `-3.4`, `92`."""
    if np.isnan(value):
        return "unknown"
    size = abs(value)
    text = f"{value:+.2f}" if size < 10 else f"{value:+.1f}"
    text = text.replace("+0.", "+.").replace("-0.", "-.")
    return text if signed or value < 0 else text.removeprefix("+")
