"""Converts an answer into beliefs, with every labeler for its question type."""

import json

import numpy as np
import pyarrow as pa

from sfumato import Annotations
from sfumato.labeling import LABELERS, ClassSimilarity

CLASSES = ("cat", "dog", "fox", "owl")
ALIKE = np.array([[0, 3, 2, 1], [3, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]], dtype=float)

answer = {"first": "cat", "first_percent": 70, "second": "dog", "second_percent": 20, "impossible": ["owl"]}
row = {"item": ["photo"], "annotator": ["ann"], "kind": ["top_two/1"], "payload": [json.dumps(answer)]}
annotations = Annotations.from_arrow(pa.table(row), classes=CLASSES)

print(f"{'':18}" + "".join(f"{name:>7}" for name in CLASSES))
for labeler in LABELERS:
    if "top_two" in labeler.kinds:
        needs_similarity = "similarity" in labeler.__dataclass_fields__
        made = labeler(similarity=ClassSimilarity(CLASSES, ALIKE)) if needs_similarity else labeler()
        print(f"{labeler.name:18}" + "".join(f"{p:7.3f}" for p in made.label(annotations).probs[0]))
