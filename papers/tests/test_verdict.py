"""Verdicts follow from the figures, by the rules that stand in `verdict.py`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato_papers.finding import Change, Estimate, Finding, Published, Reference, Statement
from sfumato_papers.paper import Part
from sfumato_papers.verdict import Verdict, judge

SEEDS = "another training: 95% t interval over 5 seeds"


def exact(printed: str, value: float) -> Verdict:
    return judge(Finding("a", "b", Published(printed), Estimate(value)), scaled_down=False).verdict


def trained(printed: str, ours: Estimate, change: Change | None = None, *, scaled_down: bool = False) -> Verdict:
    return judge(Finding("a", "b", Published(printed), ours, change), scaled_down=scaled_down).verdict


def changed(published: str, value: float, half: float, reference: str | None = None) -> Change:
    ours = Estimate(value, value - half, value + half, SEEDS)
    return Change("control", Published(published), ours, Published(reference) if reference else None)


@pytest.mark.parametrize(
    ("printed", "value", "verdict"),
    [
        ("84", 84.35, Verdict.REPRODUCED),
        ("84", 84.51, Verdict.NOT_REPRODUCED),
        ("77.2", 77.15, Verdict.REPRODUCED),  # half a unit, which some round up
        ("0.596", 0.624, Verdict.NOT_REPRODUCED),
        ("0.028", 0.0270, Verdict.NOT_REPRODUCED),
        ("511,400", 511_000, Verdict.NOT_REPRODUCED),
    ],
)
def test_a_counted_figure_rounds_to_what_is_printed_or_does_not(printed: str, value: float, verdict: Verdict) -> None:
    assert exact(printed, value) is verdict


@given(st.integers(-1000, 1000), st.integers(0, 3), st.floats(0, 2))
def test_the_border_is_half_a_unit_of_the_last_digit(units: int, places: int, off: float) -> None:
    printed = f"{units / 10**places:.{places}f}"
    value = float(printed) + off / 10**places
    if abs(off - 0.5) > 1e-6:
        assert (exact(printed, value) is Verdict.REPRODUCED) == (off < 0.5)


def test_an_interval_with_the_printed_figure_reproduces_it_only_if_it_could_have_said_otherwise() -> None:
    narrow, wide = Estimate(0.50, 0.46, 0.54, SEEDS), Estimate(0.50, 0.30, 0.70, SEEDS)
    assert trained("0.52", narrow) is Verdict.REPRODUCED
    assert trained("0.52", wide) is Verdict.NOT_REPRODUCED
    assert trained("0.56", narrow) is Verdict.NOT_REPRODUCED
    # The reference was printed as 0.60: the wide interval holds both, and tells them not apart.
    assert trained("0.52", wide, changed("-0.08", -0.1, 0.2, "0.60")) is Verdict.NOT_REPRODUCED
    assert trained("0.52", narrow, changed("-0.08", -0.1, 0.2, "0.60")) is Verdict.REPRODUCED


def test_one_training_shows_nothing() -> None:
    alone = Estimate.over_seeds([0.5])
    assert not alone.is_exact
    assert not alone.leaves_out_0
    assert trained("0.9", alone, Change("control", Published("0.4"), alone)) is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("published", "value", "half", "whole", "scaled"),
    [
        ("-0.20", -0.19, 0.05, Verdict.SAME_DIRECTION, Verdict.REPRODUCED),
        ("-0.20", -0.08, 0.05, Verdict.SAME_DIRECTION, Verdict.SAME_DIRECTION),
        ("-0.20", +0.08, 0.05, Verdict.NOT_REPRODUCED, Verdict.NOT_REPRODUCED),
        ("-0.20", -0.04, 0.05, Verdict.NOT_REPRODUCED, Verdict.NOT_REPRODUCED),
        ("0.00", -0.04, 0.05, Verdict.SAME_DIRECTION, Verdict.SAME_DIRECTION),
        ("0.00", -0.09, 0.05, Verdict.NOT_REPRODUCED, Verdict.NOT_REPRODUCED),
    ],
)
def test_a_change_from_the_reference(
    published: str, value: float, half: float, whole: Verdict, scaled: Verdict
) -> None:
    far = Estimate(0.1, 0.09, 0.11, SEEDS)
    change = changed(published, value, half)
    assert trained("0.50", far, change) is whole
    assert trained("0.50", far, change, scaled_down=True) is scaled


def test_of_a_smaller_protocol_no_figure_is_expected_to_come_out() -> None:
    assert trained("0.50", Estimate(0.5, 0.49, 0.51, SEEDS), scaled_down=True) is Verdict.NO_VERDICT


def test_seeds_are_paired() -> None:
    """The values differ widely from seed to seed, and soft is better with each of them by about a tenth."""
    hard = {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}
    soft = {0: 0.9, 1: 1.89, 2: 2.9, 3: 3.91, 9: 100.0}
    reference = Reference("control", Published("1.0"), hard)
    finding = Finding.over_seeds("soft", "loss", Published("0.9"), soft, reference=reference)
    assert finding.change is not None
    assert finding.change.ours.value == pytest.approx(-0.1)
    assert finding.change.published == Published("-0.1")
    assert judge(finding, scaled_down=True).verdict is Verdict.REPRODUCED


def test_sentences() -> None:
    assert judge(Statement("a", "it rises", holds=True), scaled_down=False).verdict is Verdict.REPRODUCED
    assert judge(Statement("a", "it rises", holds=True), scaled_down=True).verdict is Verdict.SAME_DIRECTION
    assert judge(Statement("a", "it rises", holds=False), scaled_down=True).verdict is Verdict.NOT_REPRODUCED


def test_what_needs_data_says_which() -> None:
    judged = judge(Finding("a", "b", Published("1"), needs="CIFAR-10.1"), scaled_down=True)
    assert (judged.verdict, judged.why) == (Verdict.NEEDS_DATA, "CIFAR-10.1")
    assert judge(Statement("a", "b", needs="raw answers"), scaled_down=False).verdict is Verdict.NEEDS_DATA


def test_nothing_published_has_no_verdict() -> None:
    assert judge(Finding("a", "b", None, Estimate(1.0)), scaled_down=False).verdict is Verdict.NO_VERDICT


def test_a_part_counts_its_verdicts_and_refuses_a_cell_twice() -> None:
    found = Finding("a", "b", Published("1"), Estimate(1.2))
    assert Part("Table 1", "All", (found, Statement("c", "d", holds=False))).tally() == {
        Verdict.REPRODUCED: 1,
        Verdict.NOT_REPRODUCED: 1,
    }
    with pytest.raises(AssertionError, match="twice"):
        Part("Table 1", "All", (found, found))
