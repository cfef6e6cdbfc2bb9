"""
Choose how strongly to learn: the path of metrics over C
========================================================

C weighs the triplets (anchor, near, far) against the size of the metric. With a small C every
triplet pulls with all its weight and none is satisfied; with a large C the metric satisfies the
training triplets at any price. `frob_path` solves rising values of C, each starting from the last
answer, and proves how far each answer can be from its optimum.

The figure shows, for scikit-learn's digits:

* the error of a 3-nearest-neighbour vote on test data, with a ring at the best C; the dashed line
  is the Euclidean distance;
* the rank of the metric: the number of dimensions that `transform` needs;
* the share of triplets that still pull on the metric (their dual variable u is positive);
* the proven relative gap of every answer, below the tolerance.

The ring is chosen on the test part to show it; to choose C, use `FrobMetricCV`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from frobmetric import frob_path
from frobmetric.plotting import PathDisplay

TOL = 1e-3

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

paper = {"units": "raw", "prior": None}  # the paper's problem, which stays close to zero
path = frob_path(X_train, y_train, Cs=np.geomspace(1, 1e5, 11), tol=TOL, **paper)
PathDisplay.from_path(path, X_train, y_train, X_test, y_test, tol=TOL)
plt.show()
