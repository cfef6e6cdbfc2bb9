"""Learners that misbehave, importable by the processes in which comparisons fit, and a stand-in."""

import os
import signal
import time
import warnings

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from frobmetric.evaluation import worker
from frobmetric.learners.learner import certificate_of


class Weigher(TransformerMixin, BaseEstimator):
    """Multiplies the first feature by a weight; `seconds` are those that a fit takes."""

    def __init__(self, weight=1.0, seconds=0.0, gap=None, tol=1e-3):
        self.weight, self.seconds, self.gap, self.tol = weight, seconds, gap, tol

    def fit(self, X, y):
        time.sleep(self.seconds)
        self.n_features_in_ = X.shape[1]
        if self.gap is not None:
            self.certificate_ = certificate_of(1.0, 1.0 - self.gap)
        return self

    def transform(self, X):
        return np.asarray(X) * np.r_[self.weight, np.ones(X.shape[1] - 1)]


class Sleeper(Weigher):
    """Never ends, unless `weight` is one and `naps` is set."""

    def __init__(self, weight=1.0, naps=False):
        super().__init__(weight)
        self.naps = naps

    def fit(self, X, y):
        if not (self.naps and self.weight == 1.0):
            time.sleep(1e6)
        return super().fit(X, y)


class Raiser(Weigher):
    """Raises an error of two lines."""

    def fit(self, X, y):
        raise ValueError("the matrix is singular\nat row 3")


class Suicide(Weigher):
    """Kills the process in which it runs."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


class Warner(Weigher):
    """Warns that it did not converge."""

    def fit(self, X, y):
        warnings.warn("not converged; raise max_iter", UserWarning, stacklevel=2)
        return super().fit(X, y)


class Spy(Weigher):
    """Leaves a line in a file for each fit: number of rows, and largest label."""

    def __init__(self, path="", weight=1.0):
        super().__init__(weight)
        self.path = path

    def fit(self, X, y):
        with open(self.path, "a") as file:
            file.write(f"{len(X)} {self.weight:g} {np.asarray(X).sum():.9g}\n")
        return super().fit(X, y)


class Unsendable(Weigher):
    """Cannot be pickled."""

    def __reduce__(self):
        raise TypeError("no pickle of this")


class InProcess(worker.FitHere):
    """Stand-in for a FitWorker that fits in this process, without the seconds of a start."""

    def start(self):
        worker._given = (self.division.numbers, self.evaluation)

    def measure(self, fit, seconds, on_tick):
        on_tick()
        found = worker.measure_sent(fit.model, fit.split, fit.candidate.has_rule)
        return worker._decoded(found, self.division.decode)
