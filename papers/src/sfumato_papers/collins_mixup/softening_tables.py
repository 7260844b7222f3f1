"""Tables 5.1 and 5.2: every batch is mixed, and networks are led to doubt what lies between two images."""

from __future__ import annotations

from sfumato.training.corruptions import CORRUPTIONS
from sfumato_papers.collins_mixup.run_scores import (
    CALIBRATION,
    CE,
    CORRUPTION,
    FGSM,
    N_CORRUPTIONS,
    SEVERITY,
    values_of,
)
from sfumato_papers.collins_mixup.tables import PublishedTable, Row, change, findings, is_lower, mean_of, said
from sfumato_papers.collins_mixup.training import (
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
from sfumato_papers.finding import Statement
from sfumato_papers.paper import Part, Rerun, Scale

COLUMNS = (CE, FGSM, CALIBRATION, CORRUPTION)
LINEAR, MAX_ENT, OURS, NO_MIXING = "mixup", "Mix-MaxEnt", "Ours (Ent-WC)", "no mixing"
GRIDS = {LINEAR: MIXUP, MAX_ENT: MIX_MAX_ENT, OURS: ENT_WC, NO_MIXING: REGULAR}

TABLE_5_1 = PublishedTable.of("""
                 CE          FGSM Loss    Calibration  Corruption CE
mixup            1.252±0.02  10.547±0.26  0.087±0.01   1.606±0.03
Mix-MaxEnt       1.070±0.04  6.436±0.59   0.065±0.01   1.340±0.03
Ours (Ent-WC)    1.054±0.01  3.314±0.05   0.102±0.0    1.346±0.03
""")
TABLE_5_2 = PublishedTable.of("""
                              CE          FGSM Loss    Calibration  Corruption CE
mixup, Hard                   1.252±0.02  10.547±0.26  0.087±0.01   1.606±0.03
mixup, Ours (Soft)            1.18±0.02   8.893±0.24   0.131±0.01   1.48±0.03
Mix-MaxEnt, Hard              1.07±0.04   6.436±0.59   0.065±0.01   1.34±0.03
Mix-MaxEnt, Ours (Soft)       1.019±0.02  6.013±0.59   0.054±0.01   1.252±0.02
Ours (Ent-WC), Hard           1.054±0.01  3.314±0.05   0.102±0.0    1.346±0.03
Ours (Ent-WC), Ours (Soft)    1.027±0.02  3.399±0.06   0.107±0.01   1.30±0.02
""")

ABOUT = f"""\
Every batch is mixed again. mixup draws its coefficient from Beta(1, 1), the default of its code, because the thesis
names no other; Mix-MaxEnt from Beta(10, 10), with weight 1; Ent-WC from Beta(0.2, 0.2), with κ = 0.7. All mixing
methods of a seed start from the same weights and see the same batches. Corruptions are made here, of strength
{SEVERITY}, with CIFAR-10-C's constants."""


def table_5_1(rerun: Rerun) -> Part:
    rows = {name: _row(rerun, name, HARD, name, "" if name == LINEAR else LINEAR) for name in GRIDS}
    linear, max_ent, ours = rows[LINEAR], rows[MAX_ENT], rows[OURS]
    better = {column: change(ours, linear, column) for column in (CE, FGSM)}
    worse = change(max_ent, ours, CALIBRATION)
    lowest = min((linear, max_ent, ours), key=lambda row: mean_of(row, CORRUPTION)).name
    return Part(
        "Table 5.1",
        "Variants of the mixup algorithm",
        (
            *findings(TABLE_5_1, tuple(rows.values()), COLUMNS),
            Statement(
                "Ent-WC against mixup",
                "significantly improves generalization and robustness",
                all(is_lower(each) for each in better.values()),
                ", ".join(f"{column} {said(each)}" for column, each in better.items()),
            ),
            Statement(
                "Ent-WC against Mix-MaxEnt",
                "is calibrated somewhat worse",
                is_lower(worse),
                f"Mix-MaxEnt less Ent-WC in calibration: {said(worse)}",
            ),
            Statement(
                "natural robustness",
                "is best with Mix-MaxEnt",
                lowest == MAX_ENT,
                ", ".join(f"{row.name} {mean_of(row, CORRUPTION):.3f}" for row in (linear, max_ent, ours)),
                how="mean CE over corruptions",
            ),
        ),
        about=ABOUT + " *No mixing* is the thesis' first baseline here, for which it prints no figures.",
        scaled_down=_smaller(rerun.scale),
    )


def table_5_2(rerun: Rerun) -> Part:
    rows = []
    for name in (LINEAR, MAX_ENT, OURS):
        hard = f"{name}, Hard"
        rows.append(_row(rerun, name, HARD, hard, "" if name == LINEAR else f"{LINEAR}, Hard"))
        rows.append(_row(rerun, name, SOFT, f"{name}, Ours (Soft)", hard))
        rows.append(_row(rerun, name, MATCHED, f"{name}, control: as much doubt, among all classes alike", hard))
    named = {row.name: row for row in rows}
    gained = {
        (name, column): change(named[f"{name}, Ours (Soft)"], named[f"{name}, Hard"], column)
        for name in (LINEAR, MAX_ENT, OURS)
        for column in COLUMNS
    }
    steps = [(name, column) for name in (LINEAR, MAX_ENT) for column in (CALIBRATION, CORRUPTION)]
    lowest = {column: min(rows, key=lambda row: mean_of(row, column)).name for column in COLUMNS}
    return Part(
        "Table 5.2",
        "Soft endpoints against hard ones",
        (
            *findings(TABLE_5_2, rows, COLUMNS),
            Statement(
                "soft endpoints with mixup and Mix-MaxEnt",
                "confer sizable improvements, particularly in calibration and corruption robustness",
                all(is_lower(gained[step]) for step in steps),
                ", ".join(f"{name} {column} {said(gained[name, column])}" for name, column in steps),
                how="in the published table mixup's calibration gets worse by it, from 0.087 to 0.131",
            ),
            Statement(
                "soft endpoints with Ent-WC",
                "yield an inconclusive change",
                not all(is_lower(gained[OURS, column]) for column in COLUMNS),
                ", ".join(f"{column} {said(gained[OURS, column])}" for column in COLUMNS),
                how="holds unless soft endpoints are shown to be better in every measure",
            ),
        ),
        about=ABOUT + " Soft endpoints are CIFAR-10S's mean labels of the 1,000 items that have one, and of the other "
        "6,000 the mean of six answers simulated as appendix B.5 says, likeness of classes being read from CIFAR-10H "
        "where the thesis took word embeddings. The control has the original class with as much entropy as the soft "
        "label, spread over all classes.",
        scaled_down=_smaller(rerun.scale),
        after="Lowest here: " + ", ".join(f"{column} {name}" for column, name in lowest.items()) + ".",
    )


def _row(rerun: Rerun, name: str, target: str, shown: str, reference: str) -> Row:
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
