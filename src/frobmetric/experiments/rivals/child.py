"""Runs one learner in a process of its own; needs NumPy and what it is to run, not frobmetric.

    python -P child.py FOLDER estimator module:class [package ...]
    python -P child.py FOLDER function module:function [package ...]

An estimator follows scikit-learn: fit(X, y), then `components_`. A function is called with the
arrays and numbers of the task and returns (L, detail). The further packages are imported before
the clock starts, and their versions are reported.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np


def read(folder):
    """The arrays and numbers of a task."""
    arrays = {path.stem: np.load(path, allow_pickle=False) for path in folder.glob("*.npy")}
    return json.loads((folder / "task.json").read_text()) | arrays


def fit_estimator(kind, task):
    model = kind(random_state=task["seed"]).fit(task["X"], task["y"])
    steps = getattr(model, "n_iter_", None)
    return model.components_.T, {"steps": None if steps is None else int(steps)}


KINDS = {"estimator": fit_estimator, "function": lambda learn, task: learn(task)}


def main(folder, kind, target, *packages):
    folder = Path(folder)
    module, name = target.split(":")
    learner = getattr(import_module(module), name)
    used = [module.partition(".")[0], *packages]
    versions = {package: import_module(package).__version__ for package in used}
    task = read(folder)
    began = time.perf_counter()
    L, detail = KINDS[kind](learner, task)
    detail |= {"seconds": time.perf_counter() - began, "versions": versions}
    np.save(folder / "L.npy", L, allow_pickle=False)
    (folder / "detail.json").write_text(json.dumps(detail))


if __name__ == "__main__":
    main(*sys.argv[1:])
