"""What the speed table measures in a fresh process; prints one JSON object.

python speed_child.py memory N_SAMPLES N_FEATURES
python speed_child.py cold FOLDER
"""

import json
import sys
import time


def peak():
    """Bytes that this program has held at once.

    Not `getrusage`: its maximum includes that of the process which started this one.
    """
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def memory(n_samples, n_features):
    """Mine and solve on Gaussian classes whose spectrum falls as that of images does."""
    import numpy as np

    from frobmetric import mine_triplets

    from .speed_bench import solved, unit_mean_square

    imports = peak()
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=int(n_samples))
    X = rng.standard_normal((len(y), int(n_features)))
    X += 2 * rng.standard_normal((10, X.shape[1]))[y]
    X /= np.sqrt(1 + np.arange(X.shape[1]))
    X = unit_mean_square(X)[0]
    mined = mine_triplets(X, y)
    mining = peak()
    solution = solved(X, mined, 1e4, 1e-3)
    return {
        "imports": imports,
        "data": X.nbytes,
        "mining": mining,
        "peak": peak(),
        "n_triplets": mined.n_triplets,
        "gap": solution.certificate.relative_gap,
    }


def cold(folder):
    """The first fit and a later one."""
    began = time.perf_counter()
    from frobmetric import FrobMetric

    from ..data import labelled as datasets

    imported = time.perf_counter() - began
    split = datasets.load("usps", folder=folder)
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        FrobMetric().fit(split.X_train, split.y_train)
        seconds.append(time.perf_counter() - began)
    return {"import": imported, "first": seconds[0], "second": min(seconds[1:])}


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"memory": memory, "cold": cold}[sys.argv[1]](*sys.argv[2:])))
