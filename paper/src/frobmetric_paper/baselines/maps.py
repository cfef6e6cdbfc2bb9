"""Baselines that bend vectors which already mean something: ridge map, Adam matrix, NUDGE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..harness.worker import Target
from .base import Baseline
from .environment import Environment

#: Environment of the programs that need PyTorch, and their file.
TORCH = Environment("torch", ("torch==2.13.0", "nudge-ft==0.1.2", "numpy"))
PROGRAMS = Path(__file__).with_name("torch_programs.py")
#: Ridge map: weights of the distance to the identity.
PULLS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
#: Adam: the recipe of OpenAI's cookbook tries three settings of 30 epochs with a dropout of 0.2 and
#: takes the best epoch. A step of 1e-2 was tried on eleven tasks and never chosen.
ADAM = {"strengths": (1, 3, 10, 30), "batch_size": 100, "dropout": 0.2}
#: NUDGE-N keeps unit length; gamma bounds the squared step, and the package tries 0 to 0.48.
#: NUDGE-M makes steps of length gamma, and documents are compared by the inner product.
NUDGES = (
    {"variant": "NUDGEN", "strengths": (0.0, 0.02, 0.06, 0.12, 0.24, 0.48)},
    {"variant": "NUDGEM", "strengths": (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)},
)


@dataclass(frozen=True, kw_only=True)
class MapBaseline(Baseline):
    """A program that learns a map of vectors, or moves them, with several strengths at once.

    `learns_from` says which arrays `fit` needs:

        "pairs"     first, second of shape (n_pairs, n_features), similarity in [-1, 1]
        "targets"   inputs, targets of shape (n, n_features), weight of shape (n,)
        "answers"   documents, queries of shape (n, n_features), answers of shape (m, 2): rows
                    (query, document) of which the document answers the query

    The answer has an array for each value of the parameter `strengths`, in the same order.
    """

    target: Target
    learns_from: str
    # families of candidates: other parameters, each with all `strengths` of one learning
    families: tuple[dict, ...] = ()
    missing: Callable[[], str] | None = None  # by default the packages that are not installed

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "missing", self.missing or self.target.missing)

    def fit(self, arrays, parameters, *, limit=600.0, seed=0, threads=None):
        """Return the learned arrays, one for each strength, and a detail with "seconds"."""
        self.require()
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        values = {"parameters": parameters, "seed": seed}
        answer, detail = self.run(self.target, arrays, values, limit, threads)
        return [answer[str(k)] for k in range(len(parameters["strengths"]))], detail


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
    MapBaseline(
        name="adam_matrix",
        label="Adam matrix",
        target=Target(f"{PROGRAMS}:train_matrix", ("torch",), TORCH.python),
        learns_from="pairs",
        families=tuple(ADAM | {"learning_rate": rate} for rate in (1e-4, 1e-3)),
        missing=TORCH.missing,
        install=TORCH.install,
    ),
    MapBaseline(
        name="nudge",
        label="NUDGE",
        target=Target(f"{PROGRAMS}:move_documents", ("torch", "nudge"), TORCH.python),
        learns_from="answers",
        families=NUDGES,
        missing=TORCH.missing,
        install=TORCH.install,
    ),
)
