"""Simulated cheats in a paid study: scripts that answer in place of people, and people with two accounts.

A script decides by one of `CONTENTS`, spends time by one of `TIMINGS`, and either sends no input events or forged ones.
All combinations are equally frequent, also those that nothing in the answers can give away. `sfumato simulate --cheats`
sends them, and `bench/cheats.py` measures how many are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from sfumato.elicitation.simulated_annotator import (
    Annotator,
    PresentedQuestion,
    Response,
    drawn_annotators,
    human_seconds,
    number_of,
)
from sfumato.tables.setting_checks import share

CONTENTS = ("random", "constant", "picture hash", "model")
"""Random answers; one answer for everything; an answer that follows from the picture, the same for all such scripts;
and the answers of one vision or language model that is mostly right, the same for all such scripts."""
TIMINGS = ("instant", "regular", "human")
"""At once, with a human time claimed; a fixed waiting time; waiting as long as people do."""
MODEL_SKILL = 0.85
MODEL_CHANGES = 0.05
"""Share of its answers that a model gives differently when asked again."""
INSTANT_SECONDS = 0.2
REGULAR_SECONDS = 5.0
SHARE_HOUSEHOLDS = 0.05
"""Honest people who share a network with the one before: families, offices."""
TOUCH_SHARE = 0.3
OWN_SIZE = 0.5
"""Share of windows with a mouse that do not fill the screen."""
FULL_WINDOWS = {
    "mouse": ((1920, 945, 1.0), (1536, 730, 1.25), (1366, 633, 1.0), (1440, 765, 2.0), (2560, 1305, 1.0)),
    "touch": ((390, 664, 3.0), (393, 659, 3.0), (360, 668, 3.0), (412, 785, 2.625), (430, 739, 3.0)),
}
"""Width, height and resolution of windows that fill common screens; assumed to be equally frequent."""


@dataclass(frozen=True)
class Script:
    """A script with an account of its own. It knows the answers to the comprehension questions."""

    content: str
    timing: str
    forges_inputs: bool
    favorite: int = 0

    @property
    def attention(self) -> float:
        return 0.0

    def answer(
        self, truths: Sequence[Float[np.ndarray, "classes"]], asked: PresentedQuestion, rng: np.random.Generator
    ) -> Response:
        """The answer of `Kind.simulate` for what the script decides."""
        item = "\0".join(asked.stimulus.shown)
        source = np.random.default_rng(number_of("script", self.content, item))
        drawn = rng if self.content in ("random", "constant") or rng.random() < MODEL_CHANGES else source
        beliefs = [self._belief(truth, drawn).tolist() for truth in truths]
        raw = asked.kind.simulate(beliefs, asked.stimulus, asked.study, drawn)
        claimed = human_seconds(rng)
        spent = {"instant": INSTANT_SECONDS, "regular": REGULAR_SECONDS, "human": claimed}[self.timing]
        return Response(raw, REGULAR_SECONDS if self.timing == "regular" else claimed, 0.0, spent, self.forges_inputs)

    def _belief(self, truth: Float[np.ndarray, "classes"], rng: np.random.Generator) -> Float[np.ndarray, "classes"]:
        n_classes = len(truth)
        if self.content == "model":
            return np.asarray(MODEL_SKILL * truth + (1 - MODEL_SKILL) * rng.dirichlet(np.ones(n_classes)))
        chosen = self.favorite % n_classes if self.content == "constant" else int(rng.integers(n_classes))
        return np.asarray(0.05 / n_classes + 0.95 * np.eye(n_classes)[chosen])


@dataclass(frozen=True)
class Account:
    """One account of a simulated study: the annotator who uses it, and the simulated device and network."""

    annotator: Annotator
    role: Literal["honest", "script", "double", "borrower"]
    device: int
    """Accounts with the same device are of one person."""
    network: int
    person: int
    """The person whose platform id they give: their own, or that of the owner of a borrowed account."""
    family: str = ""
    """For a script, what it does."""

    @property
    def is_owner(self) -> bool:
        """Whether they come under an id of their own."""
        return self.role != "borrower"


@dataclass(frozen=True)
class CheatShares:
    """Shares of the accounts: scripts, people with two accounts (both count), and borrowers of another's account."""

    scripts: float = 0.2
    doubles: float = 0.1
    borrowers: float = 0.05

    def __post_init__(self) -> None:
        for name in ("scripts", "doubles", "borrowers"):
            share(name, getattr(self, name))
        share("scripts + doubles + borrowers", self.scripts + self.doubles + self.borrowers)


def drawn_accounts(n: int, n_classes: int, shares: CheatShares, rng: np.random.Generator) -> list[Account]:
    """`n` accounts in random order, with cheats in the given shares; the others are honest and attentive.

    Scripts come from addresses of their own. Some honest people share a network with another one (`SHARE_HOUSEHOLDS`).
    """
    n_scripts, n_borrowers = round(shares.scripts * n), round(shares.borrowers * n)
    people = iter(drawn_annotators(n, n_classes, rng, careless=0.0))
    accounts = [_script(number, int(rng.integers(n_classes))) for number in range(n_scripts)]
    for _ in range(round(shares.doubles * n / 2)):
        device, person = len(accounts), next(people)
        accounts += [Account(person, "double", device, device, device + again) for again in (0, 1)]
    while len(accounts) < n - n_borrowers:
        device = len(accounts)
        is_shared = accounts and accounts[-1].role == "honest" and rng.random() < SHARE_HOUSEHOLDS
        network = accounts[-1].network if is_shared else device
        accounts.append(Account(next(people), "honest", device, network, device))
    honest = [account.person for account in accounts if account.role == "honest"]
    while honest and len(accounts) < n:
        device, victim = len(accounts), honest[int(rng.integers(len(honest)))]
        accounts.append(Account(next(people), "borrower", device, device, victim))
    return [accounts[place] for place in rng.permutation(len(accounts))]


def drawn_window(rng: np.random.Generator) -> tuple[str, float, float, float]:
    """A window: pointer, width, height and resolution. Windows that fill the screen have one of a few sizes."""
    pointer = "touch" if rng.random() < TOUCH_SHARE else "mouse"
    full = FULL_WINDOWS[pointer]
    width, height, ratio = full[int(rng.integers(len(full)))]
    if pointer == "mouse" and rng.random() < OWN_SIZE:
        width, height = (round(side * rng.uniform(0.5, 1)) for side in (width, height))
    return pointer, width, height, ratio


def _script(number: int, favorite: int) -> Account:
    """The scripts go through all combinations."""
    rest, content = divmod(number, len(CONTENTS))
    rest, timing = divmod(rest, len(TIMINGS))
    forges = bool(rest % 2)
    script = Script(CONTENTS[content], TIMINGS[timing], forges, favorite)
    family = f"{CONTENTS[content]}, {TIMINGS[timing]}, {'forged' if forges else 'no'} inputs"
    return Account(script, "script", number, number, number, family)
