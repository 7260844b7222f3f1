"""HumanMixtures: mixed images that people judged, added to the training items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped

from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable, listing, wrong_shape
from sfumato.tables.setting_checks import between_0_and_1
from sfumato.training.mixing.mixture_judgments import Blend, Judgments, blends_of
from sfumato.training.target_labels import FixedLabels, PooledLabels
from sfumato.training.training_set import one_hot

Rows = Float[np.ndarray, "rows"]
Pictures = Shaped[np.ndarray, "items height width ..."]


@dataclass(frozen=True)
class MixtureSmoothing:
    """The share of a label that is spread over all classes, by an annotator's confidence: `s = gamma ** confidence`.

    Confidence 0 gives the uniform label. Confidence 1 gives s = gamma, or 0 if `rescaled`.
    """

    gamma: float = 0.005
    rescaled: bool = False

    def __post_init__(self) -> None:
        between_0_and_1("gamma", self.gamma)

    def of(self, confidence: Rows) -> Rows:
        s = self.gamma**confidence
        return (s - self.gamma) / (1 - self.gamma) if self.rescaled else s


@dataclass(frozen=True, eq=False)
class HumanMixtures:
    """A set of mixed images and several labels for them (Collins et al. 2023, human-in-the-loop mixup).

    `averaged` and `by_annotator` are people's judgments; `generating` (the labels of mixup), `uniform` and `random` are
    baselines. Row i of `images` and of the labels is `judgments.items[i]`.
    """

    images: Pictures
    judgments: Judgments

    @classmethod
    def of(
        cls,
        annotations: Annotations,
        images: Pictures,
        ids: Sequence[str] | None = None,
        *,
        blends: Mapping[str, Blend] | None = None,
        classes: Sequence[str] = (),
    ) -> HumanMixtures:
        """From answers of kind `mixture` and the images that were mixed; `ids` are row numbers by default.

        Without `blends`, the item names say what was mixed. Images are mixed in pixel space; uint8 is rounded.
        """
        ids = [str(i) for i in range(len(images))] if ids is None else list(ids)
        if len(ids) != len(images) or len(set(ids)) != len(ids):
            found = f"{len(set(ids)):,} different ids for {len(images):,} images"
            raise wrong_shape(found, "one id per image", "give every image its own id")
        blends = blends_of(annotations.item.names.to_pylist(), ids) if blends is None else blends
        judgments = Judgments.of(annotations, blends, classes)
        return cls(_mixed(images, ids, [blends[item] for item in judgments.items]), judgments)

    @property
    def items(self) -> tuple[str, ...]:
        return self.judgments.items

    @property
    def n_classes(self) -> int:
        return len(self.judgments.classes)

    def take(self, items: Sequence[str]) -> HumanMixtures:
        """Some of the mixtures, in the order of `items`."""
        judgments = self.judgments.take(items)
        place = {item: i for i, item in enumerate(self.items)}
        return HumanMixtures(self.images[[place[item] for item in items]], judgments)

    # --- people's judgments ---

    def averaged(self, smoothing: MixtureSmoothing | None = None) -> FixedLabels:
        """Two-hot with the mean share, smoothed by the mean confidence."""
        share, confidence = self.judgments.mean(self.judgments.share), self.judgments.mean(self.judgments.confidence)
        return FixedLabels.of(self._labels(np.arange(len(self.items)), share, confidence, smoothing))

    def by_annotator(self, smoothing: MixtureSmoothing | None = None) -> PooledLabels:
        """At every access one annotator's share, smoothed by that annotator's confidence."""
        judgments = self.judgments
        rows = self._labels(judgments.item_of_rows(), judgments.share, judgments.confidence, smoothing)
        return PooledLabels.of(rows, judgments.starts)

    def believed(self, beliefs: Beliefs, *, averaged: bool = False) -> FixedLabels | PooledLabels:
        """Labels from beliefs about the mixtures, of any question type: one belief per access, or their mean.

        Every mixture needs a belief; beliefs about other items are ignored.
        """
        if beliefs.classes != self.judgments.classes:
            found, fix = f"beliefs over {listing(beliefs.classes)}", "label the answers with these classes"
            raise BadTable(found, f"the classes {listing(self.judgments.classes)}, in this order", fix, "bad-classes")
        place = {item: i for i, item in enumerate(self.items)}
        item = np.array([place.get(name, -1) for name in beliefs.item.names.to_pylist()])[beliefs.item.codes]
        counts = np.bincount(item[item >= 0], minlength=len(self.items))
        if not counts.all():
            missing = f"{int((counts == 0).sum()):,} mixtures, {self.items[int(np.argmin(counts))]!r} among them"
            fix = "select the mixtures that have one with take(items)"
            raise BadTable(f"no belief about {missing}", "a belief about every mixture", fix, "missing-belief")
        order = np.argsort(item, kind="stable")[int((item < 0).sum()) :]
        pooled = PooledLabels.of(beliefs.probs[order], np.concatenate(([0], np.cumsum(counts))))
        return FixedLabels.of(pooled.mean()) if averaged else pooled

    # --- baselines ---

    def generating(self) -> FixedLabels:
        """Two-hot with the share of the mixture: the labels of mixup."""
        return FixedLabels.of(self._two_hot(np.arange(len(self.items)), self.judgments.generating))

    def uniform(self) -> FixedLabels:
        return FixedLabels.of(np.full((len(self.items), self.n_classes), 1 / self.n_classes))

    def random(self, rng: np.random.Generator) -> FixedLabels:
        """One random class per item, drawn once."""
        return FixedLabels.of(one_hot(rng.integers(self.n_classes, size=len(self.items)), self.n_classes))

    def _labels(
        self, item: Int[np.ndarray, "rows"], share: Rows, confidence: Rows, smoothing: MixtureSmoothing | None
    ) -> Float[np.ndarray, "rows classes"]:
        two_hot = self._two_hot(item, share)
        if smoothing is None:
            return two_hot
        s = smoothing.of(confidence)[:, None]
        return np.asarray((1 - s) * two_hot + s / self.n_classes)

    def _two_hot(self, item: Int[np.ndarray, "rows"], share: Rows) -> Float[np.ndarray, "rows classes"]:
        rows = np.arange(len(item))
        two_hot = np.zeros((len(item), self.n_classes))
        two_hot[rows, self.judgments.first[item]] += share
        two_hot[rows, self.judgments.second[item]] += 1 - share
        return two_hot


def _mixed(images: Pictures, ids: Sequence[str], blends: Sequence[Blend]) -> Pictures:
    place = {name: i for i, name in enumerate(ids)}
    missing = sorted({name for blend in blends for name in (blend.first, blend.second)} - place.keys())
    if missing:
        fix = "give the images that were mixed, with their ids"
        raise BadTable(f"no image called {listing(missing, 3)}", "every image that was mixed", fix, "missing-image")
    first = images[[place[blend.first] for blend in blends]].astype(np.float32)
    second = images[[place[blend.second] for blend in blends]].astype(np.float32)
    share = np.array([blend.share for blend in blends], np.float32).reshape(-1, *[1] * (images.ndim - 1))
    mixed = share * first + (1 - share) * second
    return np.rint(mixed).astype(np.uint8) if images.dtype == np.uint8 else mixed
