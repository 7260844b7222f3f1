"""Trained parts: verdicts follow the figures of the runs, and a tiny grid goes all the way to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.evaluation.run_metric_values import RunMeasurements
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.networks import Small
from sfumato_papers.finding import Finding
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.peterson_2019 import attacks, fashion, figures_2_and_3, protocol, table_1
from sfumato_papers.peterson_2019.figures_2_and_3 import figure_3
from sfumato_papers.peterson_2019.run_scores import ACROSS, ENSEMBLE, Scored
from sfumato_papers.published_data import PublishedData
from sfumato_papers.verdict import Verdict, judge

WOBBLE = (-0.01, 0.0, 0.01)
"""How three trainings differ, the same for all targets: differences between targets are then without noise."""


class Made(Scored):
    """Figures that a test chose, by target, for every set and metric; `noise` is what pairing cannot take out."""

    def __init__(self, values: Mapping[str, float], noise: float = 0.002) -> None:
        object.__setattr__(self, "sets", {"c10H": None, "c10": None, "CINIC10": None})
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_noise", noise)

    def of(self, on: str, network: str, target: str, metric: str, *, times: float = 1.0) -> dict[int, float]:
        value = self._values[target]  # type: ignore[attr-defined]
        own = self._noise * (1 + list(self._values).index(target))  # type: ignore[attr-defined]
        return {seed: times * (value + off + own * (seed - 1)) for seed, off in enumerate(WOBBLE)}


AS_PUBLISHED = {
    "pretrained": 0.71, "control": 0.54, "mixup": 0.47, "category": 0.42, "human": 0.34, "sampled": 0.35,
    "distilled": 0.40, "shuffled": 0.41, "entropy-matched": 0.43, ENSEMBLE: 0.50,
}  # fmt: skip
"""VGG's column c10H, and what it might have been for the rows that the paper lacks."""


def of_cells(figures: Mapping[str, float], noise: float = 0.002) -> dict[tuple[str, str], Verdict]:
    cells = table_1._cells(Made(figures, noise), "small")
    return {(each.row, each.column): judge(each, scaled_down=True).verdict for each in cells}


def test_figures_as_published_are_reproduced() -> None:
    found = of_cells(AS_PUBLISHED)
    assert found["VGG: FT CIFAR10H soft targets", "c10H"] is Verdict.REPRODUCED
    assert found["VGG: FT CIFAR10", "c10H"] is Verdict.NO_VERDICT
    assert found["VGG: Trained CIFAR10", "c10H"] is Verdict.REPRODUCED
    assert found["VGG: FT CIFAR10H soft targets", "v4"] is Verdict.NEEDS_DATA
    assert found["VGG: soft targets less shuffled within category", "c10H"] is Verdict.NO_VERDICT


@pytest.mark.parametrize(
    ("human", "noise", "verdict"),
    [
        (0.44, 0.002, Verdict.SAME_DIRECTION),
        (0.60, 0.002, Verdict.NOT_REPRODUCED),
        (0.34, 0.5, Verdict.NOT_REPRODUCED),
    ],
    ids=["less of it", "the other way", "too noisy to show"],
)
def test_other_figures_are_not(human: float, noise: float, verdict: Verdict) -> None:
    found = of_cells({**AS_PUBLISHED, "human": human}, noise)
    assert found["VGG: FT CIFAR10H soft targets", "c10H"] is verdict


def test_statements_follow_the_figures() -> None:
    def holds(**changed: float) -> dict[str, bool]:
        made = Made({**AS_PUBLISHED, **changed})
        return {each.row: each.holds for each in table_1._statements(made, "small", "")}

    published = holds()
    assert published["Best fit to humans: soft targets"]
    assert published["Category soft labels"]
    assert published["mixup"]
    assert published["Ensemble of pretrained"]
    other = holds(category=0.30)
    assert not other["Best fit to humans: soft targets"]
    assert not other["Category soft labels"]
    assert not holds(mixup=0.38)["mixup"]
    assert not holds(ensemble=0.30)["Ensemble of pretrained"]
    assert not holds(ensemble=0.80)["Ensemble of pretrained"]


@pytest.fixture(scope="module")
def tiny(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Rerun:
    """A rerun whose trainings are over at once."""
    small = Scale.SMALL
    with pytest.MonkeyPatch.context() as patch:
        for table, value in (
            (protocol.N_LEARNT, 200), (protocol.N_HELD_OUT, 100), (protocol.N_BEFORE, 200), (protocol.N_ELSEWHERE, 60),
            (protocol.NETWORKS, {"small": Small(width=2)}), (protocol.SEEDS, 2), (attacks.STEPS, 2),
            (fashion.N_LEARNT, 200), (fashion.N_HELD_OUT, 100), (fashion.EPOCHS, 1),
            (fashion.SEEDS, 2),
        ):  # fmt: skip
            patch.setitem(table, small, value)
        for recipes in (protocol.TRAINING, protocol.PRETRAINING, protocol.TUNING):
            patch.setitem(recipes, small, replace(recipes[small], epochs=1))
        yield Rerun(PublishedData(published), small, tmp_path_factory.mktemp("tiny"), processes=1)


STEPS: tuple[Callable[[Rerun], Part], ...] = (
    figures_2_and_3.figure_2, figure_3, table_1.table_1, attacks.table_2, attacks.figure_4, fashion.fashion,
    fashion.fashion_attacked,
)  # fmt: skip


@pytest.fixture(scope="module")
def parts(tiny: Rerun) -> dict[str, Part]:
    return {step.__name__: step(tiny) for step in STEPS}


def test_every_part_has_figures_and_verdicts(parts: dict[str, Part]) -> None:
    charts = [chart.name for part in parts.values() for chart in part.charts]
    assert len(charts) == len(set(charts))
    for name, part in parts.items():
        assert part.scaled_down, name
        for each, judged in zip(part.findings, part.judged, strict=True):
            if isinstance(each, Finding) and not each.needs:
                assert each.ours is not None
                assert np.isfinite(each.ours.value), (name, each.row, each.column)
                assert judged.verdict is not Verdict.NEEDS_DATA


def test_a_cell_of_table_1_as_by_hand(parts: dict[str, Part], tiny: Rerun) -> None:
    """From the files of the runs, with plain NumPy."""
    folder = tiny.runs / "small" / "tuned"
    with np.load(tiny.data.path("cifar10h", "counts.npz")) as file:
        shares = file["counts"] / file["counts"].sum(axis=1, keepdims=True)
        label = file["labels"].astype(int)
    (fold,) = protocol.folds(tiny)
    found = {(each.row, each.column): each for each in parts["table_1"].findings if isinstance(each, Finding)}
    for run, row in (
        ("human.small.seed-{}.fold-0", "VGG: FT CIFAR10H soft targets"),
        ("mixup.small.seed-{}.fold-0", "VGG: FT CIFAR10 with mixup"),
        ("pretrained.small.seed-{}", "VGG: Trained CIFAR10"),
    ):
        to_people, to_label = [], []
        for seed in (0, 1):
            table = SoftLabels.read(folder / run.format(seed) / "predictions.parquet")
            place = {int(item): i for i, item in enumerate(table.items.to_pylist())}
            logs = np.log(table.probs[[place[i] for i in fold.test]])
            to_people.append(-(shares[fold.test] * logs).sum(axis=1).mean())
            to_label.append(-logs[np.arange(len(fold.test)), label[fold.test]].mean())
        assert found[row, "c10H"].ours.value == pytest.approx(np.mean(to_people), rel=1e-6)
        assert found[row, "c10"].ours.value == pytest.approx(np.mean(to_label), rel=1e-6)


def test_attacks_drive_the_loss_up(parts: dict[str, Part]) -> None:
    curve = parts["figure_4"].charts[0].columns
    by_step: dict[tuple[str, int], float] = dict(
        zip(zip(curve["labels"], curve["iteration"], strict=True), curve["crossentropy"], strict=True)
    )
    for labels in ("C10", "C10H"):
        assert by_step[labels, 2] > by_step[labels, 0]


def test_nothing_is_trained_twice(parts: dict[str, Part], tiny: Rerun) -> None:
    before = {path: path.stat().st_mtime_ns for path in tiny.runs.rglob("run.json")}
    again = Rerun(tiny.data, tiny.scale, tiny.runs, processes=1)
    part = table_1.table_1(again)
    assert [each.ours for each in part.findings] == [each.ours for each in parts["table_1"].findings]
    assert {path: path.stat().st_mtime_ns for path in tiny.runs.rglob("run.json")} == before


def test_several_networks_are_averaged_seed_by_seed() -> None:
    class Two(Made):
        def of(self, on: str, network: str, target: str, metric: str, *, times: float = 1.0) -> dict[int, float]:
            if network == ACROSS:
                return Scored.of(self, on, network, target, metric, times=times)
            return {0: 1.0, 1: 2.0} if network == "a" else {0: 3.0, 1: 6.0}

    made = Two(AS_PUBLISHED)
    object.__setattr__(made, "sets", {"c10H": RunMeasurements((), 0.95, "")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunMeasurements, "networks", ["a", "b"])
        assert made.of("c10H", ACROSS, "human", "cross_entropy") == {0: 2.0, 1: 4.0}
