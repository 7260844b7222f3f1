"""What every index must do. An index is tested by standing in `INDICES`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.answer_value import ENOUGH, INDICES, AcquisitionIndex, ItemPosteriors, index_named

N_CLASSES = 4
MADE = [member() for member in INDICES]
over_indices = pytest.mark.parametrize("index", MADE, ids=lambda index: index.name)


def known(seed: int = 0, n_items: int = 60) -> ItemPosteriors:
    """Items with none to twenty answers, under a prior of five components."""
    rng = np.random.default_rng(seed)
    prior = DirichletMixture(rng.dirichlet(np.ones(5)), rng.gamma(0.5, 2, (5, N_CLASSES)) + 0.01)
    answers = rng.integers(0, 21, n_items)
    return ItemPosteriors(
        rng.multinomial(answers, rng.dirichlet(np.full(N_CLASSES, 0.4), n_items)).astype(float), prior
    )


# The contracts: each takes an index and what is known, and fails for an index that breaks it.


def gives_every_item_a_number(index: AcquisitionIndex, of: ItemPosteriors) -> None:
    worth = index.worth(of)
    assert worth.shape == (len(of.counts),)
    assert ((worth == ENOUGH) | (np.isfinite(worth) & (worth >= 0))).all()


def ignores_the_order_of_classes(index: AcquisitionIndex, of: ItemPosteriors) -> None:
    order = np.roll(np.arange(N_CLASSES), 1)
    other = ItemPosteriors(of.counts[:, order], DirichletMixture(of.prior.weights, of.prior.alpha[:, order]))
    np.testing.assert_allclose(index.worth(other), index.worth(of), rtol=1e-9, atol=1e-13)


def ignores_the_order_of_items(index: AcquisitionIndex, of: ItemPosteriors) -> None:
    order = np.random.default_rng(1).permutation(len(of.counts))
    assert np.array_equal(index.worth(ItemPosteriors(of.counts[order], of.prior)), index.worth(of)[order])


def looks_at_each_item_alone(index: AcquisitionIndex, of: ItemPosteriors) -> None:
    """To the last bit: that is why an answer changes the worth of its item only."""
    worth = index.worth(of)
    for i in range(0, len(of.counts), 7):
        assert index.worth(ItemPosteriors(of.counts[i : i + 1], of.prior))[0] == worth[i]


def wants_less_of_what_all_agree_on(index: AcquisitionIndex, of: ItemPosteriors) -> None:
    for k in range(N_CLASSES):
        few, many = (index.worth(ItemPosteriors(n * np.eye(N_CLASSES)[[k]], of.prior))[0] for n in (2, 60))
        assert many < few


def changes_no_argument(index: AcquisitionIndex, of: ItemPosteriors) -> None:
    before = (of.counts.copy(), of.prior.alpha.copy(), of.prior.weights.copy())
    first = index.worth(of)
    assert np.array_equal(index.worth(of), first)
    for old, new in zip(before, (of.counts, of.prior.alpha, of.prior.weights), strict=True):
        assert np.array_equal(old, new)


CONTRACTS = (
    gives_every_item_a_number,
    ignores_the_order_of_classes,
    ignores_the_order_of_items,
    looks_at_each_item_alone,
    wants_less_of_what_all_agree_on,
    changes_no_argument,
)


@over_indices
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[..., None], index: AcquisitionIndex) -> None:
    for seed in range(3):
        contract(index, known(seed))


@over_indices
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_any_item_has_a_worth(index: AcquisitionIndex, seed: int) -> None:
    gives_every_item_a_number(index, known(seed, 5))
    ignores_the_order_of_classes(index, known(seed, 5))


# A wrong index for each contract.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"
    per_second: ClassVar[bool] = False
    uses_prior: ClassVar[bool] = False


class DividesByNothing(_Wrong):
    def worth(self, of: ItemPosteriors) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 / of.n_answers


class LikesTheFirstClass(_Wrong):
    def worth(self, of: ItemPosteriors) -> np.ndarray:
        return of.mean[:, 0]


class GoesByRow(_Wrong):
    def worth(self, of: ItemPosteriors) -> np.ndarray:
        return np.arange(len(of.counts)) / (1 + of.n_answers)


class ComparesItems(_Wrong):
    def worth(self, of: ItemPosteriors) -> np.ndarray:
        return 1 / (1 + of.n_answers) / len(of.counts)


class WantsMoreAndMore(_Wrong):
    def worth(self, of: ItemPosteriors) -> np.ndarray:
        return of.n_answers


class CountsItsLook(_Wrong):
    def worth(self, of: ItemPosteriors) -> np.ndarray:
        of.counts[:, 0] += 1
        return 1 / (1 + of.counts.sum(axis=1))


@pytest.mark.parametrize(
    ("contract", "wrong"),
    list(
        zip(
            CONTRACTS,
            (
                DividesByNothing(),
                LikesTheFirstClass(),
                GoesByRow(),
                ComparesItems(),
                WantsMoreAndMore(),
                CountsItsLook(),
            ),
            strict=True,
        )
    ),
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_index(contract: Callable[..., None], wrong: Any) -> None:
    with pytest.raises(AssertionError):
        contract(wrong, known())


def test_names_are_distinct_and_found() -> None:
    names = [member.name for member in INDICES]
    assert len(set(names)) == len(names)
    for index in MADE:
        assert isinstance(index, AcquisitionIndex)
        assert index_named(index.name) == index
