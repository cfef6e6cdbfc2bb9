"""Explanations: parts add up to the squared distance, and tell what moved a candidate."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

from frobmetric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
)
from frobmetric.model import explain_distance, explain_search

X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
TRIPLETS = np.array([[0, 1, 50], [51, 52, 100], [101, 102, 3], [60, 61, 120], [5, 6, 70]])
QUADRUPLETS = np.array([[0, 1, 0, 50], [51, 52, 51, 101], [5, 6, 70, 120]])
PAIRS = np.array([[0, 1], [50, 51], [100, 101], [0, 50], [50, 100], [0, 100]])


def make_models():
    """One fitted metric of each class, without a kernel."""
    yield FrobMetric().fit(X, Y)
    yield FrobMetric(n_components=2, prior="identity").fit(X, Y)
    yield FrobMetricCV(Cs=[10.0], cv=2, prior=None, n_neighbors=3, n_passes=1).fit(X, Y)
    yield BoostMetric(C=100.0).fit(X, Y)
    yield TripletFrobMetric(preprocessor=X).fit(TRIPLETS)
    yield QuadrupletFrobMetric(preprocessor=X).fit(QUADRUPLETS)
    yield PairFrobMetric(preprocessor=X).fit(PAIRS, [1, 1, 1, -1, -1, -1])


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the learned metric does not help here", UserWarning)
        return list(make_models())


matrices = st.integers(0, 10_000).map(
    lambda seed: np.random.default_rng(seed).normal(size=(3, 5)) * 10.0 ** (seed % 7 - 3)
)


# One distance


@pytest.mark.parametrize(
    "by", ["features", "components", {"sepal": [0, 1], "petal": [2, 3]}, [[2], [0]]], ids=str
)
def test_parts_of_every_metric_add_up(models, by):
    for model in models:
        expected = model.pair_distance(X[None, [3, 77]])[0] ** 2
        explanation = model.explain(X[3], X[77], by=by)
        assert explanation.parts.sum() == pytest.approx(expected, rel=1e-12)
        assert explanation.total == pytest.approx(expected, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(L=matrices, seed=st.integers(0, 100))
def test_parts_are_those_of_the_formulas(L, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 5))
    M, d = L.T @ L, a - b
    by_feature = explain_distance(L, a, b).parts
    np.testing.assert_allclose(by_feature, d * (M @ d), rtol=1e-9, atol=1e-12 * np.abs(M).max())
    by_component = explain_distance(L, a, b, by="components").parts
    np.testing.assert_allclose(by_component, (L @ d) ** 2)
    assert (by_component >= 0).all()
    first, rest = [0, 1], [2, 3, 4]
    own = d[first] @ M[np.ix_(first, first)] @ d[first]
    cross = 2 * d[first] @ M[np.ix_(first, rest)] @ d[rest]
    block = explain_distance(L, a, b, by=[first, rest]).parts[0]
    assert block == pytest.approx(own + cross / 2, rel=1e-9, abs=1e-12 * np.abs(M).max())


def test_it_is_symmetric_and_zero_for_equal_points(models):
    for model in models:
        there, back = model.explain(X[3], X[77]), model.explain(X[77], X[3])
        np.testing.assert_array_equal(there.parts, back.parts)
        same = model.explain(X[3], X[3])
        assert same.total == 0
        assert not same.parts.any()
        assert "sum" in str(same)
        assert "%" not in str(same)


def test_a_diagonal_metric_has_no_negative_parts():
    explanation = explain_distance(np.diag([1.0, 2.0, 0.0]), [1, 1, 1], [0, 3, 9])
    np.testing.assert_array_equal(explanation.parts, [1.0, 16.0, 0.0])


def test_features_can_compensate_each_other():
    explanation = explain_distance([[1.0, 1.0]], [2.0, 0.0], [0.0, 1.0])
    np.testing.assert_array_equal(explanation.parts, [2.0, -1.0])
    assert explanation.total == 1.0


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_kernels_are_split_over_components_only(kernel):
    model = FrobMetric(kernel=kernel, C=10).fit(X, Y)
    explanation = model.explain(X[3], X[77], by="components")
    assert explanation.parts.sum() == pytest.approx(model.pair_distance(X[None, [3, 77]])[0] ** 2)
    assert len(explanation.parts) == len(model.components_)
    with pytest.raises(ValueError, match=f"kernel='{kernel}', whose .* expected 'components'"):
        model.explain(X[3], X[77])
    with pytest.raises(ValueError, match=f"model has kernel='{kernel}'"):
        explain_search(model, X[3], X[:10])


def test_indices_sparse_rows_and_data_frames_give_the_same(models):
    model = models[4]
    expected = model.explain(X[3], X[77]).parts
    np.testing.assert_array_equal(model.explain(3, 77).parts, expected)
    rows = sp.csr_array(X[[3, 77]])
    by_hand = explain_distance(model.components_, rows[[0]], rows[[1]])
    np.testing.assert_allclose(by_hand.parts, expected)
    named = FrobMetric().fit(pd.DataFrame(X, columns=NAMES), Y)
    explanation = named.explain(pd.Series(X[3]), pd.Series(X[77]))
    assert explanation.names == tuple(NAMES)
    by_name = named.explain(X[3], X[77], by={"petal": NAMES[2:]})
    assert by_name.names == ("petal", "other features")
    np.testing.assert_allclose(by_name.parts[0], explanation.parts[2:].sum())


def test_blocks_by_size_slice_and_number_are_the_same(rng):
    L, a, b = rng.normal(size=(3, 5)), *rng.normal(size=(2, 5))
    found = [
        explain_distance(L, a, b, by=by).parts
        for by in ([2, 3], np.array([2, 3]), [slice(2), slice(2, 5)], [[1, 0], [4, 2, 3]])
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)


def test_the_largest_parts_come_first_and_the_rest_is_one_row():
    explanation = explain_distance(np.diag([1.0, 3.0, 2.0, 0.5, 0.1]), np.ones(5), np.zeros(5))
    names, values = zip(*explanation.largest(2), strict=True)
    assert names == ("x1", "x2", "rest (3 features)")
    assert values == pytest.approx([9.0, 4.0, 1.26])
    assert [name for name, _ in explanation.largest(4)] == ["x1", "x2", "x0", "x3", "x4"]
    assert explanation.largest(None) == explanation.largest(7)
    with pytest.raises(ValueError, match="n is 0; expected an integer of at least 1"):
        explanation.largest(0)


def test_tables():
    explanation = explain_distance(np.diag([1.0, 2.0]), [1, 1], [0, 0], feature_names=["<a>", "b"])
    lines = ["features  part    share", "b            4   80.0 %", "<a>          1   20.0 %"]
    assert str(explanation).splitlines() == [*lines, "sum          5  100.0 %"]
    html = explanation._repr_html_()
    assert "&lt;a&gt;" in html
    assert html.count("<tr") == 4


def test_huge_and_tiny_points():
    for scale in (1e-150, 1e150):
        explanation = explain_distance(np.eye(2), [scale, 0.0], [0.0, scale])
        np.testing.assert_allclose(explanation.parts / scale**2, [1, 1])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"a": [np.nan, 1.0]}, "a contains NaN or infinity"),
        ({"b": [np.inf, 1.0]}, "b contains NaN or infinity"),
        ({"a": [1.0]}, r"a has shape \(1,\); the metric has 2 features"),
        ({"components": [1.0, 2.0]}, r"components of shape \(2,\)"),
        ({"components": np.zeros((0, 2))}, r"components of shape \(0, 2\)"),
        ({"components": [["a", "b"]]}, "dtype <U1"),
        ({"by": "samples"}, "by is 'samples'; expected one of"),
        ({"by": {}}, "by is {}; expected one of"),
        ({"by": 3}, "by is 3; expected one of"),
        ({"by": {"p": [0, 2]}}, r"block 'p' is \[0, 2\]; expected numbers of features from 0 to 1"),
        ({"by": [[0], []]}, r"block 'block 1' is \[\]"),
        ({"by": {"p": ["x0", "z"]}}, r"block 'p' is \['x0', 'z'\]"),
        ({"by": [slice(0), [0]]}, r"block 'block 0' is \[\]"),
        ({"by": [1, 2]}, r"by is \[1, 2\], sizes of blocks; expected .* with the sum 2"),
        ({"by": [3, -1]}, r"by is \[3, -1\], sizes of blocks"),
        ({"by": [[0], [0, 1]]}, "feature x0 is in several blocks"),
        ({"feature_names": ["a"]}, "feature_names has 1 names; there are 2 features"),
    ],
)
def test_wrong_arguments(change, text):
    arguments = {"components": np.eye(2), "a": [0.0, 1.0], "b": [1.0, 1.0]} | change
    points = [arguments.pop(name) for name in ("components", "a", "b")]
    with pytest.raises(ValueError, match=text):
        explain_distance(*points, **arguments)


def test_an_estimator_must_be_fitted_and_points_must_fit(models):
    with pytest.raises(NotFittedError):
        FrobMetric().explain(X[0], X[1])
    with pytest.raises(ValueError, match="the points have 3 features; the metric was learned with"):
        models[0].explain(X[0, :3], X[1, :3])
    with pytest.raises(ValueError, match="NaN"):
        models[0].explain(X[0], np.full(4, np.nan))


# A search


@pytest.mark.parametrize("by", ["features", "components", [[0, 1], [2, 3]]], ids=str)
def test_ranks_and_changes_of_a_search(models, by):
    for model in models:
        found = explain_search(model, X[0], X[40:90], by=by)
        before = np.sum((X[40:90] - X[0]) ** 2, axis=1)
        after = np.sum((model.transform(X[40:90]) - model.transform(X[:1])) ** 2, axis=1)
        for rank, squared in ((found.rank_before, before), (found.rank_after, after)):
            assert sorted(rank) == list(range(1, 51))
            assert (np.diff(squared[np.argsort(rank)]) >= -1e-9 * squared.max()).all()
        change = after / after.mean() - before / before.mean()
        np.testing.assert_allclose(found.moved.sum(axis=1), change, atol=1e-9)
        np.testing.assert_allclose(found.moved.mean(axis=0), 0, atol=1e-9)
        assert found[7].total == pytest.approx(change[7], abs=1e-9)
        assert "%" not in str(found[7])


def test_a_metric_that_is_a_multiple_of_the_baseline_moves_nothing(rng):
    L = rng.normal(size=(3, 4))
    found = explain_search(3 * L, X[0], X[:20], baseline=L)
    np.testing.assert_array_equal(found.rank_before, found.rank_after)
    np.testing.assert_allclose(found.moved, 0, atol=1e-10)
    euclid = explain_search(np.eye(4), X[0], X[:20], by="components")
    np.testing.assert_allclose(euclid.moved, 0, atol=1e-10)


def test_a_search_in_the_units_of_one_feature():
    """Of two wines the one with the nearer proline is first by Euclid; after scaling it is not."""
    wines = load_wine()
    scales = np.diag(1 / wines.data.std(axis=0))
    query, candidates = wines.data[0], wines.data[1:60]
    found = explain_search(scales, query, candidates, feature_names=wines.feature_names)
    nearest = int(np.argmin(found.rank_after))
    assert found.rank_before[nearest] > 1
    assert found[nearest].largest(1)[0][0] == "proline"
    assert "proline" in str(found)
    assert "proline" in found._repr_html_()
    assert len(str(found).splitlines()) == 11


def test_equal_candidates_are_ranked_by_row_and_a_zero_metric_keeps_all_ranks():
    found = explain_search(np.zeros((1, 2)), [0.0, 0.0], [[1.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    assert found.rank_before.tolist() == [2, 3, 1]
    assert found.rank_after.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"candidates": np.zeros((0, 4))}, r"candidates has shape \(0, 4\)"),
        ({"candidates": X[0]}, r"candidates has shape \(4,\)"),
        ({"candidates": np.full((1, 4), np.nan)}, "candidates contains NaN"),
        ({"query": X[:2]}, r"query has shape \(2, 4\)"),
        ({"baseline": np.eye(4), "by": "components"}, "a baseline was given with by='components'"),
        ({"baseline": np.ones(4)}, r"baseline has components of shape \(4,\)"),
        ({"baseline": np.eye(3)}, r"baseline has 3 features; the metric has 4"),
        ({"model": FrobMetric()}, "expected a fitted metric"),
    ],
)
def test_wrong_searches(change, text):
    arguments = {"model": np.eye(4), "query": X[0], "candidates": X[:5]} | change
    with pytest.raises(ValueError, match=text):
        explain_search(**arguments)
