"""How pairs of faces are scored in a learned space, and what is right of the decisions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from frobmetric.neighbors import MarginalizedKNN, best_threshold

#: Begins the names of rules that count neighbours; their number follows.
COUNTING = "mknn-"
#: Numbers of neighbours to choose from.
NEIGHBORS = (20, 50, 100, 150, 200)
#: Digits of a score that are kept.
DIGITS = 6


@dataclass(frozen=True)
class Judged:
    """How a rule decides about test pairs.

    Attributes
    ----------
    accuracy : float
        Share of test pairs that are right.
    area : float
        Below the ROC of the test pairs.
    threshold : float
        Scores from here on are called one person; the best for the held-out training pairs.
    held_out : float
        Share of these that it decides right.
    scores : list of float
        Of the test pairs, in their order.
    """

    accuracy: float
    area: float
    threshold: float
    held_out: float
    scores: list = field(default_factory=list, repr=False)


def score(W, split, pairs, neighbors=NEIGHBORS):
    """Scores of pairs by each rule: the higher, the more alike.

    Parameters
    ----------
    W : ndarray of shape (n_images, n_dimensions)
        Images in the learned space.
    split : Split
        Its known images are the reference of marginalised k-NN; they also say what the mean is,
        about which cosines are, and the unit of distances: their mean squared norm about it.
    pairs : FacePairs
        Of people that are not known.
    neighbors : tuple of int

    Returns
    -------
    dict of ndarrays of shape (n_pairs,)
    """
    W = W - W[split.known].mean(axis=0)
    size = np.sqrt(np.square(W[split.known]).sum(axis=1).mean())
    W = W / size if size else W
    first, second = W[pairs.index[:, 0]], W[pairs.index[:, 1]]
    found = {
        "distance": -np.square(first - second).sum(axis=1),
        "cosine": (normalize(first) * normalize(second)).sum(axis=1),
    }
    return found | _count(W, split, pairs, neighbors)


def _count(W, split, pairs, neighbors):
    """Marginalised k-NN among the known images, none of which shows a person of the pairs.

    The more images are known, the rarer is it that neighbours of two images show one person: the
    probability is multiplied by their number, or a threshold from fewer would be too high.
    """
    both = W[pairs.index]
    return {
        f"{COUNTING}{k}": len(split.known)
        * MarginalizedKNN(n_neighbors=k).fit(W[split.known], split.identity).pair_score(both)
        for k in neighbors
    }


def judge(test, same, held_out, held_out_same):
    """What each rule decides, with thresholds from pairs that were not learned from.

    Parameters
    ----------
    test, held_out : dict of ndarrays
        Name of a rule -> scores.
    same, held_out_same : bool ndarrays

    Returns
    -------
    dict of Judged
    """
    return {
        name: _judge(scores, same, held_out[name], held_out_same) for name, scores in test.items()
    }


def _judge(scores, same, held_out, held_out_same):
    threshold = best_threshold(held_out, np.where(held_out_same, 1, -1))[0]
    return Judged(
        float(np.mean((scores >= threshold) == same)),
        float(roc_auc_score(same, scores)),
        threshold,
        float(np.mean((held_out >= threshold) == held_out_same)),
        [float(f"{value:.{DIGITS}g}") for value in scores],
    )
