"""Row numbers of two files are matched only if the user says that the rows are the same items."""

import copy
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import group
from sfumato.importers.prediction_file import FileOptions, read_predictions
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.share.release import Release
from sfumato.tables.errors import BadTable, SfumatoWarning
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import NumberedItems, row_sources_of
from sfumato.training.item_join import join_items

pytestmark = pytest.mark.filterwarnings("ignore:.*items are numbered 0 to:sfumato.tables.errors.SfumatoWarning")

N = 40
RNG = np.random.default_rng(3)
VOTES = RNG.multinomial(6, [0.6, 0.4], N)
CLASSES = ["cat", "dog"]
VOTES_BY_NAME = [["cat"] * cats + ["dog"] * dogs for cats, dogs in VOTES.tolist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "votes.npz", counts=VOTES, classes=np.array(CLASSES))
    np.save(tmp_path / "predicted.npy", RNG.dirichlet([1, 1], N))
    np.savez(tmp_path / "images.npz", images=RNG.integers(0, 255, (N, 4, 4), np.uint8))
    return tmp_path


def sfumato(*words: object) -> None:
    done = CliRunner().invoke(group, [str(word) for word in words])
    if done.exception is not None:
        raise done.exception


def predictions(folder: Path) -> sf.SoftLabels:
    return read_predictions(folder / "predicted.npy", FileOptions(classes=("cat", "dog")))


def refused(pattern: str = "row numbers of") -> pytest.RaisesExc[BadTable]:
    return pytest.raises(BadTable, match=pattern, check=lambda error: error.code == "other-row-numbers")


def test_the_source_is_the_file_and_its_content(folder: Path) -> None:
    votes = sf.read(folder / "votes.npz")
    (source,) = votes.row_sources
    name, _, digest = source.rpartition(" ")
    assert name == "votes.npz"
    (folder / "copy.npz").write_bytes((folder / "votes.npz").read_bytes())
    assert sf.read(folder / "copy.npz").row_sources == (f"copy.npz {digest}",)
    # The same content under another name is the same rows.
    sf.evaluate(predicted=sf.read(folder / "copy.npz").labels(), people=votes, metrics=["brier"])


def test_every_step_passes_the_source_on(folder: Path) -> None:
    votes = sf.read(folder / "votes.npz")
    source = votes.row_sources
    assert source
    labels = sf.aggregate(votes, by="mean")
    votes.write(folder / "counts.parquet")
    labels.write(folder / "labels.parquet")
    votes.votes().write(folder / "beliefs.parquet")
    made = {
        "beliefs": votes.votes(),
        "mean": labels,
        "bayes": sf.aggregate(votes.votes(), by="bayes"),
        "selected": sf.select(labels, items=["3", "5"]),
        "counts from Parquet": sf.read(folder / "counts.parquet"),
        "labels from Parquet": sf.SoftLabels.read(folder / "labels.parquet"),
        "beliefs from Parquet": sf.read(folder / "beliefs.parquet"),
        "labels of beliefs": sf.aggregate(folder / "beliefs.parquet"),
        "shared": Release.of(labels, counts=votes).counts,
    }
    for name, table in made.items():
        assert table.row_sources == source, name
    assert json.loads(labels.to_arrow().schema.metadata[b"sfumato.row_numbers_of"]) == list(source)


def test_inputs_keep_their_source_when_they_are_written_again(folder: Path) -> None:
    inputs = Inputs.read(folder / "images.npz")
    some = inputs.take(np.arange(5, 9))
    some.write(folder / "some.npz")
    again = Inputs.read(folder / "some.npz")
    assert again.items == ("5", "6", "7", "8")
    assert again.row_sources == inputs.row_sources == some.row_sources != ()


def test_two_files_of_equal_size_are_refused_by_every_step(folder: Path) -> None:
    votes, predicted, inputs = sf.read(folder / "votes.npz"), predictions(folder), Inputs.read(folder / "images.npz")
    with refused("row numbers of 'predicted.npy', and items that are row numbers of 'votes.npz'"):
        sf.evaluate(predicted=predicted, people=votes)
    with refused():
        sf.compare({"a": predicted, "b": votes.labels()}, people=votes)
    with refused():
        sf.prediction_sets(predicted=predicted, people=votes)
    with refused():
        join_items(inputs, people=votes.labels())
    with refused():
        Release.of(votes, inputs=inputs)
    study = folder / "study"
    study.mkdir()
    votes.write(study / "counts.parquet")
    inputs.write(study / "inputs.npz")
    with refused():
        ReportInputs.read(study)
    with sf.same_rows():
        assert ReportInputs.read(study).counts is not None


def test_what_was_matched_once_needs_no_statement_again(folder: Path) -> None:
    votes, inputs = sf.read(folder / "votes.npz"), Inputs.read(folder / "images.npz")
    with sf.same_rows():
        joined = join_items(inputs, people=votes.labels())
    assert set(row_sources_of(joined.items)) == {*votes.row_sources, *inputs.row_sources}
    predicted = sf.SoftLabels.from_numpy(joined.items, np.full((N, 2), 0.5), CLASSES, 0)
    sf.evaluate(predicted=predicted, people=votes, metrics=["brier"])
    with refused():  # the statement ends with its block
        join_items(inputs, people=votes.labels())


def test_commands_refuse_and_same_rows_states_it(folder: Path) -> None:
    votes, images, predicted = folder / "votes.npz", folder / "images.npz", folder / "predicted.npy"
    evaluate = ("evaluate", "--predicted", predicted, "--people", votes, "--classes", "cat,dog", "--metrics", "brier")
    with refused("row numbers of 'predicted.npy'.* give --same-rows"):
        sfumato(*evaluate, "-o", folder / "scores.csv")
    sfumato(*evaluate, "--same-rows", "-o", folder / "scores.csv")
    sfumato("import", "counts", votes, "-o", folder / "counts.parquet")
    share = ("share", folder / "counts.parquet", "--inputs", images, "--as", "numpy", "-o", folder / "shared.npz")
    with refused("row numbers of 'images.npz'"):
        sfumato(*share)
    sfumato(*share, "--same-rows")


def test_plan_labels_refuses_a_truth_of_other_rows(folder: Path) -> None:
    sf.read(folder / "votes.npz").labels().write(folder / "labels.parquet")
    answers = [
        {"item": str(i), "annotator": a, "kind": "choice/1", "payload": json.dumps({"class": CLASSES[(i + k) % 2]})}
        for i in range(N)
        for k, a in enumerate(("x", "y", "z"))
    ]
    source = json.dumps(["pilot.npz 0123456789abcdef"]).encode()
    table = pa.Table.from_pylist(answers).replace_schema_metadata(
        {b"sfumato.classes": json.dumps(CLASSES).encode(), b"sfumato.row_numbers_of": source}
    )
    sf.Annotations.from_arrow(table).write(folder / "pilot.parquet")
    compare = ("plan", "labels", "--pilot", folder / "pilot.parquet", "--truth", folder / "labels.parquet")
    with refused("row numbers of 'pilot.npz'"):
        sfumato(*compare)


def test_ids_in_the_file_are_never_row_numbers(folder: Path) -> None:
    ids = np.array([str(i) for i in range(N)])
    np.savez(folder / "named.npz", counts=VOTES, classes=np.array(CLASSES), items=ids)
    named = sf.read(folder / "named.npz")
    assert named.row_sources == ()
    rows = sf.SoftLabels.from_numpy(ids.tolist(), VOTES / 6, CLASSES, 0)
    sf.evaluate(predicted=rows, people=named, metrics=["brier"])  # no warning, which would be an error
    # One side is known to be row numbers, the other has numbers: one line says so.
    predictions(folder).write(folder / "p.parquet")
    with pytest.warns(SfumatoWarning, match=r"row numbers of 'predicted.npy' are matched with the numbers in"):
        sf.evaluate(predicted=sf.SoftLabels.read(folder / "p.parquet"), people=named, metrics=["brier"])


def test_named_rows_take_the_source_of_the_file_that_names_them(folder: Path) -> None:
    out = folder / "labels.parquet"
    named = ("import", "predictions", folder / "predicted.npy", "--classes", "cat,dog")
    sfumato(*named, "--items", folder / "images.npz", "-o", out)
    assert sf.SoftLabels.read(out).row_sources == Inputs.read(folder / "images.npz").row_sources


def test_numbered_items_are_a_tuple_that_can_be_copied() -> None:
    items = NumberedItems(["0", "1"], ["a.npy 12"])
    again = copy.deepcopy(items)
    assert again == ("0", "1")
    assert row_sources_of(again) == ("a.npy 12",)


def test_select_refuses_items_and_values_of_other_rows(folder: Path) -> None:
    sfumato("import", "counts", folder / "votes.npz", "-o", folder / "counts.parquet")
    some = ("select", folder / "images.npz", "-o", folder / "some.npz")
    with refused("row numbers of 'votes.npz'"):
        sfumato(*some, "--items", folder / "counts.parquet")
    by_votes = (*some, "--labels", folder / "counts.parquet", "--where", "entropy>0.5")
    with refused("give --same-rows"):
        sfumato(*by_votes)
    sfumato(*by_votes, "--same-rows")
    votes, inputs = sf.read(folder / "votes.npz"), Inputs.read(folder / "images.npz")
    with refused():
        sf.select(inputs, labels=votes, where="entropy>0.5")
    # The part of an npz without ids keeps the record of its row numbers.
    assert Inputs.read(folder / "some.npz").row_sources == inputs.row_sources
    sfumato("select", folder / "images.npz", "--items", folder / "some.npz", "-o", folder / "again.npz")


def test_the_rows_of_a_folder_of_datasets_have_a_source(folder: Path) -> None:
    table = pa.table({"votes": VOTES_BY_NAME}, schema=pa.schema([("votes", pa.list_(pa.string()))]))
    (folder / "hf").mkdir()
    with pa.OSFile(str(folder / "hf" / "data.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    (folder / "hf" / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    (folder / "hf" / "dataset_info.json").write_text("{}")
    votes = sf.read(folder / "hf")
    assert votes.items.to_pylist() == [str(i) for i in range(N)]
    with refused("row numbers of 'hf'"):
        join_items(Inputs.read(folder / "images.npz"), people=votes.labels())


def test_inputs_without_ids_and_labels_with_numbers_are_matched_with_a_line(folder: Path) -> None:
    sf.read(folder / "votes.npz").labels().write(folder / "labels.csv")
    with pytest.warns(
        SfumatoWarning, match=r"row numbers of 'images.npz' are matched with the numbers in 'labels.csv'"
    ):
        join_items(Inputs.read(folder / "images.npz"), people=sf.SoftLabels.read(folder / "labels.csv"))
