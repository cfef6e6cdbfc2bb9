"""Maximum variance unfolding by frobmetric: the paper's perturbed problem, and the exact one."""

from __future__ import annotations

from .embedder import Embedder, InProcess, proven_fields

#: Relative gap to prove.
TOL = 1e-6


def embed(X, n_neighbors, n_components, sigma):
    """The embedding, its variance and the proof; sigma is None for the exact problem."""
    from frobmetric.manifold import MaximumVarianceUnfolding

    model = MaximumVarianceUnfolding(
        n_components=n_components, n_neighbors=n_neighbors, sigma=sigma, tol=TOL, random_state=0
    )
    Y = model.fit_transform(X)
    return Y, {
        "objective": float(model.eigenvalues_.sum()),
        "certificate": proven_fields(model.certificate_),
        "spectrum": model.eigenvalues_.tolist(),
    }


def perturbed(sigma):
    """The embedder for max tr X - |X|^2 / (2 sigma)."""
    parameters = {"sigma": float(sigma)}
    return Embedder(
        f"ours_{power(sigma)}",
        f"ours (σ = {power(sigma)})",
        InProcess(TARGET, parameters),
        "FrobMetric",
    )


def power(number):
    """A number with one digit, as people write it: 1e5."""
    digit, exponent = f"{number:.0e}".split("e")
    return f"{digit}e{int(exponent)}"


TARGET = f"{__name__}:embed"
EXACT = Embedder("ours_exact", "ours (exact)", InProcess(TARGET, {"sigma": None}))
