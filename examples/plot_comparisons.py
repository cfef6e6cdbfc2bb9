"""
Learn from people's comparisons of pictures, and predict them for pictures that nobody compared
===============================================================================================

"Is the first picture more like the second or the third?" Each of 4,000 questions is put to five
people. They are simulated: they look at three properties of a picture, none of which is a single
pixel, and the harder a question is, the more often they answer at random. So no metric can predict
all answers. The noise ceiling, computed from how often the five agree, says how many it can.

The test questions are about three new pictures each: no answer about them was learned from. The
figure shows the share of answers that are predicted, against the number of answers learned from.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from frobmetric import TripletFrobMetric
from frobmetric.evaluation import ObjectSplit, accuracy_difference, noise_ceiling

rng = np.random.default_rng(0)
X = load_digits().data[:200]
seen = X @ rng.normal(size=(64, 3))
seen /= seen.std(axis=0)

asked = np.array([rng.choice(len(X), 3, replace=False) for _ in range(4000)])
first, second = (np.linalg.norm(seen[asked[:, 0]] - seen[asked[:, i]], axis=1) for i in (1, 2))
says_first = rng.random((5, len(asked))) < 1 / (1 + np.exp(-3 * (second - first)))
triplets, answers = np.tile(asked, (5, 1)), np.where(says_first.ravel(), 1, -1)
ceiling = noise_ceiling(triplets, answers)

train, test = next(ObjectSplit(n_splits=2, random_state=0).split(triplets))
sizes = [30, 100, 300, 1000, len(train)]
right = {}
for size in [0, *sizes]:
    # without answers: C so small that the prior, which is the Euclidean distance, remains
    metric = TripletFrobMetric(preprocessor=X, prior="identity", C=3e3 if size else 1e-9)
    some = rng.choice(train, size or 1, replace=False)
    metric.fit(triplets[some], answers[some])
    right[size] = metric.predict(triplets[test]) == answers[test]
gain = accuracy_difference(right[len(train)], right[0], objects=triplets[test])

figure, ax = plt.subplots(layout="constrained")
ax.plot(sizes, [100 * right[size].mean() for size in sizes], marker="o", label="learned metric")
ax.axhline(100 * right[0].mean(), color="grey", linestyle="--", label="Euclidean")
ax.axhspan(100 * ceiling.low, 100 * ceiling.high, color="C1", alpha=0.3, label="noise ceiling")
ax.set(xscale="log", xlabel="answers learned from", ylabel="answers predicted on new pictures, %")
ax.set_title(f"gain over Euclid with all answers: {gain}")
ax.legend()
plt.show()
