"""Isomap, as scikit-learn has it."""

from __future__ import annotations

from .embedder import Embedder, InProcess


def embed(X, n_neighbors, n_components):
    """The embedding, and nothing else to tell."""
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=n_neighbors, n_components=n_components).fit_transform(X), {}


EMBEDDER = Embedder("isomap", "Isomap", InProcess(f"{__name__}:embed"), "Isomap")
