"""Every setting of every strategy, typed as on a command line (`name:setting=value`), by the functions of the commands.

The values are found in the classes: a text setting says which texts it knows when it refuses one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import AGGREGATORS, aggregator_from_name
from sfumato.cli import COMMANDS, group, usage_error
from sfumato.cli.evaluate_options import metrics_from_text, strata_from_text
from sfumato.cli.train import _document
from sfumato.evaluation.matched_labels import match_labels
from sfumato.evaluation.metric import missing_input
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.strata import STRATA
from sfumato.importers import FORMATS, format_named
from sfumato.labeling import LABELERS, labeler_from_name
from sfumato.labeling.agreement import MEASURES, measure_from_name
from sfumato.labeling.class_similarity import ClassSimilarity
from sfumato.labeling.screening_rules import SCREENING_RULES, rules_of
from sfumato.labeling.transforms import TRANSFORMS, transform_from_name
from sfumato.planning.answer_value import INDICES, index_named
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadSetting, SfumatoError, warnings_off
from sfumato.tables.strategies import StrategyText, split_choices, strategy_from_name
from sfumato.training.attacks import ATTACKS, attack_named
from sfumato.training.corruptions import CORRUPTIONS, corruption_named
from sfumato.training.crowd_layers import CROWDS
from sfumato.training.experiment_file import ExperimentFile
from sfumato.training.mixing import MIXINGS, PairCurve, ShareCurve
from sfumato.training.networks import NETWORKS
from sfumato.training.optimizers import OPTIMIZERS, SCHEDULES
from sfumato.training.recipe import CropAndFlip
from sfumato.training.splits import SPLITS
from sfumato.training.targets import TARGETS
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet


def trained(option: str, text: str) -> Any:
    """The strategy that `sfumato train --OPTION TEXT` uses."""
    file = ExperimentFile.of(_document({option: text, "validation": 0.1}))
    if option == "split":
        return file._split
    grid = file.grid()
    if option in ("targets", "networks"):
        return next(iter(getattr(grid, option).values()))
    return getattr(grid.recipe, {"augment": "augmentation"}.get(option, option))


FROM_TEXT: dict[str, tuple[tuple[Any, ...], Callable[[str], Any]]] = {
    "aggregate --by": (AGGREGATORS, lambda text: aggregator_from_name(text, {})),
    "label --by": (LABELERS, lambda text: labeler_from_name(text, {})),
    "transform --by": (TRANSFORMS, lambda text: transform_from_name(text, {})),
    "agreement --measure": (MEASURES, measure_from_name),
    "screen --by": (SCREENING_RULES, lambda text: rules_of(text)[0]),
    "evaluate --metrics": (METRICS, lambda text: metrics_from_text(text)[0]),
    "evaluate --strata": (STRATA, lambda text: strata_from_text(text)[0]),
    "train --targets": ((*TARGETS, *CROWDS), partial(trained, "targets")),
    "train --model": (NETWORKS, partial(trained, "networks")),
    "train --mixing": (MIXINGS, partial(trained, "mixing")),
    "train --optimiser": (OPTIMIZERS, partial(trained, "optimiser")),
    "train --schedule": (SCHEDULES, partial(trained, "schedule")),
    "train --augment": ((CropAndFlip,), partial(trained, "augment")),
    # The split `given` reads files: tests/training/test_grid.py.
    "train --split": (tuple(each for each in SPLITS if each.name != "given"), partial(trained, "split")),
    "shift --kinds": (CORRUPTIONS, corruption_named),
    "attack --by": (ATTACKS, lambda text: attack_named(text, {})),
    "plan replay --policies": (INDICES, index_named),
    "import FORMAT": (FORMATS, lambda text: format_named(text, {})),
}
TABLES = {"similarity": "label", "original": "transform", "filling": "transform"}
"""Settings that are tables: the command has an option for the file."""
ITEMS = tuple("abcdef")
CLASSES = ("cat", "dog", "owl")
RNG = np.random.default_rng(5)
ROWS = RNG.dirichlet(np.ones(3), 6)
SIMILARITY = ClassSimilarity(CLASSES, np.eye(3) * 0.5 + 0.5)
FILLING = SoftLabels.from_numpy(ITEMS, ROWS, CLASSES, 3)
PAIRS = (PairCurve(0, 1, ShareCurve(4.5, 0.5)), PairCurve(0, 2, ShareCurve(3.0, 0.4)))
MUST = {"items": "train=4", "per-class": "train=1"}
"""Settings that must be given."""
ALSO = {"resnet": {"depth": 50}, "items": {"train": 4}, "per-class": {"train": 1}}
"""Settings that must be given, or without which others are not allowed: bottleneck blocks need this depth."""
NUMBERS = (0.25, 0.5, 2.0, 3.5, 10.0, 0.05)
WHOLE_NUMBERS = (2, 3, 1, *range(7, 120))
LISTS: dict[type, list[tuple[str, tuple[Any, ...]]]] = {
    int: [("[3,7]", (3, 7)), ("[ 12 ]", (12,))],
    str: [("[cat,dog]", ("cat", "dog")), ("[0,1,2]", ("0", "1", "2")), ('["a, b","c: d"]', ("a, b", "c: d"))],
    PairCurve: [("[[0,1,4.5,0.5],[0,2,3,0.4]]", PAIRS), ("[]", ())],
}


@dataclass(frozen=True)
class Typed:
    """One setting as it is typed, and the value it should have."""

    command: str
    member: Any
    setting: str
    text: str
    value: Any

    def __str__(self) -> str:
        return f"{self.command} {self.member.name}:{self.setting}={self.text}"


def typed_settings() -> Iterator[Typed]:
    for command, (members, _) in FROM_TEXT.items():
        for member in members:
            types = get_type_hints(member)
            for field in fields(member):
                if field.name in TABLES:
                    continue
                kind = next((each for each in get_args(types[field.name]) if each is not type(None)), types[field.name])
                kind = tuple if str(types[field.name]).startswith("tuple[") else kind
                for text, value in values_of(member, field, kind, types[field.name]):
                    yield Typed(command, member, field.name, text, value)


def values_of(member: Any, field: Any, kind: Any, whole: Any) -> Iterator[tuple[str, Any]]:
    """Texts for a setting other than its default, and what they mean."""
    if kind is tuple:
        known = known_texts(member, field.name, ("no such text",)) if get_args(whole)[0] is str else None
        # Some formats have fixed classes.
        yield from LISTS[get_args(whole)[0]] if known is None else [(f"[{known[1]},{known[0]}]", (known[1], known[0]))]
    elif kind is bool:
        yield from (("true", True), ("false", False), ("True", True))
    elif kind is str:
        known = known_texts(member, field.name)
        # Texts that look like a number or contain the separators are texts too.
        free = (("other", "other"), ("17", "17"), ('"a: b, c"', "a: b, c")) if known is None else ()
        yield from chain(((text, text) for text in known or ()), free)
    else:
        numbers = [each for each in (WHOLE_NUMBERS if kind is int else NUMBERS) if allowed(member, field.name, each)]
        assert numbers, f"no number for {member.name}:{field.name}"
        yield str(numbers[0]), numbers[0]
        if kind is float and allowed(member, field.name, 1 / 4):
            yield "1/4", 0.25
        if type(None) in get_args(whole):
            yield "none", None


def known_texts(member: Any, setting: str, wrong: Any = "no such text") -> list[str] | None:
    """The texts that a setting allows; None if it allows any."""
    try:
        made(member, **{setting: wrong})
    except SfumatoError as error:
        known = re.findall(r"[\w-]+", error.expected.removeprefix("one of "))
        return [text for text in known if text not in ("and", "or")]
    return None


def allowed(member: Any, setting: str, value: Any) -> bool:
    if value == next(field.default for field in fields(member) if field.name == setting):
        return False
    try:
        made(member, **{setting: value})
    except SfumatoError:
        return False
    return True


def made(member: Any, **settings: Any) -> Any:
    also = {} if set(settings) & set(ALSO.get(member.name, {})) else ALSO.get(member.name, {})
    return member(**tables_for(member), **also, **settings)


def tables_for(member: Any) -> dict[str, Any]:
    """The settings without which a strategy cannot be made."""
    names = {field.name for field in fields(member)}
    return {name: table for name, table in (("similarity", SIMILARITY), ("filling", FILLING)) if name in names}


ALL = list(typed_settings())


def typed_object(each: Typed) -> Any:
    """The strategy as the command makes it, with the tables that the command reads from files."""
    members, from_text = FROM_TEXT[each.command]
    also = ALSO.get(each.member.name, {}).items()
    given = {each.setting: each.text} | {name: value for name, value in also if each.setting != name}
    text = ":".join([each.member.name, *(f"{name}={value}" for name, value in given.items())])
    tables = tables_for(each.member)
    return strategy_from_name("strategy", members, text, tables) if tables else from_text(text)


@pytest.mark.parametrize("command", FROM_TEXT)
def test_settings_typed_on_the_command_line_are_those_of_the_object(command: str) -> None:
    for each in ALL:
        if each.command == command:
            found = typed_object(each)
            expected = made(each.member, **{each.setting: each.value})
            assert found == expected, each
            assert type(getattr(found, each.setting)) is type(getattr(expected, each.setting)), each


def test_every_setting_of_every_strategy_is_tried() -> None:
    tried = {(each.member.name, each.setting) for each in ALL}
    known = {(one.name, field.name) for members, _ in FROM_TEXT.values() for one in members for field in fields(one)}
    assert {setting for _, setting in known - tried} == set(TABLES)
    assert len(tried) > 90
    texts = [each for each in ALL if isinstance(each.value, str)]
    assert {"random", "class-level", "shuffled", "entropy-matched", "jsd", "pgd"} <= {one.member.name for one in texts}


def test_a_setting_that_is_a_table_is_given_as_an_option() -> None:
    for setting, command in TABLES.items():
        module = __import__(COMMANDS[command][0], fromlist=["command"])
        assert f"--{setting}" in {option for each in module.command.params for option in each.opts}
    for text in ("infill:filling=f.csv", "class-means:original=f.csv"):
        with pytest.raises(BadSetting, match="expected a table; fix: give the table: "):
            transform_from_name(text, {})


@pytest.mark.parametrize(
    ("command", "text", "says"),
    [
        ("train --targets", "random:form=sof", r"found form = 'sof'; expected one of hard, soft"),
        ("train --targets", "random:frm=soft", r"found the setting frm for random; .*did you mean 'form'\?"),
        ("train --targets", "soft:form=soft", r"expected settings of soft: it has none; fix: leave it out"),
        ("train --targets", "smoothing:share=lots", r"found share = 'lots'; expected a number"),
        ("train --targets", "deaggregated:annotators=1.5", r"expected a whole number"),
        ("train --mixing", "class-pair:pairs=[[0,1]]", r"expected a list, each \[first,second,k,x0\]"),
        ("train --mixing", "class-pair:anchored=maybe", r"expected true or false"),
        ("train --schedule", "steps:after=50", r"expected a list, each whole number; .* after=\[\.\.\.\]"),
        ("aggregate --by", "dawid-skene:prior=5:prior=6", r"expected each setting once"),
        ("aggregate --by", "dawid-skene:prior", r"expected a name, with its settings as name:setting=value"),
        ("screen --by", "checks_passed:at_most=0.5", r"settings of checks_passed: at-least"),
        ("evaluate --metrics", "kappa", r"sfumato agreement"),
        ("agreement --measure", "fleiss_kappa", r"did you mean .fleiss-kappa"),
        ("label --by", "top_two", r"use one-hot or top-two-clamp or top-two-uniform"),
    ],
)
def test_a_wrong_setting_says_what_is_expected(command: str, text: str, says: str) -> None:
    with pytest.raises(SfumatoError, match=says):
        FROM_TEXT[command][1](text)


def test_an_option_and_the_same_setting_in_the_name_is_an_error() -> None:
    assert aggregator_from_name("dawid-skene:prior=5", {"iterations": 3}).prior == 5  # type: ignore[attr-defined]
    with pytest.raises(BadSetting, match=r"expected one prior; fix: leave out prior="):
        aggregator_from_name("dawid-skene:prior=5", {"prior": 6.0})


def test_fix_texts_name_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("item,annotator,answer\n1,a,cat\n1,b,dog\n")
    FILLING.write("l.csv")

    def fix(*arguments: str) -> str:
        error = CliRunner().invoke(group, arguments, standalone_mode=False).exception
        if isinstance(error, click.ClickException):
            error = usage_error(error)
        assert isinstance(error, SfumatoError), error
        return error.fix

    assert fix("import", "crowd", "v.csv", "-o", "a.xlsx") == "write 'a.csv' instead, which Excel opens"
    assert fix("import", "crowd", "v.csv", "--label", "answr", "-o", "a.csv").startswith("did you mean 'answer'?")
    assert CliRunner().invoke(group, ["import", "crowd", "v.csv", "--label", "answer", "-o", "a.csv"]).exit_code == 0
    assert fix("label", "a.csv", "--by", "tokens", "-o", "b.csv") == "use --by one-hot"
    assert fix("evaluate", "l.csv", "--people", "l.csv", "-o", "s.csv").startswith(
        "write --predicted or --runs before l."
    )
    assert fix("evaluate", "l.csv").startswith("add --people FILE")
    assert fix("agreement", "l.csv", "--measure", "kappa").startswith("use cohen-kappa for two annotators")


def test_commas_and_colons_in_brackets_and_quotes_do_not_separate() -> None:
    assert split_choices("steps:after=[[1,2],[3]]:by=0.1,constant") == ["steps:after=[[1,2],[3]]:by=0.1", "constant"]
    assert split_choices("plausible-equal:none-class='a, b',x") == ["plausible-equal:none-class='a, b'", "x"]
    assert StrategyText.of("x:y='a:b'").settings == {"y": "a:b"}
    assert StrategyText.of("it's:y=1").name == "it's"


# --- the documentation ---

DOCS = Path(__file__).parents[2] / "docs"
WITH_SETTINGS = re.compile(r"\b[a-z][a-z0-9_-]*(?::[a-z][a-z0-9_-]*=(?:\[[^\s\]]*\]|[^\s`,:)\]\"']+))+")
SETTING = re.compile(r"`([a-z][a-z0-9_]*=[^`\s]+)`")


def documented() -> Iterator[str]:
    """Every strategy with settings in the documentation: in the text, and in rows of tables."""
    names = {each.name for members, _ in FROM_TEXT.values() for each in members}
    for page in [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]:
        for line in page.read_text("utf-8").splitlines():
            yield from (text for text in WITH_SETTINGS.findall(line) if text.partition(":")[0] in names)
            row = re.match(r"\| `([a-z0-9_-]+)` \|", line)
            if row and row[1] in names:
                yield from (f"{row[1]}:{setting}" for setting in SETTING.findall(line))


def test_every_documented_setting_works() -> None:
    texts = sorted(set(documented()))
    assert {"smoothing:share=0.2", "random:form=soft", "class-level:by=majority", "entropy-matched:level=class"} <= set(
        texts
    )
    assert any(text.startswith("class-pair:pairs=[[") for text in texts)
    for written in texts:
        text = written
        if "FILE" in text:
            continue
        name, errors = text.partition(":")[0], []
        if name in MUST and ":train=" not in text:
            text = f"{text}:{MUST[name]}"
        families = [one for one in FROM_TEXT.values() if any(each.name == name for each in one[0])]
        for _, from_text in families:
            try:
                from_text(text)
                break
            except SfumatoError as error:
                errors.append(str(error))
        assert len(errors) < len(families), errors


# --- in use ---


def beliefs() -> Beliefs:
    voters = [(item, name) for item in ITEMS for name in ("x", "y", "z")]
    return Beliefs.from_numpy(
        [item for item, _ in voters], [name for _, name in voters], RNG.dirichlet(np.ones(3), 18), CLASSES
    ).as_ordered()


def test_the_settings_of_aggregators_transforms_metrics_and_strata_are_usable() -> None:
    answers = beliefs()
    labels = SoftLabels.from_numpy(ITEMS, ROWS, CLASSES, 3)
    original = SoftLabels.one_hot(ITEMS, ["cat", "dog", "owl"] * 2, CLASSES)
    matched = match_labels(
        predicted=SoftLabels.from_numpy(ITEMS, ROWS[::-1], CLASSES), people=labels, original=original
    )
    bootstrap = Bootstrap.of(6, level=0.9, draws=100, rng=np.random.default_rng(0))
    for each in ALL:
        if each.command == "aggregate --by":
            by = typed_object(each)
            by = replace(by, iterations=2) if hasattr(by, "iterations") and each.setting != "iterations" else by
            with warnings_off():  # two iterations do not converge
                found = by.aggregate(answers).labels
            assert np.allclose(found.probs.sum(axis=1), 1), each
        elif each.command == "transform --by" and each.member.name != "infill":
            assert np.allclose(typed_object(each).apply(labels).probs.sum(axis=1), 1), each
        elif each.command == "evaluate --strata":
            assert sum(len(part) for part in typed_object(each).strata(matched)) == 6, each
        elif each.command == "evaluate --metrics":
            metric = typed_object(each)
            if not missing_input(metric, matched):
                found = metric.estimate(matched, bootstrap)
                assert np.isfinite(found.value) or found.interval.kind.startswith("none: the published form"), each


def test_the_settings_of_targets_and_mixings_are_usable() -> None:
    pool = AnnotatorBeliefs(np.repeat(ROWS, 2, axis=0), np.arange(0, 13, 2), np.tile([0, 1], 6), 2)
    data = TrainingSet(
        ITEMS, CLASSES, original=np.array([0, 1, 2, 0, 1, 2]), people=ROWS, beliefs=pool,
        predicted=ROWS,
    )  # fmt: skip
    x, y = torch.rand(1, 6, 1, 4, 4), torch.from_numpy(ROWS)[None]
    for each in ALL:
        if each.command == "train --targets" and each.member in TARGETS:
            assert typed_object(each).labels(data, np.random.default_rng(0)) is not None, each
        elif each.command == "train --mixing":
            mixed = typed_object(each).mixed(x, y, torch.Generator().manual_seed(0))
            assert torch.allclose(mixed.y.sum(dim=-1), torch.ones(1, dtype=torch.float64)), each


def test_commands_take_settings_in_the_name_as_by_option(tmp_path: Path) -> None:
    beliefs().write(tmp_path / "b.parquet")
    SoftLabels.from_numpy(ITEMS, ROWS, CLASSES, 3).write(tmp_path / "l.parquet")

    def run(*arguments: object) -> SoftLabels:
        done = CliRunner().invoke(group, [*map(str, arguments), "-o", str(tmp_path / "o.parquet")])
        assert done.exception is None, done.exception
        return SoftLabels.read(tmp_path / "o.parquet")

    for step, file, by, options in [
        (
            "aggregate",
            "b.parquet",
            "dawid-skene:prior=3:evidence=fractional",
            ["--prior", 3, "--evidence", "fractional"],
        ),
        ("transform", "l.parquet", "smooth:rate=1/4", ["--rate", 0.25]),
    ]:
        inside = run(step, tmp_path / file, "--by", by)
        assert np.array_equal(inside.probs, run(step, tmp_path / file, "--by", by.partition(":")[0], *options).probs)
        default = run(step, tmp_path / file, "--by", by.partition(":")[0])
        assert not np.allclose(inside.probs, default.probs)
