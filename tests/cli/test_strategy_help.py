"""Help lists of families: parsed from the source, the same as the classes themselves."""

from __future__ import annotations

import ast
from dataclasses import fields
from typing import Any

import pytest
from click.testing import CliRunner

from sfumato.aggregation import AGGREGATORS
from sfumato.cli.agreement import command
from sfumato.cli.strategy_help import family_members
from sfumato.evaluation import METRICS
from sfumato.evaluation.strata import STRATA
from sfumato.labeling import LABELERS
from sfumato.labeling.agreement import MEASURES
from sfumato.labeling.transforms import TRANSFORMS

FAMILIES = {
    "aggregation/__init__.py:AGGREGATORS": AGGREGATORS,
    "labeling/__init__.py:LABELERS": LABELERS,
    "labeling/agreement/__init__.py:MEASURES": MEASURES,
    "labeling/transforms.py:TRANSFORMS": TRANSFORMS,
    "evaluation/strata.py:STRATA": STRATA,
}


@pytest.mark.parametrize("place", FAMILIES)
def test_members_are_those_of_the_family(place: str) -> None:
    members = family_members(*place.split(":"))
    classes: tuple[Any, ...] = FAMILIES[place]
    assert [each.name for each in members] == [each.name for each in classes]
    assert [each.settings for each in members] == [tuple(field.name for field in fields(each)) for each in classes]
    for member, one in zip(members, classes, strict=True):
        assert member.summary == one.__doc__.splitlines()[0].removesuffix(".")
        assert 0 < len(member.summary) <= 90
        if "kinds" in member.constants:
            assert ast.literal_eval(member.constants["kinds"]) == one.kinds


def test_every_metric_has_a_summary() -> None:
    assert all((each.__doc__ or "").strip() for each in METRICS)


def test_an_unknown_family_is_an_error() -> None:
    with pytest.raises(LookupError, match="NOTHING"):
        family_members("evaluation/strata.py", "NOTHING")


def test_agreement_says_which_measures_are_on_request() -> None:
    shown = CliRunner().invoke(command, ["--help"]).stdout
    usual, on_request = shown.split("Measures by default")[1].split("Options:")[0].split("Measures on request:")
    for measure in MEASURES:
        assert f"  {measure.name} " in (usual if measure.default_for else on_request)
    assert "AC1 for ordered classes" in shown
    assert "Cohen's kappa for ordered classes" in shown
