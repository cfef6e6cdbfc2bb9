"""Promises of few false matches on faces: how often they are kept, and what they cost.

Vectors and metrics are learned from the people in the training pairs of LFW's View 1. All others
are the population. They are divided again and again: thresholds are calibrated on some of them, and
tested on the rest and on the whole population. Each division draws an image of each person, or two
if there are.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from frobmetric import MarginalizedKNN, PairFrobMetric
from frobmetric.neighbors import best_threshold, promised_threshold

from ..data.labelled import whitening, within_covariance
from ..data.pairs import load_faces
from ..harness.benchmark import Benchmark, Options

#: What is promised.
MAX_FALSE_MATCH, CONFIDENCE = 0.01, 0.95
#: Numbers of people to calibrate on.
SIZES = (700, 1500, 2400)
#: Dissimilar calibration pairs of each person: disjoint pairs, or circles of this many steps.
PAIRS_EACH = (1, 100)
#: Number of principal components, and of neighbours of `MarginalizedKNN`.
N_COMPONENTS, N_NEIGHBORS = 200, 50
#: Share of the pairs among which those beyond a threshold are looked up.
HIGHEST = 0.1
#: Divisions of the target: in 19 of the first 20 the promise is to be kept.
FIRST = 20


@dataclass(frozen=True, eq=False)
class FaceScores:
    """Scores of all pairs of images of people whom no model was learned from."""

    S: np.ndarray  # scores of images, of shape (n_images, n_images)
    person: np.ndarray  # person on each image, from 0, of shape (n_images,)

    @cached_property
    def _highest(self):
        """Rising scores of the highest pairs of different people, and the weight from each on.

        Every pair of people has the same weight, whatever their numbers of images.
        """
        share = 1 / np.bincount(self.person)[self.person]
        is_high = np.quantile(self.S[:: 1 + len(self.S) // 500], 1 - HIGHEST) <= self.S
        i, j = np.nonzero(is_high & (self.person[:, None] != self.person))
        order = np.argsort(self.S[i, j])
        i, j, n = i[order], j[order], self.person.max() + 1
        above = np.cumsum((share[i] * share[j])[::-1])[::-1] / (n * (n - 1))
        return self.S[i, j], np.append(above, 0.0)

    def false_match_rate(self, threshold):
        """Return the rate in the population; of low thresholds a lower bound of it."""
        score, above = self._highest
        return float(above[np.searchsorted(score, threshold)])

    def draw(self, n_people, rng):
        """Return people in random order, cut after `n_people`: two images of each, or one twice."""
        order = rng.permutation(len(self.person))
        person = self.person[order]
        first = order[np.unique(person, return_index=True)[1]]
        last = order[::-1][np.unique(person[::-1], return_index=True)[1]]
        people = rng.permutation(len(first))
        images = np.column_stack([first, last])[people]
        return images[:n_people], images[n_people:]


# The scores


def load_vectors(folder):
    """Return faces, images as vectors, and whether an image is of a person in training pairs."""
    faces = load_faces("lfw", folder=folder)
    is_known = np.isin(faces.person, faces.person[faces.view1_train.index])
    X = np.sqrt(faces.X.astype(np.float32))
    axes = PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(X[is_known])
    Z = axes.transform(X).astype(np.float64)
    has_another = is_known & (np.bincount(faces.person)[faces.person] > 1)
    within = within_covariance(Z[has_another], faces.person[has_another])
    mean = np.trace(within) / len(within)
    return (
        faces,
        normalize(Z @ whitening(0.9 * within + 0.1 * mean * np.eye(len(within)))),
        is_known,
    )


def learn(faces, X):
    """Return the metric of the training pairs."""
    y = np.where(faces.view1_train.same, 1, -1)
    return PairFrobMetric(preprocessor=X, prior="identity").fit(faces.view1_train.index, y)


def by_euclid(faces, X, is_known):
    """Return minus the distances of the vectors."""
    return -cdist(X[~is_known], X[~is_known]).astype(np.float32)


def by_metric(faces, X, is_known):
    """Return minus the learned distances."""
    return by_euclid(faces, learn(faces, X).transform(X), is_known)


def by_neighbors(faces, X, is_known):
    """Return the scores of `MarginalizedKNN` on the learned metric, as products of counts."""
    metric, person = learn(faces, X), faces.person[is_known]
    model = MarginalizedKNN(FrozenEstimator(metric), n_neighbors=N_NEIGHBORS)
    model.fit(X[is_known], person)
    search = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(metric.transform(X[is_known]))
    near = search.kneighbors(metric.transform(X[~is_known]), return_distance=False)
    entries = np.ones(near.size, np.float32), person[near].ravel()
    ends = np.arange(len(near) + 1) * N_NEIGHBORS
    counts = sp.csr_array((*entries, ends), shape=(len(near), faces.person.max() + 1))
    S = (counts @ counts.T).toarray() / np.float32(N_NEIGHBORS**2)
    some = np.random.default_rng(0).integers(len(near), size=(200, 2))
    expected = model.pair_score(X[~is_known][some])
    if np.abs(S[some[:, 0], some[:, 1]] - expected).max() > 1e-6:
        raise ValueError("the products of counts are not the scores of MarginalizedKNN")
    return S


# The divisions


def calibration_pairs(images, n_each):
    """Return dissimilar and similar pairs of images, their labels, and who is in them."""
    people = np.arange(len(images))
    if n_each == 1:
        ends = people[: len(people) // 2 * 2].reshape(-1, 2)
    else:
        steps = np.arange(1, n_each // 2 + 1)
        ends = np.column_stack([np.tile(people, len(steps)), np.repeat(steps, len(people))])
        ends[:, 1] = (ends[:, 0] + ends[:, 1]) % len(people)
    same = np.flatnonzero(images[:, 0] != images[:, 1])
    index = np.vstack([images[ends, 0], images[same]])
    y = np.repeat([-1, 1], [len(ends), len(same)])
    return index, y, np.vstack([ends, np.column_stack([same, same])])


def naive(score, y, identities):
    """Return the threshold whose false match rate on these pairs is within the bound."""
    return best_threshold(score, y, strategy="max_tpr", min_rate=1 - MAX_FALSE_MATCH)[0]


def promised(score, y, identities, *, by_identity):
    """Return the promised threshold, with or without a look at identities."""
    options = {"max_false_match": MAX_FALSE_MATCH, "confidence": CONFIDENCE}
    who = identities if by_identity else None
    return promised_threshold(score, y, identities=who, **options).threshold


RULES = {
    "naive": naive,
    "pairs as units": partial(promised, by_identity=False),
    "identities as units": partial(promised, by_identity=True),
}


def rates_of(S, images, thresholds):
    """Return false match rates of all pairs of people, and true ones of those with two images."""
    one, n = S[np.ix_(images[:, 0], images[:, 0])], len(images)
    same = images[images[:, 0] != images[:, 1]]
    own, equal = S[same[:, 0], same[:, 1]], np.diag(one)
    n_false = [np.count_nonzero(one >= t) - np.count_nonzero(equal >= t) for t in thresholds]
    false = [count / (n * (n - 1)) for count in n_false]
    return false, [float((own >= t).mean()) for t in thresholds]


def divide(scores, n_people, n_each, seed):
    """Return rates of one division by rule: population, new people, true matches of new people."""
    known, new = scores.draw(n_people, np.random.default_rng([seed, n_people, n_each]))
    index, y, identities = calibration_pairs(known, n_each)
    score = scores.S[index[:, 0], index[:, 1]]
    thresholds = [rule(score, y, identities) for rule in RULES.values()]
    population = map(scores.false_match_rate, thresholds)
    rates = zip(population, *rates_of(scores.S, new, thresholds), strict=True)
    return dict(zip(RULES, rates, strict=True))


def measure(make, options):
    """Return the rates of all divisions, for each number of people and of pairs."""
    faces, X, is_known = load_vectors(options.folder)
    S = make(faces, X, is_known)
    scores = FaceScores(S, np.unique(faces.person[~is_known], return_inverse=True)[1])
    cells = []
    for n_people in options.choose(SIZES, SIZES[:1]):
        for n_each in PAIRS_EACH:
            seeds = range(options.choose(options.repeat, 2))
            runs = [divide(scores, n_people, n_each, seed) for seed in seeds]
            rates = {rule: [run[rule] for run in runs] for rule in RULES}
            cells.append({"people": n_people, "each": n_each, "rates": rates})
            options.store(cells)
    return cells


# The page


def row_of(score, cell, rule, rates):
    """Return a row of the table: one rule, one kind of calibration pairs."""
    population, new, true = np.array(rates).T
    is_kept, n = population <= MAX_FALSE_MATCH, len(population)
    naive_true = np.array(cell["rates"]["naive"])[:, 2]
    return {
        "score": score,
        "people": cell["people"],
        "pairs": cell["people"] * cell["each"] // 2,
        "rule": rule,
        "first": f"{is_kept[:FIRST].sum()} of {min(n, FIRST)}",
        "kept": f"{is_kept.sum()} of {n}",
        "new": f"{np.sum(new <= MAX_FALSE_MATCH)} of {n}",
        "false": 100 * population.mean(),
        "worst": 100 * population.max(),
        "true": 100 * true.mean(),
        "cost": 100 * (naive_true - true).mean(),
    }


def share_kept(parts, rule):
    """Return a row of the summary: how often a rule keeps the promise, by kind of pairs."""
    row = {"rule": rule}
    for column, measured_on in enumerate(("population", "new")):
        for each in PAIRS_EACH:
            cells = [cell for some in parts.values() for cell in some if cell["each"] == each]
            rates = [run[column] for cell in cells for run in cell["rates"][rule]]
            share = 100 * float(np.mean(np.array(rates) <= MAX_FALSE_MATCH)) if rates else None
            row[f"{measured_on}_{each}"] = share
    return row


def page(parts):
    """Return the rows of the table."""
    rows = [
        row_of(score, cell, rule, rates)
        for score, cells in parts.items()
        for cell in cells
        for rule, rates in cell["rates"].items()
    ]
    return {"rows": rows, "summary": [share_kept(parts, rule) for rule in RULES]}


PARTS = {
    "euclid": partial(measure, by_euclid),
    "metric": partial(measure, by_metric),
    "neighbors": partial(measure, by_neighbors),
}
BENCHMARK = Benchmark(parts=PARTS, page=page, options=Options(repeat=200))
