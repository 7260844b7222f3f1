"""Mean uncertainty: values of the table, intervals that cover other people and items, and what is not shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sfumato_command import sfumato

import sfumato as sf
from sfumato.tables.mean_doubt import CHAO_SHEN, JACKKNIFE, OVER_BOTH, OVER_ITEMS, mean_doubt

CLASSES = list("abcd")


def beliefs(n_items: int, m: int, seed: int = 0, n_people: int | None = None) -> sf.Beliefs:
    rng = np.random.default_rng(seed)
    mean = np.repeat(rng.dirichlet(np.full(4, 0.3), n_items), m, axis=0)
    gamma = rng.standard_gamma(5 * mean) + 1e-300
    n_people = m if n_people is None else n_people
    who = np.argsort(rng.random((n_items, n_people)), axis=1)[:, :m].ravel()
    return sf.Beliefs.from_numpy(
        np.repeat(np.arange(n_items), m), who, gamma / gamma.sum(axis=1, keepdims=True), CLASSES
    )


def counts(n_items: int, m: int, seed: int = 0) -> sf.Counts:
    rng = np.random.default_rng(seed)
    return sf.Counts.from_numpy(range(n_items), rng.multinomial(m, rng.dirichlet(np.full(4, 0.3), n_items)), CLASSES)


def test_values_are_means_of_the_table() -> None:
    votes = beliefs(50, 4)
    found, table = mean_doubt(votes), votes.doubt()
    assert found.dissent is not None
    assert found.within is not None
    assert found.between is not None
    assert found.dissent.value == pytest.approx(table.dissent.mean())
    assert found.within.value + found.between.value == pytest.approx(found.dissent.value)
    assert found.over == OVER_BOTH
    assert found.entropy is not None
    assert found.entropy.method == JACKKNIFE
    assert found.entropy.between is not None
    assert found.entropy.between.value > table.between.mean()
    for figure in (found.dissent, found.within, found.between, found.entropy.total, found.entropy.between):
        assert figure.interval.low < figure.value < figure.interval.high


def test_counts_take_the_crowd_as_fixed() -> None:
    found = mean_doubt(counts(60, 3))
    assert (found.over, found.within, found.between, found.entropy) == (OVER_ITEMS, None, None, None)
    assert found.dissent is not None
    assert "over items" in found.dissent.interval.kind


def test_entropies_need_ten_votes_or_three_beliefs() -> None:
    few, enough = mean_doubt(counts(60, 9)), mean_doubt(counts(60, 10))
    assert few.entropy is None
    assert enough.entropy is not None
    assert enough.entropy.method == CHAO_SHEN
    assert mean_doubt(beliefs(60, 2, n_people=6)).entropy is None
    assert mean_doubt(counts(60, 10).votes()).entropy.total.value == pytest.approx(enough.entropy.total.value)  # type: ignore[union-attr]


def test_one_answer_per_item() -> None:
    votes = mean_doubt(counts(20, 1))
    assert (votes.dissent, votes.within, votes.n_measured) == (None, None, 0)
    soft = mean_doubt(beliefs(20, 1, n_people=5))
    assert soft.dissent is None
    assert soft.within is not None
    assert 0 < soft.within.interval.low < soft.within.value


def test_agreement_everywhere_has_an_upper_end() -> None:
    same = sf.Counts.from_numpy(range(40), np.tile([3, 0], (40, 1)), ["cat", "dog"])
    found = mean_doubt(same).dissent
    assert found is not None
    assert (found.value, found.interval.low) == (0.0, 0.0)
    assert 0.05 < found.interval.high < 0.15


def test_two_annotators_leave_no_interval_over_people() -> None:
    found = mean_doubt(beliefs(40, 2))
    assert found.over == OVER_ITEMS
    assert found.dissent is not None
    assert found.dissent.interval.low < found.dissent.value


def test_intervals_cover_other_people() -> None:
    """People who lean to some classes: intervals over items alone would be too narrow."""
    rng = np.random.default_rng(5)
    many = rng.normal(0, 1.5, (4000, 4))
    mean = np.mean(
        [np.exp(x := many + rng.normal(0, 1.2, 4)) / np.exp(x).sum(axis=1, keepdims=True) for _ in range(300)], 0
    )
    truth = 1 - (mean**2).sum(axis=1).mean()
    inside, narrow = [], []
    for _ in range(60):
        logits, lean = rng.normal(0, 1.5, (150, 4)), rng.normal(0, 1.2, (6, 4))
        item, who = np.divmod(np.arange(150 * 6), 6)
        votes = (logits[item] + lean[who] + rng.gumbel(size=(900, 4))).argmax(axis=1)
        table = sf.Beliefs.from_numpy(item, who, votes, CLASSES)
        for found, seen in (
            (mean_doubt(table, level=0.9), inside),
            (mean_doubt(sf.Counts.of(table), level=0.9), narrow),
        ):
            assert found.dissent is not None
            seen.append(found.dissent.interval.low <= truth <= found.dissent.interval.high)
    assert np.mean(inside) >= 0.78
    assert np.mean(narrow) < np.mean(inside)


def test_two_votes_per_item_by_many_people() -> None:
    """With each answer its item is lost, which must not make the interval too wide."""
    ours = mean_doubt(counts(300, 2).votes()).dissent
    fixed = mean_doubt(counts(300, 2)).dissent
    assert ours is not None
    assert fixed is not None
    width = ours.interval.high - ours.interval.low
    assert width == pytest.approx(fixed.interval.high - fixed.interval.low, rel=0.05)


def test_the_printed_figures_are_those_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("item,n:cat,n:dog\na,7,3\nb,9,1\nc,5,5\nd,1,0\n")
    for level, named in ((0.95, "95% CI"), (0.999, "99.9% CI")):
        shown = sfumato("doubt", "c.csv", "--level", level, "--top", 0, cwd=tmp_path).stdout.splitlines()
        found = sf.mean_doubt(tmp_path / "c.csv", level=level)
        assert str(found).splitlines() == shown
        assert named in shown[0]
    assert repr(found) == f"<MeanDoubt: 4 items, dissent {found.dissent.value:.3g}>"
    assert "bad-setting" in sfumato("doubt", "c.csv", "--level", 95, cwd=tmp_path, code=2).stderr
    one = sf.mean_doubt(sf.Beliefs.from_votes(item=list("ab"), annotator=list("xx"), label=[0, 1]))
    assert repr(one) == "<MeanDoubt: 2 items, dissent not identifiable>"
