"""Evaluation refuses labels that are not people's, and tables that are swapped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.evaluate import command
from sfumato.evaluation.matched_labels import match_labels
from sfumato.labeling.transforms import Infill
from sfumato.tables.errors import SfumatoError
from sfumato.tables.soft_labels import SoftLabels

ITEMS = [f"i{k}" for k in range(40)]
CLASSES = ["cat", "dog"]
RNG = np.random.default_rng(0)
SHARES = RNG.integers(0, 6, 40) / 5


def labels(estimand: str | None, n_annotators: int | None = None) -> SoftLabels:
    probs = np.stack([SHARES, 1 - SHARES], axis=1)
    return SoftLabels.from_numpy(ITEMS, probs, CLASSES, n_annotators, estimand=estimand, made_by="somebody")


VOTES, TRUTH, PREDICTED, UNKNOWN = labels("judgment", 5), labels("truth", 5), labels("prediction", 0), labels(None)
COUNTED = labels(None, 5)
BELIEFS = sf.Beliefs.from_votes(item=["i0"], annotator=["x"], label=["cat"], classes=CLASSES)

REFUSED = [
    (PREDICTED, TRUTH, "wrong-estimand"),
    (UNKNOWN, TRUTH, "wrong-estimand"),
    (PREDICTED, PREDICTED, "wrong-estimand"),
    (TRUTH, PREDICTED, "wrong-estimand"),
    (VOTES, PREDICTED, "swapped-labels"),
    (COUNTED, PREDICTED, "swapped-labels"),
    (VOTES, UNKNOWN, "swapped-labels"),
]
ALLOWED = [
    (PREDICTED, VOTES),
    (PREDICTED, COUNTED),
    (UNKNOWN, VOTES),
    (UNKNOWN, UNKNOWN),
    (VOTES, COUNTED),
    (TRUTH, VOTES),
]


@pytest.mark.parametrize(("predicted", "people", "code"), REFUSED)
def test_labels_in_the_wrong_place_are_refused(predicted: SoftLabels, people: SoftLabels, code: str) -> None:
    calls: list[Any] = [
        lambda **more: sf.evaluate(predicted=predicted, people=people, metrics=["brier"], **more),
        lambda **more: sf.compare({"a": predicted, "b": predicted}, people=people, metrics=["brier"], **more),
    ]
    for call in calls:
        with pytest.raises(SfumatoError, match="any_estimand=True") as caught:
            call()
        assert caught.value.code == code
        call(any_estimand=True)


@pytest.mark.parametrize(("predicted", "people"), ALLOWED)
def test_labels_in_their_place_are_scored(predicted: SoftLabels, people: SoftLabels) -> None:
    assert sf.evaluate(predicted=predicted, people=people, metrics=["brier"]).value_of("brier") == 0


def test_the_command_has_the_same_rule(tmp_path: Path) -> None:
    for name, table in (("v", VOTES), ("p", PREDICTED)):
        table.write(tmp_path / f"{name}.csv")
    arguments = ["--predicted", f"{tmp_path}/v.csv", "--people", f"{tmp_path}/p.csv", "-o", f"{tmp_path}/scores.csv"]
    with pytest.raises(SfumatoError, match="--any-estimand") as caught:
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert caught.value.code == "swapped-labels"
    assert CliRunner().invoke(command, [*arguments, "--any-estimand", "--metrics", "brier"]).exit_code == 0


def test_in_filling_can_be_told_to_mix() -> None:
    some = SoftLabels.from_numpy(ITEMS[:3], VOTES.probs[:3], CLASSES, 5, estimand="judgment")
    with pytest.raises(SfumatoError, match="any_estimand=True"):
        Infill(filling=TRUTH).apply(some)
    assert len(Infill(filling=TRUTH, any_estimand=True).apply(some)) == 40


WRONG: list[tuple[Any, str]] = [
    (lambda: sf.evaluate(PREDICTED, VOTES), "sf.evaluate(predicted=..., people=...)"),
    (lambda: sf.evaluate(predicted=PREDICTED), "predicted=..., people=..."),
    (lambda: sf.evaluate(predicted=anything(BELIEFS), people=VOTES), "predicted=sf.aggregate(predicted)"),
    (lambda: sf.evaluate(predicted=anything({"a": PREDICTED}), people=VOTES), "sf.compare"),
    (lambda: sf.evaluate(predicted=anything([PREDICTED]), people=VOTES), "sf.compare"),
    (lambda: sf.evaluate(predicted=anything(PREDICTED.probs), people=VOTES), "SoftLabels.from_numpy"),
    (lambda: sf.evaluate(predicted=anything(PREDICTED.to_polars()), people=VOTES), "one column per class"),
    (lambda: sf.evaluate(predicted=anything(3), people=VOTES), "SoftLabels.from_numpy"),
    (lambda: sf.compare(anything([PREDICTED, PREDICTED]), people=VOTES), "sf.compare({'a': one, 'b': other}"),
    (lambda: sf.compare(anything(PREDICTED), people=VOTES), "sf.compare({'a': one, 'b': other}"),
    (lambda: sf.compare({}, people=VOTES), "sf.compare({'a': one, 'b': other}"),
    (lambda: sf.compare({anything(1): PREDICTED}, people=VOTES), "sf.compare({'a': one, 'b': other}"),
    (lambda: sf.compare({"a": PREDICTED, "b": PREDICTED}, VOTES), "sf.compare(predicted, people=...)"),
]


def anything(value: object) -> Any:
    """A value of a wrong type, for the type checker."""
    return value


@pytest.mark.parametrize(("call", "fix"), WRONG)
def test_wrong_arguments_are_named(call: Any, fix: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        call()
    assert caught.value.code in ("wrong-argument", "missing-classes")
    assert fix in caught.value.fix


def test_files_are_read(tmp_path: Path) -> None:
    PREDICTED.write(tmp_path / "p.csv")
    VOTES.write(tmp_path / "v.parquet")
    files: dict[str, Any] = {"predicted": tmp_path / "p.csv", "people": str(tmp_path / "v.parquet")}
    assert sf.evaluate(**files, metrics=["brier"]).value_of("brier") == 0
    swapped = {"predicted": files["people"], "people": files["predicted"]}
    with pytest.raises(SfumatoError, match="swapped-labels"):
        sf.evaluate(**swapped)


def test_counts_are_labels_of_people() -> None:
    counts = np.stack([np.round(SHARES * 5), 5 - np.round(SHARES * 5)], axis=1).astype(np.int32)
    table = sf.Counts(VOTES.items, tuple(CLASSES), counts)
    scores = sf.evaluate(predicted=PREDICTED, people=table, metrics=["brier"])
    assert scores.value_of("brier") == pytest.approx(0, abs=1e-12)
    assert scores.floor[0] > 0


def test_several_seeds_of_a_model() -> None:
    rng = np.random.default_rng(1)

    def noisy(scale: float) -> list[SoftLabels]:
        moved = [np.clip(PREDICTED.probs[:, 0] + scale * rng.normal(size=40), 0, 1) for _ in range(3)]
        return [SoftLabels.from_numpy(ITEMS, np.stack([p, 1 - p], axis=1), CLASSES, 0) for p in moved]

    (found,) = sf.compare({"bad": noisy(0.5), "good": noisy(0.01)}, people=VOTES, metrics=["brier"]).differences
    assert (found.n_seeds, found.verdict) == (3, "better")
    assert found.covers.startswith("another training and other items: ")


def test_ids_that_are_one_apart_are_refused() -> None:
    predicted = SoftLabels.from_numpy(range(4), [[0.6, 0.4]] * 4, ["cat", "dog"], 0)
    people = SoftLabels.from_numpy(range(1, 5), [[0.6, 0.4]] * 4, ["cat", "dog"], 5)
    with pytest.raises(SfumatoError, match="numbered 0 to 3, and labels numbered 1 to 4"):
        match_labels(predicted=predicted, people=people, common=True)
