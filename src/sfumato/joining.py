"""Joining ids by the million: texts become numbers as they come in, each distinct text kept once.

A hash table of our own, compiled: joining Arrow dictionaries would hash every text known so far again and again.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.compiled import Kernel, readonly
from sfumato.errors import BadTable
from sfumato.growing import resized

_BYTES = numba.uint8[::1]
_NUMBERS = numba.int32[::1]
_HASHES = numba.uint32[::1]
_SEED, _FACTOR = 14695981039346656037, 1099511628211
"""The constants of FNV-1a (Fowler, Noll & Vo 1991)."""


def _find(
    ends: Any, text: Any, known_ends: Any, known: Any, hashes: Any, slots: Any, n_known: int, codes: Any
) -> float:
    """The code of every text, those not known yet numbered from `n_known` on; returns how many are known then.

    `known`, `known_ends` and `hashes` have room for all texts to be new; `slots` has twice as much, a power of two.
    """
    mask = np.uint64(len(slots) - 1)
    used = known_ends[n_known]
    for t in range(len(ends) - 1):
        start, end = ends[t], ends[t + 1]
        h = np.uint64(_SEED)
        for b in range(start, end):
            h = (h ^ np.uint64(text[b])) * np.uint64(_FACTOR)
        h = h ^ (h >> np.uint64(32))
        short = np.uint32(h)
        at = h & mask
        while True:
            code = slots[at]
            if code < 0:
                slots[at] = n_known
                hashes[n_known] = short
                for b in range(start, end):
                    known[used] = text[b]
                    used += 1
                n_known += 1
                known_ends[n_known] = used
                codes[t] = n_known - 1
                break
            if hashes[code] == short and known_ends[code + 1] - known_ends[code] == end - start:
                same = True
                offset = known_ends[code] - start
                for b in range(start, end):
                    if known[offset + b] != text[b]:
                        same = False
                        break
                if same:
                    codes[t] = code
                    break
            at = (at + np.uint64(1)) & mask
    return n_known


def _place(ends: Any, known: Any, n_known: int, slots: Any) -> float:
    """Enter the texts known into empty `slots`."""
    mask = np.uint64(len(slots) - 1)
    for code in range(n_known):
        h = np.uint64(_SEED)
        for b in range(ends[code], ends[code + 1]):
            h = (h ^ np.uint64(known[b])) * np.uint64(_FACTOR)
        at = (h ^ (h >> np.uint64(32))) & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = code
    return 0.0


find = Kernel(_find, readonly(_NUMBERS, _BYTES), (_NUMBERS, _BYTES, _HASHES, _NUMBERS, numba.int64, _NUMBERS))
place = Kernel(_place, [*readonly(_NUMBERS, _BYTES), numba.int64], (_NUMBERS,))


class JoinedTexts:
    """The distinct texts seen so far, numbered as they came."""

    def __init__(self, names: pa.StringArray) -> None:
        self._known = np.empty(0, np.uint8)
        self._ends = np.zeros(1, np.int32)
        self._hashes = np.empty(0, np.uint32)
        self._slots = np.full(1, -1, np.int32)
        self._n_known = 0
        self.codes_of(names)

    def codes_of(self, texts: pa.StringArray) -> Int[np.ndarray, "texts"]:
        """The number of every text; new ones are numbered on."""
        ends, text = _buffers(texts)
        self._make_room(len(texts), len(text))
        codes = np.empty(len(texts), np.int32)
        self._n_known = int(find(ends, text, self._ends, self._known, self._hashes, self._slots, self._n_known, codes))
        return codes

    def names(self) -> pa.StringArray:
        """All texts, by number."""
        used = int(self._ends[self._n_known])
        buffers = [pa.py_buffer(self._ends[: self._n_known + 1].copy()), pa.py_buffer(self._known[:used].copy())]
        return pa.StringArray.from_buffers(self._n_known, *buffers)

    def _make_room(self, n_texts: int, n_bytes: int) -> None:
        used = int(self._ends[self._n_known])
        if used + n_bytes >= 2**31:
            raise BadTable(
                "found more than 2 GiB of distinct ids",
                expected="ids that are short, or fewer of them",
                fix="number the items, and keep the long ids elsewhere",
                code="too-large",
            )
        self._known = resized(self._known, used + n_bytes)
        self._ends = resized(self._ends, self._n_known + n_texts + 1)
        self._hashes = resized(self._hashes, self._n_known + n_texts)
        needed = 1 << (3 * (self._n_known + n_texts) // 2).bit_length()
        if needed > len(self._slots):
            self._slots = np.full(needed, -1, np.int32)
            place(self._ends, self._known, self._n_known, self._slots)


def _buffers(texts: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """Where each text ends, and all texts as bytes."""
    if not len(texts):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int32, len(texts) + 1, texts.offset * 4)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return offsets, text
