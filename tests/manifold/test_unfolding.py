import os
import warnings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy, as in conftest

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import kneighbors_graph

from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.solvers import Interrupted

TOL = 1e-5
#: Clarabel's own tolerance, relative to the optimum.
CLARABEL = 1e-6
ROLL = make_swiss_roll(60, random_state=0)[0]
ISLANDS = np.vstack([ROLL[:25], ROLL[25:50] + 300, ROLL[50:] + 900])


def fit(X, **options):
    return MaximumVarianceUnfolding(**options).fit(X)


def edge_squares(Y, edges):
    return ((Y[edges[:, 0]] - Y[edges[:, 1]]) ** 2).sum(axis=1)


def moved(Y, target, common):
    """Y after the motion that brings its common rows closest to those of the target."""
    a, b = Y[common].mean(axis=0), target[common].mean(axis=0)
    left, _, right = np.linalg.svd((Y[common] - a).T @ (target[common] - b))
    return (Y - a) @ left @ right + b


def relative_error(Y, target, rows):
    radius2 = ((target - target.mean(axis=0)) ** 2).sum(axis=1).mean()
    return np.sqrt(((Y - target)[rows] ** 2).sum(axis=1).mean() / radius2)


def assert_same_place(Y, expected):
    """Up to the signs of the axes, which rounding decides."""
    signs = np.sign((Y * expected).sum(axis=0))
    np.testing.assert_allclose(Y * signs, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def neighbor_pairs(X, k):
    """The first samples of the points whose squared distance is kept, and that square."""
    D = cdist(X, X)
    first = (D == 0).argmax(axis=1)
    points = np.unique(first)
    joined = np.zeros(D.shape, bool)
    for p in points:
        near = [q for q in points[np.argsort(D[p, points], kind="stable")] if q != p][:k]
        joined[p, near] = joined[near, p] = True
    i, j = np.nonzero(np.triu(joined, 1))
    return i, j, D[i, j] ** 2


def oracle(X, k, sigma=np.inf):
    """The optimum over the Gram matrices of all samples, by cvxpy with Clarabel."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    i, j, squared = neighbor_pairs(X, k)
    # G 1 = 0, and rows of coinciding samples are equal: G = Q Z Q' with an orthonormal Q
    same = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    equal = [np.eye(len(X))[a] - np.eye(len(X))[(same == same[a]).argmax()] for a in range(len(X))]
    Q = scipy.linalg.null_space(np.vstack([np.ones(len(X)), *equal]))
    Z = cp.Variable((Q.shape[1], Q.shape[1]), PSD=True)
    rows = Q[i] - Q[j]
    lengths = np.einsum("ri,rj->rij", rows, rows).reshape(len(rows), -1) @ cp.vec(Z, order="C")
    objective = cp.trace(Z)
    if np.isfinite(sigma):
        objective -= cp.sum_squares(Z) / (2 * sigma)
    statement = cp.Problem(cp.Maximize(objective), [lengths <= squared])
    best = statement.solve(solver=cp.CLARABEL)
    assert statement.status == "optimal"
    return best


class TestCertificate:
    """Both ends of the interval, from scratch."""

    @pytest.mark.parametrize("sigma", [None, 20.0, 2.0])
    @pytest.mark.parametrize("n_copies", [0, 6])
    @pytest.mark.parametrize("n", [10, 13])
    def test_holds_the_optimum(self, n, n_copies, sigma):
        """With samples that coincide, too: the oracle does not merge them."""
        rng = np.random.default_rng([n, n_copies])
        X = rng.normal(size=(n, 3))
        X = np.vstack([X, X[rng.integers(n, size=n_copies)]])[rng.permutation(n + n_copies)]
        mvu = fit(X, n_neighbors=4, sigma=sigma)
        best = oracle(X, 4, np.inf if sigma is None else sigma)
        assert mvu.status_ == "optimal"
        assert mvu.certificate_.primal <= best * (1 + CLARABEL)
        assert best * (1 - CLARABEL) <= mvu.certificate_.dual
        assert 0 <= mvu.certificate_.relative_gap <= TOL
        for i, j in zip(*np.nonzero(cdist(X, X) == 0), strict=True):
            assert (mvu.embedding_[i] == mvu.embedding_[j]).all()
            assert (mvu.full_embedding_[i] == mvu.full_embedding_[j]).all()

    @pytest.mark.parametrize("sigma", [5e-324, 1e-300])
    def test_a_sigma_that_overflows_is_refused(self, sigma):
        with pytest.raises(
            ValueError, match=r"sigma is .*; expected at least 1e-290 times the mean"
        ):
            fit(ROLL, sigma=sigma)

    @pytest.mark.parametrize("sigma", [None, 1e4, 100.0])
    def test_both_ends_by_hand(self, sigma):
        X = np.vstack([ROLL, ROLL[:20]])
        mvu = fit(X, sigma=sigma)
        graph, proof, w = mvu.graph_, mvu.certificate_, mvu.dual_coef_
        samples = graph.representative[graph.edges]
        np.testing.assert_allclose(graph.squared, edge_squares(X, samples))
        assert (edge_squares(mvu.full_embedding_, samples) <= graph.squared * (1 + 1e-9)).all()
        gram = mvu.gram_matrix_
        np.testing.assert_allclose(gram.sum(axis=0), 0, atol=1e-8 * np.trace(gram))
        sigma = np.inf if sigma is None else sigma
        primal = np.trace(gram) - (gram**2).sum() / (2 * sigma)
        assert proof.primal == pytest.approx(primal, rel=1e-9)
        L = np.zeros((60, 60))
        for (i, j), weight in zip(graph.edges, w, strict=True):
            L[[i, j], [i, j]] += weight
            L[[i, j], [j, i]] -= weight
        values = scipy.linalg.eigh(L, np.diag(graph.masses), eigvals_only=True)[1:]
        dual = (
            graph.squared @ w / values[0]
            if np.isinf(sigma)
            else graph.squared @ w + sigma / 2 * (np.maximum(0, 1 - values) ** 2).sum()
        )
        assert (w >= 0).all()
        assert proof.dual == pytest.approx(dual, rel=1e-6)
        assert proof.primal <= proof.dual
        assert proof.relative_gap == pytest.approx(1 - proof.primal / proof.dual)
        assert proof.relative_gap <= TOL
        assert proof.violation == 0
        np.testing.assert_allclose(
            mvu.eigenvalues_,
            np.linalg.eigvalsh(gram)[::-1][: len(mvu.eigenvalues_)],
            atol=1e-8 * np.trace(gram),
        )

    def test_squared_units(self):
        plain, scaled = fit(ROLL).certificate_, fit(1000 * ROLL).certificate_
        assert scaled.primal == pytest.approx(1e6 * plain.primal, rel=1e-6)
        assert scaled.dual == pytest.approx(1e6 * plain.dual, rel=1e-6)

    def test_an_offset_does_not_matter(self):
        shifted = fit(ROLL + 1e6).certificate_
        assert shifted.primal == pytest.approx(fit(ROLL).certificate_.primal, rel=1e-5)

    @pytest.mark.parametrize("tol", [1e-2, 1e-7])
    def test_tol(self, tol):
        mvu = fit(ROLL, tol=tol)
        assert mvu.status_ == "optimal"
        assert mvu.certificate_.relative_gap <= tol


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 16),
    d=st.integers(1, 20),
    k=st.integers(1, 5),
    sigma=st.sampled_from([None, 0.1, 1.0, 100.0]),
)
def test_no_edge_becomes_longer(seed, n, d, k, sigma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, size=d)
    X[n // 2] = X[0]
    mvu = MaximumVarianceUnfolding(
        n_components=1,
        n_neighbors=min(k, n - 2),
        sigma=sigma,
        on_disconnected="separate",
        max_iter=30,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mvu.fit(X)
    pairs = mvu.graph_.representative[mvu.graph_.edges]
    for Y in (mvu.embedding_, mvu.full_embedding_):
        assert (edge_squares(Y, pairs) <= (1 + 1e-9) ** 2 * edge_squares(X, pairs)).all()
    assert mvu.certificate_.primal <= mvu.certificate_.dual
    np.testing.assert_array_equal(mvu.embedding_[n // 2], mvu.embedding_[0])
    np.testing.assert_array_equal(mvu.transform(X), mvu.embedding_)


class TestShapes:
    """What comes out, for all that can go in."""

    def test_a_bent_strip_is_straightened(self):
        t = np.linspace(np.pi, 4 * np.pi, 80)
        X = t[:, None] * np.column_stack([np.cos(t), np.sin(t)])
        mvu = fit(X, n_components=1, n_neighbors=2)
        step = np.diff(mvu.embedding_[:, 0])
        length = np.linalg.norm(np.diff(X, axis=0), axis=1)
        assert (np.abs(step) <= length * (1 + 1e-9)).all()
        assert np.abs(step.sum()) > 0.99 * length.sum()

    @pytest.mark.parametrize("n_components", [1, 2, 3])
    def test_embedding_is_the_leading_axes(self, n_components):
        mvu = fit(ROLL, n_components=n_components)
        np.testing.assert_array_equal(mvu.embedding_, mvu.full_embedding_[:, :n_components])
        carried = (mvu.full_embedding_**2).sum(axis=0)
        np.testing.assert_allclose(carried, mvu.eigenvalues_, rtol=1e-9)
        assert (np.diff(carried) <= 0).all()
        assert mvu.get_feature_names_out().tolist() == [
            f"maximumvarianceunfolding{i}" for i in range(n_components)
        ]
        again = MaximumVarianceUnfolding(n_components=n_components).fit_transform(ROLL)
        np.testing.assert_array_equal(again, mvu.embedding_)
        np.testing.assert_array_equal(mvu.transform(ROLL), mvu.embedding_)

    @pytest.mark.parametrize(
        "options", [{}, {"sigma": 3.0}, {"constraints": "equal"}, {"solver": "dual", "sigma": 3.0}]
    )
    @pytest.mark.parametrize("n", [2, 3])
    def test_two_or_three_samples(self, n, options):
        mvu = fit(ROLL[:n], n_components=n - 1, n_neighbors=n - 1, **options)
        assert mvu.status_ == "optimal"
        assert mvu.full_embedding_.shape == (n, n - 1)
        if not mvu.sigma:
            np.testing.assert_allclose(
                cdist(mvu.embedding_, mvu.embedding_), cdist(ROLL[:n], ROLL[:n]), rtol=1e-4
            )

    def test_more_features_than_samples(self, rng):
        X = rng.normal(size=(20, 500))
        mvu = fit(X)
        assert mvu.certificate_.relative_gap <= TOL
        assert mvu.embedding_.shape == (20, 2)
        assert mvu.n_features_in_ == 500

    @pytest.mark.parametrize(
        "form",
        [
            sp.csr_matrix,
            sp.csr_array,
            sp.coo_array,
            np.ndarray.tolist,
            pd.DataFrame,
            np.asfortranarray,
        ],
    )
    def test_every_form_of_x(self, form):
        expected, mvu = fit(ROLL), fit(form(ROLL))
        assert_same_place(mvu.embedding_, expected.embedding_)
        assert_same_place(mvu.transform(form(ROLL + 0.1)), expected.transform(ROLL + 0.1))

    def test_same_data_same_bits(self):
        for options in (
            {},
            {"sigma": 100.0},
            {"constraints": "equal", "n_neighbors": 2, "on_disconnected": "separate"},
        ):
            one, two = fit(ROLL, **options), fit(ROLL, **options)
            np.testing.assert_array_equal(one.embedding_, two.embedding_)
            np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
            assert one.certificate_ == two.certificate_

    def test_extra_edges_keep_more(self):
        plain, extra = fit(ROLL), fit(ROLL, extra_edges=True)
        kept = set(map(tuple, extra.graph_.edges.tolist()))
        assert kept > set(map(tuple, plain.graph_.edges.tolist()))
        assert extra.certificate_.primal < plain.certificate_.primal
        assert extra.certificate_.relative_gap <= TOL

    @pytest.mark.parametrize("metric", ["manhattan", lambda a, b: np.abs(a - b).sum()])
    def test_other_metrics(self, metric):
        mvu = fit(ROLL, metric=metric)
        expected = fit(cdist(ROLL, ROLL, "cityblock"), metric="precomputed")
        assert mvu.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-5)

    @pytest.mark.parametrize(
        ("factor", "match"),
        [
            (1e200, "overflow in float64; divide X by a constant"),
            (1e153, "overflows in float64; divide X by a constant"),
            (1e-200, "vanish in float64, multiply X by a constant"),
        ],
    )
    def test_units_beyond_that_are_refused(self, factor, match):
        with pytest.raises(ValueError, match=match):
            fit(factor * ROLL)


@pytest.fixture(scope="module")
def halves():
    X = make_swiss_roll(500, random_state=0)[0]
    held = np.random.default_rng(0).permutation(500) < 50
    return X, held, fit(X), fit(X[~held])


class TestOutOfSample:
    """New samples are placed where they would have been."""

    def test_close_to_the_joint_embedding(self, halves):
        X, held, joint, part = halves
        Y = moved(part.transform(X), joint.embedding_, ~held)
        assert relative_error(Y, joint.embedding_, held) < 0.08
        # which is how far the two embeddings are apart on the samples of both
        others = relative_error(Y, joint.embedding_, ~held)
        assert relative_error(Y, joint.embedding_, held) < 1.2 * others

    def test_training_samples_keep_their_places(self, halves):
        X, held, joint, part = halves
        np.testing.assert_array_equal(joint.transform(X), joint.embedding_)
        np.testing.assert_array_equal(part.transform(X[~held]), part.embedding_)
        np.testing.assert_array_equal(part.transform(X[~held][7:8]), part.embedding_[7:8])

    def test_distances_and_features_agree(self):
        X, new = ROLL[:50], ROLL[50:]
        by_distance = fit(cdist(X, X), metric="precomputed")
        placed = by_distance.transform(cdist(new, X))
        assert_same_place(placed, fit(X).transform(new))
        np.testing.assert_array_equal(by_distance.transform(cdist(X, X)), by_distance.embedding_)


class TestPrecomputed:
    """Distances, all of them or those of a graph."""

    def test_the_same_interval(self):
        expected = fit(ROLL).certificate_
        for X in (
            cdist(ROLL, ROLL),
            kneighbors_graph(ROLL, 6, mode="distance"),
            sp.csr_array(kneighbors_graph(ROLL, 6, mode="distance")),
        ):
            found = fit(X, metric="precomputed").certificate_
            assert found.primal == pytest.approx(expected.primal, rel=1e-6)
            assert found.dual == pytest.approx(expected.dual, rel=1e-6)

    @pytest.mark.parametrize(
        ("i", "j", "value", "match"),
        [
            (
                3,
                5,
                99.0,
                r"not symmetric: X\[3, 5\] = 99 and X\[5, 3\] = .*; pass \(X \+ X.T\) / 2",
            ),
            (3, 5, -1.0, r"X\[3, 5\] = -1.0 is not a distance"),
            (3, 5, np.nan, r"X\[3, 5\] = nan is not a distance"),
            (3, 5, np.inf, r"X\[3, 5\] = inf is not a distance"),
            (3, 3, 1.0, r"X\[3, 3\] = 1.0; the distance of a sample to itself must be 0"),
        ],
    )
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    def test_what_is_no_distance(self, form, i, j, value, match):
        D = cdist(ROLL[:20], ROLL[:20])
        D[i, j] = value
        with pytest.raises(ValueError, match=match):
            fit(form(D), metric="precomputed")

    def test_other_refusals(self):
        with pytest.raises(ValueError, match=r"shape \(60, 3\).* must be square"):
            fit(np.abs(ROLL), metric="precomputed")
        stored = fit(kneighbors_graph(ROLL, 6, mode="distance"), metric="precomputed")
        with pytest.raises(ValueError, match=r"cannot be placed: .* given as a sparse graph"):
            stored.transform(cdist(ROLL[:3], ROLL))
        given = fit(cdist(ROLL, ROLL), metric="precomputed")
        with pytest.raises(ValueError, match="expecting 60 features"):
            given.transform(cdist(ROLL[:3], ROLL[:50]))
        bad = cdist(ROLL[:3], ROLL)
        bad[1, 4] = -1
        with pytest.raises(ValueError, match=r"X\[1, 4\] = -1.0 is not a distance"):
            given.transform(bad)
        with pytest.raises(TypeError, match="Sparse data was passed"):
            given.transform(sp.csr_array(cdist(ROLL[:3], ROLL)))


class TestComponents:
    """Graphs that are not connected."""

    @pytest.fixture
    def connected(self):
        """By default the shortest edges between the components are added."""
        match = (
            r"^added 12 edges, because the neighbour graph has 3 components of 25, 25 and 10 "
            r"samples \(the smallest holds samples 50, 51, 52, \.\.\.\); raise n_neighbors "
            r"\(6 now.*\), or set on_disconnected='separate' to unfold each alone"
        )
        with pytest.warns(UserWarning, match=match) as caught:
            mvu = MaximumVarianceUnfolding().fit(ISLANDS)
        assert caught[0].filename == __file__
        return mvu

    def test_connected_by_default(self, connected):
        graph = connected.graph_
        assert graph.components()[0] == 1
        assert connected.status_ == "optimal"
        assert connected.certificate_.relative_gap <= TOL
        np.testing.assert_array_equal(connected.component_labels_, 0)
        assert connected.dual_coef_.shape == (len(graph.edges),)
        found = edge_squares(connected.full_embedding_, graph.representative[graph.edges])
        assert (found <= graph.squared * (1 + 1e-9)).all()

    def test_distances_are_connected_as_well(self, connected):
        with pytest.warns(UserWarning, match="added 12 edges"):
            mvu = fit(cdist(ISLANDS, ISLANDS), metric="precomputed")
        np.testing.assert_array_equal(mvu.graph_.edges, connected.graph_.edges)
        assert mvu.certificate_.primal == pytest.approx(connected.certificate_.primal, rel=2 * TOL)

    def test_new_samples_near_connected_components(self, connected):
        np.testing.assert_array_equal(connected.transform(ISLANDS), connected.embedding_)
        moved = connected.transform(ISLANDS + 0.05)
        assert np.abs(moved - connected.embedding_).max() < 1

    def test_sparse_graphs_cannot_be_connected(self):
        graph = kneighbors_graph(ISLANDS, 6, mode="distance")
        with pytest.raises(
            ValueError, match=r"add edges between them to X, or set on_disconnected="
        ):
            fit(graph, metric="precomputed")

    def test_refused_on_request(self):
        with pytest.raises(
            ValueError,
            match=(
                r"3 components of 25, 25 and 10 samples \(the smallest holds samples 50, 51, 52, "
                r"\.\.\.\); raise n_neighbors \(6 now.*\), or set on_disconnected='separate'"
            ),
        ):
            fit(ISLANDS, on_disconnected="error")

    def test_each_is_unfolded_alone(self):
        mvu = fit(ISLANDS, on_disconnected="separate")
        alone = [fit(ISLANDS[:25]), fit(ISLANDS[25:50]), fit(ISLANDS[50:])]
        proofs = [each.certificate_ for each in alone]
        assert mvu.status_ == "optimal"
        assert mvu.certificate_.primal == pytest.approx(sum(each.primal for each in proofs))
        assert mvu.certificate_.dual == pytest.approx(sum(each.dual for each in proofs))
        np.testing.assert_array_equal(mvu.component_labels_, np.repeat([0, 1, 2], [25, 25, 10]))
        np.testing.assert_allclose(
            mvu.dual_coef_, np.concatenate([each.dual_coef_ for each in alone]), rtol=1e-6
        )
        right = -np.inf
        for label, each in enumerate(alone):
            inside = mvu.embedding_[mvu.component_labels_ == label]
            assert inside[:, 0].min() > right
            right = inside[:, 0].max()
            np.testing.assert_allclose(
                cdist(inside, inside), cdist(each.embedding_, each.embedding_), atol=1e-6
            )

    def test_new_samples_go_with_their_component(self):
        mvu = fit(ISLANDS, on_disconnected="separate")
        np.testing.assert_array_equal(mvu.transform(ISLANDS), mvu.embedding_)
        placed = mvu.transform(ISLANDS + 0.05)
        assert np.abs(placed - mvu.embedding_).max() < 1
        nearest = cdist(placed, mvu.embedding_).argmin(axis=1)
        np.testing.assert_array_equal(mvu.component_labels_[nearest], mvu.component_labels_)

    def test_one_component_is_no_special_case(self):
        np.testing.assert_array_equal(
            fit(ROLL, on_disconnected="separate").embedding_, fit(ROLL).embedding_
        )

    def test_samples_without_edges(self):
        graph = sp.block_diag(
            [kneighbors_graph(ROLL[:20], 6, mode="distance"), sp.csr_array((2, 2))], format="csr"
        )
        mvu = fit(graph, metric="precomputed", on_disconnected="separate")
        assert mvu.status_ == "optimal"
        expected = fit(ROLL[:20]).certificate_
        assert mvu.certificate_.primal == pytest.approx(expected.primal, rel=1e-6)
        assert len(np.unique(mvu.embedding_[:, 0])) == 22

    def test_stopping_ends_all(self):
        steps = []
        mvu = fit(
            ISLANDS, on_disconnected="separate", callback=lambda step: steps.append(step) or True
        )
        assert mvu.status_ == "stopped"
        assert len(steps) == 1
        assert np.isfinite(mvu.embedding_).all()

    @pytest.mark.parametrize("max_iter", [5, 1000])
    def test_ctrl_c_is_not_lost_on_the_way(self, max_iter):
        """Whatever the components before and after the interrupted one ended with."""
        seen = []

        def press_ctrl_c_in_the_second(step):
            if seen and step.seconds < seen[-1].seconds:
                raise KeyboardInterrupt
            seen.append(step)

        mvu = MaximumVarianceUnfolding(
            on_disconnected="separate", max_iter=max_iter, callback=press_ctrl_c_in_the_second
        )
        with pytest.raises(Interrupted):
            mvu.fit(ISLANDS)
        assert mvu.status_ == "interrupted"
        assert mvu.embedding_.shape == (60, 2)
        np.testing.assert_array_equal(mvu.transform(ISLANDS), mvu.embedding_)


class TestAFitIsAValue:
    def test_parameters_changed_after_a_fit_change_no_answer(self):
        distances = cdist(ROLL, ROLL)
        for metric, X, new in (("euclidean", ROLL, ROLL + 0.1), ("precomputed", distances, None)):
            new = cdist(ROLL + 0.1, ROLL) if new is None else new
            mvu = fit(X, metric=metric)
            placed = mvu.transform(new)
            other = "euclidean" if metric == "precomputed" else "precomputed"
            mvu.set_params(metric=other, n_components=1, n_neighbors=2)
            np.testing.assert_array_equal(mvu.transform(new), placed)
            again = pickle.loads(pickle.dumps(mvu))
            np.testing.assert_array_equal(again.transform(new), placed)
            assert list(again.get_feature_names_out()) == list(mvu.get_feature_names_out())

    def test_a_failed_fit_leaves_what_was(self):
        mvu = fit(pd.DataFrame(ROLL, columns=["a", "b", "c"]))
        before = dict(vars(mvu))
        with pytest.raises(ValueError, match="must be smaller than"):
            mvu.fit(ROLL[:2, :2])
        with pytest.raises(ValueError, match="n_neighbors=6 is too large"):
            mvu.fit(ROLL[:6, :2])
        assert vars(mvu) == before
        mvu.set_params(max_iter=2)
        with pytest.raises(ConvergenceWarning):  # a warning that is an error fails the fit, too
            mvu.fit(ROLL[:, :2])
        assert mvu.unfolded_ is before["unfolded_"]
        assert list(mvu.feature_names_in_) == ["a", "b", "c"]
        with pytest.raises(AttributeError, match="is read-only: it is part of unfolded_"):
            mvu.embedding_ = ROLL


class TestEndings:
    """Why a fit ends, and what is left then."""

    @staticmethod
    def check_usable(mvu):
        pairs = mvu.graph_.representative[mvu.graph_.edges]
        assert (edge_squares(mvu.embedding_, pairs) <= mvu.graph_.squared * (1 + 1e-9)).all()
        assert mvu.certificate_.primal <= mvu.certificate_.dual
        assert mvu.n_iter_ == len(mvu.history_)
        np.testing.assert_array_equal(mvu.transform(ROLL), mvu.embedding_)

    @pytest.mark.parametrize("options", [{}, {"sigma": 1e4}, {"sigma": 100.0, "solver": "dual"}])
    def test_max_iter(self, options):
        with pytest.warns(
            ConvergenceWarning,
            match=(
                r"ended \(max_iter\) after 2 steps with relative gap .* > tol=1e-05; "
                "raise max_iter or tol$"
            ),
        ) as caught:
            mvu = fit(ROLL, max_iter=2, **options)
        assert mvu.status_ == "max_iter"
        assert mvu.certificate_.relative_gap > TOL
        assert len(caught) == 1
        self.check_usable(mvu)

    def test_warnings_point_at_the_caller(self):
        with pytest.warns(ConvergenceWarning) as caught:
            MaximumVarianceUnfolding(max_iter=2).fit(ROLL)
        assert caught[0].filename == __file__

    @pytest.mark.parametrize("options", [{}, {"sigma": 1e4}, {"sigma": 100.0, "solver": "dual"}])
    def test_a_callback_can_stop(self, options):
        seen = []

        def third(step):
            seen.append(step)
            return len(seen) == 3

        mvu = fit(ROLL, callback=third, **options)
        assert mvu.status_ == "stopped"
        assert mvu.history_ == seen
        self.check_usable(mvu)

    @pytest.mark.parametrize("options", [{}, {"sigma": 1e4}, {"sigma": 100.0, "solver": "dual"}])
    def test_an_interruption_keeps_what_there_is(self, options):
        seen = []

        def press_ctrl_c(step):
            seen.append(step)
            if len(seen) == 4:
                raise KeyboardInterrupt

        mvu = MaximumVarianceUnfolding(callback=press_ctrl_c, **options)
        with pytest.raises(Interrupted, match=r"after 4 steps; maximum in \[") as caught:
            mvu.fit(ROLL)
        assert mvu.status_ == caught.value.solution.status == "interrupted"
        assert caught.value.solution.certificate == mvu.certificate_
        self.check_usable(mvu)

    def test_verbose_writes_and_silence_is_the_default(self, capsys):
        mvu = fit(ROLL)
        assert capsys.readouterr().out == ""
        fit(ROLL, verbose=True)
        lines = capsys.readouterr().out.splitlines()
        assert abs(len(lines) - mvu.n_iter_) <= 1
        assert lines[0].startswith("step    1  objective")
        fit(ROLL, verbose=5)
        assert 0 < len(capsys.readouterr().out.splitlines()) < len(lines)

    def test_verbose_and_callback_together(self, capsys):
        mvu = fit(ROLL, verbose=1, callback=lambda step: True)
        assert mvu.status_ == "stopped"
        assert len(capsys.readouterr().out.splitlines()) == 1

    def test_fewer_dimensions_than_asked_for(self):
        line = np.arange(12.0)[:, None]
        with pytest.warns(
            UserWarning,
            match="has rank 1, so the last 2 of n_components=3 columns of embedding_ are zero",
        ):
            mvu = fit(line, n_neighbors=2, n_components=3)
        np.testing.assert_array_equal(mvu.embedding_[:, 1:], 0)
        np.testing.assert_array_equal(mvu.embedding_[:, :1], mvu.full_embedding_)
        assert mvu.certificate_.relative_gap <= TOL
        np.testing.assert_allclose(np.abs(np.diff(mvu.embedding_[:, 0])), 1, rtol=1e-3)
        np.testing.assert_array_equal(mvu.transform(line), mvu.embedding_)


class TestEqual:
    """Distances kept, not only at most kept."""

    def test_a_path_is_a_straight_line(self):
        t = np.linspace(0, 2, 15) ** 2
        X = np.column_stack([np.cos(t), np.sin(t)])
        mvu = fit(X, n_components=1, n_neighbors=1, constraints="equal")
        length = np.linalg.norm(np.diff(X, axis=0), axis=1)
        assert mvu.status_ == "optimal"
        assert mvu.certificate_.violation <= TOL
        np.testing.assert_allclose(np.abs(np.diff(mvu.embedding_[:, 0])), length, rtol=1e-3)

    def test_all_distances_give_the_points_back(self, rng):
        X = rng.normal(size=(8, 3))
        mvu = fit(X, n_components=3, n_neighbors=7, constraints="equal")
        assert mvu.status_ == "optimal"
        assert mvu.full_embedding_.shape == (8, 3)
        np.testing.assert_allclose(
            cdist(mvu.full_embedding_, mvu.full_embedding_), cdist(X, X), atol=1e-4
        )

    def test_the_violation_is_that_of_the_factor(self, rng):
        mvu = fit(rng.normal(size=(15, 3)), n_neighbors=3, constraints="equal")
        found = edge_squares(mvu.full_embedding_, mvu.graph_.edges) / mvu.graph_.squared
        assert mvu.certificate_.violation == pytest.approx(np.abs(found - 1).max(), rel=1e-3)
        assert mvu.certificate_.violation <= TOL

    def test_what_cannot_be_kept_is_said_and_the_rest_stays(self):
        D = np.ones((5, 5)) - np.eye(5)
        D[0, 4] = D[4, 0] = 10.0
        with pytest.warns(
            ConvergenceWarning,
            match=(
                r"ended \(stalled\) after .* with .* violation .* > tol=1e-05; "
                "raise tol, or set constraints='at_most'"
            ),
        ):
            mvu = fit(D, metric="precomputed", n_neighbors=4, constraints="equal")
        assert mvu.certificate_.violation > TOL
        assert mvu.embedding_.shape == (5, 2)
        assert np.isfinite(mvu.embedding_).all()

    def test_too_few_steps(self):
        with pytest.warns(ConvergenceWarning, match="raise max_iter or tol, or set constraints="):
            mvu = fit(ROLL, constraints="equal", max_iter=3)
        assert mvu.certificate_.violation > TOL
        assert mvu.certificate_.dual < np.inf

    def test_an_interruption_keeps_what_there_is(self):
        def press_ctrl_c(step):
            raise KeyboardInterrupt

        mvu = MaximumVarianceUnfolding(constraints="equal", callback=press_ctrl_c)
        with pytest.raises(Interrupted):
            mvu.fit(ROLL)
        np.testing.assert_array_equal(mvu.transform(ROLL), mvu.embedding_)

    def test_not_by_the_dual(self):
        with pytest.raises(ValueError, match=r"solver='dual' needs a sigma .*constraints='equal'"):
            fit(ROLL, sigma=1.0, constraints="equal", solver="dual")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_components": 0}, "'n_components' .* must be an integer of at least 1. Got 0"),
        ({"n_components": 1.5}, "'n_components' .* Got 1.5"),
        ({"n_components": None}, "'n_components' .* Got None"),
        ({"n_components": 60}, "n_components=60 must be smaller than n_samples=60"),
        ({"n_neighbors": 0}, "'n_neighbors' .* Got 0"),
        ({"n_neighbors": True}, "'n_neighbors' .* Got True"),
        ({"n_neighbors": "6"}, "'n_neighbors' .* Got '6'"),
        ({"n_neighbors": 60}, "n_neighbors=60 is too large: .* set n_neighbors to at most 59"),
        ({"sigma": 0}, "'sigma' .* must be a positive finite number or None. Got 0"),
        ({"sigma": -1.0}, "'sigma' .* Got -1.0"),
        ({"sigma": np.inf}, "'sigma' .* Got inf"),
        ({"sigma": np.nan}, "'sigma' .* Got nan"),
        ({"sigma": "auto"}, "'sigma' .* Got 'auto'"),
        ({"constraints": "geq"}, r"'constraints' .* one of \['at_most', 'equal'\]. Got 'geq'"),
        ({"constraints": None}, "'constraints' .* Got None"),
        ({"solver": "primal"}, r"one of \['auto', 'dual', 'lowrank'\]. Got 'primal'"),
        ({"tol": 0}, "'tol' .* Got 0"),
        ({"tol": "small"}, "'tol' .* Got 'small'"),
        ({"max_iter": 0}, "'max_iter' .* Got 0"),
        ({"max_iter": 10.0}, "'max_iter' .* Got 10.0"),
        ({"n_landmarks": 2}, "'n_landmarks' .* must be an integer of at least 3 or None. Got 2"),
        ({"n_landmarks": 0.5}, "'n_landmarks' .* Got 0.5"),
        ({"random_state": "seed"}, "'random_state' .* Got 'seed'"),
        ({"metric": 2}, "'metric' .* must be a metric's name or a function. Got 2"),
        ({"metric": "crow"}, "'metric' parameter .* Got 'crow'"),
        ({"extra_edges": 1}, "'extra_edges' .* must be True or False. Got 1"),
        ({"on_disconnected": "join"}, r"'on_disconnected' .* one of \['connect', .*\]. Got 'join'"),
        ({"verbose": -1}, "'verbose' .* Got -1"),
        ({"callback": "print"}, "'callback' .* must be a function or None. Got 'print'"),
    ],
)
def test_bad_parameters_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        fit(ROLL, **options)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.where(ROLL > 10, np.nan, ROLL), "NaN"),
        (np.where(ROLL > 10, np.inf, ROLL), "infinity"),
        (sp.csr_array(np.where(ROLL > 10, np.nan, ROLL)), "NaN"),
        (np.ones((30, 3)), "all 30 samples are the same point; there is nothing to unfold"),
        (ROLL[:1], r"1 sample\(s\)"),
        (ROLL[:6], "n_neighbors=6 is too large: the 6 samples are 6 distinct points"),
        (np.repeat(ROLL[:3], 9, axis=0), "the 27 samples are 3 distinct points"),
        (ROLL[:2], "n_components=2 must be smaller than n_samples=2"),
        (ROLL[:, 0], "Expected 2D array"),
        (np.zeros((60, 0)), r"0 feature\(s\)"),
        (ROLL.astype(str).astype(object) + "x", "could not convert string"),
        (ROLL * 1j, "Complex data not supported"),
    ],
)
def test_bad_data_are_refused(X, match):
    with pytest.raises(ValueError, match=match):
        fit(X)


def test_use_before_fit_and_bad_new_samples():
    with pytest.raises(NotFittedError):
        MaximumVarianceUnfolding().transform(ROLL)
    with pytest.raises(NotFittedError):
        _ = MaximumVarianceUnfolding().gram_matrix_
    mvu = fit(ROLL)
    with pytest.raises(ValueError, match="expecting 3 features"):
        mvu.transform(ROLL[:, :2])
    for bad, match in ((np.nan, "NaN"), (np.inf, "infinity"), (1e200, "overflow; check its units")):
        with pytest.raises(ValueError, match=match):
            mvu.transform(np.full((1, 3), bad))


@pytest.mark.parametrize("seed", range(30))
def test_clouds_without_a_manifold_are_solved_too(seed):
    """Columns that are needed only when the barrier is almost gone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(8, 60), rng.integers(2, 6)))
    mvu = MaximumVarianceUnfolding(n_neighbors=rng.integers(2, 6), on_disconnected="separate").fit(
        X
    )
    assert mvu.status_ == "optimal"
    assert mvu.certificate_.relative_gap <= 1e-5
