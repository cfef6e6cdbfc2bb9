"""
Bend embeddings for a search, and make them shorter
===================================================

Pictures of three digits side by side stand in for documents, and their leading principal
components for the vectors of an encoder. The search is for the same digit in the *middle*, of
which the vectors know nothing. `EmbeddingAdapter` learns a linear map from 800 labels. It tests
the map on held-out samples and keeps the vectors as they are if nothing is gained; its report says
which.

The figure shows how good a search is with the leading directions of the adapted vectors, with the
principal components of the unchanged ones, and with their first features. The samples of the
search were not learned from.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from frobmetric import EmbeddingAdapter
from frobmetric.plotting import LengthDisplay

N_TRAIN, N_FEATURES = 800, 64

X, y = load_digits(return_X_y=True)
left, right = (np.random.default_rng(seed).permutation(X) for seed in (1, 2))
vectors = PCA(N_FEATURES, random_state=0).fit_transform(np.hstack([left, X, right]))

adapter = EmbeddingAdapter().fit(vectors[:N_TRAIN], y[:N_TRAIN])
lengths = [2, 4, 8, 16, 32, N_FEATURES]
display = LengthDisplay.from_adapter(adapter, vectors[N_TRAIN:], y[N_TRAIN:], lengths)
display.ax_.set_title(f"5 folds of the training part: {adapter.report_.gain}", fontsize="medium")
plt.show()
