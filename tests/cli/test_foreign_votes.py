"""Files of other people as votes, labels and predictions: every command reads them alike, and says the same."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import group
from sfumato.importers import import_file
from sfumato.importers.label_file import read_labels
from sfumato.reporting.people_tables import people_table

WIDE = "item,Usage,cat,dog\na,Train,3,1\nb,Test,2,2\nc,,0,4\n"
UNEVEN = WIDE.replace("b,Test,2,2", "b,Test,2,1")
SHARES = {"a": [0.75, 0.25], "b": [0.5, 0.5], "c": [0.0, 1.0]}
PREDICTED = "item,p:cat,p:dog\na,0.7,0.3\nb,0.4,0.6\nc,0.1,0.9\n"
CHAOS = [
    {"uid": "a", "label_counter": {"e": 3, "n": 1}, "label_count": [3, 1, 0], "example": {}, "old_label": "e"},
    {"uid": "b", "label_counter": {"c": 4}, "label_count": [0, 0, 4], "example": {}, "old_label": "c"},
]
PROBS = np.array([[0.7, 0.3], [0.2, 0.8]])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wide.csv").write_text(WIDE)
    Path("semicolons.csv").write_text(WIDE.replace(",", ";"))
    Path("tabs.csv").write_text(WIDE.replace(",", "\t"))
    Path("uneven.csv").write_text(UNEVEN)
    Path("predicted.csv").write_text(PREDICTED)
    Path("chaos.jsonl").write_text("".join(json.dumps(each) + "\n" for each in CHAOS))


def run(*arguments: str) -> list[str]:
    """Run a command; returns its warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        done = CliRunner().invoke(group, arguments)
    if done.exception is not None:
        raise done.exception
    return list(dict.fromkeys(str(each.message) for each in said))


COMMANDS: dict[str, tuple[str, ...]] = {
    "doubt": ("doubt", "FILE"),
    "agreement": ("agreement", "FILE"),
    "aggregate": ("aggregate", "FILE", "-o", "out.csv"),
    "evaluate": ("evaluate", "--predicted", "predicted.csv", "--people", "FILE", "--metrics", "brier", "-o", "out.csv"),
    "import": ("import", "counts", "FILE", "-o", "out.csv"),
    "plan": ("plan", "--pilot", "FILE", "--budget", "100", "-o", "plan.json"),
}


# All commands read with the same function; planning takes seconds, so it reads one file.
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("plan", "tabs.csv"),
        *(
            (each, name)
            for each in COMMANDS
            if each != "plan"
            for name in ("wide.csv", "semicolons.csv", "tabs.csv", "uneven.csv")
        ),
    ],
)
@pytest.mark.usefixtures("quick_plans")
def test_every_command_leaves_out_a_column_of_text_and_says_so(command: str, name: str) -> None:
    said = run(*(name if word == "FILE" else word for word in COMMANDS[command]))
    assert f"{name}: left out columns that are not classes: Usage (text)" in said


@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
@pytest.mark.parametrize("name", ["wide.csv", "semicolons.csv", "tabs.csv"])
def test_every_reader_gives_the_same_shares(name: str) -> None:
    counts = people_table(Path(name), "counts")
    tables = [read_labels(name), sf.aggregate(name), sf.read(name).labels(), counts.labels()]  # type: ignore[union-attr, arg-type]
    for table in tables:
        assert {item: list(row.values()) for item, row in ((each, table[each]) for each in table)} == SHARES


def test_a_separator_is_said_where_a_file_is_read_by_its_columns() -> None:
    assert "semicolons.csv: columns are separated by ';'" in run(
        "select", "semicolons.csv", "--where", "Usage=Train", "-o", "out.csv"
    )
    assert pl.read_csv("out.csv").rows() == [("a", "Train", 3, 1)]
    assert "tabs.csv: columns are separated by tab" in run(*COMMANDS["evaluate"][:4], "tabs.csv", "-o", "out.csv")


def test_votes_that_may_be_other_facts_are_votes_for_a_command_that_takes_votes() -> None:
    assert "uneven.csv: read as counts: whole numbers in cat, dog" in run("doubt", "uneven.csv")
    with pytest.raises(sf.SfumatoError, match=r"sfumato import counts uneven.csv -o FILE"):
        run("import", "auto", "uneven.csv", "-o", "out.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_totals_and_ids_are_refused_with_the_option_that_leaves_them_out(command: str) -> None:
    Path("total.csv").write_text("item,cat,dog,total\na,3,1,4\nb,2,2,4\n")
    with pytest.raises(sf.SfumatoError) as caught:
        run(*("total.csv" if word == "FILE" else word for word in COMMANDS[command]))
    assert "total (the sum of the other columns)" in str(caught.value)
    assert "--leave-out total" in str(caught.value)


def test_a_decimal_comma_is_named_and_every_fault_is_reported() -> None:
    Path("commas.csv").write_text("item;cat;dog\na;0,7;0,3\n ;0,4;0,6\n")
    with pytest.raises(sf.SfumatoError) as caught, pytest.warns(sf.SfumatoWarning, match="separated by ';'"):
        read_labels("commas.csv")
    assert len(caught.value.mistakes) == 5  # type: ignore[attr-defined]
    assert "write a decimal point: 0.7" in str(caught.value)


def test_votes_per_class_of_chaosnli_are_read_by_every_command() -> None:
    Path("predicted.csv").write_text("item,p:entailment,p:neutral,p:contradiction\na,1,0,0\nb,0,0,1\n")
    for command in ("doubt", "aggregate", "evaluate"):
        run(*("chaos.jsonl" if word == "FILE" else word for word in COMMANDS[command]))
    assert read_labels("chaos.jsonl")["a"] == {"entailment": 0.75, "neutral": 0.25, "contradiction": 0.0}
    assert isinstance(people_table(Path("chaos.jsonl"), "labels"), sf.Counts)


def test_select_reads_what_read_reads() -> None:
    run("select", "chaos.jsonl", "--where", "class=entailment", "-o", "out.parquet")
    assert sf.Counts.read("out.parquet")["a"] == {"entailment": 3, "neutral": 1, "contradiction": 0}
    Path("ids.json").write_text('["b"]')
    run("select", "wide.csv", "--items", "ids.json", "-o", "out.csv")
    assert pl.read_csv("out.csv")["item"].to_list() == ["b"]
    run("select", "wide.csv", "--leave-out", "chaos.jsonl", "-o", "out.csv")
    assert pl.read_csv("out.csv")["item"].to_list() == ["c"]


def arrays() -> str:
    np.savez("p.npz", probs=PROBS, logits=np.log(PROBS), items=["a", "b"], classes=["cat", "dog"])
    return "p.npz"


def records() -> str:
    scores = [{"uid": each, "scores": {"cat": row[0], "dog": row[1]}} for each, row in zip("ab", PROBS, strict=True)]
    Path("p.json").write_text(json.dumps(scores))
    return "p.json"


def lists() -> str:
    pq.write_table(pa.table({"id": ["a", "b"], "softmax": pa.array(PROBS.tolist())}), "p.parquet")
    return "p.parquet"


@pytest.mark.parametrize(
    ("make", "settings", "said"),
    [
        (arrays, {}, "numbers from the array 'probs'; not read: logits"),
        (arrays, {"array": "logits", "logits": True}, "numbers from the array 'logits'; not read: probs"),
        (records, {}, "numbers from the key 'scores'"),
        (lists, {"classes": ("cat", "dog")}, "numbers from the column 'softmax'"),
    ],
)
def test_a_note_says_which_numbers_are_the_predictions(make: Any, settings: dict[str, Any], said: str) -> None:
    imported = import_file(make(), settings=settings)
    assert imported.format_name == "predictions"
    assert any(said in note for note in imported.notes)
    np.testing.assert_allclose(imported.table.probs, PROBS, atol=1e-6)  # type: ignore[union-attr]


@pytest.mark.parametrize("format_name", ["crowd", "auto"])
def test_original_labels_of_votes_need_a_column_of_the_truth(format_name: str) -> None:
    Path("votes.csv").write_text("item,annotator,label,gold\na,1,cat,cat\nb,1,dog,cat\n")
    with pytest.raises(sf.SfumatoError, match=r"--original without --truth.*name it with --truth gold") as caught:
        run("import", format_name, "votes.csv", "--original", "original.csv", "-o", "out.csv")
    assert caught.value.code == "no-original"
    assert not Path("out.csv").exists()
    said = run("import", format_name, "votes.csv", "--truth", "gold", "-o", "out.csv")
    assert said == ["the classes of --truth are not written: name their file with --original"]
    with pytest.raises(sf.SfumatoError, match="no original labels in a source of the format counts"):
        run("import", "counts", "wide.csv", "--leave-out", "Usage", "--original", "o.csv", "-o", "out.csv")


def test_no_file_of_predictions_in_a_folder_is_dropped_silently() -> None:
    folder = Path("study/runs")
    folder.mkdir(parents=True)
    names = {"items": np.array(["a", "b"]), "classes": np.array(["cat", "dog"])}
    np.savez(folder / "C.npz", probs=PROBS, **names)
    np.savez("study/other.npz", probs=PROBS, **names)
    Path("study/counts.csv").write_text("item,cat,dog\na,3,1\nb,2,2\n")
    (folder / "A.csv").write_text("item,cat,dog\na,0.6,0.4\nb,0.5,0.5\n")
    (folder / "settings.json").write_text('{"epochs": 3}')
    command = ("evaluate", "--runs", str(folder), "--people", "wide.csv", "--metrics", "brier", "--resamples", "100")
    said = run(*command, "-o", "scores.csv")
    assert set(pl.read_csv("scores.csv")["target"]) == {"A", "C"}
    assert any("files not used: settings.json" in each for each in said)
    said = run("report", "study", "--resamples", "100", "-o", "report.html")
    assert any("files not used: settings.json" in each for each in said)
    page = Path("report.html").read_text()
    assert "by their names: other.npz" in page
    assert "Comparison of models" in page
    assert "1 seed" not in page
    assert "models trained on" not in page
    assert "files not used: settings.json" in page
    (folder / "A.tsv").write_text("item\tcat\tdog\na\t0.6\t0.4\nb\t0.5\t0.5\n")
    with pytest.raises(sf.SfumatoError, match=r"two files of the target 'A': A.csv and A.tsv"):
        run(*command, "-o", "scores.csv")


@pytest.mark.parametrize("command", ["doubt", "agreement", "aggregate"])
def test_answers_without_class_names_can_be_given_them(command: str) -> None:
    top_two = '"{""first"": ""NAME"", ""first_percent"": 90, ""second"": null, ""second_percent"": null, '
    rows = [f'{item},{who},top_two/1,{top_two}""impossible"": []}}"' for item in "ab" for who in "xy"]
    rows = [row.replace("NAME", name) for row, name in zip(rows, ("cat", "dog", "cat", "cat"), strict=True)]
    Path("answers.csv").write_text("item,annotator,kind,payload\n" + "\n".join(rows) + "\n")
    arguments = [word.replace("FILE", "answers.csv") for word in COMMANDS[command]]
    with pytest.raises(sf.SfumatoError, match=r"no class names.*--classes cat,dog"):
        run(*arguments)
    run(*arguments, "--classes", "cat,dog")
    with pytest.raises(sf.SfumatoError, match=r"no class names.*classes=\[\"cat\", \"dog\"\]"):
        getattr(sf, command)("answers.csv")
    assert len(getattr(sf, command)("answers.csv", classes=["cat", "dog"]))
    with pytest.raises(sf.SfumatoError, match="no class names"):
        run("import", "auto", "answers.csv", "-o", "out.parquet")


def test_choices_name_their_classes() -> None:
    rows = [f'a,{who},choice/1,"{{""class"": ""{name}""}}"' for who, name in (("x", "dog"), ("y", "cat"))]
    Path("answers.csv").write_text("item,annotator,kind,payload\n" + "\n".join(rows) + "\n")
    imported = import_file("answers.csv")
    assert imported.table.classes == ("cat", "dog")  # type: ignore[union-attr]
    assert any("classes as found: cat, dog" in note for note in imported.notes)
    assert len(sf.doubt("answers.csv")) == 1


def test_a_list_column_without_class_names_is_read_with_them() -> None:
    pq.write_table(pa.table({"item": ["a", "b"], "probs": PROBS.tolist()}), "listed.parquet")
    with pytest.raises(sf.SfumatoError, match=r"sfumato import auto FILE --classes cat,dog"):
        run("import", "auto", "listed.parquet", "-o", "out.parquet")
    run("import", "auto", "listed.parquet", "--classes", "cat,dog", "-o", "out.parquet")
    assert sf.read("out.parquet").classes == sf.read("listed.parquet", classes=["cat", "dog"]).classes == ("cat", "dog")
    with pytest.raises(sf.SfumatoError, match=r"the classes cat, dog"):
        sf.read("out.parquet", classes=["cat", "cow"])


def test_logits_in_plain_columns_are_called_so() -> None:
    Path("logits.csv").write_text("item,cat,dog\na,2.5,-1\nb,0.5,3\n")
    for options in ([], ["--logits"]):
        with pytest.raises(sf.SfumatoError, match=r"neither counts.*import predictions logits.csv -o FILE --logits"):
            run("import", "auto", "logits.csv", "-o", "out.csv", *options)
    with pytest.raises(sf.SfumatoError, match=r'format="predictions", logits=True'):
        sf.read("logits.csv")


def test_columns_that_are_left_out_are_no_evidence() -> None:
    Path("total.csv").write_text("item,cat,dog,total\na,3,1,4\nb,2,2,4\n")
    notes = import_file("total.csv", settings={"leave_out": ("total",)}).notes
    assert notes[0] == "read as counts: whole numbers that sum to 4 in every row"


def test_a_step_without_options_for_files_says_how_to_convert_them() -> None:
    folder = Path("study/runs")
    folder.mkdir(parents=True)
    Path("study/counts.csv").write_text("item,cat,dog\na,3,1\nb,2,2\n")
    listed = pa.table({"item": ["a", "b"], "probs": PROBS.tolist()})
    pq.write_table(listed, folder / "listed.parquet")
    convert = r"convert the file first: sfumato import {} study/{} {} -o"
    report = ("report", "study", "-o", "report.html")
    with pytest.raises(
        sf.SfumatoError, match=convert.format("predictions", "runs/listed.parquet", "--classes cat,dog")
    ):
        run(*report)
    with pytest.raises(sf.SfumatoError, match=r"sfumato import auto study/runs/listed.parquet --classes cat,dog"):
        run("select", "study/runs/listed.parquet", "--where", "confidence>0.5", "-o", "out.parquet")
    (folder / "listed.parquet").unlink()
    (folder / "logits.csv").write_text("item,cat,dog\na,2.5,-1\nb,0.5,3\n")
    with pytest.raises(sf.SfumatoError, match=convert.format("predictions", "runs/logits.csv", "--logits")):
        run(*report)
    pq.write_table(listed, "study/labels.parquet")
    with pytest.raises(sf.SfumatoError, match=convert.format("labels", "labels.parquet", "--classes cat,dog")):
        run(*report)


def test_swapped_files_of_plain_columns_are_recognized() -> None:
    Path("plain.csv").write_text("item,cat,dog\na,0.75,0.25\nb,0.5,0.5\nc,0.1,0.9\n")
    Path("counts.csv").write_text("item,cat,dog\na,3,1\nb,2,2\nc,0,4\n")
    with pytest.raises(sf.SfumatoError, match=r"look like votes.*swapped\?"):
        run("evaluate", "--predicted", "counts.csv", "--people", "plain.csv", "-o", "out.csv")


def test_figures_against_original_labels_print_the_command_with_them() -> None:
    folder = Path("study/runs")
    folder.mkdir(parents=True)
    Path("study/counts.csv").write_text("item,cat,dog\na,3,1\nb,2,2\n")
    Path("study/original.csv").write_text("item,label\na,cat\nb,dog\n")
    for name in "AB":
        (folder / f"{name}.csv").write_text("item,cat,dog\na,0.6,0.4\nb,0.5,0.5\n")
    run("report", "study", "--resamples", "100", "-o", "report.html")
    commands = re.findall(r"sfumato evaluate[^<]*--cross-label", Path("report.html").read_text())
    assert commands
    assert all("--original original.csv" in each for each in commands)


def test_one_metric_and_one_separator_are_said_plainly() -> None:
    assert "semicolons.csv: columns are separated by ';'" in run("doubt", "semicolons.csv")
    command = ["evaluate", "--predicted", "predicted.csv", "--people", "wide.csv", "--metrics", "brier", "-o", "o.csv"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = CliRunner().invoke(group, command).output
    assert "of the others" not in shown
    assert "Scores, 1 row\n" in shown


def label_studio_task(number: int, choices: dict[int, str]) -> dict[str, Any]:
    return {
        "id": number,
        "data": {"text": f"text {number}"},
        "annotations": [
            {"completed_by": who, "result": [{"type": "choices", "from_name": "c", "value": {"choices": [chosen]}}]}
            for who, chosen in choices.items()
        ],
    }


@pytest.mark.filterwarnings("ignore::sfumato.SfumatoWarning")
@pytest.mark.parametrize("name", ["studio.json", "records.json"])
def test_evaluate_reads_answers_of_other_tools_with_classes_as_import_does(name: str) -> None:
    """`none` was not chosen by anyone: only --classes names it."""
    tasks = [label_studio_task(1, {1: "dog", 2: "cat"}), label_studio_task(2, {1: "dog", 2: "dog"})]
    Path("studio.json").write_text(json.dumps(tasks))
    records = [("1", "x", "dog"), ("1", "y", "cat"), ("2", "x", "dog"), ("2", "y", "dog")]
    named = [dict(zip(("item", "annotator", "label"), each, strict=True)) for each in records]
    Path("records.json").write_text(json.dumps(named))
    Path("p.csv").write_text("item,p:cat,p:dog,p:none\n1,0.5,0.5,0.0\n2,0.1,0.9,0.0\n")
    classes = ("none", "dog", "cat")
    run("import", "auto", name, "--classes", ",".join(classes), "-o", "own.parquet")
    found = [
        sf.evaluate(predicted="p.csv", people=file, metrics="brier", classes=classes) for file in (name, "own.parquet")
    ]
    assert found[0] == found[1]
    run("evaluate", "--predicted", "p.csv", "--people", name, "--classes", ",".join(classes), "-o", "s.parquet")


def test_evaluate_names_the_command_for_answers_that_are_not_certain() -> None:
    Path("by-annotator.csv").write_text("item,ann,bob\n1,dog,cat\n2,dog,dog\n3,cat,cat\n")
    with pytest.raises(sf.SfumatoError, match=r"sfumato import wide by-annotator\.csv"):
        run("evaluate", "--predicted", "predicted.csv", "--people", "by-annotator.csv", "-o", "s.parquet")


def test_evaluate_names_the_columns_of_both_arrays_with_classes() -> None:
    np.save("votes.npy", np.array([[3, 1], [0, 4]]))
    np.save("probs.npy", PROBS)
    scores = ("evaluate", "--predicted", "probs.npy", "--people", "votes.npy", "--classes", "cat,dog", "--same-rows")
    run(*scores, "--metrics", "brier", "-o", "out.csv")
    assert pl.read_csv("out.csv")["value"][0] == pytest.approx((0.005 + 0.08) / 2)


def test_several_methods_and_a_column_of_the_truth_are_given_in_one_option_each() -> None:
    rows = [("a", "x", "cat", "cat"), ("a", "y", "dog", "cat"), ("b", "x", "dog", "dog"), ("b", "y", "dog", "dog")]
    text = "\n".join(",".join(row) for row in [("item", "annotator", "label", "gold class"), *rows])
    Path("votes.csv").write_text(text)
    done = CliRunner().invoke(group, ["aggregate", "votes.csv", "--by", "mean,majority", "--truth", "gold class"])
    assert done.exception is None, done.output
    assert [line.split()[2] for line in done.output.splitlines()[1:3]] == ["0.7500*", "0.7500*"]


def test_select_reads_a_folder_that_holds_no_pictures() -> None:
    Path("lists").mkdir()
    for name in ("ann", "ben"):
        lines = ({"id": i, "text": "x", "label": ["good" if i else "bad"]} for i in range(3))
        Path(f"lists/{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    run("select", "lists", "--where", "class==good", "-o", "good.parquet")
    assert len(sf.read("good.parquet")) == 4
    assert len(sf.select("lists", where="class==good")) == 4


def test_a_list_of_nothing_leaves_nothing_out() -> None:
    Path("none.csv").write_text("item\n")
    run("select", "wide.csv", "--leave-out", "none.csv", "-o", "all.csv")
    assert Path("all.csv").read_text().replace(chr(34), "") == WIDE
