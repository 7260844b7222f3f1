"""From a study that is served to the pictures people disagree about.

Run it anywhere: it asks the simulated people of `sfumato demo`, over HTTP, as people would be asked.
"""

import tempfile
from pathlib import Path

from sfumato import Annotations
from sfumato.demo.pond import answer_study, write_study
from sfumato.elicit.database import StorePlace
from sfumato.elicit.exporting import export
from sfumato.label import Tokens
from sfumato.label.rules import RULE_SETS
from sfumato.label.screening import screen

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write_study(folder)
    print(f"{answer_study(folder)} answers")
    export(StorePlace.of(folder / "store" / "answers.sqlite"), "pond", folder / "annotations.parquet")
    annotations = Annotations.read(folder / "annotations.parquet")

screening = screen(annotations, RULE_SETS["standard"])
used = annotations.for_purposes("label").without(screening.names_set_aside())
doubt = Tokens().label(used).doubt().to_polars()

print(f"set aside: {len(screening.names_set_aside())} of 14")
print(doubt.sort("between", descending=True).head(3))
