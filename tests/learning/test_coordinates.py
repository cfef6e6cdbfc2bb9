"""Wide and sparse data: the problem in the span of the samples is the same problem."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.base import clone

from frobmetric import FrobMetric, FrobMetricCV, TripletFrobMetric, mine_triplets
from frobmetric.learning import coordinates as module
from frobmetric.learning.coordinates import Coordinates, unit_mean_square
from paper_problem import paper_metric


def test_coordinates_keep_every_distance(rng):
    X = rng.normal(size=(12, 40))
    coordinates = Coordinates.dense(X)
    Z, scale = unit_mean_square(X)
    assert coordinates.Z.shape == (12, 11)  # the mean is zero
    assert coordinates.scale == scale
    np.testing.assert_allclose(coordinates.Z @ coordinates.Z.T, Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(coordinates.basis.T @ coordinates.basis, np.eye(11), atol=1e-12)
    assert Coordinates.dense(X.T).basis is None


def test_the_metric_is_the_one_of_all_features(rng):
    X, y = rng.normal(size=(20, 30)), np.arange(20) % 2
    within = paper_metric(C=10, tol=1e-8).fit(X, y)
    # a prior of zero changes nothing, but keeps the features
    whole = paper_metric(C=10, tol=1e-8, prior=np.zeros((30, 30))).fit(X, y)
    assert within.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(
        within.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), atol=1e-4
    )


def test_thousands_of_features_need_no_matrix_of_their_order(rng):
    X, y = rng.normal(size=(40, 5000)), np.arange(40) % 2
    metric = FrobMetric(n_components="rank", keep_dual=True, C=100).fit(X, y)
    assert metric.components_.shape == (metric.rank_, 5000)
    assert metric.certify(X).relative_gap <= 1e-3


def test_nci60(data_folder):
    """64 samples of 6,830 genes."""
    with np.load(data_folder / "nci60.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(float), file["labels"]
    kept = np.isin(y, [name for name in np.unique(y) if (y == name).sum() > 3])
    metric = FrobMetric(n_components="rank").fit(X[kept], y[kept])
    assert metric.certificate_.relative_gap <= 1e-3


def low_rank(rng, D, rank):
    root = rng.normal(size=(D, rank))
    return root @ root.T / D


def test_a_prior_of_low_rank_keeps_wide_data_narrow(rng):
    """The span is that of the samples and of the prior; nothing else matters."""
    X, y = rng.normal(size=(10, 30)), np.arange(10) % 2
    prior = low_rank(rng, 30, 2)
    narrow = FrobMetric(C=10, tol=1e-8, prior=prior).fit(X, y)
    assert narrow.n_directions_ == 11
    # the identity, however small, has all directions
    whole = FrobMetric(C=10, tol=1e-8, prior=prior + 1e-9 * np.eye(30)).fit(X, y)
    assert whole.n_directions_ == 30
    assert narrow.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(
        narrow.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), atol=1e-4
    )


def test_a_prior_on_wide_data_against_cvxpy(rng):
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    X, C, prior = rng.normal(size=(5, 9)), 3.0, low_rank(rng, 9, 2)
    T = np.array([[0, 1, 2], [3, 4, 0], [2, 3, 1], [4, 0, 1]])
    centred = X - X.mean(axis=0)
    scale = np.sqrt(np.mean(np.sum(centred**2, axis=1)))
    near, far = ((X[T[:, 0]] - X[T[:, i]]) / scale for i in (1, 2))
    M = cp.Variable((9, 9), PSD=True)
    margins = cp.sum(cp.multiply(far @ M, far) - cp.multiply(near @ M, near), axis=1)
    hinge = C * cp.sum(cp.pos(1 - margins)) / len(T)
    best = cp.Problem(cp.Minimize(cp.sum_squares(M - prior * scale**2) / 2 + hinge)).solve(
        solver=cp.CLARABEL
    )
    metric = FrobMetric(C=C, prior=prior, tol=1e-9).fit(X, triplets=T)
    assert metric.n_directions_ == 6
    assert metric.certificate_.primal == pytest.approx(best, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(
        metric.get_mahalanobis_matrix() * scale**2, M.value, atol=1e-4 * np.linalg.norm(M.value)
    )


class TestFewDirections:
    """`n_directions` of dense data: principal component analysis before, in one step."""

    def test_is_the_fit_of_principal_components(self, rng):
        y = np.arange(60) % 3
        X = rng.normal(size=(60, 8)) * np.arange(1, 9) + 4 * y[:, None]
        few = paper_metric(C=10, tol=1e-8, n_directions=3).fit(X, y)
        centred = X - X.mean(axis=0)
        _, sizes, rows = np.linalg.svd(centred, full_matrices=False)
        kept = np.sum(sizes[:3] ** 2) / np.sum(sizes**2)
        assert few.kept_variance_ == pytest.approx(kept)
        # the unit is that of all directions, in which the regulariser is smaller
        own = paper_metric(C=10 * kept**2, tol=1e-8).fit(centred @ rows[:3].T, y)
        assert few.scale_ * np.sqrt(kept) == pytest.approx(own.scale_)
        np.testing.assert_allclose(
            pdist(few.transform(X)), pdist(own.transform(centred @ rows[:3].T)), atol=1e-3
        )
        assert few.n_directions_ == 3
        assert few.components_.shape == (8, 8)

    @pytest.mark.parametrize("shape", [(40, 6), (12, 40)])
    def test_as_many_as_there_are_change_nothing(self, rng, shape):
        X, y = rng.normal(size=shape), np.arange(shape[0]) % 2
        whole = FrobMetric(C=10).fit(X, y)
        same = FrobMetric(C=10, n_directions=40).fit(X, y)
        np.testing.assert_array_equal(same.components_, whole.components_)
        assert whole.kept_variance_ == 1

    def test_of_wide_data(self, rng):
        X, y = rng.normal(size=(12, 40)), np.arange(12) % 2
        metric = FrobMetric(C=10, n_directions=4, keep_dual=True).fit(X, y)
        assert metric.n_directions_ == 4
        assert metric.certify(X).relative_gap <= 1e-3
        assert np.linalg.matrix_rank(metric.components_) <= 4

    @pytest.mark.parametrize("prior", ["within", "identity", "matrix"])
    def test_with_a_prior(self, rng, prior):
        X, y = rng.normal(size=(40, 10)), np.arange(40) % 2
        given = low_rank(rng, 10, 3) if prior == "matrix" else prior
        metric = FrobMetric(prior=given, n_directions=5, keep_dual=True, C=10).fit(X, y)
        assert metric.n_directions_ == 5 + 3 * (prior == "matrix")  # it has 3 of its own
        assert metric.certify(X).relative_gap <= 1e-3


def words(rng, n=90, D=40, n_topics=3):
    """Counts of words of documents that have a topic each: sparse, and its labels."""
    y = np.arange(n) % n_topics
    topics = rng.dirichlet(np.full(D, 0.2), size=n_topics)
    return sp.csr_array(rng.poisson(15 * topics[y]).astype(float)), y


KINDS = {
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr matrix": sp.csr_matrix,
    "csc matrix": sp.csc_matrix,
    "coo matrix": sp.coo_matrix,
}


class TestSparse:
    @pytest.mark.parametrize("shape", [(90, 40), (30, 120)])
    @pytest.mark.parametrize("kind", KINDS)
    def test_all_directions_are_the_dense_fit(self, rng, kind, shape):
        X, y = words(rng, *shape)
        dense = FrobMetric(C=10, tol=1e-8).fit(X.toarray(), y)
        sparse = FrobMetric(C=10, tol=1e-8).fit(KINDS[kind](X), y)
        assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)
        assert sparse.scale_ == pytest.approx(dense.scale_)
        assert sparse.kept_variance_ == 1
        Z = sparse.transform(KINDS[kind](X))
        assert isinstance(Z, np.ndarray)
        np.testing.assert_allclose(pdist(Z), pdist(dense.transform(X.toarray())), atol=1e-4)
        np.testing.assert_allclose(sparse.transform(X.toarray()), Z, atol=1e-10)

    def test_few_directions_are_those_of_dense_data(self, rng):
        X, y = words(rng)
        sparse = FrobMetric(C=10, tol=1e-8, n_directions=6).fit(X, y)
        dense = FrobMetric(C=10, tol=1e-8, n_directions=6).fit(X.toarray(), y)
        assert sparse.kept_variance_ == pytest.approx(dense.kept_variance_)
        assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)
        np.testing.assert_allclose(
            pdist(sparse.transform(X)), pdist(dense.transform(X.toarray())), atol=1e-4
        )
        assert sparse.components_.shape == (6, 40)
        with pytest.raises(ValueError, match="n_components=7 is larger than the 6 directions kept"):
            FrobMetric(n_directions=6, n_components=7).fit(X, y)

    @pytest.mark.slow
    def test_large_data_are_never_made_dense(self, rng, monkeypatch):
        n, D, n_topics = 3000, 20_000, 30
        y = np.arange(n) % n_topics
        # each topic has words of its own, so that there are leading directions
        own = rng.integers(0, D // n_topics, size=(n, 20)) ** 2 // (D // n_topics)
        columns = (own * n_topics + y[:, None]).ravel()
        X = sp.csr_array(
            (np.ones(columns.size), columns, np.arange(0, columns.size + 1, 20)), shape=(n, D)
        )
        X.sum_duplicates()

        for name in ("toarray", "todense"):
            make_dense = getattr(sp.csr_array, name)

            def refuse(self, *args, make_dense=make_dense, **options):
                assert D not in self.shape  # products of samples with each other are dense
                return make_dense(self, *args, **options)

            monkeypatch.setattr(sp.csr_array, name, refuse)
        metric = FrobMetric(n_directions=50, n_components="rank", C=10, n_neighbors=1)
        tracemalloc.start()
        Z = metric.fit(X, y).transform(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < n * D * 8 / 4
        assert metric.n_directions_ == 50
        assert Z.shape == (n, metric.rank_)
        assert metric.certificate_.relative_gap <= 1e-3

    def test_many_directions_are_cut_with_a_warning(self, rng, monkeypatch):
        monkeypatch.setattr(module, "MOST_DIRECTIONS", 5)
        X, y = words(rng)
        metric = FrobMetric(C=10, keep_dual=True)
        with pytest.warns(UserWarning, match=r"the 5 leading directions .* [\d.]+% of their var"):
            metric.fit(X, y)
        assert metric.n_directions_ == 5
        assert metric.kept_variance_ < 1
        metric.certify(X)  # does not warn again
        metric.set_params(n_directions=5).fit(X, y)  # nor where it was asked for

    def test_empty_rows_and_columns(self, rng):
        X, y = words(rng)
        X = sp.lil_array(X)
        X[[3, 50]], X[:, [0, 7]] = 0, 0
        X = X.tocsr()
        sparse = FrobMetric(C=10, tol=1e-8).fit(X, y)
        dense = FrobMetric(C=10, tol=1e-8).fit(X.toarray(), y)
        assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)
        assert np.isfinite(FrobMetric(C=10, n_directions=5).fit(X, y).transform(X)).all()

    def test_how_it_is_stored_does_not_matter(self, rng):
        X, y = words(rng)
        expected = FrobMetric(C=10, n_directions=8).fit(X, y).components_
        wide = sp.csr_array(
            (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape
        )
        assert wide.indices.dtype == np.int64
        zeros = sp.csr_array(X.toarray() + 7)  # everything is stored
        zeros.data -= 7
        assert zeros.nnz == X.shape[0] * X.shape[1]
        halves = sp.csr_array(
            (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
        )
        assert not halves.has_canonical_format
        for other in (wide, zeros, halves):
            found = FrobMetric(C=10, n_directions=8).fit(other, y).components_
            np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)

    @pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e200])
    def test_the_unit_does_not_matter(self, rng, factor):
        X, y = words(rng)
        for n_directions in (None, 6):
            metric = FrobMetric(C=10, tol=1e-6, n_directions=n_directions)
            expected = pdist(metric.fit(X, y).transform(X))
            np.testing.assert_allclose(
                pdist(metric.fit(X * factor, y).transform(X * factor)),
                expected,
                atol=1e-3 * expected.max(),
            )

    @pytest.mark.parametrize("row", [0.0, 0.1, 1 / 3])
    def test_equal_rows_are_refused(self, rng, row):
        X = sp.csr_array(np.tile(row * (rng.random(40) < 0.3) * rng.random(40), (1000, 1)))
        with pytest.raises(ValueError, match="all rows of X are equal"):
            FrobMetric().fit(X, np.arange(1000) % 2)

    def test_variance_is_exact_far_from_zero(self, rng):
        X = sp.csr_array(1e6 + rng.normal(size=(50, 4)))
        assert Coordinates.sparse(X).scale == pytest.approx(
            Coordinates.dense(X.toarray()).scale, rel=1e-9
        )

    @pytest.mark.filterwarnings("ignore:the learned metric satisfies")
    def test_fewer_independent_rows_than_directions(self, rng):
        """A rank of 4, of 20 directions asked for."""
        X = sp.csr_array(sp.csr_array(rng.random((60, 4))) @ sp.csr_array(rng.random((4, 50))))
        coordinates = Coordinates.sparse(X, 20)
        np.testing.assert_allclose(coordinates.basis.T @ coordinates.basis, np.eye(20), atol=1e-10)
        assert coordinates.kept_variance == pytest.approx(1)
        metric = paper_metric(C=10, n_directions=20).fit(X, np.arange(60) % 2)
        assert metric.rank_ <= 4

    def test_same_data_same_bits(self, rng):
        X, y = words(rng)
        first, second = (FrobMetric(n_directions=7, n_jobs=1).fit(X, y) for _ in range(2))
        np.testing.assert_array_equal(first.components_, second.components_)

    def test_single_precision(self, rng):
        X, y = words(rng)
        metric = FrobMetric(C=10, n_directions=7).fit(X.astype(np.float32), y)
        assert metric.components_.dtype == np.float32
        assert metric.transform(X.astype(np.float32)).dtype == np.float32

    @pytest.mark.parametrize("n_directions", [None, 8])
    @pytest.mark.parametrize("prior", ["within", "identity", "matrix"])
    def test_priors(self, rng, prior, n_directions):
        X, y = words(rng)
        given = low_rank(rng, 40, 2) if prior == "matrix" else prior
        options = {"C": 10, "n_directions": n_directions, "prior": given}
        metric = FrobMetric(**options, keep_dual=True).fit(X, y)
        assert metric.certify(X).relative_gap <= 1e-3
        if n_directions is None:
            dense = FrobMetric(**options).fit(X.toarray(), y)
            assert metric.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-3)

    def test_updates(self, rng):
        X, y = words(rng, 120)
        sparse, dense = FrobMetric(C=10, tol=1e-8), FrobMetric(C=10, tol=1e-8)
        for rows in (slice(0, 60), slice(60, 120)):
            sparse.partial_fit(X[rows], y[rows])
            dense.partial_fit(X[rows].toarray(), y[rows])
        assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-5)
        np.testing.assert_allclose(
            pdist(sparse.transform(X)), pdist(dense.transform(X.toarray())), atol=1e-3
        )

    def test_an_update_keeps_what_the_new_directions_miss(self, rng):
        X, y = words(rng)
        metric = FrobMetric(C=1e-6, n_directions=4, prior="identity").fit(X, y)
        before = metric.get_mahalanobis_matrix()
        metric.partial_fit(X[::-1], y[::-1])
        assert 4 <= metric.n_directions_ <= 8
        np.testing.assert_allclose(metric.get_mahalanobis_matrix(), before, atol=1e-6)

    def test_comparisons_with_a_sparse_preprocessor(self, rng):
        X, y = words(rng)
        T = mine_triplets(X.toarray(), y, n_neighbors=2).to_array()
        options = {"C": 10, "tol": 1e-7}
        sparse = TripletFrobMetric(preprocessor=X, **options).fit(T)
        dense = TripletFrobMetric(preprocessor=X.toarray(), **options).fit(T)
        assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-5)
        np.testing.assert_allclose(
            sparse.decision_function(T), dense.decision_function(T), atol=1e-3
        )
        np.testing.assert_allclose(
            sparse.pair_distance(T[:, :2]), dense.pair_distance(T[:, :2]), atol=1e-3
        )

    @pytest.mark.filterwarnings(
        "ignore:the best C is|the learned metric does not help|the chosen metric has"
    )
    def test_the_choice_of_options(self, rng):
        X, y = words(rng)
        chosen = FrobMetricCV(Cs=[1, 100], prior="identity", units="raw", n_passes=1, cv=2)
        sparse, dense = (clone(chosen).fit(Z, y) for Z in (X, X.toarray()))
        scores = []
        for metric in (sparse, dense):
            results = metric.cv_results_
            scores.append(
                {str(p): s for p, s in zip(results["params"], results["score"], strict=True)}
            )
        common = scores[0].keys() & scores[1].keys()
        assert len(common) >= 4
        for key in common:
            assert scores[0][key] == pytest.approx(scores[1][key], abs=0.05)
        np.testing.assert_array_equal(sparse.predict(X), sparse.predict(X.toarray()))

    def test_bad_values_are_refused(self, rng):
        X, y = words(rng)
        X.data[5] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            FrobMetric().fit(X, y)


@pytest.mark.filterwarnings("ignore:the learned metric satisfies")
def test_an_update_in_few_directions_keeps_what_was_known(rng):
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2
    X[:, 7] += 3 * y
    metric = FrobMetric(n_directions=3, C=10).fit(X, y)
    before = metric.get_mahalanobis_matrix()
    other = rng.normal(size=(60, 8)) * np.array([5, 5, 5, 1, 1, 1, 1, 0.1])
    metric.set_params(C=1e-6).partial_fit(other, np.arange(60) % 2)  # says next to nothing
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), before, atol=1e-5)
