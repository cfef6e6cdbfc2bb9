"""Worker processes, which do task after task and are ended at a time limit.

The parent writes the arrays and values of a task to a folder (`*.npy`, `task.json`) and sends the
path of the folder to a worker. The worker calls its target with all of them in one dictionary and
writes `answer.npz` and `detail.json` to the same folder. Nothing is pickled. The program of a
worker is this file itself:

    python -P worker.py MODULE:NAME [PACKAGE,PACKAGE,...]

It needs NumPy and what the target needs, so an interpreter without frobmetric can run it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

#: Seconds for a worker to import what it needs; they do not count against the limit of a task.
START_LIMIT = 300.0
#: Share of the machine's memory that a worker may use; beyond it, the task fails.
MEMORY_SHARE = 0.75
#: Environment variables that set the number of threads of numerical libraries.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


class ProgramError(RuntimeError):
    """A program gave no answer; `outcome` says why, in a word."""

    outcome = "failed"


class ProgramMissingError(ProgramError):
    """The program is not installed; the message says what to do."""

    outcome = "missing"


class ProgramFailedError(ProgramError):
    """The program ended without an answer."""


class TimeLimitError(ProgramError):
    """The program was ended at its time limit; a table shows the message, e.g. "> 60 s"."""

    outcome = "limit"

    def __init__(self, limit):
        super().__init__(f"> {limit:g} s")
        self.limit = limit


# The parent's side


class Worker:
    """A process that reads tasks from its standard input, one per line.

    It writes "ready" to its standard output, then "done" or "failed" after each task.

    Parameters
    ----------
    command : list of str
    threads : int, optional
        Threads of numerical libraries; their own default if None.
    """

    def __init__(self, command, threads=None):
        self._program = command[3] if len(command) > 3 else command[0]  # the target, if any
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (`end` closes it)
        counts = {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env=os.environ | counts,
            start_new_session=True,  # so that all that it starts can be ended with it
        )
        self._replies = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._is_ready = False

    def _listen(self):
        with contextlib.suppress(ValueError):  # the pipe was closed while it is read
            for line in self._process.stdout:
                self._replies.put(line.strip())
        self._replies.put("ended")

    def do(self, task, limit):
        """Do a task and return the end of what the worker wrote to its standard error."""
        start = self._stderr.seek(0, os.SEEK_END)
        if not self._is_ready:
            self._expect("ready", START_LIMIT, 0)
            self._is_ready = True
        with contextlib.suppress(BrokenPipeError):  # the process ended: its reply says so too
            self._process.stdin.write(f"{task}\n")
            self._process.stdin.flush()
        return self._expect("done", limit, start)

    def _expect(self, reply, limit, start):
        try:
            given = self._replies.get(timeout=limit)
        except queue.Empty:
            raise TimeLimitError(limit) from None
        self._stderr.seek(start)
        stderr = self._stderr.read().decode(errors="replace")[-2000:]
        if given != reply:
            raise ProgramFailedError(f"{self._program} {given}: {stderr}")
        return stderr

    def is_running(self):
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def end(self):
        """End the process and all processes that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:  # Windows has no process groups
                self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._stderr):
            with contextlib.suppress(OSError):  # unread data are lost with the process
                file.close()


class WorkerPool:
    """Idle workers, the least recently used one first."""

    #: Largest number of workers: enough for the methods of one table.
    SIZE = 10

    def __init__(self):
        self._workers = {}

    def run(self, command, task, limit, threads=None):
        """Do a task in the worker of this command, which is started if it is not running.

        Parameters and return value are those of `Worker` and `Worker.do`. After an error, Ctrl-C
        included, the worker is ended.
        """
        key = (tuple(command), threads)
        worker = self._workers.pop(key, None)
        if worker is not None and not worker.is_running():
            worker.end()
            worker = None
        if worker is None:
            while len(self._workers) >= self.SIZE:
                self._workers.pop(next(iter(self._workers))).end()
            worker = Worker(command, threads)
        try:
            stderr = worker.do(task, limit)
        except BaseException:
            worker.end()
            raise
        self._workers[key] = worker
        return stderr

    def end(self):
        """End all workers."""
        while self._workers:
            self._workers.popitem()[1].end()


POOL = WorkerPool()
atexit.register(POOL.end)


@dataclass(frozen=True)
class Target:
    """A function or an estimator that workers call.

    Attributes
    ----------
    name : str
        "module:name" of a function of the task that returns (arrays by name, detail), or of an
        estimator, see `fit_estimator`. Before the first task the worker calls `warm_up(name)` of
        the module if there is such a function. In place of a module there may be the path of a
        file, which an interpreter without this package can load.
    packages : tuple of str
        Imported before the first task; their versions become part of the detail.
    python : callable
        () -> path of the interpreter.
    """

    name: str
    packages: tuple[str, ...] = ()
    python: Callable[[], object] = lambda: sys.executable

    def missing(self):
        """Return which packages are not installed; empty if all are."""
        absent = [package for package in self.packages if find_spec(package) is None]
        if not absent:
            return ""
        return f"{', '.join(absent)} not installed; pip install {' '.join(absent)}"

    def run(self, arrays, values, limit, threads=None, pool=POOL):
        """Call the target in a worker.

        Parameters
        ----------
        arrays : dict of str to ndarray
        values : dict
            Numbers and text that JSON can hold.
        limit : float
            Seconds after which the worker and all that it started are ended.
        threads : int, optional
            Threads of numerical libraries; their own default if None.
        pool : WorkerPool

        Returns
        -------
        arrays : dict of str to ndarray
        detail : dict
            As the target returned it, with "seconds" of the call alone (no imports, no files),
            "versions", "threads" and "stderr"; "remark" is the text of convergence warnings.

        Raises
        ------
        TimeLimitError, ProgramFailedError
        """
        script = [str(self.python()), "-P", __file__, self.name, ",".join(self.packages)]
        with tempfile.TemporaryDirectory(prefix="frobmetric-task-") as folder:
            for name, array in arrays.items():
                np.save(Path(folder, f"{name}.npy"), array, allow_pickle=False)
            Path(folder, "task.json").write_text(json.dumps(values))
            stderr = pool.run(script, folder, limit, threads)
            with np.load(Path(folder, "answer.npz"), allow_pickle=False) as answer:
                found = dict(answer)
            detail = json.loads(Path(folder, "detail.json").read_text())
        return found, detail | {"threads": threads, "stderr": stderr}


# The child's side


def fit_estimator(kind, task):
    """Fit an estimator of scikit-learn's kind and return {"L": ...} and a detail.

    With `pairs` in the task it is one of metric-learn's pair learners. The parameter `scale` is
    not the estimator's: X is multiplied by it first.
    """
    parameters = dict(task["parameters"])
    scale = parameters.pop("scale", 1.0)
    X, index, y = scale * task["X"], task.get("pairs"), task["y"]
    if index is None:
        model = kind(random_state=task["seed"], **parameters).fit(X, y)
    else:
        model = kind(random_state=task["seed"], preprocessor=X, **parameters).fit(index, y)
    steps = getattr(model, "n_iter_", None)
    return {"L": scale * model.components_.T}, {"steps": None if steps is None else int(steps)}


def call(function, task):
    """Call a target with a task; time it, and turn convergence warnings into a remark."""
    with warnings.catch_warnings(record=True) as caught:
        began = time.perf_counter()
        if isinstance(function, type):
            arrays, detail = fit_estimator(function, task)
        else:
            arrays, detail = function(task)
        seconds = time.perf_counter() - began
    remarks = {}
    for warning in caught:
        if warning.category.__name__ == "ConvergenceWarning":
            remarks[str(warning.message)] = None
        else:
            place = warning.filename, warning.lineno
            sys.stderr.write(warnings.formatwarning(warning.message, warning.category, *place))
    remark = {"remark": "; ".join(remarks)} if remarks else {}
    return arrays, {"seconds": seconds} | remark | detail


def do_task(folder, function, versions):
    """Do the task of a folder and write the answer to the same folder."""
    arrays = {path.stem: np.load(path, allow_pickle=False) for path in folder.glob("*.npy")}
    values = json.loads((folder / "task.json").read_text())
    answer, detail = call(function, {"folder": str(folder)} | values | arrays)
    np.savez(folder / "answer.npz", **answer)
    (folder / "detail.json").write_text(json.dumps({"versions": versions} | detail))


def load(target, packages=""):
    """Import a target and packages; return the target and the versions."""
    module, _, name = target.rpartition(":")
    is_file = module.endswith(".py")
    home = _load_file(module) if is_file else import_module(module)
    names = [*([] if is_file else [module]), *filter(None, packages.split(","))]
    tops = sorted({import_module(each).__name__.partition(".")[0] for each in names})
    versions = {top: getattr(sys.modules[top], "__version__", "") for top in tops}
    getattr(home, "warm_up", lambda name: None)(name)
    return getattr(home, name), {top: text for top, text in versions.items() if text}


def _load_file(path):
    """Return the module in a file that belongs to no package."""
    spec = spec_from_file_location(Path(path).stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _limit_memory():
    """Let the task fail before it takes the memory of the machine, where that can be limited."""
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY_SHARE * memory),) * 2)


def _read_folders(lines, folders):
    """Pass on the lines of the standard input, which ends with the parent process."""
    for line in lines:
        folders.put(line.rstrip("\n"))
    os._exit(0)


def serve(*arguments):
    """Do task after task until the standard input ends."""
    lines, replies, folders = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w"), queue.SimpleQueue()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # programs that the target starts
    os.dup2(2, 1)  # have neither the input nor the output of the worker
    _limit_memory()
    target = load(*arguments)
    threading.Thread(target=_read_folders, args=(lines, folders), daemon=True).start()
    reply = "ready"
    while True:
        sys.stdout.flush()
        sys.stderr.flush()
        replies.write(f"{reply}\n")
        replies.flush()
        try:
            do_task(Path(folders.get()), *target)
            reply = "done"
        except Exception:
            traceback.print_exc()
            reply = "failed"


if __name__ == "__main__":
    serve(*sys.argv[1:])
