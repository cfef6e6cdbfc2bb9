"""What all rivals share: the interface, and a process of their own that ends at a time limit.

A rival reads `X.npy`, `y.npy`, `triplets.npy` and `task.json` from a folder and leaves `L.npy` and
`detail.json` there, whatever language it is written in. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...metric.triplets import as_triplets, mine_triplets

#: What tells numerical libraries how many threads to use.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


class RivalMissing(RuntimeError):  # noqa: N818
    """The rival is not installed; the message says what to do."""


class RivalFailed(RuntimeError):  # noqa: N818
    """The rival ended without an answer."""


class TimeLimitExceeded(RuntimeError):  # noqa: N818
    """The rival was ended at its time limit; `str` of it is what a table shows."""

    def __init__(self, limit):
        super().__init__(f"> {limit:g} s")
        self.limit = limit


@dataclass(frozen=True)
class Task:
    """What a rival is given: arrays are in files, here are their sizes and the numbers."""

    folder: Path
    n_samples: int
    n_features: int
    n_triplets: int
    C: float | None
    seed: int


@dataclass(frozen=True)
class Fitted:
    """A learned linear map: M = L L.T.

    Attributes
    ----------
    L : ndarray of shape (n_features, rank)
    seconds : float
        Of the learning alone: no compilation, no imports, no files.
    detail : dict
        What else the rival tells of its run.
    """

    L: np.ndarray
    seconds: float
    detail: dict = field(default_factory=dict)

    def transform(self, X):
        return X @ self.L


def do_nothing():
    """For programs of which nothing is missing, and nothing to be installed."""
    return ""


class Installable:
    """What can be absent: it has a `name`, and `missing()` says why it cannot run here."""

    def is_available(self):
        return not self.missing()

    def require(self):
        """Raise RivalMissing if it cannot run here."""
        reason = self.missing()
        if reason:
            raise RivalMissing(f"{self.name} cannot run here: {reason}")


@dataclass(frozen=True)
class Rival(Installable):
    """A program that learns a metric.

    Attributes
    ----------
    name : str
    learns_from : {"labels", "triplets"}
        Those that learn from triplets solve the paper's problem P3: |M|^2 / 2 plus C times the mean
        hinge loss.
    needs : str
        What has to be installed, and how.
    command : callable
        Task -> the command line that does it.
    missing : callable
        () -> why it cannot run here, empty if it can.
    install : callable
        () -> None; what `python -m frobmetric.experiments.rivals.setup` does for it.
    """

    name: str
    learns_from: str
    needs: str
    command: Callable[[Task], list[str]]
    missing: Callable[[], str] = do_nothing
    install: Callable[[], object] = do_nothing

    def fit(self, X, y=None, *, triplets=None, C=None, limit=600.0, seed=0, threads=None):
        """Learn a metric of X as it is: no rival is given other units than its neighbour.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,), optional
        triplets : ndarray of shape (n_triplets, 3) or MinedTriplets, optional
            Mined from y if they are needed and not given; that takes none of the `seconds`.
        C : float, optional
            Needed by those that learn from triplets.
        limit : float
            Seconds after which the process is ended.
        seed : int
            For those that draw at random.
        threads : int, optional
            Of numerical libraries; their own choice if None.

        Returns
        -------
        Fitted

        Raises
        ------
        RivalMissing, TimeLimitExceeded, RivalFailed
        """
        self.require()
        with tempfile.TemporaryDirectory(prefix="frobmetric-rival-") as folder:
            task = _write_task(self, Path(folder), X, y, triplets, C, seed)
            told = run(self.command(task), limit, threads)
            return _read_answer(self, Path(folder), {"threads": threads, "told": told})


def run(command, limit, threads=None):
    """What a command writes to its standard error, the end of it.

    At the limit the command and all that it started are ended.
    """
    settings = {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env=os.environ | settings, start_new_session=True,
    ) as process:
        try:
            _, told = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise TimeLimitExceeded(limit) from None
        finally:
            _end(process)
    if process.returncode:
        raise RivalFailed(f"exit code {process.returncode} of {command[0]}: {told[-2000:]}")
    return told[-2000:]


def _end(process):
    """End the process and those that it started: its session is its own."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _write_task(rival, folder, X, y, triplets, C, seed):
    X = np.ascontiguousarray(X, dtype=np.float64)
    arrays = {"X": X}
    if rival.learns_from == "triplets":
        if C is None:
            raise ValueError(f"{rival.name} needs C, the weight of the mean loss")
        found = mine_triplets(X, y) if triplets is None else as_triplets(triplets, len(X))
        if np.ptp(found.share) > 0:
            raise ValueError(f"{rival.name} gives every triplet the same weight; got others")
        arrays["triplets"] = np.ascontiguousarray(found.to_array(), dtype=np.int64)
    elif y is None:
        raise ValueError(f"{rival.name} learns from labels; give y")
    else:
        arrays["y"] = np.unique(y, return_inverse=True)[1].astype(np.int64)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    (folder / "task.json").write_text(json.dumps({"C": C, "seed": seed}))
    return Task(folder, *X.shape, len(arrays.get("triplets", ())), C, seed)


def _read_answer(rival, folder, more):
    try:
        L = np.load(folder / "L.npy", allow_pickle=False)
        detail = json.loads((folder / "detail.json").read_text()) | more
    except (OSError, ValueError) as error:
        said = more["told"]
        raise RivalFailed(f"{rival.name} left no answer: {error}; it said: {said}") from error
    if not np.isfinite(L).all():
        raise RivalFailed(f"{rival.name} answered with NaN or infinity; it said: {more['told']}")
    return Fitted(L, detail.pop("seconds"), detail)
