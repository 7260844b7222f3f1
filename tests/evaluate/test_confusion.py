"""Confusion by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.evaluate import Compared
from sfumato.evaluate.confusion import confusion


def test_by_hand() -> None:
    predicted = np.array([[0.6, 0.4, 0.0], [0.8, 0.2, 0.0], [0.1, 0.9, 0.0]])
    people = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    table = confusion(Compared(pa.array(list("xyz")), ("cat", "dog", "fox"), predicted, people))
    # The second item is half a cat and half a dog.
    np.testing.assert_allclose(table.n_items, [1.5, 1.5, 0])
    np.testing.assert_allclose(table.predicted_mass[0], [(0.6 + 0.4) / 1.5, (0.4 + 0.1) / 1.5, 0])
    np.testing.assert_allclose(table.people_mass[1], [(0.25 + 0.2) / 1.5, (0.25 + 0.8) / 1.5, 0])
    assert np.isnan(table.predicted_mass[2]).all()
    np.testing.assert_allclose(table.joint[0, 1], (1.0 * 0.4 + 0.5 * 0.2 + 0.2 * 0.9) / 3)
    np.testing.assert_allclose(table.joint.sum(), 1)
    rows = table.to_arrow().to_pylist()
    assert len(rows) == len(table) == 9
    assert (rows[1]["people"], rows[1]["other"]) == ("cat", "dog")
    assert rows[8]["predicted_mass"] is None
