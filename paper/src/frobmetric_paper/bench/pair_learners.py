"""Which way PairFrobMetric should take from pairs to a metric: by a threshold or by triplets.

    python benchmarks/pair_learners.py [--folder DIR] [--only digits lfw] [--seeds 5] [--quick]

Pairs are drawn from labelled sets: of classes that the test has too (other samples of them) or of
other classes; balanced (half of them similar) or at random, as they come. On faces they are those
of LFW's View 1. Every C of a grid is fitted; "chosen" is the one with the largest area under the
ROC curve on further pairs of the training samples, a third as many. The test has pairs drawn in
the same manner, and each method is also seen at every fixed C. A run adds what
benchmarks/results/pair_learners.json does not have yet; pair_learners.md is written from all of it.
"""

import argparse
import json
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from frobmetric import PairFrobMetric, TripletFrobMetric
from frobmetric.metric import pairs as pair_module
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.metric.triplets import triplets_from_pairs
from frobmetric.neighbors import best_threshold

from ..baselines import METRIC, ProgramFailedError
from ..baselines.ldml import learn_from_pairs
from ..data import labelled as datasets
from ..data.pairs import load_faces
from .pair_learners_report import write
from .record import run_record

RESULTS = Path(__file__).parents[3] / "results"
GRID = (1e0, 1e1, 1e2, 1e3, 1e4, 1e6)
#: For variants of the two ways, and for a reference that needs more than pairs.
MIDDLE, SHORT = (1e1, 1e2, 1e3, 1e4), (1e2, 1e4)
GAMMAS = (1.0, 0.1, 10.0)
SIZES = (200, 1000, 5000)
#: Sets of few samples have fewer pairs; of three classes, none can be kept for the test.
SMALL = ("iris", "wine")
LARGE = ("digits", "usps", "letters")
SETS = (*SMALL, *LARGE, "lfw")
#: At most so many samples for either part, and principal components.
N_SAMPLES, N_COMPONENTS = 1000, 60
N_TEST = 3000
#: Classes of the test, and how pairs are drawn.
PROTOCOLS = (("seen", "balanced"), ("seen", "random"), ("unseen", "balanced"))


@dataclass(frozen=True)
class Pairs:
    """Rows of X that are compared, and whether they are similar (+1) or not (-1)."""

    index: np.ndarray
    kind: np.ndarray

    def weights(self):
        """With which similar and dissimilar pairs count equally."""
        n_similar = np.sum(self.kind > 0)
        return np.where(self.kind > 0, 1 / n_similar, 1 / (len(self.kind) - n_similar))


@dataclass(frozen=True)
class Task:
    """Pairs to learn from, to choose C by, and to be judged by."""

    X: np.ndarray
    identity: np.ndarray
    train: Pairs
    validation: Pairs
    test: Pairs


# The data


def load(name, folder, seed):
    """X and y of a labelled set, its rows shuffled."""
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
        X = StandardScaler().fit_transform(X) if name == "wine" else X
    else:
        split = datasets.load(name, seed=0, folder=folder)
        X, y = np.vstack([split.X_train, split.X_test]), np.append(split.y_train, split.y_test)
    rows = np.random.default_rng(seed).permutation(len(y))
    return X[rows].astype(np.float64), y[rows]


def parts(y, classes, rng):
    """Rows to learn from and rows to be tested on."""
    if classes == "seen":
        half = len(y) // 2
        return np.arange(half)[:N_SAMPLES], np.arange(half, len(y))[:N_SAMPLES]
    known = rng.permutation(np.unique(y))[: len(np.unique(y)) // 2]
    is_known = np.isin(y, known)
    return np.flatnonzero(is_known)[:N_SAMPLES], np.flatnonzero(~is_known)[:N_SAMPLES]


def draw(X, y, rows, n_pairs, manner, rng):
    """Distinct pairs of different points."""
    first, second = np.triu_indices(len(rows), 1)
    take = rng.permutation(len(first))[: 60 * n_pairs]
    index = np.column_stack([rows[first[take]], rows[second[take]]])
    index = index[(X[index[:, 0]] != X[index[:, 1]]).any(axis=1)]
    same = y[index[:, 0]] == y[index[:, 1]]
    if manner == "balanced":
        half = min(n_pairs // 2, same.sum(), (~same).sum())
        chosen = np.append(np.flatnonzero(same)[:half], np.flatnonzero(~same)[:half])
        index, same = index[chosen], same[chosen]
    order = rng.permutation(len(index))[:n_pairs] if manner == "balanced" else slice(n_pairs)
    return Pairs(index[order], np.where(same[order], 1, -1))


def drawn_task(name, classes, manner, size, seed, folder):
    rng = np.random.default_rng([seed, size])
    X, y = load(name, folder, seed)
    known, other = parts(y, classes, rng)
    if X.shape[1] > N_COMPONENTS:
        X = PCA(N_COMPONENTS, random_state=0).fit(X[known]).transform(X)
    X = at_unit_scale(X, known)
    learn = draw(X, y, known, size + size // 3, manner, rng)
    cut = 3 * len(learn.kind) // 4
    train, validation = (
        Pairs(learn.index[part], learn.kind[part]) for part in (slice(cut), slice(cut, None))
    )
    return Task(X, y, train, validation, draw(X, y, other, N_TEST, manner, rng))


def face_task(folder, seed, n_components=100):
    """View 1; a quarter of its training pairs, another one for each seed, is to choose C by."""
    faces = load_faces("lfw", folder=folder)
    known, rows = (
        np.unique(faces.view1_train.index),
        np.unique(np.append(faces.view1_train.index, faces.view1_test.index)),
    )
    X = np.sqrt(faces.X[rows].astype(np.float32))
    axes = PCA(n_components, svd_solver="covariance_eigh").fit(X[np.searchsorted(rows, known)])
    X = at_unit_scale(axes.transform(X).astype(np.float64), np.searchsorted(rows, known))
    learn, test = (
        Pairs(np.searchsorted(rows, pairs.index), np.where(pairs.same, 1, -1))
        for pairs in (faces.view1_train, faces.view1_test)
    )
    order = np.random.default_rng(seed).permutation(len(learn.kind))
    cut = 3 * len(order) // 4
    train, validation = (
        Pairs(learn.index[part], learn.kind[part]) for part in (order[:cut], order[cut:])
    )
    return Task(X, faces.person[rows], train, validation, test)


def at_unit_scale(X, known):
    """As all rivals of the paper's tables are given it: one number for all features."""
    return (X - X[known].mean(axis=0)) / unit_mean_square(X[known])[1]


# The methods: (task, parameter) -> a map, and what is known of the run


@contextmanager
def yardstick(length):
    """Another length of the yardstick of `strategy="threshold"`."""
    before, pair_module.YARDSTICK = pair_module.YARDSTICK, length
    try:
        yield
    finally:
        pair_module.YARDSTICK = before


def by_threshold(length=1.0, is_balanced=False, **options):
    def learn(task, C):
        weight = task.train.weights() if is_balanced else None
        with yardstick(length):
            model = PairFrobMetric(
                preprocessor=task.X, strategy="threshold", C=C, keep_dual=True, **options
            )
            model.fit(task.train.index, task.train.kind, sample_weight=weight)
        return told(model) | {"learned_threshold": model.learned_threshold_}

    return learn


def by_triplets(task, C):
    model = PairFrobMetric(preprocessor=task.X, strategy="triplets", C=C, keep_dual=True)
    return told(model.fit(task.train.index, task.train.kind))


def by_known_triplets(task, C):
    """With identities, which pairs alone do not tell: third points of any other class."""
    rows, index = np.unique(task.train.index, return_inverse=True)
    index = index.reshape(-1, 2)
    found = triplets_from_pairs(task.X[rows], index, task.train.kind, identity=task.identity[rows])
    return told(TripletFrobMetric(preprocessor=task.X[rows], C=C, keep_dual=True).fit(found))


def told(model):
    return {
        "L": model.components_.T,
        "gap": model.certificate_.relative_gap,
        "n_iter": model.n_iter_,
        "n_rows": model.triplets_.n_triplets,
    }


def by_likelihood(task, _):
    L, _, detail = learn_from_pairs(task.X, task.train.index, np.where(task.train.kind > 0, 1, -1))
    return {"L": L, "gap": detail["gap"]}


def by_itml(task, gamma):
    y = np.where(task.train.kind > 0, 1, -1)
    found = METRIC["itml_pairs"].fit(
        task.X,
        pairs=(task.train.index, y),
        limit=120.0,
        threads=1,
        parameters={"gamma": gamma, "max_iter": 100},
    )
    return {"L": found.L, "seconds": found.seconds}


#: Name -> how it learns, from which values of its parameter, and for which manner of pairs.
METHODS = {
    "Euclid": (lambda task, _: {"L": np.eye(task.X.shape[1])}, (None,), None),
    "threshold": (by_threshold(), GRID, None),
    "threshold, equal kinds": (by_threshold(is_balanced=True), MIDDLE, "random"),
    "threshold, prior identity": (by_threshold(prior="identity"), MIDDLE, None),
    "threshold, yardstick 0.3": (by_threshold(0.3), MIDDLE, None),
    "triplets": (by_triplets, GRID, None),
    "triplets, identities known": (by_known_triplets, SHORT, None),
    "LDML": (by_likelihood, (None,), None),
    "ITML": (by_itml, GAMMAS, None),
}

#: Slower than ours: one run, and no more than some thousand pairs.
RIVALS = ("LDML", *(["ITML"] if METRIC["itml_pairs"].is_available() else []))


def measure(task, learn, parameter):
    """One fit: its areas on validation and test pairs, accuracy, seconds and how it ended."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = learn(task, parameter)
        except (ValueError, ProgramFailedError) as error:
            return {"parameter": parameter, "failed": str(error)[:200]}
    found.setdefault("seconds", time.perf_counter() - start)
    L = found.pop("L")
    scores = [score(task.X, L, part.index) for part in (task.train, task.validation, task.test)]
    limit = best_threshold(scores[0], task.train.kind)[0]
    return found | {
        "parameter": parameter,
        "validation": area(task.validation, scores[1]),
        "auc": area(task.test, scores[2]),
        "accuracy": float(np.mean((scores[2] >= limit) == (task.test.kind > 0))),
        "rank": int(L.shape[1] if L.any() else 0),
        "warned": sum(issubclass(w.category, ConvergenceWarning) for w in caught),
    }


def score(X, L, index):
    return -np.linalg.norm((X[index[:, 0]] - X[index[:, 1]]) @ L, axis=1)


def area(pairs, scores):
    return float(roc_auc_score(pairs.kind > 0, scores))


# Which tasks


def cells(options):
    """(set, classes, manner, number of pairs, seed), all sets of a seed before the next."""
    for seed in range(options.seeds):
        for name in options.only:
            if name == "lfw":
                yield name, "unseen", "balanced", 2200, seed
                continue
            for size in options.sizes:
                if name in SMALL and size > max(SIZES[:2]):
                    continue
                for classes, manner in PROTOCOLS[: 2 if name in SMALL else 3]:
                    yield name, classes, manner, size, seed


def run_cell(cell, folder, rivals):
    name, classes, manner, size, seed = cell
    if name == "lfw":
        task = face_task(folder, seed)
    else:
        task = drawn_task(name, classes, manner, size, seed, folder)
    found = {}
    for method, (learn, values, only) in METHODS.items():
        if only not in (None, manner) or (method in RIVALS and method not in rivals):
            continue
        found[method] = [measure(task, learn, value) for value in values]
    counts = {part: len(getattr(task, part).kind) for part in ("train", "validation", "test")}
    share = float(np.mean(task.train.kind > 0))
    names = ("set", "classes", "manner", "size", "seed")
    return dict(zip(names, cell, strict=True)) | {
        "n_pairs": counts,
        "similar": share,
        "n_features": task.X.shape[1],
        "methods": found,
    }


def main():
    options = _options()
    path = RESULTS / options.file
    kept = json.loads(path.read_text()) if path.exists() else {"runs": [], "cells": []}
    done = {_key(row) for row in kept["cells"]}
    end, is_first = time.monotonic() + 60 * options.minutes, True
    for cell in cells(options):
        if "/".join(map(str, cell)) in done:
            continue
        if time.monotonic() > end:
            sys.stderr.write("time is up; the same command goes on from here\n")
            break
        start = time.perf_counter()
        rivals = RIVALS if cell[3] <= 2200 and cell[4] == 0 else ()
        kept["cells"].append(run_cell(cell, options.folder, rivals))
        if is_first:
            kept["runs"], is_first = [*kept["runs"], run_record()], False
        path.write_text(json.dumps(kept))
        sys.stderr.write(f"{cell} {time.perf_counter() - start:.1f} s\n")
    write(kept, path.with_suffix(".md"))


def _key(row):
    return "/".join(str(row[name]) for name in ("set", "classes", "manner", "size", "seed"))


def _options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no cell later")
    parser.add_argument("--quick", action="store_true", help="iris and 200 pairs of digits, 2 runs")
    parser.add_argument("--file", default="pair_learners.json", help="in benchmarks/results")
    options = parser.parse_args()
    if options.quick:
        options.only, options.seeds, options.sizes = ["iris", "digits"], 2, [200]
        options.file = "pair_learners_quick.json"
    return options


if __name__ == "__main__":
    main()
