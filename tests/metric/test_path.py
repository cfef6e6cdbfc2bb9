import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric, frob_path, mine_triplets
from frobmetric.core import FrobeniusSDP, Hinge
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.metric import path as module
from frobmetric.solvers import Interrupted, solve
from frobmetric.solvers.active_set import previous_optimum_ball, settled

IRIS = load_iris(return_X_y=True)
IRIS[0][142, 0] += 0.1  # otherwise equal to row 101


class TestPath:
    def test_every_point_is_certified_and_is_the_fit_at_that_c(self):
        path = frob_path(*IRIS, Cs=[100.0, 1.0, 10.0, 10.0])
        np.testing.assert_array_equal(path.Cs, [1.0, 10.0, 100.0])
        assert path.n_triplets == 1350
        for point in path.points:
            alone = FrobMetric(C=point.C, n_components="rank", n_passes=1).fit(*IRIS)
            assert point.certificate.relative_gap <= 1e-3
            assert point.certificate.dual <= alone.certificate_.primal * (1 + 1e-12)
            assert alone.certificate_.dual <= point.certificate.primal * (1 + 1e-12)
            assert point.components.shape == (point.rank, 4)
            assert 0 < point.n_active <= 1350

    def test_screening_along_a_fine_grid_changes_nothing(self, monkeypatch):
        Cs = np.geomspace(1.0, 2.0, 8)
        screened = frob_path(*IRIS, Cs=Cs, tol=1e-6)
        assert max(point.n_screened for point in screened.points) > 300
        monkeypatch.setattr(module, "SCREENED_RATIO", 0.0)
        plain = frob_path(*IRIS, Cs=Cs, tol=1e-6)
        assert all(point.n_screened == 0 for point in plain.points)
        for a, b in zip(screened.points, plain.points, strict=True):
            assert a.certificate.relative_gap <= 1e-6
            assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=2e-6)

    @pytest.mark.parametrize("ratio", [0.5, 0.9, 1.1, 1.5, 3.0])
    def test_the_previous_optimum_ball_holds_the_next_optimum(self, ratio):
        Z, _ = unit_mean_square(IRIS[0])
        mined = mine_triplets(Z, IRIS[1])
        A = mined.constraints(Z)
        last = solve(FrobeniusSDP(A, Hinge(20.0 * mined.share)), tol=1e-4)
        problem = FrobeniusSDP(A, Hinge(20.0 * ratio * mined.share))
        exact = solve(problem, tol=1e-9, max_iter=10_000)
        centre, radius = previous_optimum_ball(problem, last, ratio)
        assert np.linalg.norm(exact.point.dense() - centre) <= radius
        is_settled, u = settled(problem.loss, A.forward(centre), radius * A.norms())
        np.testing.assert_allclose(exact.u[is_settled], u[is_settled], atol=1e-7)

    def test_triplets_instead_of_labels(self):
        triplets = mine_triplets(*IRIS)
        path = frob_path(IRIS[0], Cs=[1.0, 10.0], triplets=triplets)
        assert path.n_triplets == triplets.n_triplets

    def test_a_callback_ends_the_path(self):
        path = frob_path(*IRIS, Cs=[1.0, 10.0, 100.0], callback=lambda point: point.C >= 10)
        np.testing.assert_array_equal(path.Cs, [1.0, 10.0])

    def test_an_interruption_keeps_the_finished_points(self):
        def press_ctrl_c(point):
            if point.C >= 10:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted) as info:
            frob_path(*IRIS, Cs=[1.0, 10.0, 100.0], callback=press_ctrl_c)
        np.testing.assert_array_equal(info.value.solution.Cs, [1.0, 10.0])

    @pytest.mark.parametrize(
        ("X", "y"),
        [
            (
                np.array([[0.0], [1.0], [5.0], [6.0]]),
                [0, 0, 1, 1],
            ),  # all satisfied with ease, D = 1
            (np.array([[0.0], [5.0], [0.1], [5.1]]), [0, 0, 1, 1]),  # none can be satisfied
            (np.random.default_rng(0).normal(size=(6, 50)), [0, 0, 0, 1, 1, 1]),  # D > n
        ],
    )
    @pytest.mark.filterwarnings("ignore:classes with fewer")
    def test_odd_data_have_a_certified_path(self, X, y):
        for point in frob_path(X, y, Cs=[1.0, 1e3]).points:
            assert point.certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("Cs", [[], [1.0, 0.0], [-1.0], [np.nan], [np.inf]])
def test_bad_grids_are_refused(Cs):
    with pytest.raises(ValueError, match="must be positive finite numbers"):
        frob_path(*IRIS, Cs=Cs)
