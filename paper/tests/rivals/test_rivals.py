"""Every rival has the interface, solves what it claims to solve, and ends at its time limit."""

import json
import os
import sys

import numpy as np
import pytest

from frobmetric import FrobeniusSDP, mine_triplets, solve
from frobmetric.core import Hinge
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.metric.sets import GivenTriplets
from frobmetric_paper.rivals import (
    RIVALS,
    TABLE,
    Fitted,
    Rival,
    RivalFailed,
    RivalMissing,
    TimeLimitExceeded,
    dlib,
    setup,
)
from frobmetric_paper.rivals.dense import dense_rows, factor
from frobmetric_paper.rivals.processes import run

C = 20.0
#: By how much the objective of each may exceed the optimum, relative to C. dlib stops when every
#: free u_r has |1 - margin_r| < eps, and the gap is at most the sum of u_r |1 - margin_r|.
SLACK = {
    "clarabel": 1e-6,
    "scs": 1e-5,
    "paper_recipe": 1e-4,
    "dlib": dlib.EPSILON,
    "dlib_fast_math": dlib.EPSILON,
}
FROM_ELSEWHERE = ("itml", "lmnn", "scml")


def available(name):
    rival = RIVALS[name]
    if not rival.is_available():
        pytest.skip(f"{name}: {rival.missing()}")
    return rival


@pytest.fixture
def points(rng):
    y = rng.integers(3, size=45)
    X = rng.normal(size=(45, 4)) + 1.5 * rng.normal(size=(3, 4))[y]
    return unit_mean_square(X)[0], y


def sleeper(*more):
    """A rival that takes ten minutes for nothing."""
    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    return Rival(
        "sleeper", "labels", "patience", lambda task: [sys.executable, "-c", code, *map(str, more)]
    )


@pytest.mark.parametrize("name", RIVALS)
def test_interface(name):
    rival = RIVALS[name]
    assert rival.name == name
    assert rival.learns_from in ("labels", "triplets")
    assert rival.needs
    assert rival.label
    assert rival.answers in ("map", "classes")
    assert rival.features in ("reduced", "all")
    assert all(isinstance(values, tuple) and values for values in rival.search.values())
    assert set(json.loads(json.dumps(rival.search))) == set(rival.search)
    assert all(names.split() for names in rival.search)
    assert rival.is_available() == (not rival.missing())


def test_the_table_has_the_rows_of_the_paper_in_its_order():
    assert TABLE == (
        "euclid",
        "pca",
        "lda",
        "svm",
        "rca",
        "nca",
        "lmnn",
        "lmnn_matrix",
        "itml",
        "boost",
        "frob",
        "frob_tuned",
    )
    assert [RIVALS[name].paper_name for name in TABLE if RIVALS[name].paper_name] == [
        "Euclidean",
        "PCA",
        "LDA",
        "SVM",
        "RCA",
        "NCA",
        "LMNN",
        "ITML",
        "BoostMetric",
        "FrobMetric",
    ]
    assert [name for name in TABLE if RIVALS[name].features == "all"] == ["euclid"]


def test_those_that_solve_p3_are_held_to_it():
    assert set(SLACK) == {name for name, rival in RIVALS.items() if rival.required == ("C",)}


@pytest.mark.parametrize("shape", ["neighbour lists", "rows"])
@pytest.mark.parametrize("name", SLACK)
def test_p3_is_solved(name, shape, points, rng):
    rival, (X, y) = available(name), points
    triplets = mine_triplets(X, y)
    if shape == "rows":  # no longer every near with every far
        index = rng.permutation(triplets.to_array())[:200]
        triplets = GivenTriplets(index, np.ones(len(index)))
    problem = FrobeniusSDP(triplets.constraints(X), Hinge(C * triplets.share))
    proven = solve(problem, tol=1e-8).certificate
    fitted = rival.fit(X, y, triplets=triplets, parameters={"C": C}, limit=120)
    reached = problem.compare(fitted.L @ fitted.L.T, np.zeros(triplets.n_triplets)).primal
    assert proven.dual * (1 - 1e-9) <= reached <= proven.primal + SLACK[name] * C
    assert fitted.seconds > 0


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_learners_map_the_data(name, points):
    X, y = points
    fitted = available(name).fit(X, y, limit=120)
    assert isinstance(fitted, Fitted)
    assert len(fitted.L) == X.shape[1]
    assert fitted.seconds > 0
    np.testing.assert_allclose(fitted.transform(X), X @ fitted.L)


def test_triplets_are_mined_when_they_are_needed(points):
    X, y = points
    rival = RIVALS["paper_recipe"]
    mined, given = (
        rival.fit(X, y, parameters={"C": C}, triplets=t) for t in (None, mine_triplets(X, y))
    )
    np.testing.assert_array_equal(mined.L, given.L)


def test_the_time_limit_ends_the_process(points, tmp_path):
    with pytest.raises(TimeLimitExceeded) as caught:
        sleeper(tmp_path / "pid").fit(*points, limit=3)
    assert str(caught.value) == "> 3 s"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_failures_tell_what_was_said(points):
    broken = Rival("broken", "labels", "", lambda task: [sys.executable, "-c", "1 / 0"])
    with pytest.raises(RivalFailed, match="ZeroDivisionError"):
        broken.fit(*points)
    silent = Rival("silent", "labels", "", lambda task: [sys.executable, "-c", ""])
    with pytest.raises(RivalFailed, match="no answer"):
        silent.fit(*points)


def test_threads_are_passed_on():
    code = "import os, sys; sys.stderr.write(os.environ['OPENBLAS_NUM_THREADS'])"
    assert run([sys.executable, "-c", code], 60, threads=7) == "7"


def test_absent_ones_say_what_to_do(points, tmp_path, monkeypatch):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RivalMissing, match=r"rivals\.setup"):
        RIVALS["lmnn"].fit(*points)
    with pytest.raises(RivalMissing, match="apt-get install g"):
        RIVALS["dlib"].fit(*points, parameters={"C": C})
    assert "apt-get" in setup.set_up("dlib")


def test_setup_knows_the_rivals(capsys):
    assert setup.main(["nca"]) == 0
    assert capsys.readouterr().out == "nca: ready\n"
    assert "nobody" in setup.main(["nobody"])


def test_what_is_needed_is_asked_for(points):
    X, y = points
    with pytest.raises(ValueError, match="needs C"):
        RIVALS["paper_recipe"].fit(X, y)
    with pytest.raises(ValueError, match="give y"):
        RIVALS["nca"].fit(X)
    weighted = GivenTriplets(np.array([[0, 1, 2], [1, 2, 3]]), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="same weight"):
        RIVALS["paper_recipe"].fit(X, triplets=weighted, parameters={"C": C})


def test_dense_rows_are_those_of_the_constraints(points):
    X, y = points
    mined = mine_triplets(X, y)
    index = mined.to_array()
    M = np.diag([1.0, 2.0, 0.0, 3.0])
    np.testing.assert_allclose(dense_rows(X, index) @ M.ravel(), mined.constraints(X).forward(M))
    np.testing.assert_allclose(factor(M) @ factor(M).T, M, atol=1e-14)
    with pytest.raises(ValueError, match="GiB"):
        dense_rows(np.ones((3, 10_000)), index)
