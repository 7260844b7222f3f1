"""Utilities and the loss of Sucholutsky et al., by hand."""

from __future__ import annotations

from math import e, log

import pytest

from sfumato.planning.goals import UTILITIES, Utility, logit_utility, sigmoid_utility, subjective_loss, utility_named
from sfumato.tables.errors import SfumatoError


def test_utilities_by_hand() -> None:
    assert utility_named("linear")(0.3) == 0.3
    assert utility_named("sigmoid")(1) == pytest.approx(e / (1 + e))
    assert sigmoid_utility(0.5, steepness=20, middle=0.5) == 0.5
    assert logit_utility(0.8) == pytest.approx(log(4))
    assert logit_utility(1) == pytest.approx(log(999))
    assert logit_utility(-0.2) == pytest.approx(-log(999))


@pytest.mark.parametrize("utility", UTILITIES.values())
def test_more_recovery_is_worth_more(utility: Utility) -> None:
    values = [utility(rho) for rho in (0.1, 0.4, 0.9)]
    assert values == sorted(values)


def test_the_loss_by_hand() -> None:
    assert subjective_loss(0.8, 10, beta=0.02) == pytest.approx(0.2 - 0.8)
    assert subjective_loss(0.8, 10, utility=logit_utility, beta=0.1) == pytest.approx(1 - log(4))


def test_what_cannot_be() -> None:
    with pytest.raises(SfumatoError, match="linear, sigmoid, logit"):
        utility_named("log")
    with pytest.raises(SfumatoError, match="beta"):
        subjective_loss(0.5, 1, beta=-1)
    with pytest.raises(SfumatoError, match="steepness"):
        sigmoid_utility(0.5, steepness=0)
