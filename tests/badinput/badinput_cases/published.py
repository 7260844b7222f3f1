"""Files that go by the name of a published data set and are something else."""

from __future__ import annotations

import json

import numpy as np

from badinput_cases.building import arrays, written
from badinput_cases.case import Case, Content, refused

NAME = "mixed_0.5_Dog_2205_Frog_6908.png"
CIFAR_10S = {
    "annotator": "x",
    "trial_index": "0",
    "image_index": "17",
    "true_label": "3",
    "most_probable": "3",
    "most_probable_pct_raw": "80",
    "second_probable": "-1",
    "second_probable_pct_raw": "",
    "impossible": "0 1",
    "is_repeat": "0",
    "rt_ms": "1500",
}


def _read(format_name: str, source: str, *options: str) -> tuple[str, ...]:
    return ("import", format_name, source, *options, "-o", "out.parquet")


def _top_two(name: str, column: str, value: str) -> Case:
    """A CIFAR-10S file with a sound row and then one with `value` in `column`."""
    rows = [CIFAR_10S, CIFAR_10S | {"trial_index": "1", "image_index": "18", column: value}]
    content = written([list(CIFAR_10S), *(list(row.values()) for row in rows)])
    return refused(
        f"published-{name}",
        {"bad.csv": content},
        _read("cifar-10s", "bad.csv"),
        "bad-number",
        f"bad.csv:3:{column}",
        repr(value.split()[-1])[:40],
    )


def _votes(name: str, content: Content, code: str, *says: str) -> Case:
    return refused(f"published-{name}", {"bad.npz": content}, _read("cifar-10h", "bad.npz"), code, "bad.npz", *says)


TOP_TWO = (
    _top_two("class-number-too-large", "most_probable", "10"),
    _top_two("class-number-of-5000-digits", "most_probable", "1" * 5000),
    _top_two("percent-a-word", "most_probable_pct_raw", "lots"),
    _top_two("percent-nan", "most_probable_pct_raw", "nan"),
    _top_two("percent-infinite", "most_probable_pct_raw", "inf"),
    _top_two("impossible-no-such-class", "impossible", "0 12"),
    _top_two("impossible-negative", "impossible", "-1"),
    _top_two("impossible-a-word", "impossible", "cat"),
    _top_two("trial-a-word", "trial_index", "first"),
    _top_two("time-a-word", "rt_ms", "slow"),
)

VOTES = (
    _votes("votes-of-nine-classes", arrays(counts=np.ones((3, 9), np.int64)), "wrong-shape", "9"),
    _votes("votes-negative", arrays(counts=np.array([[-1] + [1] * 9])), "bad-count", "-1"),
    _votes("votes-as-text", arrays(counts=np.array([["1"] * 10])), "wrong-type"),
    _votes("votes-under-another-name", arrays(votes=np.ones((3, 10))), "missing-column", "counts"),
    _votes(
        "original-label-too-large", arrays(counts=np.ones((3, 10), np.int64), labels=[0, 1, 10]), "bad-number", "10"
    ),
    refused(
        "published-fashion-votes-under-another-name",
        {"bad.npz": arrays(votes=np.ones((3, 10)))},
        _read("fashion-mnist-h", "bad.npz"),
        "missing-column",
        "bad.npz",
        "counts",
    ),
    refused(
        "published-fashion-header-only",
        {"bad.csv": (",".join(map(str, range(10))) + "\n").encode()},
        _read("fashion-mnist-h", "bad.csv"),
        "no-rows",
        "bad.csv",
    ),
)

MIXTURES = tuple(
    refused(
        f"published-mixture-{name}",
        {"bad.json": json.dumps({NAME: labels}).encode()},
        _read("hmix", "bad.json", "--part", "soft-labels"),
        code,
        "bad.json",
        NAME,
    )
    for name, labels, code in (
        ("labels-no-array", 5, "wrong-length"),
        ("label-short", [[0.5, 0.5]], "wrong-length"),
        ("label-of-text", [["0.1"] * 9 + ["half"]], "wrong-type"),
        ("label-off", [[0.5] * 10], "bad-sum"),
    )
)

CASES = (*TOP_TWO, *VOTES, *MIXTURES)
