"""Uncertainty and agreement of adaptive studies, from the table to the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from sfumato import Annotations, Beliefs
from sfumato.aggregation.adaptive_agreement import study_agreement
from sfumato.aggregation.adaptive_study import audit_of, study_doubt
from sfumato.api_arguments import beliefs_of
from sfumato.cli import group
from sfumato.labeling.agreement import measure_from_name
from sfumato.tables.errors import SfumatoError, SfumatoWarning
from sfumato.tables.mean_doubt import mean_doubt

CLASSES = ("cat", "dog", "emu")


@pytest.fixture(scope="module")
def votes() -> Beliefs:
    """Two votes per item, three more if they differ, and two audit votes about every third item."""
    rng = np.random.default_rng(4)
    item, person, label, audit = [], [], [], []
    for i, probs in enumerate(rng.dirichlet(np.full(3, 0.3), 120)):
        own = rng.choice(3, 5, p=probs).tolist()
        own = own[:2] if own[0] == own[1] else own
        audits = rng.choice(3, 2, p=probs).tolist() if i % 3 == 0 else []
        item += [f"i{i}"] * (len(own) + len(audits))
        person += [f"p{k}" for k in rng.permutation(20)[: len(own) + len(audits)]]
        label += own + audits
        audit += [False] * len(own) + [True] * len(audits)
    table = Beliefs.from_numpy(item, person, np.array(label), CLASSES)
    return Beliefs(table.item, table.annotator, CLASSES, hard=table.hard, audit=np.array(audit))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_audits_survive_files(votes: Beliefs, tmp_path: Path, ending: str) -> None:
    votes.write(tmp_path / f"votes.{ending}")
    again = Beliefs.read(tmp_path / f"votes.{ending}")
    assert again.audit is not None
    assert votes.audit is not None
    assert again.audit.tolist() == votes.audit.tolist()
    assert again.take(again.audit).audit.all()


def test_a_word_that_is_neither_true_nor_false(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,annotator,p:cat,p:dog,audit\na,p,1,0,true\nb,p,0,1,perhaps\n")
    with pytest.raises(SfumatoError, match=r"votes\.csv:3"):
        Beliefs.read(path)


def test_answers_keep_audits_when_they_become_beliefs() -> None:
    columns = {"item": ["a", "b"], "annotator": ["p", "p"], "kind": ["choice/1"] * 2, "audit": [True, False]}
    frame = pl.DataFrame({**columns, "payload": ['{"class": "cat"}', '{"class": "dog"}']})
    answers = Annotations.from_arrow(frame, ("cat", "dog"))
    assert answers.audit is not None
    assert answers.to_polars()["audit"].to_list() == [True, False]
    audit = beliefs_of(answers).audit
    assert audit is not None
    assert audit.tolist() == [True, False]


def test_figures_come_from_posteriors(votes: Beliefs) -> None:
    plain = Beliefs(votes.item, votes.annotator, CLASSES, hard=votes.hard)
    found, naive = study_doubt(votes), mean_doubt(plain)
    assert found.dissent is not None
    assert naive.dissent is not None
    assert study_doubt(plain) == naive
    # Means of votes are too low after a stopping rule.
    assert found.dissent.value > naive.dissent.value
    assert found.entropy is not None
    assert found.entropy.method == "posterior means"
    with pytest.warns(SfumatoWarning, match="fleiss-kappa is biased"):
        table = study_agreement(votes, measures=[measure_from_name("alpha-nominal"), measure_from_name("fleiss-kappa")])
    assert table.measure == ("alpha-nominal", "fleiss-kappa")
    assert "posterior means" in table.interval[0]
    assert table.n_items[0] == 120
    # With few answers per item, both say that their intervals are too narrow.
    assert "too narrow with fewer than 10 answers per item" in table.interval[0]
    assert "the crowd is taken as fixed; too narrow with fewer than 10 answers per item" in found.over
    assert found.is_crowd_fixed


def test_the_command_names_the_audit(votes: Beliefs, tmp_path: Path) -> None:
    votes.write(tmp_path / "votes.parquet")
    audit = audit_of(votes)
    assert audit is not None
    assert audit.n_items == 40
    shown = CliRunner().invoke(group, ["doubt", str(tmp_path / "votes.parquet")], catch_exceptions=False).output
    assert "Audit of 40 items: two more people differ in" in shown
    shown = CliRunner().invoke(group, ["agreement", str(tmp_path / "votes.parquet")], catch_exceptions=False).output
    assert "too narrow with fewer than 10 answers per item" in shown
