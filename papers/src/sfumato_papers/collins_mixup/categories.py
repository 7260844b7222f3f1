"""Section 5.1.2 and Figure 5.1: which classes people see in a mixed image when all ten may be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato import Beliefs
from sfumato.aggregation import Mean
from sfumato.importers.importer import CIFAR_10
from sfumato.reporting.charts import Field, bars
from sfumato.training.mixing import blends_of
from sfumato_papers.collins_mixup.hmix import soft_labels
from sfumato_papers.finding import Estimate, Finding, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun

COEFFICIENTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Composition:
    """What people see of the two classes that were mixed, image by image: the mean over those who judged it."""

    items: tuple[str, ...]
    probs: Float[np.ndarray, "items classes"]
    generating: Float[np.ndarray, "items"]
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, items: Sequence[str], probs: Float[np.ndarray, "items classes"]) -> Composition:
        blends = blends_of(items, ())
        named = [item.split("_") for item in items]
        place = {name.title(): k for k, name in enumerate(CIFAR_10)}
        return cls(
            tuple(items),
            np.asarray(probs, np.float64),
            np.array([blends[item].share for item in items]),
            np.array([place[parts[2]] for parts in named]),
            np.array([place[parts[4]] for parts in named]),
        )

    @property
    def endpoints(self) -> Float[np.ndarray, "two items"]:
        rows = np.arange(len(self.items))
        return np.stack([self.probs[rows, self.first], self.probs[rows, self.second]])

    @property
    def elsewhere(self) -> Float[np.ndarray, "items"]:
        return np.asarray(1 - self.endpoints.sum(axis=0))

    def correlation(self) -> float:
        """Pearson's, of the coefficients of both classes with the mass on them."""
        given = np.concatenate([self.generating, 1 - self.generating])
        return float(np.corrcoef(given, self.endpoints.ravel())[0, 1])


def _by_image(beliefs: Beliefs) -> Composition:
    labels = Mean().aggregate(beliefs).labels
    return Composition.of(labels.items.to_pylist(), labels.probs)


def section_5_1_2(rerun: Rerun) -> Part:
    beliefs = soft_labels(rerun)
    found = _by_image(beliefs)
    single = Composition.of(beliefs.item.text().to_pylist(), beliefs.probs)
    off = found.elsewhere
    spread = 1.96 * float(off.std(ddof=1)) / np.sqrt(len(off))
    findings: list[Finding | Statement] = [
        Finding.exact("mixed images", "soft labels", "100", len(found.items)),
        Finding.exact("soft labels", "soft labels", None, len(beliefs)),
        Finding.exact(
            "Pearson r of mass on the endpoints and coefficient",
            "soft labels",
            "0.52",
            found.correlation(),
            places=3,
            how=f"mean label of an image, both endpoints; single labels give {single.correlation():.2f}",
        ),
        Finding.exact(
            "mass on classes that were not mixed",
            "soft labels",
            "38.3",
            100 * off.mean(),
            unit="%",
            places=1,
            how=f"mean over images of their mean label; over single labels {100 * single.elsewhere.mean():.1f}%",
        ),
        Finding.exact(
            "± of it",
            "soft labels",
            "0.6",
            100 * spread,
            unit="%",
            places=1,
            how=f"1.96 standard errors over images: {spread:.2f} as a share. Printed is a tenth of its percents",
        ),
        Statement(
            "coefficients shown",
            "are 0.25, 0.5 and 0.75",
            set(np.round(found.generating, 6).tolist()) == set(COEFFICIENTS),
            ", ".join(f"{each:g}" for each in np.unique(found.generating)),
        ),
        Statement(
            "annotators",
            "often assign probabilities to other classes than those mixed",
            float((off > 0.05).mean()) > 0.5,
            f"more than 5% of the mass on {float((off > 0.05).mean()):.0%} of images",
            how="often: on most images",
        ),
    ]
    about = (
        "The released labels of 100 mixed images, of two to four people each, who named classes as for CIFAR-10S "
        "(top two, clamp, γ = 0.1). The thesis counts 8 participants; the labels have no ids to count them by."
    )
    return Part("Section 5.1.2", "Human-inferred category composition", findings, about)


def figure_5_1(rerun: Rerun) -> Part:
    found = _by_image(soft_labels(rerun))
    horse, ship = CIFAR_10.index("horse"), CIFAR_10.index("ship")
    shown = (found.generating == 0.5) & (found.first == horse) & (found.second == ship)
    n = int(shown.sum())
    people = found.probs[shown].mean(axis=0) if n else np.zeros(len(CIFAR_10))
    rows: list[tuple[str, float, str]] = []
    for name, value in zip(CIFAR_10, people.tolist(), strict=True):
        rows += [(name, value, "people"), (name, 0.5 if name in ("horse", "ship") else 0.0, "mixup")]
    named = [found.items[int(i)] for i in np.flatnonzero(shown)]
    elsewhere = float(1 - people[horse] - people[ship]) if n else float("nan")
    findings: list[Finding | Statement] = [
        Finding("mass on classes other than horse and ship", "people", None, Estimate(elsewhere), how=", ".join(named)),
        Statement(
            "people and mixup",
            "label a half-and-half image of a horse and a ship differently",
            bool(n) and elsewhere > 0,
            f"horse {people[horse]:.2f}, ship {people[ship]:.2f}, others {elsewhere:.2f}",
        ),
    ]
    about = (
        f"{n} released label{'' if n == 1 else 's'} of a half-and-half image of these classes; the figure's "
        "values are drawn and not printed."
    )
    chart = bars(
        "figure-5-1",
        title="Half horse, half ship",
        caption="The mean label people gave, and the one mixup would.",
        data=chart_columns(("class", "mass", "series"), rows),
        of="class",
        value=Field("mass", "probability", ".2f"),
        series="series",
    )
    return Part("Figure 5.1", "An image of a horse and a ship, relabeled", findings, about, charts=(chart,))
