"""Converters: made-up files of the authors' forms against what the folders must hold, written out by hand."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
from made_up_sets import cifar_picture, made_up_files, sheet_pictures

from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato.importers.importer import CIFAR_10
from sfumato.tables.errors import MissingExtra
from sfumato_papers.converters import CONVERTERS
from sfumato_papers.dataset_source import source_named


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    folder = tmp_path / "upstream"
    folder.mkdir()
    for name, data in made_up_files().items():
        (folder / name).write_bytes(data)
    return folder


def converted(name: str, upstream: Path, place: Path) -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    files = {file.name: upstream / file.name for file in source_named(name).upstream}
    CONVERTERS[name](files, place, folder)
    # A folder holds what the release does, no more and no less.
    assert {path.name for path in folder.iterdir()} == set(source_named(name).files)
    return folder


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


def text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def test_cifar_10_test_is_the_test_batch(upstream: Path, tmp_path: Path) -> None:
    found = arrays(converted("cifar10-test", upstream, tmp_path) / "images.npz")
    assert (found["images"] == [cifar_picture(5, 0), cifar_picture(5, 1)]).all()
    assert found["images"].dtype == found["labels"].dtype == np.uint8
    assert found["labels"].tolist() == [5, 6]
    assert found["class_names"].tolist() == list(CIFAR_10)


def test_cifar_10_train_is_the_first_batch_and_all_classes(upstream: Path, tmp_path: Path) -> None:
    folder = converted("cifar10-train-batch1", upstream, tmp_path)
    found = arrays(folder / "images.npz")
    assert (found["images"] == [cifar_picture(0, 0), cifar_picture(0, 1)]).all()
    assert found["index"].tolist() == [0, 1]
    assert found["labels"].tolist() == [0, 1]
    assert arrays(folder / "train-labels-all50000.npz")["labels"].tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]


def test_cifar_10h_has_the_votes_and_the_classes_of_the_pictures(upstream: Path, tmp_path: Path) -> None:
    converted("cifar10-test", upstream, tmp_path)
    folder = converted("cifar10h", upstream, tmp_path)
    found = arrays(folder / "counts.npz")
    assert found["counts"].dtype == np.uint8
    assert found["counts"].tolist() == [[50] + [0] * 9, [0, 20, 30] + [0] * 7]
    assert found["labels"].tolist() == [5, 6]
    assert text(folder / "annotator-level-9500-9999.csv.gz") == (
        "image_index,annotator_id,chosen_label,true_label\n1,68,2,6\n1,7,1,6\n0,68,0,5\n"
    )


def test_predictions_leave_the_counts_to_cifar_10h(upstream: Path, tmp_path: Path) -> None:
    found = arrays(converted("cifar10-model-predictions", upstream, tmp_path) / "probs.npz")
    assert found["labels"].tolist() == [5, 6]
    assert found["resnet_110"].dtype == np.float32
    assert found["resnet_110"].tolist() == [[0.0] * 8 + [0.75, 0.25], [1.5] * 10]
    assert found["preresnet_110"][1].tolist() == [2.5] * 10
    assert found["densenet_bc_L190_k40"][1].tolist() == [3.5] * 10


def test_cifar_10s_keeps_percents_as_typed_and_nobody_s_name(upstream: Path, tmp_path: Path) -> None:
    folder = converted("cifar10s", upstream, tmp_path)
    answers = text(folder / "elicitations.csv.gz")
    assert answers == (
        "annotator,trial_index,image_index,true_label,most_probable,most_probable_pct_raw,second_probable,"
        "second_probable_pct_raw,impossible,is_repeat,rt_ms,batch\n"
        "0,6,1128,4,4,8p,-1,,0 9,0,47434.5,21\n"
        "1,7,7,6,3,60,5,30,,1,0.10000000149,3\n"
        "0,9,8,8,8, 100,8,0,,0,1.0,21\n"
    )
    labels = arrays(folder / "t2clamp_redist10.npz")
    assert labels["image_index"].tolist() == [7, 7, 2]
    assert labels["soft_labels"].dtype == np.float32
    assert labels["soft_labels"][1].tolist() == [1.0] + [0.0] * 9
    assert text(folder / "human_soft_labels_data.json.gz") == (
        '{"7":[{"Most Probable Class":"Cat","Most Probable Class Prob":60.0}]}'
    )
    assert np.load(folder / "train_indices.npy").tolist() == [3, 1]
    assert np.load(folder / "test_indices.npy").tolist() == [2]


def test_hmix_numbers_people_through_all_three_studies(upstream: Path, tmp_path: Path) -> None:
    folder = converted("hmix", upstream, tmp_path)
    assert text(folder / "infer_mixing_factor.csv.gz") == (
        "annotator,task,label1,index1,label2,index2,true_mixing,response_mixing_pct_raw,confidence_pct,rt_ms,trial_index\n"
        "0,rate_mixture,5,2205,6,6908,0.5,26,100,35999.5,6\n"
        "1,rerun_rate_mixture,0,0,9,1,0.75,0,9,7.25,7\n"
    )
    assert text(folder / "construct_midpoint.csv.gz") == (
        "annotator,task,label1,index1,label2,index2,start_value,final_value,rt_ms\n"
        "1,select_create,2,9624,4,9585,0.1,0.7000000000000001,1.5\n"
        "2,rerun_select_create,3,1,7,2,0.9,0.5,2.5\n"
    )
    assert text(folder / "select_shuffled_midpoint.csv.gz") == (
        "annotator,task,label1,index1,label2,index2,selected_mixing,rt_ms\n0,select_shuffled,1,3,8,4,0.5,3.0\n"
    )
    assert text(folder / "processed_hmix_inferences.json.gz") == '{"mixed":{"Std Dev":0.0050000000000000044}}'


def test_fashion_mnist_h_has_the_classes_of_fashion_mnist(upstream: Path, tmp_path: Path) -> None:
    pictures = arrays(converted("fashion-mnist", upstream, tmp_path) / "test.npz")
    assert pictures["images"].shape == (2, 28, 28)
    assert pictures["labels"].tolist() == [4, 5]
    assert arrays(tmp_path / "fashion-mnist" / "train-first10000.npz")["labels"].tolist() == [4, 5, 6]
    found = arrays(converted("fashion-mnist-h", upstream, tmp_path) / "counts.npz")
    assert found["counts"].dtype == np.uint8
    assert found["counts"].tolist() == [[0, 0, 0, 1, 1, 1, 1, 26, 0, 42], [25, 1, 33, 0, 4, 1, 7, 1, 0, 0]]
    assert found["labels"].tolist() == [4, 5]
    assert found["class_names"].tolist() == list(FASHION_MNIST)


def test_mnist_is_read_pixel_by_pixel(upstream: Path, tmp_path: Path) -> None:
    folder = converted("mnist", upstream, tmp_path)
    drawn = np.random.default_rng(7)
    assert (arrays(folder / "test.npz")["images"] == drawn.integers(0, 256, (2, 28, 28), dtype=np.uint8)).all()
    assert (arrays(folder / "train.npz")["images"] == drawn.integers(0, 256, (3, 28, 28), dtype=np.uint8)).all()


def test_cinic_10_is_cut_exactly_and_what_cifar_10_has_is_marked(upstream: Path, tmp_path: Path) -> None:
    found = arrays(converted("cinic10-sample", upstream, tmp_path) / "images.npz")
    assert (found["images"] == np.concatenate([sheet_pictures(number) for number in range(10)])).all()
    assert found["labels"].tolist() == [number for number in range(10) for _ in range(6)]
    # The fifth picture of the third sheet is the second one of the third batch: number 5 of the training pictures.
    assert np.flatnonzero(found["in_cifar10"]).tolist() == [16]
    assert found["cifar10_split"][16] == "train"
    assert found["cifar10_index"][[15, 16]].tolist() == [-1, 5]


def test_cinic_10_without_pillow_names_the_extra(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match=r"found no Pillow.*CINIC-10.*pip install \"sfumato\[train\]\""):
        converted("cinic10-sample", upstream, tmp_path)


def test_digit_pairs_and_ratings_come_in_the_order_of_their_files(upstream: Path, tmp_path: Path) -> None:
    folder = converted("digit-similarity", upstream, tmp_path)
    pairs = arrays(folder / "pairs.npz")
    assert pairs["images1"][:, 0, 0].tolist() == [digit for digit in range(10) for _ in range(2)]
    assert pairs["images2"][:, 27, 27].tolist() == [digit + 100 for digit in range(10) for _ in range(2)]
    assert pairs["digit"].tolist() == [digit for digit in range(10) for _ in range(2)]
    assert pairs["pair"].tolist() == [0, 1] * 10
    rows = text(folder / "ratings.csv.gz").splitlines()
    assert rows[:7] == [
        "rater,digit,pair,similarity_1_10",
        "0,4,0,1", "0,7,0,3", "0,8,0,4", "0,4,1,6", "0,7,1,3", "0,8,1,10",
    ]  # fmt: skip
    assert [row for row in rows if row.endswith(",7") and ",4,0," in row] == ["6,4,0,7"]


def test_no_id_and_no_word_of_anybody_comes_through(upstream: Path, tmp_path: Path) -> None:
    for name in ("cifar10s", "hmix"):
        for path in converted(name, upstream, tmp_path).glob("*.gz"):
            assert "secret" not in text(path)
            assert "own words" not in text(path)


def test_the_same_files_give_the_same_bytes(upstream: Path, tmp_path: Path) -> None:
    first, second = (converted("hmix", upstream, tmp_path / run) for run in ("first", "second"))
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()
