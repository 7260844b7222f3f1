"""Label sets as the paper makes them, its tables as it prints them, and a training from end to end."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadFile
from sfumato_papers.finding import Finding
from sfumato_papers.paper import Part, Rerun, Scale, once
from sfumato_papers.published_data import PublishedData
from sfumato_papers.sucholutsky_2023 import (
    cross_label,
    label_informativeness,
    label_sets,
    similarity,
    training,
)
from sfumato_papers.sucholutsky_2023.paper import PAPER
from sfumato_papers.verdict import Verdict, judge

TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@pytest.fixture(scope="module")
def rerun(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Rerun:
    return Rerun(PublishedData(published), Scale.SMALL, tmp_path_factory.mktemp("runs"), processes=1)


def cells(part: Part) -> dict[tuple[str, str], Finding]:
    return {(each.row, each.column): each for each in part.findings if isinstance(each, Finding)}


def verdict_of(part: Part, row: str, column: str = "") -> Verdict:
    return next(
        judged.verdict
        for each, judged in zip(part.findings, part.judged, strict=True)
        if (each.row, getattr(each, "column", "")) == (row, column)
    )


def test_label_sets_are_what_the_paper_says(rerun: Rerun) -> None:
    every = label_sets.label_sets(rerun)
    hard = every[label_sets.HARD].probs
    assert entropy(every[label_sets.H].probs).mean() == pytest.approx(0.15446, abs=5e-6)
    for name, mass in ((label_sets.LOW, 0.05), (label_sets.HIGH, 0.2)):
        np.testing.assert_allclose((every[name].probs * (1 - hard)).sum(axis=1), mass)
    filled = every[label_sets.S_HARD]
    own = label_sets.cifar_10s(rerun.data)
    rows = filled.rows_of(own.items)
    np.testing.assert_allclose(filled.probs[rows], own.probs)
    others = np.setdiff1d(np.arange(10_000), rows)
    assert len(others) == 9_000
    np.testing.assert_array_equal(filled.probs[others], hard[others])
    assert ((every[label_sets.S_TOP_TWO].probs[others] > 0).sum(axis=1) <= 2).all()
    shuffled, people = every[label_sets.SHUFFLED].probs, every[label_sets.H].probs
    np.testing.assert_allclose(shuffled.sum(axis=0), people.sum(axis=0))
    for number in range(10):
        members = hard.argmax(axis=1) == number
        np.testing.assert_allclose(shuffled[members].sum(axis=0), people[members].sum(axis=0))


def test_counted_facts_and_a_verdict_that_changes_with_the_data(rerun: Rerun, tmp_path: Path) -> None:
    part = label_informativeness.experimental_setup(rerun)
    assert cells(part)["CIFAR-10S", "mean entropy (D.2)"].ours.value == pytest.approx(0.69341, abs=1e-5)
    assert verdict_of(part, "CIFAR-10S", "mean entropy (D.2)") == Verdict.REPRODUCED
    assert verdict_of(part, "CIFAR-10H, judgments") == Verdict.REPRODUCED
    assert verdict_of(part, "CIFAR-10DS", "judgments") == Verdict.NEEDS_DATA
    for name in ("cifar10h", "cifar10s", "cifar10-test"):
        (tmp_path / name).mkdir()
        for path in rerun.data.path(name).iterdir():
            shutil.copyfile(path, tmp_path / name / path.name)
    with np.load(tmp_path / "cifar10h" / "counts.npz") as file:
        arrays = dict(file)
    key = next(name for name, array in arrays.items() if array.shape == (10_000, 10))
    arrays[key] = arrays[key] - (arrays[key] // 2) * (arrays[key] > 10)
    np.savez(tmp_path / "cifar10h" / "counts.npz", **arrays)
    changed = label_informativeness.experimental_setup(Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs"))
    assert verdict_of(changed, "CIFAR-10H, judgments") == Verdict.NOT_REPRODUCED
    assert verdict_of(changed, "CIFAR-10LS (Low)", "ε: mass on the nine other classes of CIFAR-10H") == (
        Verdict.NOT_REPRODUCED
    )


def test_table_2_to_the_last_parameter(rerun: Rerun) -> None:
    part = label_informativeness.table_2(rerun)
    assert {judged.verdict for judged in part.judged} == {Verdict.REPRODUCED}
    assert len(part.findings) == 4


def test_a_sweet_spot_of_softness_in_released_labels(rerun: Rerun) -> None:
    part = label_sets_part(rerun)
    assert verdict_of(part, "Sweet spot") == Verdict.SAME_DIRECTION
    assert verdict_of(part, "Smoothed hard labels") == Verdict.SAME_DIRECTION
    found = cells(part)
    hard, smooth = (found[name, "ρ with held-out votes"].ours.value for name in (label_sets.HARD, label_sets.HIGH))
    assert hard == pytest.approx(smooth)
    assert found[label_informativeness.HALF, "ρ with held-out votes"].ours.value > hard + 0.3


label_sets_part = once(label_informativeness.label_informativeness)


def test_halves_of_the_votes_are_all_of_them(rerun: Rerun) -> None:
    people, rows = rerun.data.cifar_10h, np.arange(50)
    one, other = label_informativeness.halves(people, rows, np.random.default_rng(0))
    n = people.n_annotators[rows]
    np.testing.assert_allclose(one * (n // 2)[:, None] + other * (n - n // 2)[:, None], people.probs[rows] * n[:, None])


def test_the_papers_own_sentence_follows_from_its_table_1_but_for_typicality() -> None:
    table = cross_label.TABLE_1
    assert len(table) == 16
    for column in ("80 l/c", "8 l/c"):
        worse = {row for (row, of), each in table.items() if of == column and each.value > table["CIFAR-10", of].value}
        assert worse == {"CIFAR-10T"}
    assert set(table) == {(row, column) for row in label_sets.PAPER_SETS for column in cross_label.COLUMNS}


def test_the_papers_own_sentence_follows_from_its_table_3() -> None:
    table = cross_label.TABLE_3
    assert len(table) == 20
    # More softness does not help near, and helps far: from k = 2 to k = 4.
    for place, helps in (("CIFAR10-50k", False), ("CIFAR10.1v6", False), ("CINIC10", True), ("ImageNet-Far", True)):
        assert (table["k = 4", place].value < table["k = 2", place].value) == helps


@pytest.mark.parametrize(
    ("people", "expected"),
    [(1.67, Verdict.REPRODUCED), (1.75, Verdict.SAME_DIRECTION), (1.90, Verdict.NOT_REPRODUCED)],
)
def test_a_cell_of_table_1_is_judged_by_its_change_from_hard_labels(people: float, expected: Verdict) -> None:
    wobble = {0: -0.003, 1: 0.0, 2: 0.003}
    same = {seed: 1.80 + each for seed, each in wobble.items()}
    values = dict.fromkeys((*label_sets.PAPER_SETS, *cross_label.OURS), same)
    values[label_sets.H] = {seed: people + 2 * each for seed, each in wobble.items()}
    found = {each.row: each for each in cross_label.cells("80 l/c", values)}
    assert judge(found[label_sets.H], scaled_down=True).verdict == expected
    assert judge(found[label_sets.T], scaled_down=True).verdict == Verdict.NEEDS_DATA


def test_a_u_has_its_lowest_point_at_neither_end() -> None:
    def values(*means: float) -> dict[str, dict[int, float]]:
        return {name: {0: mean, 1: mean + 0.01, 2: mean - 0.01} for name, mean in zip("abc", means, strict=True)}

    assert cross_label.u_shape("", values(1.5, 1.2, 1.4), "abc").holds
    assert not cross_label.u_shape("", values(1.5, 1.2, 1.1), "abc").holds
    assert not cross_label.u_shape("", values(1.1, 1.2, 1.3), "abc").holds
    noisy = values(1.21, 1.2, 1.4)
    noisy["a"] = {0: 1.0, 1: 1.21, 2: 1.42}
    assert not cross_label.u_shape("", noisy, "abc").holds


def test_table_1_from_end_to_end(rerun: Rerun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(training.FEW_SEEDS, Scale.SMALL, 2)
    monkeypatch.setitem(training.N_TESTED, Scale.SMALL, 60)
    monkeypatch.setitem(training.FEW_EPOCHS[8], Scale.SMALL, 2)
    monkeypatch.setattr(cross_label, "COLUMNS", {"8 l/c": 8})
    part = cross_label.table_1(rerun)
    found = cells(part)
    assert {row for row, column in found if column == "8 l/c"} == {*label_sets.PAPER_SETS, *cross_label.OURS}
    assert 1.5 < found[label_sets.HARD, "8 l/c"].ours.value < 5
    assert found[label_sets.H, "8 l/c"].change.published.value == pytest.approx(-0.05)
    assert verdict_of(part, label_sets.DS, "8 l/c") == Verdict.NEEDS_DATA
    # Every seed has pictures of its own, eight of each class, and none of them is predicted.
    runs = training.trained_on_few(rerun, 8, tuple(label_sets.label_sets(rerun))[:1])
    tested = {run.seed: set(run.predictions.items.to_pylist()) for run in runs}
    assert tested[0] != tested[1]
    assert all(len(each) == 60 for each in tested.values())


def test_pictures_drawn_by_class() -> None:
    labels = np.repeat(TEN, 20).tolist()
    drawn = training.drawn_by_class(labels, 8, np.random.default_rng(0))
    assert np.unique(np.array(labels)[drawn], return_counts=True)[1].tolist() == [8] * 10


def test_the_published_protocol_can_be_constructed(rerun: Rerun) -> None:
    every = label_sets.label_sets(rerun)
    for network in training.NETWORKS[Scale.FULL]:
        whole = training.grid(every, Scale.FULL, network)
        assert whole.recipe.epochs == 150
        assert set(whole.targets) == set(every)
    assert training.few_grid(every, Scale.FULL, "vgg-15-bn", 8, 3).seeds == (3,)
    assert set(similarity.digit_grid(Scale.FULL).networks) == set(similarity.NETWORKS)
    assert training.scaled_down(Scale.FULL) == training.few_scaled_down(Scale.FULL) == ""


def test_ratings_of_digits(rerun: Rerun) -> None:
    ratings, shown = similarity.rated(rerun)
    assert (len(ratings.rating), ratings.n_annotators, len(ratings.pairs), len(shown)) == (630, 7, 90, 180)
    with np.load(rerun.data.path("digit-similarity", "pairs.npz")) as file:
        place = shown.items.index("120-b")
        np.testing.assert_array_equal(shown.images[place], file["images2"][120])


def test_missing_data_is_named(tmp_path: Path) -> None:
    nothing = Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs")
    for step, name in (
        (label_informativeness.experimental_setup, "cifar10"),
        (similarity.similarity_judgments, "digit-"),
    ):
        with pytest.raises(BadFile, match=name):
            step(nothing)


def test_the_steps_are_in_the_papers_order_and_each_once() -> None:
    names = [step.__name__ for step in PAPER.steps]
    assert len(names) == len(set(names)) == 17
    assert names.index("table_1") < names.index("table_2") < names.index("table_3")
