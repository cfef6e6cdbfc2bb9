"""How images become vectors in which a metric is learned: all choices in one place."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from sklearn.preprocessing import normalize

from frobmetric.metric.triplets import complete_pairs

from ..rivals.rca import whitening, within_covariance

#: The most dimensions that a recipe can ask for.
MOST = 400


@dataclass(frozen=True)
class Recipe:
    """Everything that is chosen for a metric of faces.

    Attributes
    ----------
    root : bool
        Take square roots of the descriptors first.
    n_dimensions : int
        Of PCA; at most `MOST`.
    space : {"identity", "covariance", "within"}
        In which metric the principal components are then laid out: their own, that of unit
        variances, or that of unit covariance within people.
    shrink : float
        How much of that covariance is replaced by a multiple of the identity with the same trace.
    unit : bool
        Divide each vector, its mean over the known images taken off, by its length.
    prior : str, optional
        That of `FrobMetric`, in this space: None or "identity".
    C : float
    loss : str
    n_neighbors : int
        Third examples of each pair.
    n_triplets : int
        The most; more than these are drawn from.
    """

    root: bool = True
    n_dimensions: int = 400
    space: str = "within"
    shrink: float = 0.1
    unit: bool = True
    prior: str | None = None
    C: float = 300.0
    loss: str = "hinge"
    n_neighbors: int = 20
    n_triplets: int = 18_000

    def to_text(self):
        """As one line of JSON; equal recipes give equal ones."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text):
        return cls(**json.loads(text))


class Images:
    """Descriptors of all images, and their vectors by recipe; those computed last are kept.

    Parameters
    ----------
    X : ndarray of shape (n_images, n_features)
        Not negative.
    most : int
        How many principal components there are for recipes to take from.
    """

    def __init__(self, X, most=MOST):
        self.X, self.most = X, most
        self._components, self._vectors, self._completed = Kept(), Kept(), Kept()

    def vectors(self, split, recipe):
        """All images as vectors, by a recipe and what is known in a split.

        Parameters
        ----------
        split : Split
        recipe : Recipe

        Returns
        -------
        ndarray of shape (n_images, n_dimensions)
            The mean of the known images is zero, before vectors are brought to unit length.
        """
        key = _key(split, recipe)
        return self._vectors.get(key, lambda: self._lay_out(split, *key[2:]))

    def triplets(self, split, recipe):
        """Triplets from the training pairs of a split, as places among its known images."""
        pairs, Z = split.known_pairs, self.vectors(split, recipe)[split.known]
        completed = self._completed.get(
            (*_key(split, recipe), recipe.n_neighbors),
            lambda: complete_pairs(
                Z,
                pairs.index,
                np.where(pairs.same, 1, -1),
                identity=split.identity,
                n_neighbors=recipe.n_neighbors,
                pool=np.arange(len(Z)),
            ),
        )
        return completed.draw(recipe.n_triplets, random_state=0)

    def _lay_out(self, split, root, n_dimensions, space, shrink, unit):
        key = split.seen.tobytes(), root
        components = self._components.get(key, lambda: self._reduce(split.seen, root))
        Z = components[:, :n_dimensions].astype(np.float64)
        Z -= Z[split.known].mean(axis=0)
        covariance = SPACES[space](Z[split.known], split)
        if covariance is not None:
            Z = Z @ whitening(shrunk(covariance, shrink))[0]
        return normalize(Z) if unit else Z

    def _reduce(self, rows, root):
        """Coordinates of all images on the principal axes of those in these rows, as float32."""
        X = self._roots if root else self.X.astype(np.float32)
        mean = X[rows].mean(axis=0, dtype=np.float64).astype(np.float32)
        return (X - mean) @ principal_axes(X[rows] - mean, self.most)

    @cached_property
    def _roots(self):
        return np.sqrt(self.X.astype(np.float32))


def _key(split, recipe):
    """What vectors depend on."""
    how = recipe.root, recipe.n_dimensions, recipe.space, recipe.shrink, recipe.unit
    return split.name, split.variant, *how


class Kept:
    """The last few values that were computed, by key."""

    #: As many as a split and its five parts need.
    MOST = 6

    def __init__(self):
        self._found = {}

    def get(self, key, compute):
        if key not in self._found:
            while len(self._found) >= self.MOST:
                self._found.pop(next(iter(self._found)))
            self._found[key] = compute()
        return self._found[key]


def _of_all(Z, split):
    return Z.T @ Z / len(Z)


def _within_people(Z, split):
    rows = split.has_another
    return within_covariance(Z[rows], split.identity[rows])


#: (centred vectors of the known images, split) -> the covariance that becomes the identity.
SPACES = {"identity": lambda Z, split: None, "covariance": _of_all, "within": _within_people}


def shrunk(covariance, share):
    """A covariance of which a share is replaced by a multiple of the identity, equal in trace.

    Examples
    --------
    >>> import numpy as np
    >>> shrunk(np.diag([1.0, 3.0]), 0.5)
    array([[1.5, 0. ],
           [0. , 2.5]])
    """
    n = len(covariance)
    return (1 - share) * covariance + share * np.trace(covariance) / n * np.eye(n)


def principal_axes(X, most):
    """The directions of largest variance of centred rows, as columns.

    Examples
    --------
    >>> import numpy as np
    >>> abs(principal_axes(np.array([[3.0, 4.0], [-3.0, -4.0]]), 2)).round(3)
    array([[0.6],
           [0.8]])
    """
    n = min(X.shape)
    few = min(most, n)
    gram = X @ X.T if len(X) < X.shape[1] else X.T @ X
    sizes, axes = eigh(gram, subset_by_index=[n - few, n - 1], check_finite=False)
    is_there = sizes > np.finfo(X.dtype).eps * n * sizes[-1]
    sizes, axes = sizes[is_there][::-1], axes[:, is_there][:, ::-1]
    return X.T @ (axes / np.sqrt(sizes)) if len(X) < X.shape[1] else axes
