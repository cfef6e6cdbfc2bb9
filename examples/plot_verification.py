"""
Decide whether two pictures show the same thing, with a promise on false matches
================================================================================

A metric is learned from pairs of scikit-learn's digits that show the same digit or not. Two
pictures count as a match if they are nearer than a threshold. One that has 2 % false matches on
known pairs has more on new ones about half of the time; the promised one has at most 2 % on new
pairs, with 95 % confidence.

The figure shows how many of 20,000 new pairs have each distance. Pairs left of a threshold are
matches: the promise makes fewer false ones, and loses true ones for it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from frobmetric import PairFrobMetric
from frobmetric.plotting.style import COLOURS, lighten

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)


def draw(pictures, n_pairs):
    """Return pairs of pictures, and 1 or -1 for the same digit or not."""
    pairs = rng.choice(pictures, (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


learn, calibrate, new = np.split(rng.permutation(len(X)), [400, 1400])
metric = PairFrobMetric(preprocessor=X, prior="identity", tol=1e-5).fit(*draw(learn, 2000))
known, (pairs, same) = draw(calibrate, 5000), draw(new, 20_000)
distance = metric.pair_distance(pairs)
metric.calibrate_threshold(*known, strategy="max_tpr", min_rate=0.98)
thresholds = {"2 % false on known pairs": metric.threshold_}
metric.promise_threshold(*known, max_false_match=0.02)
thresholds["promised: at most 2 %"] = metric.threshold_

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
bins = np.linspace(0, distance.max(), 60)
for label, is_kind, colour in (("same digit", same > 0, 0), ("other digits", same < 0, 1)):
    ax.hist(distance[is_kind], bins, alpha=0.7, label=label, color=COLOURS[colour], density=True)
for (label, threshold), style in zip(thresholds.items(), ("--", "-"), strict=True):
    is_match = distance < threshold
    false, true = is_match[same < 0].mean(), is_match[same > 0].mean()
    text = f"{label}: {false:.1%} false, {true:.1%} true matches"
    ax.axvline(threshold, color="black", linestyle=style, label=text)
ax.set(xlabel="learned distance of a new pair", ylabel="share of the pairs", yticks=[])
figure.legend(loc="outside upper left", ncols=2, frameon=False)
lighten(ax)
plt.show()
