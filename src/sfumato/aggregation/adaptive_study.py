"""Mean uncertainty of any study; of an adaptive one from the posteriors of its items, tested by its audit.

Beliefs of an adaptive study have a column `audit`: the number of answers per item depended on the answers, so means
over votes are biased (see `posterior_figures`). `doubt`, the report and the dashboard use this module.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
from jaxtyping import Bool, Float

from sfumato.aggregation.posterior_figures import (
    TOO_NARROW,
    AuditResult,
    check_audit,
    has_few_answers,
    posterior_figures,
)
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.mean_doubt import OVER_ITEMS, MeanDoubt, MeanEntropy, MeanFigure, mean_doubt

POSTERIOR = "posterior means"


def is_adaptive(votes: Beliefs | Counts) -> TypeGuard[Beliefs]:
    """Whether the number of answers per item depended on the answers."""
    return isinstance(votes, Beliefs) and votes.audit is not None


def study_doubt(votes: Beliefs | Counts, *, level: float = 0.95) -> MeanDoubt:
    """`mean_doubt`, or for an adaptive study the mean dissent and entropy of its items' posteriors."""
    if not is_adaptive(votes) or not len(votes):
        return mean_doubt(votes, level=level)
    counts = adaptive_counts(votes)
    found, n = posterior_figures(counts, level=level), counts.sum(axis=1)
    entropy = MeanEntropy(MeanFigure(found.entropy.value, found.entropy.interval), None, None, POSTERIOR)
    dissent = MeanFigure(found.dissent.value, found.dissent.interval)
    measured = int((n > 0).sum())
    over = f"{OVER_ITEMS}; {TOO_NARROW}" if has_few_answers(counts) else OVER_ITEMS
    return MeanDoubt(len(counts), measured, float(np.median(n[n > 0])), dissent, None, None, entropy, over, level)


def audit_of(votes: Beliefs | Counts, *, level: float = 0.95) -> AuditResult | None:
    """The audit of an adaptive study; None if there is none."""
    if not is_adaptive(votes):
        return None
    assert votes.audit is not None
    return check_audit(adaptive_counts(votes, ~votes.audit), adaptive_counts(votes, votes.audit), level=level)


def audit_sentence(found: AuditResult) -> str:
    """What the audit says about the model."""
    text = (
        f"Audit of {found.n_items:,} items: two more people differ in {found.observed:.0%}, "
        f"and {found.expected:.0%} is expected"
    )
    return f"{text}; the model does not fit (p = {found.p:.2g})." if found.fails else f"{text}."


def adaptive_counts(votes: Beliefs, rows: Bool[np.ndarray, "rows"] | None = None) -> Float[np.ndarray, "items classes"]:
    """The votes per item and class, or only those of `rows`."""
    view = votes.coded() if rows is None else votes.coded().take(rows)
    counts = np.zeros((view.n_items, view.n_classes))
    if view.hard is not None:
        np.add.at(counts, (view.item, view.hard), 1.0)
    else:
        assert view.soft is not None
        np.add.at(counts, view.item, view.soft)
    return counts
