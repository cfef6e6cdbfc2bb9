"""Histograms of words: of trajectories in sequences of skeletons, and in documents.

The paper describes videos by space-time interest points, learns a codebook of 4,000 words by
k-means and merges the words to 500 bins. Here trajectories of limbs replace the interest points;
only those that move most are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import normalize

from frobmetric.core.threads import one_thread
from frobmetric.neighbors import knn_error

from ..data.raw import load_word_counts
from .bottleneck import InformationBottleneck, indicator, joint_distribution, mutual_information

#: Joints of the skeleton: the root of each limb, and the joints along it.
LIMBS = {
    "right arm": (0, (7, 9, 11)),
    "left arm": (1, (8, 10, 12)),
    "right leg": (4, (13, 15, 17)),
    "left leg": (5, (14, 16, 18)),
    "trunk": (6, (3, 2, 19)),
}
#: Two joints whose distance is the size of the body.
NECK, HIP = 2, 6
#: Numbers of frames from one of the five positions of a trajectory to the next.
STEPS = (1, 2, 4)
#: Weight of movements relative to the position.
SPEED_WEIGHT = 2.0
#: Share of the trajectories of a sequence that are kept: those that move most.
KEPT = 0.15
#: Smallest number of trajectories for each word of a codebook.
PER_WORD = 3


# Sequences


def trajectories(frames):
    """Return the descriptors of one sequence: for each limb an array with a row per trajectory.

    A trajectory is the position of the limb's joints relative to its root, and their four
    movements before and after it, in body sizes: 45 numbers. Frames of zeros are ignored.
    """
    frames = frames[np.abs(frames).sum(axis=(1, 2)) > 0]
    if not len(frames):
        return [np.empty((0, 45)) for _ in LIMBS]
    size = np.median(np.linalg.norm(frames[:, NECK] - frames[:, HIP], axis=1))
    of_limbs = [
        _of_limb((frames[:, joints] - frames[:, [root]]).reshape(len(frames), -1) / size)
        for root, joints in LIMBS.values()
    ]
    cut = np.quantile(np.concatenate([speed for _, speed in of_limbs]), 1 - KEPT)
    return [descriptors[speed >= cut] for descriptors, speed in of_limbs]


def _of_limb(positions):
    """Return all trajectories of a limb at all steps, and the speed of each."""
    by_step = [_at_step(positions, step) for step in STEPS]
    return tuple(map(np.concatenate, zip(*by_step, strict=True)))


def _at_step(positions, step):
    n = len(positions)
    places = np.clip(np.arange(n)[:, None] + step * np.arange(-2, 3), 0, n - 1)
    moves = np.diff(positions[places], axis=1).reshape(n, -1)
    descriptors = np.hstack([positions, SPEED_WEIGHT / np.sqrt(step) * moves])
    return descriptors, np.linalg.norm(moves, axis=1) / step


@dataclass(frozen=True)
class Codebook:
    """Words for the trajectories of each limb: clusters of them in training sequences."""

    models: list  # one for each limb; None for a limb without trajectories

    @classmethod
    def learn(cls, sequences, n_words, seed):
        """Return the codebook of training sequences, each from `trajectories`.

        All limbs together have `n_words` words; fewer where there are few trajectories.
        """
        limbs = [np.concatenate(limb) for limb in zip(*sequences, strict=True)]
        with one_thread():
            return cls([_cluster(rows, n_words // len(LIMBS), seed) for rows in limbs])

    def histograms(self, sequences):
        """Return the counts of the words in each sequence, of shape (n_sequences, n_words)."""
        with one_thread():
            return np.array([np.concatenate(list(map(_count, self.models, s))) for s in sequences])


def _cluster(rows, n_words, seed):
    if not len(rows):
        return None
    n_words = max(1, min(n_words, len(rows) // PER_WORD))
    start = {"init": "random", "n_init": 1, "random_state": seed}
    steps = {"max_iter": 20, "batch_size": 4096, "reassignment_ratio": 0}
    return MiniBatchKMeans(n_words, **start, **steps).fit(rows)


def _count(model, rows):
    words = model.predict(rows) if model and len(rows) else np.empty(0, dtype=int)
    return np.bincount(words, minlength=model.n_clusters if model else 0)


def square_roots(counts):
    """Return the square roots of each row's shares, whose distance is that of Hellinger."""
    shares = normalize(counts, norm="l1")
    return shares.sqrt() if scipy.sparse.issparse(shares) else np.sqrt(shares)


# Documents


@dataclass(frozen=True)
class Merged:
    """Evaluation of one way to make bins of words."""

    way: str  # name of the way
    n_bins: int
    # remaining share of the mutual information of words and classes in the training part; words
    # that were not chosen count as one more bin
    information: float
    error: float  # error of 3-NN on the test part, in percent


def merged_words(n_bins=(500, 200, 100), *, n_documents=None, folder=None, seed=0):
    """Evaluate bins of the words of R8 that are merged, chosen or joined at random.

    3-NN compares square roots of shares; on held-out training documents this has 4.4 % of errors
    with all words, tf-idf 8.7 %. Of each part `n_documents` are taken, all by default. Return a
    list of Merged, the first one with all words.
    """
    data = load_word_counts("r8", folder=folder)
    train = data.X_train[:n_documents], data.y_train[:n_documents]
    test = data.X_test[:n_documents], data.y_test[:n_documents]
    made = {way: make(*train, n_bins, seed) for way, make in WAYS.items()}
    ways = [("all words", np.arange(data.X_train.shape[1]))]
    ways += [(way, labels[place]) for place in range(len(n_bins)) for way, labels in made.items()]
    return [_evaluate(way, labels, train, test) for way, labels in ways]


def _bottleneck(X, y, sizes, seed):
    """Fit once for all sizes: merges to many bins are the first of those to few."""
    merges = InformationBottleneck(n_bins=min(sizes)).fit(X, y).merges_
    return [_after(merges[: X.shape[1] - n], X.shape[1]) for n in sizes]


def _after(merges, n_words):
    """Return the bin of each word after these merges."""
    n_nodes = n_words + len(merges)
    ends = np.repeat(np.arange(n_words, n_nodes), 2), merges.ravel()
    tree = scipy.sparse.coo_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    return connected_components(tree, directed=False)[1][:n_words]


def _random(X, y, sizes, seed):
    order = np.random.default_rng(seed).permutation(X.shape[1])
    return [order % n for n in sizes]


def _frequent(X, y, sizes, seed):
    ranks = np.argsort(np.argsort(-X.sum(axis=0), kind="stable"))
    return [np.where(ranks < n, ranks, -1) for n in sizes]


#: Ways to few bins: (counts, classes, numbers of bins, seed) -> for each number of bins the bin
#: of each word, or -1.
WAYS = {
    "merged by the bottleneck": _bottleneck,
    "merged at random": _random,
    "most frequent words": _frequent,
}


def _evaluate(way, labels, train, test):
    (X, y), (X_test, y_test) = train, test
    n_bins = int(labels.max()) + 1
    bins = indicator(np.where(labels < 0, n_bins, labels))  # the last column is for no bin
    Z, Z_test = (square_roots(part @ bins[:, :n_bins]).toarray() for part in (X, X_test))
    error = 100 * knn_error(Z, y, Z_test, y_test)
    joint = joint_distribution(X, np.unique(y, return_inverse=True)[1])
    information = mutual_information(bins.T @ joint) / mutual_information(joint)
    return Merged(way, n_bins, information, error)
