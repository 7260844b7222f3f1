"""Votes per class as they are shared: read back as equal tables, with the figures of single votes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import load_file
from scipy.stats import entropy as scipy_entropy

import sfumato as sf
from sfumato.cli.doubt import command as doubt_command
from sfumato.cli.share import command
from sfumato.reporting.phrases import NOT_IDENTIFIABLE
from sfumato.reporting.share import FORMATS, Release, Splits, WideCsv, format_named
from sfumato.reporting.share.datasheet import DatasheetSources
from sfumato.reporting.share.datasheet.datasheet import FACTS
from sfumato.reporting.share.release_columns import summary
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable
from sfumato.tables.soft_labels import SoftLabels

CLASSES = ("cat, black", "=ship", "never")
VOTES = {"007": (7, 3, 0), "7": (1, 0, 0), "1e5": (0, 5, 0), "a,b": (0, 1, 0), "=1+1": (2, 1, 0)}
DISSENT = np.mean(
    [1 - sum(n * (n - 1) for n in row) / (sum(row) * (sum(row) - 1)) for row in VOTES.values() if sum(row) > 1]
)
MEAN = np.mean([scipy_entropy(row) for row in VOTES.values() if sum(row) > 1])


@pytest.fixture
def counts() -> Counts:
    return Counts.from_numpy(list(VOTES), list(VOTES.values()), CLASSES)


@pytest.fixture
def shared(counts: Counts, tmp_path: Path) -> dict[str, Path]:
    """The counts as the command shares them, in every format."""
    counts.write(tmp_path / "counts.parquet")
    places = {each.name: tmp_path / ("out.npz" if each.name == "numpy" else each.name) for each in FORMATS}
    for name, place in places.items():
        arguments = [str(tmp_path / "counts.parquet"), "--as", name, "-o", str(place)]
        done = CliRunner().invoke(command, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    return places


def check_counts(read: object, counts: Counts) -> None:
    assert isinstance(read, Counts)
    assert (read.items.to_pylist(), read.classes) == (counts.items.to_pylist(), counts.classes)
    assert np.array_equal(read.counts, counts.counts)


def check_labels(read: object, counts: Counts) -> None:
    labels = counts.labels()
    assert isinstance(read, SoftLabels)
    assert (read.items.to_pylist(), read.classes) == (labels.items.to_pylist(), labels.classes)
    assert np.array_equal(read.probs, labels.probs)
    assert np.array_equal(read.n_annotators, labels.n_annotators)
    assert read.estimand is labels.estimand


def test_shared_counts_are_read_back(shared, counts):
    check_counts(sf.read(shared["csv"] / "counts.csv"), counts)
    check_labels(sf.read(shared["csv"] / "labels.csv"), counts)
    check_counts(sf.read(shared["huggingface"], part="counts"), counts)
    check_labels(sf.read(shared["huggingface"]), counts)
    check_counts(sf.read(shared["numpy"]), counts)
    assert np.array_equal(load_file(shared["pytorch"] / "data.safetensors")["counts"], counts.counts)


def test_a_loader_of_datasets_reads_the_counts(shared, counts):
    datasets = pytest.importorskip("datasets")
    read = datasets.load_dataset(str(shared["huggingface"]), "counts", cache_dir=str(shared["csv"] / "cache"))["train"]
    assert read["item"][:] == counts.items.to_pylist()
    assert np.array_equal(np.array(read["counts"][:]), counts.counts)


def test_every_split_has_its_counts(counts, tmp_path):
    splits = Splits.of({item: ("train", "test")[row % 2] for row, item in enumerate(VOTES)})
    format_named("huggingface").write(Release.of(counts, splits=splits), tmp_path / "out")
    read = sf.read(tmp_path / "out", part="counts", split="test")
    assert {item: tuple(read[item].values()) for item in read} == {item: VOTES[item] for item in list(VOTES)[1::2]}


def test_counts_beside_other_labels_take_their_order(counts, tmp_path):
    labels = SoftLabels.from_numpy(["=1+1", "007"], [[0, 0.4, 0.6], [0, 0.5, 0.5]], ("never", "=ship", "cat, black"))
    release = Release.of(labels, counts=counts)
    assert release.notes == ("3 counts of items without a label left out",)
    WideCsv().write(release, tmp_path / "out")
    read = sf.read(tmp_path / "out" / "counts.csv")
    assert read.classes == labels.classes
    assert read.counts.tolist() == [[0, 1, 2], [0, 3, 7]]
    with pytest.raises(BadTable, match=r"no counts for item 'x' \(1 labeled items have none\)"):
        Release.of(SoftLabels.from_numpy(["x"], [[1, 0, 0]], CLASSES), counts=counts)
    with pytest.raises(BadTable, match="use the counts that the labels were made from"):
        Release.of(SoftLabels.from_numpy(["007"], [[1, 0]], CLASSES[:2]), counts=counts)


def test_figures_are_those_of_single_votes_without_items_of_one_vote(counts):
    said = summary(Release.of(counts))
    assert said == summary(Release.of(counts.labels(), beliefs=counts.votes()))
    only = "over the 3 of 5 items with at least two annotators"
    assert f"Mean entropy {MEAN:.3f} nats, of at most 1.099, {only}." in said
    alone = Counts.from_numpy(["a", "b"], [[1, 0], [0, 1]], ["cat", "dog"])
    assert NOT_IDENTIFIABLE in summary(Release.of(alone))


def facts(labels: SoftLabels, *, beliefs: Beliefs | None = None, counts: Counts | None = None) -> dict[str, object]:
    sources = DatasheetSources(labels, beliefs=beliefs, counts=counts)
    return {name: FACTS[name](sources) for name in ("doubt", "agreement", "people", "labels", "steps")}


@pytest.mark.filterwarnings("ignore:found nothing to compare")
@pytest.mark.parametrize("votes", [VOTES, {"a": (1, 0, 0), "b": (0, 1, 0)}])
def test_a_datasheet_of_counts_has_the_figures_of_single_votes(votes):
    counts = Counts.from_numpy(list(votes), list(votes.values()), CLASSES)
    by_counts = facts(counts.labels(), counts=counts)
    by_votes = facts(counts.labels(), beliefs=counts.votes())
    fixed, people = "Intervals are over items; the crowd is taken as fixed.", "Intervals are over people and items."
    assert [each.replace(fixed, people) for each in by_counts["doubt"].points] == list(by_votes["doubt"].points)
    assert by_counts["doubt"].grid == by_votes["doubt"].grid
    rows = [[] if each["agreement"].grid is None else each["agreement"].grid.rows for each in (by_counts, by_votes)]
    assert [row[:2] for row in rows[0]] == [row[:2] for row in rows[1]]  # intervals are over items alone
    assert "mean of the votes (`mean`)" in by_counts["labels"].points[-1]
    assert "Which annotator gave which is not recorded." in by_counts["people"].points[0]
    assert "annotators gave" not in " ".join(point for fact in by_counts.values() for point in fact.points)


def test_a_datasheet_leaves_out_items_of_one_vote_as_its_command_does(counts, tmp_path):
    counts.write(tmp_path / "counts.csv")
    found = FACTS["doubt"](DatasheetSources.read(tmp_path / "counts.csv"))
    assert found.points[0].startswith(f"Entropy of a label: {MEAN:.3f} nats on average")
    assert found.points[1] == "33.3% of the labels have all probability on one class."
    assert found.points[2].startswith("These are figures of the 3 of 5 items with at least two annotators")
    assert sum(int(row[1]) for row in found.grid.rows) == 3
    assert f"Two people give different answers in {DISSENT:.0%} of cases" in found.points[4]
    assert found.command == "sfumato doubt counts.csv"
    done = CliRunner().invoke(doubt_command, [str(tmp_path / "counts.csv")], catch_exceptions=False)
    assert "5 items, 3 with at least two annotators. Two people give different answers" in done.output
    assert f"in {DISSENT:.0%} of cases" in done.output
    alone = FACTS["doubt"](DatasheetSources(SoftLabels.from_numpy(["a"], [[1, 0]], ["cat", "dog"], [1])))
    assert alone.points == (NOT_IDENTIFIABLE,)
    assert alone.grid is None
