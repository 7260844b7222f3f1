"""Recipe: all training settings except target, network and seed; with the augmentation of images."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.errors import BadSetting
from sfumato.tables.option_words import option
from sfumato.tables.setting_checks import above_0, at_least, bad_setting, one_of
from sfumato.training.mixing.mixup import Mixing, Plain
from sfumato.training.optimizers import Adam, Constant, Schedule, Sgd


@dataclass(frozen=True)
class CropAndFlip:
    """A random crop of the original size after padding with zeros, mirrored half the time.

    The standardized image is padded, so that the padding has the mean gray. `pad=4` is usual for CIFAR-10; do not use
    `flip` for digits or letters.
    """

    pad: int = 4
    flip: bool = True

    name: ClassVar[str] = "crop-and-flip"

    def __post_init__(self) -> None:
        at_least("pad", self.pad, 0)

    def augmented(
        self, x: Float[Tensor, "batch channels height width"], draw: torch.Generator
    ) -> Float[Tensor, "batch channels height width"]:
        n, _, height, width = x.shape
        down = torch.randint(0, 2 * self.pad + 1, (n,), generator=draw).to(x.device)
        right = torch.randint(0, 2 * self.pad + 1, (n,), generator=draw).to(x.device)
        mirrored = (torch.rand(n, generator=draw) < 0.5).to(x.device) & self.flip
        rows = down[:, None] + torch.arange(height, device=x.device)
        columns = torch.arange(width, device=x.device).expand(n, width)
        columns = right[:, None] + torch.where(mirrored[:, None], width - 1 - columns, columns)
        padded = F.pad(x, [self.pad] * 4).permute(0, 2, 3, 1)
        picked = padded[torch.arange(n, device=x.device)[:, None, None], rows[:, :, None], columns[:, None, :]]
        return picked.permute(0, 3, 1, 2)


DYNAMICS = ("none", "online", "end", "both")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Recipe:
    """How to train. The defaults suit small images on a laptop."""

    epochs: int = 30
    batch_size: int = 64
    optimiser: Sgd | Adam = field(default_factory=Adam)
    schedule: Schedule = field(default_factory=Constant)
    mixing: Mixing = field(default_factory=Plain)
    augmentation: CropAndFlip | None = None
    clip: float | None = None
    """The largest norm of a network's gradient."""
    validation: float = 0.0
    """The share of training items used for validation, if the split names no validation items."""
    patience: int | None = None
    """Stop after this many epochs without a lower validation loss, and keep the best weights."""
    dynamics: str = "online"
    """When predictions of training items are recorded: in their batch (`online`, at no cost), at the `end` of each
    epoch, `both` or `none`."""
    predictions_each_epoch: bool = False
    """Keep predictions for the test items of every epoch, not only the last."""
    stacked: bool = True
    """Train the runs of a group as one wide network if possible."""
    precision: str = "float32"

    def __post_init__(self) -> None:
        at_least("epochs", self.epochs, 1)
        at_least("batch_size", self.batch_size, 1)
        if self.clip is not None:
            above_0("clip", self.clip)
        if not 0 <= self.validation < 1:
            raise bad_setting("validation", self.validation, "a share from 0 to below 1")
        if self.patience is not None:
            at_least("patience", self.patience, 1)
        one_of("dynamics", self.dynamics, DYNAMICS)
        one_of("precision", self.precision, PRECISIONS)

    def check_validation(self, *, has_items: bool) -> None:
        """Raise an error if the recipe needs validation items and there are none."""
        if (self.patience or self.schedule.needs_validation) and not has_items:
            setting = "patience" if self.patience else f"the schedule {self.schedule.name}"
            found = f"{setting} without validation items"
            raise BadSetting(found, "a share of the items for validation", f"give {option('validation', '0.1')}")
