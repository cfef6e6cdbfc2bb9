"""Interface of the baselines that learn a metric or a classifier, and their answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from frobmetric.learning.triplets import mine_triplets
from frobmetric.model.sets import as_triplets

from ..harness.worker import ProgramFailedError, ProgramMissingError, Target

#: Command that installs what baselines need.
SETUP = "frobmetric reproduce baselines"


def cache_folder():
    """Return the folder of compiled drivers, programs and environments.

    It is `FROBMETRIC_CACHE`, or a folder of the user's cache.
    """
    given = os.environ.get("FROBMETRIC_CACHE")
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "frobmetric"


def nothing_missing():
    """Return the empty reason, for a baseline that can run everywhere."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A method or program to compare with."""

    name: str  # key in the registry of its kind
    label: str = ""  # name in tables and figures; `name` if empty
    paper_name: str = ""  # name in the paper; empty if the paper does not have it
    missing: Callable[[], str] = nothing_missing  # reason why it cannot run here; empty if it can
    install: Callable[[], object] = nothing_missing  # called by `SETUP`

    def __post_init__(self):
        object.__setattr__(self, "label", self.label or self.name)

    def is_available(self):
        """Return whether the baseline can run here."""
        return not self.missing()

    def require(self):
        """Raise ProgramMissingError if the baseline cannot run here."""
        reason = self.missing()
        if reason:
            raise ProgramMissingError(f"{self.name} cannot run here: {reason}")

    def run(self, target, arrays, values, limit, threads):
        """Call a target in a worker and refuse NaN and infinity; see `Target.run`."""
        answer, detail = target.run(arrays, values, limit, threads)
        if not all(np.isfinite(array).all() for array in answer.values()):
            stderr = detail["stderr"]
            raise ProgramFailedError(f"{self.name} answered with NaN or infinity; stderr: {stderr}")
        return answer, detail


@dataclass(frozen=True, eq=False)
class Fitted:
    """Answer of a baseline: a map, linear (M = L L.T) or of a kernel, or predicted labels."""

    L: np.ndarray | None  # of shape (n_features, rank); None if the baseline is a classifier
    seconds: float  # time of learning alone: no compilation, no imports, no files
    # further results: "remark" if it did not converge, "versions", "threads", "stderr"; those of
    # frobmetric have the numbers of their certificate
    detail: dict = field(default_factory=dict)
    predictions: dict = field(default_factory=dict)  # name of queries -> labels, by a classifier
    # if L maps the values of a Gaussian kernel: "first", (n_features, k), and "points", (n, k);
    # the values of X are exp(-|x @ first - point|^2)
    kernel: dict = field(default_factory=dict)

    def transform(self, X):
        """Return the mapped samples."""
        if self.kernel:
            X = rbf_kernel(X @ self.kernel["first"], self.kernel["points"], gamma=1.0)
        return X @ self.L


@dataclass(frozen=True, kw_only=True)
class MetricBaseline(Baseline):
    """A program that learns a metric or a classifier."""

    # called with X, what the baseline learns from (`y`, `triplets`, or `pairs` and `y`),
    # `parameters` and `seed`; returns {"L": ...} and the arrays of a kernel if there is one, or
    # the labels of each query by its name
    target: Target
    learns_from: str = "labels"  # one of "labels", "triplets", "pairs"
    # parameters to choose on held-out data: name -> values, the first of which is tried first.
    # Several names with spaces between them are chosen together: their values are tuples
    search: Mapping[str, tuple] = field(default_factory=dict)
    required: tuple[str, ...] = ()  # parameters that have no default
    answers: str = "map"  # or "classes": `fit` returns the labels of queries
    features: str = "reduced"  # or "all": its row in the paper's table is of those before PCA
    missing: Callable[[], str] | None = None  # by default the packages that are not installed

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "missing", self.missing or self.target.missing)

    def fit(
        self,
        X,
        y=None,
        *,
        triplets=None,
        pairs=None,
        queries=None,
        parameters=None,
        limit=600.0,
        seed=0,
        threads=None,
    ):
        """Learn from X, which is not scaled or centred first.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,), optional
        triplets : ndarray of shape (n_triplets, 3) or MinedTriplets, optional
            Mined from y if they are needed and not given; that does not count as `seconds`.
        pairs : (ndarray of shape (n_pairs, 2), ndarray of shape (n_pairs,)), optional
            Row numbers of X, and +1 where both are of one class, -1 elsewhere.
        queries : dict of str to ndarray of shape (n_queries, n_features), optional
            Samples to classify, by name; maps ignore them.
        parameters : dict, optional
            Numbers and text by name, as in `search`; the program has defaults for the others.
        limit : float
            Seconds after which the process is ended.
        seed : int
            Seed of random draws.
        threads : int, optional
            Threads of numerical libraries; their own default if None.

        Returns
        -------
        Fitted

        Raises
        ------
        ProgramMissingError, TimeLimitError, ProgramFailedError
        """
        self.require()
        values = {"parameters": self._check_parameters(parameters or {}), "seed": seed}
        arrays = self._arrays(np.ascontiguousarray(X, dtype=np.float64), y, triplets, pairs)
        if self.answers == "map":
            answer, detail = self.run(self.target, arrays, values, limit, threads)
            return Fitted(answer.pop("L"), detail.pop("seconds"), detail, kernel=answer)
        arrays |= {f"query.{name}": array for name, array in (queries or {}).items()}
        answer, detail = self.run(self.target, arrays, values, limit, threads)
        classes = np.unique(y)
        labels = {name: classes[codes] for name, codes in answer.items()}
        return Fitted(None, detail.pop("seconds"), detail, labels)

    def _check_parameters(self, parameters):
        absent = [name for name in self.required if name not in parameters]
        if absent:
            raise ValueError(
                f"{self.name} needs {', '.join(absent)}; give parameters={{{absent[0]!r}: ...}}"
            )
        return dict(parameters)

    def _arrays(self, X, y, triplets, pairs):
        """Return the arrays of the task by name."""
        if self.learns_from == "triplets":
            mined = mine_triplets(X, y) if triplets is None else as_triplets(triplets, len(X))
            if np.ptp(mined.share) > 0:
                raise ValueError(f"{self.name} gives all triplets the same weight; got others")
            rows = np.ascontiguousarray(mined.to_array(), dtype=np.int64)
            # the neighbour lists too, for baselines that can use them
            lists = {f"triplets.{name}": array for name, array in mined.to_arrays().items()}
            return {"X": X, "triplets": rows} | lists
        if self.learns_from == "pairs":
            if pairs is None:
                raise ValueError(f"{self.name} learns from pairs; give pairs=(rows, y)")
            index, signs = (np.asarray(each, dtype=np.int64) for each in pairs)
            return {"X": X, "pairs": index, "y": signs}
        if y is None:
            raise ValueError(f"{self.name} learns from labels; give y")
        return {"X": X, "y": np.unique(y, return_inverse=True)[1].astype(np.int64)}
