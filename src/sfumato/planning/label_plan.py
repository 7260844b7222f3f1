"""The whole answer to "which kind of label?", from what the user gives: numbers or a pilot, prices, what recovery is
worth. Called by `sfumato plan labels` and `sf.plan_labels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.planning.costs import CostModel, reading_seconds
from sfumato.planning.informativeness.kind_recovery import AUTO, Progress
from sfumato.planning.informativeness.label_types import LabelSet, LabelType, label_kinds_named
from sfumato.planning.label_assumptions import LabelAssumption, PilotAdvice, assumptions_of, pilot_advice
from sfumato.planning.label_choice import MOST_ITEMS, LabelChoice, LabelQuestion, choose_labels
from sfumato.planning.label_map import LabelMap, label_map
from sfumato.planning.label_prices import LabelPrices, Worth, prices_of, tradeoff_of
from sfumato.planning.pilot_geometry import (
    UNKNOWN_DIMENSIONS,
    DimensionEstimate,
    NoiseEstimate,
    PilotGeometry,
    dimensions_from_features,
    noise_from_error,
)
from sfumato.planning.pilot_kinds import PilotTable, read_pilot
from sfumato.tables.base_table import Table
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import above_0, at_least, not_negative

MOST_NAMED = 10
"""By default sparse labels name 2 to at most this many classes."""


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """The comparison of kinds of label, the map around it if asked for, and what it rests on."""

    choice: LabelChoice
    map: LabelMap | None
    assumptions: tuple[LabelAssumption, ...]
    advice: PilotAdvice | None
    dimensions: DimensionEstimate | None
    notes: tuple[str, ...]
    """What was read, and what was simulated otherwise than asked."""


def plan_labels(
    *,
    items: int | None = None,
    classes: int | None = None,
    pilot: PilotTable | Sequence[PilotTable] = (),
    features: Float[np.ndarray, "items features"] | None = None,
    kinds: Sequence[str] = (),
    cost: Sequence[str] = (),
    worth: str | None = None,
    beta: float | None = None,
    utility: str = "linear",
    budget: str | float | None = None,
    dimensions: Sequence[int] = (),
    noise: float | None = None,
    error: Mapping[str, float] | None = None,
    words: float = 0.0,
    costs: CostModel | None = None,
    embedder: str = AUTO,
    worlds: int | None = None,
    seed: int = 0,
    with_map: bool = False,
    workers: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> LabelPlan:
    """Which kind of label to collect for `items` items of `classes` classes: see `sfumato plan labels`.

    Numbers that are not given are those of the pilot or the features. `kinds` as typed (`sparse:2..10`), `cost` as
    typed (`soft=10`, `hard=0.02USD`), `worth` as typed (`0.5:0.9=200`), `budget` in money or as `"1600 labels"`.
    """
    rng = np.random.default_rng(np.random.SeedSequence(at_least("seed", seed, 0), spawn_key=(2**21,)))
    money = costs or CostModel()
    if noise is not None and error:
        raise BadSetting("both --noise and --error", "one of them", "give only the error rates")
    tables = [pilot] if isinstance(pilot, Table) else pilot
    summary = read_pilot(tables, dimensions=dimensions or None, costs=money, rng=rng) if tables else None
    n, k = _sizes(items, classes, (summary.n_items, summary.n_classes) if summary else None, features)
    named = kinds or _usual_kinds(k)
    chosen = label_kinds_named(named, n, k)
    geometry = summary.geometry if summary else PilotGeometry()
    estimate = geometry.dimensions
    if features is not None and not dimensions and estimate is None:
        estimate = dimensions_from_features(features, rng)
    used = tuple(dimensions) or (estimate.values if estimate else UNKNOWN_DIMENSIONS)
    noises = _noises(chosen, geometry, noise, error or {}, (n, k), used, rng)
    question = LabelQuestion(n, k, chosen, used, noises, embedder, seed, worlds)
    money = money.for_task(k, words=words)
    reading = reading_seconds(words)
    prices = prices_of(k, given=cost, seconds=geometry.seconds, costs=money, reading=reading)
    dearest = max(prices.total(kind, n, k) for kind in chosen)
    step = Worth.parse(worth) if worth is not None else None
    tradeoff = tradeoff_of(dearest, utility=utility, beta=beta, worth=step, hard=prices.hard)
    spent = _budget(budget, prices)
    choice = choose_labels(question, prices, tradeoff, budget=spent, workers=workers, cache=cache, progress=progress)
    drawn = None
    if with_map:
        drawn = label_map(question, prices, tradeoff, own=choice, workers=workers, cache=cache, progress=progress)
    assumed = assumptions_of(choice, estimate if not dimensions else DimensionEstimate(0, 0, 0, "given"))
    notes = [*geometry.notes, *(f"noise of {name} labels: {each.value:.2g} ({each.low:.2g} to {each.high:.2g}), "
                                f"{each.source}" for name, each in noises.items())]  # fmt: skip
    if estimate is not None:
        notes.append(f"dimensions: {estimate.best} ({estimate.low} to {estimate.high}), {estimate.source}")
    if n > MOST_ITEMS:
        notes.append(
            f"simulated with {MOST_ITEMS} of the {n:,} items: recovery hardly changes with more items of the same "
            "classes; prices are for all"
        )
    return LabelPlan(choice, drawn, assumed, pilot_advice(choice, assumed), estimate, tuple(notes))


def _usual_kinds(k: int) -> tuple[str, ...]:
    sparse = (f"sparse:2..{min(MOST_NAMED, k - 1)}",) if k > 2 else ()
    return ("hard", "soft", *sparse)


def _sizes(
    items: int | None,
    classes: int | None,
    of_pilot: tuple[int, int] | None,
    features: Float[np.ndarray, "items features"] | None,
) -> tuple[int, int]:
    """The numbers of items and classes: as given, else of the pilot or the features."""
    if items is None:
        items = len(features) if features is not None else of_pilot[0] if of_pilot else None
    if items is None:
        raise BadSetting("no number of items", "the number of items to label", "add --items 80, or a pilot")
    if of_pilot and classes is not None and classes != of_pilot[1]:
        found = f"--classes {classes} and a pilot of {of_pilot[1]} classes"
        raise BadSetting(found, "a pilot with the same classes", "omit --classes, or the pilot")
    if classes is None and of_pilot:
        classes = of_pilot[1]
    if classes is None:
        raise BadSetting("no number of classes", "the number of classes", "add --classes 20, or a pilot")
    return items, classes


def _noises(
    kinds: Sequence[LabelType],
    geometry: PilotGeometry,
    given: float | None,
    errors: Mapping[str, float],
    size: tuple[int, int],
    dimensions: Sequence[int],
    rng: np.random.Generator,
) -> dict[str, NoiseEstimate]:
    """The noise of every kind: from error rates, as given, or from the pilot; empty if nothing is known."""
    titles = {kind.title: kind for kind in kinds}
    found: dict[str, NoiseEstimate] = {}
    for name, rate in errors.items():
        kind = titles.get(name)
        if kind is None or not isinstance(kind, LabelSet):
            known = [title for title, each in titles.items() if isinstance(each, LabelSet)]
            raise BadSetting(f"--error {name}={rate:g}", f"one of the compared kinds: {', '.join(known)}", "correct it")
        found[name] = noise_from_error(kind, rate, *size, dimensions, rng)
    if given is not None:
        value = not_negative("noise", given)
        return {title: NoiseEstimate(value, value, value, "given") for title in titles} if value else {}
    every = PilotGeometry(noise={**geometry.noise, **found})
    return {title: each for title in titles if (each := every.noise_of(title)) is not None}


def _budget(text: str | float | None, prices: LabelPrices) -> float | None:
    """A budget in hard labels: `500` or `500 USD` is money, `1600 labels` are hard labels."""
    if text is None:
        return None
    number, _, unit = str(text).strip().partition(" ")
    try:
        amount = float(number.replace(",", ""))
    except ValueError:
        amount = float("nan")
    if amount != amount or unit.strip() not in ("", "labels", prices.currency):
        expected = f"500, '500 {prices.currency}' or '1600 labels' (in hard labels)"
        raise BadSetting(f"--budget {text!r}", expected, "choose another --budget")
    above_0("budget", amount)
    if unit.strip() == "labels":
        return amount
    assert prices.hard is not None, "a hard label has a price"
    return amount / above_0("price of a hard label", prices.hard.amount)
