"""The commands as a user types them, on the published data and on small tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from sfumato_command import sfumato

from sfumato import Beliefs, SoftLabels


def test_from_the_published_answers_to_the_released_labels(published: Path, tmp_path: Path) -> None:
    sfumato("import", "cifar-10s", published / "cifar10s", "--as-released", "-o", "a.parquet", cwd=tmp_path)
    sfumato("label", "a.parquet", "--by", "top-two-clamp", "--as-released", "-o", "b.parquet", cwd=tmp_path)
    table = pq.read_table(tmp_path / "b.parquet")
    assert table.num_rows == 6723
    assert json.loads(table.schema.metadata[b"sfumato.classes"])[:3] == ["airplane", "automobile", "bird"]
    released = np.load(published / "cifar10s" / "t2clamp_redist10.npz")["soft_labels"]
    ours = np.array(table.column("probs").to_pylist(), dtype=np.float32)
    assert np.array_equal(ours[np.lexsort(ours.T)], released[np.lexsort(released.T)])


def test_repeats_are_labelled_only_when_asked(published: Path, tmp_path: Path) -> None:
    sfumato("import", "cifar-10s", published / "cifar10s", "--repeats", "-o", "a.parquet", cwd=tmp_path)
    sfumato("label", "a.parquet", "--by", "top-two-clamp", "-o", "b.parquet", cwd=tmp_path)
    sfumato("label", "a.parquet", "--by", "top-two-clamp", "--repeats", "-o", "c.parquet", cwd=tmp_path)
    assert [pq.read_metadata(tmp_path / f"{name}.parquet").num_rows for name in "bc"] == [6200, 6696]


def test_transform_and_doubt(tmp_path: Path) -> None:
    labels = SoftLabels.from_numpy(["a", "b"], [[0.5, 0.5], [1, 0]], ["cat", "dog"], 4)
    labels.write(tmp_path / "l.csv")
    sfumato("transform", "l.csv", "--by", "smooth", "--rate", 0.5, "-o", "s.csv", cwd=tmp_path)
    assert pl.read_csv(tmp_path / "s.csv")["p:cat"].to_list() == [0.5, 0.75]
    beliefs = Beliefs.from_numpy(["a", "a"], ["x", "y"], [[1, 0], [0, 1]], ["cat", "dog"])
    beliefs.write(tmp_path / "b.parquet")
    shown = sfumato("doubt", "b.parquet", "-o", "d.csv", cwd=tmp_path).stdout
    assert "1 item. Two people give different answers in 100.0% of cases." in shown
    assert "Plug-in" not in shown
    shown = sfumato("doubt", "b.parquet", "--plug-in", cwd=tmp_path).stdout
    assert "Plug-in entropies: 0.693 nats = 0.000 within annotators + 0.693 between annotators." in shown
    table = pl.read_csv(tmp_path / "d.csv")
    assert table.columns[:5] == ["item", "n_answers", "dissent", "dissent_within", "dissent_between"]
    assert table["between"].to_list() == pytest.approx([np.log(2)])
    assert table["dissent"].to_list() == [1.0]
    beliefs.take(np.array([True, False])).write(tmp_path / "one.parquet")
    assert "not identifiable" in sfumato("doubt", "one.parquet", cwd=tmp_path).stdout


def test_soften(tmp_path: Path) -> None:
    SoftLabels.one_hot(["a", "b"], ["cat", "dog"], ["cat", "dog", "fox"]).write(tmp_path / "hard.parquet")
    (tmp_path / "alike.csv").write_text("class,cat,dog,fox\ncat,1,0.5,0.1\ndog,0.5,1,0.2\nfox,0.1,0.2,1\n")
    for name in ("one", "two"):
        sfumato(
            "soften", "hard.parquet", "--similarity", "alike.csv", "--annotators", 50, "-o", f"{name}.csv", cwd=tmp_path
        )
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    beliefs = Beliefs.read(tmp_path / "one.csv")
    assert len(beliefs) == 100
    assert beliefs.probs[beliefs.item.codes == 0].mean(axis=0).argmax() == 0


def test_errors_as_json(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("item,annotator,label\n1,a,cat\n1,b,dgo\n")
    arguments = ("import", "crowd", "v.csv", "--classes", "cat,dog", "-o", "a.parquet")
    plain = sfumato(*arguments, cwd=tmp_path, code=2).stderr
    assert plain.startswith("error[unknown-class] v.csv:3:label found class 'dgo'; expected one of cat, dog; fix: ")
    for order in (("--json", *arguments), (*arguments, "--json")):
        fields = json.loads(sfumato(*order, cwd=tmp_path, code=2).stderr)
        assert (fields["code"], fields["file"], fields["line"], fields["column"]) == (
            "unknown-class",
            "v.csv",
            3,
            "label",
        )
    assert not (tmp_path / "a.parquet").exists()


def test_usage_errors_end_with_2(tmp_path: Path) -> None:
    assert "did you mean 'label'" in sfumato("lable", cwd=tmp_path, code=2).stderr
    assert (
        "error[usage] found no --by; expected the labeler; fix: add --by NAME"
        in sfumato("label", "x.parquet", "-o", "y.parquet", cwd=tmp_path, code=2).stderr
    )


def test_settings_that_do_not_belong_are_refused(tmp_path: Path) -> None:
    error = sfumato(
        "label", "x.parquet", "--by", "one-hot", "--gamma", 0.1, "-o", "y.parquet", cwd=tmp_path, code=2
    ).stderr
    assert error.startswith("error[bad-setting] found the setting gamma for one-hot")


def test_a_step_never_overwrites_its_source(tmp_path: Path) -> None:
    votes = "item,annotator,label\n1,a,cat\n1,b,dog\n"
    (tmp_path / "v.csv").write_text(votes)
    assert "bad-setting" in sfumato("import", "crowd", "v.csv", "-o", "v.csv", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "v.csv").read_text() == votes


def test_the_wrong_table_gives_an_error_with_the_skipped_step(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("item,annotator,label\n1,a,cat\n1,b,dog\n")
    error = sfumato("label", "v.csv", "--by", "one-hot", "-o", "b.parquet", cwd=tmp_path, code=2).stderr
    assert "sfumato import crowd" in error
    sfumato("import", "crowd", "v.csv", "-o", "a.parquet", cwd=tmp_path)
    assert sfumato("doubt", "a.parquet", cwd=tmp_path).stdout == sfumato("doubt", "v.csv", cwd=tmp_path).stdout
    sfumato("aggregate", "v.csv", "-o", "l.parquet", cwd=tmp_path)
    assert "Annotations, Beliefs or Counts" in sfumato("doubt", "l.parquet", cwd=tmp_path, code=2).stderr


def test_screening_says_what_it_could_not_look_at(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("item,annotator,label\n1,a,cat\n1,b,dog\n")
    sfumato("import", "crowd", "v.csv", "-o", "a.parquet", cwd=tmp_path)
    shown = sfumato("screen", "a.parquet", "-o", "s.csv", cwd=tmp_path).stdout
    assert "no data for checks_passed, repeats_changed, median_seconds, longest_run" in shown
    assert "--records" not in shown
    shown = sfumato("screen", "a.parquet", "--by", "paid", "-o", "s.csv", cwd=tmp_path).stdout
    assert "no data for impossible_times, without_input, same_device, same_network: give --records" in shown


def test_bad_percents_can_be_left_out(tmp_path: Path) -> None:
    rest = '""second"": null, ""second_percent"": null, ""impossible"": []}"'
    rows = [
        f'{i},a,top_two/1,"{{""first"": ""cat"", ""first_percent"": {p}, {rest}'
        for i, p in enumerate((80, 170, "null"))
    ]
    (tmp_path / "a.csv").write_text("\n".join(["item,annotator,kind,payload", *rows]) + "\n")
    command = ("label", "a.csv", "--by", "top-two-clamp", "--classes", "cat,dog", "-o", "b.csv")
    assert "--skip-bad-percents" in sfumato(*command, cwd=tmp_path, code=2).stderr
    assert "2 of 3 answers not labeled" in sfumato(*command, "--skip-bad-percents", cwd=tmp_path).stdout
    assert pl.read_csv(tmp_path / "b.csv")["p:cat"].to_list() == [0.8]


def test_without_a_command_there_is_help(tmp_path: Path) -> None:
    assert "Commands:" in sfumato(cwd=tmp_path).stdout
