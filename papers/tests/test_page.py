"""The page of a paper: its own layout, every verdict with its reason, figures as pictures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sfumato.reporting.charts import Field, curve
from sfumato_papers.finding import Change, Estimate, Finding, Published, Statement
from sfumato_papers.paper import Paper, Part
from sfumato_papers.paper_page import NO_BREAK, anchor_of, page_of, tally_in_words
from sfumato_papers.reproduction import Outcomes
from sfumato_papers.verdict import Verdict

SEEDS = "another training: 95% t interval over 5 seeds"


def part() -> Part:
    control = Finding("control", "loss", Published("0.62"), Estimate(0.9, 0.88, 0.92, SEEDS))
    soft = Finding(
        "soft | human", "loss", Published("0.35"), Estimate(0.7, 0.68, 0.72, SEEDS),
        Change("control", Published("-0.27"), Estimate(-0.2, -0.22, -0.18, SEEDS)),
    )  # fmt: skip
    elsewhere = Finding("soft | human", "v6", Published("0.5"), needs="CIFAR-10.1 v6")
    chart = curve(
        "figure-2", title="Loss by step", caption="Of both.", data={"step": [1, 2], "loss": [0.5, 0.7]},
        x=Field("step", "step"), y=Field("loss", "loss"),
    )  # fmt: skip
    says = Statement("order", "soft is best", holds=True, ours="0.7 against 0.9")
    return Part("Table 1", "Loss, held out", (control, soft, elsewhere, says), "How.", "a small network", (chart,))


@pytest.fixture
def page() -> str:
    counted = Part("Section 2", "Facts", (Finding("annotators", "", Published("248"), Estimate(248), places=0),))
    paper = Paper("toy-2019", "A toy", "A. Toy", 2019, "Toys", (), ())
    described = SimpleNamespace(set="toys", licence="CC0", home="here", state="yes")
    return page_of(
        SimpleNamespace(  # type: ignore[arg-type]
            paper=paper, parts=(counted, part()), described=(described,), command="sfumato reproduce toy", cost="Fast."
        )
    )


def test_a_table_has_the_layout_of_the_paper(page: str) -> None:
    lines = page.replace(NO_BREAK, " ").splitlines()
    assert "|  | loss | v6 |" in lines
    assert "| control | 0.62 / **0.900 ± 0.020** |  |" in lines  # the reference of a smaller protocol has no mark
    assert "| soft \\| human | 0.35 / **0.700 ± 0.020** ≈ | 0.5 / – ∅ |" in lines


def test_a_cell_is_never_broken_between_figure_and_interval(page: str) -> None:
    assert f"0.62{NO_BREAK}/{NO_BREAK}**0.900{NO_BREAK}±{NO_BREAK}0.020**" in page


def test_every_cell_has_its_interval_verdict_and_reason(page: str) -> None:
    row = next(line for line in page.splitlines() if line.startswith("| soft \\| human | loss"))
    assert "0.680 to 0.720" in row
    assert "≈ same direction" in row
    assert "-0.2 (-0.22 to -0.18) from control, published -0.27" in row


def test_one_column_is_a_list(page: str) -> None:
    assert "| annotators | 248 | **248** |  | ✓ reproduced | rounds to what is printed |" in page


def test_a_reader_finds_their_table_from_the_top(page: str) -> None:
    assert anchor_of(part()) == "table-1-loss-held-out"
    assert "| [Table 1](#table-1-loss-held-out) | Loss, held out | ≈ 2 ∅ 1, scaled down |" in page
    assert "## Table 1: Loss, held out" in page


def test_the_head_counts_what_came_out(page: str) -> None:
    assert "**1 reproduced, 2 of the same direction, 1 needs data that is not public.**" in page
    assert tally_in_words({Verdict.NOT_REPRODUCED: 2}) == "2 not reproduced"
    assert tally_in_words({Verdict.NEEDS_DATA: 2}) == "2 need data that is not public"


def test_a_figure_is_a_picture_with_words_beside_it(page: str) -> None:
    assert 'src="images/toy-2019-figure-2.svg"' in page
    assert 'alt="Loss by step. Of both."' in page


def test_outcomes_are_read_as_they_were_written(tmp_path) -> None:  # type: ignore[no-untyped-def]
    outcomes = Outcomes.of("toy-2019", [part()])
    outcomes.write(tmp_path / "toy.csv")
    again = Outcomes.read(tmp_path / "toy.csv")
    assert [each.verdict for each in again.outcomes] == [each.verdict for each in outcomes.outcomes]
    assert again.tally() == part().tally()
    assert again.outcomes[1].low == 0.68
