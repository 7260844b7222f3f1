"""Class-pair mixing with the entropy-weighted loss (thesis, appendix C): one makes the labels, the other the loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from sfumato.training.mixing import ClassPair, EntropyWeighted, MixedBatch


@dataclass(frozen=True)
class ClassPairWeighted:
    """Labels in the proportion that people see, and a loss that spares a network which doubts.

    Tensors pass through here unseen: what they are is said by the two mixings.
    """

    pairs: ClassPair
    weighted: EntropyWeighted = field(default_factory=EntropyWeighted)

    name: ClassVar[str] = "class-pair-weighted"

    def mixed(self, x: Any, y: Any, draw: Any) -> MixedBatch:
        return self.pairs.mixed(x, y, draw)

    def losses(self, logits: Any, mixed: MixedBatch) -> Any:
        return self.weighted.losses(logits, mixed)
