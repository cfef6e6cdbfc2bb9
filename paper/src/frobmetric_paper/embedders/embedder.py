"""What all methods that embed points share: the interface, the answer, a process of its own.

A method written in Python reads `X.npy` and `task.json` from a folder and leaves `Y.npy` and
`detail.json` there. So it can be ended at a time limit, and has as many threads as it is given.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..rivals.processes import RivalFailed, run
from ..rivals.rival import Installable, do_nothing

#: The script that methods written in Python run in.
CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True, eq=False)
class Embedded:
    """Points in a space of few dimensions.

    Attributes
    ----------
    embedding : ndarray of shape (n_samples, n_components)
    seconds : float
        Of the method alone: no imports, no files.
    objective : float, optional
        The variance sum_i |y_i - mean|^2 in all dimensions, of methods that maximise it.
    certificate : dict, optional
        The fields of an `UnfoldingCertificate`.
    spectrum : list of float, optional
        The variance along each principal axis, falling; its sum is the objective.
    remark : str
        What is to be known of the answer; empty if it is as it should be.
    """

    embedding: np.ndarray
    seconds: float
    objective: float | None = None
    certificate: dict | None = None
    spectrum: list | None = None
    remark: str = ""


@dataclass(frozen=True)
class Embedder(Installable):
    """A method that embeds points.

    Attributes
    ----------
    name : str
        For files.
    label : str
        For people.
    method : callable
        (X, n_neighbors, n_components, limit, threads) -> Embedded.
    paper_name : str
        What the paper calls it; empty if the paper has it not.
    missing : callable
        () -> why it cannot run here, empty if it can.
    """

    name: str
    label: str
    method: Callable[..., Embedded]
    paper_name: str = ""
    missing: Callable[[], str] = do_nothing

    def embed(self, X, n_neighbors, n_components=2, limit=600.0, threads=1):
        """Embed the points.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        n_neighbors : int
        n_components : int
        limit : float
            Seconds after which the method is ended.
        threads : int
            Of numerical libraries.

        Returns
        -------
        Embedded

        Raises
        ------
        RivalMissing, TimeLimitExceeded, RivalFailed
        """
        self.require()
        X = np.ascontiguousarray(X, dtype=np.float64)
        return self.method(X, n_neighbors, n_components, limit, threads)


@dataclass(frozen=True)
class InProcess:
    """How a function `module:name` of this package embeds, in a process of its own.

    It is called with X, n_neighbors, n_components and the parameters, and returns the embedding
    and a dictionary of what else `Embedded` has.
    """

    target: str
    parameters: dict = field(default_factory=dict)

    def __call__(self, X, n_neighbors, n_components, limit, threads):
        numbers = {"n_neighbors": n_neighbors, "n_components": n_components} | self.parameters
        with tempfile.TemporaryDirectory(prefix="frobmetric-embed-") as folder:
            np.save(Path(folder, "X.npy"), X, allow_pickle=False)
            Path(folder, "task.json").write_text(json.dumps(numbers))
            command = [sys.executable, "-P", str(CHILD), folder, self.target]
            told = run(command, limit, threads)
            return _read_answer(Path(folder), told)


def _read_answer(folder, told):
    try:
        Y = np.load(folder / "Y.npy", allow_pickle=False)
        detail = json.loads((folder / "detail.json").read_text())
    except (OSError, ValueError) as error:
        raise RivalFailed(f"it left no answer: {error}; it said: {told}") from error
    if not np.isfinite(Y).all():
        raise RivalFailed(f"it answered with NaN or infinity; it said: {told}")
    return Embedded(Y, **detail)


def proven_fields(certificate):
    """Return the numbers of an unfolding's certificate that a result holds."""
    names = ("primal", "dual", "relative_gap", "violation")
    return {name: getattr(certificate, name) for name in names}
