"""Bonus rules computed by hand, and what each does to honest and to cunning people."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.recruitment.bonus_rules import AgreementBonus, BrierBonus, CorrelatedAgreementBonus, PeerAnswers


def answers(*rows: tuple[int, int, tuple[float, ...]], n_people: int = 3) -> PeerAnswers:
    """Rows of item, annotator and distribution."""
    item, annotator, probs = zip(*rows, strict=True)
    return PeerAnswers(np.array(item), np.array(annotator), np.array(probs, float), np.ones(n_people, bool))


TWO_ITEMS = answers(
    (0, 0, (1.0, 0.0)),
    (0, 1, (0.5, 0.5)),
    (0, 2, (0.0, 1.0)),
    (1, 0, (1.0, 0.0)),
    (1, 1, (1.0, 0.0)),
)


def test_agreement_is_the_mass_in_common() -> None:
    # Item 0: person 0 shares 0.5 with 1 and 0 with 2, mean 0.25; person 1 shares 0.5 with each; person 2 as 0.
    # Item 1: both 1.
    assert AgreementBonus().scores(TWO_ITEMS) == pytest.approx([(0.25 + 1) / 2, (0.5 + 1) / 2, 0.25])


def test_agreement_of_votes_is_the_share_that_chose_the_same() -> None:
    votes = answers(*((0, n, (1.0, 0.0)) for n in range(3)), (0, 3, (0.0, 1.0)), n_people=4)
    assert AgreementBonus().scores(votes) == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0])


def test_brier_is_against_the_mean_of_the_others() -> None:
    # Item 0: the mean without person 0 is (0.25, 0.75): 1 - (0.75^2 + 0.75^2) / 2 = 0.4375; without person 1 it is
    # (0.5, 0.5): 1; without person 2 it is (0.75, 0.25): 0.4375. Item 1: both 1.
    assert BrierBonus().scores(TWO_ITEMS) == pytest.approx([(0.4375 + 1) / 2, 1, 0.4375])


def test_brier_is_proper_the_mean_of_the_others_is_the_best_answer() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        others = rng.dirichlet(np.ones(3), 4)
        said = [others.mean(axis=0), *rng.dirichlet(np.ones(3), 30), *np.eye(3)]
        scores = [
            BrierBonus().scores(
                answers((0, 0, tuple(own)), *((0, n + 1, tuple(p)) for n, p in enumerate(others)), n_people=5)
            )[0]
            for own in said
        ]
        assert scores[0] == pytest.approx(1)
        assert max(scores[1:]) < 1


def test_agreement_is_not_proper_hiding_doubt_pays() -> None:
    """Two of three others say cat, one says dog: expecting that, saying only cat gains. Brier penalizes it."""
    votes = [(0, 1, (1.0, 0.0)), (0, 2, (1.0, 0.0)), (0, 3, (0.0, 1.0))]
    honest = answers((0, 0, (2 / 3, 1 / 3)), *votes, n_people=4)
    cunning = answers((0, 0, (1.0, 0.0)), *votes, n_people=4)
    assert AgreementBonus().scores(cunning)[0] > AgreementBonus().scores(honest)[0]
    assert BrierBonus().scores(cunning)[0] < BrierBonus().scores(honest)[0]


def test_correlated_agreement_of_who_always_agree() -> None:
    # Four people who say the same of each of three items: cat, cat, dog. For anybody, the others' pairs say cat with
    # cat on 2/3 of items and dog with dog on 1/3: more than 4/9 and 1/9, and cat with dog never: S is the identity.
    # Same item 1; different items: of 6 ordered pairs 2 agree, 1/3. (1 - 1/3) / (1 - 1/3) = 1.
    said = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    everybody = answers(*((t, n, p) for n in range(4) for t, p in enumerate(said)), n_people=4)
    assert CorrelatedAgreementBonus().scores(everybody) == pytest.approx([1, 1, 1, 1])


def test_correlated_agreement_with_one_who_errs_once() -> None:
    # As above, but person 3 says cat, dog, dog. Of person 3 the others are as above, S the identity: same item 2/3;
    # different items: (cat, dog, dog) against (cat, cat, dog): ordered pairs t != u that agree: x0 with q1; x1 with q2;
    # x2 with none (q0, q1 are cat): 2 of 6. (2/3 - 1/3) / (1 - 1/3) = 1/2.
    said = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    erring = [(1.0, 0.0), (0.0, 1.0), (0.0, 1.0)]
    rows = [(t, n, p) for n in range(3) for t, p in enumerate(said)] + [(t, 3, p) for t, p in enumerate(erring)]
    scores = CorrelatedAgreementBonus().scores(answers(*rows, n_people=4))
    assert scores[3] == pytest.approx(0.5)
    assert (scores[:3] > 0.5).all()


def test_correlated_agreement_learns_which_classes_fit() -> None:
    """Half of the people call every cat a lynx, in every item: it tells as much, and earns as much."""
    cat, lynx, dog = np.eye(3)
    rows = []
    for t in range(8):
        for n in range(6):
            own = (cat if n % 2 else lynx) if t % 2 else dog
            rows.append((t, n, tuple(own)))
    everybody = answers(*rows, n_people=6)
    assert CorrelatedAgreementBonus().scores(everybody) == pytest.approx([1] * 6)
    # On four items all agree, on the others two of five.
    assert AgreementBonus().scores(everybody) == pytest.approx([(1 + 2 / 5) / 2] * 6)


def test_correlated_agreement_pays_nothing_for_the_commonest_class() -> None:
    """Nine of ten items show a cat: always saying cat agrees on nine, without information."""
    said = [(1.0, 0.0)] * 9 + [(0.0, 1.0)]
    rows = [(t, n, p) for n in range(4) for t, p in enumerate(said)] + [(t, 4, (1.0, 0.0)) for t in range(10)]
    everybody = answers(*rows, n_people=5)
    assert CorrelatedAgreementBonus().scores(everybody)[4] == pytest.approx(0, abs=1e-12)
    assert AgreementBonus().scores(everybody)[4] == pytest.approx(0.9)


def test_correlated_agreement_looks_only_at_what_stands_first() -> None:
    sure = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    unsure = [(0.6, 0.4), (0.7, 0.3), (0.4, 0.6)]
    for said in (sure, unsure):
        rows = [(t, n, p) for n in range(3) for t, p in enumerate(sure)] + [(t, 3, p) for t, p in enumerate(said)]
        assert CorrelatedAgreementBonus().scores(answers(*rows, n_people=4))[3] == pytest.approx(1)


def test_where_all_say_the_same_of_everything_nobody_has_a_score() -> None:
    rows = [(t, n, (1.0, 0.0)) for n in range(3) for t in range(4)]
    assert np.isnan(CorrelatedAgreementBonus().scores(answers(*rows))).all()


def test_two_people_alone_are_held_to_plain_agreement() -> None:
    """Nobody else's answers say which classes fit: agreeing is all there is."""
    rows = [(t, n, p) for n in range(2) for t, p in enumerate([(1.0, 0.0), (0.0, 1.0)])]
    assert CorrelatedAgreementBonus().scores(answers(*rows, n_people=2)) == pytest.approx([1, 1])
