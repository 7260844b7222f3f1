"""Strata: which items stand where, and what is said of those that are empty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trained

from sfumato import SoftLabels
from sfumato.evaluation import STRATA, GivenStrata, MatchedLabels, Stratum, match_labels, stratification_from_name
from sfumato.evaluation.strata import AgreementStrata, ClassStrata, EntropyStrata, Stratification, strata_of
from sfumato.tables.errors import BadSetting, BadTable, SfumatoWarning, UnknownName

PROBS = [[1, 0], [0.5, 0.5], [0, 1], [0.9, 0.1], [0.2, 0.8]]


def labels(probs: object = PROBS, original: list[str] | None = None) -> MatchedLabels:
    items = [f"i{k}" for k in range(len(probs))]
    table = SoftLabels.from_numpy(items, probs, ["cat", "dog"])
    first = None if original is None else SoftLabels.one_hot(items, original, ["cat", "dog"])
    return match_labels(predicted=table, people=table, original=first)


def rows(strata: list[Stratum]) -> dict[str, list[int]]:
    return {stratum.name: stratum.rows.tolist() for stratum in strata}


def test_where_people_agree() -> None:
    assert rows(AgreementStrata().strata(labels())) == {"people agree": [0, 2], "people disagree": [1, 3, 4]}


def test_entropy_by_hand() -> None:
    # Entropies 0, ln 2, 0, .33, .50: the median is that of the fourth item, and equals stay together.
    found = rows(EntropyStrata(quantiles=2).strata(labels()))
    assert found == {"entropy 1 of 2": [0, 2, 3], "entropy 2 of 2": [1, 4]}


def test_equal_entropies_are_never_parted() -> None:
    some = labels([[1, 0]] * 6 + [[0.5, 0.5], [0.6, 0.4]])
    with pytest.warns(SfumatoWarning, match="found no items in entropy 2 of 4, entropy 3 of 4"):
        found = rows(strata_of(some, [EntropyStrata()]))
    assert found == {
        "entropy 1 of 4": [0, 1, 2, 3, 4, 5], "entropy 2 of 4": [], "entropy 3 of 4": [], "entropy 4 of 4": [6, 7]
    }  # fmt: skip


def test_classes_of_people_and_original() -> None:
    some = labels(original=["dog", "dog", "cat", "cat", "dog"])
    assert rows(ClassStrata().strata(some)) == {"class cat": [0, 3], "class dog": [2, 4], "class tied": [1]}
    assert rows(ClassStrata(by="original").strata(some)) == {"class cat": [2, 3], "class dog": [0, 1, 4]}
    with pytest.raises(BadSetting, match="no original labels"):
        ClassStrata(by="original").strata(labels())


def test_strata_of_your_own(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("item,stratum\ni0,early\ni1,late\ni2,early\ni9,never\n")
    given = GivenStrata.read(tmp_path / "s.csv")
    with pytest.warns(SfumatoWarning, match=r"2 of 5 items are in no stratum of .*s\.csv"):
        assert rows(given.strata(labels())) == {"early": [0, 2], "late": [1], "never": []}
    (tmp_path / "s.csv").write_text("item,stratum\ni0,early\ni0,late\n")
    with pytest.raises(BadTable, match="'i0' in 'early' and in 'late'"):
        GivenStrata.read(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("item,group\ni0,early\n")
    with pytest.raises(BadTable, match="a column 'stratum'"):
        GivenStrata.read(tmp_path / "s.csv")
    with pytest.raises(BadTable, match="called 'all'"), pytest.warns(SfumatoWarning):
        GivenStrata({"i0": "all"}).strata(labels())


def test_names_and_settings() -> None:
    assert stratification_from_name("entropy", {"quantiles": 3}) == EntropyStrata(3)
    with pytest.raises(UnknownName, match="did you mean 'entropy'"):
        stratification_from_name("entropi")
    with pytest.raises(BadSetting, match="2 or more"):
        EntropyStrata(quantiles=1)
    with pytest.raises(BadSetting, match="people, original"):
        ClassStrata(by="luck")
    with pytest.raises(BadSetting, match="'people agree' twice"):
        strata_of(labels(), [AgreementStrata(), AgreementStrata()])


@pytest.mark.parametrize("member", STRATA)
def test_every_item_stands_in_one_stratum(member: type) -> None:
    each = member()
    assert isinstance(each, Stratification)
    some = match_labels(predicted=trained.people(), people=trained.people())
    found = np.concatenate([stratum.rows for stratum in each.strata(some)])
    assert sorted(found.tolist()) == list(range(len(some)))
