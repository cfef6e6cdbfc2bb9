"""
Start from a metric of the data: priors by name
===============================================

The wines of scikit-learn are described by 13 numbers in different units: magnesium goes up to 160,
hue up to 1.7. Without a prior and in these units, a metric has to learn the units first, from
neighbours that the largest column alone decides. `prior="within"` starts from the inverse
covariance within classes, as in relevant component analysis, and `prior="discriminant"` from linear
discriminant analysis; neither depends on units. C says how far to go from there: at the left of the
figure the metric is the prior itself, and to the right the triplets decide more and more.

The figure shows the 3-nearest-neighbour error on test data, the mean over ten splits with its
standard error. The dashed line is the Euclidean distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from frobmetric import frob_path, knn_error

CS = np.geomspace(1e-2, 1e4, 7)
PRIORS = {
    None: "none",
    "covariance": "covariance",
    "within": "within",
    "discriminant": "discriminant",
}

X, y = load_wine(return_X_y=True)
splits = list(StratifiedShuffleSplit(10, test_size=0.3, random_state=0).split(X, y))


def errors(prior, train, test):
    """Return the errors at each C in per cent."""
    path = frob_path(X[train], y[train], Cs=CS, units="raw", prior=prior)
    maps = (X @ point.components.T for point in path.points)
    return [100 * knn_error(Z[train], y[train], Z[test], y[test]) for Z in maps]


figure, ax = plt.subplots(layout="constrained")
for prior, label in PRIORS.items():
    percent = np.array([errors(prior, *split) for split in splits])
    spread = percent.std(axis=0, ddof=1) / np.sqrt(len(splits))
    ax.errorbar(CS, percent.mean(axis=0), spread, marker="o", capsize=2, label=f"prior {label}")
euclid = [100 * knn_error(X[a], y[a], X[b], y[b]) for a, b in splits]
ax.axhline(np.mean(euclid), color="grey", linestyle="--", label="Euclidean")
ax.set(xscale="log", xlabel="C", ylabel="3-NN error on test data, %", ylim=(0, None))
ax.legend()
plt.show()
