"""What all programs that solve SDPA files share: the interface, the answer, the time limit.

An SDPA file states (P) min c'x, sum_i x_i F_i - F0 >= 0, and (D) max <F0, Y>, <F_i, Y> = c_i,
Y >= 0. frobmetric has it as min <C, X>, <A_i, X> = b_i, X >= 0, whose dual is to maximise b'y with
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

from ..rivals.processes import RivalFailed, TimeLimitExceeded, run
from ..rivals.rival import Installable, do_nothing

#: What opens a compressed file, by its suffix.
COMPRESSED = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class SDPTask:
    """What a program is given: a folder of its own, the file without compression, the numbers."""

    folder: Path
    file: Path
    problem: FrobeniusSDP
    tol: float
    limit: float
    threads: int


@dataclass(frozen=True)
class SDPAnswer:
    """What a program said of a file, in the form min <C, X>, <A_i, X> = b_i, X >= 0.

    Attributes
    ----------
    status : {"optimal", "primal_infeasible", "dual_infeasible", "not_converged"}
        The primal is that of the SDPA format, (P) min c'x. "optimal" is the program's own word for
        an answer at the full tolerance; one at less is "not_converged", and X, y and Z are there.
    X, Z : ndarrays of the cone's shape, or None
    y : ndarray of shape (n_constraints,), or None
        None where the program gave none, or NaN. If the file is infeasible they hold what shows
        it: X >= 0 with A(X) near 0 and <C, X> = -1 of a primal infeasible one, y and
        Z near -A*(y) with b'y = 1 of a dual infeasible one.
    seconds : float
        Of what `detail["seconds_of"]` names.
    detail : dict
        "word" is the program's own for its status; "iterations"; "primal" and "dual" are its own
        objectives, those of (P) and (D) in the sign of the SDPA format.
    """

    status: str
    X: np.ndarray | None
    y: np.ndarray | None
    Z: np.ndarray | None
    seconds: float
    detail: dict = field(default_factory=dict)


@dataclass(frozen=True)
class SDPRival(Installable):
    """A program that solves SDPA files.

    Attributes
    ----------
    name : str
    needs : str
        What has to be installed, and how.
    command : callable
        SDPTask -> the command line that does it, the files that it reads being written.
    read : callable
        SDPTask -> SDPAnswer, from what the command left; its arrays may be flat.
    missing : callable
        () -> why it cannot run here, empty if it can.
    install : callable
        () -> None; what `python -m frobmetric_paper.sdp_rivals.setup` does for it.
    grace : float
        Seconds to start and to write that its process has beside the limit, if the program itself
        keeps to the limit.
    """

    name: str
    needs: str
    command: Callable[[SDPTask], list[str]]
    read: Callable[[SDPTask], SDPAnswer]
    missing: Callable[[], str] = do_nothing
    install: Callable[[], object] = do_nothing
    grace: float = 0.0

    def solve(self, path, tol=1e-6, limit=60.0, threads=2):
        """Solve the file in a process of its own.

        Parameters
        ----------
        path : path-like
            In SDPA's sparse format; decompressed first if it ends in .gz or .xz.
        tol : float
            For each of the errors that the program judges itself by.
        limit : float
            Seconds. A program with a limit of its own answers "not_converged" then, any other is
            ended.
        threads : int

        Returns
        -------
        SDPAnswer

        Raises
        ------
        RivalMissing, TimeLimitExceeded, RivalFailed
        """
        self.require()
        with tempfile.TemporaryDirectory(prefix="frobmetric-sdp-") as folder:
            file = plain_file(Path(path), Path(folder))
            task = SDPTask(Path(folder), file, read_sdpa(file), tol, limit, threads)
            told = self._run(task)
            try:
                answer = self.read(task)
            except (OSError, ValueError) as error:
                raise RivalFailed(
                    f"{self.name} left no answer: {error}; it said: {told}"
                ) from error
        answer = replace(answer, detail=answer.detail | {"threads": threads, "told": told})
        return _shown(_shaped(answer, task.problem), task.problem)

    def _run(self, task):
        try:
            return run(self.command(task), task.limit + self.grace, task.threads)
        except TimeLimitExceeded:
            raise TimeLimitExceeded(task.limit) from None


def plain_file(path, folder):
    """The file itself, or what a compressed one holds, written to the folder."""
    if path.suffix not in COMPRESSED:
        return path.resolve(strict=True)
    plain = folder / path.stem
    with COMPRESSED[path.suffix](path) as packed, plain.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return plain


def _shaped(answer, problem):
    """In the shapes of the problem; None instead of NaN."""
    shapes = {"X": problem.cone.shape, "y": problem.loss.target.shape, "Z": problem.cone.shape}
    given = {name: getattr(answer, name) for name in shapes}
    return replace(
        answer,
        **{
            name: value.reshape(shapes[name])
            if value is not None and np.isfinite(value).all()
            else None
            for name, value in given.items()
        },
    )


def _shown(answer, problem):
    """With an infeasible status only the ray that shows it."""
    if answer.status == "primal_infeasible":
        (X,) = _scaled(-problem.cost, answer.X, answer.X)
        return replace(answer, X=X, y=None, Z=None)
    if answer.status == "dual_infeasible":
        y, Z = _scaled(problem.loss.target, answer.y, answer.y, answer.Z)
        return replace(answer, X=None, y=y, Z=Z)
    return answer


def _scaled(weights, ray, *values):
    """The values by that multiple which brings <weights, ray> to one; None if there is none."""
    if ray is None or not np.vdot(weights, ray) > 0:
        return [None] * len(values)
    size = np.vdot(weights, ray)
    return [None if value is None else value / size for value in values]
