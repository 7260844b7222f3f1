"""CIFAR-10S: how far its annotators agree with each other and with themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato import Annotations, Beliefs
from sfumato.labeling import TopTwoClamp
from sfumato.labeling.agreement import MEASURES, RetestSameClass, agreement


def test_named_classes_that_change(with_repeats: Annotations) -> None:
    """Published (Collins, Bhatt and Weller 2022): 7%; from the data 34 of 496, by the class that was named first."""
    named = [json.loads(payload)["first"] for payload in with_repeats.payload.to_pylist()]
    beliefs = Beliefs.from_votes(
        item=with_repeats.item.text(),
        annotator=with_repeats.annotator.text(),
        label=named,
        classes=with_repeats.classes,
    )
    result = agreement(beliefs, measures=[RetestSameClass()])
    assert (result.value[0], result.n_answers[0]) == (pytest.approx(1 - 34 / 496, abs=1e-15), 496)


def test_agreement_of_the_beliefs(with_repeats: Annotations) -> None:
    """34 of 496 again, but not the same 34: five pairs name another class first and share a most probable one (a tie),
    in five others the class named first is not the most probable one of both beliefs."""
    beliefs = TopTwoClamp().label(with_repeats)
    names = ("alpha-nominal", "alpha-ordinal", "alpha-distributions", "total-variation", "retest-same-class",
             "retest-total-variation")  # fmt: skip
    result = agreement(beliefs, measures=[member() for member in MEASURES if member.name in names])
    figures = dict(zip(result.measure, result.value.tolist(), strict=True))
    assert figures.pop("alpha-ordinal") < figures["alpha-distributions"]  # no order here: only that it can be had
    assert figures == {
        "alpha-nominal": pytest.approx(0.734204, abs=1e-6),
        "alpha-distributions": pytest.approx(0.801148, abs=1e-6),
        "total-variation": pytest.approx(0.292606, abs=1e-6),
        "retest-same-class": pytest.approx(1 - 34 / 496, abs=1e-12),
        "retest-total-variation": pytest.approx(0.121678, abs=1e-6),
    }
    assert result.n_items.tolist() == [1000] * 4 + [415] * 2
    assert result.n_answers.tolist() == [6200] * 4 + [496] * 2
    assert ((result.low < result.value) & (result.value < result.high)).all()
    page = (Path(__file__).parents[3] / "docs" / "agreement.md").read_text()
    for i, name in enumerate(result.measure):
        shares = ", ".join(
            f"{each[i]:.0%}" for each in (result.share_items, result.share_annotators, result.share_answers)
        )
        low, high = (
            f"{100 * each:.1f}%" if name == "retest-same-class" else f"{each:.3f}"
            for each in (result.low[i], result.high[i])
        )
        if name != "alpha-ordinal":
            assert f"(95% CI {low} to {high}) | {shares} |" in page


def test_repeats_leave_agreement_between_people_alone(with_repeats: Annotations, first_pass: Annotations) -> None:
    measures = [member() for member in MEASURES[:4]]
    pair = [agreement(TopTwoClamp().label(table), measures=measures).value for table in (with_repeats, first_pass)]
    np.testing.assert_allclose(pair[0], pair[1], atol=1e-12)


def test_nominal_alpha_agrees_with_the_peer_library(first_pass: Annotations) -> None:
    peer = pytest.importorskip("krippendorff")
    beliefs = TopTwoClamp().label(first_pass)
    counts = np.zeros((1000, 10), int)
    # Classes that tie but for rounding are a tie; a plain argmax would let the last digit decide (alpha .7344).
    first = (beliefs.probs > beliefs.probs.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
    np.add.at(counts, (beliefs.item.codes, first), 1)
    theirs = peer.alpha(value_counts=counts, level_of_measurement="nominal")
    ours = agreement(beliefs).value[0]
    assert ours == pytest.approx(theirs, abs=1e-10)
