"""Maps of each structure: the same problem on nested sets of matrices, against cvxpy and limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.embeddings import learn_structured_map
from frobmetric.embeddings.structure import STRUCTURES

ALL = (*STRUCTURES, [2, 3], [[0, 4], slice(1, 4)])
EACH = pytest.mark.parametrize("structure", ALL, ids=str)


def _rows(rng, n=12, n_features=5, m=30):
    X = rng.normal(size=(n, n_features))
    index = np.array([rng.choice(n, 4, replace=False) for _ in range(m)])
    return X, index, rng.uniform(0.5, 2.0, m)


def _distances(X, index):
    a, b, c, d = (X[index[:, k]] for k in range(4))
    return np.sum((a - b) ** 2, axis=1), np.sum((c - d) ** 2, axis=1)


def _centred(X):
    Z = X - X.mean(axis=0)
    return Z / np.sqrt(np.mean(np.sum(Z**2, axis=1)))


def _optimum(X, index, weight, structure, C):
    """The optimal value of the problem of the module's docstring, by cvxpy."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    Z, share, n = _centred(X), weight / weight.sum(), X.shape[1]
    near, far = _distances(Z, index)
    is_met = far > near
    s = share[is_met].sum() / (share[is_met] @ (far - near)[is_met])
    rules, P = [], 0
    if structure == "full":
        M = cp.Variable((n, n), PSD=True)
        size = cp.sum_squares(M - s * np.eye(n))
    elif structure == "low_rank_plus_diagonal":
        P, w = cp.Variable((n, n), PSD=True), cp.Variable(n, nonneg=True)
        M, size = P + cp.diag(w), cp.sum_squares(P) + cp.sum_squares(w - s)
    else:
        block_of = np.arange(n)
        if structure != "diagonal":
            block_of = np.repeat([0, 1], structure)
        w = cp.Variable(block_of.max() + 1, nonneg=True)
        M = cp.diag(w[block_of])
        size = cp.sum_squares(M - s * np.eye(n))
    a, b, c, d = (Z[index[:, k]] for k in range(4))
    rows = [np.outer(f, f) - np.outer(g, g) for f, g in zip(c - d, a - b, strict=True)]
    margins = cp.hstack([cp.sum(cp.multiply(row, M)) for row in rows])
    loss = C * (share @ cp.pos(1 - margins))
    return cp.Problem(cp.Minimize(size / 2 + loss), rules).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("C", [0.3, 5.0, 300.0])
@pytest.mark.parametrize("structure", [*STRUCTURES, [2, 3]], ids=str)
def test_the_optimum_lies_between_dual_and_primal(structure, C, rng):
    X, index, weight = _rows(rng)
    learned = learn_structured_map(X, index, weight, structure=structure, C=C, tol=1e-6)
    best = _optimum(X, index, weight, structure, C)
    assert learned.certificate.relative_gap <= 1e-6
    assert learned.certificate.dual <= best * (1 + 1e-6)
    assert learned.certificate.primal == pytest.approx(best, rel=1e-5)


@EACH
def test_the_map_gives_the_margins_of_the_solution(structure, rng):
    """Primal objective at the optimum, written out with distances of mapped vectors."""
    X, index, weight = _rows(rng)
    learned = learn_structured_map(X, index, weight, structure=structure, C=3.0, tol=1e-8)
    unchanged = learn_structured_map(X, index, weight, structure=structure, C=0.0)
    share = weight / weight.sum()
    near, far = _distances(_centred(X), index)
    scale = share[far > near].sum() / (share * np.maximum(far - near, 0)).sum()
    near, far = _distances(_centred(X) @ learned.anchor_map, index)
    loss = 3.0 * share @ np.maximum(0, 1 - scale * (far - near))
    moved = learned.solution.point.dense() - unchanged.solution.point.dense()
    objective = loss + np.sum(moved**2) / 2
    assert objective == pytest.approx(learned.certificate.primal, rel=1e-9)


@EACH
@pytest.mark.parametrize("n_features", [5, 20])
def test_strength_zero_leaves_the_vectors_as_they_are(structure, n_features, rng):
    X, index, weight = _rows(rng, n=8, n_features=n_features)
    blocks = structure if isinstance(structure, str) else [2, n_features - 2]
    learned = learn_structured_map(X, index, weight, structure=blocks, C=0)
    np.testing.assert_allclose(learned.anchor_map, np.eye(n_features), atol=1e-12)
    assert learned.candidate_map is learned.anchor_map
    if learned.weights is not None:
        np.testing.assert_allclose(learned.weights, 1.0)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 3.0, 100.0]))
def test_larger_sets_of_matrices_have_smaller_optima(seed, C):
    X, index, weight = _rows(np.random.default_rng(seed))
    found = {
        str(structure): learn_structured_map(X, index, weight, structure=structure, C=C, tol=1e-5)
        for structure in ("full", "low_rank_plus_diagonal", "diagonal", [1, 2, 2], [3, 2], [5])
    }
    duals = {name: learned.certificate.dual for name, learned in found.items()}
    primals = {name: learned.certificate.primal * (1 + 1e-12) for name, learned in found.items()}
    assert duals["full"] <= primals["diagonal"]
    assert duals["low_rank_plus_diagonal"] <= primals["diagonal"]
    assert duals["diagonal"] <= primals["[1, 2, 2]"]
    assert duals["[1, 2, 2]"] <= primals["[3, 2]"]
    assert duals["[3, 2]"] <= primals["[5]"]


def test_one_block_for_each_feature_is_the_diagonal(rng):
    X, index, weight = _rows(rng)
    options = {"C": 20.0, "tol": 1e-9}
    diagonal = learn_structured_map(X, index, weight, structure="diagonal", **options)
    single = learn_structured_map(X, index, weight, structure=[1] * 5, **options)
    np.testing.assert_allclose(single.weights, diagonal.weights, atol=1e-4)


@EACH
def test_another_strength_is_a_start(structure, rng):
    X, index, weight = _rows(rng)
    options = {"structure": structure, "tol": 1e-6}
    first = learn_structured_map(X, index, weight, C=1.0, **options)
    for C in (0.0, 3.0, 1.0):
        warm = learn_structured_map(X, index, weight, C=C, start=first, **options)
        cold = learn_structured_map(X, index, weight, C=C, **options)
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-5)
    with pytest.raises(ValueError, match=r"30 rows, and index has 29"):
        learn_structured_map(X, index[:-1], None, C=1.0, start=first, **options)


@EACH
def test_units_shift_and_rows_of_no_weight_do_not_matter(structure, rng):
    X, index, weight = _rows(rng)
    options = {"structure": structure, "C": 10.0, "tol": 1e-7}
    expected = learn_structured_map(X, index, weight, **options).anchor_map
    for factor, shift in ((1e-150, 0.0), (1e150, 0.0), (1.0, 7.0)):
        found = learn_structured_map(factor * X + shift, index, 5 * weight, **options)
        np.testing.assert_allclose(found.anchor_map, expected, atol=2e-3)
    wrong = np.vstack([index, index[:, [2, 3, 0, 1]]])
    found = learn_structured_map(X, wrong, np.append(weight, np.zeros(30)), **options)
    np.testing.assert_allclose(found.anchor_map, expected, atol=1e-10)


@EACH
def test_contradictions_leave_the_vectors_as_they_are(structure, rng):
    """Each row and its opposite: the slopes of the two hinges cancel inside the margin."""
    X, index, _ = _rows(rng)
    both = np.vstack([index, index[:, [2, 3, 0, 1]]])
    learned = learn_structured_map(X, both, None, structure=structure, C=1e-3, tol=1e-9)
    inside = np.abs(np.subtract(*_distances(_centred(X), index))).max()
    assert inside > 0
    np.testing.assert_allclose(learned.anchor_map, np.eye(5), atol=0.05)


@EACH
def test_rows_that_no_map_can_change_are_allowed(structure, rng):
    X, index, _ = _rows(rng)
    index[:, 2:] = index[:, :2]
    learned = learn_structured_map(X, index, None, structure=structure, C=5.0)
    np.testing.assert_allclose(learned.anchor_map, np.eye(5), atol=1e-7)
    assert learned.certificate.primal == pytest.approx(5.0)


def test_useless_features_get_the_weight_zero(rng):
    X = np.hstack([np.repeat(np.eye(3), 10, axis=0), 3 * rng.normal(size=(30, 2))])
    index = np.array([(a, a + 1, a, (a + 10) % 30) for a in range(30) if (a + 1) % 10])
    learned = learn_structured_map(X, index, None, structure=[3, 2], C=1e4)
    assert learned.weights[1] <= 0.05 * learned.weights[0]


def test_the_answer_of_low_rank_plus_diagonal_is_of_low_rank(rng):
    X = rng.normal(size=(40, 8))
    near, far = _distances(X[:, :1] + X[:, 1:2], index := rng.integers(0, 40, (400, 4)))
    index = np.where((near <= far)[:, None], index, index[:, [2, 3, 0, 1]])
    learned = learn_structured_map(X, index, None, structure="low_rank_plus_diagonal", C=1e3)
    low_rank, _ = learned.solution.point.parts
    assert low_rank.rank <= 6
    leading = np.linalg.eigh(learned.anchor_map)[1][:, -1]
    assert abs(leading[:2].sum()) / np.sqrt(2) > 0.97


def test_single_precision_is_accepted(rng):
    X, index, weight = _rows(rng)
    learned = learn_structured_map(X.astype(np.float32), index, weight, C=5.0)
    assert learned.certificate.relative_gap <= 1e-3


def test_bad_arguments_are_refused(rng):
    X, index, weight = _rows(rng)
    learn = learn_structured_map
    with pytest.raises(ValueError, match="structure='half' is not known"):
        learn(X, index, None, structure="half", C=1.0)
    for C in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"C[ =]"):
            learn(X, index, None, C=C)
    with pytest.raises(ValueError, match="NaN"):
        learn(np.where(X > 1, np.nan, X), index, None, C=1.0)
    with pytest.raises(ValueError, match="out of range"):
        learn(X, index + 5, None, C=1.0)
    with pytest.raises(ValueError, match="expected"):
        learn(X, index[:, :3], None, C=1.0)
    with pytest.raises(ValueError, match="empty"):
        learn(X, index[:0], None, C=1.0)
    with pytest.raises(ValueError, match="zero for all"):
        learn(X, index, 0 * weight, C=1.0)
    with pytest.raises(ValueError, match="rows of X are equal"):
        learn(np.ones_like(X), index, None, C=1.0)


def test_dual_variables_are_in_the_order_of_the_rows(rng):
    """Rows with room to spare have u = 0, rows below the margin u at its bound C * share."""
    X, index, weight = _rows(rng)
    weight[::5] = 0.0
    learned = learn_structured_map(X, index, weight, C=2.0, tol=1e-9)
    share = weight / weight.sum()
    near, far = _distances(_centred(X), index)
    scale = share[far > near].sum() / (share * np.maximum(far - near, 0)).sum()
    near, far = _distances(_centred(X) @ learned.anchor_map, index)
    margins, u = scale * (far - near), learned.solution.u
    np.testing.assert_allclose(u[margins > 1.01], 0.0, atol=1e-6)
    np.testing.assert_allclose(u[margins < 0.99], 2 * share[margins < 0.99], atol=1e-6)
