"""Two vectors under a learned map: their distance, a threshold for it, and why they are near."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..comparisons.reading import read_tuples
from ..core.points import Array
from ..model.explanation import (
    Explanation,
    SearchExplanation,
    as_row,
    as_rows,
    grouped_parts,
    principal_parts,
)
from ..neighbors.verification import DistanceVerifier, point_digests
from ..search.exact import blocks


def _has_threshold(adapter):
    if not hasattr(adapter, "threshold_"):
        raise AttributeError(
            "this EmbeddingAdapter has no threshold; call promise_threshold(pairs, y) or "
            "calibrate_threshold(pairs, y) after fit, or set_threshold(threshold)"
        )
    return True


class PairwiseMethods(DistanceVerifier):
    """Methods of an adapter about pairs of vectors, the first a query and the second a document.

    Where both sides are mapped alike, the order of the two does not matter.
    """

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Return the Euclidean distance of the mapped vectors of each pair.

        At unit length it is sqrt(2 - 2 cosine).

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of vectors; of a query and a document if only queries are mapped.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        read = read_tuples(pairs, 2, None, self.map_.features.number)
        sides = [self._images(read.points, L)[1] for L in self._maps()]
        distance = np.empty(len(read.index))
        for rows in blocks(len(distance), len(self.map_.components)):
            query, document = read.index[rows].T
            difference = sides[0][query] - sides[1][document]
            distance[rows] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        return distance

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return the similarity of each pair: minus the distance of its mapped vectors."""
        return -self.pair_distance(pairs)

    @available_if(_has_threshold)
    def predict(self, pairs: Any) -> np.ndarray:
        """Return +1 for pairs at `threshold_` or nearer, -1 for others; needs a threshold."""
        return self._decide(pairs)

    def explain(
        self, a: Any, b: Any, *, by: Any = "features", feature_names: Sequence[str] | None = None
    ) -> Explanation:
        """Split the squared distance of two mapped vectors exactly, to see why they are near.

        A mapped vector is L x, where x is the vector at the length that makes L x a unit vector
        (or the vector as it is, without `unit_length`). With the maps L of a query a and K of a
        document b, part i of the squared length of r = L a - K b is (a_i l_i - b_i k_i).T r, where
        l_i and k_i are columns of the maps. For L = K these are the parts of
        `frobmetric.model.explain_distance`.

        Parameters
        ----------
        a, b : array-like of shape (n_features,)
            The vectors; a query and a document if only queries are mapped.
        by : {"features", "components"}, mapping or sequence, default="features"
            What to split over; or blocks of features, such as the fields of a record, as in
            `explain_distance`.
        feature_names : sequence of str, default=None
            Names of the features; if None, those of the data frame of the fit, or x0, x1, ...

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from frobmetric import EmbeddingAdapter
        >>> X = np.array([[3.0, 1.0], [3.0, 2.0], [-3.0, 1.0], [-3.0, 2.0]])
        >>> adapter = EmbeddingAdapter(strength=10.0).fit(X, [0, 0, 1, 1])
        >>> adapter.explain(X[0], X[2]).largest(1)[0][0]
        'x0'
        """
        check_is_fitted(self)
        a, b = (
            as_row(x, name, self.map_.features.number)[None] for x, name in ((a, "a"), (b, "b"))
        )
        mapped, parts = self._parts(a, b)
        names, parts, kind = grouped_parts(mapped, parts, by, self._names(feature_names))
        return Explanation(names, parts[0], float(np.sum(mapped**2)), kind)

    def explain_search(
        self,
        query: Any,
        candidates: Any,
        *,
        by: Any = "features",
        feature_names: Sequence[str] | None = None,
    ) -> SearchExplanation:
        """Explain what the map changed in the order of search results.

        Ranks before are those of the unchanged vectors, at unit length if the adapter has it.

        Parameters
        ----------
        query : array-like of shape (n_features,)
            Vector that is searched for.
        candidates : array-like of shape (n_candidates, n_features)
            Vectors that were found, at least one.
        by : {"features", "components"}, mapping or sequence, default="features"
            As in `explain`. Components are the principal ones of the map, which must then be the
            same for queries and documents.
        feature_names : sequence of str, default=None
            As in `explain`.

        Returns
        -------
        SearchExplanation

        Examples
        --------
        >>> import numpy as np
        >>> from frobmetric import EmbeddingAdapter
        >>> X = np.array([[3.0, 1.0], [3.0, 2.0], [-3.0, 1.0], [-3.0, 2.0]])
        >>> adapter = EmbeddingAdapter(strength=10.0).fit(X, [0, 0, 1, 1])
        >>> adapter.explain_search([2.0, 2.0], X).rank_after.tolist()
        [2, 1, 4, 3]
        """
        check_is_fitted(self)
        a = as_row(query, "query", self.map_.features.number)[None]
        b = as_rows(candidates, self.map_.features.number)
        before = np.subtract(*map(self.map_.features.vectors, (a, b)))
        if isinstance(by, str) and by == "components":
            return self._explain_by_components(a, b, before)
        names = self._names(feature_names)
        mapped, parts = self._parts(a, b)
        labels, after, kind = grouped_parts(mapped, parts, by, names)
        _, before, _ = grouped_parts(before, before**2, by, names)
        return SearchExplanation.of(labels, before, after, kind)

    def _explain_by_components(self, a, b, before):
        of_queries, of_documents = self._maps()
        if of_queries is not of_documents:
            raise ValueError(
                "by='components' with a map of queries only; queries and documents have no "
                "components in common: explain by features or blocks"
            )
        query, documents = (self._images(x, of_documents)[0] for x in (a, b))
        found = principal_parts(of_documents, before, query - documents)
        return SearchExplanation.of(*found, "components")

    def _parts(self, a, b):
        """Return differences of mapped vectors, and the parts of their squared lengths."""
        L, K = self._maps()
        (a, of_a), (b, of_b) = self._images(a, L), self._images(b, K)
        mapped = of_a - of_b
        return mapped, a * (mapped @ L) - b * (mapped @ K)

    def _maps(self):
        """Return the maps of queries and of documents, the same array if they are equal."""
        learned = self.map_
        is_one = learned.query_components is learned.components
        is_one = is_one or np.array_equal(learned.query_components, learned.components)
        of_documents = learned.components.astype(np.float64)
        return of_documents if is_one else learned.query_components.astype(np.float64), of_documents

    def _images(self, X, L):
        """Return vectors at the length at which they are mapped, and their images."""
        features = self.map_.features
        X = features.vectors(X)
        images = X @ L.T
        if not features.unit_length:
            return X, images
        length = np.sqrt(np.einsum("ij,ij->i", images, images))[:, None]
        length[length == 0] = 1
        return X / length, images / length

    def _names(self, feature_names):
        return self.map_.features.names if feature_names is None else feature_names


def digests_of(X: Array, queries: Array | None) -> np.ndarray:
    """Return the digests of the vectors of a fit, and of its queries if they are others."""
    given = [X] if queries is None else [X, queries]
    return np.unique(np.concatenate([point_digests(V) for V in given]))
