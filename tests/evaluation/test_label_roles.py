"""Evaluation refuses labels that are not people's, and tables that are swapped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.evaluate import command
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
    with pytest.raises(SfumatoError, match="any-estimand"):
        Infill(filling=TRUTH).apply(some)
    assert len(Infill(filling=TRUTH, any_estimand=True).apply(some)) == 40
