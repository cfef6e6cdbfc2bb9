"""Sharded vectors behave like arrays, whatever the shards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.backends.engine import LocalEngine
from frobmetric.backends.vectors import Sharded
from frobmetric.core import Hinge, SmoothedHinge, SquaredHinge

#: Functions of two vectors whose result is a vector.
ENTRYWISE = {
    "sum": lambda a, b: a + 2 * b - 1,
    "clip": lambda a, b: np.clip(a, -0.5, np.abs(b)),
    "where": lambda a, b: np.where((a > 0) & ~(b > 0.5), a, 0.0),
    "maximum": lambda a, b: np.maximum(0, 1 - a) / (1 + b * b),
    "like": lambda a, b: np.zeros_like(a) + np.ones_like(b),
    "rows": lambda a, b: a[np.flatnonzero(b > 0)],
}
#: Functions of two vectors whose result is a number or a small array.
REDUCED = {
    "dot": lambda a, b: a @ b,
    "vdot": lambda a, b: np.vdot(a, b) + np.dot(b, b),
    "sum": lambda a, b: np.sum(a * b) / 2 - abs(a.sum()),
    "max": lambda a, b: np.abs(a).max(initial=0.0),
    "any": lambda a, b: (a > b).any(),
    "all": lambda a, b: (a > b - 100).all(),
    "count": lambda a, b: np.count_nonzero(a > b),
    "length": lambda a, b: len(a),
    "equal": lambda a, b: np.array_equal(a, b),
    "products": lambda a, b: np.inner(np.stack([a, b]), np.stack([a, b])),
    "combination": lambda a, b: np.array([2.0, -1.0]) @ np.stack([a, b]) @ b,
}


def sharded(vector, cuts):
    pieces = np.split(vector, cuts)
    return Sharded.put(LocalEngine(len(pieces)), pieces)


def collected(vector):
    return vector.reduce(lambda a, b: np.concatenate([a, b]), np.asarray).get()


@st.composite
def vectors(draw):
    """Return two vectors and where to cut them; pieces may be empty."""
    n = draw(st.integers(1, 30))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return rng.normal(size=n), rng.normal(size=n), cuts


def on_one_engine(a, b, cuts):
    first = sharded(a, cuts)
    return first, Sharded.put(first.engine, np.split(b, cuts))


@pytest.mark.parametrize("name", ENTRYWISE)
@settings(max_examples=10, deadline=None)
@given(vectors())
def test_entrywise_functions_are_those_of_arrays(name, given):
    a, b, cuts = given
    function = ENTRYWISE[name]
    np.testing.assert_array_equal(collected(function(*on_one_engine(a, b, cuts))), function(a, b))


@pytest.mark.parametrize("name", REDUCED)
@settings(max_examples=10, deadline=None)
@given(vectors())
def test_reduced_values_are_those_of_arrays(name, given):
    a, b, cuts = given
    function = REDUCED[name]
    found = np.asarray(function(*on_one_engine(a, b, cuts)))
    np.testing.assert_allclose(found, function(a, b), rtol=1e-12, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(vectors())
def test_rows_can_be_replaced(given):
    a, b, cuts = given
    first, second = on_one_engine(a, b, cuts)
    copy = first.copy()
    copy[np.flatnonzero(second > 0)] = (2 * second)[np.flatnonzero(second > 0)]
    np.testing.assert_array_equal(collected(copy), np.where(b > 0, 2 * b, a))
    np.testing.assert_array_equal(collected(first), a)


@pytest.mark.parametrize("loss", [Hinge, SmoothedHinge, SquaredHinge])
@settings(max_examples=10, deadline=None)
@given(vectors())
def test_losses_take_sharded_vectors(loss, given):
    a, b, cuts = given
    margins, weight = on_one_engine(a, np.abs(b), cuts)
    local, other = loss(np.abs(b)), loss(weight)
    assert float(other.value(margins)) == pytest.approx(local.value(a), rel=1e-12)
    u = local.multiplier(a)
    np.testing.assert_array_equal(collected(other.multiplier(margins)), u)
    value, slope = other.conjugate(other.multiplier(margins))
    assert float(value) == pytest.approx(local.conjugate(u)[0], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(collected(slope), local.conjugate(u)[1])
    rows = np.flatnonzero(weight > 0.5)
    np.testing.assert_array_equal(
        collected(other.restrict(rows).weight), local.weight[np.abs(b) > 0.5]
    )


def test_a_sharded_vector_is_never_gathered_by_accident():
    with pytest.raises(TypeError, match="one place"):
        np.asarray(sharded(np.arange(4.0), [2]))
