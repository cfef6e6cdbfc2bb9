"""Learners that metric-learn has too: objective and time of both programs on the same tuples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_diabetes

from frobmetric.learning.constraints import DrawnConstraints
from frobmetric.learning.coordinates import unit_mean_square

from ..baselines.metric_learn import ENVIRONMENT
from ..data import labelled
from ..harness.benchmark import Benchmark, Options
from ..harness.formatting import short
from ..harness.timing import best_answer
from ..harness.worker import Target
from . import learner_objectives as objectives

DRIVER = str(Path(__file__).with_name("learner_driver.py"))
THEIRS = Target(f"{DRIVER}:metric_learn", python=ENVIRONMENT.python)
OURS = Target(f"{DRIVER}:frobmetric")
#: Labelled sets, and the learners that are measured on each.
SETS = ("balance", "letters", "usps")
LEARNERS = ("LMNN", "ITML", "MMC", "MMC-diagonal", "SDML", "LSML", "SCML", "NCA")
#: Number of similar and of dissimilar pairs; triplets and bases of SCML.
PAIRS, NEIGHBORS, BASES = 5000, 3, 400
#: Size of the random numbers that break ties.
TIE = 1e-5
#: Objectives that differ by less than this share are equal.
EQUAL = 1e-3
#: Tolerances with which ours may end where metric-learn's objective is worse.
LOOSE = (0.5, 0.1, 0.01)


@dataclass(frozen=True, eq=False)
class Case:
    """One learner with its arguments, and the objective of a map that it may find."""

    name: str
    learner: str
    arguments: tuple[str, ...]
    objective: object
    parameters: dict = field(default_factory=dict)
    array_parameters: dict = field(default_factory=dict)
    own_parameters: dict = field(default_factory=dict)  # that metric-learn does not have


@dataclass(frozen=True)
class _Answer:
    """Map that a program found, and its seconds."""

    components: np.ndarray
    seconds: float
    detail: dict


@dataclass(frozen=True, eq=False)
class Tuples:
    """Samples of a data set with all kinds of tuples of them."""

    arrays: dict
    cases: tuple[Case, ...]


def load(name, options):
    """Return labelled samples whose features have a mean square of one, without ties.

    The programs decide equal distances in different ways, and would have different problems.
    """
    split = labelled.load(name, folder=options.folder)
    X, y = split.X_train, split.y_train
    if options.is_quick:
        chosen = np.random.default_rng(0).permutation(len(X))[:200]
        X, y = X[chosen], y[chosen]
    X = X - X.mean(axis=0)
    X = X / unit_mean_square(X)[1] * np.sqrt(X.shape[1])
    return X + TIE * np.random.default_rng(1).standard_normal(X.shape), y


def make_tuples(X, y, options):
    """Return pairs, quadruplets and triplets of labelled samples, as rows and as points."""
    constraints = DrawnConstraints(y)
    n_pairs = options.choose(PAIRS, 100)
    a, b, c, d = constraints.positive_negative_pairs(n_pairs, same_length=True, random_state=0)
    pairs = np.concatenate([np.column_stack([a, b]), np.column_stack([c, d])])
    kinds = np.repeat([1, -1], len(a))
    quadruplets = np.column_stack([a, b, c, d])
    triplets = constraints.generate_knntriplets(X, NEIGHBORS, NEIGHBORS)
    rng = np.random.default_rng(0)
    ends = X[triplets[rng.permutation(len(triplets))[: options.choose(BASES, 40)]]]
    bases = ends[:, 0] - ends[:, 2]
    bases /= np.linalg.norm(bases, axis=1, keepdims=True)
    return pairs, kinds, quadruplets, triplets, bases


def label_cases(X, y, options):
    """Return the arrays and the learners of a labelled set."""
    pairs, kinds, quadruplets, triplets, bases = make_tuples(X, y, options)
    used = np.unique(X[np.unique(pairs)], axis=0)
    some = used[np.random.default_rng(0).permutation(len(used))[:3000]]
    bounds = np.percentile(pdist(some), (5, 95))
    targets = objectives.targets_of(X, y)
    arrays = {"X": X, "y": y, "pairs": X[pairs], "kinds": kinds, "bounds": bounds}
    arrays |= {"quadruplets": X[quadruplets], "triplets": X[triplets], "bases": bases}
    of_pairs = (X, pairs, kinds)
    itml_options = {"gamma": 1.0}
    return Tuples(
        arrays,
        (
            Case("LMNN", "LMNN", ("X", "y"), lambda L: objectives.lmnn(L, X, y, targets)),
            Case(
                "ITML",
                "ITML",
                ("pairs", "kinds", "bounds"),
                lambda L: objectives.itml(L, *of_pairs, bounds),
                itml_options,
            ),
            Case("MMC", "MMC", ("pairs", "kinds"), lambda L: objectives.mmc(L, *of_pairs)),
            Case(
                "MMC-diagonal",
                "MMC",
                ("pairs", "kinds"),
                lambda L: objectives.mmc_diagonal(L, *of_pairs),
                {"diagonal": True},
            ),
            Case(
                "SDML",
                "SDML",
                ("pairs", "kinds"),
                lambda L: objectives.sdml(L, *of_pairs, balance=1e-5),
                {"balance_param": 1e-5},
            ),
            Case("LSML", "LSML", ("quadruplets",), lambda L: objectives.lsml(L, X, quadruplets)),
            Case(
                "SCML",
                "SCML",
                ("triplets",),
                lambda L: objectives.scml(L, X, triplets),
                {"n_basis": len(bases), "random_state": 0},
                {"basis": "bases"},
            ),
            Case("NCA", "NCA", ("X", "y"), lambda L: objectives.nca(L, X, y)),
        ),
    )


def target_cases(options):
    """Return the arrays and the learners of a set with numbers as targets."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X / X.std(axis=0), (y - y.mean()) / y.std()
    n = options.choose(len(X), 100)
    X, y = X[:n], y[:n]
    case = Case(
        "MLKR",
        "MLKR",
        ("X", "y"),
        lambda L: objectives.mlkr(L, X, y),
        own_parameters={"early_stopping": False},
    )
    return Tuples({"X": X, "y": y}, (case,))


def measure(case, tuples, options):
    """Return the row of a learner, measured in both programs."""
    timings = {
        name: best_answer(partial(_run, target, case, tuples, options), options.repeat)
        for name, target in (("ours", OURS), ("theirs", THEIRS))
    }
    row = _row(case, timings)
    return row | {"equal": _seconds_to_equal(case, tuples, options, row)}


def _seconds_to_equal(case, tuples, options, row):
    """Return the seconds in which a loose tolerance gives metric-learn's objective, or None."""
    target = row["theirs"].get("objective", np.nan)
    if not row["ours"].get("objective", np.inf) < target - EQUAL * abs(target):
        return None
    for tol in LOOSE:
        loose = replace(case, parameters=case.parameters | {"tol": tol})
        timing = best_answer(partial(_run, OURS, loose, tuples, options), options.repeat)
        if timing.runs and case.objective(timing.result.components) <= target:
            return {"tol": tol, "seconds": timing.seconds}
    return None


def _run(target, case, tuples, options):
    names = {*case.arguments, *case.array_parameters.values()}
    arrays = {name: tuples.arrays[name] for name in names}
    values = {
        "learner": case.learner,
        "parameters": case.parameters | (case.own_parameters if target is OURS else {}),
        "array_parameters": case.array_parameters,
        "arguments": case.arguments,
    }
    found, detail = target.run(arrays, values, options.limit, options.threads)
    return _Answer(found["components"], detail["seconds"], detail)


def _row(case, timings):
    row = {"learner": case.name}
    for name, timing in timings.items():
        row[name] = {"seconds": timing.seconds, "reason": timing.reason}
        if timing.runs:
            answer = timing.result
            row[name]["objective"] = float(case.objective(answer.components))
            row[name] |= {key: answer.detail.get(key) for key in ("gap", "steps", "remark")}
    return row


def _cells(set_name, row):
    ours, theirs = row["ours"], row["theirs"]
    cells = {"set": set_name, "learner": row["learner"]}
    for name, side in (("ours", ours), ("theirs", theirs)):
        value = side.get("objective")
        cells[name] = side["reason"] if value is None else f"{value:.6g}"
        has_time = side["seconds"] is not None and value is not None
        cells[f"{name}_seconds"] = short(side["seconds"]) if has_time else ""
    cells["gap"] = "" if ours.get("gap") is None else f"{ours['gap']:.0e}"
    cells["ratio"], cells["verdict"] = _verdict(ours, theirs)
    equal = row.get("equal")
    cells["equal"] = short(theirs["seconds"] / equal["seconds"]) if equal else cells["ratio"]
    return cells


def _verdict(ours, theirs):
    """Return their time over ours, and which objective is less."""
    if "objective" not in ours or theirs["seconds"] is None:
        return "", "no answer to compare with"
    at_least = "> " if "objective" not in theirs else ""
    ratio = f"{at_least}{short(theirs['seconds'] / ours['seconds'])}"
    if at_least:
        return ratio, "theirs at the time limit"
    a, b = ours["objective"], theirs["objective"]
    if not np.isfinite(b):
        return ratio, "ours; theirs is not finite"
    if abs(a - b) <= EQUAL * max(abs(a), abs(b)):
        return ratio, "equal"
    return ratio, "ours" if a < b else "THEIRS"


def fill_page(parts):
    """Return the rows of the page."""
    return {"lines": [_cells(name.partition("/")[0], row) for name, row in parts.items()]}


@lru_cache(maxsize=1)
def tuples_of(set_name, options):
    """Return the tuples and learners of a set."""
    if set_name == "diabetes":
        return target_cases(options)
    return label_cases(*load(set_name, options), options)


def _parts():
    """Return the parts: a learner on a set each, such as "balance/MMC"."""
    names = [f"{name}/{learner}" for name in SETS for learner in LEARNERS]
    return {name: partial(_measure_part, name) for name in (*names, "diabetes/MLKR")}


def _measure_part(name, options):
    set_name, _, learner = name.partition("/")
    tuples = tuples_of(set_name, options)
    (case,) = (case for case in tuples.cases if case.name == learner)
    return measure(case, tuples, options)


BENCHMARK = Benchmark(
    parts=_parts(), page=fill_page, options=Options(repeat=2, limit=240.0, threads=2)
)
