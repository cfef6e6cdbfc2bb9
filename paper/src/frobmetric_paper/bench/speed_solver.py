"""Rows of the speed table about solving: dlib, accuracy, path, generic solvers, faces, growth."""

from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from frobmetric import mine_triplets
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.metric.sets import GivenTriplets

from .speed_bench import gap_of, objective, solved
from .speed_measure import Line, Timing, at_least, at_most, best_of, compare

#: Seconds of the paper's FrobMetric.
PAPER_YALE, PAPER_LFW = 335, 7621


def usps_dlib(bench):
    """As good as dlib's answer, in how much less time."""
    lines = [_reach(bench, "dlib", 12), _reach(bench, "dlib_fast_math", 1)]
    return lines, lambda: solved(*bench.triplets("usps"), 1e4, 1e-3)


def _reach(bench, name, factor):
    """The line of the time to the objective that a build of dlib ends at."""
    Z, triplets = bench.triplets("usps")
    work = "USPS 69,300 triplets, C = 1e4: reach dlib's objective"
    dlib = bench.dlib("usps", 1e4, name)
    if not dlib.runs:
        return Line(work, "", str(dlib))
    goal = objective(Z, triplets, 1e4, dlib.result.L)

    def is_reached(step):
        return step.primal <= goal

    ours = best_of(lambda: solved(Z, triplets, 1e4, 1e-4, callback=is_reached), bench.repeat)
    return compare(
        f"{work}, {goal:.2f}",
        ours,
        dlib,
        at_least(factor),
        name,
        gap=gap_of(ours),
        and_also=any(map(is_reached, ours.result.history)),
        steps=ours.result.n_iter,
        primal=ours.result.certificate.primal,
        rival_objective=goal,
    )


def usps_accurate(bench):
    """Five more digits."""
    rough, ours = (bench.solving("usps", 1e4, tol) for tol in (1e-3, 1e-8))
    work = "USPS, C = 1e4, gap 1e-8"
    dlib = bench.dlib("usps", 1e4, "dlib")
    return [
        compare(work, ours, rough, at_most(4), "gap 1e-3:", gap=gap_of(ours)),
        compare(work, ours, dlib, at_most(1), "dlib", gap=gap_of(ours)),
    ], lambda: solved(*bench.triplets("usps"), 1e4, 1e-8)


def path(bench):
    """Ten values of C for little more than the price of the last."""
    try:
        from frobmetric import frob_path
    except ImportError:
        return [Line("path of 10 values of C on USPS", "not available", "")], None
    X, triplets = bench.triplets("usps")
    Cs = np.geomspace(1e2, 1e6, 10)

    def work():
        return frob_path(X, Cs=Cs, tol=1e-3, triplets=triplets)

    ours = best_of(work, bench.repeat)
    single = bench.solving("usps", 1e6, 1e-3)
    gap = max(point.certificate.relative_gap for point in ours.result.points)
    name = "USPS, path of 10 values of C from 1e2 to 1e6, gap 1e-3 each"
    return [
        compare(
            name,
            ours,
            single,
            at_most(3),
            "C = 1e6 alone:",
            gap=gap,
            steps=[point.n_iter for point in ours.result.points],
        ),
        compare(
            name, ours, bench.dlib("usps", 1e4, "dlib"), at_most(1), "dlib at C = 1e4:", gap=gap
        ),
    ], work


def generic(bench):
    """P3 against generic solvers of semidefinite programs."""
    Z, triplets = _small_problem(30, 2000)
    C, name_of_work = 1e4, "P3, D = 30, 2,000 triplets, C = 1e4, gap 1e-6"

    def work():
        return solved(Z, triplets, C, 1e-6)

    ours = best_of(work, bench.repeat)
    lines = []
    rivals = (("clarabel", at_least(50)), ("scs", at_least(20)), ("paper_recipe", at_least(1)))
    for name, target in rivals:
        rival = bench.rival(name, Z, triplets=triplets, C=C)
        found = objective(Z, triplets, C, rival.result.L) if rival.runs else None
        lines.append(
            compare(
                name_of_work,
                ours,
                rival,
                target,
                name,
                gap=gap_of(ours),
                primal=ours.result.certificate.primal,
                dual=ours.result.certificate.dual,
                rival_primal=found,
            )
        )
    return lines, work


def _small_problem(D, m):
    """Random points in four classes, and m of the triplets that are mined from them."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=400)
    X = rng.normal(size=(400, D)) + 1.5 * rng.normal(size=(4, D))[y] / np.sqrt(D)
    Z, _ = unit_mean_square(X)
    index = rng.permutation(mine_triplets(Z, y).to_array())[:m]
    return Z, GivenTriplets(index, np.ones(m))


def faces(bench):
    """The face sets at the sizes of the paper."""
    Z, triplets = bench.triplets("yale")
    lfw = _lfw(bench.folder)
    lines = []
    for name, data, paper in (
        ("Yale 1,690 x 300", (Z, triplets), PAPER_YALE),
        ("LFW 2,000 x 400", lfw, PAPER_LFW),
    ):
        ours = best_of(lambda data=data: solved(*data, 1e5, 1e-3), bench.repeat)
        work = f"{name}, {data[1].n_triplets:,} triplets, C = 1e5, gap 1e-3"
        lines.append(
            compare(
                work,
                ours,
                Timing((paper,) * 3),
                at_least(100),
                "the paper:",
                gap=gap_of(ours),
                steps=ours.result.n_iter,
            )
        )
    return lines, lambda: solved(Z, triplets, 1e5, 1e-3)


def _lfw(folder):
    """2,000 faces with another of the same person, 400-D: 3 x 3 neighbours give 18,000 triplets."""
    where = Path(folder)
    person = np.load(where / "lfw_meta.npz")["person"]
    counts = np.bincount(person)
    rows = np.flatnonzero(counts[person] >= 4)[:2000]
    X = np.load(where / "lfw_sift3456.npz")["X"][rows].astype(float)
    Z, _ = unit_mean_square(PCA(400, svd_solver="covariance_eigh").fit_transform(np.sqrt(X)))
    return Z, mine_triplets(Z, person[rows], warn_small=False)


def mnist(bench):
    """Mining and solving against one neighbour search."""
    Z, y = bench.labelled("mnist")

    def work():
        return solved(Z, mine_triplets(Z, y), 1e5, 1e-3)

    def search():
        return NearestNeighbors(n_neighbors=3, algorithm="brute").fit(Z).kneighbors()

    ours, knn = best_of(work, bench.repeat), best_of(search, bench.repeat)
    solving = bench.solving("mnist", 1e5, 1e-3)
    return [
        compare(
            "MNIST 450,000 triplets, C = 1e5, gap 1e-3: mining + solving",
            ours,
            knn,
            at_most(1.6),
            "exact 3-NN search:",
            gap=gap_of(ours),
            steps=ours.result.n_iter,
            seconds_solving=solving.seconds,
        )
    ], work


def growth(bench):
    """Twice the samples."""
    Z, y = bench.labelled("mnist")
    timings = []
    for n in (25_000, 50_000):
        triplets = mine_triplets(Z[:n], y[:n])
        timings.append(best_of(lambda n=n, t=triplets: solved(Z[:n], t, 1e5, 1e-3), bench.repeat))
    half, whole = timings
    return [
        compare(
            "MNIST, 50,000 samples, C = 1e5, gap 1e-3: solving",
            whole,
            half,
            at_most(2.1),
            "25,000 samples:",
            gap=gap_of(whole),
            steps=whole.result.n_iter,
            half_steps=half.result.n_iter,
        )
    ], lambda: solved(Z, triplets, 1e5, 1e-3)
