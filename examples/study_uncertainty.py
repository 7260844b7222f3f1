"""Serves a small demo study, sends simulated annotators through it over HTTP, and prints the most disputed pictures."""

import tempfile
from pathlib import Path

import numpy as np

from sfumato import Annotations
from sfumato.elicitation.items import read_items
from sfumato.elicitation.new_study import begin_study
from sfumato.elicitation.simulated_annotator import Truth, drawn_annotators
from sfumato.labeling import TokensLabeler
from sfumato.server.server import serve_study
from sfumato.server.simulated_visits import simulate, stimuli_in
from sfumato.store.export import export
from sfumato.store.location import StoreLocation, default_location
from sfumato.study import read_study

with tempfile.TemporaryDirectory() as name:
    study = read_study(begin_study(Path(name) / "birds", "tokens", demo=True))
    rng, store = np.random.default_rng(0), default_location(study)
    people = drawn_annotators(14, len(study.classes), rng)
    truth = Truth.built_in(study.class_names, read_items(study.items, study.class_names))
    with serve_study(study, store) as address, stimuli_in(store) as stimulus_of:
        print(f"{simulate(address, study, people, truth, stimulus_of, rng).n_acknowledged} answers")
    export(StoreLocation.of(store), study.name, Path(name) / "annotations.parquet")
    annotations = Annotations.read(Path(name) / "annotations.parquet")

doubt = TokensLabeler().label(annotations.for_purposes("label")).doubt().to_polars()
print(doubt.sort("between", descending=True).head(3))
