"""Problem of the estimators with Frobenius regularisation: build it, solve it, prove it again."""

from __future__ import annotations

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..checks.parameters import MATRIX, NONE, NOT_NEGATIVE, POSITIVE, Rule, choice, integer
from ..core import CertificateError, FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge, certify
from ..core.rounding import EPS
from ..core.warning import warn_user
from ..model.feature_maps import KERNELS
from ..model.sets import as_triplets
from ..solvers import FROBENIUS_SOLVERS, Interrupted, State, solve
from ..solvers.monitor import NOTHING
from .claims import check_coordinates_of_fit, check_order, check_rank, check_sources, last_units
from .coordinates import as_components, coordinates_of
from .learned import check_n_components
from .parameters import SHARED_RULES
from .priors import PRIORS, scaled_identity

#: Losses that a metric can be learned with.
LOSSES = {"hinge": Hinge, "smoothed_hinge": SmoothedHinge, "squared_hinge": SquaredHinge}
#: Rules of the parameters of the kernel.
KERNEL_RULES: dict[str, Rule] = {
    "kernel": choice(KERNELS),
    "gamma": POSITIVE | NONE,
    "degree": integer(1),
    "coef0": NOT_NEGATIVE,
    "n_directions": integer(1) | NONE,
}
#: Rules of the parameters of the problem and of its solver.
PROBLEM_RULES: dict[str, Rule] = {
    **SHARED_RULES,
    "loss": choice(LOSSES),
    "prior": MATRIX | choice(PRIORS) | NONE,
    "pull": NOT_NEGATIVE,
    "solver": choice(FROBENIUS_SOLVERS),
}
#: Rounding of samples that are read again, relative to the largest of their numbers: not that of
#: single precision, because the samples of a kernel are part of the map.
READ_AGAIN = 4 * EPS
#: Relative rounding errors of a metric: for each operation on the rows, and in directions that an
#: eigen-decomposition or an iteration found.
ROUNDINGS, COMPACT = 1e4, 1e-5
#: Share of the variance outside the directions that were kept from which on a fit warns.
NOTEWORTHY = 1e-3


def frobenius_problem(
    coordinates, comparisons, *, C, loss="hinge", prior=None, pull=0.0, named_prior=scaled_identity
):
    """Return the `FrobeniusSDP` of a metric in these coordinates from these comparisons.

    C, loss, prior and pull are parameters of `FrobMetric`; a prior matrix is part of the
    coordinates. If `prior` is a name, `named_prior(constraints, comparisons)` is its matrix there.
    """
    constraints = comparisons.constraints(coordinates.Z)
    matrix = None
    if coordinates.prior_root is not None:
        matrix = coordinates.prior_root @ coordinates.prior_root.T
    elif isinstance(prior, str):
        matrix = named_prior(constraints, comparisons)
    cost = C * pull * comparisons.near_scatter(coordinates.Z) if pull else None
    return FrobeniusSDP(constraints, LOSSES[loss](C * comparisons.share), cost, matrix)


def solve_frobenius(metric, problem, point=None, run=NOTHING, listener=None):
    """Solve a problem with the parameters of an estimator, starting at `point`.

    `run` is the part of the solve that an earlier process did; `listener` is that of `solve`. A run
    that Ctrl-C interrupts returns its best solution, of status "interrupted".
    """
    options = {"solver": metric.solver, "tol": metric.tol, "listener": listener}
    options |= {"max_iter": max(1, metric.max_iter - run.n_iter), "callback": metric._on_step()}
    try:
        return run.complete(solve(problem, start=State(run.u, point), **options))
    except Interrupted as interruption:
        return run.complete(interruption.solution)


def check_coordinates(metric, coordinates):
    """Return the coordinates to learn in, checked.

    Warn if the default number of directions leaves out a part of the data worth noting.
    """
    check_n_components(metric.n_components, coordinates)
    if metric.n_directions is None and coordinates.kept_variance < 1 - NOTEWORTHY:
        n_directions = coordinates.fitted_attributes()["n_directions_"]
        warn_user(
            f"the {n_directions} leading directions of the data are used, which have "
            f"{coordinates.kept_variance:.1%} of their variance; set n_directions to choose how "
            "many"
        )
    return coordinates


def _has_linear_kernel(metric):
    if metric.kernel != "linear":
        raise AttributeError(
            f"partial_fit was called with kernel={metric.kernel!r}; new samples change the "
            "features of a kernel, so only kernel='linear' can be updated: fit again"
        )
    return True


#: Decorator of `partial_fit`, which estimators with a kernel do not have.
if_linear = available_if(_has_linear_kernel)


def learned_before(metric):
    """Return the arguments of `coordinates_of` that make a fit an update of a fitted metric."""
    components = metric.components_[metric.components_.any(axis=1)].astype(np.float64)
    return {"unit": metric.unit_, "prior_components": components, "units": last_units(metric)}


def last_samples(metric, X):
    """Return samples, weights and triplets of the last fit, from the rows that were given to it.

    The weights are None if each row was a sample of its own.
    """
    rows, n_rows = getattr(metric, "point_rows_", None), X.shape[0]
    if rows is None:
        return X, None, as_triplets(metric.triplets_, n_rows)
    if rows.max() >= n_rows:
        raise CertificateError(
            f"X has {n_rows} rows, and the metric was learned from row {rows.max()} too; give the "
            "rows of the last fit"
        )
    number = np.full(n_rows, -1)
    number[rows] = np.arange(len(rows))
    X = X[rows][:, rows] if metric.kernel == "precomputed" else X[rows]
    return X, metric.point_weight_, metric.triplets_.renumbered(number)


def last_coordinates(metric, X, weight=None):
    """Return the coordinates of the last fit, from the samples of that fit."""
    X_fit = getattr(metric, "X_fit_", None)
    if X_fit is not None and not _are_close(X, X_fit):
        raise CertificateError(
            f"these {X.shape[0]} samples are not the {X_fit.shape[0]} that the metric was learned "
            "from; give those of the last fit"
        )
    check_sources(metric, X, weight=weight)
    known = {
        name: getattr(metric, f"{name}_", None) for name in ("prior_components", "prior_factor")
    }
    known["units"] = last_units(metric)
    unit = None if known["prior_components"] is None else metric.unit_
    coordinates = coordinates_of(metric, X, unit=unit, weight=weight, **known)
    if weight is None or metric.kernel != "precomputed":
        return coordinates
    return coordinates.scattered(metric.point_rows_, metric.n_features_in_)


def prove(metric, problem, coordinates, *, exact=False):
    """Return the certificate of a fitted metric, if the kept dual variables give this metric.

    With `exact` it is verified in exact arithmetic: see `certify`.
    """
    point = problem.evaluate(metric.dual_coef_).point
    components = metric.components_
    factor = coordinates.to_features(point.factor())
    _require_all_components(metric, coordinates)
    check_coordinates_of_fit(metric, coordinates)
    expected = as_components(factor, len(components))
    allowed = _rounding(metric, problem, coordinates, point)
    with np.errstate(over="ignore", invalid="ignore"):  # of other data: NaN is no small error
        size = max(np.linalg.norm(expected) ** 2, 1e-300)
        error = _metric_difference(expected, components) / size
    if not error <= allowed:
        raise CertificateError(
            f"components_ differ by {error:.1e} (relative) from the metric that the dual "
            "variables give on these data; the model was changed, or these are other data"
        )
    check_rank(metric, factor)
    is_mapped = coordinates.n_extra > 0  # then the rows are orthogonal in features
    check_order(components, expected, factor if is_mapped else point.factor(), allowed)
    return certify(problem, point, metric.dual_coef_, exact=exact)


def _rounding(metric, problem, coordinates, point):
    """Return the relative error of a metric that its storage and another machine can cause.

    The matrix before projection is a sum over the rows that may cancel to a small metric.
    """
    if coordinates.is_compact:  # directions of small variance depend on the last bits
        return COMPACT
    size = np.linalg.norm(point.factor().T @ point.factor())
    rows = np.abs(metric.dual_coef_) @ problem.constraints.norms()
    terms = np.linalg.norm(problem.prior) + problem.sigma * (rows + np.linalg.norm(problem.cost))
    summed = ROUNDINGS * np.finfo(np.float64).eps * terms / max(size, 1e-300)
    return min(8 * np.finfo(metric.components_.dtype).eps + summed, COMPACT)


def _require_all_components(metric, coordinates):
    """Raise CertificateError if `components_` has not the rows that its parameters ask for."""
    sizes = {None: coordinates.n_rows, "rank": max(1, metric.rank_)}
    n_rows, size = len(metric.components_), sizes.get(metric.n_components, metric.n_components)
    if n_rows != size:
        raise CertificateError(
            f"components_ has {n_rows} rows, and n_components={metric.n_components!r} gives "
            f"{size} on these data; the model was changed, or these are other data"
        )


def _are_close(X, other):
    """Return whether samples, dense or sparse, differ only as texts of numbers are read."""
    if X.shape != other.shape:
        return False
    return abs(X.astype(np.float64) - other).max() <= READ_AGAIN * abs(other).max()


def _metric_difference(a, b):
    """Return |a.T @ a - b.T @ b|_F, in the span of the rows: features may be many."""
    triangle = np.linalg.qr(np.vstack([a, b]).T, mode="r")
    a, b = triangle[:, : len(a)], triangle[:, len(a) :]
    with np.errstate(over="ignore", invalid="ignore"):  # of other data, of a far larger scale
        return np.nan_to_num(np.linalg.norm(a @ a.T - b @ b.T), nan=np.inf)
