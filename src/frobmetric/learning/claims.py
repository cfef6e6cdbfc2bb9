"""Claims of a fitted metric that its training data and labels decide, compared with both."""

from __future__ import annotations

import warnings

import numpy as np

from ..checks.arguments import UNLABELED
from ..core import CertificateError
from ..model.sets import JoinedTriplets, MinedTriplets
from .coordinates import coordinates_of
from .priors import PRIORS
from .samples import Samples
from .units import WHITENING, Units, required_units

#: Largest relative difference of a number that is computed from the same data on two machines.
SAME = 1e-9
#: The same of a matrix that an eigen-decomposition gives.
SAME_MATRIX = 1e-6
#: Columns of a factor above this, relative to the largest, are no rounding.
SURE = 1e-5
#: Differences of eigenvalues, relative to the largest, from which on their vectors are known.
SEPARATE = 1e-3
CHANGED = "the model was changed, or these are other data"


def check_coordinates_of_fit(metric, coordinates):
    """Raise CertificateError unless the numbers that describe the data are those of these data."""
    found = coordinates.fitted_attributes() | {"scale_": coordinates.scale}
    for name in ("scale_", "unit_", "gamma_", "n_directions_", "kept_variance_"):
        claimed, value = getattr(metric, name, None), found[name]
        if claimed is not None and not np.isclose(claimed, value, rtol=SAME, atol=0):
            raise CertificateError(
                f"{name} is {claimed!r} and these data give {value!r}; {CHANGED}"
            )


def check_rank(metric, factor):
    """Raise CertificateError unless a factor of the metric has the rank that it claims."""
    sizes = np.linalg.norm(factor, axis=0)
    smallest = int(np.count_nonzero(sizes > SURE * max(sizes, default=0.0)))
    if not smallest <= metric.rank_ <= len(sizes):
        raise CertificateError(
            f"rank_ is {metric.rank_} and the dual variables give a metric of rank {len(sizes)}; "
            f"{CHANGED}"
        )


def check_order(components, expected, factor, allowed):
    """Raise CertificateError unless the rows of the map are in the order of their eigenvalues.

    Rows of eigenvalues that are almost equal may be any of their span. `factor` has the roots of
    the eigenvalues as norms of its columns; `allowed` is the relative rounding error of the metric.
    """
    values = np.sum(factor**2, axis=0)
    apart = np.abs(values[:, None] - values) + np.diag(np.full(len(values), np.inf))
    is_single = apart.min(axis=1, initial=np.inf) > SEPARATE * max(values, default=0.0)
    rows = np.flatnonzero(is_single[: len(components)])
    away = np.minimum(*(np.linalg.norm(components - s * expected, axis=1)[rows] for s in (1, -1)))
    if (away > allowed / SEPARATE * np.linalg.norm(expected)).any():
        raise CertificateError(f"rows of components_ are not in the order of the metric; {CHANGED}")


def last_units(metric):
    """Return the units of the features in the last fit."""
    return Units(metric.units_, getattr(metric, "feature_weight_", None))


def check_sources(metric, X, y=None, weight=None, known=None):
    """Raise CertificateError unless units and prior are those of the samples.

    What needs labels is not checked if y is None. The parameters are those of `coordinates_of`. An
    update has the units of the first fit, whose samples are not given.
    """
    if hasattr(metric, "prior_components_"):
        return
    units, name = last_units(metric), metric.prior if isinstance(metric.prior, str) else None
    required = required_units(metric, y)
    if (y is not None or name != "diagonal") and units.name != required != "auto":
        raise CertificateError(f"units_ is {units.name!r} and the parameters ask for {required!r}")
    options = {"weight": weight, "known": known}
    if units.name == "deviation" or (units.name == "within" and y is not None):
        expected = Units.measure(units.name, X, y, **options).weight
        if not np.allclose(units.weight, expected, rtol=SAME, atol=0):
            raise CertificateError(f"feature_weight_ is not that of these samples; {CHANGED}")
    if name in WHITENING and (y is not None or not PRIORS[name][1]):
        expected = coordinates_of(metric, X, y, units=units, **options).prior_factor
        _check_factor(metric.prior_factor_, expected, name)


def check_labels(metric, X, y, sample_weight, coordinates_in):
    """Raise CertificateError unless samples with these labels give the triplets of the metric.

    The triplets of the first search are searched again; those of later ones, which were searched
    under metrics that are not kept, must have the classes of triplets. `coordinates_in` is a
    function of samples that returns their coordinates.
    """
    parts = _mined_parts(metric.triplets_)
    if not parts:
        return  # labels were not used
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit said it
        samples = Samples.check(metric, X, y, sample_weight, reset=False)
        _check_merge(metric, samples)
        if hasattr(metric, "units_"):
            check_sources(metric, samples.X, samples.y, samples.weight, samples.known)
        if samples.targets is None:
            _check_classes(np.asarray(y), parts)
        if hasattr(metric, "mining_recall_"):
            return  # an approximate search may find others
        mined = samples.add_mined(None, metric, coordinates_in(samples.X, samples.weight))
    expected = mined if samples.merge is None else mined.renumbered(samples.merge.first)
    if not any(_have_same_rows(expected, part) for part in parts):
        raise CertificateError(
            "these samples and labels give other triplets than the model has: the labels, or "
            f"n_neighbors={metric.n_neighbors} and n_impostors={metric.n_impostors} are not those "
            "of the fit"
        )


def uses_labels(metric):
    """Return whether triplets of a metric that kept them were found from labels."""
    return bool(_mined_parts(metric.triplets_))


def check_class_names(metric, y):
    """Raise CertificateError unless the labels have the classes of a classifier."""
    found, known = set(np.unique(y).tolist()), set(metric.classes_.tolist())
    if found - known - {UNLABELED} or known - found:
        raise CertificateError(
            f"classes_ has {len(known)} classes and these labels {len(found)}, or others; give the "
            "labels of the last fit"
        )


def _check_factor(factor, expected, prior):
    """Raise CertificateError unless two factors have the same product with their transpose."""
    has_shape = factor.shape == expected.shape
    size = np.linalg.norm(expected @ expected.T)
    if (
        has_shape
        and np.linalg.norm(factor @ factor.T - expected @ expected.T) <= SAME_MATRIX * size
    ):
        return
    raise CertificateError(f"prior_factor_ is not prior={prior!r} of these samples; {CHANGED}")


def _check_merge(metric, samples):
    """Check the rows that stand for equal ones, and their weights."""
    for name in ("point_rows_", "point_weight_", "n_unlabeled_"):
        claimed, value = getattr(metric, name, None), samples.attributes.get(name)
        is_absent = claimed is None or value is None
        if (
            (claimed is None) != (value is None)
            if is_absent
            else not np.array_equal(claimed, value)
        ):
            raise CertificateError(
                f"{name} is not that of these rows and labels; give those of the last fit, with "
                "their sample_weight"
            )


def _check_classes(y, parts):
    """Check that near rows have the label of their anchor, and far ones another."""
    for block in (block for part in parts for block in part.blocks):
        anchor = y[block.anchors][:, None]
        is_wrong = (y[block.near] != anchor).any(axis=1) | (y[block.far] == anchor).any(axis=1)
        if is_wrong.any():
            row = int(block.anchors[is_wrong.argmax()])
            raise CertificateError(
                f"the triplets of row {row} and {int(is_wrong.sum()) - 1} others are not those of "
                "these labels: near rows have another label, or far ones the same; give the labels "
                "of the last fit"
            )


def _mined_parts(triplets):
    """Return the sets of triplets that were found from labels."""
    if isinstance(triplets, JoinedTriplets):
        return [found for part in triplets.parts for found in _mined_parts(part)]
    return [triplets] if isinstance(triplets, MinedTriplets) else []


def _have_same_rows(a, b):
    """Return whether two sets have the same triplets, in any order."""
    a, b = a.to_array(), b.to_array()
    return a.shape == b.shape and np.array_equal(a[np.lexsort(a.T)], b[np.lexsort(b.T)])
