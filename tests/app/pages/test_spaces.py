"""Spaces before and after: matrices of maps, shares of features, planes and neighbours."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.app.pages.spaces import Spaces, find_matrix

X, y = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def spaces():
    return Spaces.of(FrobMetric().fit(X, y), X, X.std(axis=0))


def test_the_matrix_of_a_metric_is_its_components():
    metric = FrobMetric().fit(X, y)
    scale = np.abs(metric.components_).max(axis=0)
    difference = find_matrix(metric, X) - metric.components_
    assert (np.abs(difference) <= 1e-8 * scale).all()


def test_the_matrix_of_a_pipeline_maps_differences():
    model = make_pipeline(StandardScaler(), FrobMetric()).fit(X, y)
    mapped = model.transform(X)
    expected = (X[0] - X[1]) @ find_matrix(model, X).T
    np.testing.assert_allclose(mapped[0] - mapped[1], expected, atol=1e-8 * np.abs(mapped).max())


def test_a_kernel_has_no_matrix():
    scaled = StandardScaler().fit_transform(X)[::4]
    metric = FrobMetric(kernel="rbf", n_directions=5).fit(scaled, y[::4])
    assert find_matrix(metric, scaled) is None


def test_shares_are_means_of_the_parts_of_distances(spaces):
    metric = FrobMetric().fit(X, y)
    rows = np.arange(40)
    few = Spaces.of(metric, X[rows], X.std(axis=0))
    pairs = [(i, j) for i in rows for j in rows if i < j]
    parts = np.mean([metric.explain(X[i], X[j]).parts for i, j in pairs], axis=0)
    before, after = few.shares()
    np.testing.assert_allclose(after, parts / parts.sum(), atol=1e-8)
    assert before.sum() == pytest.approx(1.0)


def test_shares_need_a_matrix(spaces):
    with pytest.raises(ValueError, match="not linear"):
        Spaces(spaces.X, spaces.unit, spaces.after, None).shares()


def test_planes_are_turned_to_each_other(spaces):
    before, after, shares = spaces.planes()
    assert before.shape == after.shape == (len(X), 2)
    assert 0 < shares[0] < shares[1] <= 1  # here the learned space has fewer directions
    for flat in (before, after):
        assert np.mean(np.sum(flat**2, axis=1)) == pytest.approx(1.0)
    fit = np.sum((before - after) ** 2)
    for angle in np.linspace(0.1, 6.2, 20):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert np.sum((before @ turn - after) ** 2) >= fit - 1e-9


def test_neighbours_leave_out_the_sample_itself(spaces):
    rows = np.arange(0, 178, 2)
    before, after = spaces.neighbors(rows, 5)
    for near, points in ((before, spaces.before), (after, spaces.after)):
        assert near.shape == (len(rows), 5)
        distance = np.linalg.norm(points[rows][:, None] - points[rows][None], axis=2)
        np.fill_diagonal(distance, np.inf)
        np.testing.assert_array_equal(near[:, 0], distance.argmin(axis=1))


def test_few_samples_have_fewer_neighbours(spaces):
    assert spaces.neighbors(np.arange(3), 8)[0].shape == (3, 2)


def test_one_feature_has_a_plane():
    line = Spaces(X[:, :1], np.ones(1), X[:, :1], np.ones((1, 1)))
    before, after, shares = line.planes()
    np.testing.assert_allclose(before, after, atol=1e-12)
    assert shares == (1.0, 1.0)
