"""What every model promises: distributions, one-hot soft labels like hard ones, weights, seeds, files, resume."""

from __future__ import annotations

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
    return nn.Sequential(nn.Linear(shape, 8), nn.Tanh(), nn.Linear(8, n_classes))


def own_pipeline() -> Any:
    return make_pipeline(TfidfVectorizer(), LogisticRegression())


HERE = Path(__file__).stem
INPUTS = {
    "features": sf.Inputs(tuple(ITEMS), features=FEATURES),
    "sparse": sf.Inputs(tuple(ITEMS), features=csr_array(FEATURES)),
    "texts": sf.Inputs(tuple(ITEMS), texts=tuple(TEXTS)),
}
MODELS = {
    "linear": "features",
    "linear:penalty=0.1:standardize=false": "sparse",
    "knn:k=5": "features",
    "boosting:trees=3": "features",
    "text-linear": "texts",
    "sklearn:sklearn.linear_model.LogisticRegression:C=2.0": "sparse",
    "sklearn:sklearn.naive_bayes.GaussianNB": "features",
    f"sklearn:{HERE}.own_pipeline": "texts",
    "mlp:width=8:depth=1": "features",
    f"{HERE}:own_network": "features",
}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])


def labels(probs: np.ndarray = SOFT) -> sf.SoftLabels:
    return sf.SoftLabels.from_numpy(ITEMS, probs, CLASSES)


def trained(model: Any, kind: str, *, probs: np.ndarray = SOFT, targets: Any = ("soft",), **more: Any) -> Any:
    tables = {"people": labels(probs), "original": labels(HARD)}
    epochs = {"epochs": 2} if isinstance(model, str) and ("mlp" in model or ":own_network" in model) else {}
    return sf.train(INPUTS[kind], tables, targets=targets, model=model, **epochs, **more)


@pytest.mark.parametrize(("model", "kind"), MODELS.items(), ids=list(MODELS))
def test_every_model_keeps_its_promises(model: str, kind: str, tmp_path: Path) -> None:
    runs = trained(model, kind, targets=("hard", "soft", "sampled"), seeds=2, output=tmp_path)
    soft = runs.predictions("soft")
    np.testing.assert_allclose(soft.probs.sum(axis=1), 1, atol=1e-9)
    gold = NUMBER[[ITEMS.index(item) for item in soft.items.to_pylist()]]
    if "own_network" not in model and "mlp" not in model:
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
        predicted = run.predictor(network).predict(INPUTS[kind])
        assert run.predictions is not None
        rows = predicted.rows_of(run.predictions.items.to_pylist())
        np.testing.assert_allclose(predicted.probs[rows], run.predictions.probs, atol=1e-6)


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


def test_weights_of_items_count() -> None:
    """An item with weight 3 counts as three items."""
    from sfumato.training.models import model_named

    three = np.where(np.arange(N) < 10, 3.0, 1.0)
    times = three.astype(int)
    for name in ("linear", "knn:k=5", "sklearn:sklearn.linear_model.LogisticRegression"):
        model = model_named(name).model
        weighted = model.fit_many(FEATURES, SOFT[None], three)[0].predict(FEATURES)
        if name.startswith("knn"):
            assert not np.array_equal(weighted, model.fit_many(FEATURES, SOFT[None])[0].predict(FEATURES))
            continue
        repeated = model.fit_many(np.repeat(FEATURES, times, axis=0), np.repeat(SOFT, times, axis=0)[None])[0]
        tolerance = 2e-3 if name == "linear" else 1e-3
        np.testing.assert_allclose(repeated.predict(FEATURES), weighted, atol=tolerance)


def test_a_local_encoder_is_trained_on_texts(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel, BertTokenizer

    words = sorted({word for text in TEXTS for word in text.split()})
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    folder = tmp_path / "tiny"
    BertTokenizer(str(vocabulary)).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=5 + len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertModel(config).save_pretrained(folder)
    runs = sf.train(
        INPUTS["texts"], labels(), model=f"encoder:folder={folder}:length=8", epochs=3, output=tmp_path / "runs"
    )
    run = runs.runs[0]
    assert run.metadata["kind"] == "texts"
    predicted = run.predictor().predict(INPUTS["texts"])
    assert run.predictions is not None
    rows = predicted.rows_of(run.predictions.items.to_pylist())
    np.testing.assert_allclose(predicted.probs[rows], run.predictions.probs, atol=1e-5)
