"""Tuples as users give them: formed, as indices, by a function; and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.comparisons.reading import column_names, read_tuples

X = np.random.default_rng(1).normal(size=(9, 3))
T = np.array([[4, 0, 7], [0, 4, 2], [7, 2, 4], [4, 0, 7]])


def check_same(read, other):
    assert read.points.dtype == other.points.dtype
    np.testing.assert_array_equal(read.points, other.points)
    np.testing.assert_array_equal(read.index, other.index)


def test_points_are_distinct_and_the_tuples_are_theirs():
    read = read_tuples(X[T], 3)
    assert read.points.shape == (4, 3)
    np.testing.assert_array_equal(read.points[read.index], X[T])


def test_formed_indexed_and_looked_up_are_the_same():
    formed = read_tuples(X[T], 3)
    order = np.random.default_rng(0).permutation(9)
    moved = np.argsort(order)[T]
    for tuples, preprocessor in [
        (T, X),
        (T.tolist(), X.tolist()),
        (T.astype(np.uint8), X),
        (X[T].tolist(), None),
        (T, lambda rows: X[rows]),
        (moved, X[order]),
        (T.astype(str), lambda names: X[names.astype(int)]),
        (T.astype(str).astype(object), lambda names: [X[int(name)] for name in names]),
    ]:
        check_same(read_tuples(tuples, 3, preprocessor), formed)


@pytest.mark.parametrize("table", [X, sp.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("rows", [[0], [1, 3], [0, 2], [0, 1, 2, 3]], ids=str)
def test_a_part_is_what_reading_that_part_gives(table, rows):
    part = read_tuples(T, 3, table).take(np.isin(np.arange(4), rows))
    alone = read_tuples(T[rows], 3, table)
    np.testing.assert_array_equal(part.index, alone.index)
    assert abs(part.points - alone.points).max() == 0
    assert part.points.shape == alone.points.shape


def test_names_of_columns():
    pandas = pytest.importorskip("pandas", reason="names are of data frames")
    named = pandas.DataFrame(X, columns=list("abc"))
    assert column_names(named).tolist() == ["a", "b", "c"]
    assert column_names(named).dtype == object
    assert column_names(pandas.DataFrame(X)) is None
    assert column_names(X) is None
    assert column_names(None) is None
    check_same(read_tuples(T, 3, named), read_tuples(T, 3, X))


def test_rows_that_no_tuple_names_may_be_anything_finite():
    other = X.copy()
    other[[1, 3, 5, 6, 8]] = 1e6
    check_same(read_tuples(T, 3, other), read_tuples(T, 3, X))


def test_a_function_is_called_once_with_each_name_once():
    calls = []

    def look_up(names):
        calls.append(list(names))
        return X[names]

    read_tuples(T, 3, look_up)
    assert calls == [[0, 2, 4, 7]]


def test_single_precision_is_kept_and_integers_become_double():
    assert read_tuples(X[T].astype(np.float32), 3).points.dtype == np.float32
    assert read_tuples(T, 3, X.astype(np.float32)).points.dtype == np.float32
    assert read_tuples(np.round(9 * X[T]).astype(int), 3).points.dtype == np.float64


def test_equal_rows_and_the_two_zeros_are_one_point():
    twice = np.vstack([X, X])
    check_same(read_tuples(T + np.array([0, 9, 0]), 3, twice), read_tuples(T, 3, X))
    assert len(read_tuples(np.array([[[0.0], [-0.0], [1.0]]]), 3).points) == 2


def test_a_sparse_preprocessor_stays_sparse():
    read = read_tuples(T, 3, sp.csr_array(X))
    assert sp.issparse(read.points)
    np.testing.assert_array_equal(read.points.toarray()[read.index], X[T])
    order = np.random.default_rng(0).permutation(9)
    again = read_tuples(np.argsort(order)[T], 3, sp.csr_matrix(X[order]))
    np.testing.assert_array_equal(again.points.toarray(), read.points.toarray())
    np.testing.assert_array_equal(again.index, read.index)


def test_equal_rows_of_a_sparse_preprocessor_are_one_point():
    rows = np.array([[0, 2.0, 0], [1.0, 0, 3.0], [0, 2.0, 0], [0, 0, 2.0], [0, 0, 0]])
    table = sp.csr_array(rows)
    stored = sp.csr_array(
        (
            np.append(table.data, -0.0),
            np.append(table.indices, 1),
            np.append(table.indptr[:-1], len(table.data) + 1),
        ),
        shape=rows.shape,
    )
    before = stored.copy()
    read = read_tuples([[0, 1, 2], [3, 4, 2]], 3, lambda names: stored[names])
    assert read.points.shape == (4, 3)
    np.testing.assert_array_equal(read.points.toarray()[read.index], rows[[[0, 1, 2], [3, 4, 2]]])
    assert read.index[0, 0] == read.index[0, 2] == read.index[1, 2]
    assert stored.nnz == before.nnz


@pytest.mark.parametrize("unit", [1e-150, 1e3, 1e150])
def test_the_order_of_points_does_not_depend_on_their_unit(unit):
    plain, scaled = (read_tuples(T, 3, X * factor) for factor in (1, unit))
    single = read_tuples(T, 3, X.astype(np.float32))
    for other in (scaled, single, read_tuples(T, 3, X[:, [0, 0, 1, 2]])):
        np.testing.assert_array_equal(other.index, plain.index)


def test_inputs_are_not_changed():
    formed, table = X[T], X.copy()
    table[0] = -0.0
    before = formed.copy(), table.copy()
    read_tuples(formed, 3).points[:] = 7
    read_tuples(T, 3, table).points[:] = 7
    for now, then in zip((formed, table), before, strict=True):
        assert now.tobytes() == then.tobytes()


@pytest.mark.parametrize(
    ("tuples", "preprocessor", "size", "error", "words"),
    [
        (
            T,
            X,
            4,
            ValueError,
            r"of 3 points were given, shape \(4, 3\); expected quadruplets \(a, b, c, d\), of 4",
        ),
        (X[T], None, 2, ValueError, r"shape \(4, 3, 3\); expected pairs \(a, b\), of 2"),
        (
            T,
            None,
            3,
            ValueError,
            r"shape \(4, 3\), which are indices, and there is no preprocessor; set preprocessor=X",
        ),
        (
            [[0, 1, 2], [0, 1]],
            X,
            3,
            ValueError,
            r"different sizes.*expected triplets \(anchor, near, far\), of 3 each",
        ),
        ([0, 1, 2], X, 3, ValueError, r"tuples has shape \(3,\); expected triplets"),
        (np.zeros((2, 3, 4, 1)), None, 3, ValueError, r"tuples has shape \(2, 3, 4, 1\); expected"),
        ([], X, 3, ValueError, r"tuples has shape \(0,\); expected triplets.*at least one"),
        (np.zeros((0, 3, 2)), None, 3, ValueError, "at least one"),
        (np.zeros((2, 3, 0)), None, 3, ValueError, r"tuples has shape \(2, 3, 0\); expected"),
        (
            T + 5,
            X,
            3,
            ValueError,
            r"tuples\[0\] = \(9, 5, 12\) is out of range; .* 9 rows .*0 to 8",
        ),
        (T - 1, X, 3, ValueError, r"tuples\[0\] = \(3, -1, 6\) is out of range"),
        (
            T.astype(float),
            X,
            3,
            TypeError,
            "tuples has dtype float64; expected integers, indices of rows of the",
        ),
        (T.astype(str), X, 3, TypeError, "tuples has dtype <U.*; expected integers"),
        (T > 3, X, 3, TypeError, "tuples has dtype bool; expected integers"),
        (
            T,
            lambda names: X[:2],
            3,
            ValueError,
            "returned 2 points for 4 indices; expected one row",
        ),
        (T, lambda names: X[0], 3, ValueError, "Expected 2D array, got 1D array"),
        (T, X[:, 0], 3, ValueError, "Expected 2D array, got 1D array"),
        (np.where(X[T] > 1, np.nan, X[T]), None, 3, ValueError, "points contains NaN"),
        (np.where(X[T] > 1, np.inf, X[T]), None, 3, ValueError, "points contains infinity"),
        (T, np.where(X > 1, np.nan, X), 3, ValueError, "points contains NaN"),
        (T, lambda names: np.full((len(names), 2), np.inf), 3, ValueError, "contains infinity"),
        (np.full((1, 3, 2), "a"), None, 3, ValueError, "could not convert string to float"),
    ],
)
def test_what_is_refused(tuples, preprocessor, size, error, words):
    with pytest.raises(error, match=words):
        read_tuples(tuples, size, preprocessor)


def test_another_number_of_features_than_the_metric_has():
    with pytest.raises(ValueError, match="points have 3 features; the metric was learned with 5"):
        read_tuples(X[T], 3, n_features=5)
