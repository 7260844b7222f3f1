"""What every model promises: distributions, one-hot soft labels like hard ones, weights, seeds, files, resume."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

import sfumato as sf
from sfumato.tables.errors import BadFile, BadSetting, BadTable, SfumatoError, SfumatoWarning
from sfumato.training.networks.imported_network import ImportedNetwork
from sfumato.training.run_folder import Run

RNG = np.random.default_rng(3)
N, CLASSES = 60, ("cat", "dog", "fox")
NUMBER = np.arange(N) % 3
ITEMS = [f"i{k}" for k in range(N)]
FEATURES = (RNG.normal(size=(N, 6)) + 2 * np.eye(6)[NUMBER]).astype(np.float32)
WORDS = ("purr whiskers", "bark leash", "den red")
TEXTS = [f"{WORDS[k]} and {' '.join(RNG.choice(['day', 'night', 'rain', 'sun'], 3))}" for k in NUMBER]
HARD = np.eye(3)[NUMBER]
SOFT = 0.7 * HARD + 0.3 * RNG.dirichlet(np.ones(3), N)


def own_network(shape: int, n_classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, n_classes))


def own_pipeline() -> Any:
    return make_pipeline(TfidfVectorizer(), LogisticRegression())


HERE = Path(__file__).stem
PREDICTED = 0.4 * HARD + 0.6 * RNG.dirichlet(np.ones(3), N)
"""What a finished model predicts."""
IMAGES = (40 * RNG.random((N, 12, 12)) + 150 * (np.arange(12) % 3 == NUMBER[:, None])[:, None]).astype(np.uint8)
INPUTS = {
    "features": sf.Inputs(tuple(ITEMS), features=FEATURES),
    "sparse": sf.Inputs(tuple(ITEMS), features=csr_array(FEATURES)),
    "texts": sf.Inputs(tuple(ITEMS), texts=tuple(TEXTS)),
    "images": sf.Inputs(tuple(ITEMS), images=IMAGES),
    "predictions": sf.SoftLabels.from_numpy(ITEMS, PREDICTED, CLASSES, 0),
}
ENCODER = "encoder:length=8"
MODELS = {
    "linear": "features",
    "linear:penalty=0.1:standardize=false": "sparse",
    "knn:k=5": "features",
    "boosting:trees=3": "features",
    "text-linear": "texts",
    "sklearn:sklearn.linear_model.LogisticRegression:C=2.0": "sparse",
    "sklearn:sklearn.naive_bayes.GaussianNB": "features",
    f"sklearn:{HERE}.own_pipeline": "texts",
    "linear:penalty=2": "images",
    "linear-head": "predictions",
    "linear-head:mixup=1": "predictions",
    "vector-scaling": "predictions",
    "temperature": "predictions",
    "mlp:width=8:depth=2:dropout=0.2": "features",
    "simple-ffn": "images",
    f"{HERE}:own_network": "features",
    ENCODER: "texts",
}
NETWORKS = ("mlp", "simple-ffn", f"{HERE}:own_network", "encoder")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])


def labels(probs: np.ndarray = SOFT) -> sf.SoftLabels:
    return sf.SoftLabels.from_numpy(ITEMS, probs, CLASSES)


def is_network(model: Any) -> bool:
    return isinstance(model, str) and model.startswith(NETWORKS)


def trained(model: Any, kind: str, *, probs: np.ndarray = SOFT, targets: Any = ("soft",), **more: Any) -> Any:
    tables = {"people": labels(probs), "original": labels(HARD)}
    epochs = {"epochs": 2} if is_network(model) else {}
    return sf.train(INPUTS[kind], tables, targets=targets, model=model, **epochs, **more)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder of Hugging Face in a folder."""
    transformers = pytest.importorskip("transformers", reason="needs transformers, the extra `encoder`")
    folder = tmp_path_factory.mktemp("encoder")
    words = sorted({word for text in TEXTS for word in text.split()})
    vocabulary = folder / "words.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    transformers.BertTokenizer(str(vocabulary)).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=5 + len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("model", "kind"), MODELS.items(), ids=list(MODELS))
def test_every_model_keeps_its_promises(model: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if model == ENCODER:
        model = f"{ENCODER}:folder={request.getfixturevalue('encoder')}"
    runs = trained(model, kind, targets=("hard", "soft", "sampled"), seeds=2, output=tmp_path)
    soft = runs.predictions("soft")
    np.testing.assert_allclose(soft.probs.sum(axis=1), 1, atol=1e-9)
    gold = NUMBER[[ITEMS.index(item) for item in soft.items.to_pylist()]]
    if not is_network(model):
        assert (soft.probs.argmax(axis=1) == gold).mean() > 0.45, "it learns"

    # Soft labels that are one-hot are hard labels.
    sure = trained(model, kind, probs=HARD, targets=("hard", "soft"))
    np.testing.assert_allclose(sure.predictions("soft").probs, sure.predictions("hard").probs, atol=1e-6)

    # The same seed gives the same predictions, and sampled labels differ by seed.
    again = trained(model, kind, targets=("hard", "soft", "sampled"), seeds=2)
    for target in ("soft", "sampled"):
        np.testing.assert_array_equal(again.predictions(target).probs, runs.predictions(target).probs)
    one, two = (runs.predictions("sampled", seed=seed).probs for seed in (0, 1))
    assert not np.array_equal(one, two)

    # A stopped experiment trains what is missing, with the same result.
    lost = tmp_path / runs.runs[0].folder.name
    (lost / "run.json").unlink()
    resumed = trained(model, kind, targets=("hard", "soft", "sampled"), seeds=2, output=tmp_path)
    np.testing.assert_array_equal(resumed.predictions("hard").probs, runs.predictions("hard").probs)

    # Data maps can be drawn: there is a prediction for every training item.
    of_soft = next(each for each in runs.runs if each.metadata["target"] == "soft")
    assert of_soft.dynamics is not None
    assert set(of_soft.dynamics["item"]) == set(ITEMS) - set(soft.items.to_pylist())

    # What is stored predicts the same; what is not stored says so.
    run = Run.read(tmp_path / next(each.folder.name for each in runs.runs if each.metadata["target"] == "soft"))
    if model.startswith(("sklearn", "boosting")):
        with pytest.raises(BadFile, match="not stored"):
            run.predictor()
    else:
        network = ImportedNetwork(model) if ":own_network" in model else None
        if network is not None:
            with pytest.raises(BadFile, match="your own network"):
                run.predictor()
        given = INPUTS[kind]
        inputs = sf.Inputs(tuple(ITEMS), features=PREDICTED) if isinstance(given, sf.SoftLabels) else given
        predicted = run.predictor(network).predict(inputs)
        assert run.predictions is not None
        rows = predicted.rows_of(run.predictions.items.to_pylist())
        np.testing.assert_allclose(predicted.probs[rows], run.predictions.probs, atol=1e-5)


def test_predictions_to_start_from_are_matched_by_item_and_class() -> None:
    plain = sf.train(INPUTS["predictions"], labels(), split="none").predictions("soft")
    order, columns = np.arange(N)[::-1], [2, 0, 1]
    classes = [CLASSES[k] for k in columns]
    turned = sf.SoftLabels.from_numpy([ITEMS[i] for i in order], PREDICTED[order][:, columns], classes, 0)
    again = sf.train(turned, labels(), split="none").predictions("soft")
    np.testing.assert_allclose(again.probs[again.rows_of(plain.items.to_pylist())], plain.probs, atol=1e-6)
    other = sf.SoftLabels.from_numpy(ITEMS, PREDICTED, ("cat", "dog", "owl"), 0)
    with pytest.raises(BadTable, match="the additional class owl and no class fox"):
        sf.train(other, labels())


def test_an_estimator_object_is_a_model() -> None:
    runs = trained(own_pipeline(), "texts", split="k-fold:k=2")
    assert len(runs.predictions("soft").probs) == N
    assert runs.runs[0].metadata["network"] == "LogisticRegression"


def test_texts_without_ids_have_the_order_of_the_labels_with_a_warning() -> None:
    by_item = sf.train(dict(zip(ITEMS, TEXTS, strict=True)), labels()).predictions("soft")
    with pytest.warns(SfumatoWarning, match="in the order of the labels"):
        by_order = sf.train(TEXTS, labels()).predictions("soft")
    np.testing.assert_array_equal(by_order.probs, by_item.probs)
    reversed_labels = sf.SoftLabels.from_numpy(ITEMS[::-1], SOFT[::-1], CLASSES)
    again = sf.train(dict(zip(ITEMS, TEXTS, strict=True)), reversed_labels).predictions("soft")
    np.testing.assert_allclose(again.probs[again.rows_of(by_item.items.to_pylist())], by_item.probs, atol=1e-6)
    with pytest.raises(BadTable, match="texts=") as caught:
        sf.Inputs(tuple(ITEMS), TEXTS)  # type: ignore[arg-type]
    assert caught.value.code == "bad-images"


@pytest.mark.parametrize(
    ("model", "kind", "error", "code", "says"),
    [
        ("lenet", "texts", BadSetting, "wrong-inputs", "use text-linear"),
        ("text-linear", "features", BadSetting, "wrong-inputs", "use linear"),
        ("linear-head", "texts", BadSetting, "wrong-inputs", "predictions to start from"),
        ("encoder", "texts", BadSetting, "bad-setting", "write encoder:folder="),
        ("sklearn", "features", BadSetting, "bad-setting", "sklearn:PACKAGE.CLASS"),
        ("linaer", "features", SfumatoError, "unknown-model", "did you mean 'linear'?"),
        ("sklearn:sklearn.svm.LinearSVC", "features", BadSetting, "no-probabilities", "predict_proba"),
        ("sklearn:sklearn.svm.Nothing", "features", BadSetting, "unknown-import", "sklearn.svm"),
        ("sklearn:no_such_package.Model", "features", BadSetting, "unknown-import", "cannot be imported"),
        ("sklearn:sklearn.linear_model.LogisticRegression:D=2", "features", BadSetting, "bad-setting", "D"),
        ("encoder:folder=nowhere", "texts", BadFile, "no-encoder", "no such folder"),
        (f"{HERE}:nothing", "features", BadSetting, "unknown-import", "no 'nothing'"),
        (f"{HERE}:wrong_shape", "features", BadSetting, "bad-network", "shape (2, 3)"),
        (f"{HERE}:not_a_module", "features", BadSetting, "bad-network", "torch.nn.Module"),
        (f"{HERE}:bad_estimator", "features", BadSetting, "bad-network", "torch.nn.Module"),
        (42, "features", BadSetting, "wrong-argument", "by name or as an object"),
    ],
)
def test_models_that_cannot_be_trained(model: Any, kind: str, error: type, code: str, says: str) -> None:
    with pytest.raises(error) as caught:
        trained(model, kind)
    assert caught.value.code == code
    assert says in str(caught.value)


def wrong_shape(shape: int, n_classes: int) -> nn.Module:
    return nn.Linear(shape, 7)


def not_a_module() -> str:
    return "no module"


def bad_estimator() -> Any:
    return LogisticRegression()


class _SaysNothing:
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:  # noqa: N803
        pass

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return np.full((X.shape[0], 3), np.nan)


def test_a_model_that_predicts_nan_is_named(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match=r"_SaysNothing\.predict_proba"):
        trained(_SaysNothing(), "features", output=tmp_path)
    assert not list(tmp_path.glob("*/run.json"))


class _Model:
    """A model of its own class, which predicts the same for every item."""

    name, takes = "same", ("features",)

    def __init__(self, *prediction: float) -> None:
        self.prediction = prediction

    def fit_many(self, x: Any, probs: Any, weights: Any = None, *, seed: int = 0) -> Any:
        return [self] * len(probs)

    def predict(self, x: Any) -> Any:
        return np.tile(self.prediction, (len(x), 1))


def test_a_model_of_ones_own_that_predicts_nonsense(tmp_path: Path) -> None:
    fine = trained(_Model(0.2, 0.3, 0.5), "features").predictions("soft")
    np.testing.assert_allclose(fine.probs, np.tile([0.2, 0.3, 0.5], (len(fine), 1)))
    lost = trained(_Model(np.nan, np.nan, np.nan), "features", output=tmp_path / "nan")
    assert [run.metadata["ended"] for run in lost.runs] == ["diverged"]
    with pytest.raises(BadSetting, match="correct the model"):
        lost.predictions("soft")
    for prediction in ((0.5, 0.5), (0.25, 0.25, 0.25, 0.25)):
        with pytest.raises(BadTable, match="3 columns, one per class") as caught:
            trained(_Model(*prediction), "features", output=tmp_path / "classes")
        assert caught.value.code == "wrong-shape"


def test_weights_of_items_count() -> None:
    """An item with weight 3 counts as three items."""
    from sfumato.training.models import model_named

    three = np.where(np.arange(N) < 10, 3.0, 1.0)
    times = three.astype(int)
    close = {"linear": 2e-3, "sklearn:sklearn.linear_model.LogisticRegression": 1e-3}
    close |= dict.fromkeys(("linear-head", "vector-scaling", "temperature"), 1e-4)
    repeats = np.repeat(np.arange(N), times)
    for name in (*close, "knn:k=5", "boosting:trees=3"):
        model = model_named(name).model
        x = PREDICTED if close.get(name) == 1e-4 else FEATURES
        weighted = model.fit_many(x, SOFT[None], three)[0].predict(x)
        assert not np.array_equal(weighted, model.fit_many(x, SOFT[None])[0].predict(x)), name
        if name in close:
            repeated = model.fit_many(x[repeats], SOFT[repeats][None])[0]
            np.testing.assert_allclose(repeated.predict(x), weighted, atol=close[name], err_msg=name)
    with pytest.raises(BadSetting, match="which takes none"):
        model_named("sklearn:sklearn.neighbors.KNeighborsClassifier").model.fit_many(FEATURES, SOFT[None], three)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_damaged_encoder_is_named(name: str, encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(encoder, folder)
    (folder / name).write_text("no such thing")
    with pytest.raises(BadFile, match="damaged") as caught:
        trained(f"encoder:folder={folder}", "texts")
    assert caught.value.code == "no-encoder"
