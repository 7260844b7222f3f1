"""A grid as objects, as text and as TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import toy_data
from PIL import Image

from sfumato.tables.base_table import columns_of
from sfumato.tables.errors import BadFile, BadSetting, SfumatoError, UnknownName
from sfumato.tables.files.table_file import write_table
from sfumato.tables.strategies import StrategyText, described, split_choices
from sfumato.training.experiment_file import ExperimentFile
from sfumato.training.grid import Grid, RunGroupKey, RunKey, RunRow
from sfumato.training.mixing import Mixup
from sfumato.training.networks import LeNet, ResNet, Small
from sfumato.training.optimizers import Sgd, StepSchedule
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato.training.targets import HardTarget, SmoothingTarget, SoftTarget

ROOT = Path(__file__).parent.parent.parent


def test_a_choice_as_text_and_as_a_table() -> None:
    text = StrategyText.of("distilled:temperature=2:share=0.5")
    assert text == StrategyText.of({"name": "distilled", "temperature": 2, "share": 0.5})
    assert text.text == "distilled:temperature=2:share=0.5"
    assert StrategyText.of("sgd:weight-decay=1e-4:nesterov=true").settings == {"weight_decay": 1e-4, "nesterov": True}
    assert StrategyText.of("given:train=a.npy").settings == {"train": "a.npy"}
    assert split_choices("hard, soft,steps:after=[50,55]:by=0.1,") == ["hard", "soft", "steps:after=[50,55]:by=0.1"]


@pytest.mark.parametrize("value", ["", ":a=1", "smoothing:share", "smoothing:=2", 3, {"share": 1}, ["hard"]])
def test_what_is_no_choice(value: object) -> None:
    with pytest.raises(BadSetting, match="name:setting=value"):
        StrategyText.of(value)


def test_strategies_as_json_could_hold_them() -> None:
    said = described(Recipe(schedule=StepSchedule(after=(3, 4))))
    assert said["schedule"] == {"name": "steps", "after": [3, 4], "by": 0.1}
    assert said["augmentation"] is None
    assert described(ResNet(depth=8))["name"] == "resnet"


def grid(**changes: Any) -> Grid:
    settings = {
        "targets": {"hard": HardTarget(), "soft": SoftTarget()},
        "networks": {"lenet": LeNet()},
        "seeds": (0, 5),
    }
    return Grid(**{**settings, **changes})


def test_stacks_are_the_targets_of_a_network_seed_and_fold() -> None:
    found = grid(networks={"lenet": LeNet(), "small": Small()}).run_groups(2)
    assert found[:3] == [
        RunGroupKey(("hard", "soft"), "lenet", 0, 0),
        RunGroupKey(("hard", "soft"), "lenet", 0, 1),
        RunGroupKey(("hard", "soft"), "small", 0, 0),
    ]
    assert len(found) == len(set(found)) == 2 * 2 * 2
    assert [key.name for key in found[0].runs] == ["hard.lenet.seed-0.fold-0", "soft.lenet.seed-0.fold-0"]


def test_pretraining_is_a_run_of_a_network_and_a_seed() -> None:
    assert grid().pretraining_groups() == []
    before = grid(pretraining=Recipe(epochs=2))
    assert [stack.runs[0].name for stack in before.pretraining_groups()] == [
        "pretrained.lenet.seed-0", "pretrained.lenet.seed-5"
    ]  # fmt: skip
    first = before.settings_of(before.pretraining_groups()[0].runs[0])
    assert first["recipe"]["epochs"] == 2
    own = before.settings_of(RunKey("soft", "lenet", 0, 0))
    assert (own["recipe"]["epochs"], own["pretraining"]["epochs"]) == (30, 2)


def test_a_run_has_a_folder_of_its_own() -> None:
    assert RunKey("smoothing:share=0.2", "lenet", 3, 1).name == "smoothing-share-0.2.lenet.seed-3.fold-1"
    with pytest.raises(BadSetting, match="share a folder"):
        grid(targets={"a:b": HardTarget(), "a=b": SoftTarget()})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"targets": {}}, "no targets"),
        ({"seeds": ()}, "no seeds"),
        ({"seeds": (1, 1)}, "each once"),
        ({"seeds": (-1,)}, "from 0"),
        ({"device": "cupboard"}, "cupboard"),
        ({"targets": {"pretrained": HardTarget()}}, "pretrained"),
    ],
)
def test_grids_that_are_none(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadSetting, match=says):
        grid(**changes)


def test_the_table_of_runs(tmp_path: Path) -> None:
    key = RunKey("hard", "lenet", 0, 0)
    other = RunKey("soft", "lenet", 0, None)
    rows = [RunRow.of(key, "original", "done", 3, "finished", 1.5), RunRow.of(other, "", "to do")]
    write_table(columns_of(rows, RunRow), tmp_path / "r.csv")
    table = pl.read_csv(tmp_path / "r.csv")
    assert table.columns == [
        "run",
        "target",
        "network",
        "seed",
        "fold",
        "label_set",
        "status",
        "epochs",
        "ended",
        "seconds",
    ]
    assert table.row(0) == ("hard.lenet.seed-0.fold-0", "hard", "lenet", 0, 0, "original", "done", 3, "finished", 1.5)
    assert table["status"].to_list() == ["done", "to do"]


WHOLE = """
[data]
inputs = "x.npz"
labels = "labels.parquet"
teachers = ["teacher.parquet"]
[grid]
targets = ["hard", {name = "smoothing", share = 0.2}]
networks = ["lenet", "resnet-8", "small:width=8"]
seeds = [3, 1]
[recipe]
epochs = 7
clip = 1
[optimiser]
name = "sgd"
rate = 0.05
[schedule]
name = "steps"
after = [2, 4]
[mixing]
name = "mixup"
alpha = 0.4
[augmentation]
pad = 2
[split]
name = "k-fold"
k = 3
[pretraining]
inputs = "x.npz"
epochs = 2
[pretraining.optimiser]
rate = 0.01
"""


def test_a_whole_grid_as_toml(tmp_path: Path) -> None:
    toy_data.write_files(tmp_path)
    (tmp_path / "grid.toml").write_text(WHOLE)
    file = ExperimentFile.read(tmp_path / "grid.toml")
    made = file.grid()
    assert made.targets == {"hard": HardTarget(), "smoothing:share=0.2": SmoothingTarget(share=0.2)}
    assert made.networks == {"lenet": LeNet(), "resnet-8": ResNet(depth=8), "small:width=8": Small(width=8)}
    assert made.seeds == (3, 1)
    assert made.recipe == Recipe(
        epochs=7, clip=1.0, optimiser=Sgd(rate=0.05), schedule=StepSchedule(after=(2, 4)), mixing=Mixup(alpha=0.4),
        augmentation=CropAndFlip(pad=2),
    )  # fmt: skip
    assert made.pretraining is not None
    assert made.pretraining.epochs == 2
    assert made.pretraining.optimiser.rate == 0.01
    assert [len(fold.test) for fold in file.folds] == [20, 20, 20]
    assert file.training_set.predicted is not None
    assert file.pretraining_set is not None
    np.testing.assert_array_equal(file.pretraining_set.original, toy_data.NUMBERS)
    assert file.experiment(tmp_path / "runs").grid == made


def test_the_defaults(tmp_path: Path) -> None:
    toy_data.write_files(tmp_path)
    file = ExperimentFile.of({"data": {"inputs": tmp_path / "x.npz", "labels": tmp_path / "labels.parquet"}})
    assert file.grid() == Grid({"hard": HardTarget(), "soft": SoftTarget()}, {"lenet": LeNet()})
    assert len(file.folds[0].test) == 18  # 0.3 x 60


def test_settings_that_are_texts() -> None:
    targets = ["class-level:by=majority", "entropy-matched:level=mean", "random:form=soft"]
    made = ExperimentFile.of({"grid": {"targets": targets, "networks": ["resnet:depth=8:shortcut=projection"]}}).grid()
    assert [described(target)["name"] for target in made.targets.values()] == [each.split(":")[0] for each in targets]
    assert described(made.targets["class-level:by=majority"])["by"] == "majority"
    with pytest.raises(BadSetting, match="one of original, majority"):
        ExperimentFile.of({"grid": {"targets": ["shuffled:by=chance"]}}).grid()


def test_a_given_split_may_name_items_without_labels(tmp_path: Path) -> None:
    toy_data.write_files(tmp_path)
    toy_data.people().write(tmp_path / "labels.parquet")
    (tmp_path / "few.csv").write_text("item,p:cat,p:dog,p:emu\n" + "".join(f"i{i},1,0,0\n" for i in range(10)))
    np.save(tmp_path / "train.npy", np.arange(5, 30))
    np.save(tmp_path / "test.npy", np.arange(3))
    document = {
        "data": {"inputs": tmp_path / "x.npz", "labels": tmp_path / "few.csv"},
        "split": {"name": "given", "train": tmp_path / "train.npy", "test": tmp_path / "test.npy"},
    }
    loaded = ExperimentFile.of(document)
    assert loaded.folds[0].train.tolist() == [5, 6, 7, 8, 9]
    assert "left out 20 of 25 training items: they have no label" in loaded.notes


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("[grids]\n", "unknown-key", "did you mean 'grid'?"),
        ("\n[grid]\ntarget = []\n", "unknown-key", "grid.toml:3:grid.target found"),
        ("[recipe]\nepoch = 3\n", "unknown-setting", "did you mean 'epochs'?"),
        ("[recipe]\nepochs = 'ten'\n", "bad-setting", "a whole number"),
        ("[recipe]\nepochs = 2.5\n", "bad-setting", "epochs = 2.5"),
        ("[recipe]\nepochs = true\n", "bad-setting", "epochs = True"),
        ("[recipe]\nepochs = 0\n", "bad-setting", "1 or more"),
        ("recipe = 3\n", "bad-setting", "a section [recipe]"),
        ("grid = 3\n", "bad-setting", "a section [grid]"),
        ("[grid]\ntargets = ['soffft']\n", "unknown-target", "did you mean 'soft'?"),
        ("[grid]\ntargets = 'soft'\n", "bad-setting", "a list of targets"),
        ("[grid]\ntargets = ['soft', 'soft']\n", "bad-setting", "once"),
        ("[grid]\ntargets = ['smoothing:shar=1']\n", "unknown-setting", "did you mean 'share'?"),
        ("[grid]\ntargets = ['smoothing:share=2']\n", "bad-setting", "share"),
        ("[grid]\ntargets = ['smoothing:share=much']\n", "bad-setting", "a number"),
        ("[grid]\nnetworks = ['lenett']\n", "unknown-model", "did you mean 'lenet'?"),
        ("[grid]\nseeds = 0\n", "bad-setting", "at least 1"),
        ("[grid]\nseeds = [1.5]\n", "bad-setting", "seeds"),
        ("[grid]\ndevice = 3\n", "bad-setting", "a device"),
        ("[optimiser]\nname = 'adamm'\n", "unknown-optimiser", "did you mean 'adam'?"),
        ("[optimiser]\nmomentum = 1\n", "unknown-setting", "rate"),
        ("[schedule]\nname = 'steps'\nafter = [1.5]\n", "bad-setting", "after"),
        ("[mixing]\nname = 'mixupp'\n", "unknown-mixing", "did you mean 'mixup'?"),
        ("[mixing]\nname = 'class-pair'\npairs = 3\n", "bad-setting", "pairs"),
        ("[pretraining]\ninputs = 'x.npz'\nepoch = 3\n", "unknown-setting", "did you mean 'epochs'?"),
        ("[[data\n", "bad-toml", "grid.toml"),
    ],
)  # fmt: skip
def test_mistakes_are_found(tmp_path: Path, text: str, code: str, says: str) -> None:
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(SfumatoError) as caught:
        ExperimentFile.read(tmp_path / "grid.toml").grid()
    assert caught.value.code == code
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("[grid]\n", "missing-source", "inputs"),
        ("[data]\ninputs = 3\n", "bad-setting", "name of a file"),
        ("[data]\ninputs = 'y.npz'\n", "no-such-file", "y.npz"),
        ("split = 'fair'\n[data]\ninputs = 'x.npz'\n", "unknown-split", "k-fold"),
        ("split = 'given:train=a.npy'\n[data]\ninputs = 'x.npz'\n", "bad-setting", "test"),
        ("split = 'k-fold:folds=3'\n[data]\ninputs = 'x.npz'\n", "unknown-setting", "seed"),
        ("[data]\ninputs = 'x.npz'\n[pretraining]\nepochs = 1\n", "missing-source", "pretraining"),
    ],
)
def test_mistakes_about_data_are_found(tmp_path: Path, text: str, code: str, says: str) -> None:
    toy_data.write_files(tmp_path)
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(SfumatoError) as caught:
        ExperimentFile.read(tmp_path / "grid.toml").load()
    assert caught.value.code == code
    assert says in str(caught.value)


def test_a_grid_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        ExperimentFile.read(tmp_path / "grid.toml")
    with pytest.raises(UnknownName):
        ExperimentFile.of({"gird": {}})


def test_the_example_is_sound() -> None:
    file = ExperimentFile.read(ROOT / "examples" / "grid.toml")
    assert len(file.grid().targets) >= 4


def test_inputs_are_read_as_the_data_section_says(tmp_path: Path) -> None:
    for name, side in (("cat/1.png", 8), ("dog/2.png", 9)):
        (tmp_path / "faces" / name).parent.mkdir(parents=True)
        Image.new("L", (side, side)).save(tmp_path / "faces" / name)
    (tmp_path / "grid.toml").write_text('[data]\ninputs = "faces"\nsize = "6x5"\nitems = "ids.txt"\n')
    (tmp_path / "ids.txt").write_text("a\nb\n")
    data = ExperimentFile.read(tmp_path / "grid.toml").training_set
    assert (data.items, data.classes) == (("a", "b"), ("cat", "dog"))
    assert data.images.shape == (2, 6, 5)
    assert data.original.tolist() == [0, 1]
    (tmp_path / "grid.toml").write_text('[data]\ninputs = "faces"\nsize = [6, 5]\n')
    with pytest.raises(BadSetting, match=r"grid.toml:3.*size = "):
        _ = ExperimentFile.read(tmp_path / "grid.toml").training_set
