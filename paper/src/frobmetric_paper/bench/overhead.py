"""Share of a fit's time that goes to its proof and to the checks of what it is given."""

from __future__ import annotations

import cProfile
import pstats
import time
from pathlib import Path

import frobmetric
from frobmetric import FrobMetric

from ..data import labelled
from ..harness.benchmark import Benchmark, Options

HOME = Path(frobmetric.__file__).parent
#: Modules and functions that prove the answer, and those that check arguments; all without names.
PROOF = {"core/bounds.py": (), "core/rounding.py": (), "core/solution.py": ("certify",)}
CHECKS = {
    "checks/arguments.py": (),
    "checks/parameters.py": (),
    "checks/samples.py": (),
    "core/checks.py": (),
}
#: Functions of bounds, and those that they call for the numbers that are to be bounded.
BOUNDS = ("primal_bound", "dual_bound", "forward_bound")
OBJECTIVES = ("forward", "adjoint", "split", "negative", "dense", "value", "conjugate")
#: Rows of the data that --quick takes.
FEW = 300


def is_in(function, modules):
    """Return whether a function of a profile belongs to some modules."""
    file, _, name = function
    names = next((names for key, names in modules.items() if file == str(HOME / key)), None)
    return names is not None and (not names or name in names)


def is_objective(function, caller):
    """Return whether a call computes a number, for a bound of its rounding error."""
    return function[2] in OBJECTIVES and caller[2] in BOUNDS


def shares(profile):
    """Return the seconds of a profile, and those of each part with all that it called.

    The objectives of the answer are computed anew for the proof, whether or not rounding is
    bounded; what the proof takes beside them is for the bounds.
    """
    whole = pstats.Stats(profile)
    proof = checks = objectives = 0.0
    for function, (*_, callers) in whole.stats.items():
        for caller, (*_, seconds) in callers.items():
            proof += seconds * (is_in(function, PROOF) and not is_in(caller, PROOF))
            checks += seconds * (is_in(function, CHECKS) and not is_in(caller, CHECKS))
            objectives += seconds * is_objective(function, caller)
    parts = {
        "objectives of the answer, computed anew": objectives,
        "bounds of their rounding errors": proof - objectives,
        "checks of parameters, samples and labels": checks,
    }
    return whole.total_tt, parts


def measure(options):
    """Return the time of a fit of USPS and its parts, in the run with the least of them."""
    split = labelled.load("usps_9298", folder=options.folder)
    rows = slice(options.choose(None, FEW))
    X, y = split.X_train[rows], split.y_train[rows]
    FrobMetric().fit(X[:FEW], y[:FEW])  # imports, and compiles
    runs = []
    for _ in range(options.repeat):
        profile = cProfile.Profile(time.process_time)
        fitted = profile.runcall(FrobMetric().fit, X, y)
        runs.append(shares(profile))
    seconds, parts = min(runs, key=lambda run: run[0])
    return {
        "n_samples": len(X),
        "n_features": X.shape[1],
        "relative_gap": fitted.certificate_.relative_gap,
        "seconds": seconds,
        "rows": [
            {"part": part, "seconds": value, "share": value / seconds}
            for part, value in parts.items()
        ],
    }


def page(data):
    """Return the rows of the page, and the share of bounds and checks together."""
    found = data.get("usps")
    if found is None:
        return {}
    share = sum(row["share"] for row in found["rows"][1:])
    fit = f"{found['n_samples']:,} samples of {found['n_features']} features"
    texts = {"sum": f"{share:.1%}", "fit": fit, "seconds": f"{found['seconds']:.1f} s"}
    return {"rows": found["rows"], **texts}


BENCHMARK = Benchmark(parts={"usps": measure}, page=page, options=Options(repeat=3))
