"""Converters from the files that authors publish to the folders that are read here, one per data set.

A converter gets the paths of the published files (by name), the folder of the other sets, and an empty folder to
fill. It writes the same content every time. To add a set: an entry in `dataset_sources.toml` and a converter here."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato.importers.importer import CIFAR_10
from sfumato.tables.errors import missing_extra
from sfumato.tables.files import read_arrays, read_document


def write_arrays(path: Path, **arrays: np.ndarray) -> None:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def write_document(path: Path, document: object) -> None:
    path.write_bytes(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0))


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, every field as it is written."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbered(names: Iterable[str]) -> dict[str, int]:
    """Names and their numbers, in the order of their first appearance: nobody's own id is kept."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


ARCHIVE = "cifar-10-binary.tar.gz"
TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = "test_batch.bin"
SIDE = 32
RECORD_BYTES = 1 + 3 * SIDE * SIDE


@dataclass(frozen=True, eq=False)
class Batch:
    """Pictures of the archive with their classes, in its order."""

    images: UInt8[np.ndarray, "items 32 32 3"]
    labels: UInt8[np.ndarray, "items"]


def batches(archive: Path, *names: str) -> list[Batch]:
    """The batches called `names`, read without unpacking anything to the disk."""
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.rpartition("/")[2]
            if name in names and (file := tar.extractfile(member)) is not None:
                records = np.frombuffer(file.read(), np.uint8).reshape(-1, RECORD_BYTES)
                planes = records[:, 1:].reshape(-1, 3, SIDE, SIDE)
                found[name] = Batch(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, 0].copy())
    return [found[name] for name in names]


def convert_test(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    (test,) = batches(files[ARCHIVE], TEST)
    write_arrays(folder / "images.npz", images=test.images, labels=test.labels, class_names=np.array(CIFAR_10))


def convert_train(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """The first of the five batches of training pictures, and the classes of all five."""
    train = batches(files[ARCHIVE], *TRAIN)
    first = train[0]
    write_arrays(
        folder / "images.npz",
        images=first.images,
        labels=first.labels,
        index=np.arange(len(first.labels), dtype=np.int32),
        class_names=np.array(CIFAR_10),
    )
    write_arrays(folder / "train-labels-all50000.npz", labels=np.concatenate([batch.labels for batch in train]))


NETWORKS = ("resnet-110", "preresnet-110", "densenet-bc-L190-k40")
N_CLASSES = 10


def convert_predictions(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """A row has the class, ten counts of CIFAR-10H, and ten probabilities; the counts are left to CIFAR-10H."""
    tables = {name: np.loadtxt(files[f"{name}.csv"], delimiter=",", ndmin=2) for name in NETWORKS}
    probs = {name.replace("-", "_"): table[:, 1 + N_CLASSES :].astype(np.float32) for name, table in tables.items()}
    write_arrays(folder / "probs.npz", labels=tables[NETWORKS[0]][:, 0].astype(np.uint8), **probs)


COUNTS = "cifar10h-counts.npy"
ANSWERS = "answers_valid.json"


def convert_cifar_10h(files: Mapping[str, Path], place: Path, folder: Path) -> None:
    """Votes are small numbers: a byte each. The classes of the pictures come from CIFAR-10."""
    labels = read_arrays(place / "cifar10-test" / "images.npz")["labels"]
    counts = np.load(files[COUNTS], allow_pickle=False).astype(np.uint8)
    write_arrays(folder / "counts.npz", counts=counts, labels=labels, class_names=np.array(CIFAR_10))
    rows = []
    for picture, chosen in read_document(files[ANSWERS]).items():
        rows += [(picture, annotator, label, labels[int(picture)]) for annotator, label in chosen.items()]
    columns = ("image_index", "annotator_id", "chosen_label", "true_label")
    write_table(folder / "annotator-level-9500-9999.csv.gz", columns, rows)


TASKS = {"spec_conf": 0, "rerun_spec_conf": 1}
"""The rows that are answers, and whether they are a second showing."""
ELICITATION_COLUMNS = (
    "annotator", "trial_index", "image_index", "true_label", "most_probable", "most_probable_pct_raw",
    "second_probable", "second_probable_pct_raw", "impossible", "is_repeat", "rt_ms", "batch",
)  # fmt: skip
NUMBERS = {name.title(): number for number, name in enumerate(CIFAR_10)}


def convert_cifar_10s(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """Percents stay as they were typed; people become numbers; what they wrote about themselves is left out."""
    answers = [row for row in read_table(files["raw_human_data.csv"]) if row["task"] in TASKS]
    people = numbered(row["subject"] for row in answers)
    rows = [_elicitation(row, people[row["subject"]]) for row in answers]
    write_table(folder / "elicitations.csv.gz", ELICITATION_COLUMNS, rows)
    write_document(folder / "human_soft_labels_data.json.gz", read_document(files["human_soft_labels_data.json"]))
    labels = read_document(files["cifar10s_t2clamp_redist10.json"])
    write_arrays(
        folder / "t2clamp_redist10.npz",
        image_index=np.array([int(picture) for picture, several in labels.items() for _ in several], np.int32),
        soft_labels=np.array([probs for several in labels.values() for probs in several], np.float32),
        class_names=np.array(CIFAR_10),
    )
    for name in ("train_indices.npy", "test_indices.npy"):
        shutil.copyfile(files[name], folder / name)


def _elicitation(row: Mapping[str, str], annotator: int) -> tuple[object, ...]:
    answer = json.loads(row["response"])
    second = answer["classSelect2"].removeprefix("secondProb")
    marked = sorted(
        NUMBERS[name.removeprefix("improbClassSelect")] for name in answer if name.startswith("improbClassSelect")
    )
    return (
        annotator,
        row["trial_index"],
        int(float(row["img_id"])),
        NUMBERS[row["label"]],
        NUMBERS[answer["classSelect"].removeprefix("mostProb")],
        answer["prob"],
        NUMBERS.get(second, -1),
        answer["prob2"],
        " ".join(map(str, marked)),
        TASKS[row["task"]],
        row["rt"],
        row["condition"],
    )


GUTTER = 1
"""White pixels before, between and after the pictures of a sheet."""


def convert_cinic_10(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """The pictures with their classes, and which of them CIFAR-10 has too: CINIC-10 was made of it and of ImageNet.

    What is in CIFAR-10 is no shifted test set for a model that learned from it.
    """
    sheets = [_cut(_pixels(files[f"cinic-{name}.png"])) for name in CIFAR_10]
    images = np.concatenate(sheets)
    known = _in_cifar_10(files[ARCHIVE])
    found = [known.get(image.tobytes(), ("", -1)) for image in images]
    index = np.array([number for _, number in found], np.int32)
    write_arrays(
        folder / "images.npz",
        images=images,
        labels=np.repeat(np.arange(len(CIFAR_10), dtype=np.uint8), [len(sheet) for sheet in sheets]),
        in_cifar10=index >= 0,
        cifar10_split=np.array([split for split, _ in found], dtype="U5"),
        cifar10_index=index,
        class_names=np.array(CIFAR_10),
    )


def _cut(sheet: UInt8[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "items 32 32 3"]:
    """The pictures of a sheet, row by row."""
    step = SIDE + GUTTER
    rows, columns = (sheet.shape[0] - GUTTER) // step, (sheet.shape[1] - GUTTER) // step
    tiles = sheet[GUTTER:, GUTTER:][: rows * step, : columns * step].reshape(rows, step, columns, step, 3)
    return np.ascontiguousarray(tiles[:, :SIDE, :, :SIDE].transpose(0, 2, 1, 3, 4)).reshape(-1, SIDE, SIDE, 3)


def _in_cifar_10(archive: Path) -> dict[bytes, tuple[str, int]]:
    """Every picture of CIFAR-10, with its split and its number there; the first, where one stands twice."""
    *train, test = batches(archive, *TRAIN, TEST)
    known: dict[bytes, tuple[str, int]] = {}
    for split, parts in (("train", train), ("test", [test])):
        for number, image in enumerate(image for batch in parts for image in batch.images):
            known.setdefault(image.tobytes(), (split, number))
    return known


def _pixels(path: Path) -> UInt8[np.ndarray, "height width 3"]:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra("Pillow", "to read the sheets of CINIC-10", "train") from error
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


N_DIGITS = 10


def convert_digit_similarity(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """People are numbers, in the order of their files; a rating is an empty cell where a digit was not rated."""
    sheets = sorted(name for name in files if name.endswith(".csv"))
    rows = [(rater, *rating) for rater, name in enumerate(sheets) for rating in _ratings(files[name])]
    write_table(folder / "ratings.csv.gz", ("rater", "digit", "pair", "similarity_1_10"), rows)
    pairs = [read_arrays(files[f"digits{digit}.npz"]) for digit in range(N_DIGITS)]
    n_pairs = [len(each["images1"]) for each in pairs]
    write_arrays(
        folder / "pairs.npz",
        images1=np.concatenate([each["images1"].astype(np.uint8)[:, 0] for each in pairs]),
        images2=np.concatenate([each["images2"].astype(np.uint8)[:, 0] for each in pairs]),
        digit=np.repeat(np.arange(N_DIGITS, dtype=np.uint8), n_pairs),
        pair=np.concatenate([np.arange(n, dtype=np.uint8) for n in n_pairs]),
    )


def _ratings(path: Path) -> list[tuple[int, int, int]]:
    """Digit, pair (from 0) and rating, pair by pair."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        _, _, *lines = csv.reader(file)
    return [
        (digit, int(pair) - 1, int(rating))
        for pair, *ratings in lines
        for digit, rating in enumerate(ratings)
        if rating.strip()
    ]


def convert_fashion_mnist_h(files: Mapping[str, Path], place: Path, folder: Path) -> None:
    counts = np.loadtxt(files["fmh_counts.csv"], delimiter=",", dtype=np.uint8, ndmin=2)
    labels = read_arrays(place / "fashion-mnist" / "test.npz")["labels"]
    write_arrays(folder / "counts.npz", counts=counts, labels=labels, class_names=np.array(FASHION_MNIST))


N_FIRST = 10_000
BYTES = b"\0\0\x08"
"""How a file of unsigned bytes begins."""


def read_idx(path: Path) -> np.ndarray:
    """The array of unsigned bytes in a `.gz`."""
    data = gzip.decompress(path.read_bytes())
    assert data[:3] == BYTES, f"{path.name} holds no unsigned bytes"
    n_axes = data[3]
    shape = np.frombuffer(data, ">i4", n_axes, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n_axes).reshape(shape).copy()


def convert_fashion(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    """All test pictures, and the first 10,000 to learn from."""
    names = np.array(FASHION_MNIST)
    write_arrays(folder / "test.npz", **_part(files, "t10k"), class_names=names)
    first = {name: array[:N_FIRST] for name, array in _part(files, "train").items()}
    write_arrays(folder / "train-first10000.npz", **first, class_names=names)


def convert_digits(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    write_arrays(folder / "test.npz", **_part(files, "t10k"))
    write_arrays(folder / "train.npz", **_part(files, "train"))


def _part(files: Mapping[str, Path], part: str) -> dict[str, np.ndarray]:
    return {
        "images": read_idx(files[f"{part}-images-idx3-ubyte.gz"]),
        "labels": read_idx(files[f"{part}-labels-idx1-ubyte.gz"]),
    }


STUDIES = ("infer_mixing_factor", "construct_midpoint", "select_shuffled_midpoint")
DOCUMENTS = ("processed_hmix_inferences.json", "hmix_individ_soft_labels.json")
PAIR = ("annotator", "task", "label1", "index1", "label2", "index2")


def convert_hmix(files: Mapping[str, Path], place: Path, folder: Path) -> None:  # noqa: ARG001
    inferred, constructed, selected = (read_table(files[f"hmix_{study}.csv"]) for study in STUDIES)
    people = numbered(row["subject"] for row in [*inferred, *constructed, *selected])
    write_table(
        folder / "infer_mixing_factor.csv.gz",
        (*PAIR, "true_mixing", "response_mixing_pct_raw", "confidence_pct", "rt_ms", "trial_index"),
        [(*_mixed_pair(row, people), *_inferred(row), row["rt"], row["trial_index"]) for row in inferred],
    )
    write_table(
        folder / "construct_midpoint.csv.gz",
        (*PAIR, "start_value", "final_value", "rt_ms"),
        [(*_mixed_pair(row, people), row["start_value"], row["final_value"], row["rt"]) for row in constructed],
    )
    write_table(
        folder / "select_shuffled_midpoint.csv.gz",
        (*PAIR, "selected_mixing", "rt_ms"),
        [
            (*_mixed_pair(row, people), json.loads(row["response"])["select"].removeprefix("select"), row["rt"])
            for row in selected
        ],
    )
    for name in DOCUMENTS:
        write_document(folder / f"{name}.gz", read_document(files[name]))


def _mixed_pair(row: Mapping[str, str], people: Mapping[str, int]) -> tuple[object, ...]:
    """Who answered what about which two pictures: `Dog_2205_Frog_6908.png` is test picture 2205, a dog, with 6908."""
    first, index_1, second, index_2 = row["class_pair"].removesuffix(".png").split("_")
    return people[row["subject"]], row["task"], NUMBERS[first], index_1, NUMBERS[second], index_2


def _inferred(row: Mapping[str, str]) -> tuple[object, ...]:
    given = json.loads(row["responses"])
    return row["mixtureCoeff"], given["mixingcoeff"], given["confidence"]


Convert = Callable[[Mapping[str, Path], Path, Path], None]

CONVERTERS: Mapping[str, Convert] = {
    "cifar10-model-predictions": convert_predictions,
    "cifar10-test": convert_test,
    "cifar10-train-batch1": convert_train,
    "cifar10h": convert_cifar_10h,
    "cifar10s": convert_cifar_10s,
    "cinic10-sample": convert_cinic_10,
    "digit-similarity": convert_digit_similarity,
    "fashion-mnist": convert_fashion,
    "fashion-mnist-h": convert_fashion_mnist_h,
    "hmix": convert_hmix,
    "mnist": convert_digits,
}
