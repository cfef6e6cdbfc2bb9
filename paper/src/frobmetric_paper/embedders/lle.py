"""Locally linear embedding, as scikit-learn has it."""

from __future__ import annotations

from .embedder import Embedder, InProcess


def embed(X, n_neighbors, n_components):
    """The embedding, and nothing else to tell."""
    from sklearn.manifold import LocallyLinearEmbedding

    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors, n_components=n_components, random_state=0
    )
    return model.fit_transform(X), {}


EMBEDDER = Embedder("lle", "LLE", InProcess(f"{__name__}:embed"), "LLE")
