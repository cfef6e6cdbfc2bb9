"""The data and problems of the speed table, each made once, and what several rows measure."""

import functools
from dataclasses import dataclass, field

import numpy as np

from frobmetric import FrobeniusSDP, mine_triplets
from frobmetric.core import Hinge
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.solvers import solve

from ..data import labelled as datasets
from .speed_measure import Timing, best_of, run_rival


def kept(method):
    """The same arguments give the object that they gave before."""

    @functools.wraps(method)
    def once(bench, *key):
        if (method, key) not in bench.memory:
            bench.memory[method, key] = method(bench, *key)
        return bench.memory[method, key]

    return once


@dataclass(frozen=True, eq=False)
class Bench:
    """How to measure, and what has been made for it."""

    folder: object
    repeat: int
    threads: int
    limit: float
    memory: dict = field(default_factory=dict)

    @kept
    def split(self, name):
        return datasets.load(name, folder=self.folder)

    @kept
    def scaled(self, name):
        return unit_mean_square(self.split(name).X_train)[0]

    @kept
    def mined(self, name):
        return mine_triplets(self.scaled(name), self.split(name).y_train)

    def labelled(self, name):
        return self.scaled(name), self.split(name).y_train

    def triplets(self, name):
        return self.scaled(name), self.mined(name)

    @kept
    def dlib(self, name, C, rival):
        """A build of dlib on this set: with one thread and with all, whichever is faster."""
        Z, triplets = self.triplets(name)
        counts = sorted({1, self.threads})
        timings = [
            run_rival(rival, self, Z, triplets=triplets, C=C, threads=count) for count in counts
        ]
        runs = [t for t in timings if t.runs]
        return min(runs, key=lambda t: t.seconds) if runs else timings[-1]

    def rival(self, name, *data, **settings):
        return run_rival(name, self, *data, threads=self.threads, **settings)

    def solving(self, name, C, tol):
        """The timing of a solve of this set, mining apart."""
        return best_of(lambda: solved(*self.triplets(name), C, tol), self.repeat)


def posed(Z, triplets, C):
    """P3: |M|^2 / 2 plus C times the mean hinge loss."""
    return FrobeniusSDP(triplets.constraints(Z), Hinge(C * triplets.share))


def solved(Z, triplets, C, tol, **options):
    """The solution of P3 from the points and the neighbour lists, as a user gets it."""
    return solve(posed(Z, triplets, C), tol=tol, **options)


def objective(Z, triplets, C, L):
    """P3's value at L L.T."""
    return posed(Z, triplets, C).compare(L @ L.T, np.zeros(triplets.n_triplets)).primal


def gap_of(timing: Timing):
    return timing.result.certificate.relative_gap
