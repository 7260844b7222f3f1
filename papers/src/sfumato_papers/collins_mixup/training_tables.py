"""Tables 4.1 to 5.2: networks that learn from mixed images with different labels, and mixings of every batch."""

from __future__ import annotations

from sfumato.training.corruptions import CORRUPTIONS
from sfumato_papers.collins_mixup.run_scores import (
    CALIBRATION,
    CE,
    CORRUPTION,
    FGSM,
    N_CORRUPTIONS,
    SEVERITY,
    Row,
    change,
    mean_of,
    table_findings,
    values_of,
)
from sfumato_papers.collins_mixup.training import (
    AUGMENTING,
    DEPTHS,
    ENT_WC,
    HARD,
    MATCHED,
    MIX_MAX_ENT,
    MIXUP,
    REGULAR,
    SOFT,
    network_of,
    scaled_down,
)
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.paper import Part, Rerun, Scale
from sfumato_papers.published_table import published_tables

AUGMENTED_COLUMNS = (CE, CALIBRATION, FGSM)
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

TABLES = published_tables("collins_mixup")

ABOUT_AUGMENTED = """\
Networks learn CIFAR-10 test pictures with their hard labels, and next to them the mixed images that the 33 participants
judged, as fixed images: only the labels of the mixed images differ. No augmentation. All labelings of a seed start from
the same weights and meet the same batches; without mixed images the weights are the same and the batches are not."""


def table_4_1(rerun: Rerun) -> Part:
    rows = _rows(rerun, LINEAR)
    regular, uniform, random, linear, ours = (rows[name] for name in (REGULAR_ROW, UNIFORM, RANDOM, LINEAR, AVERAGED))
    apart = {column: change(ours, linear, column) for column in AUGMENTED_COLUMNS}
    lower = [
        mean_of(row, column) < mean_of(other, column)
        for row in (linear, ours) for other in (uniform, random) for column in AUGMENTED_COLUMNS
    ]  # fmt: skip
    after = ""
    if mean_of(uniform, CE) < mean_of(linear, CE):
        after = (
            "Uniform labels, which are worse than mixup's in the published table, are better here: trained to be "
            "unsure about all mixed images, a small network that has learned its few items by heart is less sure of "
            "everything else."
        )
    findings: list[Finding | Statement] = [
        *table_findings(TABLES["Table 4.1"], (linear, regular, uniform, random, ours), AUGMENTED_COLUMNS),
        Statement(
            "averaged human labels and mixup's",
            "are comparable in calibration and FGSM loss",
            not any(apart[column].leaves_out_0 for column in (CALIBRATION, FGSM)),
            f"calibration {apart[CALIBRATION].signed()}, FGSM loss {apart[FGSM].signed()}",
        ),
        Statement(
            "either mixing policy",
            "is better than labels without meaning (uniform or random)",
            all(lower),
            f"lower in {sum(lower)} of {len(lower)} comparisons (two policies, two labels, three measures)",
            how="compared by their means, as the thesis does",
        ),
    ]
    title = "Averaged human labels against mixup's, over the augmenting set"
    return Part("Table 4.1", title, findings, ABOUT_AUGMENTED, scaled_down(rerun.scale, DEPTHS[0]), after=after)


def table_4_2(rerun: Rerun) -> Part:
    rows = _rows(rerun, LINEAR)
    linear, ours, separate = (rows[name] for name in (LINEAR, AVERAGED, SEPARATE))
    gained = {column: change(separate, ours, column) for column in AUGMENTED_COLUMNS}
    findings: list[Finding | Statement] = [
        *table_findings(TABLES["Table 4.2"], (linear, ours, separate), AUGMENTED_COLUMNS),
        Statement(
            "separate against averaged",
            "keeping annotators apart is better in every measure",
            all(each.is_below_0 for each in gained.values()),
            ", ".join(f"{column} {each.signed()}" for column, each in gained.items()),
        ),
    ]
    title = "One annotator's coefficient an access against their mean"
    return Part("Table 4.2", title, findings, ABOUT_AUGMENTED, scaled_down(rerun.scale, DEPTHS[0]))


def table_4_3(rerun: Rerun) -> Part:
    rows = _rows(rerun, LINEAR)
    linear, ours, separate, sure, best, smoothed, shuffled = (
        rows[name] for name in (LINEAR, AVERAGED, SEPARATE, AVERAGED_SURE, SEPARATE_SURE, SMOOTHED, SHUFFLED)
    )
    shown = (linear, ours, separate, sure, best, smoothed, shuffled)
    gained = {column: change(best, linear, column) for column in AUGMENTED_COLUMNS}
    lowest = {column: min(shown[:5], key=lambda row: mean_of(row, column)).name for column in AUGMENTED_COLUMNS}
    controlled = {column: change(best, smoothed, column) for column in AUGMENTED_COLUMNS}
    others = {column: change(best, shuffled, column) for column in AUGMENTED_COLUMNS}
    findings: list[Finding | Statement] = [
        *table_findings(TABLES["Table 4.3"], shown, AUGMENTED_COLUMNS),
        Statement(
            "separate with confidence against mixup's labels",
            "leads to substantial gains in generalization, calibration and robustness",
            all(each.is_below_0 for each in gained.values()),
            ", ".join(f"{column} {each.signed()}" for column, each in gained.items()),
        ),
        Statement(
            "the best labeling",
            "is the separate one with confidence, in every measure",
            set(lowest.values()) == {SEPARATE_SURE},
            ", ".join(f"{column}: {name}" for column, name in lowest.items()),
        ),
    ]
    about = (
        ABOUT_AUGMENTED + " Smoothing is 0.005 ** confidence. Two controls are below: mixup's labels, all smoothed by "
        "what people's confidence smooths on average, and each person's coefficient with the confidence of a judgment "
        "drawn from all others."
    )
    after = (
        "Against mixup labels that are all smoothed alike, the separate labeling with confidence differs by "
        + ", ".join(f"{each.signed()} in {column}" for column, each in controlled.items())
        + "; against itself with the confidence of other judgments by "
        + ", ".join(f"{each.signed()} in {column}" for column, each in others.items())
        + ". Below 0 is better. The first says what people add to smoothing as such, the second whether it matters "
        "*which* images they were unsure about."
    )
    title = "Labels smoothed by how sure people were"
    return Part("Table 4.3", title, findings, about, scaled_down(rerun.scale, DEPTHS[0]), after=after)


def _rows(rerun: Rerun, reference: str) -> dict[str, Row]:
    network, _ = network_of(rerun.scale, DEPTHS[0])
    augmented, regular = values_of(rerun, AUGMENTING), values_of(rerun, REGULAR)
    rows = {REGULAR_ROW: Row(REGULAR_ROW, {c: regular[HARD, network, c] for c in AUGMENTED_COLUMNS}, reference)}
    for name, target in TARGETS.items():
        values = {column: augmented[target, network, column] for column in AUGMENTED_COLUMNS}
        rows[name] = Row(name, values, "" if name == reference else reference)
    return rows


COLUMNS = (CE, FGSM, CALIBRATION, CORRUPTION)
PLAIN_MIXUP, MAX_ENT, OURS_ENT_WC, NO_MIXING = "mixup", "Mix-MaxEnt", "Ours (Ent-WC)", "no mixing"
GRIDS = {PLAIN_MIXUP: MIXUP, MAX_ENT: MIX_MAX_ENT, OURS_ENT_WC: ENT_WC, NO_MIXING: REGULAR}

ABOUT_MIXED = f"""\
Every batch is mixed again. mixup draws its coefficient from Beta(1, 1), the default of its code, because the thesis
names no other; Mix-MaxEnt from Beta(10, 10), with weight 1; Ent-WC from Beta(0.2, 0.2), with κ = 0.7. All mixing
methods of a seed start from the same weights and see the same batches. Corruptions are made here, of strength
{SEVERITY}, with CIFAR-10-C's constants."""


def table_5_1(rerun: Rerun) -> Part:
    rows = {name: _mixed_row(rerun, name, HARD, name, "" if name == PLAIN_MIXUP else PLAIN_MIXUP) for name in GRIDS}
    linear, max_ent, ours = rows[PLAIN_MIXUP], rows[MAX_ENT], rows[OURS_ENT_WC]
    better = {column: change(ours, linear, column) for column in (CE, FGSM)}
    worse = change(max_ent, ours, CALIBRATION)
    lowest = min((linear, max_ent, ours), key=lambda row: mean_of(row, CORRUPTION)).name
    findings: list[Finding | Statement] = [
        *table_findings(TABLES["Table 5.1"], tuple(rows.values()), COLUMNS),
        Statement(
            "Ent-WC against mixup",
            "significantly improves generalization and robustness",
            all(each.is_below_0 for each in better.values()),
            ", ".join(f"{column} {each.signed()}" for column, each in better.items()),
        ),
        Statement(
            "Ent-WC against Mix-MaxEnt",
            "is calibrated somewhat worse",
            worse.is_below_0,
            f"Mix-MaxEnt less Ent-WC in calibration: {worse.signed()}",
        ),
        Statement(
            "natural robustness",
            "is best with Mix-MaxEnt",
            lowest == MAX_ENT,
            ", ".join(f"{row.name} {mean_of(row, CORRUPTION):.3f}" for row in (linear, max_ent, ours)),
            how="mean CE over corruptions",
        ),
    ]
    title = "Variants of the mixup algorithm"
    smaller = _smaller(rerun.scale)
    about = ABOUT_MIXED + " *No mixing* is the thesis' first baseline here, for which it prints no figures."
    return Part("Table 5.1", title, findings, about, smaller)


def table_5_2(rerun: Rerun) -> Part:
    rows = []
    for name in (PLAIN_MIXUP, MAX_ENT, OURS_ENT_WC):
        hard = f"{name}, Hard"
        rows.append(_mixed_row(rerun, name, HARD, hard, "" if name == PLAIN_MIXUP else f"{PLAIN_MIXUP}, Hard"))
        rows.append(_mixed_row(rerun, name, SOFT, f"{name}, Ours (Soft)", hard))
        rows.append(_mixed_row(rerun, name, MATCHED, f"{name}, control: as much doubt, among all classes alike", hard))
    named = {row.name: row for row in rows}
    gained = {
        (name, column): change(named[f"{name}, Ours (Soft)"], named[f"{name}, Hard"], column)
        for name in (PLAIN_MIXUP, MAX_ENT, OURS_ENT_WC)
        for column in COLUMNS
    }
    steps = [(name, column) for name in (PLAIN_MIXUP, MAX_ENT) for column in (CALIBRATION, CORRUPTION)]
    lowest = {column: min(rows, key=lambda row: mean_of(row, column)).name for column in COLUMNS}
    findings: list[Finding | Statement] = [
        *table_findings(TABLES["Table 5.2"], rows, COLUMNS),
        Statement(
            "soft endpoints with mixup and Mix-MaxEnt",
            "confer sizable improvements, particularly in calibration and corruption robustness",
            all(gained[step].is_below_0 for step in steps),
            ", ".join(f"{name} {column} {gained[name, column].signed()}" for name, column in steps),
            how="in the published table mixup's calibration gets worse by it, from 0.087 to 0.131",
        ),
        Statement(
            "soft endpoints with Ent-WC",
            "yield an inconclusive change",
            not all(gained[OURS_ENT_WC, column].is_below_0 for column in COLUMNS),
            ", ".join(f"{column} {gained[OURS_ENT_WC, column].signed()}" for column in COLUMNS),
            how="holds unless soft endpoints are shown to be better in every measure",
        ),
    ]
    about = (
        ABOUT_MIXED + " Soft endpoints are CIFAR-10S's mean labels of the 1,000 items that have one, and of the other "
        "6,000 the mean of six answers simulated as appendix B.5 says, likeness of classes being read from CIFAR-10H "
        "where the thesis took word embeddings. The control has the original class with as much entropy as the soft "
        "label, spread over all classes."
    )
    title = "Soft endpoints against hard ones"
    smaller = _smaller(rerun.scale)
    after = "Lowest here: " + ", ".join(f"{column} {name}" for column, name in lowest.items()) + "."
    return Part("Table 5.2", title, findings, about, smaller, after=after)


def _mixed_row(rerun: Rerun, name: str, target: str, shown: str, reference: str) -> Row:
    network, _ = network_of(rerun.scale, DEPTHS[1])
    values = values_of(rerun, GRIDS[name])
    return Row(shown, {column: values[target, network, column] for column in COLUMNS}, reference)


def _smaller(scale: Scale) -> str:
    """Corruptions are fewer than CIFAR-10-C's at every scale."""
    trainings = scaled_down(scale, DEPTHS[1])
    n = N_CORRUPTIONS[scale]
    kinds = (
        f"{n} of the {len(CORRUPTIONS)} corruptions that are made here" if n < len(CORRUPTIONS) else f"{n} corruptions"
    )
    return "; ".join(part for part in (trainings, f"{kinds} for CIFAR-10-C's 19") if part)
