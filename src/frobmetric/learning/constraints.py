"""Constraints from labels: similar and dissimilar pairs, triplets of neighbours, and chunks."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks.arguments import as_column, as_index, check_count, check_flag
from ..checks.samples import check_array, check_random_state
from ..core.checks import as_array, as_finite, as_sequence, read_values
from ..core.points import Index, Vector
from ..core.warning import warn_user
from .triplets import mine_triplets

__all__ = ["DrawnConstraints", "wrap_pairs"]

#: All pairs are listed if there are at most this many times the number that is asked for.
FEW = 4
#: Largest number of a class that a float64 holds exactly.
MOST_LABEL = 2**53
#: Rounds in which missing pairs are drawn again.
ROUNDS = 10


class DrawnConstraints:
    """Makers of constraints from labels, of which some may be unknown.

    Parameters
    ----------
    partial_labels : array-like of int, shape (n_samples,)
        Class of each sample; negative where it is unknown.

    Examples
    --------
    >>> from frobmetric.learning.constraints import DrawnConstraints
    >>> a, b, c, d = DrawnConstraints([0, 0, 1, 1, -1]).positive_negative_pairs(2, random_state=0)
    >>> sorted(map(sorted, zip(a.tolist(), b.tolist())))
    [[0, 1], [2, 3]]
    """

    def __init__(self, partial_labels: ArrayLike) -> None:
        self.partial_labels = _as_class_numbers(partial_labels)

    def positive_negative_pairs(
        self, n_constraints: int, same_length: bool = False, random_state: Any = None
    ) -> tuple[Index, Index, Index, Index]:
        """Draw distinct pairs of the same class, and distinct pairs of different classes.

        Parameters
        ----------
        n_constraints : int
            Number of pairs of each kind; fewer, with a warning, if there are not so many.
        same_length : bool, default=False
            Leave out pairs of the kind of which there are more.
        random_state : int, RandomState or None, default=None
            Seed of the draw.

        Returns
        -------
        a, b, c, d : ndarray
            Row numbers: a[i] and b[i] are of one class, c[i] and d[i] of two.
        """
        check_flag(same_length, name="same_length")
        rng = check_random_state(random_state)
        positive = self._draw(n_constraints, rng, same=True)
        negative = self._draw(n_constraints, rng, same=False)
        if same_length:
            n = min(len(positive), len(negative))
            positive, negative = positive[:n], negative[:n]
        return (*positive.T, *negative.T)

    def generate_knntriplets(self, X: ArrayLike, k_genuine: int, k_impostor: int) -> Index:
        """Combine each sample with near samples of its class and near samples of others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        k_genuine, k_impostor : int
            Number of neighbours of the same class, and of other classes; fewer, with a warning, in
            classes that are too small.

        Returns
        -------
        triplets : ndarray of shape (n_triplets, 3)
            Row numbers (anchor, near, far).
        """
        known = np.flatnonzero(self.partial_labels >= 0)
        samples = check_array(X)
        as_column(self.partial_labels, len(samples), name="partial_labels", of="rows of X")
        check_count(k_genuine, name="k_genuine")
        check_count(k_impostor, name="k_impostor")
        _warn_few_impostors(self.partial_labels[known], k_impostor)
        options: Any = {"n_neighbors": k_genuine, "n_impostors": k_impostor}
        mined = mine_triplets(samples[known], self.partial_labels[known], **options)
        return known[mined.to_array()]

    def chunks(self, n_chunks: int = 100, chunk_size: int = 2, random_state: Any = None) -> Index:
        """Draw disjoint chunks of samples that have the same class.

        Parameters
        ----------
        n_chunks : int, default=100
            Number of chunks.
        chunk_size : int, default=2
            Number of samples of each.
        random_state : int, RandomState or None, default=None
            Seed of the draw.

        Returns
        -------
        chunks : ndarray of shape (n_samples,)
            Number of the chunk of each sample; -1 for those in none.
        """
        rng = check_random_state(random_state)
        check_count(chunk_size, name="chunk_size", at_most=2**31)
        check_count(n_chunks, name="n_chunks", at_least=0)
        members = [_cut(rows, chunk_size, rng) for rows in self._classes()]
        possible = np.concatenate([np.empty((0, chunk_size), int), *members])
        if len(possible) < n_chunks:
            raise ValueError(
                f"{n_chunks} chunks of {chunk_size} samples were asked for, and the classes have "
                f"room for {len(possible)}; lower n_chunks or chunk_size"
            )
        chunks = np.full(len(self.partial_labels), -1)
        chosen = possible[rng.permutation(len(possible))[:n_chunks]]
        chunks[chosen] = np.arange(n_chunks)[:, None]
        return chunks

    def _classes(self) -> list[Index]:
        """Return the row numbers of each class."""
        labels = self.partial_labels
        return [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]

    def _draw(self, n_constraints: int, rng: np.random.RandomState, *, same: bool) -> Index:
        known = np.flatnonzero(self.partial_labels >= 0)
        pairs = draw_pairs(self.partial_labels[known], n_constraints, rng, same=same)
        return known[pairs]


def _as_class_numbers(labels: ArrayLike) -> Index:
    """Return whole numbers of classes, negative where the class is unknown."""
    numbers = as_array(labels, name="partial_labels")
    if numbers.ndim != 1 or not (numbers == np.rint(numbers)).all():
        raise ValueError(
            f"partial_labels has shape {numbers.shape}; expected (n_samples,) whole numbers of "
            "classes, negative where unknown; number the classes by np.unique"
        )
    if np.abs(numbers).max(initial=0.0) > MOST_LABEL:
        raise ValueError(
            f"partial_labels has a number of size {np.abs(numbers).max():.3g}; expected numbers of "
            "classes; number them by np.unique"
        )
    return numbers.astype(int)


def _warn_few_impostors(labels: Index, k_impostor: int) -> None:
    """Warn of classes with fewer samples of other classes than impostors are asked for."""
    classes, sizes = np.unique(labels, return_counts=True)
    few = np.flatnonzero(len(labels) - sizes < k_impostor)
    if len(few):
        named = ", ".join(f"{classes[i]} ({len(labels) - sizes[i]})" for i in few[:5])
        warn_user(
            f"k_impostor={k_impostor} is more than the samples of other classes than {named}; "
            "all of them are used: lower k_impostor, or give more samples"
        )


def draw_pairs(
    labels: Index,
    n_pairs: int,
    rng: np.random.RandomState,
    *,
    same: bool,
    weight: Vector | None = None,
) -> Index:
    """Return distinct pairs of rows of the same class, or of different classes, (n_pairs, 2).

    Both rows are drawn with probabilities in proportion to their weights. There are fewer pairs,
    with a warning, if so many are not found.
    """
    check_count(n_pairs, name="n_constraints")
    n_pairs = int(n_pairs)
    n = len(labels)
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    partners = _Partners(labels, weight, same)
    draw = _choose_pairs if partners.n_pairs <= FEW * n_pairs else _draw_again
    pairs = draw(partners, n_pairs, rng)
    if len(pairs) < n_pairs:
        kind = "similar" if same else "dissimilar"
        warn_user(
            f"{len(pairs)} distinct {kind} pairs were found of {n_pairs} that were asked for; "
            "lower n_constraints, or give more samples"
        )
    return pairs


def _choose_pairs(partners: _Partners, n_pairs: int, rng: np.random.RandomState) -> Index:
    """Return some of all possible pairs, in random order."""
    pairs = partners.all_pairs()
    # the smallest of exponential times are drawn as if one by one in proportion to the weights
    times = rng.exponential(size=len(pairs)) / partners.weight[pairs].prod(axis=1)
    return pairs[np.argsort(times, kind="stable")[:n_pairs]]


def _draw_again(partners: _Partners, n_pairs: int, rng: np.random.RandomState) -> Index:
    """Return pairs that are drawn again and again until there are enough different ones."""
    n = len(partners.labels)
    codes = np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        first = partners.first(rng, n_pairs - len(codes))
        codes = np.concatenate([codes, first * n + partners.second(rng, first)])
        _, place = np.unique(codes, return_index=True)
        codes = codes[np.sort(place)]  # in the order in which they were drawn
        if len(codes) == n_pairs:
            break
    return np.column_stack(np.divmod(codes, n)).astype(np.intp)


class _Partners:
    """Pairs of rows in the same class or in different ones, listed or drawn by their weights."""

    def __init__(self, labels: Index, weight: Vector, same: bool) -> None:
        _, self.labels = np.unique(labels, return_inverse=True)
        self.weight, self.same = weight, same
        self.order = np.argsort(self.labels, kind="stable")
        self.place = np.argsort(self.order)
        self.total = np.concatenate([[0.0], np.cumsum(weight[self.order])])
        self.sizes = np.bincount(self.labels)
        self.ends = np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def n_pairs(self) -> int:
        """Number of possible pairs, in both orders."""
        n_same = int(np.sum(self.sizes * (self.sizes - 1)))
        n = len(self.labels)
        return n_same if self.same else n * (n - 1) - n_same

    def all_pairs(self) -> Index:
        """Return all possible pairs, in both orders."""
        found = [np.empty((0, 2), dtype=np.intp)]
        for label in range(len(self.sizes)):
            rows = np.flatnonzero(self.labels == label)
            others = rows if self.same else np.flatnonzero(self.labels != label)
            first, second = np.repeat(rows, len(others)), np.tile(others, len(rows))
            found.append(np.column_stack([first, second])[first != second])
        return np.concatenate(found)

    def first(self, rng: np.random.RandomState, n: int) -> Index:
        """Return rows that have partners."""
        sizes = self.sizes[self.labels]
        has_partner = sizes > 1 if self.same else sizes < len(self.labels)
        total = np.cumsum(np.where(has_partner, self.weight, 0.0))
        place = np.searchsorted(total, rng.uniform(size=n) * total[-1], side="right")
        return np.minimum(place, np.flatnonzero(has_partner)[-1])

    def second(self, rng: np.random.RandomState, first: Index) -> Index:
        """Return a partner for each row: any of its class but itself, or any of other classes."""
        label = self.labels[first]
        low, high = self.total[self.ends[label]], self.total[self.ends[label + 1]]
        place = self.place[first]
        left, right = (self.total[place], self.total[place + 1]) if self.same else (low, high)
        share = rng.uniform(size=len(first))
        start, end = (low, high) if self.same else (0.0, self.total[-1])
        level = start + share * ((end - start) - (right - left))  # the part in between is skipped
        level = np.where(level < left, level, level + (right - left))
        found = np.searchsorted(self.total[1:], level, side="right")
        first_end, last = (self.ends[label], self.ends[label + 1] - 1)
        if self.same:
            found = np.clip(found, first_end, last)
        return self.order[np.minimum(found, len(self.order) - 1)]


def wrap_pairs(X: ArrayLike, constraints: Any) -> tuple[NDArray[Any], Index]:
    """Return pairs of points and their labels, from what `positive_negative_pairs` returns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Samples, or indices of them.
    constraints : tuple (a, b, c, d) of arrays of int
        Row numbers of similar pairs (a, b) and dissimilar ones (c, d).

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2, n_features) or (n_pairs, 2)
    y : ndarray of shape (n_pairs,)
        +1 for similar pairs, -1 for dissimilar ones.

    Examples
    --------
    >>> from frobmetric.learning.constraints import wrap_pairs
    >>> pairs, y = wrap_pairs([[0.0], [0.1], [5.0]], ([0], [1], [0, 1], [2, 2]))
    >>> pairs[:, :, 0].tolist(), y.tolist()
    ([[0.0, 0.1], [0.0, 5.0], [0.1, 5.0]], [1, -1, -1])
    """
    expected = "the four arrays a, b, c, d of row numbers"
    parts = as_sequence(constraints, name="constraints", expected=expected)
    points = read_values(X, name="X")
    if len(parts) != 4 or not points.ndim:
        raise ValueError(
            f"constraints has {len(parts)} parts and X shape {points.shape}; expected {expected}, "
            "and samples or indices of them"
        )
    if points.dtype.kind == "O":
        is_number = [each is None or isinstance(each, Number) for each in points.flat]
        as_finite(points.ravel()[np.array(is_number, bool)], name="X")
    elif points.dtype.kind in "fc":
        as_finite(points, name="X")
    sides = [
        as_index(part, (), name=n, n_points=len(points)) if len(part) else np.empty(0, int)
        for n, part in zip("abcd", (read_values(p, name="rows") for p in parts), strict=True)
    ]
    if len(sides[0]) != len(sides[1]) or len(sides[2]) != len(sides[3]):
        raise ValueError(
            f"a, b, c, d have the lengths {[len(side) for side in sides]}; expected as many of a "
            "as of b, and of c as of d"
        )
    a, b, c, d = sides
    rows = np.concatenate([np.column_stack([a, b]), np.column_stack([c, d])])
    return points[rows], np.repeat([1, -1], [len(a), len(c)])


def _cut(rows: Index, size: int, rng: np.random.RandomState) -> Index:
    """Return rows in random order, cut into chunks; a rest that is too small is left out."""
    n_chunks = len(rows) // size
    return rng.permutation(rows)[: n_chunks * size].reshape(n_chunks, size)
