"""How tables look in a notebook: a few rows, every distribution drawn as a bar."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.tables.table import Table

N_ROWS = 8
# Okabe and Ito's palette (2008), its black (lost on a dark page) replaced, and two of Tol's: told apart by people with
# any colour vision; then greys.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999", "#882255", "#44AA99")

STYLE = (
    "<style>.sfumato td,.sfumato th{text-align:left!important;padding:.15em .8em .15em 0}"
    ".sfumato caption{text-align:left;font-weight:600}.sfumato .bar{display:flex;width:16em;height:1em;"
    "border:1px solid #8888;border-radius:2px;overflow:hidden}.sfumato .key i{display:inline-block;width:.8em;"
    "height:.8em;margin:0 .3em 0 .8em;border-radius:2px}</style>"
)


def table_html(table: Table) -> str:
    """The first rows of `table` as HTML, with a key of the classes where there are distributions."""
    head = table.chunk(0, min(N_ROWS, len(table)), wide=False)
    names = head.column_names
    header = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(name, row[name], table.classes)}</td>" for name in names) + "</tr>"
        for row in head.to_pylist()
    )
    key = "".join(
        f'<i style="background:{colour(k)}"></i>{escape(name)}'
        for k, name in enumerate(table.classes)
        if "probs" in names
    )
    more = f"<p>... and {len(table) - N_ROWS:,} more rows</p>" if len(table) > N_ROWS else ""
    return (
        f'<div class="sfumato">{STYLE}<table><caption>{type(table).__name__}: {len(table):,} rows</caption>'
        f'<thead><tr>{header}</tr></thead><tbody>{body}</tbody></table><p class="key">{key}</p>{more}</div>'
    )


def colour(k: int) -> str:
    """The colour of class number `k`."""
    return COLOURS[k] if k < len(COLOURS) else f"hsl(0 0% {30 + (k * 23) % 55}%)"


def _cell(name: str, value: Any, classes: tuple[str, ...]) -> str:
    if name == "probs":
        parts = "".join(
            f'<span style="width:{100 * p:.2f}%;background:{colour(k)}" title="{escape(classes[k])} {p:.3f}"></span>'
            for k, p in enumerate(value)
            if p > 0
        )
        return f'<span class="bar">{parts}</span>'
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "" if value is None else str(value)
    return escape(text if len(text) <= 120 else f"{text[:117]}...")
