"""
Which learner? Errors on held-out samples, times and proofs, beside each other
==============================================================================

Digits of scikit-learn with a noisy copy of each pixel beside it, so that there is something to
learn. Each learner chooses its options on the training samples within its budget of seconds, in a
process of its own, and is tested once on samples that it has not seen. A learner that is not done
is stopped, and its last complete answer counts. The learners here are three by name, and one of
scikit-learn with a grid of its options; with None in their place all learners of labels take part.

The figure shows the error of three nearest neighbours with its 95 % interval, against the seconds
of the fit. Full dots are proven to be optimal for their problem, which is not to say useful; the
dashed line is the better Euclidean distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from frobmetric import compare
from frobmetric.plotting import ComparisonDisplay

X, y = load_digits(return_X_y=True)
X, y = X[:900], y[:900]
noise = 6 * np.random.default_rng(0).normal(size=X.shape)

learners = ["FrobMetric", "BoostMetric", "Covariance", ("PCA", PCA(), {"n_components": [10, 30]})]
result = compare(learners, np.hstack([X, noise]), y, budget=20)
ComparisonDisplay.from_comparison(result)
plt.show()
