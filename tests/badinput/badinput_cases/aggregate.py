"""Crowds, weights and gold labels that `sfumato aggregate` cannot take, or must take with a word."""

from __future__ import annotations

from badinput_cases.building import beliefs, parquet
from badinput_cases.case import accepted, refused, warned

HEAD = "item,annotator,p:cat,p:dog"
SAID = {"c": "1,0", "d": "0,1"}


def _votes(*rows: str) -> dict[str, bytes]:
    """Hard votes, `item annotator c-or-d` each."""
    lines = [f"{item},{who},{SAID[said]}" for item, who, said in (row.split() for row in rows)]
    return {"bad.csv": "".join(f"{line}\n" for line in (HEAD, *lines)).encode()}


def _by(name: str, *options: str) -> tuple[str, ...]:
    return ("aggregate", "bad.csv", "--by", name, *options, "-o", "out.parquet")


FEW = _votes("x a c", "x b d", "y a c", "y b c")
WEIGHTS = ("--weights", "weights.csv")
GOLD = ("--gold", "gold.csv")

ODD = (
    warned(
        "aggregate-answer-twice",
        _votes("x a c", "x a c", "x b d"),
        _by("mean"),
        {"item": ["x"], "probs": [[2 / 3, 1 / 3]], "n_annotators": [2]},
        "1 repeated answers",
        "--average-repeats",
    ),
    accepted(
        "aggregate-answer-twice-averaged",
        _votes("x a c", "x a c", "x b d"),
        _by("mean", "--average-repeats"),
        {"item": ["x"], "probs": [[0.5, 0.5]], "n_annotators": [2]},
    ),
    accepted("aggregate-one-answer", _votes("x a c"), _by("majority"), {"probs": [[1.0, 0.0]]}),
    accepted(
        "aggregate-one-class-chosen",
        _votes("x a d", "x b d", "y a d"),
        _by("wawa"),
        {"item": ["x", "y"], "probs": [[0.0, 1.0], [0.0, 1.0]]},
    ),
    accepted(
        "aggregate-groups-that-never-meet",
        _votes("x a c", "x b c", "y e d", "y f d"),
        _by("zero-based-skill"),
        {"item": ["x", "y"], "probs": [[1.0, 0.0], [0.0, 1.0]]},
    ),
    refused("aggregate-no-rows", {"bad.csv": f"{HEAD}\n".encode()}, _by("dawid-skene"), "no-rows", "no rows"),
    refused("aggregate-no-annotators", {"bad.csv": b"item,p:cat,p:dog\nx,1,0\n"}, _by("mean"), "not-votes", "Counts"),
    refused("aggregate-no-distribution", {"bad.csv": f"{HEAD}\nx,a,1,1\n".encode()}, _by("mean"), "bad-sum", "bad.csv"),
    refused(
        "aggregate-answers-of-one-class",
        {"bad.csv": b"item,annotator,label\nx,a,cat\n"},
        _by("mean"),
        "bad-classes",
        "bad.csv",
    ),
)

NAMES = (
    refused("aggregate-unknown", FEW, _by("david-skene"), "unknown-aggregator", "did you mean 'dawid-skene'?"),
    refused("aggregate-setting-of-another", FEW, _by("mean", "--prior", "2"), "bad-setting", "prior", "mean"),
    refused("aggregate-engine-unknown", FEW, _by("mean", "--engine", "rey"), "unknown-engine", "did you mean 'ray'?"),
    refused("aggregate-prior-negative", FEW, _by("dawid-skene", "--prior", "-1"), "bad-setting", "prior = -1"),
    refused("aggregate-prior-nan", FEW, _by("one-coin", "--prior", "nan"), "bad-setting", "prior"),
    refused("aggregate-iterations-0", FEW, _by("mace", "--iterations", "0"), "bad-setting", "iterations = 0"),
    refused("aggregate-evidence-unknown", FEW, _by("dawid-skene", "--evidence", "hearsay"), "bad-setting", "hearsay"),
    refused("aggregate-floor-0", FEW, _by("log-pool", "--floor", "0"), "bad-setting", "floor"),
    refused("aggregate-components-0", FEW, _by("bayes", "--components", "0"), "bad-setting", "components"),
    refused("aggregate-rate-nan", FEW, _by("zero-based-skill", "--rate", "nan"), "bad-setting", "rate"),
    refused("aggregate-calibrate-mean", FEW, _by("mean", "--calibrate"), "wrong-estimand", "how people judge"),
    refused("aggregate-calibrate-majority", FEW, _by("majority", "--calibrate"), "missing-gold", "majority"),
)

BESIDE = (
    refused(
        "aggregate-gold-for-mean",
        FEW | {"gold.csv": b"item,p:cat,p:dog\nx,1,0\n"},
        _by("mean", *GOLD),
        "wrong-estimand",
    ),
    refused(
        "aggregate-gold-of-other-classes",
        FEW | {"gold.csv": b"item,p:cat,p:emu\nx,1,0\n"},
        _by("dawid-skene", *GOLD),
        "bad-classes",
        "emu",
    ),
    refused(
        "aggregate-gold-of-other-items",
        FEW | {"gold.csv": b"item,p:cat,p:dog\nq,1,0\n"},
        _by("dawid-skene", *GOLD),
        "missing-gold",
    ),
    accepted(
        "aggregate-gold-outvotes",
        FEW | {"gold.csv": b"item,p:cat,p:dog\ny,0,1\n"},
        _by("majority", *GOLD),
        {"item": ["x", "y"], "probs": [[0.5, 0.5], [0.0, 1.0]]},
    ),
    refused(
        "aggregate-weights-doubled",
        FEW | {"weights.csv": b"annotator,weight\na,1\nb,1\na,2\n"},
        _by("mean", *WEIGHTS),
        "doubled-annotator",
        "weights.csv:4",
    ),
    refused(
        "aggregate-weights-negative",
        FEW | {"weights.csv": b"annotator,weight\na,-1\n"},
        _by("mean", *WEIGHTS),
        "bad-weight",
        "'a'",
    ),
    refused(
        "aggregate-weights-all-0",
        FEW | {"weights.csv": b"annotator,weight\na,0\nb,0\n"},
        _by("mean", *WEIGHTS),
        "bad-weight",
        "every annotator",
    ),
    refused(
        "aggregate-weights-without-weight",
        FEW | {"weights.csv": b"annotator\na\n"},
        _by("mean", *WEIGHTS),
        "missing-column",
        "weights.csv",
    ),
    warned(
        "aggregate-weight-0",
        FEW | {"weights.csv": b"annotator,weight\na,0\n"},
        _by("mean", *WEIGHTS),
        {"item": ["x", "y"], "probs": [[0.0, 1.0], [1.0, 0.0]]},
        "excluded 1 annotators of weight 0",
    ),
    warned(
        "aggregate-weight-of-a-stranger",
        FEW | {"weights.csv": b"annotator,weight\nzoe,3\n"},
        _by("mean", *WEIGHTS),
        {"probs": [[0.5, 0.5], [1.0, 0.0]]},
        "zoe",
    ),
    refused(
        "aggregate-gold-of-other-classes-in-parquet",
        {
            "bad.csv": _votes("x a c", "x b d")["bad.csv"],
            "gold.parquet": parquet(beliefs(1, annotator=None, item=["x"]) | {"n_annotators": [1]}, '["cat","emu"]'),
        },
        _by("dawid-skene", "--gold", "gold.parquet"),
        "bad-classes",
        "emu",
    ),
)

CASES = (*ODD, *NAMES, *BESIDE)
