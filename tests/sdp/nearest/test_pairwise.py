"""Correlations of data with missing values, and data frames in and out."""

import numpy as np
import pytest

from frobmetric.sdp import nearest_correlation, nearest_covariance, pairwise_correlation

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(40, 5)) + RNG.normal(size=(40, 1))
DATA[RNG.random(DATA.shape) < 0.3] = np.nan
NAMES = list("abcde")


def test_the_correlations_are_those_of_pandas():
    frame = pytest.importorskip("pandas").DataFrame(DATA, columns=NAMES)
    matrix, counts = pairwise_correlation(frame)
    assert list(matrix.columns) == list(matrix.index) == list(counts.columns) == NAMES
    np.testing.assert_allclose(matrix, frame.corr(), rtol=1e-12)
    there = frame.notna().astype(int)
    assert (counts.to_numpy() == (there.T @ there).to_numpy()).all()
    np.testing.assert_allclose(pairwise_correlation(DATA).matrix, matrix, rtol=1e-12)


def test_columns_far_from_zero_lose_no_digits():
    expected = pairwise_correlation(DATA).matrix
    np.testing.assert_allclose(pairwise_correlation(DATA + 1e6).matrix, expected, atol=1e-8)


def test_what_has_no_correlation_is_nan():
    data = np.array([[1.0, np.nan, 3, 1], [2, np.nan, 3, 5], [np.nan, 5, 3, 2], [np.nan, 6, 3, 1]])
    matrix, counts = pairwise_correlation(data)
    assert counts[0, 1] == 0
    assert np.isnan(matrix[0, 1])
    assert np.isnan(matrix[2]).all()  # does not vary
    nearest = nearest_correlation(matrix, counts=counts)
    assert np.isfinite(nearest.matrix).all()
    np.testing.assert_array_equal(np.diag(nearest.matrix), 1)
    assert np.linalg.eigvalsh(nearest.matrix)[0] > -1e-9


def test_counts_are_squares_of_weights():
    matrix, counts = pairwise_correlation(DATA)
    matrix[0, 1] = matrix[1, 0] = np.nan
    nearest = nearest_correlation(matrix, counts=counts)
    H = np.sqrt(counts / counts.max())
    H[0, 1] = H[1, 0] = 0
    expected = nearest_correlation(matrix, elementwise=H)
    np.testing.assert_allclose(nearest.matrix, expected.matrix, atol=1e-6)
    assert nearest.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-6)


def test_more_rows_keep_an_entry_nearer():
    G = np.array([[1, 0.95, 0.95], [0.95, 1, -0.9], [0.95, -0.9, 1]])
    many, few = np.full((3, 3), 10), np.full((3, 3), 10)
    many[0, 1] = many[1, 0] = 1000
    many, few = (nearest_correlation(G, counts=n).matrix for n in (many, few))
    assert abs(many[0, 1] - 0.95) < 0.1 * abs(few[0, 1] - 0.95)


@pytest.mark.parametrize("find", [nearest_correlation, nearest_covariance])
def test_a_data_frame_gives_a_data_frame(find):
    pandas = pytest.importorskip("pandas")
    G = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1.0]])
    frame = pandas.DataFrame(G, index=list("xyz"), columns=list("xyz"))
    found, plain = find(frame), find(G)
    assert isinstance(found.matrix, pandas.DataFrame)
    assert list(found.matrix.index) == list(found.matrix.columns) == list("xyz")
    np.testing.assert_array_equal(found.matrix, plain.matrix)
    np.testing.assert_array_equal(np.asarray(found), plain.matrix)
    assert isinstance(plain.matrix, np.ndarray)
    with pytest.raises(ValueError, match="the same labels in the same order"):
        find(frame.loc[["y", "x", "z"]])


def test_polars_has_columns_only():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(DATA, schema=NAMES)
    matrix, counts = pairwise_correlation(frame)
    found = nearest_correlation(matrix, counts=counts)
    assert found.matrix.columns == matrix.columns == NAMES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"G\[0, 1\] is nan.*`counts`"),
        ({"counts": np.ones((2, 2))}, "counts has shape"),
        ({"counts": -np.ones((3, 3))}, "is negative"),
        ({"counts": np.zeros((3, 3))}, "all 0"),
        ({"counts": np.ones((3, 3)), "weights": np.ones(3)}, "not several"),
    ],
)
def test_mistakes(arguments, message):
    G = np.array([[1, np.nan, 0], [np.nan, 1, 1], [0, 1, 1.0]])
    with pytest.raises(ValueError, match=message):
        nearest_correlation(G, **arguments)


def test_mistakes_of_data():
    with pytest.raises(ValueError, match=r"data has shape \(3,\)"):
        pairwise_correlation([1, 2, 3])
    with pytest.raises(ValueError, match=r"data\[0, 1\] = inf is too large"):
        pairwise_correlation([[1, np.inf], [2, 3]])
    with pytest.raises(ValueError, match="nearest_correlation"):
        nearest_covariance([[1.0, np.nan], [np.nan, 1]])


def test_the_correlations_of_pairs_are_an_argument():
    pairs = pairwise_correlation(DATA[:14])
    expected = nearest_correlation(pairs.matrix, counts=pairs.counts)
    np.testing.assert_array_equal(nearest_correlation(pairs).matrix, expected.matrix)
    ones = np.ones((5, 5))
    other = nearest_correlation(pairs.matrix, counts=ones)
    np.testing.assert_array_equal(nearest_correlation(pairs, counts=ones).matrix, other.matrix)
    plain = nearest_correlation(pairs.matrix)
    np.testing.assert_array_equal(
        nearest_correlation(pairs, weights=np.ones(5)).matrix, plain.matrix
    )
