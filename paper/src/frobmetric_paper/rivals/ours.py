"""frobmetric's own learners in a process of their own, with their certificate."""

from __future__ import annotations

import numpy as np

from frobmetric.metric.frob import FrobMetric
from frobmetric.metric.sets import triplets_from_arrays
from frobmetric.metric.triplets import mine_triplets

#: What the triplets' neighbour lists are called among the arrays of a task.
PREFIX = "triplets."


def fit(model, task):
    """L and the certificate of one of our estimators, from what the task has."""
    model.fit(task["X"], task.get("y"), **_given(task))
    rank = max(1, model.rank_)
    certificate = model.certificate_
    return np.ascontiguousarray(model.components_[:rank].T), {
        "relative_gap": float(certificate.relative_gap),
        "primal": float(certificate.primal),
        "dual": float(certificate.dual),
        "rank": int(model.rank_),
        "status": model.status_,
        "steps": int(model.n_iter_),
        "n_triplets": int(model.n_triplets_),
    }


def _given(task):
    lists = {
        name.removeprefix(PREFIX): array for name, array in task.items() if name.startswith(PREFIX)
    }
    return {"triplets": triplets_from_arrays(lists)} if lists else {}


def load_compiled():
    """Learn from a few samples: the first call of compiled functions loads or compiles them."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    y = np.arange(24) % 2
    for triplets in (mine_triplets(X, y), mine_triplets(X, y).to_array()):
        FrobMetric(C=10.0).fit(X, triplets=triplets)
