"""H-Mix: every judgment against the authors' processed file, stimulus by stimulus."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict

import numpy as np
import pytest

from sfumato.importers import HMixImporter
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable, SfumatoError, UnknownName

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
HEADER = (
    "annotator,task,label1,index1,label2,index2,true_mixing,response_mixing_pct_raw,confidence_pct,rt_ms,trial_index\n"
)
GOOD = {
    "annotator": "0",
    "task": "rate_mixture",
    "label1": "5",
    "index1": "2205",
    "label2": "6",
    "index2": "6908",
    "true_mixing": "0.5",
    "response_mixing_pct_raw": "26",
    "confidence_pct": "100",
    "rt_ms": "35999.5",
    "trial_index": "6",
}
LABEL_NAME = "mixed_0.25_Ship_8717_Truck_8922.png"


def document(path) -> dict:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def rounded(values) -> Counter:
    """A multiset of shares, to nine digits: the authors' 1 - 0.91 is 0.08999999999999997."""
    return Counter(round(float(value), 9) for value in values)


def test_mixing_row_by_row(published, raw_rows, answers):
    raw = raw_rows(published / "hmix" / "infer_mixing_factor.csv.gz")
    table = HMixImporter().read(published / "hmix").table
    rows = answers(table)
    assert len(rows) == len(raw) == 4_950
    for row, source in zip(rows, raw, strict=True):
        first, second = CLASSES[int(source["label1"])], CLASSES[int(source["label2"])]
        assert row["annotator"] == source["annotator"]
        assert row["trial"] == int(source["trial_index"])
        assert row["seconds"] == float(source["rt_ms"]) / 1000
        assert row["kind"] == "mixture/1"
        assert row["purpose"] == ("repeat" if source["task"] == "rerun_rate_mixture" else "label")
        assert row["payload"]["classes"] == [first, second]
        assert row["payload"]["share"] == pytest.approx(1 - int(source["response_mixing_pct_raw"]) / 100, abs=1e-12)
        assert row["payload"]["confidence"] == pytest.approx(int(source["confidence_pct"]) / 100, abs=1e-12)
    assert Counter(row["purpose"] for row in rows) == {"label": 4_788, "repeat": 162}


def test_shares_and_confidences_are_the_authors_for_every_stimulus(published, answers):
    theirs = document(published / "hmix" / "processed_hmix_inferences.json.gz")
    shares, confidences = defaultdict(list), defaultdict(list)
    for row in answers(HMixImporter().read(published / "hmix").table):
        shares[row["item"]].append(row["payload"]["share"])
        confidences[row["item"]].append(row["payload"]["confidence"])
    assert shares.keys() == theirs.keys()
    assert len(theirs) == 2_070
    for item, processed in theirs.items():
        assert rounded(shares[item]) == rounded(processed["Predicted Mixing Factor"]), item
        assert rounded(confidences[item]) == rounded(processed["Predicted Confidence"]), item


def test_an_item_names_its_endpoints_in_the_order_of_the_shares(published, answers):
    theirs = document(published / "hmix" / "processed_hmix_inferences.json.gz")
    for row in answers(HMixImporter().read(published / "hmix").table):
        assert [name.title() for name in row["payload"]["classes"]] == theirs[row["item"]]["Endpoints"]


def test_soft_labels_are_those_of_the_json(published):
    theirs = document(published / "hmix" / "hmix_individ_soft_labels.json.gz")
    imported = HMixImporter(part="soft-labels").read(published / "hmix")
    beliefs = imported.table
    assert isinstance(beliefs, Beliefs)
    assert beliefs.classes == CLASSES
    assert beliefs.item.text().to_pylist() == [item for item, rows in theirs.items() for _ in rows]
    assert np.array_equal(beliefs.probs, np.array([row for rows in theirs.values() for row in rows]))
    assert len(beliefs.item.names) == len(theirs) == 100
    assert len(beliefs.annotator.names) == len(beliefs), "nobody may be taken for another"
    assert any("no annotators" in note for note in imported.notes)


def test_the_authors_own_file_name_is_found(written, answers):
    path = written("hmix_infer_mixing_factor.csv", HEADER + ",".join(GOOD.values()) + "\n")
    (answer,) = answers(HMixImporter().read(path.parent).table)
    assert answer["item"] == "mixed_0.5_Dog_2205_Frog_6908.png"
    assert answer["payload"] == {"classes": ["dog", "frog"], "share": 0.74, "confidence": 1.0}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("response_mixing_pct_raw", "101"),
        ("response_mixing_pct_raw", "half"),
        ("confidence_pct", "-1"),
        ("label1", "10"),
        ("rt_ms", "soon"),
        ("trial_index", "six"),
    ],
)
def test_a_field_that_cannot_be_read_names_its_column(written, field, value):
    lines = [",".join(GOOD.values()), ",".join({**GOOD, field: value}.values())]
    with pytest.raises(BadTable) as caught:
        HMixImporter().read(written("a.csv", HEADER + "\n".join(lines) + "\n"))
    assert caught.value.where.column == field
    assert caught.value.where.file.endswith("a.csv")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "list"),
        (json.dumps({"dog.png": []}), "dog.png"),
        (json.dumps({LABEL_NAME: [[0.5, 0.5]]}), r"\[0.5, 0.5\]"),
        (json.dumps({LABEL_NAME: 3}), "3"),
        (json.dumps({LABEL_NAME: [["a"] + [0] * 9]}), "a"),
        (json.dumps({LABEL_NAME: [[0.5] + [0] * 9]}), "sum to 0.5"),
    ],
    ids=["no object", "other key", "two classes", "no list", "no numbers", "bad sum"],
)
def test_soft_labels_of_another_shape_are_refused(written, text, found):
    path = written("hmix_individ_soft_labels.json", text)
    with pytest.raises(SfumatoError, match=found) as caught:
        HMixImporter(part="soft-labels").read(path)
    assert caught.value.where.file == str(path)


def test_parts_are_named():
    with pytest.raises(UnknownName, match="did you mean 'soft-labels'"):
        HMixImporter(part="soft-label")
