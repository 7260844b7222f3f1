"""Section 4.2.1: what was shown, to how many, and how much more was collected later."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sfumato.training.mixing import blends_of
from sfumato_papers.collins_mixup.hmix import Collection, all_collections, thesis_collection
from sfumato_papers.collins_mixup.midpoints import TASKS, answers
from sfumato_papers.finding import Estimate, Finding, Published, Statement
from sfumato_papers.paper import Part, Rerun


def section_4_2_1(rerun: Rerun) -> Part:
    thesis, everyone = thesis_collection(rerun), all_collections(rerun)
    told = thesis.judgments
    by_pair = Counter(zip(told.first.tolist(), told.second.tolist(), strict=True))
    pages = np.bincount(thesis.annotations.annotator.codes)
    again = np.bincount(thesis.annotations.annotator.codes, _is_repeat(thesis))
    seen_by = [len(set(rows)) for rows in _annotators_by_item(thesis)]
    images = {b for blend in blends_of(told.items, ()).values() for b in (blend.first, blend.second)}
    pairs = {(blend.first, blend.second) for blend in blends_of(told.items, ()).values()}
    train = set(map(str, rerun.data.cifar_split()[0].tolist()))

    def row(name: str, published: str, value: float, how: str = "") -> Finding:
        return Finding(name, "the thesis' collection", Published(published), Estimate(float(value)), how=how, places=0)

    def later(name: str, value: float) -> Finding:
        return Finding(name, "all of H-Mix", None, Estimate(float(value)), places=0)

    n_three = len(set(_all_participants(rerun)))
    return Part(
        "Section 4.2.1",
        "Stimuli and participants",
        (
            row("participants", "33", thesis.n_annotators),
            row("images a participant, at least", "59", pages.min()),
            row("images a participant, at most", "60", pages.max()),
            row("of these shown twice", "2", again.max(), f"everyone the same: {set(again.tolist()) == {2.0}}"),
            row("stimuli", "810", len(told.items)),
            row("class combinations", "45", len(by_pair)),
            row("pairs of images a class combination", "6", len(pairs) / len(by_pair)),
            row("stimuli a pair of images", "3", len(told.items) / len(pairs)),
            row("participants an image, at least", "2", min(seen_by)),
            Statement(
                "images mixed",
                "are from the 7,000 that networks learn from",
                images <= train,
                f"{len(images & train):,} of {len(images):,} images",
            ),
            later("participants", everyone.n_annotators),
            later("stimuli", len(everyone.judgments.items)),
            later("judgments", len(everyone.judgments.share)),
            Finding(
                "participants in every task together (UAI paper, abstract)",
                "all of H-Mix",
                Published("159"),
                Estimate(float(n_three + 8)),
                how=f"{n_three} ids in the three released tables, and the 8 who gave ten-class labels, as the thesis "
                "counts them: the released labels have no ids",
                places=0,
            ),
        ),
        about="H-Mix was collected in rounds. The thesis' round is recognized by its pages: its participants judged "
        "59 or 60 "
        "images, all others 62. No image of one round is in another.",
    )


def _is_repeat(collection: Collection) -> np.ndarray:
    names = np.array(collection.annotations.purpose.names.to_pylist(), object)
    return np.asarray(names[collection.annotations.purpose.codes] == "repeat").astype(float)


def _annotators_by_item(collection: Collection) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(len(collection.annotations.item.names))]
    for item, who in zip(
        collection.annotations.item.codes.tolist(), collection.annotations.annotator.codes.tolist(), strict=True
    ):
        found[item].append(who)
    return found


def _all_participants(rerun: Rerun) -> list[str]:
    """Whoever answered in one of the three tasks, whose ids are shared."""
    return [
        *all_collections(rerun).annotations.annotator.names.to_pylist(),
        *(who for task in TASKS for who in answers(rerun, task).annotators),
    ]
