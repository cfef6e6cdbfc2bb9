"""Fields: blocks of features, such as the vectors of a record, and their weights as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import check_count
from ..core.checks import as_array, as_sequence, read_values
from ..core.points import Array, Index
from ..runtime.tables import html_table, text_table


def block_numbers(blocks: Sequence[Any], n_features: int) -> Index:
    """Return for each feature the number of its block.

    Parameters
    ----------
    blocks : sequence
        Sizes of consecutive blocks, or a slice or an array of feature numbers for each block.
    n_features : int
        Number of features; each belongs to one block.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> from frobmetric.embeddings.fields import block_numbers
    >>> block_numbers([2, 3], 5)
    array([0, 0, 1, 1, 1])
    >>> block_numbers([[0, 4], slice(1, 4)], 5)
    array([0, 1, 1, 1, 0])
    """
    blocks = as_sequence(blocks, name="blocks", expected="sizes of blocks, or blocks of features")
    if not blocks:
        raise ValueError("there are no blocks; give at least one")
    if all(_is_integer(block) for block in blocks):
        return _from_sizes([int(size) for size in blocks], n_features)
    number = np.full(n_features, -1, dtype=np.intp)
    for b, block in enumerate(blocks):
        features = _features(block, b, n_features)
        taken = features[number[features] >= 0]
        if len(taken):
            first = int(taken[0])
            raise ValueError(
                f"feature {first} is in the blocks {number[first]} and {b}; give it to one of them"
            )
        number[features] = b
    missing = np.flatnonzero(number < 0)
    if len(missing):
        raise ValueError(
            f"feature {missing[0]} is in no block (features without: {len(missing)}); each of the "
            f"{n_features} features needs one"
        )
    return number


@dataclass(frozen=True, eq=False)
class WeightsTable:
    """Weights of fields, with their names; prints as a table, also in notebooks.

    Attributes
    ----------
    names : tuple of str
    weights : ndarray of shape (n_fields,)
        Weights of the squared distances of the fields; 1 leaves a field as it is.

    Examples
    --------
    >>> from frobmetric.embeddings import weights_table
    >>> table = weights_table([1.5, 0.5], names=["title", "body"])
    >>> table.names, table.shares.tolist()
    (('title', 'body'), [0.75, 0.25])
    """

    names: tuple[str, ...]
    weights: Array

    @property
    def shares(self) -> Array:
        """Weights divided by their sum; zero if all weights are."""
        return self.weights / (self.weights.sum() or 1.0)

    def __str__(self) -> str:
        return text_table(*self._cells())

    def _repr_html_(self) -> str:
        return html_table(*self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        numbers = zip(self.names, self.weights, self.shares, strict=True)
        rows = [[name, f"{weight:.4g}", f"{share:.1%}"] for name, weight, share in numbers]
        return ["name", "weight", "share"], rows


def weights_table(
    weights: ArrayLike, *, names: Sequence[str] | None = None, largest: int | None = None
) -> WeightsTable:
    """Return weights as a table of name, weight and share.

    Parameters
    ----------
    weights : array-like of shape (n_fields,)
        Weights of fields or of features, as `LearnedMap.weights`.
    names : sequence of str, default=None
        Names of the fields; their numbers if None.
    largest : int, default=None
        Number of largest weights to list, the largest first; if None, all in their order.

    Returns
    -------
    WeightsTable

    Examples
    --------
    >>> from frobmetric.embeddings import weights_table
    >>> print(weights_table([1.5, 0.5], names=["title", "body"]))
    name   weight  share
    title     1.5  75.0%
    body      0.5  25.0%
    """
    weights = check_weights(weights)
    names = check_names(names, len(weights))
    table = WeightsTable(names, weights)
    if largest is None:
        return table
    check_count(largest, name="largest")
    order = np.argsort(-weights, kind="stable")[:largest]
    return WeightsTable(tuple(names[k] for k in order), weights[order])


def check_weights(weights: ArrayLike) -> Array:
    """Return weights, which must be a vector of finite numbers, none negative."""
    checked = as_array(weights, name="weights")
    if checked.ndim != 1 or not checked.size:
        raise ValueError(f"weights has shape {checked.shape}; expected (n_fields,), not empty")
    bad = np.flatnonzero(~((checked >= 0) & (checked < np.inf)))
    if len(bad):
        raise ValueError(f"weights[{bad[0]}] = {checked[bad[0]]} must be finite and not negative")
    return checked


def check_names(names: Sequence[str] | None, n_fields: int) -> tuple[str, ...]:
    """Return the names of fields, which must differ; numbers if there are none."""
    if names is None:
        return tuple(str(k) for k in range(n_fields))
    expected = "a list of names"
    checked = tuple(map(str, as_sequence(names, name="names", expected=expected)))
    if len(checked) != n_fields or len(set(checked)) < n_fields:
        raise ValueError(
            f"names has {len(checked)} entries, {len(set(checked))} of them different; there are "
            f"{n_fields} weights, so give as many different names"
        )
    return checked


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _from_sizes(sizes: list[int], n_features: int) -> Index:
    if min(sizes) < 1 or sum(sizes) != n_features:
        raise ValueError(
            f"the blocks have the sizes {sizes}, which add up to {sum(sizes)}; expected positive "
            f"sizes that add up to the {n_features} features"
        )
    return np.repeat(np.arange(len(sizes)), sizes)


def _features(block: Any, b: int, n_features: int) -> Index:
    """Return the feature numbers of a block, each once."""
    everything = np.arange(n_features)
    if isinstance(block, slice):
        features = everything[block]
    else:
        features = read_values(block, name=f"block {b}")
        if features.ndim != 1 or (features.size and features.dtype.kind not in "iu"):
            raise TypeError(
                f"block {b} is {block!r}; expected a slice, or a list of feature numbers (or all "
                "blocks as sizes)"
            )
        is_outside = (features < 0) | (features >= n_features)
        if is_outside.any():
            raise ValueError(
                f"block {b} has the feature {features[is_outside][0]}; features go from 0 to "
                f"{n_features - 1}"
            )
    if not len(features):
        raise ValueError(f"block {b} is empty; leave it out, or give it a feature")
    return np.unique(features)
