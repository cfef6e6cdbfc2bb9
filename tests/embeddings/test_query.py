"""Maps of queries: against cvxpy, closed forms, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric import certify
from frobmetric.core import Bilinear, FrobeniusSDP, Hinge
from frobmetric.embeddings import learn_query_map
from frobmetric.embeddings.query import ComparedScores, QuerySpace


def _unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _rows(rng, n_anchors, n_candidates, n_rows):
    anchors = rng.integers(0, n_anchors, (n_rows, 1)).repeat(2, axis=1)
    candidates = np.array([rng.choice(n_candidates, 2, replace=False) for _ in range(n_rows)])
    return np.stack([anchors, candidates], axis=2).reshape(n_rows, 4)


def _search(rng, n_anchors=12, n_candidates=20, n_features=4, n_rows=40):
    A, B = (_unit(rng.normal(size=(n, n_features))) for n in (n_anchors, n_candidates))
    return A, B, _rows(rng, n_anchors, n_candidates, n_rows)


def _margins(A, B, W, index):
    a, b, c, d = index.T
    return np.einsum("ri,ij,rj->r", A[a], W, B[b]) - np.einsum("ri,ij,rj->r", A[c], W, B[d])


def _objective(A, B, W, index, share, C, s):
    """The stated problem, written out; A and B have unit length."""
    losses = np.maximum(0, 1 - _margins(A, B, W, index))
    return np.linalg.norm(W - s * np.eye(len(W))) ** 2 / 2 + C * share @ losses


def _scale(A, B, index, share):
    margins = _margins(A, B, np.eye(A.shape[1]), index)
    is_positive = margins > 0
    return share[is_positive].sum() / (share[is_positive] @ margins[is_positive])


@pytest.mark.parametrize("sizes", [(12, 20, 4), (2, 30, 5), (30, 3, 5), (3, 4, 9)])
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_the_map_is_the_optimum_of_the_stated_problem(rng, sizes, C):
    """More features than queries, than documents, than both; queries and documents few or many."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    A, B, index = _search(rng, *sizes, n_rows=25)
    weight = rng.uniform(0.5, 2.0, 25)
    share, n = weight / weight.sum(), A.shape[1]
    learned = learn_query_map(A, B, index, weight, C=C, tol=1e-8)
    s, (a, b, c, d) = _scale(A, B, index, share), index.T
    W = cp.Variable((n, n))
    v = cp.sum(cp.multiply(A[a] @ W, B[b]) - cp.multiply(A[c] @ W, B[d]), axis=1)
    loss = cp.sum_squares(W - s * np.eye(n)) / 2 + C * share @ cp.pos(1 - v)
    best = cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    found = _objective(A, B, learned.anchor_map, index, share, C, s)
    assert found == pytest.approx(best, rel=1e-6)
    assert learned.certificate.primal == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(learned.anchor_map, W.value, atol=1e-3)
    np.testing.assert_array_equal(learned.candidate_map, np.eye(n))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), C=st.floats(0.01, 100), n_features=st.integers(1, 9))
def test_the_certificate_in_coordinates_is_that_in_features(seed, C, n_features):
    rng = np.random.default_rng(seed)
    A, B, index = _search(rng, 3, 5, n_features, n_rows=8)
    learned = learn_query_map(A, B, index, None, C=C)
    rows = ComparedScores.check(A, B, index, None)
    s = QuerySpace.of(rows).scale
    whole = FrobeniusSDP(
        Bilinear(rows.A, rows.B, rows.index), Hinge(C * rows.share), prior=s * np.eye(n_features)
    )
    found = certify(whole, learned.anchor_map, learned.solution.u)
    assert found.primal == pytest.approx(learned.certificate.primal, rel=1e-9)
    assert found.dual == pytest.approx(learned.certificate.dual, rel=1e-9, abs=1e-9)


def test_a_small_c_leaves_the_ranking_as_it_is(rng):
    A, B, index = _search(rng)
    W = learn_query_map(A, B, index, None, C=1e-9).anchor_map
    assert W[0, 0] > 0
    np.testing.assert_allclose(W / W[0, 0], np.eye(4), atol=1e-6)


def test_documents_that_one_query_wants_get_nearer(rng):
    A, B, index = _search(rng, n_anchors=1, n_rows=10)
    index = np.column_stack([np.zeros(19, int), np.full(19, 7), np.zeros(19, int), np.arange(19)])
    index = index[index[:, 3] != 7]
    learned = learn_query_map(A, B, index, None, C=1e6)
    assert (A @ learned.anchor_map @ B[:19].T).argmax() == 7


def test_one_row_has_a_closed_form(rng):
    """W = I s + u a (b - d).T, with the u that brings the margin to one."""
    A, B = _unit(rng.normal(size=(1, 6))), _unit(rng.normal(size=(2, 6)))
    # the prior has the margin one: the optimum is zero, and so no relative gap is small
    with pytest.warns(UserWarning, match="cannot be certified at this precision"):
        learned = learn_query_map(A, B, [[0, 0, 0, 1]], None, C=1e6, tol=1e-10)
    row = np.outer(A[0], B[0] - B[1])
    margin = np.trace(row)
    s = 1 / margin if margin > 0 else 1.0
    expected = s * np.eye(6) + (1 - s * margin) / np.vdot(row, row) * row
    np.testing.assert_allclose(learned.anchor_map, expected, atol=1e-5)


def test_two_rows_that_contradict_cancel(rng):
    A, B, _ = _search(rng)
    W = learn_query_map(A, B, [[0, 1, 0, 2], [0, 2, 0, 1]], None, C=100.0, tol=1e-9).anchor_map
    np.testing.assert_allclose(W, W[0, 0] * np.eye(4), atol=1e-4)


def test_many_rows_that_contradict_only_take_back_large_margins(rng):
    """The hinges of v and of -v have the same sum wherever |v| <= 1."""
    A, B, index = _search(rng, n_rows=5)
    both = np.vstack([index, index[:, [0, 3, 2, 1]]])
    W = learn_query_map(A, B, both, None, C=1e4, tol=1e-8).anchor_map
    assert np.abs(_margins(A, B, W, both)).max() <= 1 + 1e-3


def test_a_row_that_compares_a_score_with_itself_changes_nothing(rng):
    A, B, index = _search(rng, n_rows=10)
    more = np.vstack([index, [[0, 3, 0, 3]]])
    expected = learn_query_map(A, B, index, None, C=5.0, tol=1e-8).anchor_map
    found = learn_query_map(A, B, more, None, C=5.5, tol=1e-8).anchor_map
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_equal_documents_and_zero_vectors_are_no_error(rng):
    A, B, _ = _search(rng)
    B[1], B[2] = B[0], 0.0
    A[3] = 0.0
    learned = learn_query_map(A, B, [[0, 0, 0, 1], [3, 4, 3, 5], [0, 2, 0, 4]], None, C=3.0)
    assert learned.solution.status == "optimal"
    assert np.isfinite(learned.anchor_map).all()


def test_only_the_ratios_of_weights_count(rng):
    A, B, index = _search(rng)
    weight = rng.uniform(0.5, 2.0, len(index))
    once, twice = (learn_query_map(A, B, index, k * weight, C=5.0, tol=1e-6) for k in (1.0, 1e6))
    np.testing.assert_allclose(once.anchor_map, twice.anchor_map, atol=1e-3)


@pytest.mark.parametrize("size", [1e-170, 1e-20, 1e20, 1e170])
def test_the_unit_of_the_vectors_does_not_matter(rng, size):
    A, B, index = _search(rng)
    expected = learn_query_map(A, B, index, None, C=5.0, tol=1e-6).anchor_map
    found = learn_query_map(size * A, B / size, index, None, C=5.0, tol=1e-6).anchor_map
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_single_precision_is_computed_in_double(rng):
    A, B, index = _search(rng)
    single = A.astype(np.float32), B.astype(np.float32)
    double = [X.astype(np.float64) for X in single]
    found = learn_query_map(*single, index, None, C=5.0).anchor_map
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, learn_query_map(*double, index, None, C=5.0).anchor_map)


def test_vectors_that_no_row_compares_do_not_count(rng):
    A, B, index = _search(rng)
    more = np.vstack([B, 1e9 * rng.normal(size=(5, 4))])
    expected = learn_query_map(A, B, index, None, C=5.0)
    found = learn_query_map(A, more, index, None, C=5.0)
    np.testing.assert_allclose(found.anchor_map, expected.anchor_map, atol=1e-12)


def test_a_start_leads_to_the_same_certificate(rng):
    A, B, index = _search(rng)
    first = learn_query_map(A, B, index, None, C=5.0)
    cold = learn_query_map(A, B, index, None, C=10.0, tol=1e-6)
    warm = learn_query_map(A, B, index, None, C=10.0, tol=1e-6, start=first)
    assert warm.certificate.relative_gap <= 1e-6
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-5)
    assert warm.C == 10.0
    other = learn_query_map(A, B, index[:-1], None, C=10.0, start=first)
    assert other.certificate.relative_gap <= 1e-3


def test_a_callback_sees_the_steps_and_can_stop(rng):
    A, B, index = _search(rng)
    steps = []
    learned = learn_query_map(A, B, index, None, C=5.0, tol=1e-9, callback=steps.append)
    assert steps[-1].relative_gap <= 1e-9
    assert len(learned.solution.history) == len(steps)
    stopped = learn_query_map(A, B, index, None, C=5.0, tol=1e-9, callback=lambda step: True)
    assert stopped.solution.status == "stopped"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": [[np.nan, 1.0, 0.0, 0.0]]}, "A contains NaN"),
        ({"B": [[1.0, 2.0, 3.0, np.inf]]}, "B contains infinity"),
        ({"A": np.ones((12, 3))}, "A has 3 features and B has 4"),
        ({"A": np.zeros((12, 4))}, "rows of A that index compares are zero"),
        ({"B": np.zeros((20, 4))}, "rows of B that index compares are zero"),
        ({"A": np.ones(4)}, "Expected 2D array"),
        ({"A": np.empty((0, 4))}, "0 sample"),
        ({"index": np.empty((0, 4), int)}, "index is empty"),
        ({"index": [[0, 1, 2]]}, "index has shape"),
        ({"index": [[0, 1, 0, -2]]}, "out of range"),
        ({"index": [[0, 1, 0, 20]]}, r"index\[0, 3\] = 20 is out of range; B has 20 rows"),
        ({"index": [[0, 1, 12, 2]]}, r"index\[0, 2\] = 12 is out of range; A has 12 rows"),
        ({"weight": [1.0]}, "weight has shape"),
        ({"weight": np.full(40, -1.0)}, "non-negative"),
        ({"weight": np.full(40, np.nan)}, "non-negative and finite"),
        ({"C": 0.0}, "C=0.0 must be a positive"),
        ({"C": np.inf}, "must be a positive finite number"),
        ({"tol": 0.0}, "tol=0.0 must be positive"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(rng, change, message):
    A, B, index = _search(rng)
    given = {"A": A, "B": B, "index": index, "weight": None, "C": 1.0} | change
    with pytest.raises(ValueError, match=message):
        learn_query_map(**given)


def test_indices_must_be_integers(rng):
    A, B, index = _search(rng)
    with pytest.raises(TypeError, match="integers"):
        learn_query_map(A, B, index.astype(float), None, C=1.0)
