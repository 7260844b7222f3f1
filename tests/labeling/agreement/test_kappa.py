"""Kappas, AC1, AC2 and intraclass correlations against published examples, other libraries and brute force."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pytest

from sfumato.labeling.agreement import MEASURES, AgreementMeasure, agreement, measure_from_name
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadSetting, BadTable

FLEISS_1971 = (
    "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 00501 30012 51000 02040 "
    "10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
)
"""Fleiss (1971), Table 1: 30 patients, six psychiatrists each, five diagnoses: the numbers of votes."""
SHROUT_FLEISS_1979 = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
"""Shrout and Fleiss (1979), Table 2: six targets, four judges."""
GWET = [
    "11.1", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", ".555", "..11",
]  # fmt: skip
"""Gwet (2014), the example with four raters and missing ratings, without the unit that one rater rated."""


def ratings(table: Sequence[Sequence[object]], classes: Sequence[str], *, ordered: bool = False) -> Beliefs:
    """A table of items x annotators; `.` is missing."""
    cells = [(i, w, str(said)) for i, row in enumerate(table) for w, said in enumerate(row) if said != "."]
    item, who, said = zip(*cells, strict=True)
    beliefs = Beliefs.from_votes(item=item, annotator=who, label=said, classes=classes)
    return beliefs.as_ordered() if ordered else beliefs


def value(votes: Beliefs | Counts, name: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(agreement(votes, measures=[measure_from_name(name)]).value[0])


def test_fleiss_1971() -> None:
    counts = np.array([[int(n) for n in row] for row in FLEISS_1971.split()])
    votes = Counts.from_numpy(range(30), counts, list("abcde"))
    # Fleiss (1971): mean agreement 0.5556, kappa 0.430.
    assert value(votes, "percent-agreement") == pytest.approx(0.5556, abs=5e-5)
    assert value(votes, "fleiss-kappa") == pytest.approx(0.430, abs=5e-4)


def test_shrout_and_fleiss_1979() -> None:
    votes = ratings(SHROUT_FLEISS_1979, [str(k) for k in range(1, 11)], ordered=True)
    # Their Table 4: ICC(1,1), (2,1), (3,1), (1,4), (2,4), (3,4).
    published = {"icc-1": 0.17, "icc-a1": 0.29, "icc-c1": 0.71, "icc-1k": 0.44, "icc-ak": 0.62, "icc-ck": 0.91}
    for name, figure in published.items():
        assert value(votes, name) == pytest.approx(figure, abs=0.005), name


def test_gwet_2014() -> None:
    votes = ratings(GWET, list("12345"))
    # irrCAC 0.4.4 (K. Gwet's R package in Python), on these eleven units.
    peer = {
        "fleiss-kappa": 0.76248, "gwet-ac1": 0.77515, "gwet-ac2": 0.9128, "gwet-ac2:power=1": 0.85769,
        "alpha-nominal": 0.74342, "percent-agreement": 0.81818,
    }  # fmt: skip
    for name, figure in peer.items():
        assert value(votes, name) == pytest.approx(figure, abs=1e-5), name


@pytest.mark.parametrize(("name", "weights"), [("cohen-kappa", None), ("weighted-kappa", "quadratic"),
                                               ("weighted-kappa:power=1", "linear")])  # fmt: skip
def test_kappa_as_scikit_learn(name: str, weights: str | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    truth = rng.integers(4, size=60)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 3)), 0, 3)
    two = metrics.cohen_kappa_score(table[:, 0], table[:, 1], weights=weights, labels=range(4))
    assert value(ratings(table[:, :2], list("0123"), ordered=True), name) == pytest.approx(two, abs=1e-12)
    pairs = [
        metrics.cohen_kappa_score(table[:, i], table[:, j], weights=weights, labels=range(4))
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert value(ratings(table, list("0123"), ordered=True), name) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_the_paradox_of_kappa() -> None:
    """Feinstein and Cicchetti (1990): the same agreement, 85%, and kappas of 0.70 and 0.32; AC1 stays high."""
    even = [("y", "y")] * 40 + [("y", "n")] * 9 + [("n", "y")] * 6 + [("n", "n")] * 45
    skewed = [("y", "y")] * 80 + [("y", "n")] * 10 + [("n", "y")] * 5 + [("n", "n")] * 5
    for table, kappa in ((even, 0.70), (skewed, 0.32)):
        votes = ratings(table, ["y", "n"])
        assert value(votes, "percent-agreement") == pytest.approx(0.85)
        assert value(votes, "cohen-kappa") == pytest.approx(kappa, abs=0.005)
    assert value(ratings(skewed, ["y", "n"]), "gwet-ac1") > 0.8


BETWEEN = [member() for member in MEASURES if member.compares == "first"]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("measure", BETWEEN, ids=lambda each: each.name)
def test_values_without_one_item_or_person_are_those_of_the_rest(
    measure: AgreementMeasure, complete: bool, soft: bool
) -> None:
    rng = np.random.default_rng(3)
    item, who = (each.ravel() for each in np.meshgrid(np.arange(7), np.arange(4), indexing="ij"))
    kept = np.ones(28, bool) if complete else rng.random(28) < 0.85
    said = np.clip(item // 2 + rng.integers(-1, 2, 28), 0, 3)
    probs = 0.7 * np.eye(4)[said] + 0.3 * rng.dirichlet(np.ones(4), 28) if soft else np.eye(4)[said]
    votes = Beliefs.from_numpy(item[kept], who[kept], probs[kept], list("abcd")).as_ordered()
    if not complete and measure.name in ("icc-a1", "icc-c1", "icc-ak", "icc-ck"):
        assert np.isnan(value(votes, measure.name))
        return

    def of(rows: np.ndarray) -> float:
        left = ItemAnswers.of(votes.take(rows))
        return measure.leave_one_out(left).value if left.first.n_items else np.nan

    found = measure.leave_one_out(ItemAnswers.of(votes))
    items, people = votes.item.codes, votes.annotator.codes
    paired = np.flatnonzero(np.bincount(items) > 1)
    # The ranks of alpha-ordinal change with each answer; its values without one are those to first order.
    rough = 0.05 if measure.name == "alpha-ordinal" else 1e-9
    np.testing.assert_allclose(found.without_item, [of(items != each) for each in paired], atol=rough)
    np.testing.assert_allclose(found.without_person, [of(people != each) for each in range(4)], atol=rough)


def test_counts_have_no_kappa_of_pairs_and_powers_are_checked() -> None:
    counts = Counts.from_numpy(["a", "b"], [[2, 0], [1, 1]], ["y", "n"])
    with pytest.raises(BadTable, match="fleiss-kappa"):
        value(counts, "cohen-kappa")
    with pytest.raises(BadSetting, match="linear weights"):
        measure_from_name("weighted-kappa:power=3")


def test_ordered_classes_lead_with_ordinal_measures() -> None:
    votes = ratings([["a", "b"], ["c", "c"], ["b", "b"]], list("abc"))
    assert agreement(votes).measure == ("alpha-nominal", "total-variation")
    ordered = ("alpha-ordinal", "weighted-kappa", "alpha-nominal", "total-variation")
    assert agreement(votes.as_ordered()).measure == ordered
    assert agreement(Counts.of(votes.as_ordered())).measure == ("alpha-ordinal", "alpha-nominal", "total-variation")
