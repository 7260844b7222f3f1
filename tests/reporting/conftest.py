"""For tests of reports: one chart of every family, a plan, and a Chromium that says what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from chromium import launched
from playwright.sync_api import Browser, Page

from sfumato.planning.plan_file import Plan
from sfumato.reporting import Chart, DataSource
from sfumato.reporting.charts import (
    Field,
    Marked,
    bars,
    confusion,
    curve,
    dots,
    heat_map,
    histogram,
    reliability,
    scatter,
)

SOURCE = DataSource("sfumato plan --pilot p.parquet", "p.parquet", "Of `p.parquet` alone.")
WORDS: dict[str, Any] = {"title": "A title", "caption": "What is to be seen.", "source": SOURCE}


@pytest.fixture(scope="session")
def charts() -> dict[str, Chart]:
    """One chart of every family, by name, some with odd names in their data."""
    rng = np.random.default_rng(0)
    m = np.arange(1, 9)
    ends = {"low": 0.8 / m, "high": 1.2 / m}
    x = rng.uniform(0, 1, 30)
    seconds = np.concatenate([rng.gamma(4, 5, 100), rng.gamma(4, 9, 60)])
    sure = np.linspace(0.1, 0.9, 5)
    sizes = [(n, k) for n in (3, 13, 22) for k in (3, 13)]
    answers, error = Field("answers", "answers an item", ",d"), Field("error", "error", zero=True)
    n, k = Field("n", "items", ",d"), Field("k", "classes", ",d")
    made = [
        curve(
            "curve", **WORDS, data={"answers": m, "error": 1 / m, **ends}, x=answers, y=error, low="low", high="high",
            marked=Marked(4, 0.25, "the plan"),
        ),
        curve(
            "curves", **WORDS, x=answers, y=error, series="kind", panel="size",
            data={"answers": [1, 2] * 4, "error": [0.4, 0.3] * 4, "kind": ["soft", "soft", "hard", "hard"] * 2,
                  "size": ["small"] * 4 + ["large"] * 4},
        ),
        dots(
            "dots", **WORDS, of="what", value=Field("v", "error"), low="low", high="high", emphasized="<b>plan</b>",
            data={"what": ["<b>plan</b>", "other"], "v": [0.2, 0.3], "low": [0.1, None], "high": [0.25, None]},
        ),
        bars(
            "bars", **WORDS, of="metric", value=Field("v", "value"), series="kind", low="low", high="high",
            data={"metric": ["a.b", "a.b", "c"], "kind": ["soft", "hard", "soft"], "v": [0.5, 0.25, 0.75],
                  "low": [0.4, 0.2, 0.7], "high": [0.6, 0.3, 0.8]},
        ),
        heat_map(
            "map", **WORDS, x=n, y=k, value=Field("rho", "rho", ".2f", domain=(0, 1)), panel="kind",
            data={"n": [a for a, _ in sizes] * 2, "k": [b for _, b in sizes] * 2, "rho": np.linspace(0, 1, 12),
                  "kind": ["soft"] * 6 + ["hard"] * 6},
        ),
        heat_map(
            "gains", **WORDS, x=n, y=k, value=Field("gain", "gain", "+.2f"), about=0, written=True, marked=(13, 3),
            data={"n": [a for a, _ in sizes], "k": [b for _, b in sizes], "gain": [-0.5, -0.2, 0.0, 0.1, 0.2, 0.3]},
        ),
        confusion("confusion", **WORDS, classes=["cat", "dog"], matrix=np.array([[9, 1], [3, 1]])),
        scatter(
            "scatter", **WORDS, x=Field("ratio", "ratio"), y=Field("p:cat", "share"), of="item", regression=True,
            data={"ratio": x, "p:cat": 2 * x + 1, "item": [f"</script>{i}" for i in range(30)]},
        ),
        histogram(
            "histogram", **WORDS, value=Field("s", "seconds"), series="kind", bins=12,
            data={"s": seconds, "kind": ["choice"] * 100 + ["top_two"] * 60},
        ),
        reliability(
            "reliability", **WORDS, low="low", high="high", n="n",
            data={"confidence": sure, "accuracy": sure**2, "low": sure**2 - 0.05, "high": sure**2 + 0.05,
                  "n": np.arange(5) * 10 + 10},
        ),
    ]  # fmt: skip
    return {chart.name: chart for chart in made}


def document(**changes: Any) -> dict[str, Any]:
    """A plan as it stands in its file."""
    other = {"kind": "choice", "assignment": "fewest", "n_items": 1000, "low": 0.0231, "high": 0.0297, "money": 74.4}
    written = {
        "sfumato_plan": 1,
        "goal": "distribution",
        "classes": ["cat", "dog", "emu"],
        "question": {"kind": "choice", "deeper": None, "seconds": 2.3},
        "items": "all",
        "n_items": 1000,
        "deeper_items": [],
        "answers": {"assignment": "fewest", "each": 7},
        "expected": {"measure": "kl", "value": 0.0213, "low": 0.0188, "high": 0.0242, "from": "pilot of 500 items"},
        "cost": {"money": 72.31, "currency": "USD", "answers": 7000, "hours": 4.9, "people": 35, "an_answer": 0.0103},
        "budget": {"amount": 500, "unit": "USD"},
        "curve": [
            {"answers": m, "value": 0.13 / m + 0.002, "low": 0.11 / m, "high": 0.15 / m + 0.002, "money": 10.3 * m}
            for m in (1, 2, 3, 5, 7, 10, 20)
        ],
        "alternatives": [
            {"what": "8 answers an item", "each": 8, "value": 0.0262, "why_not": "it costs more", **other},
            {"what": "<i>top_two</i>", "each": 2, "value": 0.041, "why_not": "it takes longer", **other},
        ],
        "would_change": ["A wage above 95 USD an hour.", "Other items in the `pilot`."],
        "assumptions": [{"what": "wage an hour", "value": "12 USD", "source": "assumed"}],
        "made": {"version": "0.1.0", "at": "2026-11-16T10:00:00Z", "command": "sfumato plan", "seed": 3, "pilot": None},
    }
    return {**written, **changes}


@pytest.fixture
def plan_with() -> Callable[..., Plan]:
    """A maker of plans: the usual one, with these fields changed."""
    return lambda **changes: Plan.of(document(**changes))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def visitor(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """A maker of browser pages; what is said on the console, thrown, or asked of a network fails the test.

    With `forgiving=True` it does not.
    """
    faults: list[str] = []
    with ExitStack() as stack:

        def opened(*, forgiving: bool = False, **options: Any) -> Page:
            context = chromium.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(20_000)
            if forgiving:
                return page
            page.on("pageerror", lambda error: faults.append(f"thrown: {error}"))
            page.on("console", lambda said: faults.append(f"console: {said.text}"))
            page.on("request", lambda sent: sent.url.startswith(("file:", "data:")) or faults.append(sent.url))
            return page

        yield opened
    assert not faults
