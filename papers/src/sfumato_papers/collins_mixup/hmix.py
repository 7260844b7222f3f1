"""H-Mix as read here: all judgments, those of the collection that the thesis is about, and the mixed images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato import Annotations, Beliefs
from sfumato.importers import HMixImporter
from sfumato.training.mixing import HumanMixtures, Judgments, blends_of
from sfumato_papers.paper import Rerun, once

PAGES = (59, 60)
"""How many images a participant of the thesis' collection judged; those asked later judged 62."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments of mixed images by some participants; row by row the images that were mixed, by their number."""

    annotations: Annotations
    judgments: Judgments
    first_image: Int[np.ndarray, "rows"]
    second_image: Int[np.ndarray, "rows"]

    @classmethod
    def of(cls, annotations: Annotations) -> Collection:
        blends = blends_of(annotations.item.names.to_pylist(), ())
        judgments = Judgments.of(annotations, blends)
        item = judgments.item_of_rows()
        first = np.array([int(blends[name].first) for name in judgments.items])
        second = np.array([int(blends[name].second) for name in judgments.items])
        return cls(annotations, judgments, first[item], second[item])

    @property
    def generating(self) -> Float[np.ndarray, "rows"]:
        return np.asarray(self.judgments.generating[self.judgments.item_of_rows()])

    @property
    def n_annotators(self) -> int:
        return len(np.unique(self.annotations.annotator.codes))

    @property
    def relabeling(self) -> Float[np.ndarray, "rows"]:
        """How far each judgment lies from the coefficient."""
        return np.asarray(np.abs(self.judgments.share - self.generating))


@once
def all_collections(rerun: Rerun) -> Collection:
    """Everything released, from the 81 participants of two collections."""
    return Collection.of(rerun.data.table(HMixImporter(), Annotations, "hmix"))


@once
def thesis_collection(rerun: Rerun) -> Collection:
    """The judgments that there were when the thesis was written: of participants who saw 59 or 60 images."""
    annotations = all_collections(rerun).annotations
    n_pages = np.bincount(annotations.annotator.codes)
    return Collection.of(annotations.take(np.isin(n_pages[annotations.annotator.codes], PAGES)))


@once
def mixtures(rerun: Rerun) -> HumanMixtures:
    """The 810 mixed images of the thesis, with what its participants saw in them."""
    images = rerun.data.cifar_10_test.images
    assert images is not None
    return HumanMixtures.of(thesis_collection(rerun).annotations, images)


def soft_labels(rerun: Rerun) -> Beliefs:
    """Ten-class beliefs about 100 of the mixed images."""
    return rerun.data.table(HMixImporter(part="soft-labels"), Beliefs, "hmix")
