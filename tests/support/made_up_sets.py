"""Tiny simulated files in the formats of the published data sets, and sources that list them."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import struct
import tarfile
from urllib.parse import urlsplit

import numpy as np

from sfumato.importers.importer import CIFAR_10
from sfumato.tables.files.png import png_bytes
from sfumato_papers.dataset_source import SOURCES, Source, Upstream

HOMES = ("https://raw.githubusercontent.com", "https://www.cs.toronto.edu", "https://storage.googleapis.com")

# Two pictures per batch. Batch b, picture i: red is 10 b + i everywhere, green counts rows, blue counts columns.
N_PICTURES = 2
BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")


def cifar_record(batch: int, number: int) -> bytes:
    """A picture in the archive's format: its class (batch + number), then its three planes."""
    red = bytes([10 * batch + number] * 1024)
    green = bytes(row for row in range(32) for _ in range(32))
    blue = bytes(column for _ in range(32) for column in range(32))
    return bytes([batch + number]) + red + green + blue


def cifar_picture(batch: int, number: int) -> np.ndarray:
    """The same picture as an array of rows, columns and colors."""
    rows, columns = np.indices((32, 32))
    return np.dstack([np.full((32, 32), 10 * batch + number), rows, columns]).astype(np.uint8)


def _archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for batch, name in enumerate(BATCHES):
            data = b"".join(cifar_record(batch, number) for number in range(N_PICTURES))
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def sheet_pictures(number: int) -> np.ndarray:
    """The pictures of a class's sheet, two rows of three; one of the third class is also in CIFAR-10's third batch."""
    pictures = np.random.default_rng(number).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    if number == 2:
        pictures[4] = cifar_picture(2, 1)
    return pictures


def _sheet(number: int) -> bytes:
    sheet = np.full((2 * 33 + 1, 3 * 33 + 1, 3), 255, np.uint8)
    for i, picture in enumerate(sheet_pictures(number)):
        top, left = 1 + 33 * (i // 3), 1 + 33 * (i % 3)
        sheet[top : top + 32, left : left + 32] = picture
    return png_bytes(sheet)


def _idx(values: np.ndarray) -> bytes:
    return gzip.compress(
        struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes(), mtime=0
    )


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


# The authors' files also contain unused columns. No ids and no free text may be imported.
RAW_HUMAN = ''',trial_type,trial_index,time_elapsed,subject,condition,rt,view_history,response,filename,task,label,img_id
0,pavlovia,0,1813,secret-a,21,,,,,,,
1,survey-html-form,6,9,secret-a,21,47434.5,,"{""classSelect"":""mostProbDeer"",""prob"":""8p"",""classSelect2"":""secondProbNo"",""prob2"":"""",""improbClassSelectTruck"":""1"",""improbClassSelectAirplane"":""1""}",x.png,spec_conf,Deer,1128.0
2,survey-html-form,7,9,secret-b,3,0.10000000149,,"{""classSelect"":""mostProbCat"",""prob"":""60"",""classSelect2"":""secondProbDog"",""prob2"":""30""}",x.png,rerun_spec_conf,Frog,7.0
3,survey-text,8,9,secret-b,3,5,,"{""Q0"":""my own words""}",,,,
4,survey-html-form,9,9,secret-a,21,1.0,,"{""classSelect"":""mostProbShip"",""prob"":"" 100"",""classSelect2"":""secondProbShip"",""prob2"":""0""}",x.png,spec_conf,Ship,8.0
'''  # noqa: E501
INFERRED = """,subject,study_id,rt,responses,task,mixtureCoeff,class_pair,trial_index
0,secret-c,s,35999.5,"{""mixingcoeff"":26,""confidence"":100}",rate_mixture,0.5,Dog_2205_Frog_6908.png,6
1,secret-d,s,7.25,"{""mixingcoeff"":0,""confidence"":9}",rerun_rate_mixture,0.75,Airplane_0_Truck_1.png,7
"""
CONSTRUCTED = """,subject,study_id,rt,final_value,start_value,task,class_pair
0,secret-d,s,1.5,0.7000000000000001,0.1,select_create,Bird_9624_Deer_9585
1,secret-e,s,2.5,0.5,0.9,rerun_select_create,Cat_1_Horse_2
"""
SELECTED = """,subject,study_id,rt,response,task,class_pair
0,secret-c,s,3.0,"{""select"":""select0.5""}",select_shuffled,Automobile_3_Ship_4
"""
RATINGS = ",Digit,,,,,,,,,\nPair Index,0,1,2,3,4,5,6,7,8,9\n1,,,,,{0},,,3,4,\n2,,,,,6,,,3,10,\n"


def made_up_files() -> dict[str, bytes]:
    """The files by name, as they are published."""
    rng = np.random.default_rng(7)
    pictures = {n: rng.integers(0, 256, (n, 28, 28), dtype=np.uint8) for n in (2, 3)}
    files: dict[str, bytes] = {
        "cifar-10-binary.tar.gz": _archive(),
        "cifar10h-counts.npy": _npy(np.array([[50] + [0] * 9, [0, 20, 30] + [0] * 7])),
        "answers_valid.json": b'{"1": {"68": 2, "7": 1}, "0": {"68": 0}}',
        "raw_human_data.csv": RAW_HUMAN.encode(),
        "human_soft_labels_data.json": b'{"7": [{"Most Probable Class": "Cat", "Most Probable Class Prob": 60.0}]}',
        "cifar10s_t2clamp_redist10.json": json.dumps(
            {"7": [[0.1] * 10, [1.0] + [0.0] * 9], "2": [[0.1] * 10]}
        ).encode(),
        "train_indices.npy": _npy(np.array([3, 1])),
        "test_indices.npy": _npy(np.array([2])),
        "fmh_counts.csv": b"0,0,0,1,1,1,1,26,0,42\n25,1,33,0,4,1,7,1,0,0\n",
        "hmix_infer_mixing_factor.csv": INFERRED.encode(),
        "hmix_construct_midpoint.csv": CONSTRUCTED.encode(),
        "hmix_select_shuffled_midpoint.csv": SELECTED.encode(),
        "processed_hmix_inferences.json": b'{"mixed": {"Std Dev": 0.0050000000000000044}}',
        "hmix_individ_soft_labels.json": b'{"mixed": [[0.5, 0.5]]}',
    }
    for network, digit in (("resnet-110", 1), ("preresnet-110", 2), ("densenet-bc-L190-k40", 3)):
        row = [5.0, *[0.0] * 9, 50.0, *[0.0] * 8, 0.75, 0.25]
        files[f"{network}.csv"] = (",".join(map(str, row)) + "\n" + "6.0" + f",{digit}.5" * 20 + "\n").encode()
    files |= {f"cinic-{name}.png": _sheet(number) for number, name in enumerate(CIFAR_10)}
    for part, n in (("t10k", 2), ("train", 3)):
        files[f"{part}-images-idx3-ubyte.gz"] = _idx(pictures[n])
        files[f"{part}-labels-idx1-ubyte.gz"] = _idx(np.arange(n, dtype=np.uint8) + 4)
    for digit in range(10):
        shown = np.full((2, 1, 28, 28), digit, np.float32)
        files[f"digits{digit}.npz"] = _npz(images1=shown, images2=shown + 100)
    names = ["Digit Similarity Ratings - AMS", "Digit Similarity Ratings - DR"]
    names += [f"digit_similarity_ratings_{who}" for who in ("nc", "rh", "tp1", "tp2", "tp3")]
    return files | {f"{name}.csv": RATINGS.format(1 + i).encode() for i, name in enumerate(names)}


def made_up_sources() -> tuple[Source, ...]:
    """The real sources with simulated files."""
    files = made_up_files()

    def replaced(file: Upstream) -> Upstream:
        data = files[file.name]
        return Upstream(file.url, len(data), hashlib.sha256(data).hexdigest())

    return tuple(
        dataclasses.replace(source, upstream=tuple(map(replaced, source.upstream)), files={}) for source in SOURCES
    )


def served() -> dict[str, bytes]:
    """The simulated files by the path of their address."""
    files = made_up_files()
    return {urlsplit(file.url).path: files[file.name] for source in SOURCES for file in source.upstream}
