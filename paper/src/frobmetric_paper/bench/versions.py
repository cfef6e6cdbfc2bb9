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


def _usps(folder):
    X = np.load(folder / "usps_11000.npz")
    return _principal_axes(X["X"].astype(float), 60)[:7700], X["y"][:7700]


def _letters(folder):
    data = np.load(folder / "letter.npz")
    return data["X"][:10_500].astype(float), data["y"][:10_500]


def _mnist(folder):
    data = np.load(folder / "mnist.npz")
    return _principal_axes(data["X_train"][:50_000].astype(float), 164), data["y_train"][:50_000]


def _yale(folder):
    data = np.load(folder / "yaleb_32x32.npz")
    return _principal_axes(data["X"].astype(float), 300)[:1690], data["y"][:1690]


def _principal_axes(X, n):
    from sklearn.decomposition import PCA

    return PCA(n, svd_solver="covariance_eigh").fit_transform(X)


def _fit(load, **options):
    """Return a work that fits `FrobMetric`, and the seconds of its solve."""

    def prepare(folder):
        from frobmetric import FrobMetric

        X, y = load(folder)

        def work():
            return FrobMetric(**options).fit(X, y).history_[-1].seconds

        return work

    return prepare


def _path(folder):
    from frobmetric import frob_path

    X, y = _usps(folder)
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
    "usps": ("USPS 7,700 x 60, C = 1e4, gap 1e-3: whole fit", _fit(_usps)),
    "usps_tight": ("USPS, gap 1e-8: whole fit", _fit(_usps, tol=1e-8)),
    "letters": ("letters 10,500 x 16, C = 1e4: whole fit", _fit(_letters)),
    "yale": ("Yale 1,690 x 300, C = 1e5: whole fit", _fit(_yale, C=1e5)),
    "mnist": ("MNIST 50,000 x 164, C = 1e5: whole fit", _fit(_mnist, C=1e5)),
    "path": ("USPS, path of 10 values of C", _path),
    "boost": ("BoostMetric, 600 digits", _boost),
    "theta6": ("theta6 of SDPLIB, 1e-6", _theta6),
    "unfolding": ("unfolding, swiss roll of 800, 1e-5", _unfolding),
    "correlation": ("nearest correlation matrix, n = 500", _correlation),
}


def child(name, folder):
    """Measure one work in this process; print its seconds as JSON."""
    began = time.perf_counter()
    import frobmetric  # noqa: F401

    imported = time.perf_counter() - began
    work = WORKS[name][1](Path(folder))
    work()  # compiles
    runs = []
    for _ in range(1 if name == "mnist" else REPEAT):
        began = time.perf_counter()
        solving = work()
        runs.append((time.perf_counter() - began, solving))
    sys.stdout.write(json.dumps({"import": imported, "runs": runs}))


def measure(name, checkout, folder):
    """Return the least seconds of a work, and of its solve, with one checkout."""
    environment = os.environ | {"PYTHONPATH": str(Path(checkout).resolve() / "src")}
    run = subprocess.run(
        [sys.executable, __file__, "--child", name, "--folder", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{name} failed with {checkout}:\n{run.stderr[-3000:]}")
    runs = json.loads(run.stdout.splitlines()[-1])["runs"]
    solving = [solve for _, solve in runs if solve is not None]
    return min(whole for whole, _ in runs), min(solving, default=None)


def table(results):
    """Return the Markdown table of the least seconds of both checkouts."""
    lines = ["| work | old | new | new / old |", "|---|--:|--:|--:|"]
    for name, (old, new) in results.items():
        text = WORKS[name][0]
        lines.append(f"| {text} | {old[0]:.3f} s | {new[0]:.3f} s | {new[0] / old[0]:.2f} |")
        if old[1] is not None:
            text = text.replace("whole fit", "solve alone")
            lines.append(f"| {text} | {old[1]:.3f} s | {new[1]:.3f} s | {new[1] / old[1]:.2f} |")
    return "\n".join(lines)


def _least(runs):
    whole, solving = zip(*runs, strict=True)
    return min(whole), None if solving[0] is None else min(solving)


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
    results = {}
    for name in options.only:
        runs = [[], []]
        for _ in range(options.rounds):
            for kept, checkout in zip(runs, options.checkouts, strict=True):
                kept.append(measure(name, checkout, options.folder))
        results[name] = [_least(kept) for kept in runs]
        print(table({name: results[name]}).splitlines()[2:], flush=True)
    print(table(results))
    if options.output:
        options.output.write_text(table(results) + "\n")
    return None


if __name__ == "__main__":
    main()
