"""What is counted from the released data comes out as it was established, and changes when the data does."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.errors import BadFile
from sfumato_papers.collins_2022.elicitation import section_4, section_4_1, section_6
from sfumato_papers.collins_2022.form import figure_7, section_5_1
from sfumato_papers.collins_2022.label_construction import appendix_b_5, difference, section_4_2
from sfumato_papers.collins_2022.label_properties import figure_5, figures_3_and_9, figures_4_and_8, section_4_3
from sfumato_papers.finding import Finding
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.published_data import PublishedData
from sfumato_papers.verdict import Verdict

Row = dict[str, str]
Changed = Callable[[Callable[[list[Row]], list[Row]]], Rerun]


def values(part: Part) -> dict[str, float]:
    """Our figures by row, to the decimals that are shown."""
    return {
        each.row: round(each.ours.value, each.places)
        for each in part.findings
        if isinstance(each, Finding) and each.ours is not None
    }


def verdicts(part: Part) -> dict[str, Verdict]:
    return {each.row: judged.verdict for each, judged in zip(part.findings, part.judged, strict=True)}


def test_what_was_asked_of_whom(rerun: Rerun) -> None:
    assert values(section_4(rerun)) == {
        "images": 1000,
        "soft labels": 6200,
        "annotators an image, CIFAR-10S (Figure 1)": 6.2,
        "annotators an image, CIFAR-10H (Figure 1)": 51.1,
        "times fewer annotators": 8.24,
        "CIFAR-10H images with mass on only two labels": 77.15,
    }
    part = section_4_1(rerun)
    assert list(values(part).values()) == [248, 886, 114, 27, 2, 40, 3, 2]
    assert set(verdicts(part).values()) == {Verdict.REPRODUCED}
    assert verdicts(section_4(rerun))["times fewer annotators"] == Verdict.NOT_REPRODUCED


def test_how_right_and_how_alike(rerun: Rerun) -> None:
    part = section_6(rerun)
    assert list(values(part).values()) == [84.35, 91.97, 95.24, 84.46, 6.85, 13.3, 6.07]
    assert verdicts(part)["why 84 and not 95"] == Verdict.NOT_REPRODUCED


def test_released_labels_come_out_exactly(rerun: Rerun) -> None:
    part = section_4_2(rerun)
    assert verdicts(part)["released labels rebuilt"] == Verdict.REPRODUCED
    found = values(part)
    assert found["labels in the released file"] == 6723
    edges = [value for row, value in found.items() if row.startswith("answers: ")]
    assert edges == [2854, 1001, 9, 3, 139, 34, 38, 5, 630, 3907, 1663, 439, 1448]
    differs = [value for row, value in found.items() if row.startswith("our rule differs")]
    assert differs == [0, 20, 17, 39, 0]


def test_labels_compared(rerun: Rerun) -> None:
    part = section_4_3(rerun)
    assert list(values(part).values()) == [0.624, 0.629, 0.630, 0.0270, 0.160]
    assert verdicts(part)["entropy correlation with CIFAR-10H (Pearson)"] == Verdict.NOT_REPRODUCED
    assert verdicts(part)["mean Wasserstein distance to CIFAR-10H"] == Verdict.NOT_REPRODUCED
    assert verdicts(figures_4_and_8(rerun))["Figure 8"] == Verdict.REPRODUCED
    for each in (figures_3_and_9(rerun), figure_5(rerun)):
        assert Verdict.NOT_REPRODUCED not in each.tally()


def test_what_a_page_costs(rerun: Rerun) -> None:
    part = section_5_1(rerun)
    assert list(values(part).values()) == [31.96, 32.38, 44.38, 6.39, 76.8, 115.2, 153.6, 192.0, 76.8]
    assert verdicts(part)["median a vote of CIFAR-10H on these images"] == Verdict.NEEDS_DATA
    assert list(values(figure_7(rerun)).values()) == [13, 62, 36, 27.76, 91, 0.0104, 0.45, 3.2]


def test_simulator(rerun: Rerun) -> None:
    part = appendix_b_5(rerun)
    cells = {(each.row, each.column): each.ours.value for each in part.findings if isinstance(each, Finding)}
    betas = {
        (which, name): tuple(
            round(cells[f"Beta of the {which} percent, {symbol}", name], 3) for symbol in ("alpha", "beta")
        )
        for which in ("first", "second")
        for name in ("high entropy", "low entropy")
    }
    assert betas == {
        ("first", "high entropy"): (1.703, 0.330),
        ("first", "low entropy"): (2.874, 0.102),
        ("second", "high entropy"): (0.785, 2.787),
        ("second", "low entropy"): (0.257, 1.429),
    }
    numbers = [int(cells[f"answers with {k} alternatives left possible", "high entropy"]) for k in range(10)]
    assert numbers == [1739, 1565, 682, 638, 264, 321, 62, 57, 63, 107]
    assert round(cells["mean entropy of people's labels, high entropy images", "in the data"], 3) == 0.469
    assert cells["mean entropy of simulated labels", "in the data"] == pytest.approx(0.451, abs=0.004)
    assert cells["draws whose two percents exceed 100", "in the data"] == pytest.approx(200 / 3, abs=4)
    assert round(cells["correlation of first percent and number of alternatives", "in the data"], 2) == -0.51


# --- other data ---


def test_without_an_annotator(changed: Changed) -> None:
    part = section_4_1(changed(lambda rows: [row for row in rows if row["annotator"] != "7"]))
    assert values(part)["annotators"] == 247
    assert verdicts(part)["annotators"] == Verdict.NOT_REPRODUCED


def test_an_annotator_who_contradicts_themselves(changed: Changed) -> None:
    """Three answers whose first class is also impossible: more than twice."""

    def contradict(rows: list[Row]) -> list[Row]:
        own = [row for row in rows if row["annotator"] == "7"][:3]
        for row in own:
            row["impossible"] = " ".join(sorted({*row["impossible"].split(), row["most_probable"]}))
        return rows

    assert verdicts(section_4_1(changed(contradict)))["exclusions"] == Verdict.NOT_REPRODUCED


def test_other_answers_give_other_labels(changed: Changed) -> None:
    def move(rows: list[Row]) -> list[Row]:
        rows[0]["most_probable"] = str((int(rows[0]["most_probable"]) + 1) % 10)
        return rows

    assert verdicts(section_4_2(changed(move)))["released labels rebuilt"] == Verdict.NOT_REPRODUCED


def test_surer_people_are_less_like_the_votes(changed: Changed) -> None:
    """Annotators who are always sure lose entropy that they share with CIFAR-10H; with 148 of them, 0.596 is left."""

    def sure(rows: list[Row]) -> list[Row]:
        for row in rows:
            if int(row["annotator"]) < 148:
                row["most_probable_pct_raw"], row["second_probable"] = "100", "-1"
                row["impossible"] = " ".join(str(k) for k in range(10) if str(k) != row["most_probable"])
        return rows

    row = "entropy correlation with CIFAR-10H (Pearson)"
    part = section_4_3(changed(sure))
    assert values(part)[row] == 0.596
    assert verdicts(part)[row] == Verdict.REPRODUCED


def test_slower_pages(changed: Changed) -> None:
    def slow(rows: list[Row]) -> list[Row]:
        for row in rows:
            row["rt_ms"] = str(2 * float(row["rt_ms"]))
        return rows

    assert verdicts(section_5_1(changed(slow)))["median a page"] == Verdict.NOT_REPRODUCED


def test_votes_with_times(changed: Changed) -> None:
    rerun = changed(lambda rows: rows)
    item = rerun.data.cifar_10s.item.names[0].as_py()
    head = "annotator_id,trial_index,is_attn_check,true_category,chosen_category,true_label,chosen_label,"
    head += "correct_guess,cifar10_test_test_idx,image_filename,reaction_time,time_elapsed"
    votes = [f"{who},{who},0,cat,cat,3,3,1,{item},cat_1.png,{ms},9" for who, ms in enumerate((1500, 1800, 2500))]
    other = next(str(i) for i in range(10_000) if str(i) not in rerun.data.cifar_10s.item.names.to_pylist())
    votes.append(f"9,9,0,cat,cat,3,3,1,{other},cat_2.png,90000,9")
    rerun.data.path("cifar10h").joinpath("cifar10h-raw.csv").write_text("\n".join([head, *votes]) + "\n")
    part = section_5_1(rerun)
    assert values(part)["median a vote of CIFAR-10H on these images"] == 1.8
    assert verdicts(part)["median a vote of CIFAR-10H on these images"] == Verdict.REPRODUCED


def test_difference_between_tables_of_labels() -> None:
    one = np.array([[0.2, 0.8], [1.0, 0.0], [0.5, 0.5]])
    assert difference(["a", "a", "b"], one, ["b", "a", "a"], one[[2, 1, 0]]) == 0
    moved = one[[2, 1, 0]] + [[0, 0], [0, 0], [0.25, -0.25]]
    assert difference(["a", "a", "b"], one, ["b", "a", "a"], moved) == pytest.approx(0.25)
    assert difference(["a", "a", "b"], one, ["a", "b", "b"], one) == float("inf")


# --- bad data ---


def test_a_file_is_missing(changed: Changed) -> None:
    rerun = changed(lambda rows: rows)
    rerun.data.path("cifar10s", "t2clamp_redist10.npz").unlink()
    with pytest.raises(BadFile, match=r"found no cifar10s/t2clamp_redist10\.npz") as caught:
        section_4_2(rerun)
    assert caught.value.code == "no-such-file"


def test_no_data_at_all(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="found no cifar10h"):
        section_4(Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path / "runs"))


def test_a_damaged_file(changed: Changed) -> None:
    rerun = changed(lambda rows: rows)
    path = rerun.data.path("cifar10s", "elicitations.csv.gz")
    with gzip.open(path, "rt") as file:
        text = file.read()
    with gzip.open(path, "wt") as file:
        file.write(text.replace("most_probable_pct_raw", "percent", 1))
    with pytest.raises(Exception, match="most_probable_pct_raw"):
        section_4(rerun)
