"""Parts of the measurement of speed: each is prepared, then timed in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from house import data
from house.library import find
from house.trees import CACHE, ROOT, require_library_of

Call = Callable[[], Any]
#: A part is timed at least so often, and again until this number of seconds is over.
LEAST, SECONDS = 2, 2.0
#: Options with which FrobMetric solves the problem of the paper.
PAPER: dict[str, Any] = {"units": "raw", "n_passes": 1, "C": 1e4}


def folder_of_data() -> Path:
    """Return the folder of real data sets."""
    beside = (ROOT.parent / "shared" / "data",)
    given = os.environ.get("FROBMETRIC_DATA")
    return Path(given) if given else next((path for path in beside if path.is_dir()), beside[0])


def _reduced(name: str, key: str, n: int, n_axes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples on their principal axes, scaled, and labels; kept for later processes."""
    path = CACHE / f"{name}-{n}-{n_axes}.npz"
    if not path.exists():
        with np.load(folder_of_data() / f"{name}.npz") as stored:
            X, y = stored[f"X{key}"], stored[f"y{key}"]
        rows = np.random.default_rng(0).permutation(len(X))[:n]
        X = X[rows].astype(float)
        X -= X.mean(axis=0)
        Z = X @ np.linalg.eigh(X.T @ X)[1][:, : -n_axes - 1 : -1]
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_file = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial_file, X=Z / np.sqrt((Z**2).sum(axis=1).mean()), y=y[rows])
        partial_file.replace(path)
    with np.load(path) as stored:
        return stored["X"], stored["y"]


def _usps() -> tuple[np.ndarray, np.ndarray]:
    return _reduced("usps_11000", "", 7700, 60)


def _fit_usps() -> Call:
    return partial(_fit, "FrobMetric", PAPER, *_usps())


def _fit_defaults() -> Call:
    X, y = _usps()
    return partial(_fit, "FrobMetric", {}, X[:2500], y[:2500])


def _fit_mnist() -> Call:
    return partial(
        _fit, "FrobMetric", PAPER | {"C": 1e5}, *_reduced("mnist", "_train", 10_000, 100)
    )


def _path() -> Call:
    X, y = _usps()
    Cs = np.geomspace(1e2, 1e4, 8)
    return lambda: find("frob_path")(X[:3000], y[:3000], Cs=Cs, units="raw")


def _dask() -> Call:
    import dask.array
    import distributed

    X, y = _usps()
    quiet = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    client = distributed.Client(**quiet)
    blocks = dask.array.from_array(X[:4000], chunks=(1000, -1))
    labels = dask.array.from_array(y[:4000], chunks=1000)

    def call() -> Any:
        return client and find("FrobMetric")(**PAPER).fit(blocks, labels)

    return call


def _unfolding() -> Call:
    return partial(_fit, "MaximumVarianceUnfolding", {"random_state": 0}, data.roll(800)[0])


def _theta6() -> Call:
    problem = find("read_sdpa")(folder_of_data() / "sdplib" / "theta6.dat-s.xz")
    return lambda: find("solve_sdp")(problem, tol=1e-6)


def _correlation() -> Call:
    rng, n = np.random.default_rng(0), 500
    noise = rng.uniform(-1, 1, (n, n))
    G = np.corrcoef(rng.normal(size=(n, 2 * n))) + 0.1 * (noise + noise.T)
    np.fill_diagonal(G, 1)
    return lambda: find("nearest_correlation")(G)


def _cv() -> Call:
    X, y = load_digits(return_X_y=True)
    return partial(_fit, "FrobMetricCV", {}, X[:500], y[:500])


def _adapter() -> Call:
    planted = data.planted(n=600)
    return partial(_fit, "EmbeddingAdapter", {}, planted.X, planted.y)


def _lmnn() -> Call:
    X, y = load_digits(return_X_y=True)
    return partial(_fit, "LMNN", {"random_state": 0}, X[:600], y[:600])


def _boost() -> Call:
    X, y = load_digits(return_X_y=True)
    return partial(_fit, "BoostMetric", {"C": 100.0}, X[:300], y[:300])


def _one_row() -> Call:
    wine = data.wine()
    metric = find("FrobMetric")().fit(wine.X, wine.y)
    row = wine.new[:1]

    def call() -> None:
        for _ in range(300):
            metric.transform(row)

    return call


def _pairs() -> Call:
    wine = data.wine()
    metric = find("FrobMetric")().fit(wine.X, wine.y)
    pairs = wine.new[:2][None]

    def call() -> None:
        for _ in range(300):
            metric.pair_distance(pairs)

    return call


def _load() -> Call:
    wine = data.wine()
    path = Path(tempfile.mkdtemp()) / "model.safetensors"
    find("save")(find("FrobMetric")().fit(wine.X, wine.y), path)

    def call() -> None:
        for _ in range(30):
            find("load")(path)

    return call


def _fit(name: str, options: dict[str, Any], *given: Any) -> Any:
    return find(name)(**options).fit(*given)


PARTS: dict[str, Callable[[], Call]] = {
    "usps": _fit_usps,
    "defaults": _fit_defaults,
    "mnist": _fit_mnist,
    "path": _path,
    "dask": _dask,
    "unfolding": _unfolding,
    "theta6": _theta6,
    "correlation": _correlation,
    "cv": _cv,
    "adapter": _adapter,
    "lmnn": _lmnn,
    "boost": _boost,
    "row": _one_row,
    "pair": _pairs,
    "load": _load,
}


def measure(name: str) -> dict[str, float]:
    """Return the smallest times of a part, in seconds, and the memory of the process."""
    call = PARTS[name]()
    walls, times, start = [], [], time.perf_counter()
    while len(walls) < LEAST or time.perf_counter() - start < SECONDS:
        before = time.perf_counter(), time.process_time()
        call()
        walls.append(time.perf_counter() - before[0])
        times.append(time.process_time() - before[1])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": min(walls), "cpu": min(times), "memory": round(memory, 1)}


def main() -> None:
    """Print the measurement of a part, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("part", choices=PARTS)
    given = parser.parse_args()
    require_library_of(given.tree)
    warnings.simplefilter("ignore")
    print(json.dumps(measure(given.part)))  # noqa: T201


if __name__ == "__main__":
    main()
