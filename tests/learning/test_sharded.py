"""A fit of samples in shards gives the metric of a fit in memory."""

import operator
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from frobmetric import FrobMetric, FrobMetricCV, RowFile
from frobmetric.learning.sharded import search
from frobmetric.learning.sharded.samples import ShardedSamples
from frobmetric.learning.units import spread_rows
from frobmetric.search import mining as _mining
from frobmetric.search import sketches as _sketches
from frobmetric.search.tuning import Tuning


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] + 1e-3 * np.arange(64), y[:600]


def in_shards(X, path, n_shards, y=None):
    """Return X as a file that is read in about so many shards."""
    np.save(path / "X.npy", X)
    memory = 16 * 8 * X.shape[1] * -(-len(X) // n_shards)
    return RowFile(path / "X.npy", memory=memory, folder=path)


def assert_same(found, expected):
    M = expected.get_mahalanobis_matrix()
    np.testing.assert_allclose(
        found.get_mahalanobis_matrix(), M, rtol=0, atol=1e-9 * np.abs(M).max()
    )
    assert found.n_triplets_ == expected.n_triplets_
    assert found.units_ == expected.units_
    assert found.certificate_.relative_gap <= found.tol
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_neighbors": 2, "n_impostors": 4, "n_passes": 1, "units": "within", "pull": 0.2},
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in (
                {"units": "within", "prior": "identity"},
                {"units": "deviation", "pull": 0.2},
                {"prior": np.diag(np.linspace(0.001, 0.01, 64))},
                {"loss": "squared_hinge", "tol": 1e-6},
                {"prior": "diagonal", "n_components": 5},
                {"solver": "newton", "tol": 1e-8},
            )
        ),
    ],
)
def test_it_is_the_metric_of_a_fit_in_memory(digits, tmp_path, options):
    X, y = digits
    assert_same(
        FrobMetric(**options).fit(in_shards(X, tmp_path, 3), y), FrobMetric(**options).fit(X, y)
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_shards", [1, 2, 7])
def test_the_number_of_shards_does_not_matter(digits, tmp_path, n_shards):
    X, y = digits
    assert_same(FrobMetric().fit(in_shards(X, tmp_path, n_shards), y), FrobMetric().fit(X, y))


def test_ties_are_decided_by_row_number(tmp_path):
    rng = np.random.default_rng(0)
    X = np.unique(rng.integers(3, size=(200, 6)).astype(float), axis=0)
    X, y = rng.permutation(X), rng.integers(3, size=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the labels are random
        found = FrobMetric(n_passes=1).fit(in_shards(X, tmp_path, 4), y)
        assert_same(found, FrobMetric(n_passes=1).fit(X, y))


def near_a_plane(n=300, noise=0.01):
    """Return samples of 24 features near a plane of three dimensions, and labels."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    hidden = rng.normal(size=(n, 3)) + y[:, None]
    return hidden @ rng.normal(size=(3, 24)) + noise * rng.normal(size=(n, 24)), y


def tied(X, y):
    """Return samples in small integers, with equal distances and equal rows of other classes."""
    X = np.round(X)
    X[200:230] = X[:30]
    return X, y


@pytest.mark.parametrize(
    ("data", "most", "n_hard"),
    [
        (near_a_plane(), 256, (0, 0)),
        (tied(*near_a_plane()), 256, (0, 0)),
        (near_a_plane(noise=0.3), -4, (1, 299)),  # some rows have too many candidates
    ],
)
def test_sketches_find_the_neighbors_of_a_full_search(tmp_path, monkeypatch, data, most, n_hard):
    X, y = data
    tuning = Tuning(many=most, trial=1000)  # no sketch is given up
    monkeypatch.setattr(_sketches, "TUNING", tuning)
    monkeypatch.setattr(search, "ROOM", 0.5)  # rows are fetched in several parts
    metric = FrobMetric(units="raw")
    samples = ShardedSamples.check(metric, in_shards(X, tmp_path, 4), y)
    Z = samples.coordinates(metric).Z.rows
    rows = np.concatenate(pieces(Z))
    moments = search.Moments.of(search._scatter(rows), len(rows))
    one = search._Search(search.Mining(samples, 3, 2), Z, moments)
    possible = pieces(one._by_sketches(_sketches.Frame.of_moments(*moments, search.LEADING)))
    n_uncertain = sum(np.count_nonzero(~each.is_certain) for each in possible)
    assert n_hard[0] <= n_uncertain <= n_hard[1]
    in_memory = _mining.Mining(rows, y, 3, 2, moments.tie).exact(np.arange(len(X)))
    found, full = (zip(*pieces(each), strict=True) for each in (one.neighbors(), one._in_full()))
    for numbers, expected, others in zip(found, full, in_memory, strict=True):
        assert np.array_equal(np.concatenate(numbers), np.concatenate(expected))
        assert np.array_equal(np.sort(np.concatenate(numbers)), np.sort(others))


def pieces(sharded):
    """Return the pieces of all shards."""
    return sharded.reduce(operator.add, lambda piece: [piece]).get()


def test_classes_may_be_in_one_shard_only_or_have_one_sample(tmp_path):
    X, y = load_wine(return_X_y=True)  # sorted by class
    y = y.astype(str)
    y[5] = "alone"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = FrobMetric().fit(in_shards(X, tmp_path, 4), y)
        assert_same(found, FrobMetric().fit(X, y))


def test_single_precision_stays_single(digits, tmp_path):
    X, y = digits
    found = FrobMetric().fit(in_shards(X.astype(np.float32), tmp_path, 2), y)
    assert found.components_.dtype == np.float32


def test_parquet_files_have_names(digits, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = digits
    names = [f"pixel {i}" for i in range(64)]
    table = pyarrow.table([*X.T, y], names=[*names, "digit"])
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=150)
    samples = RowFile(tmp_path / "t.parquet", columns=names, memory=16 * 8 * 64 * 300)
    labels = RowFile(tmp_path / "t.parquet", columns="digit")
    found = FrobMetric().fit(samples, labels)
    assert list(found.feature_names_in_) == names
    assert_same(found, FrobMetric().fit(X, y))


@pytest.mark.slow
def test_options_are_chosen_on_an_excerpt(digits, tmp_path):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = FrobMetricCV().fit(in_shards(X, tmp_path, 2), y)
    assert found.report_.errors.n_units == 600
    assert found.certificate_.relative_gap <= found.tol
    with pytest.raises(ValueError, match="samples in shards"):
        found.predict(X)


@pytest.mark.parametrize(
    ("options", "given", "match"),
    [
        ({"kernel": "rbf"}, {}, "kernel='rbf' needs all samples in memory"),
        ({"keep_dual": True}, {}, "keep_dual=True needs all samples"),
        ({"prior": "within"}, {}, "give the prior as a matrix"),
        ({}, {"triplets": [[0, 1, 2]]}, "a fit from triplets needs it in memory"),
        ({}, {"sample_weight": np.ones(600)}, "a fit with sample_weight needs it in memory"),
    ],
)
def test_what_shards_cannot_do_is_refused(digits, tmp_path, options, given, match):
    X, y = digits
    with pytest.raises(ValueError, match=match):
        FrobMetric(**options).fit(in_shards(X, tmp_path, 2), y, **given)


def test_rows_without_label_are_refused(digits, tmp_path):
    X, y = digits
    with pytest.raises(ValueError, match="label -1, of rows without a label, beside 10 classes"):
        FrobMetric().fit(in_shards(X, tmp_path, 2), np.where(np.arange(600) % 5, y, -1))


def test_bad_samples_and_labels_are_refused(digits, tmp_path):
    X, y = digits
    rows = in_shards(X, tmp_path, 3)
    with pytest.raises(ValueError, match="one label for each of the 600"):
        FrobMetric().fit(rows, y[:-1])
    with pytest.raises(ValueError, match="one class"):
        FrobMetric().fit(rows, np.zeros(600))
    X = X.copy()
    X[500, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        FrobMetric().fit(in_shards(X, tmp_path, 3), y)
    with pytest.raises(ValueError, match="all rows of X are equal"):
        FrobMetric(units="raw").fit(in_shards(np.ones((600, 3)), tmp_path, 3), y)
    with pytest.raises(ValueError, match="at least as many samples as features"):
        FrobMetric().fit(in_shards(np.eye(20)[:10], tmp_path, 2), np.arange(10) % 2)


def test_files_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match="neither an npy nor a parquet"):
        RowFile(tmp_path / "X.csv")
    np.save(tmp_path / "y.npy", np.arange(5))
    with pytest.raises(ValueError, match="expected a matrix of samples"):
        FrobMetric().fit(RowFile(tmp_path / "y.npy"), np.arange(5))
    with pytest.raises(ValueError, match="is for parquet"):
        RowFile(tmp_path / "y.npy", columns="a")


class PowerCut:
    """Callback that fails in a pass, which it knows by the clock that begins again."""

    def __init__(self, number, n_steps):
        self.number, self.n_steps, self.seconds, self.passes = number, n_steps, np.inf, 0

    def __call__(self, step):
        self.passes += step.seconds < self.seconds
        self.seconds = step.seconds
        self.n_steps -= self.passes == self.number
        if not self.n_steps:
            raise RuntimeError("the power failed")


@pytest.mark.slow
@pytest.mark.parametrize("end", [(1, 3), (2, 1), (2, 4)])
def test_a_fit_that_was_ended_goes_on(digits, tmp_path, end):
    X, y = digits
    rows, file = in_shards(X, tmp_path, 2), tmp_path / "fit.checkpoint"
    expected = FrobMetric(tol=1e-6).fit(X, y)
    failing = FrobMetric(tol=1e-6, callback=PowerCut(*end))
    with pytest.raises(RuntimeError, match="power"):
        failing.fit(rows, y, checkpoint=file, checkpoint_seconds=0)
    assert file.exists() == (end[0] == 2)
    found = FrobMetric(tol=1e-6).fit(rows, y, checkpoint=file)
    assert not file.exists()
    assert found.n_triplets_ == expected.n_triplets_
    assert found.certificate_.relative_gap <= 1e-6
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=2e-6)


def test_the_checkpoint_of_another_fit_is_refused(digits, tmp_path):
    X, y = digits
    rows, file = in_shards(X, tmp_path, 2), tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="power"):
        FrobMetric(callback=PowerCut(2, 1)).fit(rows, y, checkpoint=file)
    with pytest.raises(ValueError, match="y differs"):
        FrobMetric().fit(rows, y[::-1], checkpoint=file)
    with pytest.raises(ValueError, match=r"C was 1000\.0 and is 10\.0"):
        FrobMetric(C=10.0).fit(rows, y, checkpoint=file)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_an_excerpt_is_that_of_all_rows(digits, tmp_path, n_shards):
    X, y = digits
    samples = ShardedSamples.check(FrobMetric(), in_shards(X, tmp_path, n_shards), y)
    few, rows = samples.excerpt(70), spread_rows(y, 70)
    assert np.array_equal(few.X, X[rows])
    assert np.array_equal(few.y, y[rows])
