"""How good a learned metric is: the error of rules on it, and what needs no rule."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from frobmetric.neighbors import NearestClass, knn_predict

#: The rule of the paper's tables.
MAIN = "3-NN"
#: Neighbours among which one of the same class is looked for.
N_NEAREST = 10


def _by_class(k, rule):
    return lambda Z_train, y_train, Z: NearestClass(k, rule=rule).fit(Z_train, y_train).predict(Z)


#: Rules that classify mapped points, by name: (Z_train, y_train, Z) -> labels.
RULES = {
    MAIN: knn_predict,
    "3 distances": _by_class(3, "distances"),
    "center of 5": _by_class(5, "center"),
    "center of 8": _by_class(8, "center"),
}


def error(labels, y):
    """The share of wrong labels."""
    return float(np.mean(np.asarray(labels) != np.asarray(y)))


def _predict_by_map(fitted, split, X):
    return RULES[MAIN](fitted.transform(split.X_train), split.y_train, fitted.transform(X))


#: The classes of X as a method gives them, by what it answers with.
PREDICTIONS = {"map": _predict_by_map, "classes": lambda fitted, split, X: fitted.predict(X)}


def validation_error(answers, fitted, split):
    """By 3-NN from the training part if the answer is a map, else by its own prediction."""
    return error(PREDICTIONS[answers](fitted, split, split.X_validation), split.y_validation)


def judge_map(fitted, chosen_by, split):
    """All that is measured of a map.

    Parameters
    ----------
    fitted : Fitted
    chosen_by : tuple of (Fitted, Split)
        The map and the parts that give errors on the validation part; other ones than these if
        the map was learned again with the validation part.
    split : Split
        Neighbours are those of its training part.

    Returns
    -------
    dict
        "rules": name -> {"validation", "test"}, errors of `RULES`; "best_rule", that with the
        smallest validation error; "wrong", bool for each test point by 3-NN; "measures", those of
        `measure_map`.
    """
    Z_train, Z_test = fitted.transform(split.X_train), fitted.transform(split.X_test)
    labels = {name: rule(Z_train, split.y_train, Z_test) for name, rule in RULES.items()}
    held_out = _held_out_errors(*chosen_by)
    rules = {
        name: {"validation": held_out[name], "test": error(labels[name], split.y_test)}
        for name in RULES
    }
    return {
        "rules": rules,
        "best_rule": min(rules, key=lambda name: rules[name]["validation"]),
        "wrong": labels[MAIN] != split.y_test,
        "measures": measure_map(Z_train, split.y_train, Z_test, split.y_test),
    }


def judge_classes(fitted, chosen_by, split):
    """All that is measured of a classifier: its errors; see `judge_map`."""
    return {"wrong": np.asarray(fitted.predict(split.X_test)) != split.y_test}


#: What measures an answer, by its kind.
JUDGES = {"map": judge_map, "classes": judge_classes}


def _held_out_errors(fitted, split):
    Z_train, Z = fitted.transform(split.X_train), fitted.transform(split.X_validation)
    return {
        name: error(rule(Z_train, split.y_train, Z), split.y_validation)
        for name, rule in RULES.items()
    }


def measure_map(Z_train, y_train, Z_test, y_test):
    """What a map is worth for retrieval and for clustering.

    Returns
    -------
    dict
        "recall_at_10": share of test points with one of their class among the 10 nearest training
        points; "ari": adjusted Rand index of k-means on the test points, 1 where its clusters are
        the classes and 0 on average for random ones.
    """
    k = min(N_NEAREST, len(Z_train))
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(Z_train)
    nearest = np.asarray(y_train)[search.kneighbors(Z_test, return_distance=False)]
    hit = (nearest == np.asarray(y_test)[:, None]).any(axis=1)
    return {"recall_at_10": float(hit.mean()), "ari": _ari(Z_test, y_test)}


def _ari(Z, y):
    model = KMeans(len(np.unique(y)), n_init=10, random_state=0)
    with warnings.catch_warnings():
        # points that coincide give fewer clusters, which the index judges as it should
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(adjusted_rand_score(y, model.fit_predict(Z)))
