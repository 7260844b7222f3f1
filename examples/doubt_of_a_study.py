"""From a study's answers to the pictures people disagree about.

Run it anywhere: it uses the simulated study of `sfumato demo`.
"""

import tempfile
from pathlib import Path

from sfumato import Annotations, SoftLabels
from sfumato.demo.pond import CLASSES, write_study
from sfumato.label import TopTwoClamp
from sfumato.label.rules import RULE_SETS
from sfumato.label.screening import screen

with tempfile.TemporaryDirectory() as folder:
    write_study(Path(folder))
    annotations = Annotations.read(Path(folder) / "answers.csv", classes=CLASSES)
    gold = SoftLabels.read(Path(folder) / "gold.csv")

screening = screen(annotations, RULE_SETS["standard"], gold=gold)
used = annotations.for_purposes("label").without(screening.names_set_aside())
doubt = TopTwoClamp().label(used).doubt().to_polars()

print(f"set aside: {screening.names_set_aside()}")
print(doubt.sort("between", descending=True).head(3))
