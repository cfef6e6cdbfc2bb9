"""Malformed calls: a TypeError or ValueError that says what was given, expected, and to be done."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from frobmetric import BoostMetric, FrobMetric, frob_path, knn_error, solve, solve_sdp
from frobmetric.core import (
    PSD,
    FrobeniusSDP,
    Hinge,
    LowRank,
    NeighborTriplets,
    Nonnegative,
    Pairs,
    Quadruplets,
    Sparse,
    Stack,
    Triplets,
    certify,
)
from frobmetric.core.constraints import Scores
from frobmetric.evaluation import ObjectSplit
from frobmetric.learning.constraints import DrawnConstraints
from frobmetric.sdp import certify_sdp, make_sdp, solve_norm_bounded, write_sdpa
from frobmetric.solvers import State

X, Y = load_iris(return_X_y=True)
KINDS = [(Pairs, 2), (Triplets, 3), (Quadruplets, 4)]
ROWS = np.array([[0, 1, 50, 100], [2, 3, 60, 110]])


def problem(**changes):
    parts = {"constraints": Triplets(X, ROWS[:, :3]), "loss": Hinge(np.ones(2))}
    return FrobeniusSDP(**parts | changes)


def plain():
    return make_sdp(np.diag([1.0, 2.0]), [np.eye(2)], [1.0])


@pytest.mark.parametrize("start", [True, 3, "a", np.ones(1)])
def test_starts_that_are_none(start):
    with pytest.raises(TypeError, match=r"start is .* expected an SDPSolution or a State; give"):
        solve_sdp(plain(), start=start)
    with pytest.raises(TypeError, match=r"start is .* expected an SDPSolution or a State; give"):
        solve_norm_bounded(plain(), 0.7, start=start)
    with pytest.raises(TypeError, match=r"start is .* expected a State or a Solution; give"):
        solve(problem(), start=start)


def test_starts_of_other_sizes():
    other = solve_sdp(make_sdp(np.diag([1.0, 2.0, 3.0]), [np.eye(3)] * 2, [1.0, 1.0]))
    for call in (solve_sdp, lambda p, start: solve_norm_bounded(p, 0.7, start=start)):
        with pytest.raises(ValueError, match=r"start has u of shape \(2,\); this problem has"):
            call(plain(), start=other)
        with pytest.raises(ValueError, match=r"start has point of shape"):
            call(plain(), start=State(point=np.eye(3)))


def test_start_of_a_solution_is_taken():
    first = solve_norm_bounded(plain(), 0.625)
    again = solve_norm_bounded(plain(), 0.625, start=first)
    np.testing.assert_allclose(again.X, first.X, atol=1e-5)
    assert solve_sdp(plain(), start=solve_sdp(plain())).status == "optimal"


@pytest.mark.parametrize("comment", [None, 3, b"a"])
def test_comments_that_are_no_text(tmp_path, comment):
    with pytest.raises(TypeError, match=r"comment is .*; expected text; give ''"):
        write_sdpa(plain(), tmp_path / "a.dat-s", comment=comment)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [("cone", True), ("cone", "PSD"), ("cone", PSD), ("loss", None), ("loss", np.ones(2)),
     ("constraints", X), ("constraints", None), ("sigma", "a"), ("sigma", True), ("sigma", None),
     ("sigma", np.ones(2)), ("sigma", 10**400), ("sigma", np.nan), ("offset", "a"),
     ("offset", 1j), ("cost", "a"), ("cost", np.eye(4) * 1j)],
)  # fmt: skip
def test_parts_of_problems_of_other_types(name, value):
    with pytest.raises((TypeError, ValueError), match=rf"(?s){name} .*expected "):
        problem(**{name: value})


def test_costs_of_many_types_are_one_problem():
    pandas = pytest.importorskip("pandas")
    values = [
        solve(problem(cost=cost)).certificate.primal
        for cost in (np.eye(4), np.eye(4).tolist(), sp.eye_array(4), pandas.DataFrame(np.eye(4)))
    ]
    assert len(set(values)) == 1
    with pytest.raises(ValueError, match="cost cannot be read as an array"):
        problem(cost=[[10**400]])


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_samples_of_many_types_and_layouts_are_one_problem(kind, size):
    pandas = pytest.importorskip("pandas")
    wide = np.repeat(X, 2, axis=0)
    given = [
        X,
        X.tolist(),
        np.asfortranarray(X),
        pandas.DataFrame(X),
        wide[::2],
        X[:, ::-1][:, ::-1],
    ]
    rows = ROWS[:, :size]
    index = [
        rows,
        rows.tolist(),
        np.asfortranarray(rows),
        rows.astype(np.uint8),
        rows.astype(float),
    ]
    answers = [solve(problem(constraints=kind(Z, rows))).point.dense() for Z in given]
    answers += [solve(problem(constraints=kind(X, i))).point.dense() for i in index]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_samples_that_are_none(kind, size):
    rows = ROWS[:, :size]
    with pytest.raises(ValueError, match=r"X has shape \(150,\); expected \(n_samples, n_fea"):
        kind(X[:, 0], rows)
    for bad in (X + 1j, X.astype(str)):
        with pytest.raises(TypeError, match=r"X has dtype .*; expected real numbers; convert"):
            kind(bad, rows)
    half = solve(problem(constraints=kind(X.astype(np.float16), rows))).certificate
    same = solve(problem(constraints=kind(X.astype(np.float16).astype(float), rows))).certificate
    assert half.primal == same.primal


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_rows_that_are_none(kind, size):
    rows = ROWS[:, :size]
    name = kind.__name__.lower()
    for bad in (rows[0], rows[:, :1], rows[None]):
        with pytest.raises(ValueError, match=rf"{name} has shape .*; expected \(n_rows, {size}\)"):
            kind(X, bad)
    for bad in (rows - 1, rows + 1000):
        with pytest.raises(ValueError, match=rf"{name} has row numbers from .*; there are 150"):
            kind(X, bad)
    for bad in (rows + 0.5, rows.astype(str), rows.astype(complex)):
        with pytest.raises(TypeError, match=rf"{name} has dtype .*; expected whole row numbers"):
            kind(X, bad)


def test_stacks_of_nothing():
    with pytest.raises(ValueError, match="parts is empty; expected constraints"):
        Stack([])
    with pytest.raises(TypeError, match="a part is 1 of type int"):
        Stack([1])
    with pytest.raises(ValueError, match="anchors, near and far have the shapes"):
        NeighborTriplets(X, [0, 1], [1, 2], [[50], [51]])


def test_certify_takes_matrices_of_many_types():
    pandas = pytest.importorskip("pandas")
    solution = solve(problem())
    M, u = solution.point.dense(), solution.u
    expected = certify(problem(), M, u)
    for given in (pandas.DataFrame(M), sp.csr_array(M), M.tolist()):
        assert certify(problem(), given, u) == expected
    with pytest.raises(TypeError, match="M has dtype"):
        certify(problem(), "a", u)
    with pytest.raises(ValueError, match="M"):
        certify(problem(), None, u)


def test_points_of_many_types():
    pandas = pytest.importorskip("pandas")
    metric = FrobMetric(n_passes=1).fit(X, Y)
    distance = metric.get_metric()
    expected = distance(X[0], X[1])
    assert expected == metric.pair_distance(X[[[0, 1]]])[0]
    frame = pandas.DataFrame(X)
    for a, b in [(frame[:1], frame[1:2]), (frame.iloc[0], frame.iloc[1]), (X[:1], X[1:2].T),
                 (sp.csr_array(X[:1]), X[1]), (X[0].tolist(), tuple(X[1]))]:  # fmt: skip
        assert distance(a, b) == expected
        assert np.ndim(distance(a, b)) == 0
    for bad in (frame, sp.csr_array(X), X[0, :2], 3.0):
        with pytest.raises(ValueError, match=r"a point has shape .*; expected \(4,\)"):
            distance(bad, X[1])
    with pytest.raises(TypeError, match="a point has dtype"):
        distance(list("abcd"), X[1])
    with pytest.raises(ValueError, match="a point cannot be read as an array"):
        distance([10**400, 0, 0, 0], X[1])


def test_numbers_of_samples_and_labels_that_differ():
    with pytest.raises(ValueError, match=r"y_train has shape \(10,\); there are 150 rows"):
        knn_error(X, Y[:10], X, Y)
    with pytest.raises(ValueError, match=r"y_test has shape \(5,\); there are 150 rows"):
        knn_error(X, Y, X, Y[:5])
    with pytest.raises(ValueError, match="X_test has 2 features; X_train has 4; give"):
        knn_error(X, Y, X[:, :2], Y)


@pytest.mark.parametrize("value", [10**400, np.longdouble("1e4000"), np.longdouble("1e-4000")])
@pytest.mark.parametrize("name", ["C", "tol", "gamma"])
def test_parameters_beyond_float64(name, value):
    if not np.longdouble("1e4000") < np.inf:
        pytest.skip("longdouble is float64 here")
    with pytest.raises(ValueError, match=f"'{name}' parameter of FrobMetric must be a positive"):
        FrobMetric(**{name: value}).fit(X, Y)


@pytest.mark.filterwarnings("ignore:classes with fewer")
def test_integers_beyond_float64():
    with pytest.raises(ValueError, match="X has an integer beyond the largest float64"):
        FrobMetric().fit([[10**400, 0], [1, 2], [3, 4]], [0, 1, 0])
    with pytest.raises(TypeError, match="sample_weight has dtype object"):
        FrobMetric().fit(X, Y, sample_weight=[10**400] + [1] * 149)
    with pytest.raises(ValueError, match=r"Got 10* instead, beyond 64 bits"):
        FrobMetric(n_neighbors=10**30).fit(X, Y)
    fitted = FrobMetric(n_neighbors=10**18, n_passes=1, max_iter=1).set_params(tol=1e3).fit(X, Y)
    assert fitted.n_triplets_ >= 49 * 100 * 140


@pytest.mark.parametrize("learner", [BoostMetric(), FrobMetric(prior="within"), FrobMetric()])
def test_layouts_of_samples_give_the_same_bits(learner):
    pandas = pytest.importorskip("pandas")
    big = np.zeros((300, 8))
    big[::2, ::2] = X
    expected = learner.fit(X, Y).components_.copy()
    for given in (np.asfortranarray(X), pandas.DataFrame(X), big[::2, ::2], X.tolist()):
        np.testing.assert_array_equal(learner.fit(given, Y).components_, expected)


@pytest.mark.parametrize("n", [-1, 1.5, True, "3", None, 10**9, 10**400])
def test_orders_of_cones(n):
    for cone in (PSD, Nonnegative):
        with pytest.raises((TypeError, ValueError), match=r"n is .*; expected an integer of at"):
            cone(n)


@pytest.mark.parametrize("callback", [True, 3, "a", []])
def test_callbacks_that_cannot_be_called(callback):
    calls = [lambda c: solve(problem(), callback=c), lambda c: solve_sdp(plain(), callback=c),
             lambda c: frob_path(X, Y, callback=c)]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match=r"callback is .*; expected a function or None"):
            call(callback)


@pytest.mark.parametrize("bad", [None, 3, "a", PSD, {}])
def test_problems_that_are_none(bad):
    calls = [
        solve,
        solve_sdp,
        lambda p: certify(p, np.eye(2), np.ones(1)),
        lambda p: certify_sdp(p, np.eye(2), np.ones(1)),
        lambda p: solve_norm_bounded(p, 1.0),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"problem is .*; expected a FrobeniusSDP"):
            call(bad)


def test_stacks_of_other_sizes_and_sides_of_scores():
    with pytest.raises(ValueError, match="parts have the shapes"):
        Stack([Pairs(X, ROWS[:, :2]), Pairs(X[:, :2], ROWS[:, :2])])
    with pytest.raises(ValueError, match=r"pairs has the row number 50 of B, which has 20 rows"):
        Scores(X, X[:20], [[0, 1], [100, 50]])
    sparse, dense = (Scores(A, X, ROWS[:, :2]).norms() for A in (sp.csr_array(X), X))
    np.testing.assert_array_equal(sparse, dense)


def test_rows_given_as_matrices():
    for bad in ("a", 3, [np.eye(2), np.eye(3)], [np.ones(2)], []):
        with pytest.raises((TypeError, ValueError), match="matri"):
            Sparse.from_matrices(bad)
    for bad in (3, "a", [np.ones(2), np.ones(3)], [[1.0, np.nan]], []):
        with pytest.raises((TypeError, ValueError), match="factor"):
            LowRank(bad)
    given, expected = (Sparse.from_matrices(A).rows.toarray()
                       for A in ([np.eye(2).tolist()], [np.eye(2)]))  # fmt: skip
    np.testing.assert_array_equal(given, expected)


def test_seeds_that_are_none():
    for seed in (-1, 2**32, 10**400):
        with pytest.raises(ValueError, match=r"random_state is .*; expected a seed from 0 to"):
            DrawnConstraints([0, 0, 1, 1]).chunks(1, random_state=seed)
        with pytest.raises(ValueError, match="'random_state' parameter of ObjectSplit must be"):
            list(ObjectSplit(2, random_state=seed).split(ROWS[:, :3]))
