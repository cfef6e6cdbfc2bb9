"""Rules of classification by nearest samples, as values: a vote of them, or energies of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from ..checks.arguments import require_finite, safe_exponent, times_power
from ..checks.text import shown
from ..core.points import Array, Data, Index, Vector
from ..model.linear_map import Features
from ..model.value import Value
from ..search.exact import NeighborSearch, blocks, pair_values


@dataclass(frozen=True, eq=False)
class Members(Value):
    """Training samples of one class or of all, and the search among them."""

    points: Data
    search: NeighborSearch

    @classmethod
    def of(cls, points: Data, n_jobs: int | None) -> Self:
        """Prepare the search among points."""
        return cls(points, NeighborSearch(points, n_jobs=n_jobs))

    def nearest(self, X: Data, n_neighbors: int) -> Index:
        """Return the numbers of the nearest, or of all if there are fewer."""
        return self.search.nearest(X, min(n_neighbors, self.points.shape[0]))

    def squared_distances(self, X: Data, number: Index) -> Array:
        """Return the squared distances of samples from the members with these numbers."""
        n_samples, k = number.shape
        pairs = np.column_stack([np.repeat(np.arange(n_samples), k), number.ravel()])
        return pair_values(X, self.points, pairs).reshape(-1, k)


@dataclass(frozen=True, eq=False)
class NearestRule(Value):
    """Base of rules that call the class of a sample by its nearest training samples.

    Samples are kept in units of 2**exponent, so that squares of distances do not overflow.
    """

    features: Features
    classes: NDArray[Any]
    exponent: int
    n_neighbors: int

    def _scaled(self, X: Data, members: Members) -> Data:
        """Return samples in the unit of the rule, dense or sparse as the members."""
        with np.errstate(over="ignore"):
            X = times_power(X, -self.exponent)
        if sp.issparse(members.points):
            return sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else X


@dataclass(frozen=True, eq=False)
class VoteRule(NearestRule):
    """Vote of the nearest samples; with `is_weighted` a vote counts one over the distance."""

    is_weighted: bool
    labels: Index
    members: Members

    @classmethod
    def of(
        cls,
        X: Data,
        y: NDArray[Any],
        features: Features,
        *,
        n_neighbors: int,
        weights: str,
        n_jobs: int | None,
    ) -> Self:
        """Remember checked samples."""
        exponent = safe_exponent(X)
        classes, labels = np.unique(y, return_inverse=True)
        members = Members.of(times_power(X, -exponent), n_jobs)
        how = (n_neighbors, weights == "distance")
        return cls(features, classes, exponent, *how, labels, members)

    def predict(self, X: Data) -> NDArray[Any]:
        """Return the class of each checked sample."""
        X = self._scaled(X, self.members)
        number = self.members.nearest(X, self.n_neighbors)
        labels = self.labels[number]
        if not self.is_weighted:
            return self.classes[majority(labels)]
        distance = np.sqrt(self.members.squared_distances(X, number))
        return self.classes[_weighted_majority(labels, distance)]


@dataclass(frozen=True, eq=False)
class EnergyRule(NearestRule):
    """Smallest energy of a class; with `is_center` that of the mean of its nearest samples."""

    is_center: bool
    members: tuple[Members, ...]

    @classmethod
    def of(
        cls,
        X: Data,
        y: NDArray[Any],
        features: Features,
        *,
        n_neighbors: int,
        rule: str,
        n_jobs: int | None,
    ) -> Self:
        """Remember the checked samples of each class."""
        exponent = safe_exponent(X)
        X = times_power(X, -exponent)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class ({shown(classes[0])}); a classifier needs at least two classes"
            )
        members = tuple(Members.of(X[labels == i], n_jobs) for i in range(len(classes)))
        return cls(features, classes, exponent, n_neighbors, rule == "center", members)

    def predict(self, X: Data) -> NDArray[Any]:
        """Return the class of each checked sample; a tie goes to the first in `classes`."""
        return self.classes[self._scaled_energies(X).argmin(axis=1)]

    def energies(self, X: Data) -> Array:
        """Return the energy of each checked sample in each class, (n_samples, n_classes)."""
        scaled = self._scaled_energies(X)
        with np.errstate(over="ignore"):
            return require_finite(times_power(scaled, 2 * self.exponent), of="energies")

    def _scaled_energies(self, X: Data) -> Array:
        X = self._scaled(X, self.members[0])
        with np.errstate(over="ignore"):
            energies = np.column_stack([self._energy(X, members) for members in self.members])
        return require_finite(energies, of="energies")

    def _energy(self, X: Data, members: Members) -> Vector:
        number = members.nearest(X, self.n_neighbors)
        if self.is_center:
            return _squared_distance_to_center(X, members.points, number)
        return members.squared_distances(X, number).mean(axis=1)


def majority(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the most frequent label of each row; the first of equally frequent ones."""
    votes = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
    return labels[np.arange(len(labels)), votes.argmax(axis=1)]


def _weighted_majority(labels: Index, distance: Array) -> Index:
    """Return the label of each row whose votes, one over the distance, sum to most."""
    # in units of the largest distance, so that nothing overflows; equal points count most
    largest = np.maximum(distance[:, -1:], np.finfo(float).tiny)
    share = np.ones_like(distance)  # samples so far away that the square is infinite are as near
    np.divide(distance, largest, out=share, where=np.isfinite(distance))
    weight = 1.0 / np.maximum(share, 1e-9)
    votes = np.zeros((len(labels), labels.max(initial=0) + 1))
    for column, of_column in zip(labels.T, weight.T, strict=True):
        votes[np.arange(len(labels)), column] += of_column
    return votes.argmax(axis=1)


def _squared_distance_to_center(X: Data, members: Data, number: Index) -> Vector:
    """Return the squared distance of each sample to the mean of the members with these numbers."""
    if sp.issparse(members):
        n, k = number.shape
        ends, share = np.arange(0, number.size + 1, k), np.full(number.size, 1 / k)
        mean = sp.csr_array((share, number.ravel(), ends), shape=(n, members.shape[0])) @ members
        return row_norms(mean - X, squared=True)
    energy = np.empty(len(X))
    for rows in blocks(len(X), number.shape[1] * X.shape[1]):
        # from differences: the mean of points far from the origin is rounded
        away = (members[number[rows]].astype(np.float64) - X[rows, None]).mean(axis=1)
        energy[rows] = np.einsum("ij,ij->i", away, away)
    return energy
