"""Figures as papers print them: their value, and how precise their digits are."""

from __future__ import annotations

import pytest

from sfumato_papers.finding import Published
from sfumato_papers.published_table import PublishedTable


@pytest.mark.parametrize(
    ("text", "value", "half_unit"),
    [
        ("84", 84.0, 0.5),
        ("0.596", 0.596, 0.0005),
        (".35", 0.35, 0.005),
        ("511,400", 511400.0, 0.5),
        ("-1.20", -1.2, 0.005),
        ("6.2e-3", 0.0062, 0.00005),
    ],
)
def test_digits_say_how_precise_a_figure_is(text: str, value: float, half_unit: float) -> None:
    printed = Published(text)
    assert printed.value == pytest.approx(value, rel=1e-12)
    assert printed.half_unit == pytest.approx(half_unit, rel=1e-12)


@pytest.mark.parametrize("text", ["", "about 5", "5%", "1,23", "--"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(AssertionError, match="no number"):
        Published(text or "x")


def test_a_difference_is_as_precise_as_the_less_precise_figure() -> None:
    assert Published("0.35").less(Published("0.4")) == Published("-0.1")
    assert Published("0.35", "%").less(Published("0.62")) == Published("-0.27", "%")


def test_a_table_as_text() -> None:
    table = PublishedTable.of(
        """
                      c10H    hold out
          VGG, soft   0.35    0.12
          control     0.62    -
        """
    )
    assert table.cells == {
        ("VGG, soft", "c10H"): Published("0.35"),
        ("VGG, soft", "hold out"): Published("0.12"),
        ("control", "c10H"): Published("0.62"),
    }


@pytest.mark.parametrize(("row", "fault"), [("a  1", "cells"), ("a  1  2\na  3  4", "twice")])
def test_a_table_with_a_fault_is_refused(row: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        PublishedTable.of(f"x  y\n{row}")
