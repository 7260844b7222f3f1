"""`sfumato train` as a user types it."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import toy_data
from click.testing import CliRunner
from scipy.sparse import csr_array, save_npz

from sfumato.cli import group
from sfumato.cli.train import TARGET_LINES, command
from sfumato.tables.errors import SfumatoError, warnings_off
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.crowd_layers import CROWDS
from sfumato.training.mixing import MIXINGS
from sfumato.training.networks import NAMED, NETWORKS
from sfumato.training.optimizers import OPTIMIZERS, SCHEDULES, Sgd
from sfumato.training.run_folder import Run
from sfumato.training.splits import SPLITS
from sfumato.training.targets import TARGETS

ROOT = Path(__file__).parent.parent.parent
SFUMATO = Path(sys.executable).parent / "sfumato"
DATA = ("--inputs", "x.npz", "--labels", "labels.parquet")
SMALL = (*DATA, "--model", "simple-ffn", "--epochs", "2", "--batch-size", "16", "--processes", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy_data.write_files(tmp_path)
    texts = [
        f"{item},{('one stroke', 'two loops', 'a hook')[k]}"
        for item, k in zip(toy_data.ITEMS, toy_data.NUMBERS, strict=True)
    ]
    (tmp_path / "texts.csv").write_text("\n".join(["item,text", *texts]), "utf-8")
    people = toy_data.people()
    people.write(tmp_path / "predictions.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*arguments: object) -> str:
    """The command in this process: torch is loaded once."""
    result = CliRunner().invoke(command, [*map(str, arguments), "-o", "runs"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    # On a busy machine, lines of progress come first.
    return "\n".join(line for line in result.output.splitlines() if "% " not in line and "%," not in line) + "\n"


def refused(*arguments: object) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        CliRunner().invoke(command, [*map(str, arguments), "-o", "runs"], catch_exceptions=False, standalone_mode=False)
    return caught.value


def test_targets_side_by_side(folder: Path) -> None:
    shown = train(*SMALL, "--targets", "hard,soft,smoothing:share=0.2", "--seeds", 2)
    lines = shown.splitlines()
    assert lines[0].split()[:4] == ["target", "model", "accuracy", "cross-entropy"]
    assert [line.split()[0] for line in lines[1:4]] == ["hard", "soft", "smoothing:share=0.2"]
    assert lines[-1] == "runs: 6 runs; runs.csv lists them"
    table = pl.read_csv(folder / "runs" / "runs.csv")
    assert table["ended"].to_list() == ["finished"] * 6
    run = Run.read(folder / "runs" / "smoothing-share-0.2.simple-ffn.seed-1.fold-0")
    assert run.settings["target"]["share"] == 0.2
    assert len(run.predictions) == 18
    again = train(*SMALL, "--targets", "hard,soft,smoothing:share=0.2", "--seeds", 2)
    assert again == shown


def test_every_source_and_setting(folder: Path) -> None:
    (folder / "o.csv").write_text("item,label\n" + "".join(f"{item},emu\n" for item in toy_data.ITEMS))
    np.save("train.npy", np.arange(40))
    np.save("test.npy", np.arange(50, 60))
    shown = train(
        *SMALL, "--beliefs", "beliefs.parquet", "--original", "o.csv", "--teacher", "teacher.parquet",
        "--teacher", "teacher.parquet", "--targets", "hard,deaggregated:annotators=3,distilled:temperature=2:share=0.5",
        "--split", "given:train=train.npy:test=test.npy", "--optimiser", "sgd:momentum=0.5", "--rate", 0.1,
        "--schedule", "steps:after=[1]:by=0.5", "--mixing", "mixup:alpha=0.4", "--augment", "--clip", 1,
        "--validation", 0.2, "--patience", 5, "--dynamics", "end", "--predictions-each-epoch", "--precision", "float32",
        "--device", "cpu",
    )  # fmt: skip
    assert "distilled:temperature=2:share=0.5" in shown
    run = Run.read(folder / "runs" / "hard.simple-ffn.seed-0.fold-0")
    recipe = run.settings["recipe"]
    assert recipe["optimiser"] == {
        "name": Sgd.name, "rate": 0.1, "momentum": 0.5, "weight_decay": 0.0, "nesterov": False
    }  # fmt: skip
    assert recipe["schedule"] == {"name": "steps", "after": [1], "by": 0.5}
    assert recipe["mixing"]["alpha"] == 0.4
    assert recipe["augmentation"]["pad"] == 4
    assert (recipe["clip"], recipe["validation"], recipe["patience"], recipe["dynamics"]) == (1, 0.2, 5, "end")
    assert run.predictions.items.to_pylist() == list(toy_data.ITEMS[50:])
    # All of them were called emus.
    assert run.predictions.probs.mean(0).argmax() == 2
    assert (run.folder / "predictions-by-epoch.parquet").exists()


def test_folds_and_a_grid_file(folder: Path) -> None:
    (folder / "grid.toml").write_text(
        '[data]\ninputs = "x.npz"\nlabels = "labels.parquet"\n[grid]\ntargets = ["soft"]\nnetworks = ["simple-ffn"]\n'
        '[recipe]\nepochs = 2\nbatch_size = 16\n[split]\nname = "k-fold"\nk = 3\n'
    )
    shown = train("--grid", "grid.toml", "--processes", 1)
    assert "3 runs" in shown
    # The options say the same, so there is nothing left to do.
    assert train(*SMALL, "--targets", "soft", "--folds", 3) == shown
    assert "with --grid" in str(refused("--grid", "grid.toml", "--targets", "soft"))
    assert "with --split" in str(refused(*SMALL, "--folds", 3, "--split", "none"))


def test_crowds_are_targets(folder: Path) -> None:
    shown = train(*SMALL, "--beliefs", "beliefs.parquet", "--targets", "soft,crowd-layer:decay=0.1,annotator-confusion")
    assert "crowd-layer:decay=0.1" in shown
    assert Run.read(folder / "runs" / "crowd-layer-decay-0.1.simple-ffn.seed-0.fold-0").metadata["ended"] == "finished"


def test_what_is_left_out_is_said(folder: Path) -> None:
    (folder / "few.csv").write_text("item,p:cat,p:dog,p:emu\n" + "".join(f"i{i},1,0,0\n" for i in range(10)))
    settings = [each if each != "labels.parquet" else "few.csv" for each in SMALL]
    shown = train(*settings, "--targets", "soft", "--split", "none")
    assert "left out 50 of 60 inputs: they have no label; --rest original would train on their original" in shown
    assert "two label sets called people" in str(refused(*SMALL, "--labels", "few.csv"))
    assert "all items are used for training and for testing" in shown


SETS = (
    "--inputs", "texts.csv", "--labels", "equal=equal.parquet", "--labels", "weighted=labels.parquet",
    "--original", "o.csv", "--processes", "1",
)  # fmt: skip


@pytest.fixture
def label_sets(folder: Path) -> Path:
    """A second label set: the same classes, less sure; and the original classes."""
    people = toy_data.people()
    toy_data.SoftLabels.from_numpy(toy_data.ITEMS, people.probs / 2 + 1 / 6, toy_data.CLASSES, 5).write("equal.parquet")
    named = (f"{item},{toy_data.CLASSES[k]}\n" for item, k in zip(toy_data.ITEMS, toy_data.NUMBERS, strict=True))
    (folder / "o.csv").write_text("item,label\n" + "".join(named))
    return folder


def test_label_sets_are_compared_in_one_experiment(label_sets: Path) -> None:
    shown = train(*SETS, "--targets", "hard@original,majority@weighted,soft", "--seeds", 2)
    assert "soft is trained on each label set: soft@equal, soft@weighted" in shown
    assert "(against equal, 18 test items)" in shown
    assert "(against weighted, 18 test items)" in shown
    table = pl.read_csv("runs/runs.csv")
    found = dict(zip(table["target"], table["label_set"], strict=True))
    assert found == {
        "hard": "original", "majority@weighted": "weighted", "soft@equal": "equal", "soft@weighted": "weighted"
    }  # fmt: skip
    (label_sets / "grid.toml").write_text(
        '[data]\ninputs = "texts.csv"\noriginal = "o.csv"\n'
        'labels = { equal = "equal.parquet", weighted = "labels.parquet" }\n'
        '[grid]\ntargets = ["hard", "majority@weighted", "soft"]\nseeds = 2\n'
    )
    # The file says the same, so there is nothing left to do.
    assert train("--grid", "grid.toml", "--processes", 1) == shown
    scored = ["evaluate", "--runs", "runs", "--people", "labels.parquet", "--original", "o.csv", "--strata", "class"]
    scored += ["--metrics", "accuracy,cross_entropy", "--cross-label", "cross.csv", "-o", "scores.csv"]
    with warnings_off():  # eighteen items are too few for intervals
        done = CliRunner().invoke(group, scored, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    scores = pl.read_csv("scores.csv").filter(pl.col("metric") == "accuracy")
    cells = set(zip(scores["label_set"], scores["target"], scores["condition"], strict=True))
    assert {("equal", "soft@equal", "class dog"), ("weighted", "majority@weighted", "class cat")} <= cells
    assert len(cells) == 4 * 4
    cross = pl.read_csv("cross.csv")
    own = cross.filter(pl.col("metric").str.starts_with("cross_entropy") & (pl.col("condition") == "all"))
    by_target = {row["trained on"]: row for row in own.iter_rows(named=True)}
    # Each is best where it was trained.
    assert by_target["soft@equal"]["equal"] < by_target["soft@weighted"]["equal"]
    assert by_target["soft@weighted"]["weighted"] < by_target["soft@equal"]["weighted"]


def test_label_sets_that_do_not_fit_are_refused(label_sets: Path) -> None:
    assert "did you mean 'weighted'" in str(refused(*SETS, "--targets", "soft@wieghted"))
    assert "one of equal, weighted, original" in str(refused(*SETS, "--targets", "soft", "--rest", "people"))
    assert "another label source" in str(refused(*SETS, "--labels", "original=o.csv"))
    toy_data.SoftLabels.from_numpy(["i0"], [[1, 0, 0]], toy_data.CLASSES).write(label_sets / "few.parquet")
    twice = str(refused(*SETS, "--targets", "soft,soft@equal"))
    assert "soft@equal twice: soft is trained on each label set" in twice
    error = refused(*SETS, "--labels", "few=few.parquet", "--targets", "soft")
    assert error.code == "other-items"
    assert "--rest original" in str(error)
    assert not (label_sets / "runs").exists()


def test_the_rest_of_the_items_and_weights(label_sets: Path) -> None:
    people = toy_data.people()
    few = toy_data.SoftLabels.from_numpy(toy_data.ITEMS[:20], people.probs[:20], toy_data.CLASSES, 5)
    few.write("few.parquet")
    (label_sets / "w.csv").write_text("item,weight\n" + "".join(f"{item},1.5\n" for item in toy_data.ITEMS))
    data = ("--inputs", "texts.csv", "--original", "o.csv", "--labels", "few.parquet", "--processes", "1")
    shown = train(*data, "--rest", "original", "--targets", "hard,soft", "--weights", "w.csv", "--folds", 2)
    assert "people: labels for 20 of 60 items; the rest by original" in shown
    assert "the only label set" in str(refused(*data, "--rest", "people", "--targets", "soft"))
    run = Run.read(label_sets / "runs" / "soft.text-linear.seed-0.fold-0")
    assert run.settings["target"]["rest"] == "original"
    assert len(run.predictions) == 30


def test_a_run_that_diverges_ends_with_1(folder: Path) -> None:
    arguments = [*SMALL, "--targets", "soft", "--optimiser", "sgd", "--rate", "1e20", "-o", "runs"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    assert "1 of 1 runs diverged: soft.simple-ffn.seed-0.fold-0" in result.output
    assert Run.read(folder / "runs" / "soft.simple-ffn.seed-0.fold-0").metadata["ended"] == "diverged"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--targets", "sofd"), "unknown-target", "did you mean 'soft'?"),
        (("--targets", "smoothing:share=2"), "bad-setting", "share"),
        (("--targets", "deaggregated"), "missing-source", "--beliefs"),
        (("--model", "lenett"), "unknown-model", "did you mean 'lenet'?"),
        (("--network", "lenett"), "unknown-model", "did you mean 'lenet'?"),
        (("--optimiser", "adamm"), "unknown-optimiser", "did you mean 'adam'?"),
        (("--schedule", "plateau"), "bad-setting", "validation"),
        (("--epochs", 0), "bad-setting", "1 or more"),
        (("--seeds", 0), "bad-setting", "at least 1"),
        (("--rate", "nan"), "bad-setting", "rate"),
        (("--device", "attic"), "bad-setting", "attic"),
        (("--precision", "float8"), "bad-setting", "float8"),
        (("--processes", -1), "bad-setting", "--processes"),
    ],
)
def test_settings_that_are_none(folder: Path, arguments: tuple[object, ...], code: str, says: str) -> None:
    error = refused(*DATA, *arguments)
    assert error.code == code
    assert says in str(error)
    assert not (folder / "runs").exists()


def colored(folder: Path, size: int = 24) -> None:
    """c.npz: the toy images in color."""
    images = np.repeat(toy_data.images()[:, :size, :size, None], 3, axis=3)
    np.savez(folder / "c.npz", images=images, items=np.array(toy_data.ITEMS))


def test_color_images_are_augmented_by_default(folder: Path) -> None:
    colored(folder)
    small = (
        "--labels",
        "labels.parquet",
        "--targets",
        "soft",
        "--model",
        "simple-ffn",
        "--epochs",
        1,
        "--processes",
        1,
    )
    name = "soft.simple-ffn.seed-0.fold-0"
    assert "cropped and mirrored at random in training: omit it with --augment none" in train(
        "--inputs", "c.npz", *small
    )
    assert Run.read(folder / "runs" / name).settings["recipe"]["augmentation"]["name"] == "crop-and-flip"
    # A run that was trained without is another one.
    assert "augmentation" in str(refused("--inputs", "c.npz", *small, "--augment", "none"))
    shutil.rmtree(folder / "runs")
    assert "cropped" not in train("--inputs", "c.npz", *small, "--augment", "none")
    assert Run.read(folder / "runs" / name).settings["recipe"]["augmentation"] is None
    shutil.rmtree(folder / "runs")
    colored(folder, 23)
    assert "cropped" not in train("--inputs", "c.npz", *small)


def test_settings_are_chosen_and_shown(folder: Path) -> None:
    shown = train(*SMALL, "--targets", "hard,smoothing", "--validation", 0.2, "--select", "rate=0.1,0.001",
                  "--select", "smoothing.share=0.1,0.5", "--mixing", "plain,mixup:alpha=0.4")  # fmt: skip
    assert (
        "chosen on validation items, by cross-entropy against people's labels (selection.csv lists every trial)"
        in shown
    )
    assert re.search(r"smoothing\+mixup:alpha=0.4  simple-ffn  smoothing.share=0.[15] rate=0.[01]+   1 of 1 run", shown)
    assert (folder / "runs" / "smoothing-mixup-alpha-0.4.simple-ffn.seed-0.fold-0" / "run.json").exists()
    assert pl.read_csv(folder / "runs" / "selection.csv").height == 2 * (2 + 4)
    # The file says the same, so there is nothing left to do.
    (folder / "grid.toml").write_text(
        '[data]\ninputs = "x.npz"\nlabels = "labels.parquet"\n[grid]\ntargets = ["hard", "smoothing"]\n'
        'networks = ["simple-ffn"]\n[recipe]\nepochs = 2\nbatch_size = 16\nvalidation = 0.2\n'
        "[select]\nrate = [0.1, 0.001]\nsmoothing.share = [0.1, 0.5]\n"
    )
    text = (folder / "grid.toml").read_text()
    (folder / "grid.toml").write_text('mixing = ["plain", "mixup:alpha=0.4"]\n' + text)
    assert train("--grid", "grid.toml", "--processes", 1) == shown


def test_weights_to_start_with(folder: Path) -> None:
    base = ("--targets", "soft", "--processes", 1, "--batch-size", 16)
    still = (*base, "--epochs", 1, "--optimiser", "sgd:momentum=0", "--rate", "1e-12")
    train(*DATA, *base, "--model", "simple-ffn", "--epochs", 3)
    first = folder / "runs" / "soft.simple-ffn.seed-0.fold-0"
    shutil.move(first, folder / "first")
    shutil.rmtree(folder / "runs")
    weights = ("--start", "first/model.safetensors")
    train(*DATA, *still, *weights, "--model", "simple-ffn")
    run = Run.read(first)
    # Almost no step was taken: it predicts what the network it started with predicts.
    before = Run.read(folder / "first")
    assert run.metadata["scale"] == before.metadata["scale"]
    np.testing.assert_allclose(run.predictions.probs, before.predictions.probs, atol=1e-4)
    assert run.metadata["data"]["start"]
    error = refused(*DATA, *base, *weights, "--model", "deeper-ffn")
    assert (error.code, "weights of another network" in str(error)) == ("other-network", True)
    assert "a network" in str(refused(*DATA, "--targets", "soft", *weights, "--model", "linear"))
    # Two classes instead of three.
    two = SoftLabels.from_numpy(toy_data.ITEMS, np.eye(2)[toy_data.NUMBERS % 2] * 0.8 + 0.1, ("x", "y"))
    two.write(folder / "two.parquet")
    np.savez(folder / "plain.npz", images=toy_data.images(), items=np.array(toy_data.ITEMS))
    other = ("--inputs", "plain.npz", "--labels", "two.parquet", *still, *weights, "--model", "simple-ffn")
    error = refused(*other)
    assert (error.code, "--new-head" in str(error)) == ("other-classes", True)
    shutil.rmtree(folder / "runs")
    train(*other, "--new-head")
    kept, old = Run.read(first).weights(), before.weights()
    same = [
        name for name in old if old[name].shape == kept[name].shape and np.allclose(old[name], kept[name], atol=1e-4)
    ]
    assert sorted(set(old) - set(same)) == sorted(old)[-2:]
    assert "weights of a network" in str(refused(*SMALL, "--new-head"))
    (folder / "bad.safetensors").write_bytes(b"no weights")
    assert refused(*SMALL, "--start", "bad.safetensors").code == "damaged"


def test_features_to_start_from(folder: Path) -> None:
    np.savez(folder / "f.npz", features=np.eye(3)[toy_data.NUMBERS], items=np.array(toy_data.ITEMS))
    shown = train("--start", "f.npz", "--labels", "labels.parquet", "--targets", "soft")
    assert "soft    linear" in shown
    error = refused("--start", "f.npz", "--inputs", "f.npz", "--labels", "labels.parquet")
    assert "inputs and features to start from" in str(error)


def test_given_validation_items(folder: Path) -> None:
    for name, items in (("train", toy_data.ITEMS[:30]), ("val", toy_data.ITEMS[30:40]), ("test", toy_data.ITEMS[40:])):
        (folder / f"{name}.txt").write_text("\n".join(items))
    split = ("--split", "given:train=train.txt:validation=val.txt:test=test.txt")
    train(*SMALL, "--targets", "soft", *split, "--patience", 1)
    run = Run.read(folder / "runs" / "soft.simple-ffn.seed-0.fold-0")
    assert run.metadata["validation"]["items"] == 10
    assert set(run.dynamics["item"]) == set(toy_data.ITEMS[:30])
    assert run.history["validation_loss"].null_count() == 0
    (folder / "val.txt").write_text("\n")
    assert refused(*SMALL, *split).code == "empty-file"
    (folder / "val.txt").write_text("i3\n")
    assert refused(*SMALL, *split).code == "overlapping-split"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--select", "rate=0.1,0.2"), "give --validation 0.1"),
        (("--select", "share=0.1", "--targets", "smoothing", "--validation", 0.2), "did you mean 'smoothing.share'"),
        (("--select", "rate", "--validation", 0.2), "a setting and its values"),
        (("--select", "rate=0.1,0.2", "--rate", 0.1, "--validation", 0.2), "omit --rate"),
        (("--select", "mixup.alpha=1", "--validation", 0.2), "no target, model or recipe"),
        (("--select", "smoothing.share=0.1", "--targets", "smoothing:share=0.2", "--validation", 0.2), "one of them"),
        (("--select-by", "original"), "no setting to select"),
        (("--select", "rate=0.1", "--select-by", "votes", "--validation", 0.2), "people, original"),
        (("--split", "share:stratify=age"), "class, agreement"),
        (("--split", "share:groups=g.csv"), "g.csv"),
        (("--split", "per-class:train=30"), "items of class"),
        (("--split", "items"), "the setting train"),
        (("--mixing", "plain,plain"), "twice"),
        (("--mixing", "plain,mixxup"), "did you mean 'mixup'"),
    ],
)
def test_selections_and_splits_that_are_none(folder: Path, arguments: tuple[object, ...], says: str) -> None:
    assert says in str(refused(*DATA, "--model", "simple-ffn", *arguments))
    assert not (folder / "runs").exists()


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.training.models.find_spec", lambda name: None)
    error = refused(*DATA)
    assert error.code == "missing-extra"
    assert 'pip install "sfumato[train]"' in str(error)


def test_help_names_every_target() -> None:
    assert [each.name for each in (*TARGETS, *CROWDS) if f"  {each.name} " not in TARGET_LINES] == []


def test_stopped_and_given_again(folder: Path) -> None:
    arguments = [*DATA, "--model", "simple-ffn", "--targets", "soft", "--epochs", "60", "--batch-size", "4"]
    process = subprocess.Popen([SFUMATO, "train", *arguments, "-o", "cut"], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and not list((folder / "cut" / "unfinished").glob("*/stack.json")):
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert process.wait(0.02) == 0
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    # Asked to leave: 75; or before it listened, or after it was done.
    assert process.returncode in (75, -signal.SIGTERM, 0)
    for place in ("whole", "cut"):
        CliRunner().invoke(command, [*arguments, "--processes", "1", "-o", place], catch_exceptions=False)
    name = "soft.simple-ffn.seed-0.fold-0"
    whole, cut = ((folder / place / name / "model.safetensors").read_bytes() for place in ("whole", "cut"))
    assert whole == cut
    assert sorted(path.name for path in (folder / "cut").iterdir()) == [".lock", "runs.csv", name]


@pytest.mark.parametrize(
    "names",
    [
        [each.name for each in (*TARGETS, *CROWDS)],
        [*NAMED],
        [each.name for each in NETWORKS],
        [each.name for each in MIXINGS],
        [each.name for each in OPTIMIZERS],
        [each.name for each in SCHEDULES],
        [each.name for each in SPLITS],
    ],
    ids=["targets", "networks", "families", "mixings", "optimisers", "schedules", "splits"],
)
def test_the_page_names_every_member(names: list[str]) -> None:
    text = (ROOT / "docs" / "train.md").read_text()
    assert [name for name in names if f"`{name}`" not in text] == []


def test_commands_in_the_page_run(folder: Path) -> None:
    text = (ROOT / "docs" / "train.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines() if line]
    assert len(lines) >= 2
    for line in lines:
        program, name, *arguments = shlex.split(line, comments=True)
        assert (program, name) == ("sfumato", "train")
        if "grid.toml" in arguments:
            (folder / "grid.toml").write_text((ROOT / "examples" / "grid.toml").read_text())
        result = CliRunner().invoke(command, [*arguments, "--processes", "1"], catch_exceptions=False)
        assert result.exit_code == 0, result.output


def test_own_models_on_the_page_need_one_option(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "train.md").read_text()
    (folder / "my_models.py").write_text(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0])
    monkeypatch.delitem(sys.modules, "my_models", raising=False)
    features = np.eye(3)[toy_data.NUMBERS]
    save_npz(folder / "features.npz", csr_array(features))
    (folder / "ids.txt").write_text("\n".join(toy_data.ITEMS) + "\n")
    sparse = ("--inputs", "features.npz", "--items", "ids.txt")
    for inputs, option in (
        (("--inputs", "texts.csv"), "sklearn:my_models.pipeline"),
        (sparse, "sklearn:sklearn.ensemble.RandomForestClassifier:n_estimators=200"),
        (sparse, "linear"),
        (sparse, "my_models:network"),
    ):
        assert f"--model {option}`" in text
        shown = train(*inputs, "--labels", "labels.parquet", "--targets", "soft", "--model", option, "--allow-drift")
        assert shown.splitlines()[1].startswith("soft")


def test_worker_processes_find_a_class_of_ones_own(folder: Path) -> None:
    """The command itself is not in the folder of the module."""
    source = "from sklearn.linear_model import LogisticRegression\n\n\nclass OwnClass(LogisticRegression):\n    pass\n"
    (folder / "own_class.py").write_text(source)
    np.savez(folder / "features.npz", features=np.eye(3)[toy_data.NUMBERS], items=np.array(toy_data.ITEMS))
    options = ("--targets", "soft", "--model", "sklearn:own_class.OwnClass", "--folds", "2", "--processes", "2")
    given = ("--inputs", "features.npz", "--labels", "labels.parquet", *options, "-o", "runs")
    done = subprocess.run([str(SFUMATO), "train", *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 runs" in done.stdout


def test_texts_and_features_need_no_torch_and_no_model_name(folder: Path) -> None:
    np.savez(folder / "features.npz", features=np.eye(3)[toy_data.NUMBERS], items=np.array(toy_data.ITEMS))
    code = "import sys; from sfumato.cli import main; main(); assert 'torch' not in sys.modules"
    for inputs, model in (("texts.csv", "text-linear"), ("features.npz", "linear")):
        arguments = ["train", "--inputs", inputs, "--labels", "labels.parquet", "--targets", "majority,soft"]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments, "-o", model], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        row = next(line.split() for line in done.stdout.splitlines() if line.startswith("soft"))
        assert row[1] == model
        assert float(row[2]) == 1.0


def test_an_estimator_of_numbers_needs_a_vectorizer_for_texts() -> None:
    model = "sklearn:sklearn.linear_model.LogisticRegression"
    error = refused("--inputs", "texts.csv", "--labels", "labels.parquet", "--model", model, "--processes", 1)
    assert error.code == "wrong-inputs"
    assert "make_pipeline(TfidfVectorizer(), LogisticRegression())" in error.fix


def test_a_folder_of_runs_is_not_a_start() -> None:
    train("--inputs", "texts.csv", "--labels", "labels.parquet", "--processes", 1)
    error = refused("--start", "runs", "--labels", "labels.parquet", "--processes", 1)
    assert "runs/RUN/predictions.parquet" in error.fix


def test_settings_of_epochs_for_a_model_without_epochs(folder: Path) -> None:
    error = refused("--inputs", "texts.csv", "--labels", "labels.parquet", "--epochs", "3")
    assert "epochs for text-linear" in str(error)


def test_scores_are_hand_calculated(folder: Path) -> None:
    shown = train(*SMALL, "--targets", "soft", "--folds", 3, "--seeds", 2)
    right, losses = [], []
    for seed in (0, 1):
        names = [f"soft.simple-ffn.seed-{seed}.fold-{fold}" for fold in range(3)]
        tables = [table for name in names if (table := Run.read(folder / "runs" / name).predictions) is not None]
        probs = {item: row for table in tables for item, row in zip(table.items.to_pylist(), table.probs, strict=True)}
        p, k, rows = np.array([probs[item] for item in toy_data.ITEMS]), toy_data.NUMBERS, np.arange(60)
        right.append(np.mean(p.argmax(1) == k))
        losses.append(np.mean(-0.8 * np.log(p[rows, k]) - 0.2 * np.log(p[rows, (k + 1) % 3])))
    line = shown.splitlines()[1].split()
    assert line == ["soft", "simple-ffn", f"{np.mean(right):.4f}", f"{np.mean(losses):.4f}", "2", "seeds"]
    assert "(against people, " in shown


def test_the_former_name_of_the_command_prints_the_new_one() -> None:
    done = CliRunner().invoke(group, ["learn", *SMALL, "-o", "runs"], prog_name="sfumato")
    assert (done.exit_code, done.stderr) == (2, "sfumato learn is now sfumato train\n")
    assert " learn " not in CliRunner().invoke(group, ["--help"]).output


@pytest.mark.slow
def test_ranks_of_torchrun_train_together_and_one_of_them_writes(folder: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "sfumato"]
    asked = ["train", *SMALL, "--targets", "hard,soft", "-o", "together"]
    done = subprocess.run([*torchrun, *asked], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("soft") == 1, done.stdout
    train(*SMALL, "--targets", "hard,soft")
    for name in ("hard.simple-ffn.seed-0.fold-0", "soft.simple-ffn.seed-0.fold-0"):
        together, alone = (Run.read(folder / where / name).predictions for where in ("together", "runs"))
        assert together is not None
        assert alone is not None
        assert np.allclose(together.probs, alone.probs, atol=1e-5)
    assert not (folder / "together" / "unfinished").exists()


def test_a_report_of_one_seed_has_no_data_map() -> None:
    """A model without epochs predicts each training item once: too little for a map, but not for a report."""
    train("--inputs", "texts.csv", "--labels", "labels.parquet", "--processes", 1)
    with warnings_off():  # eighteen items are too few for intervals
        done = CliRunner().invoke(group, ["report", ".", "-o", "report.html"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
