"""Exchange from runs: on curves whose exchange rate is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.planning.goals import Goal
from sfumato.planning.learning_curve import exchange_from_runs
from sfumato.tables.errors import SfumatoError


def runs(factor: float, sign: float = 1.0, noise: float = 0.001) -> pl.DataFrame:
    """Errors that fall like a + b / M; a rich answer is worth `factor` votes."""
    rng = np.random.default_rng(1)
    rows = [
        {"kind": kind, "n_answers": m, "seed": s, "value": sign * (0.1 + 0.3 / (m * worth) + noise * rng.normal())}
        for kind, worth in (("choice", 1.0), ("sliders", factor))
        for m in (1, 2, 4, 8, 16)
        for s in range(3)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_rate_is_found_again_whichever_way_the_metric_points(sign: float) -> None:
    rates = exchange_from_runs(runs(3.0, sign))["sliders"].of_goal(Goal.CALIBRATION)
    by_m = {rate.n_answers: rate for rate in rates}
    assert list(by_m) == [1, 2, 4, 8, 16]
    for m in (1, 2, 4):
        assert np.isclose(by_m[m].votes, 3 * m, rtol=0.1)
        assert by_m[m].low <= 3 * m <= by_m[m].high


def test_what_is_worth_less_than_one_vote_is_not_looked_for_below_the_runs() -> None:
    first = exchange_from_runs(runs(0.5))["sliders"].of_goal(Goal.CALIBRATION)[0]
    assert first.votes == 1


@pytest.mark.parametrize("kinds", [["choice"], ["sliders"], ["sliders", "tokens"]])
def test_runs_of_votes_and_of_another_kind_are_needed(kinds: list[str]) -> None:
    frame = pl.concat([runs(2.0).filter(pl.col("kind") == "choice").with_columns(kind=pl.lit(kind)) for kind in kinds])
    with pytest.raises(SfumatoError, match="hard votes, of kind choice") as caught:
        exchange_from_runs(frame)
    assert caught.value.code == "bad-runs"


def test_a_table_that_holds_no_runs() -> None:
    with pytest.raises(SfumatoError, match="value"):
        exchange_from_runs(pl.DataFrame({"kind": ["choice"], "n_answers": [1]}))
