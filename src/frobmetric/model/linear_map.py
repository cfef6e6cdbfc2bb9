"""The value that every fit returns: a linear map, what it was learned from, and its proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from ..checks.arguments import as_index, as_weights, require_finite
from ..core.points import Array, Index, Vector
from ..core.solution import STATUSES, Certificate, Step
from ..search.recall import MiningRecall
from .distances import index_distance, unit_rows
from .feature_maps import FeatureMap
from .promise import Promise
from .recipe import Recipe
from .units import Units
from .value import Value, frozen_numbers

if TYPE_CHECKING:
    from .explanation import Explanation

Part = TypeVar("Part")
#: Nothing that only some learners find.
NO_DETAILS: Mapping[str, Any] = MappingProxyType({})
#: Status of a run that ended above its tolerance.
UNFINISHED = ("max_iter", "time_limit", "stalled")
#: Errors of a certified answer and of another one, relative to the tolerance; the certificate is
#: computed again, and rounds differently.
LATE, EARLY = 1.01, 0.99


@dataclass(frozen=True, eq=False)
class Features(Value):
    """Features that a map takes.

    `kernel` turns samples into the columns that `components` has; with `unit_length` vectors are
    scaled to length one before and after the map. `preparation`, a `TablePreparation`, makes the
    features of the columns of a table.
    """

    number: int
    names: Array | None = None
    kernel: FeatureMap = field(default_factory=FeatureMap)
    unit_length: bool = False
    preparation: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.number, int | np.integer) or self.number < 1:
            raise ValueError(f"n_features_in_ = {self.number!r} is not a positive integer")
        if self.names is not None and len(self.names) != self.number:
            raise ValueError(f"it has {len(self.names)} feature names for {self.number} features")
        X_fit = self.kernel.X_fit
        if X_fit is not None and (X_fit.ndim != 2 or X_fit.shape[1] != self.number):
            raise ValueError(f"X_fit_ has shape {X_fit.shape}; expected (n_rows, {self.number})")
        self._check_preparation()

    def _check_preparation(self) -> None:
        """Check that the preparation gives these features."""
        if self.preparation is None:
            return
        names = None if self.names is None else list(self.names)
        prepared = self.preparation.n_features, self.preparation.feature_names
        if prepared != (self.number, names):
            raise ValueError(
                f"it prepares {prepared[0]} features {prepared[1]!r:.60}; the metric has "
                f"{self.number}: {names!r:.60}"
            )

    def vectors(self, X: Any) -> Any:
        """Return vectors as the map takes and gives them: at unit length, or as they are."""
        return unit_rows(X) if self.unit_length else X

    @property
    def n_columns(self) -> int:
        """Number of columns of `components`."""
        return self.number if self.kernel.X_fit is None else self.kernel.X_fit.shape[0]


@dataclass(frozen=True, eq=False)
class Space(Value):
    """Numbers that describe the coordinates in which a problem was solved."""

    scale: float
    unit: float
    units: Units = field(default_factory=Units)
    n_directions: int | None = None
    kept_variance: float = 1.0
    prior_factor: Array | None = None
    prior_components: Array | None = None

    def __post_init__(self) -> None:
        for name, value in (("scale_", self.scale), ("unit_", self.unit)):
            if not 0 < value < np.inf:
                raise ValueError(f"{name} = {value!r} is not a positive finite number")
        if not 0 <= self.kept_variance <= 1:
            raise ValueError(f"kept_variance_ = {self.kept_variance!r} is not between 0 and 1")
        if self.n_directions is not None and self.n_directions < 1:
            raise ValueError(f"n_directions_ = {self.n_directions} is not at least 1")
        for name in ("prior_factor", "prior_components"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, frozen_numbers(f"{name}_", array))


@dataclass(frozen=True, eq=False)
class Run(Value):
    """Course of a fit: why it ended, after how many steps, to which tolerance."""

    n_iter: int
    status: str | None = None
    history: tuple[Step, ...] | None = None
    tol: float | None = None

    def __post_init__(self) -> None:
        if self.n_iter < 0:
            raise ValueError(f"n_iter_ = {self.n_iter} is below 0")
        if self.status is not None and self.status not in STATUSES:
            raise ValueError(f"status_ = {self.status!r:.40} is not one of {sorted(STATUSES)}")
        if self.tol is not None and not self.tol > 0:
            raise ValueError(f"tol = {self.tol} is not a positive number")
        if self.tol is None or self.status not in ("optimal", *UNFINISHED):
            return
        early = [s for s in (self.history or ())[:-1] if s.relative_gap < self.tol / 2]
        if early:
            raise ValueError(
                f"history goes on after a step with relative gap {early[0].relative_gap:.3g}, at "
                f"which a fit with tol={self.tol:g} ends"
            )

    def check_proof(self, proof: Certificate) -> None:
        """Raise ValueError unless a certificate is within the tolerance if and only if it ended so.

        Other runs prove what they may.
        """
        if np.isnan([proof.primal, proof.dual, proof.distance_bound]).any() or not proof.gap >= 0:
            raise ValueError(
                f"certificate has a gap of {proof.gap}, or objectives that are no numbers"
            )
        if self.tol is None:
            return
        is_late = self.status == "optimal" and proof.error > LATE * self.tol
        if is_late or (self.status in UNFINISHED and proof.error < EARLY * self.tol):
            raise ValueError(
                f"status_ = {self.status!r} does not belong to a relative gap of "
                f"{proof.error:.3g} and tol={self.tol:g}"
            )


@dataclass(frozen=True, eq=False)
class Source(Value):
    """Source that a map was learned from, as numbers.

    `points` has a digest of each point of the pairs, by which a promise on points that were
    learned from is found out.
    """

    n_comparisons: int | None = None
    n_contradictions: int | None = None
    n_unlabeled: int | None = None
    recall: MiningRecall | None = None
    points: Vector | None = None

    def __post_init__(self) -> None:
        counts = {"n_triplets_": (self.n_comparisons, 0), "n_unlabeled_": (self.n_unlabeled, 1)}
        counts["n_contradictions_"] = (self.n_contradictions, 0)
        for name, (count, least) in counts.items():
            if count is not None and count < least:
                raise ValueError(f"{name} = {count} is not at least {least}")
        if self.points is not None and (self.points.ndim != 1 or self.points.dtype != np.uint64):
            raise ValueError("the points that it was learned from are no digests of 64 bits")


#: Source of a map of which nothing is told.
NO_SOURCE = Source()


@dataclass(frozen=True, eq=False)
class Evidence(Value):
    """Evidence that `prove` needs besides the samples: dual variables and comparisons.

    `rows` has the first row of each kind of equal rows, and `weight` the sum of their weights; None
    if every row is a sample of its own.
    """

    u: Vector
    comparisons: Any
    rows: Index | None = None
    weight: Vector | None = None

    def __post_init__(self) -> None:
        if self.u.shape != (self.comparisons.n_triplets,):
            raise ValueError(
                f"it has {self.comparisons.n_triplets} triplets, and dual variables of shape "
                f"{self.u.shape}"
            )
        if (self.rows is None) != (self.weight is None):
            raise ValueError("it has only one of point_rows_ and point_weight_")
        object.__setattr__(self, "u", frozen_numbers("dual_coef_", self.u))
        if self.rows is not None:
            as_index(self.rows, (), name="point_rows_", points="rows of X")
            as_weights(self.weight, len(self.rows), name="point_weight_", of="rows")
            if not np.isin(self.comparisons.points, self.rows).all():
                raise ValueError("its triplets have rows that are not in point_rows_")


@dataclass(frozen=True, eq=False)
class Threshold(Value):
    """Largest distance of pairs that are called similar, and what is promised of it.

    `learned` is the threshold that is part of the learning problem, and `prior` the one that it
    was to stay close to in an update.
    """

    distance: float
    promise: Promise | None = None
    learned: float | None = None
    prior: float | None = None

    def __post_init__(self) -> None:
        if np.isnan(self.distance):
            raise ValueError(f"threshold_ = {self.distance} is not a number")
        for name, value in (("learned", self.learned), ("prior", self.prior)):
            if value is not None and not 0 <= value < np.inf:
                raise ValueError(f"{name}_threshold_ = {value} is not a distance")
        if self.promise is not None and self.promise.threshold != -self.distance:
            raise ValueError(f"threshold_ = {self.distance} is not the threshold of promise_")


@dataclass(frozen=True, eq=False)
class LinearMap(Value):
    """Linear map of features after which Euclidean distances are the learned ones.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_columns)
        Rows of the map; read-only.
    features : Features
        What the map takes.
    certificate : Certificate or None
        Proof of the learning problem, of learners that have one.
    run : Run or None
        Course of the fit; None if the map has a closed form.
    rank : int or None
        Rank of the metric before it was cut to `n_components`.
    recipe : Recipe or None
        Problem that was solved; None for learners of other methods.
    space : Space or None
        Coordinates in which it was solved.
    source : Source
        What the map was learned from.
    evidence : Evidence or None
        What `prove` needs, if the fit kept it.
    threshold : Threshold or None
        Decision about pairs.
    choice : object or None
        How options were chosen, with a report.
    query_components : ndarray or None
        Map of queries, where it is another one than that of documents.
    details : mapping
        What only some learners find, by the names of their attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> learned = FrobMetric().fit(X, y).map_
    >>> learned.transform(X).shape
    (150, 4)
    """

    components: Array
    features: Features
    certificate: Certificate | None = None
    run: Run | None = None
    rank: int | None = None
    recipe: Recipe | None = None
    space: Space | None = None
    source: Source = field(default_factory=Source)
    evidence: Evidence | None = None
    threshold: Threshold | None = None
    choice: Any = None
    query_components: Array | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_columns = self.features.n_columns
        components = frozen_numbers("components_", self.components, n_columns)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        if self.query_components is not None:
            queries = frozen_numbers("query_components_", self.query_components)
            if queries.shape != components.shape:
                raise ValueError(
                    f"query_components_ has shape {queries.shape}; expected {components.shape}"
                )
            object.__setattr__(self, "query_components", queries)
        if self.space is not None:
            self._check_space(self.space)
        if self.rank is not None:
            self._check_rank(self.rank)
        if self.certificate is not None and self.run is not None and self.run.status is not None:
            self.run.check_proof(self.certificate)
        if self.evidence is not None:
            n_rows, told = self.evidence.comparisons.n_triplets, self.source.n_comparisons
            if n_rows != told:
                raise ValueError(f"it says {told} triplets, but has {n_rows}")

    def _check_space(self, space: Space) -> None:
        """Check that arrays have a number for each feature."""
        if space.units.weight is not None and len(space.units.weight) != self.features.number:
            raise ValueError(
                f"feature_weight_ has shape {space.units.weight.shape}; expected "
                f"({self.features.number},)"
            )
        has_name = self.recipe is not None and isinstance(self.recipe.prior, str)
        if space.prior_factor is not None and not has_name:
            raise ValueError("it has prior_factor_, which only a prior by name has")
        if space.prior_components is not None:
            frozen_numbers("prior_components_", space.prior_components, self.features.number)

    def _check_rank(self, rank: int) -> None:
        """Check the number of rows that are not zero; rows of features without weight are."""
        n_rows = np.count_nonzero(self.components.any(axis=1))
        if n_rows > rank:
            raise ValueError(f"rank_ = {rank} and {n_rows} rows of components_ that are not zero")

    @property
    def problem(self) -> tuple[Recipe, Space]:
        """Recipe and coordinates of the problem; ValueError for maps that solve another one."""
        return required(self.recipe, "recipe"), required(self.space, "coordinates")

    @property
    def proof(self) -> Evidence:
        """Evidence of the fit; ValueError if it kept none."""
        if self.evidence is None:
            raise ValueError("no dual variables were kept; fit with keep_dual=True")
        return self.evidence

    def transform(self, X: Any, *, of_queries: bool = False) -> Array:
        """Map checked samples, dense or CSR, to where Euclidean distances are the learned ones.

        Queries are mapped by `query_components`, if the map has two sides.
        """
        components = self.components
        if of_queries and self.query_components is not None:
            components = self.query_components
        vectors = self.features.vectors(X)
        if self.features.unit_length and _is_identity(components):
            return vectors  # nothing is rounded a second time
        features = self.features.kernel(vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = features @ components.T.astype(features.dtype, copy=False)
            mapped = require_finite(mapped.astype(X.dtype, copy=False), of="mapped samples")
        return self.features.vectors(mapped)

    def pair_distance(self, points: Any, index: Index) -> Vector:
        """Return the learned distances of pairs of rows of `points`."""
        return index_distance(self.components, self.features.kernel(points), index)

    def require_parts(self, by: Any) -> None:
        """Raise ValueError if distances of this map are not sums over these parts."""
        kernel = self.features.kernel.kernel
        if kernel != "linear" and not (isinstance(by, str) and by == "components"):
            raise ValueError(
                f"the metric has kernel={kernel!r}, whose distances are no sums over "
                f"features; got by={by!r}, expected 'components'"
            )

    def explain(self, points: Any, index: Array, *, by: Any, names: Any) -> Explanation:
        """Split the squared distance of two rows of `points`, given by their numbers, exactly."""
        from .explanation import explain_distance  # files of models are read without it

        kernel = self.features.kernel
        ends = kernel(points)[index]
        ends = ends.toarray() if issparse(ends) else ends
        if names is None and kernel.kernel == "linear":
            names = self.features.names
        return explain_distance(self.components, *ends, by=by, feature_names=names)


def _is_identity(matrix: Array) -> bool:
    n_rows, n_columns = matrix.shape
    return n_rows == n_columns and np.array_equal(matrix, np.eye(n_rows))


def required(part: Part | None, name: str) -> Part:
    """Return a part of a map that is needed; raise ValueError where it is missing."""
    if part is None:
        raise ValueError(f"the map has no {name}; fit again")
    return part
