"""The two strategies of PairFrobMetric, by a threshold and by triplets, beside other learners.

Pairs are drawn from labelled sets: of classes that the test has too (other samples of them) or of
other classes; balanced (half of them similar) or at random, as they come. On faces they are those
of LFW's View 1. Every C of a grid is fitted; "chosen" is the one with the largest area under the
ROC curve on further pairs of the training samples, a third as many.
"""

import time
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from frobmetric import PairFrobMetric, TripletFrobMetric, triplets_from_pairs
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.neighbors import best_threshold

from ..baselines import METRIC, ProgramFailedError, TimeLimitError
from ..data import labelled
from ..data.pairs import load_faces
from ..harness.benchmark import Benchmark, Options
from .pair_tables import GRID, GROUP, MIDDLE, pair_page

#: Values of C of a reference that needs more than pairs.
SHORT = (1e2, 1e4)
#: What tells one task from another.
CELL = (*GROUP, "seed")
SIZES = (200, 1000, 5000)
#: Sets of few samples have fewer pairs; with three classes, none can be left to the test.
SMALL = {"iris": load_iris, "wine": load_wine}
LARGE = ("digits", "usps", "letters")
#: Largest number of samples of either part, principal components, and test pairs.
N_SAMPLES, N_COMPONENTS, N_TEST = 1000, 60, 3000
#: Classes of the test, and how pairs are drawn.
PROTOCOLS = (("seen", "balanced"), ("seen", "random"), ("unseen", "balanced"))
#: Largest number of pairs for the other learners, which are slower.
MOST_FOR_OTHERS = 2200


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows of X, and +1 where they are similar, -1 where they are not."""

    index: np.ndarray
    y: np.ndarray

    def take(self, rows):
        """Return some of the pairs."""
        return Pairs(self.index[rows], self.y[rows])


@dataclass(frozen=True)
class Task:
    """Pairs to learn from, to choose C by, and to test with."""

    X: np.ndarray
    identity: np.ndarray
    train: Pairs
    validation: Pairs
    test: Pairs


# The data


def load_samples(name, folder, seed):
    """Return X and y of a labelled set, its rows shuffled."""
    loaders = SMALL | {"digits": load_digits}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
        X = StandardScaler().fit_transform(X) if name == "wine" else X
    else:
        split = labelled.load(name, seed=0, folder=folder)
        X, y = np.vstack([split.X_train, split.X_test]), np.append(split.y_train, split.y_test)
    rows = np.random.default_rng(seed).permutation(len(y))
    return X[rows].astype(np.float64), y[rows]


def split_rows(y, classes, rng):
    """Return rows to learn from and rows to test on."""
    is_known = np.arange(len(y)) < len(y) // 2
    if classes == "unseen":
        is_known = np.isin(y, rng.permutation(np.unique(y))[: len(np.unique(y)) // 2])
    return np.flatnonzero(is_known)[:N_SAMPLES], np.flatnonzero(~is_known)[:N_SAMPLES]


def draw_pairs(X, y, rows, n_pairs, manner, rng):
    """Return distinct pairs of different points."""
    first, second = np.triu_indices(len(rows), 1)
    take = rng.permutation(len(first))[: 60 * n_pairs]
    index = np.column_stack([rows[first[take]], rows[second[take]]])
    index = index[(X[index[:, 0]] != X[index[:, 1]]).any(axis=1)]
    same = y[index[:, 0]] == y[index[:, 1]]
    pairs = Pairs(index, np.where(same, 1, -1))
    if manner == "random":
        return pairs.take(slice(n_pairs))
    half = min(n_pairs // 2, same.sum(), (~same).sum())
    chosen = np.append(np.flatnonzero(same)[:half], np.flatnonzero(~same)[:half])
    return pairs.take(rng.permutation(chosen))


def make_task(name, classes, manner, size, seed, folder):
    """Draw the pairs of a task from a labelled set."""
    rng = np.random.default_rng([seed, size])
    X, y = load_samples(name, folder, seed)
    known, other = split_rows(y, classes, rng)
    if X.shape[1] > N_COMPONENTS:
        X = PCA(N_COMPONENTS, random_state=0).fit(X[known]).transform(X)
    X = at_unit_scale(X, known)
    learn = draw_pairs(X, y, known, size + size // 3, manner, rng)
    cut = 3 * len(learn.y) // 4
    test = draw_pairs(X, y, other, N_TEST, manner, rng)
    return Task(X, y, learn.take(slice(cut)), learn.take(slice(cut, None)), test)


def make_face_task(folder, seed, n_components=100):
    """Return View 1; C is chosen by a quarter of its training pairs, another for each seed."""
    faces = load_faces("lfw", folder=folder)
    views = faces.view1_train, faces.view1_test
    rows = np.unique(np.vstack([view.index for view in views]))
    known = np.searchsorted(rows, np.unique(faces.view1_train.index))
    X = np.sqrt(faces.X[rows].astype(np.float32))
    axes = PCA(n_components, svd_solver="covariance_eigh").fit(X[known])
    X = at_unit_scale(axes.transform(X).astype(np.float64), known)
    learn, test = (
        Pairs(np.searchsorted(rows, view.index), np.where(view.same, 1, -1)) for view in views
    )
    order = np.random.default_rng(seed).permutation(len(learn.y))
    cut = 3 * len(order) // 4
    return Task(X, faces.person[rows], learn.take(order[:cut]), learn.take(order[cut:]), test)


def at_unit_scale(X, known):
    """Return centred samples, all features divided by one number."""
    return (X - X[known].mean(axis=0)) / unit_mean_square(X[known])[1]


# The methods: (task, parameter) -> map, and what is known of the run


def by_pairs(task, C, *, is_balanced=False, **others):
    """Learn from pairs; balanced, both kinds of pairs have the same weight."""
    y, weight = task.train.y, None
    if is_balanced:
        weight = np.where(y > 0, 1 / np.sum(y > 0), 1 / np.sum(y < 0))
    model = PairFrobMetric(preprocessor=task.X, C=C, keep_dual=True, **others)
    return describe(model.fit(task.train.index, y, sample_weight=weight))


def by_known_triplets(task, C):
    """Complete the pairs to triplets by known identities."""
    rows, index = np.unique(task.train.index, return_inverse=True)
    X, pairs, identity = task.X[rows], index.reshape(-1, 2), task.identity[rows]
    triplets = triplets_from_pairs(X, pairs, task.train.y, identity=identity)
    return describe(TripletFrobMetric(preprocessor=X, C=C, keep_dual=True).fit(triplets))


def describe(model):
    """Return the map, the gap and the size of a fit."""
    numbers = {"gap": model.certificate_.relative_gap, "n_iter": model.n_iter_}
    return {"L": model.components_.T, "n_rows": model.triplets_.n_triplets} | numbers


def by_baseline(task, parameter, *, name, **others):
    """Learn by a baseline from pairs; the parameter is its gamma."""
    given = others | ({} if parameter is None else {"gamma": parameter})
    pairs = task.train.index, task.train.y
    found = METRIC[name].fit(task.X, pairs=pairs, limit=120.0, threads=1, parameters=given)
    return {"L": found.L, "seconds": found.seconds}


#: Name -> how it learns, from which values of its parameter, and for which manner of pairs.
METHODS = {
    "Euclid": (lambda task, _: {"L": np.eye(task.X.shape[1])}, (None,), None),
    "threshold": (by_pairs, GRID, None),
    "threshold, equal kinds": (partial(by_pairs, is_balanced=True), MIDDLE, "random"),
    "threshold, prior identity": (partial(by_pairs, prior="identity"), MIDDLE, None),
    "triplets": (partial(by_pairs, strategy="triplets"), GRID, None),
    "triplets, identities known": (by_known_triplets, SHORT, None),
}
#: Other learners, which run once, and not with many pairs.
OTHERS = {
    "LDML": ("ldml", partial(by_baseline, name="ldml"), (None,)),
    "ITML": ("itml_pairs", partial(by_baseline, name="itml_pairs", max_iter=100), (1.0, 0.1, 10.0)),
}


def measure_fit(task, learn, parameter):
    """Return areas on validation and test pairs, accuracy, seconds and how a fit ended."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = learn(task, parameter)
        except (ValueError, ProgramFailedError, TimeLimitError) as error:
            return {"parameter": parameter, "failed": str(error)[:200]}
    found.setdefault("seconds", time.perf_counter() - start)
    L = found.pop("L")
    train, validation, test = (
        -np.linalg.norm(np.subtract(*task.X[part.index.T]) @ L, axis=1)
        for part in (task.train, task.validation, task.test)
    )
    threshold = best_threshold(train, task.train.y)[0]
    return found | {
        "parameter": parameter,
        "validation": float(roc_auc_score(task.validation.y > 0, validation)),
        "auc": float(roc_auc_score(task.test.y > 0, test)),
        "accuracy": float(np.mean((test >= threshold) == (task.test.y > 0))),
        "rank": int(L.shape[1] if L.any() else 0),
        "warned": sum(issubclass(each.category, ConvergenceWarning) for each in caught),
    }


def measure_cell(cell, options):
    """Return the fits of all methods on one task."""
    name, classes, manner, size, seed = cell
    if name == "lfw":
        task = make_face_task(options.folder, seed)
    else:
        task = make_task(name, classes, manner, size, seed, options.folder)
    methods = {key: how[:2] for key, how in METHODS.items() if how[2] in (None, manner)}
    if size <= MOST_FOR_OTHERS and seed == 0:
        others = {key: how for key, how in OTHERS.items() if METRIC[how[0]].is_available()}
        methods |= {key: how[1:] for key, how in others.items()}
    fits = {}
    for key, (learn, values) in methods.items():
        some = [each for each in values if not options.is_quick or each in (None, 1.0, 1e4)]
        fits[key] = [measure_fit(task, learn, value) for value in some]
    counts = {part: len(getattr(task, part).y) for part in ("train", "validation", "test")}
    share, n_features = float(np.mean(task.train.y > 0)), task.X.shape[1]
    row = dict(zip(CELL, cell, strict=True)) | {"n_pairs": counts, "similar": share}
    return row | {"n_features": n_features, "methods": fits}


def plan(name, options):
    """Return (set, classes, manner, number of pairs, seed) of all tasks of a set."""
    seeds = range(options.choose(options.repeat, 1))
    if name == "lfw":
        return [(name, "unseen", "balanced", 2200, seed) for seed in seeds]
    sizes = options.choose(SIZES[: 2 if name in SMALL else 3], SIZES[:1])
    protocols = PROTOCOLS[: 2 if name in SMALL else 3]
    return [(name, *each, size, seed) for seed in seeds for size in sizes for each in protocols]


def measure_set(name, options):
    """Return the cells of a set; those that are stored already are not measured again."""
    cells = list(options.stored or [])
    known = {tuple(cell[key] for key in CELL) for cell in cells}
    for cell in plan(name, options):
        if cell not in known:
            cells.append(measure_cell(cell, options))
            options.store(cells)
    return cells


PARTS = {name: partial(measure_set, name) for name in (*SMALL, *LARGE, "lfw")}
BENCHMARK = Benchmark(parts=PARTS, page=pair_page, options=Options(repeat=5))
