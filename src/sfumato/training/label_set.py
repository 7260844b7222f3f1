"""Label sets: named labels of the same items, and targets that are computed from one of them.

`soft@equal` is the target `soft` of the label set `equal`. The set `people` needs no name: `soft` and `soft@people` are
the same target. `original` are the original classes. With `rest`, items that a set has no label for get their label
from another set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.tables.errors import BadSetting, ErrorLocation, listing, show, unknown
from sfumato.tables.strategies import StrategyText
from sfumato.training.training_set import ORIGINAL, PEOPLE, TrainingSet, given_as

if TYPE_CHECKING:
    from sfumato.training.target_labels import Target, TargetLabels

BELIEFS = "beliefs"
RESERVED = (ORIGINAL, BELIEFS, "teacher", "predicted")
"""Names of other label sources."""
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class LabelSetTarget:
    """A target computed from the label set `label_set`; items without a label there, or without a belief, get the label
    that they have in the set `rest`."""

    target: Target
    label_set: str = PEOPLE
    rest: str | None = None

    @property
    def name(self) -> str:
        return set_name(self.target.name, self.label_set)

    @property
    def sources(self) -> tuple[str, ...]:
        return sources_of(self.target)

    def __post_init__(self) -> None:
        if self.label_set == PEOPLE:
            return
        uses = set(self.sources) & {PEOPLE, ORIGINAL}
        if not uses:
            what = "beliefs" if BELIEFS in self.sources else "no people's labels"
            found = f"the target {self.name}, but {self.target.name} uses {what}"
            raise BadSetting(found, "a target of people's labels or classes", f"write {self.target.name}")

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        own = training_set
        if PEOPLE in self.sources or (ORIGINAL in self.sources and self.label_set != PEOPLE):
            own = own.labeled_by(self.label_set, self.rest, self.target.name, hard=PEOPLE not in self.sources)
        if BELIEFS in self.sources and self.rest is not None:
            own = own.with_beliefs_for_all(self.rest, self.target.name)
        return self.target.labels(own, rng)


def sources_of(target: Any) -> tuple[str, ...]:
    """The label sources that a target uses; a target of your own that does not say uses people's labels."""
    return tuple(getattr(target, "sources", (PEOPLE,)))


def label_set_of(target: Any) -> str:
    """The label set that a target is trained on; empty for targets without one."""
    sources = sources_of(target)
    own = target.label_set if isinstance(target, LabelSetTarget) else PEOPLE
    if PEOPLE in sources:
        return own
    return own if ORIGINAL in sources and own != PEOPLE else ORIGINAL if ORIGINAL in sources else ""


def sets_used_by(target: Any) -> set[str]:
    """The names of all label sets that the labels of a target depend on."""
    rest = target.rest if isinstance(target, LabelSetTarget) else None
    return {label_set_of(target), *((rest,) if rest else ())}


def set_name(target: str, label_set: str) -> str:
    """`soft@equal`; with settings `tempered@equal:temperature=2`. The set `people` is not named."""
    name, colon, settings = target.partition(":")
    return target if label_set == PEOPLE else f"{name}@{label_set}{colon}{settings}"


def check_set_name(name: str, file: Any = None) -> str:
    """The name of a label set, or an error if it cannot be used in the names of targets."""
    if name in RESERVED:
        instead = "beliefs" if name == BELIEFS else "original" if name == ORIGINAL else "teacher"
        fix = f"give it as {instead} (--{instead}), or choose another name"
        raise BadSetting(f"a label set called {name}", "another name: this is another label source", fix, "bad-name")
    if not NAME.fullmatch(name):
        given = f"{show(name)} of {file}" if file else show(name)
        fix = f"write for example {given_as('equal')}"
        raise BadSetting(f"the label set {given}", "a name of letters, digits, - . _", fix, "bad-name")
    return name


def named_targets(
    text: StrategyText, label_sets: Sequence[str], rest: str | None = None, where: ErrorLocation | None = None
) -> dict[str, Any]:
    """The targets that `soft`, `soft@equal` or `soft@equal:rest=original` are short for, by name."""
    from sfumato.training.targets import target_family, target_named

    name, at, label_set = (part.strip() for part in text.name.partition("@"))
    settings = {key: value for key, value in text.settings.items() if key != "rest"}
    written = {key: value for key, value in text.written.items() if key != "rest"}
    made = target_named(name, StrategyText(name, settings, written).typed(target_family(name), where))
    own = str(text.settings["rest"]) if "rest" in text.settings else None
    if own is not None and not {PEOPLE, BELIEFS} & set(sources_of(made)) and not at:
        found, fix = f"rest={own} for {name}, which uses no labels of people", "leave it out"
        raise BadSetting(found, "a target of people's labels or beliefs", fix, where=where)
    shown = StrategyText(name, text.settings).text
    return targets_of_sets(shown, made, label_sets, own or rest, label_set if at else None)


def targets_of_sets(
    name: str, made: Any, label_sets: Sequence[str], rest: str | None = None, label_set: str | None = None
) -> dict[str, Any]:
    """The targets that `name` is short for: that of `label_set`, or one for each of `label_sets` if it uses people's
    labels. `rest` is for targets of people's labels or beliefs."""
    known = [*label_sets, ORIGINAL]
    for each in (label_set, rest):
        if each is not None and each not in known and (each != PEOPLE or label_sets):
            raise unknown("label set", each, known, fix=f"give it with {given_as(each)}")
    sources = sources_of(made)
    if label_set is not None:
        # `hard@original` is `hard`.
        is_plain = label_set == ORIGINAL and PEOPLE not in sources and ORIGINAL in sources
        wanted = [PEOPLE if is_plain else label_set]
    else:
        wanted = list(label_sets) if PEOPLE in sources and label_sets else [PEOPLE]
    found = {}
    for own in wanted:
        uses_rest = rest is not None and (bool({PEOPLE, BELIEFS} & set(sources)) or own != PEOPLE)
        is_plain = own == PEOPLE and not uses_rest
        found[set_name(name, own)] = made if is_plain else LabelSetTarget(made, own, rest if uses_rest else None)
    return found


def note_of_sets(stands_for: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Says which targets were trained on every label set because their names give none."""
    return tuple(
        f"{name} is trained on each label set: {listing(list(names))}"
        for name, names in stands_for.items()
        if list(names) != [name] and "@" not in name.partition(":")[0]
    )
