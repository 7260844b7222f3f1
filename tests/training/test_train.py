"""`sf.train`: from tables in memory to predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_data

import sfumato as sf
from sfumato.tables.errors import BadTable, SfumatoWarning, UnknownName
from sfumato.tables.estimand import Estimand
from sfumato.training.networks import SimpleFfn
from sfumato.training.recipe import Recipe
from sfumato.training.run_folder import Run
from sfumato.training.splits import KFold
from sfumato.training.targets import SmoothingTarget

SMALL = Recipe(epochs=1, batch_size=16)


def test_one_table_of_labels_and_names(tmp_path: Path) -> None:
    with pytest.warns(SfumatoWarning, match=r"inputs without ids are taken in the order of the labels \(i0, i1, i2"):
        models = sf.train(
            toy_data.images(), toy_data.people(), targets="soft, majority", model="simple-ffn", seeds=2, recipe=SMALL,
            output=tmp_path / "runs",
        )  # fmt: skip
    assert [run.folder.name for run in models.runs][:2] == [
        "soft.simple-ffn.seed-0.fold-0", "majority.simple-ffn.seed-0.fold-0"
    ]  # fmt: skip
    one, other = (models.predictions("soft", seed=seed) for seed in (0, 1))
    stored = Run.read(tmp_path / "runs" / "soft.simple-ffn.seed-0.fold-0").predictions
    assert stored is not None
    np.testing.assert_array_equal(one.probs, stored.probs)
    np.testing.assert_allclose(models.predictions("soft").probs, (one.probs + other.probs) / 2)
    with pytest.raises(UnknownName, match="did you mean 'soft'"):
        models.predictions("sofd")


def test_sources_by_name_and_objects_in_a_temporary_folder() -> None:
    original = sf.SoftLabels.one_hot(toy_data.ITEMS, [toy_data.CLASSES[k] for k in toy_data.NUMBERS], toy_data.CLASSES)
    models = sf.train(
        toy_data.inputs(),
        {"people": toy_data.people(), "original": original, "beliefs": toy_data.beliefs()},
        targets=["hard", SmoothingTarget(share=0.2), "deaggregated"],
        model=SimpleFfn(hidden=8),
        split=KFold(k=2),
        recipe=SMALL,
    )
    assert len(models.runs) == 6
    assert sorted(models.predictions("smoothing").items.to_pylist()) == sorted(toy_data.ITEMS)
    folder = models.folder
    assert folder.is_dir()
    del models
    assert not folder.exists()


def test_an_unknown_source_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'people'"):
        sf.train(toy_data.inputs(), {"peopel": toy_data.people()})


def test_soft_targets_need_labels_of_how_people_judge() -> None:
    truth = replace(toy_data.people(), estimand=Estimand.TRUTH, made_by="dawid-skene")
    for target in ("soft", "sampled", "tempered:temperature=2", "class-level:by=majority", "shuffled:by=majority"):
        with pytest.raises(BadTable, match="made by dawid-skene") as caught:
            sf.train(toy_data.inputs(), truth, targets=[target], model="simple-ffn", recipe=SMALL)
        assert caught.value.code == "wrong-estimand"
        assert "any_estimand=True" in caught.value.fix
    sf.train(toy_data.inputs(), truth, targets=["majority"], model="simple-ffn", recipe=SMALL)
    sf.train(toy_data.inputs(), truth, targets=["soft"], model="simple-ffn", recipe=SMALL, any_estimand=True)
