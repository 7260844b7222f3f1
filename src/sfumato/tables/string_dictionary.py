"""Encodes millions of ids as numbers with a compiled hash table.

Merging Arrow dictionaries instead would hash all known texts again for every chunk.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.tables.errors import BadTable
from sfumato.tables.growable_array import resized
from sfumato.tables.numba_kernel import Kernel, readonly

_BYTES = numba.uint8[::1]
_NUMBERS = numba.int32[::1]
_SLOTS = numba.int64[::1]
_SEED, _FACTOR = 14695981039346656037, 1099511628211
"""The constants of FNV-1a (Fowler, Noll & Vo 1991)."""
_CODE = 2**32 - 1
AT_ONCE = 2**17
BATCH = 64


def _find(ends: Any, text: Any, known_ends: Any, known: Any, slots: Any, n_known: int, codes: Any) -> float:
    """The code of every text; new texts get codes from `n_known` on. Returns the new number of known texts.

    `known` and `known_ends` have room for all texts to be new; `slots` has at least 1.5 times as many, a power of two.
    A slot holds the upper half of a text's hash and its code, or -1. Texts are looked up in batches, in steps that each
    read one table, so that the cache misses of a step overlap.
    """
    mask = np.uint64(len(slots) - 1)
    used = known_ends[n_known]
    n_texts = len(ends) - 1
    hashes, candidate = np.empty(BATCH, np.uint64), np.empty(BATCH, np.int64)
    begins, touched = np.empty(BATCH, np.int64), np.uint8(0)
    for base in range(0, n_texts, BATCH):
        size = min(BATCH, n_texts - base)
        for t in range(size):
            h = np.uint64(_SEED)
            for b in range(ends[base + t], ends[base + t + 1]):
                h = (h ^ np.uint64(text[b])) * np.uint64(_FACTOR)
            hashes[t] = h ^ (h >> np.uint64(32))
        for t in range(size):
            candidate[t] = slots[hashes[t] & mask]
        for t in range(size):
            begins[t] = known_ends[candidate[t] & _CODE] if candidate[t] >= 0 else 0
        for t in range(size):
            touched ^= known[begins[t]]
        for t in range(size):
            start, end = ends[base + t], ends[base + t + 1]
            upper = np.int64(hashes[t] >> np.uint64(33)) << 32
            at = hashes[t] & mask
            while True:
                slot = slots[at]
                if slot < 0:
                    slots[at] = upper | n_known
                    for b in range(start, end):
                        known[used] = text[b]
                        used += 1
                    codes[base + t] = n_known
                    n_known += 1
                    known_ends[n_known] = used
                    break
                code = slot & _CODE
                if slot ^ code == upper and known_ends[code + 1] - known_ends[code] == end - start:
                    offset = known_ends[code] - start
                    same = True
                    for b in range(start, end):
                        if known[offset + b] != text[b]:
                            same = False
                            break
                    if same:
                        codes[base + t] = code
                        break
                at = (at + np.uint64(1)) & mask
    # Never -1, but otherwise the compiler would remove the step that reads the texts.
    return n_known if touched < 256 else -1


def _place(ends: Any, known: Any, n_known: int, slots: Any) -> float:
    """Insert the known texts into empty `slots`."""
    mask = np.uint64(len(slots) - 1)
    for code in range(n_known):
        h = np.uint64(_SEED)
        for b in range(ends[code], ends[code + 1]):
            h = (h ^ np.uint64(known[b])) * np.uint64(_FACTOR)
        h = h ^ (h >> np.uint64(32))
        at = h & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = np.int64(h >> np.uint64(33)) << 32 | code
    return 0.0


find = Kernel(_find, readonly(_NUMBERS, _BYTES), (_NUMBERS, _BYTES, _SLOTS, numba.int64, _NUMBERS))
place = Kernel(_place, [*readonly(_NUMBERS, _BYTES), numba.int64], (_SLOTS,))


class StringDictionary:
    """The distinct texts seen so far, numbered in order of appearance."""

    def __init__(self, names: pa.StringArray) -> None:
        self._known = np.empty(1, np.uint8)
        self._ends = np.zeros(1, np.int32)
        self._slots = np.full(1, -1, np.int64)
        self._n_known = 0
        self.codes_of(names)

    def codes_of(self, texts: pa.Array) -> Int[np.ndarray, "texts"]:
        """The number of every text; new texts get the next numbers."""
        ends, text = _buffers(texts)
        self._make_room(len(texts), len(text))
        codes = np.empty(len(texts), np.int32)
        self._n_known = int(find(ends, text, self._ends, self._known, self._slots, self._n_known, codes))
        return codes

    def names(self) -> pa.StringArray:
        """All texts in the order of their numbers."""
        used = int(self._ends[self._n_known])
        buffers = [pa.py_buffer(self._ends[: self._n_known + 1].copy()), pa.py_buffer(self._known[:used].copy())]
        return pa.StringArray.from_buffers(self._n_known, *buffers)

    def _make_room(self, n_texts: int, n_bytes: int) -> None:
        used = int(self._ends[self._n_known])
        if used + n_bytes >= 2**31:
            fix = "number the items, and store the long ids elsewhere"
            raise BadTable("more than 2 GiB of distinct ids", "shorter or fewer ids", fix, "too-large")
        self._known = resized(self._known, used + n_bytes)
        self._ends = resized(self._ends, self._n_known + n_texts + 1)
        needed = 1 << (3 * (self._n_known + n_texts) // 2).bit_length()
        if needed > len(self._slots):
            self._slots = np.full(needed, -1, np.int64)
            place(self._ends, self._known, self._n_known, self._slots)


def coded_texts(texts: pa.Array) -> pa.DictionaryArray:
    """A long column of texts, none missing, dictionary-coded in order of appearance."""
    middle = len(texts) // 2
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(_joined, (texts.slice(0, middle), texts.slice(middle)))
    number = first.texts.codes_of(second.texts.names())
    codes = pa.array(np.concatenate([first.codes, number[second.codes]]))
    return pa.DictionaryArray.from_arrays(codes, first.texts.names())


@dataclass(frozen=True, eq=False)
class _Joined:
    """The distinct texts, and the code of each row."""

    texts: StringDictionary
    codes: Int[np.ndarray, "rows"]


def _joined(texts: pa.Array) -> _Joined:
    joined, codes = StringDictionary(pa.array([], pa.string())), np.empty(len(texts), np.int32)
    for start in range(0, len(texts), AT_ONCE):
        codes[start : start + AT_ONCE] = joined.codes_of(texts.slice(start, AT_ONCE))
    return _Joined(joined, codes)


def _buffers(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the texts, and all texts as bytes; for a slice only its own part."""
    if not len(texts):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    if pa.types.is_string_view(texts.type):
        texts = texts.cast(pa.string())
    _, ends, data = texts.buffers()
    kind = np.dtype(np.int64 if pa.types.is_large_string(texts.type) else np.int32)
    offsets = np.frombuffer(ends, kind, len(texts) + 1, texts.offset * kind.itemsize)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return (offsets - offsets[0]).astype(np.int32), text[offsets[0] : offsets[-1]]
