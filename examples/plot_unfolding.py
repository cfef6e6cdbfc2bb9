"""
Unroll a swiss roll by maximum variance unfolding
=================================================

The method pulls the samples apart as far as the distances between neighbours allow. The answer
comes with an interval that contains the largest possible variance, and with the eigenvalues that
show how many dimensions it needs. The right half compares it with Isomap: the share of the K
nearest neighbours that is preserved, and the kind of the errors.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap

from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.plotting import EmbeddingDisplay, QualityDisplay, SpectrumDisplay

X, angle = make_swiss_roll(800, random_state=0)
mvu = MaximumVarianceUnfolding(n_neighbors=6, extra_edges=True).fit(X)
isomap = Isomap(n_neighbors=6).fit_transform(X)

figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
EmbeddingDisplay.from_estimator(mvu, color=angle, color_name="angle", ax=axes[0, 0])
axes[0, 0].set_title(f"unfolding: {mvu.certificate_}")
SpectrumDisplay.from_estimator(mvu, ax=axes[1, 0])
QualityDisplay.from_embeddings(
    X, {"unfolding": mvu.embedding_, "Isomap": isomap}, axes=axes[:, 1], log=True
)
plt.show()
