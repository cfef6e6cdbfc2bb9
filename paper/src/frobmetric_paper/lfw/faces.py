"""Pairs of faces to learn from and to be tested on, and images as vectors for learning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.preprocessing import normalize

from frobmetric.learning.triplets import complete_pairs

from ..data.labelled import whitening, within_covariance
from ..data.pairs import FacePairs

#: Images that a method may know.
VARIANTS = {
    "pairs": "images of the training pairs",
    "people": "all images of the people in the training pairs",
}
#: Variant of the paper's table and of the comparison with other methods.
MAIN = "people"
#: Largest number of dimensions that a recipe can ask for.
MAX_DIMENSIONS = 400
#: Number of results that `Images` keeps: as many as a split and its five parts need.
CACHE_SIZE = 6


# Splits


@dataclass(frozen=True, eq=False)
class PairSplit:
    """Training and test pairs, with no person in both."""

    name: str  # unique for each split of a data set
    person: np.ndarray  # identity of the person on each image, of shape (n_images,)
    train: FacePairs
    test: FacePairs  # if one of its people is in `train`, a ValueError names one
    variant: str = "pairs"  # one of `VARIANTS`
    whole: PairSplit | None = None  # the split whose training pairs are divided here

    def __post_init__(self):
        both = np.intersect1d(self.person[self.train.index], self.person[self.test.index])
        if len(both):
            raise ValueError(
                f"{self.name}: person {both[0]} is in training and in test pairs; a split must "
                "keep people apart"
            )

    @cached_property
    def known(self):
        """Rows of the images that may be used to learn from, rising."""
        images = np.unique(self.train.index)
        if self.variant == "pairs":
            return images
        return np.flatnonzero(np.isin(self.person, self.person[images]))

    @property
    def seen(self):
        """Rows of the images that PCA, which needs no names, is fitted to; none of test people.

        A part of a split has the PCA of the whole split.
        """
        return self.known if self.whole is None else self.whole.seen

    @cached_property
    def identity(self):
        """Identity of the person on each of the known images."""
        return self.person[self.known]

    @cached_property
    def has_another(self):
        """Return whether each of the known images has another one of the same person."""
        _, place, counts = np.unique(self.identity, return_inverse=True, return_counts=True)
        return counts[place] > 1

    @property
    def known_pairs(self):
        """The training pairs, as places in `known`."""
        return FacePairs(np.searchsorted(self.known, self.train.index), self.train.same)

    def parts(self, n_parts):
        """Divide the training pairs: return splits whose test pairs are a part of them each.

        Parts have about equally many pairs and no person is in two, so that together they test
        every training pair by what was learned from other people.
        """
        part = divide(self.person[self.train.index], n_parts)
        splits = []
        for i in range(n_parts):
            name, train = f"{self.name}, part {i} of {n_parts}", take(self.train, part != i)
            known = self.person, train, take(self.train, part == i)
            splits.append(PairSplit(name, *known, self.variant, self))
        return splits


def take(pairs, rows):
    """Return some pairs, by numbers or booleans."""
    return FacePairs(pairs.index[rows], pairs.same[rows])


def view1(faces, variant="pairs"):
    """Return the split for choosing: View 1."""
    return PairSplit("view1", faces.person, faces.view1_train, faces.view1_test, variant)


def view2(faces, number, variant="pairs"):
    """Return the split in which one fold of View 2 is the test part."""
    is_test = faces.view2_fold == number
    train, test = take(faces.view2, ~is_test), take(faces.view2, is_test)
    return PairSplit(f"fold{number}", faces.person, train, test, variant)


def divide(people, n_parts):
    """Divide pairs of people so that no person is in two parts; return the part of each pair.

    Pairs that share a person stay together; the largest such groups go first, each to the part
    that has the fewest pairs.

    Examples
    --------
    >>> divide(np.array([[0, 0], [0, 1], [2, 3], [4, 4], [5, 4]]), 2)
    array([0, 0, 0, 1, 1])
    """
    names, place = np.unique(people, return_inverse=True)
    i, j = place.reshape(-1, 2).T
    links = coo_array((np.ones(len(i)), (i, j)), shape=(len(names), len(names)))
    group = connected_components(links, directed=False)[1][i]
    sizes = np.bincount(group)
    n_groups = np.count_nonzero(sizes)
    if n_groups < n_parts:
        raise ValueError(
            f"the pairs link their people to {n_groups} groups; {n_parts} parts without a person "
            "in two need as many"
        )
    part, filled = np.zeros(len(sizes), dtype=int), np.zeros(n_parts, dtype=int)
    for each in np.argsort(-sizes, kind="stable"):
        part[each] = filled.argmin()
        filled[part[each]] += sizes[each]
    return part[group]


# Vectors


@dataclass(frozen=True)
class Recipe:
    """Everything that is chosen for a metric of faces."""

    root: bool = True  # whether to take square roots of the descriptors first
    n_dimensions: int = 400  # number of dimensions of PCA; at most `MAX_DIMENSIONS`
    space: str = "within"  # what is made white: one of `SPACES`
    shrink: float = 0.1  # share of its covariance that a multiple of the identity replaces
    unit: bool = True  # whether to divide each vector by its length, after centring
    prior: str | None = None  # prior of `FrobMetric` in this space: None or "identity"
    C: float = 300.0
    loss: str = "hinge"
    n_neighbors: int = 20  # number of third examples of each pair
    n_triplets: int = 18_000  # largest number of triplets; they are drawn from all


class Images:
    """Descriptors X of all images, not negative, and vectors by recipe; the latest are cached."""

    def __init__(self, X):
        self.X = X
        self._caches = {"components": {}, "vectors": {}, "triplets": {}}

    def vectors(self, split, recipe):
        """Return all images as vectors, by a recipe and what is known in a split.

        The mean of the known images is zero, before vectors are brought to unit length.
        """
        key = _key(split, recipe)
        return self._cached("vectors", key, lambda: self._whiten(split, *key[2:]))

    def triplets(self, split, recipe):
        """Return triplets of the training pairs of a split, as places among its known images."""
        key = (*_key(split, recipe), recipe.n_neighbors)
        completed = self._cached("triplets", key, lambda: self._complete(split, recipe))
        return completed.draw(recipe.n_triplets, random_state=0)

    def _complete(self, split, recipe):
        """Complete the training pairs of a split by third examples among its known images."""
        pairs, Z = split.known_pairs, self.vectors(split, recipe)[split.known]
        signs, pool = np.where(pairs.same, 1, -1), np.arange(len(Z))
        how = {"identity": split.identity, "n_neighbors": recipe.n_neighbors, "pool": pool}
        return complete_pairs(Z, pairs.index, signs, **how)

    def _cached(self, name, key, compute):
        cache = self._caches[name]
        if key not in cache:
            while len(cache) >= CACHE_SIZE:
                cache.pop(next(iter(cache)))
            cache[key] = compute()
        return cache[key]

    def _whiten(self, split, root, n_dimensions, space, shrink, unit):
        key = split.seen.tobytes(), root
        components = self._cached("components", key, lambda: self._reduce(split.seen, root))
        Z = components[:, :n_dimensions].astype(np.float64)
        Z -= Z[split.known].mean(axis=0)
        covariance = SPACES[space](Z[split.known], split)
        if covariance is not None:
            Z = Z @ whitening(shrunk(covariance, shrink))
        return normalize(Z) if unit else Z

    def _reduce(self, rows, root):
        """Return all images on the principal axes of those in these rows, as float32."""
        X = self._roots if root else self.X.astype(np.float32)
        mean = X[rows].mean(axis=0, dtype=np.float64).astype(np.float32)
        return (X - mean) @ principal_axes(X[rows] - mean, MAX_DIMENSIONS)

    @cached_property
    def _roots(self):
        return np.sqrt(self.X.astype(np.float32))


def _key(split, recipe):
    """Return the values that the vectors depend on."""
    how = recipe.root, recipe.n_dimensions, recipe.space, recipe.shrink, recipe.unit
    return split.name, split.variant, *how


def _within_people(Z, split):
    return within_covariance(Z[split.has_another], split.identity[split.has_another])


#: (centred vectors of the known images, split) -> the covariance that becomes the identity; None
#: for no whitening.
SPACES = {
    "identity": lambda Z, split: None,
    "covariance": lambda Z, split: Z.T @ Z / len(Z),
    "within": _within_people,
}


def shrunk(covariance, share):
    """Replace a share of a covariance by a multiple of the identity, equal in trace.

    Examples
    --------
    >>> shrunk(np.diag([1.0, 3.0]), 0.5)
    array([[1.5, 0. ],
           [0. , 2.5]])
    """
    n = len(covariance)
    return (1 - share) * covariance + share * np.trace(covariance) / n * np.eye(n)


def principal_axes(X, most):
    """Return the directions of largest variance of centred rows, as columns."""
    n = min(X.shape)
    few = min(most, X.shape[1], len(X) - 1)  # centred rows are linearly dependent
    gram = X @ X.T if len(X) < X.shape[1] else X.T @ X
    sizes, axes = eigh(gram, subset_by_index=[n - few, n - 1], check_finite=False)
    is_there = sizes > np.finfo(X.dtype).eps * n * sizes[-1]
    sizes, axes = sizes[is_there][::-1], axes[:, is_there][:, ::-1]
    return X.T @ (axes / np.sqrt(sizes)) if len(X) < X.shape[1] else axes
