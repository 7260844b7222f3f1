"""Thesis, appendix B.5: the simulator of soft labels, fitted to the first-pass answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from sfumato.importers.importer import CIFAR_10
from sfumato.labeling import ClassSimilarity, TopTwoClamp
from sfumato.labeling.simulated_top_two import AnswerStatistics, SimulatedTopTwo
from sfumato.labeling.top_two_arrays import TopTwoArrays, read_top_two
from sfumato.labeling.top_two_labelers import clamp
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, bars
from sfumato.tables.doubt import entropy
from sfumato_papers.collins_2022.answers import Cifar10sAnswers, first_pass
from sfumato_papers.collins_2022.elicitation import FOUND, counted
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun

N_SIMULATED, N_PARTS = 200_000, 20
"""How many labels are drawn, and in how many parts, whose means say how sure the whole is."""
HIGH, LOW = "high entropy", "low entropy"


def appendix_b_5(rerun: Rerun) -> Part:
    """What the simulator is fitted to, and whether its labels are as soft as people's."""
    answers = first_pass(rerun)
    groups = {HIGH: answers.is_doubtful, LOW: ~answers.is_doubtful}
    fitted = {name: AnswerStatistics.fitted_to(_arrays(answers, rows)) for name, rows in groups.items()}
    n_alternatives = np.array([10 - len({*answer.impossible, answer.first}) for answer in answers.each])
    real = entropy(TopTwoClamp(as_released=True).label(answers.table, CIFAR_10).probs)[answers.is_doubtful].mean()
    drawn = _simulated(fitted)
    softness = Estimate.over_seeds([float(entropy(part).mean()) for part in np.array_split(drawn.labels, N_PARTS)])
    typed = [float(answer.first_percent or 0) for answer in answers.each]
    dependence = float(np.corrcoef(typed, n_alternatives)[0, 1])
    findings = [_found("answers fitted to", name, float(rows.sum()), places=0) for name, rows in groups.items()]
    for name, statistics in fitted.items():
        for which in ("first", "second"):
            for symbol, value in zip(("alpha", "beta"), getattr(statistics, which), strict=True):
                findings.append(_found(f"Beta of the {which} percent, {symbol}", name, value))
        findings += [
            _found(f"answers with {k} alternatives left possible", name, float(n), places=0)
            for k, n in enumerate(statistics.n_alternatives)
        ]
    return Part(
        "Thesis, appendix B.5",
        "Simulating label construction",
        (
            *findings,
            counted("mean entropy of people's labels, high entropy images", None, real, places=3),
            Finding("mean entropy of simulated labels", FOUND, None, softness, how=f"{N_SIMULATED:,} draws"),
            counted(
                "draws whose two percents exceed 100",
                None,
                100 * drawn.above_100,
                unit="%",
                how="of those with a second class",
            ),
            counted(
                "correlation of first percent and number of alternatives",
                None,
                dependence,
                places=2,
                how="the simulator draws them independently",
            ),
            Statement(
                "as soft as people",
                "simulated labels approximate those elicited (mean entropy within a tenth)",
                holds=bool(abs(softness.value / real - 1) < 0.1),
                ours=f"{softness.value:.3f} against {real:.3f} nats",
            ),
        ),
        about="Collins (2022), MPhil thesis. A Beta for the first percent, one for the second, a histogram of how many "
        "alternatives stay possible, apart for images of high and low entropy under CIFAR-10H; the T2, Clamp rule "
        "makes the label. The thesis prints no parameters. Betas are fitted by moments: by maximum likelihood alpha "
        "moves from 12 to 3 with where values of 100% are clipped. A label's entropy does not depend on which classes "
        "are alike, so all are taken to be here.",
        charts=(_alternatives(fitted),),
    )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Simulated labels of images of high entropy, and how often their percents were too much."""

    labels: Float[np.ndarray, "answers classes"]
    above_100: float


def _simulated(fitted: dict[str, AnswerStatistics]) -> _Drawn:
    alike = ClassSimilarity(CIFAR_10, np.ones((len(CIFAR_10), len(CIFAR_10))))
    simulator = SimulatedTopTwo(similarity=alike, doubtful=fitted[HIGH], clear=fitted[LOW])
    rng, classes = np.random.default_rng(7), np.arange(N_SIMULATED) % len(CIFAR_10)
    answers = simulator.simulate_answers(classes, np.ones(N_SIMULATED, bool), CIFAR_10, rng)
    given = ~np.isnan(answers.second_percent)
    above = (answers.first_percent + answers.second_percent)[given] > 100
    return _Drawn(clamp(answers, simulator.gamma), float(above.mean()))


def _arrays(answers: Cifar10sAnswers, rows: Bool[np.ndarray, "answers"]) -> TopTwoArrays:
    index = {name: k for k, name in enumerate(CIFAR_10)}
    return read_top_two([answers.each[i] for i in np.flatnonzero(rows)], index)


def _found(row: str, column: str, value: float, *, places: int = 3) -> Finding:
    return Finding(row, column, None, Estimate(float(value)), places=places)


def _alternatives(fitted: dict[str, AnswerStatistics]) -> Chart:
    shares = {name: np.array(each.n_alternatives) / sum(each.n_alternatives) for name, each in fitted.items()}
    n = len(CIFAR_10)
    return bars(
        "appendix-b-5-alternatives",
        title="How many alternatives annotators leave possible",
        caption="Share of first-pass answers, for images of high (>= 0.25 nats) and low (<= 0.1) CIFAR-10H entropy.",
        data={
            "alternatives": [str(k) for _ in shares for k in range(n)],
            "images": [name for name in shares for _ in range(n)],
            "share": np.concatenate(list(shares.values())),
        },
        of="alternatives",
        value=Field("share", "share of answers", ".0%"),
        series="images",
    )
