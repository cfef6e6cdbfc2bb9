"""Interface of the programs that solve SDPA files, and their answer.

An SDPA file states (P) min c'x, sum_i x_i F_i - F0 >= 0, and (D) max <F0, Y>, <F_i, Y> = c_i,
Y >= 0. frobmetric states min <C, X>, <A_i, X> = b_i, X >= 0, whose dual is to maximise b'y with
Z = C - sum_i y_i A_i >= 0. So C = -F0, A_i = F_i, b = c, X = Y, y = -x, and its primal is (D).
"""

from __future__ import annotations

import gzip
import lzma
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from frobmetric.core import FrobeniusSDP
from frobmetric.sdp.sdpa import read_sdpa

from ..harness.worker import Target, TimeLimitError
from .base import Baseline

#: Functions that open compressed files, by suffix.
COMPRESSED = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class SDPAnswer:
    """Answer of a program, in the form min <C, X>, <A_i, X> = b_i, X >= 0.

    Attributes
    ----------
    status : {"optimal", "primal_infeasible", "dual_infeasible", "not_converged"}
        The primal is that of the SDPA format, (P) min c'x. "optimal" is the program's own word for
        an answer at the full tolerance; with less accuracy it is "not_converged", and X, y and Z
        are given.
    X, Z : ndarrays of the cone's shape, or None
    y : ndarray of shape (n_constraints,), or None
        None where the program gave none, or NaN. If the file is infeasible they hold the proof:
        X >= 0 with A(X) near 0 and <C, X> = -1 if it is primal infeasible, y and Z near -A*(y)
        with b'y = 1 if it is dual infeasible.
    seconds : float
        Time of the steps that `detail["seconds_of"]` names.
    detail : dict
        "word" is the program's own word for its status; "iterations"; "primal" and "dual" are its
        own objectives of (P) and (D), in the sign of the SDPA format.
    """

    status: str
    X: np.ndarray | None
    y: np.ndarray | None
    Z: np.ndarray | None
    seconds: float
    detail: dict = field(default_factory=dict)


def no_arrays(problem):
    """Return the arrays and values of a program that reads the SDPA file itself."""
    return {}, {}


@dataclass(frozen=True, kw_only=True)
class SDPBaseline(Baseline):
    """A program that solves SDPA files."""

    # called with `file`, `tol`, `limit`, `threads` and what `write` returns; its detail has
    # "status" as in `SDPAnswer`
    target: Target
    write: Callable[[FrobeniusSDP], tuple] = no_arrays  # returns (arrays, values) for the target
    # (FrobeniusSDP, arrays of the target) -> X, y, Z, each of any shape
    read: Callable[[FrobeniusSDP, dict], tuple]
    # seconds to start and to write that the worker has beside the limit, if the program itself
    # keeps to the limit
    grace: float = 0.0

    def solve(self, path, *, tol=1e-6, limit=60.0, threads=2):
        """Solve a file in a worker.

        Parameters
        ----------
        path : path-like
            File in SDPA's sparse format; decompressed first if its suffix is .gz or .xz.
        tol : float
            Tolerance of the errors that the program itself measures.
        limit : float
            Seconds. A program with a limit of its own then answers "not_converged", any other is
            ended.
        threads : int

        Returns
        -------
        SDPAnswer

        Raises
        ------
        ProgramMissingError, TimeLimitError, ProgramFailedError
        """
        self.require()
        with tempfile.TemporaryDirectory(prefix="frobmetric-sdp-") as folder:
            file = plain_file(Path(path), Path(folder))
            problem = read_sdpa(file)
            arrays, values = self.write(problem)
            values |= {"file": str(file), "tol": tol, "limit": limit, "threads": threads}
            try:
                answer, detail = self.target.run(arrays, values, limit + self.grace, threads)
            except TimeLimitError:
                raise TimeLimitError(limit) from None
        status, seconds = detail.pop("status"), detail.pop("seconds")
        shapes = problem.cone.shape, problem.loss.target.shape, problem.cone.shape
        read = map(_finite, self.read(problem, answer), shapes)
        return _only_proof(SDPAnswer(status, *read, seconds, detail), problem)


def plain_file(path, folder):
    """Return the path of a file, or of its decompressed content in the folder."""
    if path.suffix not in COMPRESSED:
        return path.resolve(strict=True)
    plain = folder / path.stem
    with COMPRESSED[path.suffix](path) as packed, plain.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return plain


def _finite(array, shape):
    """Return an array in its shape; None if it is absent or not finite."""
    is_given = array is not None and np.isfinite(array).all()
    return array.reshape(shape) if is_given else None


def _only_proof(answer, problem):
    """Return the answer with nothing but the ray that proves it if it is infeasible."""
    if answer.status == "primal_infeasible":
        (X,) = _scaled(-problem.cost, answer.X, answer.X)
        return replace(answer, X=X, y=None, Z=None)
    if answer.status == "dual_infeasible":
        y, Z = _scaled(problem.loss.target, answer.y, answer.y, answer.Z)
        return replace(answer, X=None, y=y, Z=Z)
    return answer


def _scaled(weights, ray, *values):
    """Return multiples of the values for which <weights, ray> is one; None if there are none."""
    if ray is None or not np.vdot(weights, ray) > 0:
        return [None] * len(values)
    size = np.vdot(weights, ray)
    return [None if value is None else value / size for value in values]
