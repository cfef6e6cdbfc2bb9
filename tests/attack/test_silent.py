"""Inputs that could give a wrong answer without a word: integers, extreme sizes, NaN, complex."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from frobmetric import (
    ITML,
    BoostMetric,
    FrobMetric,
    MarginalizedKNN,
    NearestClass,
    PairFrobMetric,
    TripletFrobMetric,
    knn_error,
    load,
    mine_triplets,
    nearest_correlation,
    read_sdpa,
)
from frobmetric.app.tables.reading import read_table
from frobmetric.core import Hinge, Triplets
from frobmetric.learners import GMML, MMC, SDML
from frobmetric.neighbors import NearestVote

X, Y = load_iris(return_X_y=True)
PAIRS = np.array([[0, 1], [50, 51], [0, 50], [50, 100]])
SIGNS = [1, 1, -1, -1]
#: Powers of two, so that scaled data have the same bits.
EXPONENTS = [530, 990, -530, -990]


@pytest.fixture(scope="module")
def metric():
    return FrobMetric(n_passes=1).fit(X, Y)


@pytest.fixture(scope="module")
def images():
    pixels, digit = load_digits(return_X_y=True)
    return (15 * pixels[:200]).astype(np.uint8), digit[:200]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, bool, np.float16])
def test_distances_of_small_types_are_those_of_floats(images, dtype):
    pixels, digit = images
    metric = FrobMetric(n_passes=1).fit(pixels.astype(float), digit)
    given = pixels[[[0, 1], [5, 9]]].astype(dtype)
    away = given[:, 0].astype(float) - given[:, 1].astype(float)
    expected = np.linalg.norm(away @ metric.components_.T, axis=1)
    np.testing.assert_allclose(metric.pair_distance(given), expected, rtol=1e-12)
    np.testing.assert_allclose(metric.pair_score(given), -expected, rtol=1e-12)
    np.testing.assert_allclose(metric.get_metric()(*given[0]), expected[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_neighbors", np.uint8(20)), ("n_impostors", np.int8(20)), ("pull", np.int8(3)),
     ("C", np.int8(100)), ("C", np.float16(1000)), ("max_iter", np.uint8(200))],
)  # fmt: skip
def test_parameters_of_small_types_mean_their_value(name, value):
    plain = float(value) if name in ("C", "pull") else int(value)
    given, expected = (FrobMetric(n_passes=1, **{name: v}).fit(X, Y) for v in (value, plain))
    assert given.n_triplets_ == expected.n_triplets_
    np.testing.assert_array_equal(given.components_, expected.components_)


def test_mining_with_small_integers_finds_all_neighbours():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(402, 2)), np.arange(402) % 2
    mined = mine_triplets(points, labels, n_neighbors=np.uint8(200), n_impostors=np.uint8(1))
    assert mined.n_triplets == 402 * 200


def test_complex_numbers_are_refused(metric):
    with pytest.raises(TypeError, match="complex"):
        metric.pair_distance(X[PAIRS] + 1j)
    with pytest.raises(TypeError, match="complex"):
        metric.get_metric()(X[0] + 1j, X[1])
    with pytest.raises(TypeError, match="complex"):
        nearest_correlation(np.eye(3) + 0.1j)
    for fit in (FrobMetric().fit, NearestClass().fit, mine_triplets, MarginalizedKNN().fit):
        with pytest.raises(ValueError, match="Complex"):
            fit(X + 1j, Y)


@pytest.mark.parametrize("dtype", [float, object])
def test_nan_labels_are_refused(dtype):
    y = np.where(Y == 2, np.nan, Y.astype(dtype))
    fits = FrobMetric().fit, BoostMetric().fit, NearestClass().fit, MarginalizedKNN().fit
    for fit in (*fits, mine_triplets):
        with pytest.raises(ValueError, match=r"(?i)nan"):
            fit(X, y)
    with pytest.raises(ValueError, match=r"y_train\[100\] is nan"):
        knn_error(X, y, X, Y)
    with pytest.raises(ValueError, match=r"y_test\[100\] is nan"):
        knn_error(X, Y, X, y)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "01", "1", "01"], ["1", "01", "1", "01"]),
        (["10", "1_0", "10", "10"], ["10", "1_0", "10", "10"]),
        (["9223372036854775808", "9223372036854775809", "1", "1"], None),
        (["1e400", "2e400", "1", "1"], None),
        (["1", "2", "-1", "2"], [1, 2, -1, 2]),
        (["1.5", "2", "2", "2"], [1.5, 2.0, 2.0, 2.0]),
    ],
)
def test_labels_of_csv_files_stay_different(tmp_path, labels, expected):
    file = Path(tmp_path, "a.csv")
    file.write_text("x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    assert read_table(file, "y").y.tolist() == (labels if expected is None else expected)


def test_nan_labels_of_csv_files_are_refused(tmp_path):
    file = Path(tmp_path, "a.csv")
    file.write_text("x,y\n1,0\n2,nan\n3,1\n")
    with pytest.raises(ValueError, match=r"line 3, column 'y': the label is NaN; fill it in"):
        read_table(file, "y")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_distances_of_points_that_are_not_finite_are_refused(metric, bad):
    pair = X[[[0, 1]]].copy()
    pair[0, 0, 0] = bad
    for call in (metric.pair_distance, metric.pair_score, lambda p: metric.get_metric()(*p[0])):
        with pytest.raises(ValueError, match="NaN or infinity"):
            call(pair)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_distances_of_extreme_points_are_right(metric, exponent):
    pairs, scaled = X[PAIRS], np.ldexp(X[PAIRS], exponent)
    expected = np.ldexp(metric.pair_distance(pairs), exponent)
    np.testing.assert_allclose(metric.pair_distance(scaled), expected, rtol=1e-14)
    np.testing.assert_allclose(metric.get_metric()(*scaled[0]), expected[0], rtol=1e-14)
    indexed = PairFrobMetric().fit(pairs, SIGNS)
    expected = np.ldexp(indexed.pair_distance(pairs), exponent)
    np.testing.assert_allclose(indexed.pair_distance(scaled), expected, rtol=1e-14)


def test_distances_beyond_all_floats_are_refused(metric):
    with pytest.raises(ValueError, match="would be infinite"):
        metric.get_metric()(X[0] * 1e300, X[1], squared=True)
    with pytest.raises(ValueError, match="would be infinite"):
        metric.pair_distance([[np.full(4, 1.7e308), np.full(4, -1.7e308)]])
    with pytest.raises(ValueError, match="would be infinite"):
        metric.explain(X[0] * 1e300, X[1])


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_neighbours_do_not_depend_on_the_size_of_the_data(exponent):
    scaled = np.ldexp(X, exponent)
    expected = mine_triplets(X, Y).to_array()
    np.testing.assert_array_equal(mine_triplets(scaled, Y).to_array(), expected)
    for rule in ("center", "distances"):
        model = NearestClass(rule=rule).fit(X[::2], Y[::2])
        other = NearestClass(rule=rule).fit(scaled[::2], Y[::2])
        np.testing.assert_array_equal(other.predict(scaled), model.predict(X))
    for weights in ("uniform", "distance"):
        model = NearestVote(5, weights=weights).fit(X[::2], Y[::2])
        other = NearestVote(5, weights=weights).fit(scaled[::2], Y[::2])
        np.testing.assert_array_equal(other.predict(scaled), model.predict(X))
    pairs = np.random.default_rng(0).integers(0, 150, (40, 2))
    scores = [MarginalizedKNN(n_neighbors=9).fit(Z[::2], Y[::2]).pair_score(Z[pairs])
              for Z in (X, scaled)]  # fmt: skip
    np.testing.assert_array_equal(*scores)


def test_classes_of_very_different_sizes():
    points = np.concatenate([1e-120 * X[:50], X[50:]])
    model = NearestClass().fit(points, Y)
    away = points[0] - points[:50][np.argsort(((points[0] - points[:50]) ** 2).sum(1))[:8]]
    assert model.predict(points[:50]).tolist() == [0] * 50
    assert model.energies(points[:1])[0, 0] <= (np.abs(away).max() * 2) ** 2


def test_energies_that_overflow_are_refused():
    model = NearestClass().fit(X, Y)
    with pytest.raises(ValueError, match="energies would be infinite"):
        model.predict(X * 1e300)
    with pytest.raises(ValueError, match="energies would be infinite"):
        NearestClass().fit(X * 1e300, Y).energies(X * 1e300)


@pytest.mark.parametrize("scale", [1e-310, 1e-321])
def test_metrics_that_no_float_can_hold_are_refused(scale):
    for learner in (FrobMetric(), BoostMetric()):
        with pytest.raises(ValueError, match=r"varies by .* multiply X by a power of ten"):
            learner.fit(X * scale, Y)
        assert not hasattr(learner, "components_")
    with pytest.raises(ValueError, match="multiply X by a power of ten"):
        PairFrobMetric().fit(X[PAIRS] * scale, SIGNS)


def test_weights_whose_sums_overflow_are_refused():
    many, one = np.full(150, 1e307), np.where(np.arange(150) == 0, 1e300, 1.0)
    for weight in (many, one):
        with pytest.raises(ValueError, match=r"sample_weight has the weight .* divide all"):
            FrobMetric().fit(X, Y, sample_weight=weight)
        with pytest.raises(ValueError, match="divide all of them by the largest"):
            NearestClass().fit(X, Y).score(X, Y, sample_weight=weight)
    model = PairFrobMetric().fit(X[PAIRS], SIGNS)
    for call in (PairFrobMetric().fit, model.score):
        with pytest.raises(ValueError, match="divide all of them by the largest"):
            call(X[PAIRS], SIGNS, sample_weight=[1e300, 1, 1, 1])
    triplets = [[0, 1, 50], [0, 1, 100], [50, 51, 100]]
    with pytest.raises(ValueError, match="triplet_weight has the weight 1e"):
        FrobMetric().fit(X, triplets=triplets, triplet_weight=[1e308] * 3)
    with pytest.raises(ValueError, match="divide all of them by the largest"):
        TripletFrobMetric().fit(X[triplets]).score(X[triplets], sample_weight=[1e308] * 3)


def test_weights_divided_by_the_largest_are_taken():
    fits = [
        PairFrobMetric().fit(X[PAIRS], SIGNS, sample_weight=[1.0, small, 1.0, small])
        for small in (1e-300, 1e-30)
    ]
    np.testing.assert_allclose(fits[0].components_, fits[1].components_, atol=1e-9)
    assert NearestClass().fit(X, Y).score(X, Y, sample_weight=np.full(150, 1e140)) == pytest.approx(
        NearestClass().fit(X, Y).score(X, Y)
    )


def test_weights_of_the_loss_whose_products_overflow_are_refused():
    for learner in (FrobMetric(C=1e155), FrobMetric(C=1e300, loss="squared_hinge")):
        with pytest.raises(ValueError, match=r"weight has an entry of size .*; scale the problem"):
            learner.fit(X, Y)


def test_targets_that_are_not_finite_are_refused():
    for bad in (np.nan, np.inf, 1e200):
        with pytest.raises(ValueError, match="target"):
            Hinge(np.ones(2), bad)
        with pytest.raises(ValueError, match="target"):
            Hinge(np.ones(2), np.array([1.0, bad]))


def test_masked_entries_are_refused(metric):
    hidden = np.ma.masked_array(X, mask=X > 7)
    for call in (metric.transform, lambda Z: FrobMetric().fit(Z, Y), lambda Z: mine_triplets(Z, Y)):
        with pytest.raises(ValueError, match=r"X has \d+ masked entries"):
            call(hidden)
    with pytest.raises(ValueError, match="some entries are masked"):
        Triplets(hidden, [[0, 1, 50]])
    whole = metric.transform(np.ma.masked_array(X))
    np.testing.assert_array_equal(whole, metric.transform(X))


@pytest.mark.parametrize("factor", [1e30, 1e-30])
def test_squares_of_single_precision_neither_overflow_nor_vanish(factor):
    single = (X * factor).astype(np.float32)
    rows = [[0, 1, 50], [60, 61, 100]]
    given, expected = (Triplets(Z, rows).norms() for Z in (single, single.astype(float)))
    np.testing.assert_array_equal(given, expected)


def test_maps_that_single_precision_cannot_hold_are_refused():
    triplets = X[[[0, 1, 50], [50, 51, 100]]].astype(np.float32)
    with pytest.raises(ValueError, match=r"X has dtype float32 and varies so little .* float64"):
        TripletFrobMetric().fit(triplets * np.float32(1e-40))


def test_numbers_of_the_file_system_are_no_paths(tmp_path):
    for bad in (True, 0, 1, None, 1.5, "", "a\0b"):
        with pytest.raises(TypeError, match=r"path is .*; expected the name of a file; give"):
            read_sdpa(bad)
        with pytest.raises(TypeError, match=r"path is .*; expected the name of a file; give"):
            load(bad)


@pytest.mark.parametrize("learner", [GMML(), ITML(), SDML(balance_param=None), MMC()])
@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_learners_refuse_numbers_whose_products_overflow(learner, factor):
    with pytest.raises(ValueError, match=r"points has entries of size .*; scale the features"):
        learner.fit(factor * X[PAIRS], SIGNS)
