"""Ridge map: the linear map nearest to the identity that takes vectors to their targets."""

from __future__ import annotations

import numpy as np

from ..harness.worker import Target
from .maps import MapBaseline

#: Weights of the distance to the identity.
PULLS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def learn_ridge(task):
    """Return for each pull the W that minimises |X W - T|^2 + pull |W - I|^2.

    Rows of X and T are weighted. All pulls share one eigen-decomposition of X.T X.
    """
    X, T = task["inputs"], task["targets"]
    weighted = X * task["weight"][:, None]
    values, vectors = np.linalg.eigh(weighted.T @ X)
    # in W = I + V: (X'X + pull) V = X'(T - X)
    right = vectors.T @ (weighted.T @ (T - X))
    identity = np.eye(X.shape[1])
    maps = {
        str(k): identity + vectors @ (right / (values + pull)[:, None])
        for k, pull in enumerate(task["parameters"]["strengths"])
    }
    return maps, {}


BASELINES = (
    MapBaseline(
        name="ridge_map",
        label="ridge map",
        target=Target(f"{__name__}:learn_ridge", ("numpy",)),
        learns_from="targets",
        families=({"strengths": PULLS, "side": "both"}, {"strengths": PULLS, "side": "query"}),
    ),
)
