"""Compare the speed of two checkouts of frobmetric on the same work, in one run.

    python -m frobmetric_paper.bench.versions OLD NEW [--rounds 3] [--only usps theta6]

OLD and NEW are folders of checkouts; only their public names are used. Every measurement is made in
a new process with one checkout on its path, both in turn, and the best of all rounds counts: other
work on the machine slows a process down and never speeds it up. Prints a Markdown table; with
`--output FILE` it is also written to a file.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

REPEAT = 3
#: File, names of samples and labels in it, number of samples, and of principal axes if any.
SETS = {
    "usps": ("usps_11000.npz", "X", "y", 7700, 60),
    "letters": ("letter.npz", "X", "y", 10_500, None),
    "yale": ("yaleb_32x32.npz", "X", "y", 1690, 300),
    "mnist": ("mnist.npz", "X_train", "y_train", 50_000, 164),
}

#: Options with which `FrobMetric` and `frob_path` solve the paper's problem; older checkouts do not
#: have all of them, and have no other problem.
PAPER = {"units": "raw", "prior": None, "n_passes": 1, "C": 1e4}
#: Set and options of `FrobMetric` of the works that fit it.
FITS = {
    "usps": ("usps", {}),
    "usps_tight": ("usps", {"tol": 1e-8}),
    "letters": ("letters", {}),
    "yale": ("yale", {"C": 1e5}),
    "mnist": ("mnist", {"C": 1e5}),
}
WORKS = {
    "usps": "USPS 7,700 x 60, C = 1e4, gap 1e-3: whole fit",
    "usps_tight": "USPS, gap 1e-8: whole fit",
    "letters": "letters 10,500 x 16, C = 1e4: whole fit",
    "yale": "Yale 1,690 x 300, C = 1e5: whole fit",
    "mnist": "MNIST 50,000 x 164, C = 1e5: whole fit",
    "path": "USPS, path of 10 values of C",
    "boost": "BoostMetric, 600 digits",
    "theta6": "theta6 of SDPLIB, 1e-6",
    "unfolding": "unfolding, swiss roll of 800, 1e-5",
    "correlation": "nearest correlation matrix, n = 500",
}


def load(name, folder):
    """Return samples and labels of a set."""
    from sklearn.decomposition import PCA

    file, samples, labels, n, n_axes = SETS[name]
    data = np.load(folder / file)
    X = data[samples].astype(float)
    if n_axes:
        few = X[:n] if name == "mnist" else X
        X = PCA(n_axes, svd_solver="covariance_eigh").fit_transform(few)
    return X[:n], data[labels][:n]


def known(function):
    """Return the options of the paper's problem that a function of this checkout has."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in PAPER.items() if name in names}


def prepare(name, folder):
    """Return a function that does a work; data are loaded here."""
    from sklearn.datasets import load_digits, make_swiss_roll

    from frobmetric import BoostMetric, FrobMetric, frob_path, manifold, sdp

    if name in FITS:
        set_name, options = FITS[name]
        metric = FrobMetric(**known(FrobMetric) | options)
        return partial(metric.fit, *load(set_name, folder))
    if name == "path":
        Cs = np.geomspace(1e2, 1e6, 10)
        return partial(frob_path, *load("usps", folder), Cs=Cs, tol=1e-3, **known(frob_path))
    if name == "boost":
        X, y = load_digits(return_X_y=True)
        return partial(BoostMetric(C=1e3).fit, X[:600], y[:600])
    if name == "theta6":
        problem = sdp.read_sdpa(folder / "sdplib" / "theta6.dat-s.xz")
        return partial(sdp.solve_sdp, problem, tol=1e-6)
    if name == "unfolding":
        X = make_swiss_roll(800, random_state=0)[0]
        return partial(manifold.MaximumVarianceUnfolding(tol=1e-5).fit, X)
    G = np.triu(np.random.default_rng(0).uniform(-1, 1, (500, 500)), 1)
    return partial(sdp.nearest_correlation, G + G.T + np.eye(500))


def child(name, folder):
    """Measure one work in this process; print the seconds of runs and of their solves as JSON."""
    work, runs = prepare(name, Path(folder)), []
    work()  # compiles
    for _ in range(1 if name == "mnist" else REPEAT):
        began = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - began
        runs.append((seconds, result.history_[-1].seconds if name in FITS else None))
    print(json.dumps(runs))


def measure(name, checkout, folder):
    """Return seconds of the runs of a work, and of their solves, with one checkout."""
    environment = os.environ | {"PYTHONPATH": str(Path(checkout).resolve() / "src")}
    command = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{name} failed with {checkout}:\n{run.stderr[-3000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def rows(name, old, new):
    """Return the rows of a work: the least seconds of all runs, and of all solves."""
    lines = []
    for place, part in enumerate(("whole fit", "solve alone")):
        before, after = ([run[place] for run in runs] for runs in (old, new))
        if before[0] is not None:
            text, a, b = WORKS[name].replace("whole fit", part), min(before), min(after)
            lines.append(f"| {text} | {a:.3f} s | {b:.3f} s | {b / a:.2f} |")
    return lines


def main():
    """Measure every work with both checkouts in turn."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", nargs="*", help="folders of the old and the new checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--folder", default=os.environ.get("FROBMETRIC_DATA"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.folder)
    if len(options.checkouts) != 2 or options.folder is None:
        parser.error("give the folders of two checkouts, and --folder or FROBMETRIC_DATA")
    lines = ["| work | old | new | new / old |", "|---|--:|--:|--:|"]
    print("\n".join(lines))
    for name in options.only:
        runs = [[], []]
        for _ in range(options.rounds):
            for some, checkout in zip(runs, options.checkouts, strict=True):
                some += measure(name, checkout, options.folder)
        lines += rows(name, *runs)
        print("\n".join(rows(name, *runs)), flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()
