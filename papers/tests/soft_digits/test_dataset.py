"""What is counted: on the stand-ins, on a small file in soft-digits' columns, and without it."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.reporting import charts  # noqa: F401  (the extra that draws; parts need it)
from sfumato.tables.errors import BadFile, BadTable
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.published_data import PublishedData, drawn_by_class
from sfumato_papers.soft_digits.corpus import DIGITS, appendix_a_2
from sfumato_papers.soft_digits.dataset import appendix_b, doubts_together, facts, section_2_1, table_1, table_7
from sfumato_papers.soft_digits.sets import soft_digits, stand_ins
from sfumato_papers.verdict import Verdict


def verdicts(part) -> dict[tuple[str, str], Verdict]:
    return {
        (each.row, getattr(each, "column", "")): judged.verdict
        for each, judged in zip(part.findings, part.judged, strict=True)
    }


def test_stand_ins_resemble_the_two_parts(rerun):
    """Counted again from the published counts, without panels: shares of HLV follow from how votes are drawn."""
    cifar, fashion = stand_ins(rerun)
    for audited, counts in ((cifar, rerun.data.cifar_10h), (fashion, rerun.data.fashion_mnist_h)):
        rows = counts.rows_of(list(audited.inputs.items))
        votes = np.rint(counts.probs[rows] * counts.n_annotators[rows, None]).astype(int)
        rng = np.random.default_rng(99)
        n = 18  # six panels of three, the usual number
        drawn_votes = np.array([rng.multivariate_hypergeometric(own, n) for own in votes])
        expected = float((drawn_votes.max(axis=1) < n).mean())
        assert audited.share_of_hlv() == pytest.approx(expected, abs=0.03)
        agree = (votes.argmax(axis=1) == audited.original.probs.argmax(axis=1)).mean()
        assert audited.agreement() == pytest.approx(agree, abs=0.02)
    assert facts(cifar)["NoHLV (%)"] > 60
    assert facts(fashion)["HLV (%)"] > 85
    assert facts(fashion)["unsure proportion"] > 3 * facts(cifar)["unsure proportion"]


def test_table_1_needs_the_file_and_shows_the_stand_ins(rerun):
    part = table_1(rerun)
    found = verdicts(part)
    assert found["MNIST", "HLV (%)"] is Verdict.NEEDS_DATA
    assert found["CIFAR-10H", "HLV (%)"] is Verdict.NO_VERDICT
    assert found["doubt in the two sets", ""] is Verdict.REPRODUCED
    assert [chart.name for chart in part.charts] == ["table-1"]


def test_the_file_is_counted(columns, made, tmp_path):
    """By hand: half of 160 pictures in doubt, 75 of them by 0.25 and 5, which are another class, by 0.4."""
    mnist, mukhoti = soft_digits(made(columns, tmp_path))
    assert (mnist.name, mukhoti.name) == ("MNIST", "Mukhoti")
    found = facts(mnist)
    assert found["HLV (%)"] == pytest.approx(50)
    assert found["Orig. label agreement (%)"] == pytest.approx(100 * 155 / 160)
    assert found["unsure proportion"] == pytest.approx((75 * 0.25 + 5 * 0.4) / 160)
    assert found["NaN (%)"] == 0
    assert (len(mnist.learnt), mnist.n_validation, len(mnist.tested)) == (80, 20, 80)
    assert not mnist.is_synthetic
    assert mukhoti.is_synthetic
    assert mukhoti.synthetic.probs[0].max() == pytest.approx(0.91)


def test_sizes_are_judged_by_the_file(columns, made, tmp_path):
    found = verdicts(section_2_1(made(columns, tmp_path)))
    assert found["MNIST, training pictures", "pictures"] is Verdict.NOT_REPRODUCED
    assert found["pictures in all (datasheet)", "pictures"] is Verdict.NOT_REPRODUCED, "5,529 in the splits"


def test_a_file_as_large_as_the_papers_reproduces_its_sizes(columns, made, tmp_path):
    sizes = {"mnist": (2131, 457, 457), "mukhoti": (1738, 373, 373)}
    rows, splits, indices = [], [], []
    for part, n in sizes.items():
        first = int(np.argmax(columns["source"] == part))
        rows += [first + k % 160 for k in range(sum(n))]
        splits += [split for split, times in zip(("train", "val", "test"), n, strict=True) for _ in range(times)]
        indices += range(sum(n))
    large = {name: values[rows] for name, values in columns.items()} | {"split": splits, "indices": indices}
    found = verdicts(section_2_1(made(large, tmp_path)))
    assert all(v is Verdict.REPRODUCED for (row, _), v in found.items() if row != "pictures in all (datasheet)")


def test_correlations_of_doubts(columns, made, tmp_path):
    """Weighted entropy rises with doubt; equal labels are 0.5/.5 wherever there is any."""
    mnist, _ = soft_digits(made(columns, tmp_path))
    found = doubts_together(mnist)
    assert found["(3)", "(2)"] == pytest.approx(1)
    assert found["(5)", "(2)"] == pytest.approx(1)
    assert 0.9 < found["(4)", "(2)"] < 1


def test_table_7_needs_raw_answers_for_times(rerun):
    found = verdicts(table_7(rerun))
    assert found["MNIST (2)", "(1)"] is Verdict.NEEDS_DATA
    assert found["Mukhoti (5)", "(4)"] is Verdict.NEEDS_DATA
    assert found["Fashion-MNIST-H (5)", "(4)"] is Verdict.NO_VERDICT


def test_table_6_by_hand():
    """3 x 26 + 4 x 341 + ... = 33,594 answers on 5,530 pictures."""
    part = appendix_b(None)
    found = {each.row: each for each in part.findings}
    assert found["answers per picture"].ours.value == pytest.approx(33_594 / 5530)
    assert found["pictures per annotator (Section 2.2)"].ours.value == pytest.approx(209.9625)
    assert verdicts(part)["answers per picture", "value"] is Verdict.REPRODUCED
    assert verdicts(part)["pictures per annotator (Section 2.2)", "value"] is Verdict.NOT_REPRODUCED


# --- bad files ---


def test_a_picture_of_another_size_is_refused(columns, made, tmp_path):
    with pytest.raises(BadTable, match="expected 28 x 28 gray values") as caught:
        soft_digits(made({**columns, "images": columns["images"][:, :20]}, tmp_path))
    assert caught.value.where.column == "images"


@pytest.mark.parametrize("missing", ["images", "split", "original_labels"])
def test_a_missing_column_is_named(columns, made, tmp_path, missing):
    with pytest.raises(BadTable, match=f"found no {missing}"):
        soft_digits(made({name: values for name, values in columns.items() if name != missing}, tmp_path))


def test_without_the_published_votes_there_is_our_error(tmp_path):
    with pytest.raises(BadFile, match="found no cifar10h"):
        table_1(Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path))


# --- MNIST ---


def mnist_in(folder, train: np.ndarray, test: np.ndarray) -> Rerun:
    (folder / "mnist").mkdir()
    for part, images in (("train", train), ("test", test)):
        np.savez(folder / "mnist" / f"{part}.npz", images=images, labels=np.arange(len(images)) % 10)
    return Rerun(PublishedData(folder), Scale.SMALL, folder / "runs", processes=1)


def test_a_picture_of_the_training_set_in_the_test_set_is_found(tmp_path):
    rng = np.random.default_rng(0)
    train, test = (rng.integers(0, 256, (n, 28, 28)).astype(np.uint8) for n in (30, 20))
    (tmp_path / "clean").mkdir()
    clean = verdicts(appendix_a_2(mnist_in(tmp_path / "clean", train, test)))
    assert clean["MNIST: duplicates", "pictures"] is Verdict.REPRODUCED
    assert clean["MNIST: pictures", "pictures"] is Verdict.NOT_REPRODUCED, "50 are not 70,000"
    test[3] = train[7]
    (tmp_path / "leaking").mkdir()
    leaking = verdicts(appendix_a_2(mnist_in(tmp_path / "leaking", train, test)))
    assert leaking["MNIST: duplicates", "pictures"] is Verdict.NOT_REPRODUCED


def test_as_many_of_each_digit_are_drawn():
    labels = tuple(np.random.default_rng(0).choice(DIGITS, 400).tolist())
    rows = drawn_by_class(labels, 12, np.random.default_rng(1))
    assert len(set(rows.tolist())) == 120
    assert sorted(labels[row] for row in rows) == [digit for digit in DIGITS for _ in range(12)]
    assert not np.array_equal(rows, drawn_by_class(labels, 12, np.random.default_rng(2)))
