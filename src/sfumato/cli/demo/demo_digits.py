"""The demo's images: handwritten digits of 8 x 8 pixels, some of them hard, and how one can see them.

The images are real (Alpaydin & Kaynak 1998, in scikit-learn: 1,797 of them, 43 writers' forms scaled down). What
simulated people see in them is real doubt about real images: a logistic regression that has not learnt from an image
says how probable each digit is, looking at a part of it only. Five parts make five views; where two views are sure of
different digits people will disagree, and where each is unsure nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from jaxtyping import Float, Int, UInt8

from sfumato.tables.doubt import entropy
from sfumato.tables.errors import MissingExtra
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.settings import at_least
from sfumato.tables.soft_labels import SoftLabels

CLASSES = tuple("0123456789")
SEED = 2026
SHARE_HARD = 1 / 3
SHARPER = 2.0
"""The power that the regressions' probabilities are raised to: people are surer than regressions of half an image."""
PARTS: Mapping[str, tuple[slice, slice]] = {
    "top": (slice(0, 5), slice(None)),
    "bottom": (slice(3, 8), slice(None)),
    "left": (slice(None), slice(0, 5)),
    "right": (slice(None), slice(3, 8)),
    "whole": (slice(None), slice(None)),
}
"""What each view looks at, rows and columns."""


@dataclass(frozen=True, eq=False)
class Digits:
    """Images, the digit each was written as, and the views of it."""

    items: tuple[str, ...]
    images: UInt8[np.ndarray, "items 8 8"]
    written: Int[np.ndarray, "items"]
    views: Float[np.ndarray, "views items classes"]

    @property
    def labels(self) -> list[str]:
        """The digit that each image was written as."""
        return [CLASSES[k] for k in self.written]

    @property
    def truth(self) -> SoftLabels:
        """What the simulated people together would say if all of them were asked without end: the mean view."""
        return SoftLabels.from_numpy(list(self.items), self.views.mean(axis=0), CLASSES, 0)

    def write(self, folder: Path) -> None:
        """Write `inputs.npz`, the classes twice (`original.csv`, and as SoftLabels `gold.csv`), `views.npz` and what
        the views come to, `truth.csv`."""
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
    """`n_images` of the digits: a third of them those that the views together are most in doubt about, the others
    drawn from the rest. The same every time."""
    at_least("images", n_images, 20)
    images, written = _all_digits()
    views = np.stack([_view(images[:, rows, columns], written) for rows, columns in PARTS.values()])
    doubt = entropy(views.mean(axis=0))
    n_images = min(n_images, len(images))
    by_doubt = np.argsort(-doubt, kind="stable")
    n_hard = round(SHARE_HARD * n_images)
    others = np.random.default_rng(SEED).choice(by_doubt[n_hard:], n_images - n_hard, replace=False)
    kept = np.sort(np.concatenate([by_doubt[:n_hard], others]))
    return Digits(
        tuple(f"digit-{row:04d}" for row in kept), np.rint(images[kept] * (255 / 16)).astype(np.uint8), written[kept],
        views[:, kept],
    )  # fmt: skip


def check_digits_installed() -> None:
    """Raise unless scikit-learn, which the digits come with, is installed."""
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise MissingExtra(
            "found no scikit-learn",
            expected="scikit-learn, which the demo's images come with",
            fix='pip install "sfumato[demo]"',
            code="missing-extra",
        )


def _all_digits() -> tuple[Float[np.ndarray, "items 8 8"], Int[np.ndarray, "items"]]:
    check_digits_installed()
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.images, digits.target.astype(np.int64)


def _view(pixels: Float[np.ndarray, "items height width"], written: Int[np.ndarray, "items"]) -> np.ndarray:
    """How probable each digit is by these pixels, to a regression that learnt from other images, made sharper."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    flat = pixels.reshape(len(pixels), -1) / 16
    # Threads that wait for each other cost far more than so small a regression.
    with threadpool_limits(1):
        probs = cross_val_predict(LogisticRegression(max_iter=300), flat, written, cv=folds, method="predict_proba")
    sharp = probs**SHARPER
    return np.asarray(sharp / sharp.sum(axis=1, keepdims=True))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--images", default=360, show_default=True, help="How many.")
@click.option("--people", default=60, show_default=True, help="How many people each study is for.")
@click.option("--answers", default=10, show_default=True, help="How many of them answer about an image.")
def main(folder: Path, images: int, people: int, answers: int) -> None:
    """Write the digits to FOLDER, and three studies about them, a form each."""
    from sfumato.cli.demo.demo_steps import write_studies

    digits = chosen_digits(images)
    folder.mkdir(parents=True, exist_ok=True)
    digits.write(folder)
    write_studies(folder, n_items=len(digits.items), n_people=people, n_answers=answers)
    click.echo(f"{folder}: {len(digits.items):,} images of digits, and three studies about them")


if __name__ == "__main__":
    main()
