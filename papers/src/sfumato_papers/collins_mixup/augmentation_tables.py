"""Tables 4.1 to 4.3: networks that learn mixed images next to the others, labeled in one way or another."""

from __future__ import annotations

from sfumato_papers.collins_mixup.run_scores import CALIBRATION, CE, FGSM, values_of
from sfumato_papers.collins_mixup.tables import PublishedTable, Row, change, findings, is_lower, mean_of, said
from sfumato_papers.collins_mixup.training import AUGMENTING, DEPTHS, HARD, REGULAR, network_of, scaled_down
from sfumato_papers.finding import Statement
from sfumato_papers.paper import Part, Rerun

COLUMNS = (CE, CALIBRATION, FGSM)
REGULAR_ROW, UNIFORM, RANDOM, LINEAR = "Regular (No Aug)", "+ Uniform Labels", "+ Random Labels", "mixup Labels"
AVERAGED, SEPARATE = "Ours (Agg, λ̄_h)", "Ours (Sep, λ_h^m)"
AVERAGED_SURE, SEPARATE_SURE = "Ours (Agg, λ̄_h with ω̄)", "Ours (Sep, λ_h^m with ω_m)"
SMOOTHED, SHUFFLED = "control: mixup labels, all smoothed alike", "control: Sep with the ω of other judgments"
TARGETS = {
    UNIFORM: "uniform",
    RANDOM: "random",
    LINEAR: "generating",
    AVERAGED: "averaged",
    SEPARATE: "by-annotator",
    AVERAGED_SURE: "averaged-confidence",
    SEPARATE_SURE: "by-annotator-confidence",
    SMOOTHED: "generating-smoothed",
    SHUFFLED: "shuffled-confidence",
}
"""The target behind every row but that without mixed images."""

TABLE_4_1 = PublishedTable.of("""
                    CE         Calibration  FGSM Loss
Regular (No Aug)    2.25±0.04  0.29±0.01    14.53±0.22
+ Uniform Labels    2.56±0.05  0.29±0.01    18.54±0.31
+ Random Labels     2.66±0.05  0.3±0.01     19.75±0.31
mixup Labels        2.19±0.04  0.28±0.01    14.35±0.21
Ours (Agg, λ̄_h)     2.27±0.04  0.28±0.01    15.07±0.22
""")
# The thesis prints the spread of the last CE as 0.0'3 here, and as 0.03 in table 4.3.
TABLE_4_2 = PublishedTable.of("""
                     CE         Calibration  FGSM Loss
mixup Labels         2.19±0.04  0.28±0.01    14.35±0.21
Ours (Agg, λ̄_h)      2.27±0.04  0.28±0.01    15.07±0.22
Ours (Sep, λ_h^m)    2.01±0.03  0.27±0.01    13.33±0.19
""")
TABLE_4_3 = PublishedTable.of("""
                              CE         Calibration  FGSM Loss
mixup Labels                  2.19±0.04  0.28±0.01    14.35±0.21
Ours (Agg, λ̄_h)               2.27±0.04  0.28±0.01    15.07±0.22
Ours (Sep, λ_h^m)             2.01±0.03  0.27±0.01    13.33±0.19
Ours (Agg, λ̄_h with ω̄)        2.09±0.04  0.27±0.01    14.01±0.22
Ours (Sep, λ_h^m with ω_m)    1.83±0.03  0.24±0.01    11.81±0.19
""")

ABOUT = """\
Networks learn CIFAR-10 test pictures with their hard labels, and next to them the mixed images that the 33 participants
judged, as fixed images: only the labels of the mixed images differ. No augmentation. All labelings of a seed start from
the same weights and meet the same batches; without mixed images the weights are the same and the batches are not."""


def table_4_1(rerun: Rerun) -> Part:
    rows = _rows(rerun, LINEAR)
    regular, uniform, random, linear, ours = (rows[name] for name in (REGULAR_ROW, UNIFORM, RANDOM, LINEAR, AVERAGED))
    apart = {column: change(ours, linear, column) for column in COLUMNS}
    lower = [
        mean_of(row, column) < mean_of(other, column)
        for row in (linear, ours) for other in (uniform, random) for column in COLUMNS
    ]  # fmt: skip
    after = ""
    if mean_of(uniform, CE) < mean_of(linear, CE):
        after = (
            "Uniform labels, which are worse than mixup's in the published table, are better here: trained to be "
            "unsure about all "
            "mixed images, a small network that has learned its few items by heart is less sure of everything else."
        )
    return Part(
        "Table 4.1",
        "Averaged human labels against mixup's, over the augmenting set",
        (
            *findings(TABLE_4_1, (linear, regular, uniform, random, ours), COLUMNS),
            Statement(
                "averaged human labels and mixup's",
                "are comparable in calibration and FGSM loss",
                not any(apart[column].leaves_out_0 for column in (CALIBRATION, FGSM)),
                f"calibration {said(apart[CALIBRATION])}, FGSM loss {said(apart[FGSM])}",
            ),
            Statement(
                "either mixing policy",
                "is better than labels without meaning (uniform or random)",
                all(lower),
                f"lower in {sum(lower)} of {len(lower)} comparisons (two policies, two labels, three measures)",
                how="compared by their means, as the thesis does",
            ),
        ),
        about=ABOUT,
        scaled_down=scaled_down(rerun.scale, DEPTHS[0]),
        after=after,
    )


def table_4_2(rerun: Rerun) -> Part:
    rows = _rows(rerun, LINEAR)
    linear, ours, separate = (rows[name] for name in (LINEAR, AVERAGED, SEPARATE))
    gained = {column: change(separate, ours, column) for column in COLUMNS}
    return Part(
        "Table 4.2",
        "One annotator's coefficient an access against their mean",
        (
            *findings(TABLE_4_2, (linear, ours, separate), COLUMNS),
            Statement(
                "separate against averaged",
                "keeping annotators apart is better in every measure",
                all(is_lower(each) for each in gained.values()),
                ", ".join(f"{column} {said(each)}" for column, each in gained.items()),
            ),
        ),
        about=ABOUT,
        scaled_down=scaled_down(rerun.scale, DEPTHS[0]),
    )


def table_4_3(rerun: Rerun) -> Part:
    rows = _rows(rerun, LINEAR)
    linear, ours, separate, sure, best, smoothed, shuffled = (
        rows[name] for name in (LINEAR, AVERAGED, SEPARATE, AVERAGED_SURE, SEPARATE_SURE, SMOOTHED, SHUFFLED)
    )
    shown = (linear, ours, separate, sure, best, smoothed, shuffled)
    gained = {column: change(best, linear, column) for column in COLUMNS}
    lowest = {column: min(shown[:5], key=lambda row: mean_of(row, column)).name for column in COLUMNS}
    controlled = {column: change(best, smoothed, column) for column in COLUMNS}
    others = {column: change(best, shuffled, column) for column in COLUMNS}
    return Part(
        "Table 4.3",
        "Labels smoothed by how sure people were",
        (
            *findings(TABLE_4_3, shown, COLUMNS),
            Statement(
                "separate with confidence against mixup's labels",
                "leads to substantial gains in generalization, calibration and robustness",
                all(is_lower(each) for each in gained.values()),
                ", ".join(f"{column} {said(each)}" for column, each in gained.items()),
            ),
            Statement(
                "the best labeling",
                "is the separate one with confidence, in every measure",
                set(lowest.values()) == {SEPARATE_SURE},
                ", ".join(f"{column}: {name}" for column, name in lowest.items()),
            ),
        ),
        about=ABOUT + " Smoothing is 0.005 ** confidence. Two controls are below: mixup's labels, all smoothed by "
        "what people's confidence smooths on average, and each person's coefficient with the confidence of a judgment "
        "drawn from all others.",
        scaled_down=scaled_down(rerun.scale, DEPTHS[0]),
        after="Against mixup labels that are all smoothed alike, the separate labeling with confidence differs by "
        + ", ".join(f"{said(each)} in {column}" for column, each in controlled.items())
        + "; against itself with the confidence of other judgments by "
        + ", ".join(f"{said(each)} in {column}" for column, each in others.items())
        + ". Below 0 is better. The first says what people add to smoothing as such, the second whether it matters "
        "*which* images they were unsure about.",
    )


def _rows(rerun: Rerun, reference: str) -> dict[str, Row]:
    network, _ = network_of(rerun.scale, DEPTHS[0])
    augmented, regular = values_of(rerun, AUGMENTING), values_of(rerun, REGULAR)
    rows = {REGULAR_ROW: Row(REGULAR_ROW, {c: regular[HARD, network, c] for c in COLUMNS}, reference)}
    for name, target in TARGETS.items():
        values = {column: augmented[target, network, column] for column in COLUMNS}
        rows[name] = Row(name, values, "" if name == reference else reference)
    return rows
