"""Trainings on mixed images, with the labels they need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Int

from sfumato import Inputs, SoftLabels
from sfumato.aggregation import Mean
from sfumato.labeling import ClassSimilarity, TopTwoClamp
from sfumato.labeling.simulated_soft_labels import SimulatedTopTwo
from sfumato.tables.doubt import entropy
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.mixing import ClassPair, CurveFit, EntropyWeighted, HumanMixtures, Mixing, MixMaxEnt, Mixup, Plain
from sfumato.training.networks import Network, PreactResNet, Small
from sfumato.training.optimizers import OneCycle, Sgd, StepSchedule
from sfumato.training.recipe import Recipe
from sfumato.training.splits import Fold
from sfumato.training.targets import EntropyMatchedTarget, HardTarget, SoftTarget, Target
from sfumato.training.training_set import TrainingSet
from sfumato_papers.collins_mixup.hmix import mixtures, thesis_collection
from sfumato_papers.collins_mixup.mixture_targets import ClassPairWeighted, labelings
from sfumato_papers.paper import Rerun, Scale, once
from sfumato_papers.published_data import PublishedData

N_ANNOTATORS = 6
"""As many simulated people per item as CIFAR-10S has real ones; the thesis does not say."""
DOUBTFUL = 0.25
"""From this entropy on, in nats, an item's answers have the statistics of doubtful ones."""
SEED = 2022


def soft_endpoints(data: PublishedData) -> SoftLabels:
    """The mean label of every CIFAR-10 test picture: of the real answers of CIFAR-10S, else of simulated ones.

    The class that a simulated person names first is drawn from CIFAR-10H's votes. Which classes are alike is read from
    CIFAR-10H's mean label of each class: the thesis took word embeddings (GloVe).
    """
    people = data.cifar_10h
    rng = np.random.default_rng(SEED)
    first = people.probs.argmax(axis=1)
    means = np.stack([people.probs[first == k].mean(axis=0) for k in range(len(people.classes))])
    simulated = SimulatedTopTwo(similarity=ClassSimilarity(people.classes, means + means.T, "CIFAR-10H"))
    doubtful = entropy(people.probs) >= DOUBTFUL
    drawn = [simulated.soften(_voted(people, rng), doubtful, rng).probs.astype(np.float64) for _ in range(N_ANNOTATORS)]
    probs = np.mean(drawn, axis=0)
    elicited = Mean().aggregate(TopTwoClamp().label(data.cifar_10s, people.classes)).labels
    probs[people.rows_of(elicited.items)] = elicited.probs
    return SoftLabels.from_numpy(people.items.to_pylist(), probs / probs.sum(axis=1, keepdims=True), people.classes)


def _voted(people: SoftLabels, rng: np.random.Generator) -> SoftLabels:
    """One vote an item, drawn from those it got."""
    chosen = (people.probs.cumsum(axis=1) < rng.random((len(people), 1))).sum(axis=1)
    labels = [people.classes[k] for k in np.minimum(chosen, len(people.classes) - 1)]
    return SoftLabels.one_hot(people.items.to_pylist(), labels, people.classes)


SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 5}
EPOCHS = {Scale.SMALL: 10, Scale.CPU: 40, Scale.FULL: 200}
N_LEARNT = {Scale.SMALL: 500, Scale.CPU: 1000, Scale.FULL: 7000}
"""How many of the 7,000 items are learned from."""
N_MIXTURES = {Scale.SMALL: 150, Scale.CPU: 270, Scale.FULL: 810}
N_TESTED = {Scale.SMALL: 1000, Scale.CPU: 2000, Scale.FULL: 3000}
DEPTHS = (18, 34)
"""Of the PreAct ResNets of chapter 4, and of chapter 5 and appendix C."""
WIDTHS = {Scale.SMALL: 8, Scale.CPU: 16}
"""Of the small network. The wider one learns its few items by heart, as the published ones do."""
REGULAR, AUGMENTING = "regular", "augmenting"
HARD, SOFT, MATCHED = "hard", "soft", "entropy-matched"
MIXUP, MIX_MAX_ENT, ENT_WC, TAU, TAU_ENT_WC = "mixup", "mix-max-ent", "ent-wc", "class-pair", "class-pair-ent-wc"


def scaled_down(scale: Scale, depth: int) -> str:
    if scale == Scale.FULL:
        return ""
    n_train, n, width = N_LEARNT[scale], N_MIXTURES[scale], WIDTHS[scale]
    parts = [
        f"the small network ({width}, {2 * width}, {4 * width} channels) for a PreAct ResNet-{depth}",
        f"{EPOCHS[scale]} epochs in one cycle for 200 in steps",
        *[f"{SEEDS[scale]} seeds for 5"] * (SEEDS[scale] != SEEDS[Scale.FULL]),
        f"{n_train:,} for 7,000 items to learn from",
    ]
    if depth == DEPTHS[0]:
        parts.append(f"next to them {n:,} mixed images, which weigh {n / (n + n_train):.0%} for 10%")
    if N_TESTED[scale] < N_TESTED[Scale.FULL]:
        parts.append(f"{N_TESTED[scale]:,} for 3,000 items to predict")
    return "; ".join(parts)


def network_of(scale: Scale, depth: int) -> tuple[str, Network]:
    """The network of a chapter, under its name."""
    if scale == Scale.FULL:
        return f"preact-resnet-{depth}", PreactResNet(depth)
    return f"small-{WIDTHS[scale]}", Small(WIDTHS[scale])


def recipe(scale: Scale, mixing: Mixing) -> Recipe:
    """As the code of mixup (Zhang et al. 2018) trains, without augmentation; in one short cycle at smaller scales."""
    return Recipe(
        epochs=scale.of(EPOCHS),
        batch_size=128 if scale == Scale.FULL else 64,
        optimiser=Sgd(rate=0.1, momentum=0.9, weight_decay=1e-4),
        schedule=StepSchedule((100, 150), 0.1) if scale == Scale.FULL else OneCycle(),
        mixing=mixing,
        dynamics="none",
    )


def grid(rerun: Rerun, targets: dict[str, Target], mixing: Mixing, depths: tuple[int, ...]) -> Grid:
    return Grid(
        targets=targets,
        networks=dict(network_of(rerun.scale, depth) for depth in depths),
        seeds=tuple(range(rerun.scale.of(SEEDS))),
        recipe=recipe(rerun.scale, mixing),
        device=rerun.device,
    )


@once
def mixings(rerun: Rerun) -> dict[str, Mixing]:
    """Every mixing of a batch that is compared, by the name of its grid."""
    # The published way: every pair by itself, with nothing to draw it towards the others.
    curves = CurveFit(prior=0.0).fit(thesis_collection(rerun).judgments)
    return {
        REGULAR: Plain(),
        MIXUP: Mixup(alpha=1.0),
        MIX_MAX_ENT: MixMaxEnt(alpha=10.0, weight=1.0),
        ENT_WC: EntropyWeighted(alpha=0.2, kappa=0.7),
        TAU: ClassPair.fitted(curves, alpha=1.0),
        TAU_ENT_WC: ClassPairWeighted(ClassPair.fitted(curves, alpha=0.2), EntropyWeighted(alpha=0.2, kappa=0.7)),
    }


def split(rerun: Rerun) -> tuple[Int[np.ndarray, "train"], Int[np.ndarray, "test"]]:
    """The items learned from and predicted, by number: at smaller scales some, drawn once."""
    rng = np.random.default_rng(2023)
    train, test = (rng.permutation(part) for part in rerun.data.cifar_split())
    return np.sort(train[: rerun.scale.of(N_LEARNT)]), np.sort(test[: rerun.scale.of(N_TESTED)])


@once
def tested(rerun: Rerun) -> Inputs:
    return rerun.data.cifar_10_test.take(split(rerun)[1])


@once
def _plain_data(rerun: Rerun) -> tuple[TrainingSet, Fold]:
    """The items themselves; people's labels of those learned from are CIFAR-10S's, elicited or simulated."""
    train, test = split(rerun)
    numbers = np.concatenate([train, test])
    people, simulated = rerun.data.cifar_10h, soft_endpoints(rerun.data)
    items = [str(n) for n in numbers]
    probs = np.concatenate([simulated.probs[simulated.rows_of(items[: len(train)])],
                            people.probs[people.rows_of(items[len(train) :])]])  # fmt: skip
    data = join_items(
        rerun.data.cifar_10_test.take(numbers), people=SoftLabels.from_numpy(items, probs, people.classes)
    )
    return data, Fold(0, np.arange(len(train)), np.arange(len(train), len(numbers)))


def _augmented_data(rerun: Rerun) -> tuple[TrainingSet, Fold]:
    """The items, and after them the mixed images; of a mixture's two classes the larger share is its original one."""
    train, test = split(rerun)
    numbers = np.concatenate([train, test])
    plain = join_items(rerun.data.cifar_10_test.take(numbers), classes=rerun.data.cifar_10h.classes)
    mixed = _mixtures(rerun)
    told = mixed.judgments
    original = plain.original
    assert original is not None
    training_set = TrainingSet(
        (*plain.items, *mixed.items),
        plain.classes,
        np.concatenate([original, np.where(told.generating >= 0.5, told.first, told.second)]),
        images=np.concatenate([plain.images, mixed.images]),
    )
    n_train = np.concatenate([np.arange(len(train)), np.arange(len(numbers), len(training_set.items))])
    return training_set, Fold(0, n_train, np.arange(len(train), len(numbers)))


def _mixtures(rerun: Rerun) -> HumanMixtures:
    mixed = mixtures(rerun)
    return mixed.take(mixed.items[: rerun.scale.of(N_MIXTURES)])


@once
def augmented(rerun: Rerun) -> Path:
    """The runs of tables 4.1 to 4.3: one labeling of the mixed images a target, no mixing of batches."""
    data, fold = _augmented_data(rerun)
    asked = grid(rerun, labelings(_mixtures(rerun)), Plain(), DEPTHS[:1])
    return rerun.train(AUGMENTING, data=data, folds=[fold], grid=asked)


@once
def mixed(rerun: Rerun, name: str) -> Path:
    """The runs of one mixing, with hard and soft endpoints; class-pair mixing is about hard ones alone."""
    data, fold = _plain_data(rerun)
    targets: dict[str, Target] = {HARD: HardTarget()}
    if name not in (TAU, TAU_ENT_WC):
        targets[SOFT] = SoftTarget()
    if name not in (REGULAR, TAU, TAU_ENT_WC):
        targets[MATCHED] = EntropyMatchedTarget()
    depths = DEPTHS if name == REGULAR else DEPTHS[1:]
    return rerun.train(name, data=data, folds=[fold], grid=grid(rerun, targets, mixings(rerun)[name], depths))
