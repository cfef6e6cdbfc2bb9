"""Local spread against its definition."""

import numpy as np
import pytest

from frobmetric.manifold import quality
from frobmetric.search import exact as _neighbors
from frobmetric.search.tuning import Tuning
from frobmetric_paper.mvu import spread
from frobmetric_paper.mvu.spread import local_spread


def integer_ranks(points):
    points = np.asarray(points).astype(int)
    ranks = np.zeros((len(points), len(points)), dtype=int)
    for i, point in enumerate(points):
        squared = ((points - point) ** 2).sum(axis=1)
        others = [j for j in sorted(range(len(points)), key=lambda j: (squared[j], j)) if j != i]
        ranks[i, others] = np.arange(1, len(points))
    return ranks


def spread_by_definition(Y, k):
    """Neighbourhoods from ranks, covariances from NumPy, then the formulas one by one."""
    hoods = [np.flatnonzero(row <= k) for row in integer_ranks(Y)]  # the point itself has rank 0
    pairs = [np.linalg.eigh(np.atleast_2d(np.cov(Y[hood].T))) for hood in hoods]
    lengths = np.sqrt(np.maximum([values[-1] for values, _ in pairs], 0))
    first = np.array([vectors[:, -1] for _, vectors in pairs])
    std = np.array([np.std(lengths[hood], ddof=1) for hood in hoods])
    extent = [lengths[hood].max() - lengths[hood].min() for hood in hoods]
    consistency = [np.mean(np.abs(first[hood] @ p)) for p, hood in zip(first, hoods, strict=True)]
    return lengths, np.mean(std), np.mean(extent), np.mean(consistency), np.mean(std / consistency)


def numbers(spread):
    return spread.alstd, spread.aled, spread.alcd, spread.gscd


def test_spread_of_five_points_by_hand():
    """k = 1, so neighbourhoods of two points: at (a, b) the length is |a - b| / √2."""
    Y = np.array([[0, 0], [1, 0], [4, 0], [4, 2], [4, 7]])
    found = local_spread(Y, n_neighbors=1)
    # neighbourhoods {0, 1}, {1, 0}, {2, 3}, {3, 2} and {4, 3}, directions x, x, y, y and y
    np.testing.assert_allclose(found.lengths, np.array([1, 1, 2, 2, 5]) / np.sqrt(2))
    np.testing.assert_allclose(found.scales[:, 1], 0, atol=1e-15)
    x, y = [1, 0], [0, 1]
    np.testing.assert_allclose(found.directions[:, 0], [x, x, y, y, y], atol=1e-15)
    # only at point 4 do the lengths differ: by 3/√2, so STD = (3/√2) / √2, and CD = 1 everywhere
    assert numbers(found) == pytest.approx((1.5 / 5, 3 / np.sqrt(2) / 5, 1, 1.5 / 5))


def test_spread_of_a_corner_by_hand():
    """k = 1: ties to the smaller index, so {0, 1}, {1, 0}, {2, 1}, {3, 2} and {4, 3}."""
    found = local_spread([[2, 0], [1, 0], [0, 0], [0, 1], [0, 2]], n_neighbors=1)
    # directions x, x, x, y, y: CD is 1 but at point 3, where it is (1 + 0) / 2
    np.testing.assert_allclose(found.consistency, [1, 1, 1, 0.5, 1], atol=1e-15)
    assert numbers(found) == pytest.approx((0, 0, 0.9, 0), abs=1e-15)


@pytest.mark.parametrize("n_components", [1, 2, 3, 9])
def test_spread_as_defined(rng, n_components):
    Y = rng.permutation(10**4)[: 50 * n_components].reshape(50, n_components)
    found, (lengths, *expected) = local_spread(Y), spread_by_definition(Y, 6)
    np.testing.assert_allclose(found.lengths, lengths)
    assert numbers(found) == pytest.approx(expected)
    n_directions = min(n_components, 7)
    assert found.directions.shape == (50, n_directions, n_components)
    products = np.einsum("iac,ibc->iab", found.directions, found.directions)
    np.testing.assert_allclose(products, np.tile(np.eye(n_directions), (50, 1, 1)), atol=1e-12)
    assert (np.diff(found.scales, axis=1) <= 0).all()


def test_neighbours_are_those_of_the_ranks(rng, monkeypatch):
    """On a small grid with duplicates almost every choice of neighbours is one among ties."""
    Y = rng.integers(0, 3, (60, 2)).astype(float)
    expected = [np.argsort(row)[1:7] for row in integer_ranks(Y)]
    for block in (1, 1 << 20):
        monkeypatch.setattr(_neighbors, "BLOCK", block)
        for spare in (0, 8, 100):
            monkeypatch.setattr(_neighbors, "TUNING", Tuning(spare=spare))
            space = quality.Space.of(Y, name="Y")
            np.testing.assert_array_equal(spread.nearest_neighbors(space, 6), expected)


def test_one_dimension_has_one_direction(rng):
    found = local_spread(rng.normal(size=(30, 1)))
    np.testing.assert_array_equal(found.directions, 1)
    assert found.alcd == 1
    assert found.gscd == found.alstd > 0


def test_points_that_coincide_have_no_spread():
    found = local_spread(np.ones((9, 2)), n_neighbors=3)
    np.testing.assert_array_equal(found.scales, 0)
    np.testing.assert_array_equal(found.directions, np.tile(np.eye(2), (9, 1, 1)))
    assert numbers(found) == (0, 0, 1, 0)


def test_lengths_scale_and_directions_turn(rng):
    Y = rng.normal(size=(40, 2))
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    found, moved = local_spread(Y), local_spread(3 * Y @ turn + 5)
    np.testing.assert_allclose(moved.scales, 3 * found.scales)
    alignment = np.einsum("iac,iac->ia", moved.directions, found.directions @ turn)
    np.testing.assert_allclose(np.abs(alignment), 1)
    assert numbers(moved) == pytest.approx(np.array([3, 3, 1, 3]) * numbers(found))


def test_bad_input_of_the_spread_is_named(rng):
    Y = rng.normal(size=(5, 2))
    for n_neighbors in (5, 0, 2.5):
        message = f"n_neighbors = {n_neighbors} with 5 points; expected an integer from 1 to 4"
        with pytest.raises(ValueError, match=message):
            local_spread(Y, n_neighbors)
    with pytest.raises(ValueError, match="row 0 of Y holds NaN or infinity"):
        local_spread([[np.inf], [1], [2]], 1)
    with pytest.raises(ValueError, match="Y has 2 rows"):
        local_spread(Y[:2], 1)
