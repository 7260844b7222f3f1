"""Commands that ask for what there is not: names, settings, kinds, similarity and screening files."""

from __future__ import annotations

from badinput_cases.building import answers, crowd
from badinput_cases.case import accepted, refused
from badinput_cases.payloads import SOUND

FILE = {"bad.csv": answers(SOUND["choice/1"])}
TOP_TWO = {"bad.csv": answers(SOUND["top_two/1"], kind="top_two/1")}
TOKENS = {"bad.csv": answers('{"tokens":{"cat":3},"others":true}', kind="tokens/1")}
LABELS = {"bad.csv": b"item,p:cat,p:dog,p:emu\na,0.5,0.3,0.2\n"}


def _label(by: str, *options: str, classes: str = "cat,dog") -> tuple[str, ...]:
    return ("label", "bad.csv", "--by", by, "--classes", classes, *options, "-o", "out.parquet")


def _transform(by: str, *options: str) -> tuple[str, ...]:
    return ("transform", "bad.csv", "--by", by, *options, "-o", "out.parquet")


def _soften(*options: str) -> tuple[str, ...]:
    return ("soften", "bad.csv", "--similarity", "alike.csv", *options, "-o", "out.parquet")


ALIKE = {"alike.csv": b"class,cat,dog,emu\ncat,1,0.5,0\ndog,0.5,1,0\nemu,0,0,1\n"}

NAMES = (
    refused(
        "setting-labeler-unknown", FILE, _label("one-hat"), "unknown-labeler", "'one-hat'", "did you mean 'one-hot'?"
    ),
    refused(
        "setting-format-unknown",
        {"bad.csv": crowd("a,x,cat")},
        ("import", "crwd", "bad.csv", "-o", "out.parquet"),
        "unknown-format",
        "did you mean 'crowd'?",
    ),
    refused("setting-transform-unknown", LABELS, _transform("smoth"), "unknown-transform", "did you mean 'smooth'?"),
    refused(
        "setting-rule-set-unknown",
        FILE,
        ("screen", "bad.csv", "--by", "cifar-10x", "-o", "out.parquet"),
        "unknown-rule-set",
        "did you mean 'cifar-10",
    ),
    refused("setting-command-unknown", FILE, ("lable", "bad.csv"), "unknown-command", "did you mean 'label'?"),
    refused(
        "setting-kind-not-there", FILE, _label("one-hot", "--kind", "top_two/1"), "unknown-kind", "bad.csv", "choice/1"
    ),
    refused(
        "setting-part-unknown",
        FILE,
        ("import", "hmix", "bad.csv", "--part", "mixin", "-o", "out.parquet"),
        "unknown-part",
        "did you mean 'mixing'?",
    ),
    refused("setting-name-with-escape", FILE, _label("\x1b]0;owned\x07one-hot"), "unknown-labeler", "\\x1b", "one-hot"),
)

VALUES = (
    refused("setting-gamma-2", TOP_TWO, _label("top-two-clamp", "--gamma", "2"), "bad-setting", "gamma", "0 to 1"),
    refused("setting-gamma-nan", TOP_TWO, _label("top-two-clamp", "--gamma", "nan"), "bad-setting", "gamma"),
    refused(
        "setting-gamma-for-one-hot",
        FILE,
        _label("one-hot", "--gamma", "0.1"),
        "bad-setting",
        "gamma",
        "one-hot",
        "leave out --gamma",
    ),
    refused("setting-gamma-a-word", TOP_TWO, _label("top-two-clamp", "--gamma", "small"), "usage", "--gamma", "small"),
    accepted("setting-gamma-0", TOKENS, _label("tokens", "--gamma", "0"), {"probs": [[1.0, 0.0]]}),
    refused("setting-k-0", LABELS, _transform("sparsify", "--k", "0"), "bad-setting", "k = 0"),
    refused("setting-k-negative", LABELS, _transform("sparsify", "--k", "-1"), "bad-setting", "k = -1"),
    refused("setting-temperature-0", LABELS, _transform("temper", "--temperature", "0"), "bad-setting", "temperature"),
    refused("setting-rate-above-1", LABELS, _transform("smooth", "--rate", "1.5"), "bad-setting", "rate"),
    refused(
        "setting-unsure-0",
        {"bad.csv": answers(SOUND["plausible/1"], kind="plausible/1")},
        _label("plausible-weighted", "--unsure", "0"),
        "bad-setting",
        "unsure",
    ),
    refused(
        "setting-top-negative",
        {"bad.csv": b"item,annotator,p:cat,p:dog\na,x,1,0\n"},
        ("doubt", "bad.csv", "--top", "-5"),
        "bad-setting",
        "top",
    ),
    refused("setting-seed-negative", LABELS | ALIKE, _soften("--seed", "-1"), "bad-setting", "seed"),
    refused("setting-nobody-simulated", LABELS | ALIKE, _soften("--annotators", "0"), "bad-setting", "annotators"),
    refused(
        "setting-truth-not-there",
        {"bad.csv": crowd("a,x,cat", "b,x,dog")},
        ("import", "crowd", "bad.csv", "--original", "truth.parquet", "-o", "out.parquet"),
        "no-original",
        "--original",
    ),
    refused("setting-option-unknown", FILE, _label("one-hot", "--gama", "0.1"), "usage", "--gama"),
    refused("setting-output-missing", FILE, ("label", "bad.csv", "--by", "one-hot"), "usage", "--output"),
)

CLASSES = (
    refused(
        "setting-classes-missing",
        FILE,
        ("label", "bad.csv", "--by", "one-hot", "-o", "out.parquet"),
        "missing-classes",
        "bad.csv",
        "--classes",
    ),
    refused("setting-classes-one", FILE, _label("one-hot", classes="cat"), "bad-classes", "1 class"),
    refused("setting-classes-with-a-gap", FILE, _label("one-hot", classes="cat,,dog"), "bad-classes", "without a name"),
    refused("setting-classes-twice", FILE, _label("one-hot", classes="cat,dog,cat"), "bad-classes", "'cat'"),
    refused(
        "setting-classes-not-utf8",
        FILE,
        ("label", "bad.csv", "--by", "one-hot", "--classes", b"cat,d\xffg", "-o", "out.parquet"),
        "bad-classes",
    ),
)

KINDS = (
    refused(
        "setting-kind-of-another-labeler",
        FILE,
        _label("sliders"),
        "wrong-kind",
        "bad.csv",
        "choice/1",
        "sliders",
        "use --by one-hot",
    ),
    refused(
        "setting-kinds-mixed",
        {"bad.csv": answers(SOUND["choice/1"]) + answers(SOUND["top_two/1"], kind="top_two/1").split(b"\n", 1)[1]},
        _label("one-hot"),
        "wrong-kind",
        "bad.csv",
        "--kind",
    ),
)

HELPERS = (
    refused("setting-similarity-missing", TOP_TWO, _label("top-two-similar"), "bad-setting", "--similarity"),
    refused(
        "setting-similarity-without-class",
        TOP_TWO | {"alike.csv": b"name,cat,dog\ncat,1,0\ndog,0,1\n"},
        _label("top-two-similar", "--similarity", "alike.csv"),
        "missing-column",
        "alike.csv",
        "'class'",
    ),
    refused(
        "setting-similarity-only-class",
        TOP_TWO | {"alike.csv": b"class\ncat\ndog\n"},
        _label("top-two-similar", "--similarity", "alike.csv"),
        "bad-similarity",
        "alike.csv",
    ),
    refused(
        "setting-similarity-negative",
        TOP_TWO | {"alike.csv": b"class,cat,dog\ncat,1,-1\ndog,-1,1\n"},
        _label("top-two-similar", "--similarity", "alike.csv"),
        "bad-similarity",
        "alike.csv",
        "-1",
    ),
    refused(
        "setting-similarity-of-others",
        TOP_TWO | {"alike.csv": b"class,cat,fox\ncat,1,0\nfox,0,1\n"},
        _label("top-two-similar", "--similarity", "alike.csv"),
        "unknown-class",
        "alike.csv",
        "'dog'",
    ),
    refused(
        "setting-screening-unclear",
        FILE | {"aside.csv": b"annotator,set_aside\nx,perhaps\n"},
        _label("one-hot", "--screening", "aside.csv"),
        "bad-value",
        "aside.csv:2:set_aside",
        "'perhaps'",
    ),
    refused(
        "setting-screening-without-verdict",
        FILE | {"aside.csv": b"annotator\nx\n"},
        _label("one-hot", "--screening", "aside.csv"),
        "missing-column",
        "aside.csv",
        "set_aside",
    ),
    refused(
        "setting-fill-of-other-classes",
        LABELS | {"fill.csv": b"item,p:cat,p:dog\nb,1,0\n"},
        _transform("infill", "--filling", "fill.csv"),
        "bad-classes",
        "cat, dog",
    ),
    refused(
        "setting-check-without-gold",
        {"bad.csv": b'item,annotator,kind,payload,purpose\na,x,choice/1,"{""class"":""cat""}",check\n'},
        ("screen", "bad.csv", "-o", "out.parquet"),
        "missing-gold",
        "--gold",
    ),
)

CASES = (*NAMES, *VALUES, *CLASSES, *KINDS, *HELPERS)
