"""Colors of pages and charts, for light and dark mode.

Specifications contain tokens: `var(--muted)`, or `series:soft` for the series named soft. A page maps series to CSS
variables, so that dark mode and print need no redrawing; static images get plain colors.

Series colors have the hues of Okabe and Ito (2008), with lightness chosen to maximize the smallest difference (OKLab;
Ottosson 2020) for normal and color-blind vision (Machado et al. 2009), at a contrast of at least 3:1 with the paper.
Text has a contrast of at least 4.5:1 on every step of a color scale: ink on light steps, paper on dark ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

SERIES = "series:"
N_SERIES = 6

KNOWN_SERIES = {"soft": 1, "hard": 2, "sparse": 3, "top-class": 4, "principal components": 5}
"""Series with the same color on every page; others get colors in order of appearance."""

LIGHT = {
    "ink": "#1f1d1a",
    "paper": "#fbfaf7",
    "raised": "#ffffff",
    "muted": "#625d55",
    "line": "#e3dfd6",
    "strong-line": "#8b857a",
    "accent": "#1f4e79",
    "accent-soft": "#e6eef5",
    "focus": "#0b63c5",
    "mark": "#b3261e",
}
DARK = {
    "ink": "#eceae5",
    "paper": "#191817",
    "raised": "#232220",
    "muted": "#aaa499",
    "line": "#33312e",
    "strong-line": "#827c72",
    "accent": "#9cc4e8",
    "accent-soft": "#22303c",
    "focus": "#7db8f5",
    "mark": "#ff8a7a",
}
SERIES_LIGHT = ("#04528e", "#a54c04", "#519d80", "#742b4e", "#bf7d02", "#0b77b3")
SERIES_DARK = ("#248cdf", "#d76f2a", "#95ecc9", "#986085", "#f3ab42", "#21c3fb")
RAMP_LIGHT = (
    "#eceef0",
    "#d0dce7",
    "#b4c9dd",
    "#98b7d3",
    "#7da5c9",
    "#638fb6",
    "#4c749a",
    "#365b7f",
    "#214365",
    "#0c2c4c",
)
RAMP_DARK = (
    "#262c32",
    "#293744",
    "#2d4156",
    "#2f4c69",
    "#31577c",
    "#436c93",
    "#6689ac",
    "#89a8c6",
    "#aec8e0",
    "#d3e8fb",
)
POLES_LIGHT = ("#8a3d05", "#a66231", "#dba377", "#e6c8b0", "#efede8", "#b6cadb", "#7ea8cd", "#4775a1", "#0c4576")
POLES_DARK = ("#f2a56a", "#bd7b4c", "#8a5330", "#593f2e", "#2b2a28", "#314557", "#33608a", "#568dbd", "#7cbcf2")


def variables(*, dark: bool) -> dict[str, str]:
    """All CSS variables by name."""
    return {
        **(DARK if dark else LIGHT),
        **{f"series-{i + 1}": each for i, each in enumerate(SERIES_DARK if dark else SERIES_LIGHT)},
        **{f"ramp-{i}": each for i, each in enumerate(RAMP_DARK if dark else RAMP_LIGHT)},
        **{f"poles-{i}": each for i, each in enumerate(POLES_DARK if dark else POLES_LIGHT)},
    }


def css(*, dark: bool) -> str:
    """The CSS variables as declarations."""
    return " ".join(f"--{name}: {value};" for name, value in variables(dark=dark).items())


def ramp(n_steps: int) -> list[str]:
    """Tokens of a sequential scale with `n_steps` evenly spaced steps."""
    last = len(RAMP_LIGHT) - 1
    return [f"var(--ramp-{round(i * last / max(n_steps - 1, 1))})" for i in range(n_steps)]


def poles(n_side: int) -> list[str]:
    """Tokens of a diverging scale with `n_side` steps on each side."""
    middle = len(POLES_LIGHT) // 2
    return [f"var(--poles-{middle + round(i * middle / n_side)})" for i in range(-n_side, n_side + 1)]


DARK_STEPS = {f"var(--ramp-{i})" for i in range(6, len(RAMP_LIGHT))} | {f"var(--poles-{i})" for i in (0, 1, 7, 8)}
"""Steps on which text needs the color of the paper."""


def series_of(specs: Iterable[Any]) -> dict[str, str]:
    """The color of every series, the same in all charts and unique within each chart.

    Known series have fixed colors; others take the first free one in order of appearance. Beyond six series per chart
    the color is gray: not everybody could distinguish more.
    """
    charts = [_series_in(spec) for spec in specs]
    slots = {name: KNOWN_SERIES[name] for names in charts for name in names if name in KNOWN_SERIES}
    for name in [name for names in charts for name in names]:
        if name not in slots:
            used = {slots.get(other) for names in charts if name in names for other in names}
            slots[name] = next((slot for slot in range(1, N_SERIES + 1) if slot not in used), 0)
    return {name: f"var(--series-{slot})" if slot else "var(--muted)" for name, slot in slots.items()}


def _series_in(spec: Any) -> list[str]:
    """The series in a specification, in order of appearance."""
    found: dict[str, None] = {}

    def note(text: str) -> str:
        if text.startswith(SERIES):
            found[text.removeprefix(SERIES)] = None
        return text

    _walked(spec, note)
    return list(found)


def with_series(spec: Any, colors: dict[str, str]) -> Any:
    """The specification with series tokens replaced by colors."""
    return _walked(spec, lambda text: colors[text.removeprefix(SERIES)] if text.startswith(SERIES) else text)


def themed(spec: Any, *, dark: bool) -> Any:
    """The specification of one chart with plain colors instead of tokens, for a static image."""
    named = {f"var(--{name})": value for name, value in variables(dark=dark).items()}
    data = spec.get("datasets")
    drawn = {name: value for name, value in spec.items() if name != "datasets"}
    plain = _walked(with_series(drawn, series_of([drawn])), lambda text: named.get(text, text))
    return {**plain, "background": named["var(--paper)"], "datasets": data}


def _walked(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with every text in it changed, except keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _walked(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_walked(each, change) for each in value]
    return value
