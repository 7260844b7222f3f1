"""Entropy of predictions compared with the entropy of people's labels: difference and correlations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import (
    MODEL_BASED,
    Better,
    Estimate,
    LinearPart,
    from_influence,
    from_sums,
    mean_over_items,
    undefined,
)
from sfumato.evaluation.rank_correlation import Ranked
from sfumato.evaluation.score_floor import CHOSEN_BY_VOTES, ONE_VOTE
from sfumato.tables.bootstrap import Bootstrap, Interval
from sfumato.tables.chosen_probability import ChosenProbability, VoteAgreement, entropy_error
from sfumato.tables.setting_checks import one_of

CORRECTED, PLUG_IN = "corrected", "plug-in"


@dataclass(frozen=True)
class EntropyDifference:
    """The mean over items of H(p) - H(q), in nats: above 0 the model is more uncertain than people, below 0 less.

    EntCE of Baan et al. (2022) with its sign. If `people` are votes, their mean entropy is estimated from the votes
    about all items (`sfumato.tables.chosen_probability`), because the entropy of the shares of a few votes is too low.
    Few votes do not identify an entropy, and the error of the model is not known: this estimate has no interval,
    because an interval over items alone would contain the truth too rarely (docs/coverage.md). Prefer
    `dissent_difference`, which is unbiased. Differences between models keep their intervals: people's entropy is the
    same for all models. `entropy="plug-in"` takes the shares as they are, with an interval for such shares.
    """

    entropy: str = CORRECTED

    name, better, bounds = "entropy_difference", Better.NEITHER, (-np.inf, np.inf)

    def __post_init__(self) -> None:
        one_of("entropy", self.entropy, (CORRECTED, PLUG_IN))

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        counts = matched.vote_counts
        if self.entropy == PLUG_IN or counts is None:
            return mean_over_items(matched.predicted_entropy - matched.people_entropy, bootstrap)
        if matched.chosen_by_votes:
            return undefined(CHOSEN_BY_VOTES.removeprefix("none: "), len(matched))
        votes = VoteAgreement.of(counts)
        if not votes.is_identifying:
            return undefined(ONE_VOTE.removeprefix("none: "), len(matched))
        fitted = ChosenProbability.fit(votes)
        of_items, mean = fitted.of_items(counts), fitted.mean_entropy
        # Values of single items are shrunk to the mean: stretched, their mean has the standard error of the fit.
        naive = float(of_items.std()) / np.sqrt(len(matched))
        stretch = max(entropy_error(counts) / naive, 1.0) if naive > 0 else 1.0
        people = mean + stretch * (of_items - of_items.mean())
        found = mean_over_items(matched.predicted_entropy - people, bootstrap)
        return replace(found, interval=Interval(np.nan, np.nan, MODEL_BASED))


NO_SPREAD = 1e-9
"""Smaller standard deviations are rounding errors."""
ALL_THE_SAME = "the entropies of one side are all the same"


@dataclass(frozen=True)
class EntropyPearson:
    """Pearson's correlation between H(p) and H(q) over items: is the model uncertain about the same items as people?
    (Pearson 1896)

    The entropy of the shares as they are: with few votes the correlation is too low, because chance moves the shares.
    `dissent_pearson` corrects for it. NaN if one of them is the same for all items. A few very uncertain items can
    dominate it: then prefer `entropy_spearman`. It ignores which classes the uncertainty is about; the divergences do
    not.
    """

    name, better, bounds = "entropy_pearson", Better.HIGH, (-1.0, 1.0)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        x = matched.predicted_entropy - matched.predicted_entropy.mean()
        y = matched.people_entropy - matched.people_entropy.mean()
        if min(x.std(), y.std()) < NO_SPREAD:
            return undefined(ALL_THE_SAME, len(matched))
        sums = bootstrap.sums(np.ones(len(x)), x, y, x * x, y * y, x * y)
        return from_sums(sums, _correlation, bootstrap, n_items=len(x))


def _correlation(totals: Float[np.ndarray, "draws 6"]) -> Float[np.ndarray, "draws"]:
    n, x, y, xx, yy, xy = totals.T
    below = np.sqrt(np.maximum(xx - x * x / n, 0.0) * np.maximum(yy - y * y / n, 0.0))
    found = np.divide(xy - x * y / n, below, out=np.full(len(n), np.nan), where=below > n * NO_SPREAD**2)
    return np.asarray(np.clip(found, -1.0, 1.0))


DECIMALS = 12
"""Entropies are rounded to this many decimals before ranking, because equal ones differ in the last digits."""


@dataclass(frozen=True)
class EntropySpearman:
    """Spearman's rank correlation between H(p) and H(q) over items, ties with their mean rank (Spearman 1904).

    With few votes it is too low, as `entropy_pearson` is. Increasing transformations do not change it; prefer
    `entropy_pearson` where the amount of uncertainty matters. NaN if one of them is the same for all items.

    Ranks depend on the sampled items, so the interval bootstraps the contribution of each item to the correlation,
    including its effect on the ranks of others (Croux & Dehon 2010; here with ties), on Fisher's atanh scale.
    """

    name, better, bounds = "entropy_spearman", Better.HIGH, (-1.0, 1.0)

    def estimate(self, matched: MatchedLabels, bootstrap: Bootstrap) -> Estimate:
        x = Ranked.of(np.round(matched.predicted_entropy, DECIMALS))
        y = Ranked.of(np.round(matched.people_entropy, DECIMALS))
        a, b = (float((each.rank**2).mean()) for each in (x, y))
        if min(a, b) == 0:
            return undefined(ALL_THE_SAME, len(matched))
        c = float((x.rank * y.rank).mean())
        rho = float(np.clip(c / np.sqrt(a * b), -1.0, 1.0))
        if abs(rho) > 1 - 1e-12:
            return Estimate(rho, Interval(np.nan, np.nan, "none: the ranks are all but the same"), len(matched))
        of_c = x.rank * y.rank + x.above(y.rank) + y.above(x.rank) - 3 * c
        of_a = x.rank**2 + 2 * x.above(x.rank) - 3 * a
        of_b = y.rank**2 + 2 * y.above(y.rank) - 3 * b
        influence = of_c / np.sqrt(a * b) - rho / 2 * (of_a / a + of_b / b)
        found = from_influence(float(np.arctanh(rho)), np.asarray(influence / (1 - rho**2)), bootstrap)
        between = found.interval
        low, high = (float(np.tanh(each)) for each in (between.low, between.high))
        assert found.linear is not None
        linear = LinearPart(rho, found.linear.blocks * (1 - rho**2))
        return replace(found, value=rho, interval=Interval(low, high, between.kind), linear=linear)
