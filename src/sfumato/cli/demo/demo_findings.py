"""The findings of a demo run, read from its files. A difference is stated only if its interval excludes 0."""

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
from sfumato.tables.mean_doubt import MeanFigure, mean_doubt
from sfumato.tables.soft_labels import SoftLabels

UNCERTAIN = 0.4
"""The dissent of an uncertain image: between 0.5 / 0.5 and 0.9 / 0.1."""
DRAWS = 2000
UNITS: Mapping[str, tuple[str, float, str, bool]] = {
    "cross_entropy": ("cross-entropy", 1.0, " nats", False),
    "accuracy": ("accuracy", 100.0, " points", True),
    "ece": ("expected calibration error", 1.0, "", False),
}
"""The name of a metric, its factor, its unit, and whether higher is better."""


@dataclass(frozen=True)
class DemoFigure:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.text()

    def text(self, unit: str = "") -> str:
        """The number, its unit, and the interval: `0.12 (0.08 to 0.16)`, `81% (73 to 88)`."""
        if np.isnan(self.low):
            return f"{number_text(self.value)}{unit} (no interval: too few values, or all equal)"
        low, high = number_text(self.low), number_text(self.high)
        return f"{number_text(self.value)}{unit} ({f'{low} or more' if np.isinf(self.high) else f'{low} to {high}'})"


def findings(folder: Path) -> list[str]:
    """The findings of the run in `folder`, one or two sentences each."""
    return [
        *_about_annotators(folder),
        *_about_forms(folder),
        _about_aggregation(folder),
        *_about_targets(folder),
        _about_attack(folder),
        *_about_plan(folder),
    ]


def _about_annotators(folder: Path) -> list[str]:
    """Excluded annotators, and uncertainty within and between annotators."""
    screened = pl.read_csv(folder / "screening.csv")
    beliefs = Beliefs.read(folder / "beliefs.parquet")
    doubt = beliefs.doubt()
    mean = mean_doubt(beliefs)
    of_votes = mean_doubt(Beliefs.read(folder / "choice" / "beliefs.parquet"))
    figures = (mean.dissent, mean.within, mean.between, of_votes.dissent)
    dissent, within, between, voted = (_percent(each) for each in figures)
    is_uncertain = doubt.dissent >= UNCERTAIN
    n_disputed = int((is_uncertain & (doubt.dissent_between > doubt.dissent_within)).sum())
    n_uncertain = int(is_uncertain.sum())
    more = doubt.dissent_between - doubt.dissent_within
    disputed, unclear = int(np.nanargmax(more)), int(np.nanargmin(more))
    return [
        f"{int(screened['set_aside'].sum())} of {len(screened)} annotators were excluded; screening.csv has the "
        "reasons.",
        f"Draws from two people's beliefs about an image differ in {dissent} of cases: {within} within annotators "
        f"(unsure) and {between} between annotators (disagreement). Single-choice answers differ in {voted} of "
        "cases, all as disagreement.",
        f"Of {n_uncertain} images with at least {UNCERTAIN:.0%}, annotators mostly disagree about "
        f"{n_disputed} and are mostly unsure about {n_uncertain - n_disputed}. Examples: {_parts(doubt, disputed)}; "
        f"{_parts(doubt, unclear)}.",
    ]


def _parts(doubt: Doubt, row: int) -> str:
    within, between = doubt.dissent_within[row], doubt.dissent_between[row]
    return f"{doubt.items[row].as_py()} {within:.0%} within, {between:.0%} between"


def _percent(figure: MeanFigure | None) -> str:
    """`27% (23 to 31)`."""
    if figure is None:
        return "an unknown share"
    low, high = figure.interval.low, figure.interval.high
    return f"{figure.value:.0%}" if np.isnan(low) else f"{figure.value:.0%} ({100 * low:.0f} to {100 * high:.0f})"


def _about_forms(folder: Path) -> list[str]:
    """The distance of each form's labels from the distributions that the simulated annotators were drawn from."""
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
    closer = f"Closer than choice: {', '.join(less)}." if less else "None is significantly closer than choice."
    return [f"Distance of the labels from the true mean belief (total variation): {each}. {closer}"]


def _about_aggregation(folder: Path) -> str:
    """The entropy and the accuracy of each aggregation."""
    gold = SoftLabels.read(folder / "gold.csv")
    results = []
    for name in ("mean", "bayes", "mixture-pool", "dawid-skene"):
        path = folder / ("labels.parquet" if name == "mean" else f"labels/{name}.parquet")
        labels = SoftLabels.read(path)
        probs = labels.probs[labels.rows_of(gold.items.to_pylist())]
        right = mean_of(100.0 * (probs.argmax(axis=1) == gold.probs.argmax(axis=1)))
        results.append(f"{name} {mean_of(entropy(probs)).text(' nats')}, {right.text('%')}")
    return (
        f"Entropy and accuracy of the aggregated labels: {'; '.join(results)}. Dawid-Skene estimates what is true, the "
        "others how people judge."
    )


def _about_targets(folder: Path) -> list[str]:
    table = pl.read_csv(folder / "differences.csv", infer_schema_length=None)
    whole = table.filter(pl.col("condition") == "all").row(0, named=True)
    overall = [comparison(table, "soft", metric, "all") for metric in UNITS]
    control = comparison(table, "shuffled", "cross_entropy", "all")
    parts = [name for name in table["condition"].unique(maintain_order=True) if name != "all"]
    strata = [f"where {where}: {comparison(table, 'soft', 'cross_entropy', where)}" for where in parts]
    return [
        f"{whole['n_seeds']} seeds, {whole['n_items']} test images: {'; '.join(overall)}.",
        f"By stratum, {'; '.join(strata)}.",
        f"Control with labels shuffled within each digit: {control}.",
    ]


def _about_attack(folder: Path) -> str:
    table = pl.read_csv(folder / "attacked-differences.csv", infer_schema_length=None)
    attack = next(name for name in table["condition"].unique(maintain_order=True) if name != "clean")
    each = "; ".join(comparison(table, "soft", metric, attack) for metric in ("cross_entropy", "accuracy"))
    return f"Under the attack {attack.split(' targets')[0]}: {each}."


def _about_plan(folder: Path) -> list[str]:
    from sfumato.planning.plan_file import Plan
    from sfumato.planning.plan_text import decision

    rates = pl.read_csv(folder / "rates.csv", infer_schema_length=None)
    rates = rates.filter((pl.col("goal") == "distribution") & (pl.col("n_answers") == 1))
    values = []
    for name in ("tokens", "top_two"):
        row = rates.filter(pl.col("kind") == name).row(0, named=True)
        values.append(f"{name} equals {DemoFigure(row['votes'], row['low'], row['high'])} votes")
    best = pl.read_csv(folder / "kinds.csv").sort("loss").row(0, named=True)
    return [
        f"One answer about how people judge: {'; '.join(values)}. For which items are alike, `sfumato plan labels` "
        f"recommends {best['kind']} labels (rho {best['rho']:.2f}).",
        decision(Plan.read(folder / "plan.json")),
    ]


def comparison(table: pl.DataFrame, target: str, metric: str, condition: str) -> str:
    """`target` compared with its baseline, with its interval over seeds and items."""
    row = table.row(
        by_predicate=(pl.col("target") == target) & (pl.col("metric") == metric) & (pl.col("condition") == condition),
        named=True,
    )
    title, scale, unit, more_is_better = UNITS[metric]
    gain = scale if more_is_better else -scale
    value = gain * float(row["difference"])
    if row["low"] is None or np.isnan(row["low"]):
        return f"no test of the difference in {title} between {target} and {row['baseline']}"
    low, high = sorted(gain * float(row[name]) for name in ("low", "high"))
    if low > 0 or high < 0:
        how, size = ("better", (value, low, high)) if low > 0 else ("worse", (-value, -high, -low))
        return f"{target} is {how} than {row['baseline']} in {title} by {DemoFigure(*size).text(unit)}"
    interval = f"95% CI {number_text(low, True)} to {number_text(high, True)}{unit}"
    return f"no evidence of a difference in {title} between {target} and {row['baseline']} ({interval})"


def mean_of(values: Float[np.ndarray, "items"]) -> DemoFigure:
    """The mean over items, with a bootstrap interval over items."""
    rng = np.random.default_rng(0)
    drawn = Bootstrap.of(len(values), level=0.95, draws=DRAWS, rng=rng)
    interval = drawn.interval(drawn.sums(values, np.ones(len(values))), lambda sums: sums[:, 0] / sums[:, 1])
    return DemoFigure(float(np.mean(values)), interval.low, interval.high)


def number_text(value: float, signed: bool = False) -> str:
    """A number with about three digits: `0.12`, `-3.40`, `92.1`."""
    if np.isnan(value):
        return "unknown"
    size = abs(value)
    text = f"{value:+.2f}" if size < 10 else f"{value:+.1f}"
    return text if signed or value < 0 else text.removeprefix("+")
