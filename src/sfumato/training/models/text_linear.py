"""TextLinear: TF-IDF of words and pairs of words, with a linear model on top."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import BadTable, missing_extra
from sfumato.tables.setting_checks import above_0, at_least
from sfumato.training.models.linear import FittedLinear, LinearModel
from sfumato.training.models.model import Rows


@dataclass(frozen=True)
class TextLinear:
    """A linear model on TF-IDF weights of words and word pairs, computed from the training texts alone.

    `words` are the longest sequences of words; a sequence must occur in at least `texts` training texts.
    """

    penalty: float = 1.0
    words: int = 2
    texts: int = 2

    name: ClassVar[str] = "text-linear"
    takes: ClassVar[tuple[str, ...]] = ("texts",)

    def __post_init__(self) -> None:
        above_0("penalty", self.penalty)
        at_least("words", self.words, 1)
        at_least("texts", self.texts, 1)

    def fit_many(
        self,
        x: Rows,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,
    ) -> list[FittedTextLinear]:
        vectorizer = _vectorizer(self.words, min(self.texts, max(1, len(x) // 20)))
        try:
            rows = vectorizer.fit_transform(x)
        except ValueError as error:
            found = f"training texts without a word that occurs in {self.texts} of them ({str(error)[:80]})"
            raise BadTable(found, "texts with words", "check the column of the texts", "no-words") from error
        linear = LinearModel(penalty=self.penalty, standardize=False)
        terms = tuple(vectorizer.get_feature_names_out().tolist())
        weighting = TermWeights(terms, np.asarray(vectorizer.idf_), self.words)
        return [FittedTextLinear(fitted, weighting) for fitted in linear.fit_many(rows, probs, weights, seed=seed)]


@dataclass(eq=False)
class TermWeights:
    """The TF-IDF weights of texts, for terms and inverse document frequencies of the training texts.

    Those of the last texts are kept, because the models of all targets predict the same texts.
    """

    terms: tuple[str, ...]
    idf: Float[np.ndarray, "terms"]
    words: int
    _last: tuple[Rows, Any] | None = field(default=None, init=False, repr=False)

    def of(self, x: Rows) -> Any:
        """The weights as a sparse matrix, texts x terms."""
        if self._last is None or self._last[0] is not x:
            vectorizer = _vectorizer(self.words, 1, {term: k for k, term in enumerate(self.terms)})
            vectorizer.idf_ = self.idf
            self._last = x, vectorizer.transform(x)
        return self._last[1]


@dataclass(frozen=True, eq=False)
class FittedTextLinear:
    """A trained TextLinear: the weights of its terms, and the linear model."""

    linear: FittedLinear
    weighting: TermWeights

    def predict(self, x: Rows) -> Float[np.ndarray, "items classes"]:
        return self.linear.predict(self.weighting.of(x))

    def arrays(self) -> dict[str, np.ndarray]:
        # Terms contain no line breaks: they are words separated by spaces.
        text = np.frombuffer("\n".join(self.weighting.terms).encode("utf-8"), np.uint8)
        own = {"idf": self.weighting.idf, "terms": text, "words": np.array([self.weighting.words])}
        return {**self.linear.arrays(), **own}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> FittedTextLinear:
        terms = tuple(arrays["terms"].tobytes().decode("utf-8").split("\n"))
        return cls(FittedLinear.from_arrays(arrays), TermWeights(terms, arrays["idf"], int(arrays["words"][0])))


def _vectorizer(words: int, least: int, vocabulary: dict[str, int] | None = None) -> Any:
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ModuleNotFoundError:
        raise missing_extra("scikit-learn", "for TF-IDF", "text") from None
    return TfidfVectorizer(ngram_range=(1, words), min_df=least, sublinear_tf=True, vocabulary=vocabulary)
