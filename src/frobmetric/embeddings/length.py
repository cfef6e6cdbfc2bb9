"""Shorter vectors: the leading directions of mapped vectors, what they keep, and search by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import as_index
from ..core.points import Array, Index
from ..evaluation.ranking import Measure
from ..model.distances import unit_rows
from ..runtime.tables import html_table, text_table
from .abilities import as_feedback, mapped_vectors, unchanged_vectors
from .feedback.base import Feedback
from .path import SIMILARITY

#: Ways to shorten vectors, in the order of the table's columns.
WAYS = ("adapter", "PCA", "truncation")


@dataclass(frozen=True, eq=False)
class Shortening:
    """Leading directions of mapped vectors, and bounds on what leaving out the others changes.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_components)
        Orthonormal columns.
    kept_share : float
        Share of the mean squared length of the vectors that is kept.
    bound : float
        Upper bound on the change of any squared distance between unit vectors.
    """

    directions: Array
    kept_share: float
    bound: float


def shorten(
    mapped: Array, anchor_map: Array, n_components: int, *, is_symmetric: bool = True
) -> Shortening:
    """Return the directions in which mapped vectors have the largest mean squared length.

    Let R have the directions that are left out as columns, and let `anchor_map` be L. For unit
    vectors a and b the squared distance of a L and b L loses

        |(a - b).T L R|^2  <=  |a - b|^2 |L R|^2  <=  4 |L R|^2

    with the spectral norm. If only anchors are mapped, the score a.T L b loses a.T L R R.T b, at
    most |L R|, and the squared distance twice that. Where the vectors hardly vary, the change is
    far smaller than the bound; `kept_share` tells the mean.

    Parameters
    ----------
    mapped : ndarray of shape (n_samples, n_features)
        Mapped candidates.
    anchor_map : ndarray of shape (n_features, n_features)
        Map of anchors.
    n_components : int
        Number of directions to keep.
    is_symmetric : bool, default=True
        Whether candidates are mapped alike.

    Returns
    -------
    Shortening
    """
    values, vectors = np.linalg.eigh(mapped.T.astype(np.float64) @ mapped)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    rest = anchor_map @ vectors[:, n_components:]
    norm = float(np.linalg.norm(rest, 2)) if rest.shape[1] else 0.0
    total = float(values.sum())
    kept = float(values[:n_components].sum()) / total if total > 0 else 1.0
    bound = 4 * norm**2 if is_symmetric else 2 * norm
    return Shortening(vectors[:, :n_components], min(1.0, kept), bound)


def components(
    vectors: Array, anchor_map: Array, candidate_map: Array, n_components: int | None
) -> tuple[Array, Array, dict[str, float]]:
    """Return the maps of documents and queries, shortened if asked for, and what is lost by it."""
    is_symmetric, dtype = anchor_map is candidate_map, vectors.dtype
    kept, bound = 1.0, 0.0
    if n_components is not None:
        mapped = vectors @ candidate_map.astype(dtype)
        short = shorten(mapped, anchor_map, n_components, is_symmetric=is_symmetric)
        kept, bound = short.kept_share, short.bound
        anchor_map, candidate_map = (M @ short.directions for M in (anchor_map, candidate_map))
    of_documents = np.ascontiguousarray(candidate_map.T, dtype=dtype)
    of_queries = of_documents
    if not is_symmetric:
        of_queries = np.ascontiguousarray(anchor_map.T, dtype=dtype)
    return of_documents, of_queries, {"kept_share_": kept, "truncation_bound_": bound}


@dataclass(frozen=True, eq=False, repr=False)
class LengthTable:
    """Quality of a search by vectors of several lengths.

    Attributes
    ----------
    lengths : ndarray of shape (n_lengths,)
        Numbers of components.
    scores : dict of str to ndarray of shape (n_lengths,)
        Mean scores of the leading directions of adapted vectors ("adapter"), of unchanged vectors
        ("PCA"), and of the first features of unchanged vectors ("truncation").
    full : dict of str to float
        Scores of "adapter" and "unchanged" at full length.
    measure : str
        Measure of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings.length import LengthTable
    >>> scores = {"adapter": [0.7, 0.9], "PCA": [0.5, 0.8], "truncation": [0.4, 0.7]}
    >>> print(LengthTable(np.array([2, 4]), scores, {"adapter": 0.9, "unchanged": 0.8}, "accuracy"))
    accuracy at length  adapter    PCA  truncation
    2                     0.700  0.500       0.400
    4                     0.900  0.800       0.700
    all                   0.900  0.800       0.800
    """

    lengths: Index
    scores: dict[str, Array]
    full: dict[str, float]
    measure: str

    def __str__(self) -> str:
        return text_table(self._header(), self._cells())

    def __repr__(self) -> str:
        return f"<LengthTable of {self.measure} at {len(self.lengths)} lengths>"

    def _repr_html_(self) -> str:
        return html_table(self._header(), self._cells())

    def _header(self):
        return (f"{self.measure} at length", *WAYS)

    def _cells(self):
        rows = zip(self.lengths, *(self.scores[way] for way in WAYS), strict=True)
        cells = [(str(length), *(f"{score:.3f}" for score in row)) for length, *row in rows]
        last = [f"{self.full[way]:.3f}" for way in ("adapter", "unchanged", "unchanged")]
        return [*cells, ("all", *last)]


def quality_by_length(
    adapter: Any, X: ArrayLike, y: Any, lengths: Sequence[int], *, scoring: str | None = None
) -> LengthTable:
    """Measure a search by shorter vectors: those of an adapter, of PCA, and the first features.

    Parameters
    ----------
    adapter : EmbeddingAdapter
        Fitted to other objects, without `n_components`.
    X : array-like of shape (n_samples, n_features)
        Vectors of objects that the adapter was not fitted to. The leading directions are those of
        these vectors, adapted or unchanged, as they would be of an index of them.
    y : array-like of shape (n_samples,) or Feedback
        Labels, or feedback on these vectors.
    lengths : sequence of int
        Numbers of components, each at most the number of features.
    scoring : str, default=None
        Measure, as in `EmbeddingAdapter`; None is that of the feedback.

    Returns
    -------
    LengthTable

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from frobmetric import EmbeddingAdapter
    >>> from frobmetric.embeddings import quality_by_length
    >>> X, y = load_digits(return_X_y=True)
    >>> adapter = EmbeddingAdapter(strength=300).fit(X[:300], y[:300])
    >>> table = quality_by_length(adapter, X[300:600], y[300:600], [4, 16])
    >>> bool(table.scores["adapter"][0] > table.scores["truncation"][0])
    True
    """
    feedback = as_feedback(y)
    measure = str(Measure.parse(feedback.measure if scoring is None else scoring))
    before = unchanged_vectors(adapter, feedback, X)
    after = mapped_vectors(adapter, feedback, X)
    number = _check_lengths(lengths, adapter.n_features_in_)
    if after[1].shape[1] != adapter.n_features_in_:
        raise ValueError(
            f"the adapter has n_components={after[1].shape[1]}; fit it with n_components=None to "
            "compare lengths"
        )
    search = _Search(feedback, measure, adapter.map_.features.unit_length)
    eye = np.eye(adapter.n_features_in_)
    ways = ((after, _leading(after[1])), (before, _leading(before[1])), (before, eye))
    scores = {
        way: np.array([search.score(vectors, basis[:, :n]) for n in number])
        for way, (vectors, basis) in zip(WAYS, ways, strict=True)
    }
    full = {"adapter": search.score(after, eye), "unchanged": search.score(before, eye)}
    return LengthTable(number, scores, full, measure)


@dataclass(frozen=True, eq=False)
class _Search:
    """Quality of a search by vectors in some directions."""

    feedback: Feedback
    measure: str
    unit_length: bool

    def score(self, vectors, basis):
        short = (V @ basis.astype(V.dtype) for V in vectors)
        A, B = (unit_rows(V) if self.unit_length else V for V in short)
        metric = SIMILARITY[self.unit_length]
        return float(np.mean(self.feedback.scores(A, B, self.measure, metric)))


def _check_lengths(lengths, n_features):
    number = as_index(lengths, (), name="lengths", n_points=n_features + 1, points="features")
    if not number.all():
        raise ValueError("lengths has a 0; a vector keeps at least one component")
    return number


def _leading(vectors):
    return np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)[1][:, ::-1]
