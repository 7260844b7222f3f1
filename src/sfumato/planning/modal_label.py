"""How many answers the most frequent label alone needs, where asking stops once one class is well ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.planning.recorded import RecordedAnswers
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class ModalStop:
    """What stopping at a lead comes to on recorded answers."""

    lead: int
    answers_per_item: float
    recorded_per_item: float
    agrees: float
    """Share of items whose leading class at the stop is (or ties with) the most frequent of all recorded answers."""
    unfinished: float
    """Share of items whose recorded answers ran out before the lead was reached."""

    @property
    def times_fewer(self) -> float:
        """How many times fewer answers than were recorded."""
        return self.recorded_per_item / self.answers_per_item


def stop_at_lead(recorded: RecordedAnswers, lead: int, rng: np.random.Generator) -> ModalStop:
    """Every item's answers in random order until one class is `lead` ahead of the second, or there are no more.

    Says only who leads: the shares themselves are left as rough as so few answers make them (`replay` judges those).
    """
    at_least("lead", lead, 1)
    pool = recorded.against(np.zeros((recorded.n_items, recorded.n_classes)), rng).pool
    counts = np.zeros((recorded.n_items, recorded.n_classes))
    everything = np.zeros_like(counts)
    np.add.at(everything, recorded.item, recorded.votes(np.arange(len(recorded.item))))
    is_open = np.ones(recorded.n_items, dtype=bool)
    n_answers = np.zeros(recorded.n_items, np.int64)
    for column in pool.T:
        asked = np.flatnonzero(is_open & (column >= 0))
        counts[asked] += recorded.votes(column[asked])
        n_answers[asked] += 1
        most = np.sort(counts[asked], axis=1)
        is_open[asked] = most[:, -1] - most[:, -2] < lead - 1e-9
    chosen = everything[np.arange(recorded.n_items), counts.argmax(axis=1)]
    return ModalStop(
        lead,
        float(n_answers.mean()),
        float((pool >= 0).sum(axis=1).mean()),
        float((chosen >= everything.max(axis=1) - 1e-9).mean()),
        float(is_open.mean()),
    )
