"""Embeds points in a process of its own.

    python -P child.py FOLDER module:function

The function is first called with a few other points, so that what is loaded or compiled at the
first call takes none of the seconds.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np


def first_points(n_neighbors):
    """A spiral staircase."""
    t = np.linspace(0, 6, 10 + n_neighbors)
    return np.column_stack([np.cos(t), np.sin(t), t])


def main(folder, target):
    folder = Path(folder)
    module, name = target.split(":")
    embed = getattr(import_module(module), name)
    X = np.load(folder / "X.npy", allow_pickle=False)
    numbers = json.loads((folder / "task.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embed(first_points(numbers["n_neighbors"]), **numbers)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        began = time.perf_counter()
        Y, detail = embed(X, **numbers)
        seconds = time.perf_counter() - began
    said = {
        str(warning.message): None
        for warning in caught
        if issubclass(warning.category, UserWarning)
    }
    np.save(folder / "Y.npy", Y, allow_pickle=False)
    found = {"seconds": seconds, "remark": "; ".join(said)} | detail
    (folder / "detail.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
