"""Dawid-Skene: priors and temperatures compared on simulated crowds, then the default scored on real ones.

    SFUMATO_DATA=/path/to/data python bench/dawid_skene_calibration.py [--crowds 200]

Everything is chosen on simulated crowds. The sets in `crowd` are only scored: accuracy (ties count by their share) and
log-loss (probabilities of at least 1e-6) of the default, of temperature 1, of the classic method (prior 0), and of
crowd-kit if it is installed. Takes about two minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, logsumexp

from evidence import THEIRS, WITH_TRUTH, CrowdSet, accuracy, in_our_order, log_loss
from pages import markdown
from sfumato.aggregation import AnswerMatrix, DawidSkene
from sfumato.aggregation.overdispersion import overdispersion
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import warnings_off

FIRST_SEED = 20_000
FACTORS = (1.0, 1.25, 1.5, 2.0)


@dataclass(frozen=True, eq=False)
class SimulatedCrowd:
    """Hard votes with the true classes: `votes` has one column per annotator and answer."""

    truth: np.ndarray
    votes: csr_array
    shares: np.ndarray
    beliefs: Beliefs
    hard: float

    @classmethod
    def drawn(cls, seed: int) -> SimulatedCrowd:
        """100 to 1,500 items of 2 to 8 classes with 3 to 20 answers each; annotators differ from a common confusion
        matrix, guess by habit, or are spammers, and share errors on 0 to 30% of the items."""
        rng = np.random.default_rng(seed)
        k, per_item = int(rng.choice([2, 2, 3, 4, 5, 8])), int(rng.choice([3, 5, 8, 10, 20]))
        n = int(np.exp(rng.uniform(np.log(100), np.log(1500))))
        per_annotator = float(np.exp(rng.uniform(np.log(4), np.log(300))))
        n_annotators = int(np.clip(n * per_item / per_annotator, max(per_item + 2, 8), 500))
        truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, rng.choice([1, 3, 20]))))
        confusion = _annotators(rng, n_annotators, k)
        hard, pull = float(rng.choice([0, 0.1, 0.2, 0.3])), rng.uniform(0.3, 0.8)
        is_hard = rng.random(n) < hard
        lure = rng.dirichlet(np.full(k, 0.7), n)
        activity = rng.pareto(1.2, n_annotators) + 0.2 if rng.random() < 0.6 else np.ones(n_annotators)
        order = np.log(activity) + rng.gumbel(size=(n, n_annotators))
        annotator = np.argpartition(-order, per_item - 1, axis=1)[:, :per_item].ravel()
        item = np.repeat(np.arange(n), per_item)
        chance = confusion[annotator, truth[item]]
        chance = np.where(is_hard[item][:, None], (1 - pull) * chance + pull * lure[item], chance)
        answer = np.minimum((chance.cumsum(axis=1) < rng.random(len(item))[:, None]).sum(axis=1), k - 1)
        # Numbered by their first answer, as in an AnswerMatrix.
        _, place, annotator = np.unique(annotator, return_index=True, return_inverse=True)
        annotator = np.argsort(np.argsort(place))[annotator]
        votes = csr_array((np.ones(len(item)), (item, annotator * k + answer)), (n, (annotator.max() + 1) * k))
        shares = np.stack([np.bincount(item, answer == c, n) for c in range(k)], axis=1) / per_item
        names = [f"{i:04}" for i in item], [f"{w:04}" for w in annotator]
        return cls(truth, votes, shares, Beliefs.from_numpy(*names, answer, [str(c) for c in range(k)]), hard)


def _annotators(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """The confusion matrix of every annotator: class, answer."""
    usual, base = np.zeros((k, k)), rng.uniform(0.62, 0.96)
    for c in range(k):
        right = np.clip(base + rng.normal(0, 0.1), 0.3, 0.98)
        usual[c, np.arange(k) != c] = (1 - right) * rng.dirichlet(np.full(k - 1, rng.choice([0.5, 2.0])))
        usual[c, c] = right
    concentration, kind = np.exp(rng.uniform(np.log(2), np.log(60))), rng.choice(["own matrix", "habit", "both"])
    found = np.repeat(usual[None], n, axis=0)
    for w in range(n):
        if kind != "habit":
            found[w] = [rng.dirichlet(concentration * np.maximum(row, 0.01)) for row in usual]
        if kind != "own matrix":
            skill = rng.beta(6, 1.5)
            found[w] = skill * found[w] + (1 - skill) * rng.dirichlet(np.ones(k))
    for w in np.flatnonzero(rng.random(n) < rng.choice([0, 0, 0.1, 0.3])):
        always = np.eye(k)[rng.integers(k)] * 0.9 + 0.1 / k
        found[w] = (np.full((k, k), 1 / k), np.tile(always, (k, 1)), found[w][rng.permutation(k)])[rng.choice(
            3, p=[0.5, 0.4, 0.1])]  # fmt: skip
    return found


@dataclass(frozen=True)
class Variant:
    """A variant of Dawid-Skene: the strength of the prior, its center, and how confusions are estimated."""

    prior: float = 20.0
    estimated: bool = False
    """The strength maximizes the marginal likelihood of the counts (Dirichlet-multinomial), from 10 to 60."""
    center: str = "votes"
    """votes: the confusion matrix of all under the shares of votes; em: under the posterior; own: one accuracy each."""
    by_share: bool = False
    """The strength is proportional to the share of the class."""
    variational: bool = False

    def fit(self, crowd: SimulatedCrowd) -> tuple[np.ndarray, np.ndarray]:
        """The posterior, and the probability of each answer: rows annotator and answer, columns class."""
        k, prior, last = crowd.shares.shape[1], self.prior, -np.inf
        said = np.asarray(crowd.votes.sum(axis=0)).reshape(-1, k, 1) > 0
        post, pooled = crowd.shares, _pooled(crowd, crowd.shares)
        for iteration in range(100):
            counts = (crowd.votes.T @ post).reshape(-1, k, k)
            shares = post.mean(axis=0)
            if self.center == "em" and iteration:
                pooled = _pooled(crowd, post)
            if self.estimated and iteration % 3 == 1:
                prior = _strength(counts, pooled)
            center = _own(counts, shares, pooled) if self.center == "own" else pooled.T[None]
            added = counts + prior * (k * shares if self.by_share else 1) * center
            added = np.maximum(added, 1e-10 * said if prior == 0 else 1e-10)
            logs = np.log(np.maximum(added / np.maximum(added.sum(axis=1, keepdims=True), 1e-300), 1e-300))
            if self.variational:
                logs = digamma(np.maximum(added, 1e-6)) - digamma(np.maximum(added.sum(axis=1, keepdims=True), 1e-6))
            joint = crowd.votes @ logs.reshape(-1, k) + np.log(np.maximum(shares, 1e-10))
            total = logsumexp(joint, axis=1)
            post = np.exp(joint - total[:, None])
            if abs(total.sum() - last) < 1e-6 * crowd.votes.nnz:
                break
            last = total.sum()
        rows = np.exp(logs)
        return post, np.maximum(rows / rows.sum(axis=1, keepdims=True), 1e-10).reshape(-1, k)


def _pooled(crowd: SimulatedCrowd, post: np.ndarray) -> np.ndarray:
    together = post.T @ crowd.shares + 0.01
    return np.asarray(together / together.sum(axis=1, keepdims=True))


def _own(counts: np.ndarray, shares: np.ndarray, pooled: np.ndarray) -> np.ndarray:
    """Every annotator's accuracy (with ten average answers), errors spread as those of all."""
    usual = float(shares @ np.diag(pooled))
    right = (np.einsum("wcc->w", counts) + 10 * usual) / (counts.sum(axis=(1, 2)) + 10)
    errors = pooled * (1 - np.eye(len(pooled)))
    errors = errors / np.maximum(errors.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(right[:, None, None] * np.eye(len(pooled)) + (1 - right)[:, None, None] * errors.T)


def _strength(counts: np.ndarray, pooled: np.ndarray) -> float:
    totals = counts.sum(axis=1)

    def loss(log_strength: float) -> float:
        strength = np.exp(log_strength)
        prior = strength * pooled.T
        rows = totals.size * gammaln(strength) - gammaln(totals + strength).sum()
        return -float(rows + (gammaln(counts + prior) - gammaln(prior)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(10), np.log(60)), method="bounded").x))


VARIANTS = {
    "prior 20 (the default)": Variant(),
    "prior 0 (classic)": Variant(0.0),
    "prior 2": Variant(2.0),
    "prior 10": Variant(10.0),
    "prior 40": Variant(40.0),
    "prior 10 by class share": Variant(10.0, by_share=True),
    "prior 10, center from the posterior": Variant(10.0, center="em"),
    "prior 10, center one accuracy per annotator": Variant(10.0, center="own"),
    "prior 10, variational": Variant(10.0, variational=True),
    "estimated prior": Variant(10.0, estimated=True),
    "estimated prior, center from the posterior": Variant(10.0, estimated=True, center="em"),
    "estimated prior, variational": Variant(10.0, estimated=True, variational=True),
}


def tempered(post: np.ndarray, temperature: float) -> np.ndarray:
    logs = np.log(np.maximum(post, 1e-300)) / temperature
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1)[:, None]))


def simulated(n_crowds: int) -> None:
    """Tables of all variants, and of the factors of the temperature by the share of hard items."""
    scores: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
    hard, factors = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + n_crowds):
        crowd = SimulatedCrowd.drawn(seed)
        answers = AnswerMatrix.of(crowd.beliefs)
        for name, variant in VARIANTS.items():
            post, rows = variant.fit(crowd)
            spread = max(1.0, overdispersion(answers, rows, post))
            losses = [log_loss(tempered(post, factor * spread), crowd.truth) for factor in FACTORS]
            scores[name].append([accuracy(post, crowd.truth), log_loss(post, crowd.truth), *losses])
            if variant == Variant():
                factors.append(losses)
                if seed < FIRST_SEED + 3:
                    ours = DawidSkene(temperature=1.0).fit(answers).labels.probs
                    assert np.abs(ours - post).mean() < 0.01, "the first variant is our own method"
        hard.append(crowd.hard)
    usual = np.array(scores["prior 20 (the default)"])
    table = []
    for name, found in scores.items():
        each = np.array(found)
        gain = 100 * (each[:, 0] - usual[:, 0])
        error = gain.std() / np.sqrt(n_crowds)
        means = [f"{value:.3f}" for value in each[:, 1:].mean(axis=0)]
        table.append([name, f"{each[:, 0].mean():.4f}", f"{gain.mean():+.2f} ± {error:.2f}", *means])
    head = ["variant", "accuracy", "points more than the default", "log-loss at T 1"]
    print(
        f"## {n_crowds} simulated crowds\n\n{markdown([*head, *(f'{f:g} x overdispersion' for f in FACTORS)], table)}\n"
    )
    of_crowd, by_hard = np.array(hard), []
    for share in sorted(set(hard)):
        chosen = of_crowd == share
        losses = [usual[chosen, 1].mean(), *np.array(factors)[chosen].mean(axis=0)]
        by_hard.append([f"{share:.0%}", str(chosen.sum()), *(f"{loss:.3f}" for loss in losses)])
    head = ["items on which people share errors", "crowds", "log-loss at T 1", *(f"T {f:g} x" for f in FACTORS)]
    print(f"## The default by shared errors\n\n{markdown(head, by_hard)}\n")


def scored() -> None:
    """Accuracy and log-loss on the sets with known truth."""
    methods: dict[str, Callable[[CrowdSet], np.ndarray]] = {
        "`dawid-skene`": lambda crowd: DawidSkene().aggregate(crowd.beliefs).labels.probs,
        "`dawid-skene`, temperature 1": lambda crowd: DawidSkene(temperature=1.0).aggregate(crowd.beliefs).labels.probs,
        "classic (prior 0)": lambda crowd: DawidSkene(prior=0.0).aggregate(crowd.beliefs).labels.probs,
    }
    if find_spec("crowdkit"):
        methods["crowd-kit DawidSkene"] = lambda crowd: in_our_order(
            THEIRS["crowd-kit DawidSkene"](crowd.votes.to_pandas()), crowd.beliefs
        )
    sets = [CrowdSet.read(name) for name in WITH_TRUTH]
    table = []
    for name, probs_of in methods.items():
        found = []
        for crowd in sets:
            assert crowd.truth is not None
            with warnings_off():
                probs = probs_of(crowd)
            found.append((accuracy(probs, crowd.truth), log_loss(probs, crowd.truth)))
        cells = [*found, tuple(np.mean(found, axis=0))]
        table.append([name, *(f"{right:.3f} / {loss:.3f}" for right, loss in cells)])
    print(f"## Real crowds\n\n{markdown(['method', *(crowd.name for crowd in sets), 'mean'], table)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=200)
    options = parser.parse_args()
    simulated(options.crowds)
    scored()


if __name__ == "__main__":
    main()
