"""Galleries: items as thumbnails or texts, each with its label as small bars and the votes of annotators."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from jaxtyping import Int, UInt8

from sfumato.reporting.blocks import Columns, DataSource, as_columns
from sfumato.reporting.item_votes import ItemVotes, rows_by_name
from sfumato.reporting.phrases import shorten
from sfumato.study.study import Study, Upscale
from sfumato.tables.errors import SfumatoError
from sfumato.tables.files.png import png_bytes
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels

if TYPE_CHECKING:
    from sfumato.reporting.report_inputs import ReportInputs
    from sfumato.study.stimulus import Item


LARGEST = 96
"""The longer side of a thumbnail in pixels; larger images are reduced."""
CRISP = 64
"""Images up to this size are shown without smoothing, so that their pixels are visible."""
LONGEST_TEXT = 280
MAX_BARS = 4
LEAST_SHARE = 0.005


@dataclass(frozen=True)
class ItemThumbnail:
    """An image as a data URI (`crisp`: without smoothing), or a text."""

    picture: str = ""
    crisp: bool = False
    text: str = ""


NOTHING = ItemThumbnail()


def thumbnails(items: Sequence[str], inputs: Inputs | None, study: Study | None = None) -> list[ItemThumbnail]:
    """The thumbnails of `items` from `inputs`, else from the items of the study; empty if neither has them.

    Image files of a study need Pillow. Files that cannot be read are skipped, so that the report can be written.
    """
    if inputs is not None:
        return [NOTHING if row < 0 else _of_inputs(inputs, int(row)) for row in inputs.rows_of(items)]
    return [NOTHING] * len(items) if study is None else _of_study(items, study)


def _of_inputs(inputs: Inputs, row: int) -> ItemThumbnail:
    if inputs.texts is not None:
        return ItemThumbnail(text=shorten(inputs.texts[row], LONGEST_TEXT))
    if inputs.images is None:
        return NOTHING
    picture = smaller(inputs.images[row])
    return ItemThumbnail(_uri(png_bytes(picture), "image/png"), crisp=max(picture.shape[:2]) <= CRISP)


def smaller(picture: UInt8[np.ndarray, "height width *channels"]) -> UInt8[np.ndarray, "less_h less_w *channels"]:
    """The image, averaged over blocks of pixels until no side is longer than `LARGEST`."""
    block = -(-max(picture.shape[:2]) // LARGEST)
    if block == 1:
        return picture
    height, width = (max(side // block, 1) * min(block, side) for side in picture.shape[:2])
    tall, wide = min(block, height), min(block, width)
    cut = picture[:height, :width].astype(np.float64)
    shape = (height // tall, tall, width // wide, wide, *picture.shape[2:])
    return np.asarray(cut.reshape(shape).mean(axis=(1, 3)).round(), np.uint8)


def _of_study(items: Sequence[str], study: Study) -> list[ItemThumbnail]:
    from sfumato.elicitation.items import read_items

    if study.items.npz is not None:
        return thumbnails(items, Inputs.read(study.items.npz) if study.items.npz.exists() else None)
    try:
        known = {each.id: each for each in read_items(study.items, study.class_names)}
    except SfumatoError:
        known = {}
    return [_of_item(known[item]) if item in known else NOTHING for item in items]


def _of_item(item: Item) -> ItemThumbnail:
    if item.text is not None:
        return ItemThumbnail(text=shorten(item.text, LONGEST_TEXT))
    if item.picture is None or find_spec("PIL") is None:
        return NOTHING
    from PIL import Image

    from sfumato.elicitation.item_images import rendered_file

    try:
        whole = rendered_file(item.picture, Upscale.NONE, 0)
    except SfumatoError:
        return NOTHING
    with Image.open(io.BytesIO(whole.data)) as image:
        is_small = max(image.size) <= CRISP
        if max(image.size) <= 2 * LARGEST:
            return ItemThumbnail(_uri(whole.data, whole.media_type), crisp=is_small)
        image.thumbnail((2 * LARGEST, 2 * LARGEST))
        file = io.BytesIO()
        image.convert("RGB").save(file, "JPEG", quality=85)
    return ItemThumbnail(_uri(file.getvalue(), "image/jpeg"))


def _uri(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


@final
@dataclass(frozen=True)
class Bar:
    """One class of a label: its share, and the share as text (`31 of 51`)."""

    name: str
    share: float
    words: str
    marked: bool = False

    @property
    def width(self) -> str:
        """The length of the bar in percent."""
        return f"{100 * min(max(self.share, 0.0), 1.0):.1f}"


@final
@dataclass(frozen=True)
class ItemCard:
    """One item: name, thumbnail, bars and note; for pairs of items, a `second` thumbnail."""

    item: str
    thumbnail: ItemThumbnail
    bars: tuple[Bar, ...] = ()
    note: str = ""
    second: ItemThumbnail = NOTHING


@final
@dataclass(frozen=True)
class Gallery:
    """Item cards in as many columns as fit. `data` are their numbers for the CSV."""

    name: str
    title: str
    caption: str
    cards: tuple[ItemCard, ...]
    data: Columns
    source: DataSource | None = None
    template: ClassVar[str] = "gallery.html"

    def _repr_html_(self) -> str:
        """The gallery for a notebook, with inline styles."""
        cards = "".join(_card(card) for card in self.cards)
        return (
            f"<p><b>{escape(self.title)}</b><br>{escape(self.caption)}</p>"
            f'<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5em,1fr));gap:1em">{cards}</div>'
        )


def _card(card: ItemCard) -> str:
    bars = "".join(
        f'<div style="font-size:.8em">{escape(bar.name)} {escape(bar.words)}'
        f'<div style="height:4px;width:{bar.width}%;background:#04528e"></div></div>'
        for bar in card.bars
    )
    images = "".join(_image(thumbnail, card.item) for thumbnail in (card.thumbnail, card.second))
    return f"<div>{images}<div><code>{escape(card.item)}</code></div>{bars}</div>"


def _image(thumbnail: ItemThumbnail, item: str) -> str:
    if thumbnail.picture:
        crisp = "image-rendering:pixelated;" if thumbnail.crisp else ""
        return f'<img alt="{escape(item)}" src="{thumbnail.picture}" style="width:100%;{crisp}">'
    return f"<blockquote>{escape(thumbnail.text)}</blockquote>" if thumbnail.text else ""


def item_cards(
    evidence: ReportInputs,
    labels: SoftLabels,
    rows: Sequence[int],
    notes: Sequence[str],
    marked: Sequence[str | None],
) -> tuple[ItemCard, ...]:
    """The items in these rows of `labels`. `marked` is one class per item to highlight, such as the original one."""
    items = labels.items.take(list(rows)).to_pylist()
    votes = vote_counts(evidence.votes, labels, rows)
    images = thumbnails(items, evidence.inputs, evidence.study)
    made = []
    for i, (row, own) in enumerate(zip(rows, marked, strict=True)):
        probs, bars = labels.probs[row], []
        n = 0 if votes is None else int(votes[i].sum())
        for rank, k in enumerate(np.argsort(-probs, kind="stable")):
            name = labels.classes[k]
            if (rank < MAX_BARS and probs[k] >= LEAST_SHARE) or name == own:
                words = f"{votes[i][k]} of {n}" if votes is not None and n else f"{probs[k]:.0%}"
                bars.append(Bar(name, float(probs[k]), words, name == own))
        made.append(ItemCard(items[i], images[i], tuple(bars), notes[i]))
    return tuple(made)


def card_columns(labels: SoftLabels, rows: Sequence[int]) -> Columns:
    """The distributions of item cards, one row per item, one column per class."""
    probs = {f"p:{name}": labels.probs[list(rows), k] for k, name in enumerate(labels.classes)}
    return as_columns({"item": labels.items.take(list(rows)).to_pylist(), **probs})


def vote_counts(
    votes: ItemVotes | None, labels: SoftLabels, rows: Sequence[int]
) -> Int[np.ndarray, "asked classes"] | None:
    """Annotators per most probable class, in the order of the labels' classes; None if the votes are unknown.

    Never computed from labels: 99.99% of five annotators is not five.
    """
    if votes is None or set(votes.classes) != set(labels.classes):
        return None
    at = rows_by_name(labels.items.take(list(rows)), votes.items)
    order = [votes.classes.index(name) for name in labels.classes]
    return np.where(at[:, None] >= 0, votes.counts[at][:, order], 0)
