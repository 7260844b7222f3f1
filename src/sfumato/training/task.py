"""Task: networks to be trained side by side, and everything that decides how they come out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting
from sfumato.training.crowds import CrowdLabels
from sfumato.training.mixing import Plain
from sfumato.training.networks import Network
from sfumato.training.random_streams import generator_of
from sfumato.training.recipe import Recipe
from sfumato.training.target_labels import TargetLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True, eq=False)
class RunGroup:
    """Networks of one form that differ in their labels alone.

    All begin with the same weights, see the same batches and meet the same luck: what differs between them in the end
    is what their labels did.
    """

    names: tuple[str, ...]
    """What the members are called: their targets."""
    network: Network
    labels: tuple[TargetLabels, ...]
    lesson: TrainingSet
    pictures: Float[Tensor, "items channels height width"]
    recipe: Recipe
    seed: int
    tested: Float[Tensor, "tested channels height width"] | None = None
    """The pictures to be predicted."""
    start: dict[str, Tensor] | None = None
    """Weights to begin with, where not with new ones."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        assert len(self.names) == len(self.labels) == len(set(self.names)), "one name and one set of labels a member"
        assert len(self.pictures) == self.lesson.n_items, "one picture an item"
        if not isinstance(self.recipe.mixing, Plain) and any(isinstance(each, CrowdLabels) for each in self.labels):
            raise BadSetting(
                f"found the mixing {self.recipe.mixing.name} for a target that learns from a crowd",
                expected="pictures as people saw them",
                fix="leave the mixing or the target out",
                code="bad-setting",
            )
        if self.n_validation >= self.lesson.n_items:
            raise BadSetting(
                f"found {self.lesson.n_items} items of which {self.n_validation} would be held out",
                expected="at least one item to learn from",
                fix="give more items, or a smaller validation share",
                code="too-few-items",
            )

    @property
    def members(self) -> int:
        return len(self.names)

    @property
    def n_validation(self) -> int:
        share = self.recipe.validation
        return max(1, round(share * self.lesson.n_items)) if share else 0

    def split(self) -> tuple[Int[Tensor, "learnt"], Int[Tensor, "held_out"]]:
        """Items to learn from, and items to watch the loss on."""
        order = torch.randperm(self.lesson.n_items, generator=generator_of(self.seed, "validation"))
        held_out, learnt = order[: self.n_validation], order[self.n_validation :]
        return learnt.sort().values, held_out.sort().values

    def new_network(self) -> nn.Module:
        """The network every member begins with."""
        _, channels, height, width = self.pictures.shape
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator_of(self.seed, "weights").initial_seed())
            network = self.network.build((channels, height, width), self.lesson.n_classes)
        if self.start is not None:
            network.load_state_dict(self.start)
        network = network.to(self.device)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def gold(self) -> Int[np.ndarray, "items"]:
        """The class that counts as right in training dynamics: the original one, or else people's first choice."""
        if self.lesson.original is not None:
            return self.lesson.original
        return np.asarray(self.reference().argmax(1))

    def reference(self) -> Float[np.ndarray, "items classes"]:
        """The distribution that dynamics are compared with: people's, or else that of the first labels."""
        return self.labels[0].mean() if self.lesson.people is None else self.lesson.people
