"""Compare the speed of two checkouts of frobmetric on the same work, in one run.

    python -m frobmetric_paper.bench.versions OLD NEW [--rounds 3] [--only usps theta6]

OLD and NEW are folders of checkouts; only their public names are used. Every measurement is made in
a new process with one checkout on its path, both in turn, and the best of all rounds counts: other
work on the machine slows a process down and never speeds it up. Prints a Markdown table; with
`--output FILE` it is also written to a file.
"""

import argparse
import json
import os
import subprocess
import sys
import time
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


def _load(name, folder):
    from sklearn.decomposition import PCA

    file, samples, labels, n, n_axes = SETS[name]
    data = np.load(folder / file)
    X = data[samples].astype(float)
    if n_axes:
        few = X[:n] if name == "mnist" else X
        X = PCA(n_axes, svd_solver="covariance_eigh").fit_transform(few)
    return X[:n], data[labels][:n]


# Works: each returns a function without arguments, whose result may be the seconds of a solve


def _fit(name, **options):
    def prepare(folder):
        from frobmetric import FrobMetric

        X, y = _load(name, folder)
        return lambda: FrobMetric(**options).fit(X, y).history_[-1].seconds

    return prepare


def _path(folder):
    from frobmetric import frob_path

    X, y = _load("usps", folder)
    return lambda: frob_path(X, y, Cs=np.geomspace(1e2, 1e6, 10), tol=1e-3) and None


def _boost(folder):
    from sklearn.datasets import load_digits

    from frobmetric import BoostMetric

    X, y = (part[:600] for part in load_digits(return_X_y=True))
    return lambda: BoostMetric(C=1e3).fit(X, y) and None


def _theta6(folder):
    from frobmetric.sdp import read_sdpa, solve_sdp

    problem = read_sdpa(folder / "sdplib" / "theta6.dat-s.xz")
    return lambda: solve_sdp(problem, tol=1e-6) and None


def _unfolding(folder):
    from sklearn.datasets import make_swiss_roll

    from frobmetric.manifold import MaximumVarianceUnfolding

    X = make_swiss_roll(800, random_state=0)[0]
    return lambda: MaximumVarianceUnfolding(tol=1e-5).fit(X) and None


def _correlation(folder):
    from frobmetric.sdp import nearest_correlation

    G = np.triu(np.random.default_rng(0).uniform(-1, 1, (500, 500)), 1)
    G = G + G.T + np.eye(500)
    return lambda: nearest_correlation(G) and None


WORKS = {
    "usps": ("USPS 7,700 x 60, C = 1e4, gap 1e-3: whole fit", _fit("usps")),
    "usps_tight": ("USPS, gap 1e-8: whole fit", _fit("usps", tol=1e-8)),
    "letters": ("letters 10,500 x 16, C = 1e4: whole fit", _fit("letters")),
    "yale": ("Yale 1,690 x 300, C = 1e5: whole fit", _fit("yale", C=1e5)),
    "mnist": ("MNIST 50,000 x 164, C = 1e5: whole fit", _fit("mnist", C=1e5)),
    "path": ("USPS, path of 10 values of C", _path),
    "boost": ("BoostMetric, 600 digits", _boost),
    "theta6": ("theta6 of SDPLIB, 1e-6", _theta6),
    "unfolding": ("unfolding, swiss roll of 800, 1e-5", _unfolding),
    "correlation": ("nearest correlation matrix, n = 500", _correlation),
}


def child(name, folder):
    """Measure one work in this process; print the seconds of runs and of their solves as JSON."""
    work, runs = WORKS[name][1](Path(folder)), []
    work()  # compiles
    for _ in range(1 if name == "mnist" else REPEAT):
        began = time.perf_counter()
        solving = work()
        runs.append((time.perf_counter() - began, solving))
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
            text, a, b = WORKS[name][0].replace("whole fit", part), min(before), min(after)
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
