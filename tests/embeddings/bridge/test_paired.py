"""Paired vectors: the split for calibration, priors against SciPy, cells of enough pairs."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.utils import get_tags

from frobmetric.checks.samples import SampleReader
from frobmetric.embeddings import EncoderBridge
from frobmetric.embeddings.bridge.paired import MIN_PAIRS, BridgeRecipe, FitData


def data_of(X, Y, index=None, **options):
    bridge = EncoderBridge(random_state=0, **options)
    reader = SampleReader("EncoderBridge", get_tags(bridge))
    return FitData.check(reader, BridgeRecipe(**bridge.get_params()), X, Y, index)


def test_calibration_pairs_are_not_fitted(rng):
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 4))
    data = data_of(X, Y, unit_length=False)
    fitted, held = data.pairs.X * data.scales[0], data.calibration[0]
    held = held * data.scales[0]
    assert (len(fitted), len(held)) == (40, 10)
    everything = np.vstack([fitted, held])
    np.testing.assert_allclose(np.sort(everything, axis=0), np.sort(X, axis=0))
    # without an index, the vectors that are searched are those of the fitted pairs
    np.testing.assert_array_equal(data.index.vectors, data.pairs.Y)


def test_the_rotation_is_that_of_procrustes(rng):
    X = rng.standard_normal((60, 4))
    Y = X @ np.linalg.qr(rng.standard_normal((4, 4)))[0] + 0.1 * rng.standard_normal((60, 4))
    pairs = data_of(X, Y, prior="rotation", calibration=0.0).pairs
    centred = [Z - Z.mean(axis=0) for Z in (pairs.X, pairs.Y)]
    rotation, size = orthogonal_procrustes(*centred)
    np.testing.assert_allclose(pairs.prior, rotation * size / np.sum(centred[0] ** 2), atol=1e-12)


def test_options_are_chosen_by_pairs_that_the_rotation_does_not_know(rng):
    X = rng.standard_normal((60, 4))
    data = data_of(X, X[:, ::-1], prior="rotation", calibration=0.0)
    assert len(data.choice.X) == 30
    is_chosen_by = (data.pairs.X[:, None] == data.choice.X).all(axis=2).any(axis=1)
    others = [Z[~is_chosen_by] for Z in (data.pairs.X, data.pairs.Y)]
    centred = [Z - Z.mean(axis=0) for Z in others]
    rotation, size = orthogonal_procrustes(*centred)
    expected = rotation * size / np.sum(centred[0] ** 2)
    np.testing.assert_allclose(data.choice.prior, expected, atol=1e-12)
    plain = data_of(X, X[:, ::-1], prior="identity")
    assert plain.choice is plain.pairs


@pytest.mark.parametrize(("n_new", "n_old"), [(3, 5), (5, 3)])
def test_the_identity_is_padded(rng, n_new, n_old):
    X, Y = rng.standard_normal((20, n_new)), rng.standard_normal((20, n_old))
    np.testing.assert_array_equal(data_of(X, Y, prior="identity").pairs.prior, np.eye(n_new, n_old))


def test_cells_have_some_pairs_each(rng):
    X, Y = rng.standard_normal((30, 3)), rng.standard_normal((30, 4))
    assert data_of(X, Y, n_maps=8, calibration=0.0).n_maps == 30 // MIN_PAIRS
    same = np.repeat(X[:4], 5, axis=0)  # equal new vectors, different old ones
    assert data_of(same, Y[:20], n_maps=8, calibration=0.0).n_maps == 1
