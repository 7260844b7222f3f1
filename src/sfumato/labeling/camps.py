"""Camps: a group of annotators that answers the same items differently from the others, in the same way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from scipy.special import gammaln

from sfumato.labeling.shared_deviations import FEWEST_VOTES, SIGNIFICANT, SharedAnswers, camp_test
from sfumato.tables.base_table import ColumnTable
from sfumato.tables.beliefs import Beliefs, CodedBeliefs
from sfumato.tables.counts import Counts, without_annotators
from sfumato.tables.option_words import is_command
from sfumato.tables.printed_text import PrintedResult, counted, wrapped
from sfumato.tables.setting_checks import at_least

CAMP_PRIOR, CAMP_STEPS = 5.0, 3
"""Answers of everybody that are added to those of a camp about an item, and the iterations that assign annotators."""
FIRST, SECOND, UNCLEAR = "1", "2", "unclear"
CLEAR = 2 / 3
"""Annotators are counted in a camp if its probability is at least this: twice that of the other camp."""
FEWEST_ITEMS = 20
"""With fewer items, camps are rarely found."""
SHOWN = 3
"""The number of pairs of classes, and of items, in the text of the result."""
ITEM_PRIOR = 0.5
"""The parameter of the Dirichlet prior of a camp's answers about an item."""


@dataclass(frozen=True, eq=False, repr=False)
class CampMembers(ColumnTable):
    """One row per annotator: the camp (`1` is the larger one, or `unclear`), the probability of camp 2, and the number
    of answers to items that others answered too."""

    annotator: tuple[str, ...]
    camp: tuple[str, ...]
    probability_2: Float[np.ndarray, "annotators"]
    n_answers: Int[np.ndarray, "annotators"]


@dataclass(frozen=True, eq=False, repr=False)
class CampItems(ColumnTable):
    """One row per item, the most divided first: the probability that the camps answer differently, and the most
    frequent class of each camp."""

    item: tuple[str, ...]
    divided: Float[np.ndarray, "items"]
    camp_1: tuple[str, ...]
    camp_2: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Camps(PrintedResult):
    """The result: whether there are two camps, their members, and the items on which they differ.

    `p_value` is NaN if there were too few answers to test. The tables are empty unless camps were found.
    """

    p_value: float
    members: CampMembers
    items: CampItems
    votes_per_item: float
    n_tested: int
    """The number of annotators that the test used; the camps of the others are estimated from the same items."""
    n_items: int
    """The number of items with answers of at least two annotators."""

    @property
    def found(self) -> bool:
        return len(self.members) > 0

    @property
    def share(self) -> float:
        """The share of all annotators who are clearly in the smaller camp; 0 without camps."""
        return self.members.camp.count(SECOND) / len(self.members) if self.found else 0.0

    @property
    def n_unclear(self) -> int:
        """The number of annotators who are in neither camp, because their answers do not show in which."""
        return self.members.camp.count(UNCLEAR)

    @property
    def n_divided(self) -> int:
        """The number of items that the camps probably answer differently."""
        return int((self.items.divided > 0.5).sum())

    def sentence(self) -> str:
        """The finding in one sentence."""
        if not self.n_items:
            return "camps cannot be tested: no item has answers of two people"
        if np.isnan(self.p_value):
            return (
                f"camps were not tested: {self.votes_per_item:.1f} answers per item by different people, "
                f"and fewer than {FEWEST_VOTES} rarely show them"
            )
        if not self.found:
            few = f"item{'s' * (self.n_items != 1)}, and fewer than {FEWEST_ITEMS} rarely show them"
            limit = f": {self.n_items} {few}" if self.n_items < FEWEST_ITEMS else ", which does not exclude small ones"
            return f"no evidence of camps, p = {self.p_value:.2f}{limit}"
        where = f"about {self.n_divided:,} item" + ("" if self.n_divided == 1 else "s")
        where = where if self.n_divided else "some items, none of them clearly"
        rest = f"; {self.n_unclear:,} of {len(self.members):,} annotators are unclear" if self.n_unclear else ""
        return f"two camps: {self.share:.0%} of annotators answer differently on {where}, p = {self.p_value:.2f}{rest}"

    def lines(self) -> list[str]:
        """The finding, and the classes and items that divide the camps."""
        lines = wrapped(self.sentence())
        for each in self.class_pairs()[:SHOWN]:
            n_items = counted(each.n_items, "item")
            lines += wrapped(f"camp 1 mostly answers {each.camp_1}, camp 2 {each.camp_2}: {n_items}", "  ")
        if self.n_divided:
            named = ", ".join(self.items.item[: min(SHOWN, self.n_divided)])
            more = "all with --divided FILE, who is in which camp with --members FILE"
            lines += wrapped(f"most divided: {named}; {more if is_command() else 'all in .items and .members'}", "  ")
        return lines

    def class_pairs(self) -> tuple[CampClasses, ...]:
        """The classes that divide the camps: pairs of their most frequent classes per item, frequent ones first."""
        n_of: dict[tuple[str, str], int] = {}
        for divided, first, second in zip(self.items.divided, self.items.camp_1, self.items.camp_2, strict=True):
            if divided > 0.5 and first != second:
                n_of[first, second] = n_of.get((first, second), 0) + 1
        found = [CampClasses(*pair, n) for pair, n in n_of.items()]
        return tuple(sorted(found, key=lambda each: (-each.n_items, each.camp_1, each.camp_2)))


@dataclass(frozen=True)
class CampClasses:
    """The most frequent class of each camp, and the number of items on which they answer so."""

    camp_1: str
    camp_2: str
    n_items: int


NO_MEMBERS = CampMembers((), (), np.zeros(0), np.zeros(0, np.int64))
NO_ITEMS = CampItems((), np.zeros(0), (), ())


def camps(beliefs: Beliefs | Counts, *, draws: int = 99, rng: np.random.Generator) -> Camps:
    """Test whether a group of annotators answers some items differently from the others, and name its members.

    The p-value is the rank of the eigenvalue among `draws` draws without camps; camps are reported up to
    p = 0.05. Drawing stops early once that is out of reach. An individual preference for a class, or careless
    answers, are no camp. Each annotator's first answer to an item counts; soft beliefs are used whole. Needs about ten
    answers per item.
    """
    if isinstance(beliefs, Counts):
        raise without_annotators("camps", "agreement")
    names = beliefs.annotator.names, beliefs.item.names
    return camps_of(beliefs.coded(), *names, beliefs.classes, draws=draws, rng=rng)


def camps_of(
    coded: CodedBeliefs,
    annotators: pa.StringArray,
    items: pa.StringArray,
    classes: tuple[str, ...],
    *,
    draws: int = 99,
    rng: np.random.Generator,
) -> Camps:
    """The same from integer-coded beliefs and the names."""
    at_least("draws", draws, 19)
    found = camp_test(coded, draws=draws, rng=rng)
    if found.p_value > SIGNIFICANT or np.isnan(found.p_value):
        return Camps(found.p_value, NO_MEMBERS, NO_ITEMS, found.votes_per_item, found.n_tested, found.n_items)
    answers = SharedAnswers.of(coded)
    membership = _membership(answers, found.direction)
    minority = membership.of_annotator
    n_answers = np.bincount(answers.annotator, minlength=coded.n_annotators)
    camp = np.where(minority >= CLEAR, SECOND, np.where(minority <= 1 - CLEAR, FIRST, UNCLEAR))
    camp = np.where(n_answers > 0, camp, UNCLEAR)
    members = CampMembers(tuple(annotators.to_pylist()), tuple(camp.tolist()), minority, n_answers)
    divided = _items(answers, membership.of_row, items, classes)
    return Camps(found.p_value, members, divided, found.votes_per_item, found.n_tested, found.n_items)


@dataclass(frozen=True, eq=False)
class Membership:
    """The probability of belonging to the smaller camp: of each annotator, and for each answer without that answer."""

    of_annotator: Float[np.ndarray, "annotators"]
    of_row: Float[np.ndarray, "rows"]


def _membership(answers: SharedAnswers, direction: Float[np.ndarray, "annotators"]) -> Membership:
    """The probability of belonging to the smaller camp: a mixture of two groups with own shares per item.

    It starts from the signs of `direction`. A camp's shares of an item are those of its other members, with
    `CAMP_PRIOR` answers of everybody.
    """
    everybody = np.exp(answers.log_others)
    second = np.where(direction > 0, 0.9, np.where(direction < 0, 0.1, 0.5))
    for _ in range(CAMP_STEPS):
        gain = _log_shares(answers, second, everybody) - _log_shares(answers, 1 - second, everybody)
        gain = (answers.belief * gain).sum(axis=1)
        share = float(np.clip(second.mean(), 0.05, 0.95))
        log_odds = np.bincount(answers.annotator, gain, answers.n_annotators) + np.log(share / (1 - share))
        second = _sigmoid(log_odds)
    sign = -1 if second.mean() > 0.5 else 1
    return Membership(_sigmoid(sign * log_odds), _sigmoid(sign * (log_odds[answers.annotator] - gain)))


def _log_shares(answers: SharedAnswers, member: Float[np.ndarray, "annotators"], everybody: np.ndarray) -> np.ndarray:
    """The logarithm of the shares of a camp for each answer, without the answer."""
    weighed = member[answers.annotator][:, None] * answers.belief
    shares = answers.sums(weighed)[answers.item] - weighed + CAMP_PRIOR * everybody
    return np.asarray(np.log(np.maximum(shares, 1e-12) / shares.sum(axis=1, keepdims=True)))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -50, 50))))


def _items(
    answers: SharedAnswers, second: Float[np.ndarray, "rows"], names: pa.StringArray, classes: tuple[str, ...]
) -> CampItems:
    """The items that both camps answered: one distribution for both compared with one for each, with the share of
    divided items estimated from all of them. Of beliefs, the most probable class counts. `second` is the probability
    of camp 2 without the answer: otherwise annotators would be assigned by the very answers that then differ."""
    chosen = np.eye(len(classes))[answers.belief.argmax(axis=1)]
    totals = [answers.sums(member[:, None] * chosen) for member in (second <= 0.5, second > 0.5)]
    both = np.flatnonzero((totals[0].sum(axis=1) > 0.5) & (totals[1].sum(axis=1) > 0.5))
    first, other = totals[0][both], totals[1][both]
    gain = _log_evidence(first) + _log_evidence(other) - _log_evidence(first + other)
    share = 0.5
    for _ in range(50):
        divided = _sigmoid(gain + np.log(share / (1 - share)))
        share = float(np.clip(divided.mean(), 0.01, 0.99)) if len(divided) else share
    order = np.argsort(-divided, kind="stable")
    modes = [[classes[k] for k in each.argmax(axis=1)[order]] for each in (first, other)]
    return CampItems(
        tuple(names.take(pa.array(both[order])).to_pylist()), divided[order], tuple(modes[0]), tuple(modes[1])
    )


def _log_evidence(totals: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items"]:
    """The Dirichlet-multinomial log-probability of answers, up to the multinomial coefficient."""
    n_classes = totals.shape[1]
    each = gammaln(totals + ITEM_PRIOR) - gammaln(ITEM_PRIOR)
    whole = gammaln(n_classes * ITEM_PRIOR) - gammaln(totals.sum(axis=1) + n_classes * ITEM_PRIOR)
    return np.asarray(each.sum(axis=1) + whole)
