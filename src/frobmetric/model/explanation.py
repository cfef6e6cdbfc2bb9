"""Explanations: which features or components make two points near, and what a metric changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..checks.arguments import check_count, require_finite
from ..checks.text import in_html, shown
from ..core.checks import as_array, as_sequence, read_array, read_values
from ..core.points import Array, Index
from ..runtime.tables import html_table, text_table

#: What the squared distance can be split over, besides blocks of features.
KINDS = ("features", "components")
#: Name of the part of the features that are in no block.
OTHERS = "other features"
#: Number of rows of a table, unless another is asked for.
N_SHOWN = 10
#: Header and rows of a table.
Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Exact split of a squared distance, or of its change; `print` shows the largest parts.

    Attributes
    ----------
    names : tuple of str
        Features, components or blocks.
    parts : ndarray of shape (n_parts,)
        What each of them contributes, in the order of `names`; the sum is `total`.
    total : float
        Squared distance, or its change.
    kind : str
        What the parts are of: "features", "components" or "blocks".
    quantity : str
        What was split: "squared distance", or "change" as in `SearchExplanation`.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.model import explain_distance
    >>> found = explain_distance(np.diag([2.0, 1.0, 1.0]), [1.0, 3.0, 1.0], [0.0, 0.0, 0.0])
    >>> found.parts.tolist(), found.total
    ([4.0, 9.0, 1.0], 14.0)
    >>> found.largest(1)
    [('x1', 9.0), ('rest (2 features)', 5.0)]
    """

    names: tuple[str, ...]
    parts: Array
    total: float
    kind: str
    quantity: str = "squared distance"

    @property
    def order(self) -> Index:
        """Numbers of the parts by falling size, equal ones in their own order."""
        return np.argsort(-np.abs(self.parts), kind="stable")

    def largest(self, n: int | None = N_SHOWN) -> list[tuple[str, float]]:
        """Return names and values of the n largest parts, and of the rest together.

        Parts are ordered by size, whatever their sign. All are returned if n is None.
        """
        if n is not None:
            check_count(n, name="n")
        order = self.order
        shown = order if n is None or n + 1 >= len(order) else order[:n]
        rows = [(self.names[i], float(self.parts[i])) for i in shown]
        if len(shown) < len(order):
            rest = float(self.parts[order[len(shown) :]].sum())
            rows.append((f"rest ({len(order) - len(shown)} {self.kind})", rest))
        return rows

    def __str__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        header, rows = self._table()
        return html_table(header, rows, strong=[len(rows) - 1])

    def _table(self) -> Table:
        rows = [*self.largest(), ("sum", self.total)]
        # parts of a change have both signs, and may be much larger than their sum
        unit = self.total if self.quantity != "change" else 0.0
        shares = (f"{100 * value / unit:.1f} %" if unit else "" for _, value in rows)
        cells = [(name, f"{value:.4g}") for name, value in rows]
        if self.quantity == "change":
            return (self.kind, self.quantity), cells
        return (self.kind, "part", "share"), [(*c, s) for c, s in zip(cells, shares, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class SearchExplanation:
    """Changes that a metric makes to the order of candidates; `print` shows the nearest ones.

    A common factor moves no rank, so squared distances, before and after, are divided by their mean
    over the candidates. `moved[i, j]` is how much part j then adds to the squared distance of
    candidate i, minus the mean of that over the candidates: negative parts move a candidate nearer,
    relative to the others. The sum over j is the whole change.

    Attributes
    ----------
    rank_before, rank_after : ndarray of shape (n_candidates,)
        Ranks from 1, of equal distances by row number: by the baseline and by the metric.
    names : tuple of str
        Features, components or blocks.
    moved : ndarray of shape (n_candidates, n_parts)
        Parts of the change, as above.
    kind : str
        "features", "components" or "blocks".

    Examples
    --------
    >>> from frobmetric.model import explain_search
    >>> found = explain_search([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[2.0, 0.0], [0.0, 3.0]])
    >>> found.rank_before.tolist(), found.rank_after.tolist()
    ([1, 2], [2, 1])
    >>> print(found[1])
    features   change
    x0        -0.3323
    x1        -0.3323
    sum       -0.6646
    """

    rank_before: Index
    rank_after: Index
    names: tuple[str, ...]
    moved: Array
    kind: str

    @classmethod
    def of(cls, names: tuple[str, ...], before: Array, after: Array, kind: str) -> Self:
        """Return the explanation of squared distances, given as parts before and after."""
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = [np.abs(parts).sum() for parts in (before, after)]
            require_finite(sizes, of="the sum of the squared distances")
            change = _relative(after) - _relative(before)
            moved = require_finite(change - change.mean(axis=0), of="parts of the change")
        return cls(_ranks(before), _ranks(after), names, moved, kind)

    def __getitem__(self, candidate: int) -> Explanation:
        """Return the explanation of the change of one candidate."""
        parts = self.moved[candidate]
        return Explanation(self.names, parts, float(parts.sum()), self.kind, "change")

    def __str__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        kind = in_html(self.kind)
        return f"<p>Moved by {kind}:</p>{html_table(*self._table())}"

    def _table(self, n: int = N_SHOWN) -> Table:
        rows = []
        for i in np.argsort(self.rank_after)[:n]:
            ranks = str(self.rank_before[i]), str(self.rank_after[i])
            rows.append((f"candidate {i}", *ranks, self._mover(i, -1), self._mover(i, 1)))
        return ("", "before", "after", "nearer by", "farther by"), rows

    def _mover(self, i: int, sign: int) -> str:
        """Return the part that moves a candidate most in one direction, as text."""
        j = int(np.argmax(sign * self.moved[i]))
        value = self.moved[i, j]
        return f"{self.names[j]} ({value:+.2g})" if sign * value > 0 else ""


def explain_distance(
    components: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    by: Any = "features",
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Split the squared distance d^2 = (a - b).T M (a - b), M = components.T @ components.

    The split is exact. Over features, part i is (a - b)_i (M (a - b))_i, which may be negative:
    features can compensate for each other. Over components, part j is (components (a - b))_j^2,
    never negative. The part of a block is the sum over its features; of the cross term of two
    blocks, 2 (a - b)_B.T M_BC (a - b)_C, each has half.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Linear map after which the metric is Euclidean, as `components_` of the estimators.
    a, b : array-like of shape (n_features,)
        The two points.
    by : {"features", "components"}, mapping or sequence, default="features"
        Or blocks of features: a mapping from their names to numbers, names or slices of features; a
        sequence of these; or sizes of consecutive blocks. Features in no block form one of their
        own.
    feature_names : sequence of str, default=None
        Names of the features; x0, x1, ... if None.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from frobmetric.model import explain_distance
    >>> print(explain_distance([[1.0, 0.0], [1.0, 2.0]], [3.0, 1.0], [1.0, 2.0]))
    features  part    share
    x0           4  100.0 %
    x1           0    0.0 %
    sum          4  100.0 %
    """
    L = _as_components(components)
    difference = as_row(a, "a", L.shape[1]) - as_row(b, "b", L.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        names, parts, kind = _split(L, difference[None], by, feature_names)
        total = float(np.sum((L @ difference) ** 2))
    require_finite([*parts[0], total], of="parts of the squared distance")
    return Explanation(names, parts[0], total, kind)


def explain_search(
    model: Any,
    query: ArrayLike,
    candidates: ArrayLike,
    *,
    by: Any = "features",
    baseline: Any = None,
    feature_names: Sequence[str] | None = None,
) -> SearchExplanation:
    """Explain what a metric changed in the order of candidates by their distance from a query.

    Parameters
    ----------
    model : estimator or array-like of shape (n_components, n_features)
        A fitted metric with `components_` and no kernel, or the components themselves.
    query : array-like of shape (n_features,)
        Point that is searched for.
    candidates : array-like of shape (n_candidates, n_features)
        Points that were found, at least one.
    by : {"features", "components"}, mapping or sequence, default="features"
        As in `explain_distance`. Components are the principal ones of the metric; with them the
        baseline must be Euclid, whose distance outside their span is a part of its own.
    baseline : estimator or array-like, default=None
        Metric before; Euclid if None.
    feature_names : sequence of str, default=None
        Names of the features; those of the model, or x0, x1, ..., if None.

    Returns
    -------
    SearchExplanation

    Examples
    --------
    >>> from frobmetric.model import explain_search
    >>> print(explain_search([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[2.0, 0.0], [0.0, 3.0]]))
                 before  after   nearer by  farther by
    candidate 1       2      1  x0 (-0.33)
    candidate 0       1      2              x0 (+0.33)
    """
    L = _as_components(model)
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    points = as_rows(candidates, L.shape[1])
    difference = points - as_row(query, "query", L.shape[1])
    if isinstance(by, str) and by == "components":
        if baseline is not None:
            raise ValueError(
                "a baseline was given with by='components'; the components of a metric split "
                "Euclid's distance only: leave the baseline out, or explain by features or blocks"
            )
        return SearchExplanation.of(*principal_parts(L, difference, difference), by)
    B = np.eye(L.shape[1]) if baseline is None else _as_components(baseline, "baseline")
    if B.shape[1] != L.shape[1]:
        raise ValueError(
            f"baseline has {B.shape[1]} features; the metric has {L.shape[1]}, so expected as many"
        )
    labels, after, kind = _split(L, difference, by, names)
    _, before, _ = _split(B, difference, by, names)
    return SearchExplanation.of(labels, before, after, kind)


def _split(
    L: Array, difference: Array, by: Any, feature_names: Sequence[str] | None
) -> tuple[tuple[str, ...], Array, str]:
    """Return names, parts of shape (n_differences, n_parts), and what the parts are of."""
    with np.errstate(over="ignore", invalid="ignore"):  # the callers refuse what is not finite
        mapped = difference @ L.T
        parts = difference * (mapped @ L)
    return grouped_parts(mapped, parts, by, feature_names)


def grouped_parts(
    mapped: Array, parts: Array, by: Any, feature_names: Sequence[str] | None
) -> tuple[tuple[str, ...], np.ndarray, str]:
    """Return names, parts as asked for, and what they are of, from the parts of the features.

    `mapped` are differences of shape (n_differences, n_components) in the space where the metric is
    Euclidean, and `parts` the shares of the features in their squared lengths.
    """
    if isinstance(by, str) and by not in KINDS:
        raise ValueError(f"by is {by!r}; expected one of {KINDS}, or blocks of features")
    if isinstance(by, str) and by == "components":
        return tuple(f"component {j}" for j in range(mapped.shape[1])), mapped**2, by
    names = _feature_names(feature_names, parts.shape[1])
    parts = parts + 0.0  # no -0.0
    if isinstance(by, str):
        return names, parts, by
    blocks = _blocks(by, names)
    sums = [parts[:, rows].sum(axis=1) for rows in blocks.values()]
    return tuple(blocks), np.stack(sums, axis=1), "blocks"


def principal_parts(
    L: Array, before: Array, after: Array
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Return names and parts by principal components: Euclid's before, those of L.T @ L after."""
    _, sizes, axes = np.linalg.svd(L, full_matrices=False)
    names = (*(f"component {j}" for j in range(len(sizes))), "outside")
    with np.errstate(over="ignore", invalid="ignore"):  # the callers refuse what is not finite
        place = before @ axes.T
        outside = np.sum((before - place @ axes) ** 2, axis=1)
        learned = (after @ axes.T * sizes) ** 2
        euclid = np.column_stack([place**2, outside])
    return names, euclid, np.pad(learned, ((0, 0), (0, 1)))


def _relative(parts: Array) -> Array:
    """Return parts divided by the mean of the sums over a row, unless it is zero."""
    mean = parts.sum() / len(parts)
    return parts / mean if mean > 0 else parts


def _ranks(parts: Array) -> Index:
    """Return the rank, from 1, of each row by the sum of its parts."""
    rank = np.empty(len(parts), dtype=np.intp)
    rank[np.argsort(parts.sum(axis=1), kind="stable")] = np.arange(1, len(parts) + 1)
    return rank


def _as_components(model: Any, name: str = "model") -> Array:
    """Return the components of a linear metric, of an estimator or given as an array."""
    if getattr(model, "kernel", "linear") != "linear":
        raise ValueError(
            f"{name} has kernel={model.kernel!r}; what a metric of a kernel changed cannot be "
            "split: explain one distance by components, or learn with kernel='linear'"
        )
    given = getattr(model, "components_", None if hasattr(model, "get_params") else model)
    L = read_array([] if given is None else given, name=name)
    if L.ndim != 2 or L.dtype.kind not in "iuf" or not L.size:
        raise ValueError(
            f"{name} has components of shape {L.shape} and dtype {L.dtype}; expected a fitted "
            "metric, or numbers of shape (n_components, n_features)"
        )
    return _finite(L, name)


def as_row(point: Any, name: str, n_features: int) -> Array:
    """Return a point as an array of finite numbers, one for each feature."""
    given = point.toarray().ravel() if sp.issparse(point) else point
    point = as_array(given, name=name)
    if point.shape != (n_features,):
        raise ValueError(
            f"{name} has shape {point.shape}; the metric has {n_features} features, so expected "
            f"({n_features},)"
        )
    return _finite(point, name)


def as_rows(candidates: Any, n_features: int) -> Array:
    """Return candidates as rows of finite numbers, at least one."""
    points = as_array(candidates, name="candidates")
    if points.ndim != 2 or points.shape[1] != n_features or not len(points):
        raise ValueError(
            f"candidates has shape {points.shape}; expected (n_candidates, {n_features}), at least "
            "one"
        )
    return _finite(points, "candidates")


def _finite(values: Any, name: str) -> Array:
    values = as_array(values, name=name)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity; every number must be finite")
    return values


def _feature_names(names: Any, n_features: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{i}" for i in range(n_features))
    names = [str(n) for n in as_sequence(names, name="feature_names", expected="a list of names")]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; there are {n_features} features")
    return tuple(names)


def _blocks(by: Any, names: Sequence[str]) -> dict[str, Index]:
    """Return the feature numbers of each block by its name; every feature is in one block."""
    if (
        not isinstance(by, (Mapping, Sequence, np.ndarray))
        or getattr(by, "ndim", 1) == 0
        or not len(by)
    ):
        raise ValueError(f"by is {by!r:.80}; expected one of {KINDS}, or blocks of features")
    if not isinstance(by, Mapping) and all(isinstance(each, Integral) for each in by):
        by = _consecutive(by, len(names))
    given = by if isinstance(by, Mapping) else {f"block {k}": each for k, each in enumerate(by)}
    number = {name: i for i, name in enumerate(names)}
    blocks = {str(name): _numbers(name, each, number) for name, each in given.items()}
    used = np.concatenate(list(blocks.values()))
    twice = np.flatnonzero(np.bincount(used, minlength=len(names)) > 1)
    if len(twice):
        raise ValueError(
            f"feature {shown(names[twice[0]])} is in several blocks; blocks must be disjoint"
        )
    left = np.setdiff1d(np.arange(len(names)), used)
    return blocks | ({OTHERS: left} if len(left) else {})


def _consecutive(sizes: Any, n_features: int) -> list[slice]:
    """Return the slices of consecutive blocks of these sizes."""
    if min(sizes) < 1 or sum(sizes) != n_features:
        raise ValueError(
            f"by is {list(sizes)!r}, sizes of blocks; expected positive numbers with the sum "
            f"{n_features}, the number of features"
        )
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _numbers(block: Any, features: Any, number: Mapping[str, int]) -> Index:
    """Return the numbers of the features of a block: given by numbers, names or a slice."""
    if isinstance(features, slice):
        features = np.arange(len(number))[features]
    features = np.atleast_1d(read_values(features, name=f"block {block!r:.80}"))
    if features.dtype.kind in "UO" and all(str(each) in number for each in features):
        return np.array([number[str(each)] for each in features], dtype=np.intp)
    is_number = features.dtype.kind in "iu" and features.ndim == 1 and features.size
    if not is_number or features.min() < 0 or features.max() >= len(number):
        raise ValueError(
            f"block {block!r} is {features.tolist()!r}; expected numbers of features from 0 to "
            f"{len(number) - 1}, or names of them, at least one"
        )
    return features.astype(np.intp)
