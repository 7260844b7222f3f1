"""In-filling: labels for the items that have none yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.errors import BadSetting, listing
from sfumato.tables.soft_labels import SoftLabels, check_same_target


@dataclass(frozen=True)
class Infill:
    """The labels as they are, and for every further item of `filling` its row from there.

    With original labels as filling this is CIFAR-10S + hard, with `Sparsify(2)` of dense ones CIFAR-10S + dense
    (Sucholutsky et al. 2023, appendix D.2).
    """

    filling: SoftLabels = field(kw_only=True)

    name: ClassVar[str] = "infill"

    def apply(self, table: SoftLabels) -> SoftLabels:
        if not isinstance(table, SoftLabels) or self.filling.classes != table.classes:
            raise BadSetting(
                f"found {type(table).__name__} of {listing(table.classes)}, fill of {listing(self.filling.classes)}",
                expected="SoftLabels over the same classes in the same order",
                fix="fill SoftLabels, which have one row an item; name the classes alike",
                code="bad-classes",
            )
        missing = pc.invert(pc.is_in(self.filling.items, value_set=table.items)).to_numpy(zero_copy_only=False)
        counts = None
        if table.n_annotators is not None:
            filled = (
                np.zeros(int(missing.sum()), np.int32)
                if self.filling.n_annotators is None
                else self.filling.n_annotators[missing]
            )
            counts = np.concatenate([table.n_annotators, filled]).astype(np.int32)
        check_same_target(table, self.filling, "filling in")
        items = pa.concat_arrays([table.items, self.filling.items.filter(pa.array(missing))])
        return SoftLabels(
            items,
            table.classes,
            np.concatenate([table.probs, self.filling.probs[missing]]),
            counts,
            target=table.target,
        )
