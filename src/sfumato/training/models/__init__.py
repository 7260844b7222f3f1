"""Models by name: fitted in one step (linear, text-linear, knn ...), or networks trained epoch by epoch.

`MODELS` lists the first kind, `sfumato.training.networks` the second; your own are `sklearn:package.Class`, an
estimator of scikit-learn, and `package:function`, a network of torch. Does not import torch unless a network is asked
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sfumato.tables.errors import BadSetting, ErrorLocation, missing_extra, unknown
from sfumato.tables.strategies import StrategyText, strategy_from_name
from sfumato.training.models.as_predicted import AsPredicted
from sfumato.training.models.boosted_trees import Boosting
from sfumato.training.models.calibration_heads import FittedHead, LinearHead, TemperatureScaling, VectorScaling
from sfumato.training.models.imported_estimator import ImportedEstimator
from sfumato.training.models.linear import FittedLinear, LinearModel
from sfumato.training.models.nearest_neighbors import FittedNeighbors, NearestNeighbors
from sfumato.training.models.text_linear import FittedTextLinear, TextLinear

MODELS: tuple[Any, ...] = (
    LinearModel,
    NearestNeighbors,
    Boosting,
    TextLinear,
    LinearHead,
    VectorScaling,
    TemperatureScaling,
    AsPredicted,
    ImportedEstimator,
)
USUAL_MODELS = {"texts": "text-linear", "features": "linear", "images": "lenet"}
"""The model for each kind of inputs if none is named."""
USUAL_HEADS = (AsPredicted.name, LinearHead.name)
"""The models on the predictions of a finished model if none is named."""
HEADS = (AsPredicted.name, LinearHead.name, VectorScaling.name, TemperatureScaling.name)
"""The models on the predictions of a finished model."""
STORED: Mapping[str, Any] = {
    LinearModel.name: FittedLinear,
    NearestNeighbors.name: FittedNeighbors,
    TextLinear.name: FittedTextLinear,
    LinearHead.name: FittedHead,
    VectorScaling.name: FittedHead,
    TemperatureScaling.name: FittedHead,
}
"""The trained models that are written to the folders of their runs; of others, runs hold predictions only."""


@dataclass(frozen=True)
class NamedModel:
    """A model with its name in the runs."""

    text: str
    model: Any


def model_named(value: Any, where: ErrorLocation | None = None) -> NamedModel:
    """The model that a name with settings, or a table of them, describes."""
    if value == ImportedEstimator.name:
        fix = "write sklearn:sklearn.naive_bayes.GaussianNB"
        raise BadSetting("sklearn without a class", "sklearn:PACKAGE.CLASS", fix, where=where)
    if isinstance(value, str) and value.startswith(f"{ImportedEstimator.name}:"):
        return NamedModel(value, ImportedEstimator.from_text(value))
    if isinstance(value, str) and _is_import(value):
        from sfumato.training.networks.imported_network import ImportedNetwork

        return NamedModel(value, ImportedNetwork(value))
    choice = StrategyText.of(value, where)
    if choice.name in names_of_models():
        settings = choice.typed(MODELS, where)
        return NamedModel(choice.text, strategy_from_name("model", MODELS, choice.name, settings))
    return NamedModel(choice.text, _network(choice, where))


def names_of_models() -> list[str]:
    return [member.name for member in MODELS]


def is_network(model: Any) -> bool:
    """Whether a model is a network of torch, which is trained epoch by epoch."""
    return hasattr(model, "build")


def is_network_settings(settings: Any) -> bool:
    """The same for the settings of a model in `run.json`."""
    name = settings.get("name") if isinstance(settings, Mapping) else settings
    return name not in names_of_models()


def _is_import(text: str) -> bool:
    """Whether `text` is `package:function`, and not a name with settings."""
    name, _, rest = text.partition(":")
    return rest.isidentifier() and all(part.isidentifier() for part in name.split("."))


def _network(choice: StrategyText, where: ErrorLocation | None) -> Any:
    if find_spec("torch") is None:
        raise missing_extra("torch", f"to train {choice.name}", "train")
    from sfumato.training.networks import NAMED, NETWORKS, TEXT_NETWORKS, network_named

    members = (*NETWORKS, *TEXT_NETWORKS)
    families = [family.name for family in members]
    if choice.name not in (*NAMED, *families):
        raise unknown("model", choice.name, [*names_of_models(), *dict.fromkeys([*NAMED, *families])], where=where)
    return network_named(choice.name, choice.typed(members, where))
