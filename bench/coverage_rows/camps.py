"""Camps: how often two camps are found, and how often they are found where there are none."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from sfumato.labeling.camps import camps
from sfumato.tables.beliefs import Beliefs

MINORITY = CONTESTED = 0.35
GOAL = (
    "With at least 10 answers per item, 35% of the annotators who answer 35% of the items differently should be found "
    "in 75% of studies, and no more than 7% of studies without camps should report them: people alike, of different "
    "skill, 15% answering at random, or with individual preferences for classes. `right` is the share of annotators in "
    "their own camp, and `items` the number of divided items, estimated and true, both where camps were found."
)
WITHOUT = ("alike", "skill", "random", "preference")
HEAD = [
    "annotators",
    "answers each",
    "per item",
    "classes",
    "answers",
    "camps found",
    "right",
    "items",
    *(f"false: {each}" for each in WITHOUT),
]


@dataclass(frozen=True)
class Design:
    """A simulated study: the number of annotators and answers, and their form."""

    annotators: int = 60
    answers: int = 20
    per_item: int = 10
    classes: int = 4
    kind: str = "votes"
    """`votes`, `uneven votes` (some annotators give many more answers than others), or `beliefs`."""

    @property
    def items(self) -> int:
        return self.annotators * self.answers // self.per_item


DESIGNS = (
    Design(),
    Design(per_item=20),
    Design(annotators=120, per_item=10),
    Design(annotators=25, answers=80, classes=3),
    Design(annotators=60, answers=20, classes=2),
    Design(annotators=80, answers=40, classes=8),
    Design(kind="uneven votes"),
    Design(kind="beliefs"),
    Design(per_item=5),
)


@dataclass(frozen=True, eq=False)
class SimulatedCamps:
    """The answers of a study, the camp of each annotator (1 or 2), and the number of divided items."""

    beliefs: Beliefs
    camp: dict[str, int]
    n_divided: int

    @classmethod
    def drawn(cls, design: Design, world: str, rng: np.random.Generator) -> SimulatedCamps:
        """`world` is `camps` or one of `WITHOUT`."""
        n, n_items, n_classes = design.annotators, design.items, design.classes
        item, who = _assigned(design, rng)
        usual = rng.integers(0, n_classes, n_items)
        # With more than four classes the usual one is more attractive, so that items are equally difficult.
        clear = rng.normal(2.0 + max(np.log((n_classes - 1) / 3), 0), 1.0, n_items)
        utility = np.eye(n_classes)[usual] * clear[:, None] + rng.normal(0, 0.4, (n_items, n_classes))
        seen, camp, is_divided = utility[item], np.ones(n, np.int64), np.zeros(n_items, bool)
        if world == "camps":
            camp[rng.permutation(n)[: round(MINORITY * n)]] = 2
            is_divided = rng.random(n_items) < CONTESTED
            other = (usual + rng.integers(1, n_classes, n_items)) % n_classes
            differently = np.eye(n_classes)[other] * np.abs(clear)[:, None] + rng.normal(0, 0.4, utility.shape)
            seen = np.where((is_divided[item] & (camp[who] == 2))[:, None], differently[item], seen)
        skill = np.ones(n)
        if world == "skill":
            skill = np.exp(rng.normal(0, 0.5, n))
        if world == "random":
            skill = np.where(rng.random(n) < 0.15, 0.0, 1.0)
        preference = rng.normal(0, 0.4, (n, n_classes)) if world == "preference" else np.zeros((n, n_classes))
        seen = seen * skill[who][:, None] + preference[who] + rng.gumbel(size=seen.shape)
        answer: np.ndarray = seen.argmax(axis=1)
        if design.kind == "beliefs":
            answer = np.exp(seen - seen.max(axis=1, keepdims=True))
            answer /= answer.sum(axis=1, keepdims=True)
        names = [f"i{each}" for each in item], [f"a{each}" for each in who]
        beliefs = Beliefs.from_numpy(*names, answer, [f"c{k}" for k in range(n_classes)])
        return cls(beliefs, {f"a{i}": int(each) for i, each in enumerate(camp)}, int(is_divided.sum()))


def _assigned(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The item and the annotator of every answer."""
    if design.kind != "uneven votes":
        item = np.concatenate([rng.choice(design.items, design.answers, False) for _ in range(design.annotators)])
        return item, np.repeat(np.arange(design.annotators), design.answers)
    activity = np.log(rng.pareto(1.5, design.annotators) + 0.3)
    order = np.argsort(activity + rng.gumbel(size=(design.items, design.annotators)), axis=1)
    return np.repeat(np.arange(design.items), design.per_item), order[:, -design.per_item :].ravel()


def study(design: Design, world: str, seed: int) -> tuple[float, ...]:
    """Whether camps were found; if there are some, also the share of annotators in the right camp, and the number of
    divided items, estimated and true."""
    drawn = SimulatedCamps.drawn(design, world, np.random.default_rng([seed, 1]))
    found = camps(drawn.beliefs, rng=np.random.default_rng([seed, 2]))
    if not found.found or world != "camps":
        return float(found.found), np.nan, np.nan, np.nan
    likelier = (found.members.probability_2 > 0.5) + 1
    own = [drawn.camp[name] == camp for name, camp in zip(found.members.annotator, likelier, strict=True)]
    return 1.0, float(np.mean(own)), found.n_divided, drawn.n_divided


def simulate(studies: int, processes: int) -> list[list[str]]:
    table = []
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for design in DESIGNS:
            cells = {
                world: np.array(list(pool.map(partial(study, design, world), range(studies), chunksize=10)))
                for world in ("camps", *WITHOUT)
            }
            tested = design.per_item >= 10
            right, estimated, true = np.nanmean(cells["camps"][:, 1:], axis=0) if tested else (np.nan,) * 3
            table.append(
                [
                    str(design.annotators),
                    str(design.answers),
                    str(design.per_item),
                    str(design.classes),
                    design.kind,
                    f"{cells['camps'][:, 0].mean():.2f}" if tested else "not tested",
                    f"{right:.2f}" if tested else "",
                    f"{estimated:.0f} of {true:.0f}" if tested else "",
                    *(f"{cells[world][:, 0].mean():.2f}" if tested else "" for world in WITHOUT),
                ]
            )
    return table
