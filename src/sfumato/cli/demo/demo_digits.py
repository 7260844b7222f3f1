"""The images of the demo: handwritten digits of 8 x 8 pixels, and five simulated views of each.

The 1,797 images are from scikit-learn (Alpaydin & Kaynak 1998). A view is the prediction of a logistic regression for
one part of an image, trained on other images. Annotators disagree if views are sure of different digits, and are
unsure if every view is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from jaxtyping import Float, Int, UInt8

from sfumato.tables.doubt import entropy
from sfumato.tables.errors import missing_extra
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.setting_checks import at_least
from sfumato.tables.soft_labels import SoftLabels

CLASSES = tuple("0123456789")
SEED = 2026
SHARE_HARD = 1 / 3
SHARPER = 2.0
"""The exponent of the regressions' probabilities: people are more certain than a regression on half an image."""
PARTS: Mapping[str, tuple[slice, slice]] = {
    "top": (slice(0, 5), slice(None)),
    "bottom": (slice(3, 8), slice(None)),
    "left": (slice(None), slice(0, 5)),
    "right": (slice(None), slice(3, 8)),
    "whole": (slice(None), slice(None)),
}
"""The rows and columns of each view."""


@dataclass(frozen=True, eq=False)
class Digits:
    """Images, the digits they were written as, and their views."""

    items: tuple[str, ...]
    images: UInt8[np.ndarray, "items 8 8"]
    written: Int[np.ndarray, "items"]
    views: Float[np.ndarray, "views items classes"]

    @property
    def labels(self) -> list[str]:
        """The digit of each image."""
        return [CLASSES[k] for k in self.written]

    @property
    def truth(self) -> SoftLabels:
        """The mean view, which infinitely many simulated annotators would give."""
        return SoftLabels.from_numpy(list(self.items), self.views.mean(axis=0), CLASSES, 0, estimand="judgment")

    def write(self, folder: Path) -> None:
        """Write `inputs.npz`, the digits (`original.csv`, and as SoftLabels `gold.csv`), `views.npz`, and the mean view
        (`truth.csv`)."""
        names = np.array(self.items)
        with atomic_write(folder / "inputs.npz") as part, part.open("wb") as file:
            np.savez(file, images=self.images, items=names, labels=np.array(self.labels))
        with atomic_write(folder / "views.npz") as part, part.open("wb") as file:
            np.savez(file, views=self.views, items=names)
        with atomic_write(folder / "original.csv") as part:
            rows = (f"{item},{label}\n" for item, label in zip(self.items, self.labels, strict=True))
            part.write_text("item,label\n" + "".join(rows), "utf-8")
        SoftLabels.one_hot(list(self.items), self.labels, CLASSES).write(folder / "gold.csv")
        self.truth.write(folder / "truth.csv")


def chosen_digits(n_images: int) -> Digits:
    """`n_images` digits: one third with the highest entropy of the mean view, the others a fixed random sample."""
    at_least("images", n_images, 20)
    images, written = _all_digits()
    views = np.stack([_view(images[:, rows, columns], written) for rows, columns in PARTS.values()])
    n_images = min(n_images, len(images))
    by_entropy = np.argsort(-entropy(views.mean(axis=0)), kind="stable")
    n_hard = round(SHARE_HARD * n_images)
    others = np.random.default_rng(SEED).choice(by_entropy[n_hard:], n_images - n_hard, replace=False)
    kept = np.sort(np.concatenate([by_entropy[:n_hard], others]))
    return Digits(
        tuple(f"digit-{row:04d}" for row in kept), np.rint(images[kept] * (255 / 16)).astype(np.uint8), written[kept],
        views[:, kept],
    )  # fmt: skip


def check_digits_installed() -> None:
    """Raise if scikit-learn, which contains the digits, is missing."""
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise missing_extra("scikit-learn", "which contains the images of the demo", "demo")


def _all_digits() -> tuple[Float[np.ndarray, "items 8 8"], Int[np.ndarray, "items"]]:
    check_digits_installed()
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.images, digits.target.astype(np.int64)


def _view(pixels: Float[np.ndarray, "items height width"], written: Int[np.ndarray, "items"]) -> np.ndarray:
    """Sharpened cross-validated probabilities of each digit from these pixels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    flat = pixels.reshape(len(pixels), -1) / 16
    # For such a small regression, threads cost more than they save.
    with threadpool_limits(1):
        probs = cross_val_predict(LogisticRegression(max_iter=300), flat, written, cv=folds, method="predict_proba")
    sharp = probs**SHARPER
    return np.asarray(sharp / sharp.sum(axis=1, keepdims=True))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--images", default=360, show_default=True, help="Number of images.")
@click.option("--people", default=60, show_default=True, help="Annotators per study.")
@click.option("--answers", default=10, show_default=True, help="Answers per image.")
def main(folder: Path, images: int, people: int, answers: int) -> None:
    """Write the digits and three studies about them to FOLDER."""
    from sfumato.cli.demo.demo_steps import write_studies

    digits = chosen_digits(images)
    folder.mkdir(parents=True, exist_ok=True)
    digits.write(folder)
    write_studies(folder, n_items=len(digits.items), n_people=people, n_answers=answers)
    click.echo(f"{folder}: {len(digits.items):,} images of digits, three studies")


if __name__ == "__main__":
    main()
