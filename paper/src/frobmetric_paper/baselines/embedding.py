"""Methods that embed points: Isomap, LLE, and maximum variance unfolding by frobmetric or CSDP.

CSDP has two formulations. With neighbours (i, j) at squared distances b_ij, the vector 1 of ones,
and X the Gram matrix of n points y_i:

    original     max tr X                 |y_i - y_j|^2 = b_ij,   1.T X 1 = 0
    well-posed   max tr X - 1.T X 1 / n   |y_i - y_j|^2 <= b_ij

The first is the one that MVU was published in. No positive definite X fulfils its last row, and
interior-point methods need one. In the second the mean is subtracted in the objective, and each
inequality has a slack of its own in a diagonal block. Where m_i samples coincide, row i and column
i of X and entry i of 1 belong to one of them, times the root of m_i.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from frobmetric.core import Equal, FrobeniusSDP, Sparse
from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.manifold.certificate import certify_unfolding
from frobmetric.manifold.graph import neighbor_graph
from frobmetric.manifold.methods.program import (
    UnfoldingProgram,
    feasible,
    gram_problem,
    principal_axes,
)
from frobmetric.sdp.sdpa import write_sdpa

from ..harness.worker import ProgramFailedError, Target
from . import debian
from .base import Baseline

#: Relative gap that frobmetric has to prove.
OUR_TOL = 1e-6
#: CSDP's default. On swiss rolls of 200 and 400 points 1e-6 takes about half the time, and then
#: proves a gap of 3e-4 instead of 4e-8 and 2e-5; at 500 points both prove no more than 1e-2.
CSDP_TOL = 1e-8
CSDP = next(each for each in debian.BASELINES if each.name == "csdp")


@dataclass(frozen=True, eq=False)
class Embedded:
    """Points in a space of few dimensions; methods that maximise the variance say more."""

    embedding: np.ndarray  # of shape (n_samples, n_components)
    seconds: float  # time of the method alone: no imports, no files
    objective: float | None = None  # the variance sum_i |y_i - mean|^2 in all dimensions
    certificate: dict | None = None  # "primal", "dual", "relative_gap" and "violation"
    spectrum: list | None = None  # variance along each principal axis, descending
    remark: str = ""  # warnings of the method


def as_dict(certificate):
    """Return the fields of a certificate that `Embedded` has."""
    names = "primal", "dual", "relative_gap", "violation"
    return {name: float(getattr(certificate, name)) for name in names}


@dataclass(frozen=True, kw_only=True)
class EmbeddingBaseline(Baseline):
    """A method that embeds points."""

    method: Callable[..., Embedded]  # called with the arguments of `embed`

    def embed(self, X, n_neighbors, n_components=2, limit=600.0, threads=1):
        """Embed points of shape (n_samples, n_features) by a method, ended after `limit` seconds.

        Raise ProgramMissingError, TimeLimitError or ProgramFailedError without an answer.
        """
        self.require()
        X = np.ascontiguousarray(X, dtype=np.float64)
        result = self.method(X, n_neighbors, n_components, limit, threads)
        if not np.isfinite(result.embedding).all():
            raise ProgramFailedError(f"{self.name} answered with NaN or infinity")
        return result


# Methods in Python


@dataclass(frozen=True)
class InWorker:
    """A method that a worker runs."""

    name: str  # "module:name" of a function that takes a task and returns the array Y and a detail
    parameters: dict = field(default_factory=dict)  # further values of the task

    def __call__(self, X, n_neighbors, n_components, limit, threads):
        values = {"n_neighbors": n_neighbors, "n_components": n_components} | self.parameters
        answer, detail = Target(self.name).run({"X": X}, values, limit, threads)
        known = {name: detail[name] for name in Embedded.__dataclass_fields__ if name in detail}
        return Embedded(answer["Y"], **known)


def warm_up(name):
    """Embed a few points: the first call of a method loads or compiles functions."""
    t = np.linspace(0, 6, 16)
    staircase = np.column_stack([np.cos(t), np.sin(t), t])
    globals()[name]({"X": staircase, "n_neighbors": 6, "n_components": 2, "sigma": None})


def by_isomap(task):
    """Embed by scikit-learn's Isomap."""
    return _fit(Isomap, task)[1:]


def by_lle(task):
    """Embed by scikit-learn's locally linear embedding."""
    return _fit(LocallyLinearEmbedding, task, random_state=0)[1:]


def by_frobmetric(task):
    """Embed by maximum variance unfolding; `sigma` is None for the exact problem."""
    model, answer, detail = _fit(MaximumVarianceUnfolding, task, sigma=task["sigma"], tol=OUR_TOL)
    return answer, detail | {
        "objective": float(model.eigenvalues_.sum()),
        "certificate": as_dict(model.certificate_),
        "spectrum": model.eigenvalues_.tolist(),
    }


def _fit(kind, task, **parameters):
    """Return the fitted model, the embedding, and its warnings as a remark."""
    model = kind(n_neighbors=task["n_neighbors"], n_components=task["n_components"], **parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Y = model.fit_transform(task["X"])
    texts = {str(each.message): None for each in caught if issubclass(each.category, UserWarning)}
    return model, {"Y": Y}, {"remark": "; ".join(texts)}


def perturbed(sigma):
    """Return the baseline for max tr X - |X|^2 / (2 sigma) by frobmetric."""
    name, label = f"ours_{power(sigma)}", f"ours (σ = {power(sigma)})"
    return _in_worker(name, label, "by_frobmetric", "FrobMetric", sigma=float(sigma))


def power(number):
    """Return a number as text with one digit: 1e5."""
    digit, exponent = f"{number:.0e}".split("e")
    return f"{digit}e{int(exponent)}"


# CSDP


@dataclass(frozen=True)
class Formulation:
    """Maximum variance unfolding by CSDP in one formulation."""

    name: str
    state: Callable  # NeighborGraph -> FrobeniusSDP, whose value is minus the variance
    prove: Callable  # (program, coordinates Y, multipliers w of edges) -> UnfoldingCertificate

    def __call__(self, X, n_neighbors, n_components, limit, threads):
        graph = neighbor_graph(X, n_neighbors)
        with tempfile.TemporaryDirectory(prefix="frobmetric-mvu-") as folder:
            file = Path(folder, "mvu.dat-s")
            write_sdpa(self.state(graph), file)
            answer = CSDP.solve(file, tol=CSDP_TOL, limit=limit, threads=threads)
        if answer.X is None or answer.y is None:
            word = answer.detail["word"] or answer.status
            raise ProgramFailedError(f"csdp gave no answer: {word}")
        program = UnfoldingProgram(graph)
        Y = coordinates(program, answer.X.ravel()[: graph.n_points**2])  # without the slacks
        spectrum = np.diag(program.scatter(Y))
        certificate = self.prove(program, Y, -answer.y[: program.n_edges])
        return Embedded(
            embedding=Y[graph.point_of, :n_components],
            seconds=answer.seconds,
            objective=float(spectrum.sum()),
            certificate=as_dict(certificate) if np.isfinite(certificate.dual) else None,
            spectrum=spectrum.tolist(),
            remark="" if answer.status == "optimal" else answer.detail["word"],
        )


def well_posed(graph):
    """Return the problem with inequalities, the mean subtracted in the objective."""
    return gram_problem(UnfoldingProgram(graph))


def original(graph):
    """Return the problem with equalities and the centring row."""
    problem, root = well_posed(graph), np.sqrt(graph.masses)
    centring = sp.csr_array(np.outer(root, root).reshape(1, -1))
    rows = Sparse(sp.vstack([problem.constraints.rows, centring]), problem.cone)
    target = Equal(np.append(graph.squared, 0.0))
    return FrobeniusSDP(rows, target, -np.eye(len(root)), sigma=np.inf)


def prove_inequalities(program, Y, w):
    """Return the certificate of the answer, scaled until it fulfils all inequalities."""
    return certify_unfolding(program, feasible(program, Y), np.maximum(w, 0))


def prove_equalities(program, Y, w):
    """Return a bound and the violation of the distances, which no scaling can mend."""
    return certify_unfolding(program, Y, w, constraints="equal")


def coordinates(program, X):
    """Return the points on their principal axes, without their mean, from their Gram matrix.

    X has its n_points**2 numbers, with row and column i times the root of mass i.
    """
    n, root = program.n_points, np.sqrt(program.masses)[:, None]
    values, vectors = np.linalg.eigh(X.reshape(n, n))
    return principal_axes(program, vectors * np.sqrt(np.maximum(values, 0)) / root)


def _in_worker(name, label, function, paper_name="", **parameters):
    method = InWorker(f"{__name__}:{function}", parameters)
    return EmbeddingBaseline(name=name, label=label, paper_name=paper_name, method=method)


def _by_csdp(name, label, method, paper_name=""):
    names = {"name": name, "label": label, "paper_name": paper_name}
    needs = {"missing": CSDP.missing, "install": CSDP.install}
    return EmbeddingBaseline(**names, method=method, **needs)


ORIGINAL = Formulation("original", original, prove_equalities)
WELL_POSED = Formulation("well-posed", well_posed, prove_inequalities)

BASELINES = (
    _in_worker("isomap", "Isomap", "by_isomap", "Isomap"),
    _in_worker("lle", "LLE", "by_lle", "LLE"),
    _in_worker("ours_exact", "ours (exact)", "by_frobmetric", sigma=None),
    _by_csdp("csdp_original", "CSDP (original)", ORIGINAL, "MVU"),
    _by_csdp("csdp_well_posed", "CSDP (well-posed)", WELL_POSED),
)
