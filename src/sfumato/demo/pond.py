"""Birds on a pond: eighteen photographs, told in words, and fourteen simulated people, one of whom does not look.

Nobody was asked: the answers are drawn from the views written down here, with a fixed seed. But they take the way that
people's answers take: through the forms of a study that is served, over HTTP, into its store.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.elicit.items import read_items
from sfumato.elicit.simulated import Asked, Response, Truth
from sfumato.soft_labels import SoftLabels
from sfumato.study_file import read_study

CLASSES = ("duck", "goose", "swan", "heron", "coot")
N_PEOPLE = 14
SEED = 2026


@dataclass(frozen=True)
class Photo:
    """A photograph: what it shows, its class, and the views people take of it, each held by a share of them."""

    item: str
    shows: str
    truth: str
    views: tuple[tuple[float, tuple[float, ...]], ...]


def _all(*belief: float) -> tuple[tuple[float, tuple[float, ...]], ...]:
    return ((1.0, belief),)


PHOTOS = (
    Photo("photo-01", "a mallard, side on, in the sun", "duck", _all(0.98, 0.01, 0.00, 0.00, 0.01)),
    Photo("photo-02", "a swan with cygnets", "swan", _all(0.00, 0.01, 0.99, 0.00, 0.00)),
    Photo("photo-03", "a heron on a post", "heron", _all(0.00, 0.00, 0.01, 0.99, 0.00)),
    Photo("photo-04", "a coot on its nest", "coot", _all(0.03, 0.00, 0.00, 0.00, 0.97)),
    Photo("photo-05", "geese in a row on the bank", "goose", _all(0.02, 0.96, 0.02, 0.00, 0.00)),
    Photo("photo-06", "a duck far out, against the light", "duck", _all(0.70, 0.12, 0.00, 0.00, 0.18)),
    Photo("photo-07", "something dark between reeds", "coot", _all(0.36, 0.08, 0.00, 0.14, 0.42)),
    Photo("photo-08", "a young swan, still grey", "swan",
          ((0.5, (0.02, 0.95, 0.03, 0.00, 0.00)), (0.5, (0.01, 0.04, 0.95, 0.00, 0.00)))),
    Photo("photo-09", "a white farmyard goose", "goose",
          ((0.6, (0.00, 0.93, 0.07, 0.00, 0.00)), (0.4, (0.02, 0.06, 0.92, 0.00, 0.00)))),
    Photo("photo-10", "a heron in flight, far away", "heron", _all(0.02, 0.16, 0.12, 0.70, 0.00)),
    Photo("photo-11", "a back under water, no head", "duck", _all(0.45, 0.25, 0.20, 0.00, 0.10)),
    Photo("photo-12", "a moorhen, which is none of these", "coot",
          ((0.75, (0.05, 0.00, 0.00, 0.00, 0.95)), (0.25, (0.90, 0.00, 0.00, 0.00, 0.10)))),
    Photo("photo-13", "ducklings", "duck", _all(0.90, 0.07, 0.02, 0.00, 0.01)),
    Photo("photo-14", "fog", "swan", _all(0.22, 0.22, 0.24, 0.17, 0.15)),
    Photo("photo-15", "a Canada goose swimming", "goose", _all(0.12, 0.86, 0.02, 0.00, 0.00)),
    Photo("photo-16", "a coot diving", "coot", _all(0.28, 0.00, 0.00, 0.00, 0.72)),
)  # fmt: skip
CLEAR = (
    Photo("photo-17", "a swan, full frame", "swan", _all(0.00, 0.00, 1.00, 0.00, 0.00)),
    Photo("photo-18", "a heron, full frame", "heron", _all(0.00, 0.00, 0.00, 1.00, 0.00)),
)
PICTURES = {photo.item: photo for photo in (*PHOTOS, *CLEAR)}
STUDY = """\
# A study file: what is asked, about which items, of whom. `sfumato study new` writes one with every key explained.
title = "Birds on a pond"
name = "pond"
classes = ["duck", "goose", "swan", "heron", "coot"]

[items]
csv = "photographs.csv"

[question]
kind = "tokens"

[pages]
consent = "The answers stay on this machine. You can stop at any time."
instructions = '''
Each page describes a **photograph** taken at a pond. Which bird is it?

Place ten tokens: all on one bird if you are sure, spread out if you are not. Press a bird's key to put all ten there,
another's to move one over; `Enter` goes on.
'''

[people]
answers_per_item = 20
batch_size = 18
repeats = 2
"""


@dataclass(frozen=True)
class Visitor:
    """Somebody at the pond: looks and takes one of the views people take of a photograph, or does not look at all."""

    number: int
    looks: bool = True
    attention: float = 1.0

    def answer(self, truths: Sequence[np.ndarray], asked: Asked, rng: np.random.Generator) -> Response:  # noqa: ARG002
        """Tokens as this person places them, and the seconds that takes."""
        if not self.looks:
            return Response({"tokens": {"duck": 10}, "others": False}, float(0.7 * rng.lognormal(0, 0.25)))
        # The same person sees the same in a photograph when it comes again.
        own = np.random.default_rng([SEED, self.number, list(PICTURES).index(asked.stimulus.item)])
        belief = _view(PICTURES[asked.stimulus.item], own)
        raw = asked.kind.simulate([belief.tolist()], asked.stimulus, asked.study, rng)
        return Response(raw, float((2 + 4 * (1 - belief.max())) * rng.lognormal(0, 0.25)))


def write_study(folder: Path) -> None:
    """The study: `study.toml`, `photographs.csv`, and the classes of its photographs, `gold.csv`."""
    (folder / "study.toml").write_text(STUDY, "utf-8")
    with (folder / "photographs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "text"), *((photo.item, photo.shows) for photo in PICTURES.values())])
    gold = SoftLabels.one_hot(list(PICTURES), [photo.truth for photo in PICTURES.values()], CLASSES)
    gold.write(folder / "gold.csv")


def answer_study(folder: Path) -> int:
    """Serve the study and send the visitors of the pond through it; returns how many answers were stored."""
    from sfumato.web.serving import running, store_beside
    from sfumato.web.simulation import simulate, stimuli_in

    study = read_study(folder)
    truth = Truth.built_in(study.class_names, read_items(study.items, study.class_names))
    people = [Visitor(number, looks=number != 0) for number in range(N_PEOPLE)]
    with running(study) as address, stimuli_in(store_beside(study)) as stimulus_of:
        summary = simulate(address, study, people, truth, stimulus_of, np.random.default_rng(SEED))
    return summary.n_acknowledged


def _view(photo: Photo, rng: np.random.Generator) -> np.ndarray:
    """One person's belief: one of the views, with a little of their own."""
    which = rng.choice(len(photo.views), p=[share for share, _ in photo.views])
    view = np.array(photo.views[which][1])
    own = np.where(view > 0, rng.gamma(40 * view + 0.5), 0)
    return np.asarray(own / own.sum())
