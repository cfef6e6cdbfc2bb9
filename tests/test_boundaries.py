"""Arguments that reach far into the library unless they are refused, or taken, where they enter."""

from fractions import Fraction

import numpy as np
import pytest

from frobmetric import (
    LMNN,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    compare,
    learners,
    triplets_from_pairs,
)
from frobmetric.checks.samples import check_cv
from frobmetric.comparisons import read_comparisons
from frobmetric.core import PSD, FrobeniusSDP, Hinge, MatrixFree, Quadruplets, certify
from frobmetric.core.checks import read_values
from frobmetric.core.points import Factored
from frobmetric.embeddings import Labels, learn_query_map
from frobmetric.evaluation import comparison_accuracy
from frobmetric.evaluation.paired import PairedErrors
from frobmetric.evaluation.retrieval import reciprocal_rank
from frobmetric.exceptions import ConvergenceWarning
from frobmetric.export import map_function
from frobmetric.learning import mine_triplets
from frobmetric.learning.constraints import DrawnConstraints, wrap_pairs
from frobmetric.manifold import MaximumVarianceUnfolding, neighbor_graph
from frobmetric.manifold.quality import coranking_matrix
from frobmetric.model import explain_search
from frobmetric.neighbors import knn_predict
from frobmetric.runtime.environment import limit_threads
from frobmetric.sdp import (
    make_sdp,
    nearest_correlation,
    nearest_covariance,
    solve_norm_bounded,
    solve_sdp,
)
from frobmetric.solvers import solve

Y = np.arange(24) % 3
X = np.random.default_rng(0).normal(size=(24, 3)) + Y[:, None]
HUGE = 10**400
PAIRS = np.array([[0, 3], [1, 4], [0, 1]]), np.array([1, 1, -1])


class Nothing:
    """What a function of a user returns by mistake."""


def forward_of_wrong_type():
    MatrixFree(lambda M: Nothing(), np.diag, 3, PSD(3))


def fit_with(splits):
    FrobMetricCV(Cs=[10.0], n_passes=1, cv=splits).fit(X, Y)


REFUSED = {
    "ragged mask": (
        lambda: PairedErrors.from_mistakes([True, [True, False]], [True, False]),
        "before cannot be read as an array",
    ),
    "ragged queries": (
        lambda: reciprocal_rank([[1.0, 2.0], [3.0]], X, [(0, 1)]),
        "queries cannot be read as an array",
    ),
    "records": (
        lambda: read_comparisons([[0, 1, 2]], np.zeros(1, [("a", float)])),
        "response cannot be read",
    ),
    "search by an array": (
        lambda: mine_triplets(X, Y, neighbors=np.array([1, 2])),
        "neighbors=.* is not known",
    ),
    "flag": (
        lambda: DrawnConstraints(Y).positive_negative_pairs(3, same_length=np.array([1, 2])),
        "same_length is .*; expected True or False",
    ),
    "threads": (lambda: limit_threads(0).__enter__(), "n_jobs is 0; expected a number of threads"),
    "function of a matrix": (forward_of_wrong_type, r"forward\(M\) cannot be read as an array"),
    "metric of a wrong type": (
        lambda: coranking_matrix(X, X, metric=lambda a, b: Nothing()),
        "the distance that metric returns cannot be read",
    ),
    "metric of an array": (
        lambda: neighbor_graph(X, 2, metric=lambda a, b: a - b),
        r"metric returns an array of shape \(3,\) for two points",
    ),
    "splits that are none": (lambda: fit_with(np.array([1, 2])), "a split of cv is .*1"),
    "splits of three": (lambda: fit_with([([0, 1], [2], [3])]), "expected a pair of row numbers"),
    "more folds than samples": (
        lambda: fit_with(np.uint8(250)),
        "cv=250, but there are 24 samples to divide; choose a smaller cv",
    ),
    "no splits": (lambda: fit_with([]), r"cv=\[.*\] has no splits; expected at least one"),
    "no splits of a comparison": (
        lambda: compare(FrobMetric(), X, Y, cv=[]),
        "has no splits; expected at least one",
    ),
    "a split without a test": (lambda: fit_with([(np.arange(24), [])]), "split 0 of cv is empty"),
    "rows that are not there": (
        lambda: fit_with([(np.arange(24), [24])]),
        r"split 0 of cv\[0\] = 24 is out of range",
    ),
    "components beyond float64": (
        lambda: map_function("pgvector", np.full((2, 2), np.longdouble("1e4000"))),
        "components contains NaN or infinity",
    ),
    "correlations without axes": (
        lambda: nearest_correlation(np.int8(3), counts=np.int8(3)),
        r"counts has shape \(\)",
    ),
    "weights that vanish": (
        lambda: nearest_correlation(np.eye(2), weights=[1e-310, 1.0]),
        "weights or one over them",
    ),
    "NaN in pairs": (
        lambda: wrap_pairs([[0.0], [np.nan]], ([0], [1], [0], [1])),
        "X contains NaN or infinity",
    ),
    "names of samples and an infinity": (
        lambda: wrap_pairs(np.array(["a", np.inf], dtype=object), ([0], [1], [0], [1])),
        "X contains NaN or infinity",
    ),
    "a name that is missing": (
        lambda: wrap_pairs(np.array(["a", None], dtype=object), ([0], [1], [0], [1])),
        "X contains NaN or infinity",
    ),
    "targets whose squares overflow": (
        lambda: compare(["MLKR"], X, np.where(Y, X[:, 0], -1e300)),
        "the squares of their differences vanish or overflow",
    ),
    "targets whose squares vanish": (
        lambda: compare(["MLKR"], X, 1e-200 * X[:, 0]),
        "the squares of their differences vanish or overflow",
    ),
    "labels of two kinds": (
        lambda: learners.SDML_Supervised().fit(X, np.array(["a", *Y[1:]], dtype=object)),
        "mixes kinds of values",
    ),
    "scatter that overflows": (
        lambda: learners.GMML_Supervised(reg=1e300, n_constraints=20, random_state=0).fit(X, Y),
        "set reg to a smaller number",
    ),
    "metric beyond float32": (
        lambda: learners.RCA_Supervised(n_chunks=9, random_state=0).fit(
            (1e-40 * X).astype(np.float32), Y
        ),
        "components_ would be infinite",
    ),
    "start that is no map": (
        lambda: learn_query_map(X, X, [[0, 0, 0, 1]], None, C=10, start=range(3)),
        "start is range.*; expected a LearnedMap",
    ),
    "label without end": (
        lambda: knn_predict(X, np.where(Y, Y, -np.inf), X),
        r"y_train\[0\] is -inf; expected a label",
    ),
    "tolerance that leaves no axis": (
        lambda: MaximumVarianceUnfolding(n_neighbors=4, tol=10**18).fit(X),
        "'tol' parameter .* must be a positive number of at most 1. Got 1000000000000000000",
    ),
    "tolerance whose barrier is infinite": (
        lambda: MaximumVarianceUnfolding(n_neighbors=4, tol=1e300).fit(X),
        "'tol' parameter .* must be a positive number of at most 1. Got 1e.300",
    ),
    "rows that no function returns": (
        lambda: MatrixFree(lambda M: np.diag(M), np.diag, 10**9, PSD(3)),
        r"forward returns shape \(3,\); expected \(1000000000,\)",
    ),
    "more directions than memory": (
        lambda: learners.SCML_Supervised(basis="triplet_diffs", n_basis=10**18).fit(X, Y),
        "n_basis is 1000000000000000000; expected at most",
    ),
    "more resamples than time": (
        lambda: comparison_accuracy([True], objects=[[0, 1, 2]], n_resamples=10**9),
        "n_resamples is 1000000000; expected an integer of at most 1000000,",
    ),
    "eigenvalue beyond squares": (
        lambda: nearest_covariance(np.eye(2), min_eigenvalue=1e155),
        "min_eigenvalue is 1e.155; expected a number of size at most",
    ),
    "bound whose inverse is infinite": (
        lambda: solve_norm_bounded(make_sdp(np.eye(2), [np.eye(2)], [1.0]), 5e-324),
        "delta=5e-324; expected a number between 6e-76 and 2e.75",
    ),
    "more passes than time": (
        lambda: FrobMetric(n_passes=1000).fit(X, Y),
        "'n_passes' parameter of FrobMetric must be an integer of at least 1 and at most 30",
    ),
    "more passes of a choice than time": (
        lambda: FrobMetricCV(n_passes=HUGE).fit(X, Y),
        "at least 1 and at most 30 or one of",
    ),
    "an integer beyond 64 bits": (
        lambda: LMNN(n_neighbors=HUGE).fit(X, Y),
        r"must be an integer of at least 1. Got 10*\.\.\. instead, beyond 64 bits",
    ),
    "samples whose squares are infinite": (
        lambda: compare(["Covariance"], 1e300 * X, Y),
        "X has entries of size .*, whose products vanish or overflow",
    ),
    "samples whose squares vanish": (
        lambda: compare(FrobMetric(), 1e-300 * X, Y),
        "X has entries of size .*, whose products vanish or overflow",
    ),
    "test samples whose squares are infinite": (
        lambda: compare(FrobMetric(), X, Y, X_test=1e300 * X, y_test=Y),
        "X_test has entries of size .*, whose products vanish or overflow",
    ),
    "search among huge vectors": (
        lambda: explain_search(np.eye(3), X[0], 1e160 * X),
        "the sum of the squared distances would be infinite",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused_with_a_reason(name):
    call, words = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


@pytest.mark.parametrize(
    "form", [lambda L: L.view(np.matrix), lambda L: L.astype(np.longdouble), np.float16]
)
def test_factors_of_other_types_are_taken(form):
    index = np.array([[0, 3, 1, 2], [4, 7, 5, 6]])
    problem = FrobeniusSDP(Quadruplets(X, index), Hinge(np.ones(2)))
    L = np.diag([1.0, 2.0, 0.5])
    assert certify(problem, Factored(form(L)), np.ones(2)) == certify(
        problem, Factored(L), np.ones(2)
    )


def test_more_neighbours_than_there_are_count_as_all():
    few, all_of_them = (triplets_from_pairs(X, *PAIRS, n_neighbors=k) for k in (24, HUGE))
    np.testing.assert_array_equal(few, all_of_them)


def test_more_neighbours_of_labels_than_there_are_count_as_all():
    few, all_of_them = (
        Labels(Y, n_neighbors=k).comparisons(X, X, random_state=0) for k in (24, HUGE)
    )
    np.testing.assert_array_equal(few[0], all_of_them[0])


def test_pairs_without_signs_are_similar():
    with pytest.raises(ValueError, match="no row of the pool is of another identity"):
        triplets_from_pairs(X, PAIRS[0], None)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("constraints", "sigma"),
    [
        ("at_most", None),
        ("at_most", 1.0),
        ("equal", None),
        pytest.param("equal", 1.0, marks=pytest.mark.slow),
    ],
)
def test_the_largest_tolerance_still_has_an_answer(constraints, sigma):
    given = {"n_neighbors": 4, "tol": 1, "constraints": constraints, "sigma": sigma}
    unfolding = MaximumVarianceUnfolding(**given).fit(X)
    assert np.isfinite(unfolding.dual_coef_).all()
    assert np.isfinite(unfolding.embedding_).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_tolerance_that_no_number_can_reach_ends():
    """The last steps are shorter than the rounding error of their slope."""
    samples = np.random.default_rng(21).integers(0, 9, (24, 3)) + 5.0 * Y[:, None]
    learner = learners.SCML_Supervised(tol=5e-324, random_state=0).fit(samples, Y)
    assert np.isfinite(learner.components_).all()


def test_folds_may_be_masks_or_row_numbers():
    is_test = np.arange(24) < 6
    (train, test), (again, _) = check_cv([(~is_test, is_test), (range(6, 24), [0])], X, Y)
    assert train.tolist() == again.tolist() == list(range(6, 24))
    assert test.tolist() == list(range(6))
    assert len(check_cv(3, X, Y)) == 3


MISSING = {
    "answer": (lambda na: read_comparisons([[0, 1, 2]], na), r"response has shape \(\)"),
    "answers": (lambda na: read_comparisons([[0, 1, 2]], [na]), "response has dtype object"),
    "labels": (
        lambda na: FrobMetric().fit(X, np.array([na, *Y[1:]], dtype=object)),
        "y has missing values",
    ),
    "labels and samples": (
        lambda na: FrobMetric().fit(np.where(X[2] == X, na, X), Y),
        "X has missing values",
    ),
    "labels of triplets": (
        lambda na: mine_triplets(X, np.array([*Y[1:], na], dtype=object)),
        r"y\[23\] is nan; expected a label",
    ),
    "labels to learn from": (
        lambda na: learners.RCA().fit(X, np.array([na, *Y[1:]], dtype=object)),
        "y has missing values",
    ),
    "signs": (
        lambda na: PairFrobMetric(preprocessor=X).fit(PAIRS[0], [1, na, -1]),
        r"y\[1\] = nan; expected \+1",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_values_of_pandas_are_refused_with_a_reason(name):
    pandas = pytest.importorskip("pandas")
    call, words = MISSING[name]
    with pytest.raises((ValueError, TypeError), match=words):
        call(pandas.NA)


def test_missing_values_of_pandas_are_read_as_nan():
    pandas = pytest.importorskip("pandas")
    given = np.array([[1, pandas.NA], ["a", None]], dtype=object)
    read = read_values(given, name="x")
    assert np.isnan(read[0, 1])
    assert (read[0, 0], *read[1]) == (1, "a", None)
    assert given[0, 1] is pandas.NA


@pytest.mark.parametrize(
    "solve_it",
    [
        lambda **limits: solve_sdp(make_sdp(np.eye(2), [np.eye(2)], [1.0]), **limits),
        lambda **limits: solve_norm_bounded(make_sdp(np.eye(2), [np.eye(2)], [1.0]), 2.0, **limits),
        lambda **limits: nearest_correlation(
            [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], elementwise=np.ones((3, 3)), **limits
        ),
    ],
    ids=["solve_sdp", "solve_norm_bounded", "nearest_correlation"],
)
def test_every_solver_takes_a_tolerance_of_any_kind_of_number(solve_it):
    with pytest.warns(ConvergenceWarning, match="tol=1e-15"):
        assert solve_it(tol=Fraction(1, 10**15), max_iter=1).status != "optimal"


def test_a_tolerance_of_any_kind_of_number_is_taken():
    problem = FrobeniusSDP(Quadruplets(X, [[0, 3, 0, 1], [1, 4, 1, 2]]), Hinge(np.ones(2)))
    with pytest.warns(ConvergenceWarning, match="tol=0.001"):
        found = solve(problem, tol=Fraction(1, 1000), max_iter=1, time_limit=-1)
    assert found.status != "optimal"
    assert solve(problem, tol=Fraction(1, 1000)).certificate.relative_gap <= 1e-3
