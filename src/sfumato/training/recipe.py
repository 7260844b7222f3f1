"""Recipe: how networks are trained. Every setting that is not the target, the network or the seed."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import above_0, at_least, bad_setting, one_of
from sfumato.training.augmenting import CropAndFlip
from sfumato.training.mixing import Mixing, Plain
from sfumato.training.optimisers import Adam, Sgd
from sfumato.training.schedules import Constant, Schedule

DYNAMICS = ("none", "online", "end", "both")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Recipe:
    """How to train. The defaults suit small pictures on a laptop."""

    epochs: int = 30
    batch_size: int = 64
    optimiser: Sgd | Adam = field(default_factory=Adam)
    schedule: Schedule = field(default_factory=Constant)
    mixing: Mixing = field(default_factory=Plain)
    augmentation: CropAndFlip | None = None
    clip: float | None = None
    """The longest a network's gradient may be."""
    validation: float = 0.0
    """The share of training items held out to watch the loss on."""
    patience: int | None = None
    """Stop after so many epochs without a better validation loss, and go back to the best."""
    dynamics: str = "online"
    """When to note how each training item is predicted: while it is learnt from (`online`, for free), at the `end` of
    each epoch, `both` or `none`."""
    predictions_each_epoch: bool = False
    """Keep what is predicted for the test items after every epoch, not only the last."""
    stacked: bool = True
    """Train as one wide network what can be."""
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
        if (self.patience or self.schedule.needs_validation) and not self.validation:
            watcher = "patience" if self.patience else f"the schedule {self.schedule.name}"
            raise BadSetting(
                f"found {watcher} without validation items",
                expected="a share of the items to watch the loss on",
                fix="give validation, for example 0.1",
                code="bad-setting",
            )
