"""Aggregators beside the calculation done by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import beta

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import (
    Bayes,
    DawidSkene,
    LogPool,
    Majority,
    Mean,
    MixturePool,
    ReliabilityPool,
    Wawa,
    calibrate,
    intervals,
)
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.aggregation.empirical_bayes import as_fractional_votes, votes_per_belief
from sfumato.tables.errors import SfumatoWarning

TWO = ("cat", "dog")


def votes(**answers: str) -> Beliefs:
    """One keyword an item: one letter an annotator a, b, c ..., `c` for cat and `d` for dog."""
    rows = [(item, "abcdefgh"[w], "cd".index(said)) for item, text in answers.items() for w, said in enumerate(text)]
    items, people, chosen = zip(*rows, strict=True)
    return Beliefs.from_numpy(items, people, np.array(chosen), TWO)


def test_mean() -> None:
    assert Mean().aggregate(votes(x="ccd", y="d")).labels.probs.tolist() == [[2 / 3, 1 / 3], [0, 1]]
    soft = Beliefs.from_numpy(["x", "x"], ["a", "b"], [[0.8, 0.2], [0.5, 0.5]], TWO)
    result = Mean().aggregate(soft)
    np.testing.assert_allclose(result.labels.probs, [[0.65, 0.35]], rtol=1e-15)
    # a and b are each .15 from the mean
    np.testing.assert_allclose(result.annotators.measures["distance"], [0.15, 0.15], rtol=1e-12)


def test_bayes_says_what_it_assumes_if_no_item_has_two_votes() -> None:
    letters = dict(zip("uvwxyz", "cdcdcd", strict=True))
    with pytest.warns(SfumatoWarning, match=r"agree with probability 0\.77.*second votes on 50 to 100 items"):
        labels = Bayes().aggregate(votes(**letters)).labels
    # Two votes agree with 0.77 under a Dirichlet of mass m around (1/2, 1/2): (1 + m/2) / (1 + m) = 0.77, m = 23/27.
    np.testing.assert_allclose(labels.probs[0], [(1 + 23 / 54) / (50 / 27), (23 / 54) / (50 / 27)])
    # If nearly all votes are for one class, votes agree more often than that by chance.
    many = {f"i{i}": "c" for i in range(50)}
    with pytest.warns(SfumatoWarning, match=r"agree with probability 0\.99"):
        Bayes().aggregate(votes(**many))
    Bayes().aggregate(votes(**letters, t="cd"))


def test_majority_shares_ties() -> None:
    result = Majority().aggregate(votes(x="ccd", y="cd", z="dcd"))
    assert result.labels.probs.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    # a: right on x, half right on y, right on z; b: right, half, wrong; c: wrong and right
    np.testing.assert_allclose(result.annotators.measures["agreement"], [2.5 / 3, 1.5 / 3, 0.5])


def test_log_pool() -> None:
    """With a floor of .1, .8 is .9 x .8 + .05 = .77 and .5 stays: odds sqrt(.77 / .23)."""
    soft = Beliefs.from_numpy(["x", "x"], ["a", "b"], [[0.8, 0.2], [0.5, 0.5]], TWO)
    odds = np.sqrt(0.77 / 0.23)
    np.testing.assert_allclose(LogPool(floor=0.1).aggregate(soft).labels.probs[0, 0], odds / (1 + odds), rtol=1e-14)
    np.testing.assert_allclose(LogPool(extremise=2.0, floor=0.1).aggregate(soft).labels.probs[0, 0], 0.77, rtol=1e-14)


def test_wawa() -> None:
    """The majority says x cat, y dog, z cat: a agrees always, b and c twice of three.

    So x is cat by 1 + 2/3 of 1 + 2/3 + 2/3 = 5/7; y the other way round.
    """
    result = Wawa().aggregate(votes(x="ccd", y="dcd", z="ccc"))
    np.testing.assert_allclose(result.annotators.measures["agreement"], [1, 2 / 3, 2 / 3])
    np.testing.assert_allclose(result.labels.probs[:, 0], [5 / 7, 2 / 7, 1], rtol=1e-14)


def test_reliability_by_hand() -> None:
    """Everybody says cat of x and z, and all but c say dog of y and w: c always says cat.

    The others of a say cat of x and z, direction (1, 0); of y and w two say dog and c cat, direction (1, 2) / sqrt(5).
    The others of c say cat or dog. Over all 16 answers the mean direction is cat (8 + 6 / sqrt(5)) / 16 and dog
    (2 + 12 / sqrt(5)) / 16: what is expected by chance.
    """
    found = ReliabilityPool(rounds=1).aggregate(votes(x="cccc", y="ddcd", z="cccc", w="ddcd"))
    cat, dog = (8 + 6 / np.sqrt(5)) / 16, (2 + 12 / np.sqrt(5)) / 16
    # a: agreement 1, 1, 2/sqrt(5), 2/sqrt(5), by chance cat, cat, dog, dog
    by_chance = 4 - 2 * cat - 2 * dog
    expected = (2 + 4 / np.sqrt(5) - 2 * cat - 2 * dog) / by_chance
    # c: agreement 1, 0, 1, 0, by chance cat each time
    of_c = (2 - 4 * cat) / (4 - 4 * cat)
    np.testing.assert_allclose(
        found.annotators.measures["reliability"], [expected, expected, of_c, expected], rtol=1e-12
    )
    assert found.annotators.measures["weight"].argmin() == 2


def reliability_crowd(kind: str, seed: int) -> tuple[Beliefs, np.ndarray]:
    """40 annotators with 30 beliefs each about 120 items of three classes: the last 12 are `random`, answer `always`
    the same, or are a `camp` that sees every third item differently; and whether an annotator is one of them."""
    rng = np.random.default_rng(seed)
    n, n_items = 40, 120
    who, item = np.repeat(np.arange(n), 30), np.concatenate([rng.choice(n_items, 30, False) for _ in range(n)])
    seen = rng.integers(0, 3, n_items)[item]
    few = np.arange(n) >= 28
    if kind == "camp":
        seen = np.where(few[who] & (item % 3 == 0), (seen + 1) % 3, seen)
    center = np.eye(3)[seen] * 4 + 0.5
    if kind != "camp":
        center[few[who]] = 0.7 if kind == "random" else np.array([0.2, 0.2, 5.0])
    belief = np.array([rng.dirichlet(each) for each in center])
    people = np.array([f"{each:02}" for each in who])
    return Beliefs.from_numpy([f"{each:03}" for each in item], people, belief, ("x", "y", "z")), few


@pytest.mark.parametrize("kind", ["random", "always"])
def test_careless_annotators_lose_their_weight(kind: str) -> None:
    beliefs, few = reliability_crowd(kind, 1)
    found = ReliabilityPool().aggregate(beliefs).annotators
    order = np.argsort(found.annotators.to_pylist())
    weight = found.measures["weight"][order]
    assert weight[few].max() < 0.15 * weight[~few].min()
    assert abs(found.measures["reliability"][order][few].mean()) < 0.15


def test_a_camp_keeps_its_weight() -> None:
    beliefs, few = reliability_crowd("camp", 2)
    found = ReliabilityPool().aggregate(beliefs)
    reliability = found.annotators.measures["reliability"][np.argsort(found.annotators.annotators.to_pylist())]
    assert reliability[few].max() < reliability[~few].min()
    np.testing.assert_allclose(found.labels.probs, Mean().aggregate(beliefs).labels.probs, atol=0.01)


DS_VOTES = {"x": "cc", "y": "cd", "z": "dc"}


def test_dawid_skene_one_step() -> None:
    """The shares of votes are x: 1, 0; y: .5, .5; z: .5, .5, so cats are 2/3 of the items.

    a says cat of x and y: of 2 cats 1.5, of 1 dog .5; Pi_a[cat] = .75, .25 and Pi_a[dog] = .5, .5. b is alike.
    x: cat 2/3 x .75 x .75 = 9/24, dog 1/3 x .5 x .5 = 2/24, so 9/11. y: 3/24 against 2/24, so 3/5; z is alike.
    """
    result = DawidSkene(prior=0.0, iterations=1, tolerance=0.0).aggregate(votes(**DS_VOTES))
    np.testing.assert_allclose(result.labels.probs[:, 0], [9 / 11, 3 / 5, 3 / 5], rtol=1e-9)
    np.testing.assert_allclose(result.objective, [np.log(11 / 24) + 2 * np.log(5 / 24)], rtol=1e-9)


def test_dawid_skene_one_step_with_prior() -> None:
    """Both together say cat of 1.5 of 2 cats and of .5 of 1 dog (a hundredth added to each): the ordinary confusion.

    Two such answers are added to each class of each annotator: 1.5 + 2 x 1.51/2.02 of 2 + 2 cats; dogs stay .5, .5.
    """
    result = DawidSkene(prior=2.0, iterations=1, tolerance=0.0, temperature=1.0).aggregate(votes(**DS_VOTES))
    right = (1.5 + 2 * 1.51 / 2.02) / 4
    x = np.array([2 / 3 * right**2, 1 / 3 * 0.25])
    y = np.array([2 / 3 * right * (1 - right), 1 / 3 * 0.25])
    expected = [x[0] / x.sum(), y[0] / y.sum(), y[0] / y.sum()]
    np.testing.assert_allclose(result.labels.probs[:, 0], expected, rtol=1e-12)
    ordinary = 1.51 / 2.02
    penalty = 2 * 2 * (ordinary * np.log(right) + (1 - ordinary) * np.log(1 - right) + np.log(0.5))
    np.testing.assert_allclose(result.objective, [np.log(x.sum()) + 2 * np.log(y.sum()) + penalty], rtol=1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_virtual_evidence(iterations: int) -> None:
    """T_i(c) ~ rho_c prod_w sum_l q_iw(l) Pi_w[c, l], against NumPy over a dense items x annotators x classes array."""
    q = np.random.default_rng(1).dirichlet(np.full(3, 0.4), (20, 4))
    beliefs = Beliefs.from_numpy(
        [f"i{i}" for i in range(20) for _ in range(4)], list("abcd") * 20, q.reshape(-1, 3), ("cat", "dog", "fox")
    )
    t = q.mean(axis=1)
    expected = np.einsum("ic,iwl->wcl", t, q)
    for _ in range(iterations):
        confusion = expected / expected.sum(axis=2, keepdims=True)
        evidence = np.einsum("iwl,wcl->iwc", q, confusion)
        joint = t.mean(axis=0) * evidence.prod(axis=1)
        t = joint / joint.sum(axis=1, keepdims=True)
        expected = np.einsum("ic,iwl,wcl,iwc->wcl", t, q, confusion, 1 / evidence)
    result = DawidSkene(prior=0.0, iterations=iterations, tolerance=0.0).aggregate(beliefs)
    np.testing.assert_allclose(result.labels.probs, t, rtol=0, atol=1e-8)
    np.testing.assert_allclose(result.objective[-1], np.log(joint.sum(axis=1)).sum(), rtol=1e-9)
    assert result.annotators.confusion is not None
    learnt = expected / expected.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(result.annotators.confusion, learnt, rtol=0, atol=1e-8)


def test_virtual_and_fractional_evidence_differ() -> None:
    q = np.random.default_rng(2).dirichlet(np.full(2, 0.6), 30)
    beliefs = Beliefs.from_numpy([f"i{i // 3}" for i in range(30)], list("abc") * 10, q, TWO)
    one, other = (
        DawidSkene(evidence=kind, iterations=9, tolerance=0.0).aggregate(beliefs).labels.probs
        for kind in ("virtual", "fractional")
    )
    assert np.abs(one - other).max() > 0.01


def test_posterior_of_one_dirichlet_is_a_beta() -> None:
    """Beta(2, 3) after 4 cats and 1 dog is Beta(6, 4): mean .6."""
    posterior = DirichletMixture(np.array([1.0]), np.array([[2.0, 3.0]])).given(np.array([[4.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(posterior.mean(), [[0.6, 0.4], [0.4, 0.6]], rtol=1e-12)
    for level in (0.05, 0.5, 0.95):
        expected = [
            [beta.ppf(level, 6, 4), beta.ppf(level, 4, 6)],
            [beta.ppf(level, 2, 3), beta.ppf(level, 3, 2)],
        ]
        np.testing.assert_allclose(posterior.quantiles(level), expected, rtol=0, atol=1e-8)


def test_expected_error_by_drawing() -> None:
    """Two components, three classes: the posterior drawn from 400,000 times."""
    prior = DirichletMixture(np.array([0.3, 0.7]), np.array([[5.0, 1.0, 1.0], [1.0, 1.0, 2.0]]))
    posterior = prior.given(np.array([[2.0, 0.0, 1.0]]))
    rng = np.random.default_rng(3)
    component = rng.random(400_000) < posterior.weights[0, 0]
    one, other = (rng.dirichlet(alpha + posterior.counts[0], 400_000) for alpha in prior.alpha)
    drawn = np.where(component[:, None], one, other)
    np.testing.assert_allclose(posterior.mean()[0], drawn.mean(axis=0), atol=2e-3)
    kl = (drawn * np.log(drawn / posterior.mean())).sum(axis=1)
    np.testing.assert_allclose(posterior.expected_kl()[0], kl.mean(), rtol=0.01)
    np.testing.assert_allclose(posterior.quantiles(0.9)[0], np.quantile(drawn, 0.9, axis=0), atol=3e-3)


def test_a_doubled_log_odds_is_a_temperature_of_2() -> None:
    """Classes drawn from p, posteriors set to p squared: the temperature that undoes it is 2."""
    rng = np.random.default_rng(4)
    log_p = rng.normal(0, 1.5, (4000, 3))
    p = softmax(log_p, axis=1)
    truth = (p.cumsum(axis=1) > rng.random(4000)[:, None]).argmax(axis=1)
    items = [f"i{i}" for i in range(4000)]
    result = Majority().aggregate(Beliefs.from_numpy(items, ["a"] * 4000, truth, ("cat", "dog", "fox")))
    too_sure = replace(result, labels=replace(result.labels, probs=softmax(2 * log_p, axis=1)))
    gold = SoftLabels.one_hot(items, [("cat", "dog", "fox")[k] for k in truth], ("cat", "dog", "fox"))
    honest = calibrate(too_sure, gold)
    np.testing.assert_allclose(honest.labels.probs, p, atol=0.02)
    assert float(honest.notes[-1].rsplit(" ", 1)[-1]) == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize("evidence", ["virtual", "fractional"])
def test_held_out_calibration_reads_a_belief_as_the_fit_did(evidence: str) -> None:
    """Sure beliefs are votes: they give the same temperature as the votes themselves."""
    rng = np.random.default_rng(5)
    truth = rng.integers(2, size=200)
    said = np.where(rng.random((200, 4)) < 0.7, truth[:, None], 1 - truth[:, None]).ravel()
    items, people = [f"i{i}" for i in range(200) for _ in range(4)], list("abcd") * 200
    hard = calibrate(DawidSkene().aggregate(Beliefs.from_numpy(items, people, said, TWO)))
    nearly = np.eye(2)[said] * (1 - 2e-12) + 1e-12
    soft = calibrate(DawidSkene(evidence=evidence).aggregate(Beliefs.from_numpy(items, people, nearly, TWO)))
    np.testing.assert_allclose(soft.labels.probs, hard.labels.probs, atol=1e-3)


def test_smallest_sets_by_hand() -> None:
    """.6 + .3 reaches .9, and the third class is outside; .95 alone reaches it."""
    result = Majority().aggregate(Beliefs.from_numpy(["x", "y"], ["a", "a"], np.array([0, 1]), ("cat", "dog", "fox")))
    labels = replace(result.labels, probs=np.array([[0.6, 0.3, 0.1], [0.03, 0.95, 0.02]]))
    table = intervals(replace(result, labels=labels), 0.9)
    assert table.high.tolist() == [[1, 1, 0], [0, 1, 0]]
    assert table.low.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_the_temperature_of_the_mixture_is_bounded() -> None:
    """Random answers: the posterior predicts nobody, and without a limit its best temperature is infinite."""
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 3, 200)
    people = [f"a{k % 5}" for k in range(200)]
    beliefs = Beliefs.from_numpy([f"i{k // 5}" for k in range(200)], people, answers, ("x", "y", "z"))
    found = MixturePool().aggregate(beliefs).model
    assert 1 <= found.temperature <= 5
    assert 0 < found.weight < 1


@pytest.mark.parametrize("concentration", [1.0, 4.0])
def test_a_belief_is_worth_as_many_votes_as_its_variance_says(concentration: float) -> None:
    """Beliefs from Dirichlet(a p): their variance is p (1 - p) / (a + 1), that of a vote p (1 - p)."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 2000)
    item, who = np.repeat(np.arange(2000), 5), np.tile(np.arange(5), 2000)
    belief = rng.standard_gamma(np.maximum(concentration * p[item], 1e-6)) + 1e-300
    belief /= belief.sum(axis=1, keepdims=True)
    names = item.astype(str).tolist(), who.astype(str).tolist()
    answers = AnswerMatrix.of(Beliefs.from_numpy(*names, belief, ["a", "b", "c"]))
    assert votes_per_belief(answers) == pytest.approx(concentration + 1, rel=0.05)
    assert as_fractional_votes(answers).vote_counts().sum() == pytest.approx(len(item) * votes_per_belief(answers))
    votes = AnswerMatrix.of(Beliefs.from_numpy(*names, belief.argmax(axis=1), ["a", "b", "c"]))
    assert votes_per_belief(votes) == pytest.approx(1)
    assert as_fractional_votes(votes) is votes
