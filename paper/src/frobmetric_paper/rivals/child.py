"""Runs one learner in a process of its own; needs NumPy and what it is to run, not frobmetric.

    python -P child.py estimator module:class PACKAGES [FOLDER]
    python -P child.py pair_estimator module:class PACKAGES [FOLDER]
    python -P child.py function module:function PACKAGES [FOLDER]

Without a folder it says "ready", takes one folder after the other from its standard input, a line
each, and answers each with a line, "done" or "failed". When its input ends, so does it, at once.

An estimator follows scikit-learn: made with the parameters of the task, fit(X, y), then
`components_`. One of pairs follows metric-learn: fit(pairs, y) on row numbers, y being 1 or -1, and
X its `preprocessor`. A function is called with the arrays and numbers of the task and returns
(L, detail), or (arrays by name, detail). Before the clock starts the packages (with commas) are
imported, the versions of all being reported, and `warm_up` of the module is called if it has one.
Warnings that a method did not converge become the remark of the detail.
"""

import json
import os
import queue
import sys
import threading
import time
import traceback
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np


def read(folder):
    """The arrays and numbers of a task."""
    arrays = {path.stem: np.load(path, allow_pickle=False) for path in folder.glob("*.npy")}
    return json.loads((folder / "task.json").read_text()) | arrays


def fit_estimator(kind, task):
    """The parameter `scale` is not the estimator's: it is given X in so many times its units."""
    parameters = dict(task["parameters"])
    scale = parameters.pop("scale", 1.0)
    model = kind(random_state=task["seed"], **parameters).fit(scale * task["X"], task["y"])
    steps = getattr(model, "n_iter_", None)
    return scale * model.components_.T, {"steps": None if steps is None else int(steps)}


def fit_pair_estimator(kind, task):
    model = kind(random_state=task["seed"], preprocessor=task["X"], **task["parameters"])
    model.fit(task["pairs"], np.where(task["same"], 1, -1))
    return model.components_.T, {"steps": int(model.n_iter_)}


KINDS = {
    "estimator": fit_estimator,
    "pair_estimator": fit_pair_estimator,
    "function": lambda learn, task: learn(task),
}


def remarking(learn, *arguments):
    """Its answer and detail; the detail has what it said of not converging, the rest is shown."""
    with warnings.catch_warnings(record=True) as caught:
        answer, detail = learn(*arguments)
    remarks = []
    for warning in caught:
        if warning.category.__name__ == "ConvergenceWarning":
            remarks.append(str(warning.message))
        else:
            text = warnings.formatwarning(
                warning.message, warning.category, warning.filename, warning.lineno
            )
            sys.stderr.write(text)
    return answer, detail | ({"remark": "; ".join(dict.fromkeys(remarks))} if remarks else {})


def work(folder, kind, learner, versions):
    """Do the task of a folder, and leave the answer there."""
    task = read(folder)
    began = time.perf_counter()
    answer, detail = remarking(KINDS[kind], learner, task)
    detail |= {"seconds": time.perf_counter() - began, "versions": versions}
    for key, array in (answer if isinstance(answer, dict) else {"L": answer}).items():
        np.save(folder / f"{key}.npy", array, allow_pickle=False)
    (folder / "detail.json").write_text(json.dumps(detail))


def serve(*how):
    """Do task after task."""
    answers, folders = os.fdopen(os.dup(1), "w"), queue.SimpleQueue()
    os.dup2(2, 1)  # what libraries print is not an answer
    threading.Thread(target=take, args=(folders,), daemon=True).start()
    answer = "ready"
    while True:
        sys.stderr.flush()
        answers.write(f"{answer}\n")
        answers.flush()
        try:
            work(Path(folders.get()), *how)
            answer = "done"
        except Exception:
            traceback.print_exc()
            answer = "failed"


def take(folders):
    """Hand on what the input has; whoever wrote it is gone when it ends."""
    for line in sys.stdin:
        folders.put(line.rstrip("\n"))
    os._exit(0)


def main(kind, target, packages, folder=None):
    module, name = target.split(":")
    home = import_module(module)
    used = [module.partition(".")[0], *filter(None, packages.split(","))]
    versions = {package: import_module(package).__version__ for package in used}
    getattr(home, "warm_up", lambda: None)()
    how = kind, getattr(home, name), versions
    if folder is None:
        serve(*how)
    else:
        work(Path(folder), *how)


if __name__ == "__main__":
    main(*sys.argv[1:])
