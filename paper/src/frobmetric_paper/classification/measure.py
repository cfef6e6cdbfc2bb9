"""One method on one run of a data set: parameters chosen on held-out data, errors measured."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.learning.triplets import mine_triplets
from frobmetric.model.sets import Block
from frobmetric.neighbors import NearestClass, knn_predict

from ..data.labelled import Split
from ..harness import formatting, task
from ..harness.run import coordinate_search
from ..harness.task import as_json, checksum, outcome_of
from ..harness.worker import ProgramError, ProgramMissingError

#: Classifier of the paper's tables.
MAIN = "3-NN"
#: Neighbours among which `recall_at_10` looks for one of the same class.
N_NEAREST = 10
#: Neighbours of its class, and of other classes, that each training sample has in triplets.
N_NEIGHBORS = 3


def _by_class(k, rule):
    return lambda Z_train, y_train, Z: NearestClass(k, rule=rule).fit(Z_train, y_train).predict(Z)


#: Classifiers of mapped points, by name: (Z_train, y_train, Z) -> labels.
RULES = {
    MAIN: knn_predict,
    "3 distances": _by_class(3, "distances"),
    "center of 5": _by_class(5, "center"),
    "center of 8": _by_class(8, "center"),
}


@dataclass(frozen=True, kw_only=True)
class Task(task.Task):
    """One run of a data set."""

    column: str  # name of the data set
    n: int  # number of training samples
    run: int  # number of the run, from 0
    search: str  # values from which parameters are chosen, as JSON
    refits: bool  # whether the method learns again with the validation part
    rules: str = ", ".join(RULES)  # names of `RULES`

    @property
    def place(self):
        return f"{self.column}-{self.run:02}"

    @property
    def where(self):
        return f"{self.column}, run {self.run + 1}"


@dataclass(frozen=True, kw_only=True)
class Cell(task.Cell):
    """Result of one method in one run."""

    task_type: ClassVar = Task
    unsaved: ClassVar = ("machine", "wrong")

    parameters: dict = field(default_factory=dict)  # those chosen here, or by the method itself
    # every fit of the search: parameters, outcome, seconds, validation_error, remark
    tries: list = field(default_factory=list)
    # by 3-NN if the answer is a map, else by the method's own prediction
    validation_error: float | None = None
    test_error: float | None = None
    # name of a rule -> its errors "validation" and "test"; empty for a classifier
    rules: dict = field(default_factory=dict)
    best_rule: str = ""  # rule with the smallest validation error; empty for a classifier
    measures: dict = field(default_factory=dict)  # result of `measure_map` with the map
    before: dict = field(default_factory=dict)  # the same measures without the map
    total_seconds: float = 0.0  # time of all fits; the limit for those that it ended
    wrong: str = ""  # a digit for each test sample, 1 if it is classified wrongly
    n_triplets: int | None = None  # number of triplets that the method learned from

    @property
    def is_complete(self):
        """Return whether the search for parameters reached its end."""
        return self.is_done and all(attempt["outcome"] != "limit" for attempt in self.tries)

    @property
    def summary(self):
        error, time = formatting.percent(100 * self.test_error), self.total_seconds
        return f"{error} %   {formatting.seconds(time)}"

    @property
    def best_rule_error(self):
        """Test error by the best rule; None for a classifier."""
        return self.rules[self.best_rule]["test"] if self.best_rule else None


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a data set as the methods get it: at unit scale, with its triplets."""

    reduced: Split  # after PCA, at unit scale
    full: Split | None  # the same before PCA; None where there is no PCA
    data: str  # checksum of the data before PCA, whose rounding differs between machines

    @classmethod
    def from_splits(cls, reduced, full=None):
        """Return the run of a split as it was loaded, after PCA and before."""
        first = reduced if full is None else full
        arrays = [getattr(first, item.name) for item in fields(first) if item.name != "name"]
        data = checksum(*arrays, np.array(reduced.X_train.shape))
        return cls(at_unit_scale(reduced), full and at_unit_scale(full), data)

    @property
    def sizes(self):
        """Numbers of samples, features and classes, by name."""
        split, before = self.reduced, self.full or self.reduced
        return {
            "training": len(split.y_train),
            "validation": len(split.y_validation),
            "test": len(split.y_test),
            "dimension": before.X_train.shape[1],
            "dimension after PCA": split.X_train.shape[1],
            "classes": len(np.unique(split.y_train)),
        }

    def split(self, method):
        """Return the parts with the features that the paper uses for this method."""
        return self.full if method.features == "all" and self.full else self.reduced

    @cached_property
    def triplets(self):
        """Triplets of the reduced training part, the same for all methods that need some."""
        X, y = self.reduced.X_train, self.reduced.y_train
        return repeat_triplets(mine_triplets(X, y, n_neighbors=N_NEIGHBORS, warn_small=False))

    @cached_property
    def before(self):
        """Measures of the reduced features without a metric."""
        part = self.reduced
        return measure_map(part.X_train, part.y_train, part.X_test, part.y_test)

    @cached_property
    def joined(self):
        """Run whose training part also holds the validation part."""
        return replace(self, reduced=_join(self.reduced), full=self.full and _join(self.full))


def repeat_triplets(mined):
    """Return mined triplets without weights: an anchor that counts twice is there twice.

    Equal samples are mined as one, with their number as its weight; other programs have no weights.
    """
    blocks = []
    for block in mined.blocks:
        times = 1 if block.weight is None else np.rint(block.weight).astype(np.intp)
        if block.weight is not None and not np.array_equal(times, block.weight):
            raise ValueError("the triplets have weights that are no numbers of equal samples")
        blocks.append(Block(*(np.repeat(rows, times, axis=0) for rows in block.lists)))
    return replace(mined, blocks=tuple(blocks))


def at_unit_scale(split):
    """Divide a split by one number: the training part gets unit mean squared norm."""
    scale = unit_mean_square(split.X_train)[1]
    names = ("X_train", "X_validation", "X_test")
    return replace(split, **{name: getattr(split, name) / scale for name in names})


def _join(split):
    return replace(
        split,
        X_train=np.concatenate([split.X_train, split.X_validation]),
        y_train=np.concatenate([split.y_train, split.y_validation]),
    )


def make_task(method, column, number, run, threads):
    """Return the task of a method in a run of this number."""
    what = {"column": column.name, "run": number, "refits": column.refits, "data": run.data}
    search = json.dumps({name: list(values) for name, values in method.search.items()})
    n = len(run.reduced.y_train)
    return Task(method=method.name, n=n, search=search, threads=threads, **what)


def measure_run(method, task, run, limit, budget=inf):
    """Return the fields of the cell of a task.

    `limit` and `budget` are seconds for each fit, and for the whole search: no further fit begins
    after it.
    """
    search = Search(method, run, task, limit, budget)
    best = coordinate_search(method.search, search.evaluate)
    result = {
        "tries": search.tries,
        "total_seconds": search.seconds,
        "n_triplets": run.triplets.n_triplets if method.learns_from == "triplets" else None,
    }
    if best is None:
        last = search.tries[-1]
        return result | {"outcome": last["outcome"], "remark": last["remark"]}
    fitted = chosen = search.fitted
    result |= {
        "remark": search.remark,
        "parameters": best | chosen.answer.detail.get("chosen", {}),
        "validation_error": search.validation_error,
    }
    if task.refits:
        try:
            fitted = Fit(method, run.joined, best, task, limit)
        except ProgramError as error:
            result |= outcome_of(error)
            result["remark"] += " when it learned from the validation part too"
            result["total_seconds"] += limit if error.outcome == "limit" else 0.0
            return result
        result["total_seconds"] += fitted.seconds
    return result | evaluate(fitted, chosen)


class Fit:
    """Answer of a method that learned from the training part of a run."""

    def __init__(self, method, run, parameters, task, limit):
        self.run, self.split, self.is_map = run, run.split(method), method.answers == "map"
        given = {
            "triplets": run.triplets if method.learns_from == "triplets" else None,
            "queries": {"validation": self.split.X_validation, "test": self.split.X_test},
            "parameters": parameters,
        }
        how = {"limit": limit, "seed": task.run, "threads": task.threads}
        self.answer = method.fit(self.split.X_train, self.split.y_train, **given, **how)
        self.seconds = float(self.answer.seconds)
        self._mapped, self._wrong = {}, {}

    def mapped(self, part):
        """Return the samples of a part, "train", "validation" or "test", in the learned space."""
        if part not in self._mapped:
            self._mapped[part] = self.answer.transform(getattr(self.split, f"X_{part}"))
        return self._mapped[part]

    def labels(self, part, rule=MAIN):
        """Return the predicted labels of a part."""
        if not self.is_map:
            return self.answer.predictions[part]
        return RULES[rule](self.mapped("train"), self.split.y_train, self.mapped(part))

    def wrong(self, part, rule=MAIN):
        """Return whether each sample of a part is classified wrongly."""
        if (part, rule) not in self._wrong:
            labels = np.asarray(self.labels(part, rule))
            self._wrong[part, rule] = labels != getattr(self.split, f"y_{part}")
        return self._wrong[part, rule]


class Search:
    """Choice of a method's parameters by the validation error.

    A first fit over the limit ends the search, as the method is slow; a later one does not, as
    only its values are.
    """

    def __init__(self, method, run, task, limit, budget=inf):
        self.method, self.run, self.task, self.limit, self.budget = method, run, task, limit, budget
        self.tries, self.fitted, self.validation_error, self.cut = [], None, inf, ""

    @property
    def seconds(self):
        return sum(attempt["seconds"] for attempt in self.tries)

    @property
    def remark(self):
        """Note on values that were not tried, or not in time."""
        over = [each["parameters"] for each in self.tries if each["outcome"] == "limit"]
        slow = ["over the limit: " + "; ".join(map(formatting.parameters, over))] if over else []
        return "; ".join([*slow, *filter(None, [self.cut])])

    def evaluate(self, parameters):
        """Return the validation error, None without one, and whether the search goes on."""
        if self.seconds > self.budget:
            fits = formatting.plural(len(self.tries), "fit")
            self.cut = f"the search ended after {fits}, which took more than {self.budget:g} s"
            return None, False
        attempt = {"parameters": parameters, "outcome": "done", "seconds": 0.0}
        attempt |= {"validation_error": None, "remark": ""}
        self.tries.append(attempt)
        try:
            fitted = Fit(self.method, self.run, parameters, self.task, self.limit)
        except ProgramMissingError:
            raise
        except ProgramError as error:
            attempt |= outcome_of(error)
            is_slow = error.outcome == "limit"
            attempt["seconds"] = self.limit if is_slow else 0.0
            return None, not (is_slow and self.fitted is None)
        error = float(fitted.wrong("validation").mean())
        attempt |= {"seconds": fitted.seconds, "validation_error": error}
        if error < self.validation_error:
            self.fitted, self.validation_error = fitted, error
        return error, True


def evaluate(fitted, chosen):
    """Return the fields of a cell from an answer, measured on the test part.

    `chosen` is the answer without the validation part, which gives the errors there.
    """
    result = {"seconds": fitted.seconds, "detail": as_json(fitted.answer.detail)}
    if fitted.is_map:
        parts = {"validation": chosen, "test": fitted}
        rules = {
            rule: {part: float(fit.wrong(part, rule).mean()) for part, fit in parts.items()}
            for rule in RULES
        }
        train, test = (fitted.mapped(part) for part in ("train", "test"))
        result |= {
            "rules": rules,
            "best_rule": min(rules, key=lambda rule: rules[rule]["validation"]),
            "measures": measure_map(train, fitted.split.y_train, test, fitted.split.y_test),
            "before": fitted.run.before,
        }
    wrong = fitted.wrong("test")
    digits = "".join("01"[int(each)] for each in wrong)
    return result | {"test_error": float(wrong.mean()), "wrong": digits}


def measure_map(Z_train, y_train, Z_test, y_test):
    """Measure a map by retrieval and by clustering.

    Return "recall_at_10", the share of test points with one of their class among the 10 nearest
    training points, and "ari", the adjusted Rand index of k-means on the test points.
    """
    k = min(N_NEAREST, len(Z_train))
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z_train)
    nearest = np.asarray(y_train)[search.kneighbors(Z_test, return_distance=False)]
    hit = (nearest == np.asarray(y_test)[:, None]).any(axis=1)
    model = KMeans(len(np.unique(y_test)), n_init=10, random_state=0)
    with warnings.catch_warnings():
        # points that coincide give fewer clusters, which the index takes into account
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = model.fit_predict(Z_test)
    return {"recall_at_10": float(hit.mean()), "ari": float(adjusted_rand_score(y_test, clusters))}
