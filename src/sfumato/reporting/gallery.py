"""A gallery: items side by side as people saw them, with what they said of each as small bars."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import ClassVar, final

from sfumato.reporting.data import Columns, DataSource
from sfumato.reporting.pictures import NOTHING, ItemThumbnail


@final
@dataclass(frozen=True)
class Bar:
    """One line of a distribution: a class, its share, and the share in words (`31 of 51`)."""

    name: str
    share: float
    words: str
    marked: bool = False

    @property
    def width(self) -> str:
        """The length of the bar, of 100."""
        return f"{100 * min(max(self.share, 0.0), 1.0):.1f}"


@final
@dataclass(frozen=True)
class ItemCard:
    """One item: its name, how it looks, a line about it, and its bars, longest first. `beside` is a second look, for
    pairs of items."""

    item: str
    look: ItemThumbnail
    bars: tuple[Bar, ...] = ()
    note: str = ""
    beside: ItemThumbnail = NOTHING


@final
@dataclass(frozen=True)
class Gallery:
    """Exhibits in as many columns as there is room for. `data` are all of their numbers, for a CSV."""

    name: str
    title: str
    caption: str
    exhibits: tuple[ItemCard, ...]
    data: Columns
    source: DataSource | None = None
    template: ClassVar[str] = "gallery.html"

    def _repr_html_(self) -> str:
        """The gallery for a notebook, which has no style sheet of ours."""
        cards = "".join(_card(exhibit) for exhibit in self.exhibits)
        return (
            f"<p><b>{escape(self.title)}</b><br>{escape(self.caption)}</p>"
            f'<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5em,1fr));gap:1em">{cards}</div>'
        )


def _card(exhibit: ItemCard) -> str:
    bars = "".join(
        f'<div style="font-size:.8em">{escape(bar.name)} {escape(bar.words)}'
        f'<div style="height:4px;width:{bar.width}%;background:#04528e"></div></div>'
        for bar in exhibit.bars
    )
    looks = "".join(_seen(look, exhibit.item) for look in (exhibit.look, exhibit.beside))
    return f"<div>{looks}<div><code>{escape(exhibit.item)}</code></div>{bars}</div>"


def _seen(look: ItemThumbnail, item: str) -> str:
    if look.picture:
        crisp = "image-rendering:pixelated;" if look.crisp else ""
        return f'<img alt="{escape(item)}" src="{look.picture}" style="width:100%;{crisp}">'
    return f"<blockquote>{escape(look.text)}</blockquote>" if look.text else ""
