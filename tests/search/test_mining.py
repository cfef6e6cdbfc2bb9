"""Approximate mining against the exact one: recall, intervals, warnings and files."""

import numpy as np
import pytest

from frobmetric import FrobMetric, mine_triplets
from frobmetric.core import kernels
from frobmetric.io import load, save
from frobmetric.model.sets import JoinedTriplets
from frobmetric.search import mining
from frobmetric.search.approximate import nearest_in_tiles
from frobmetric.search.recall import share_found

faiss = pytest.importorskip("faiss")


@pytest.fixture
def classes(rng):
    y = np.arange(900) % 3
    return rng.normal(size=(900, 9)) + 2 * rng.normal(size=(3, 9))[y], y


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    monkeypatch.setattr(mining, "TRIED_ROWS", 100)
    monkeypatch.setattr(mining, "MEASURED_ROWS", 200)


def test_most_neighbours_are_found(classes):
    X, y = classes
    mined = mine_triplets(X, y, neighbors="approximate")
    exact = mine_triplets(X, y)
    assert exact.recall is None
    assert min(mined.recall.near, mined.recall.far) >= 0.98
    near, far = (block.near for block in (mined.blocks[0], exact.blocks[0])), exact.blocks[0].far
    share, (low, high) = share_found(*near)
    assert low <= share <= high
    assert share >= 0.97
    assert share_found(mined.blocks[0].far, far)[0] >= 0.97
    np.testing.assert_array_equal(y[mined.blocks[0].near], np.repeat(y[:, None], 3, axis=1))
    assert (y[mined.blocks[0].far] != y[:, None]).all()


def test_separated_classes_have_impostors(rng):
    """The nearest hundred of every sample are of its own class."""
    y = np.arange(1200) % 2
    X = rng.normal(size=(1200, 8)) + 100 * y[:, None]
    mined = mine_triplets(X, y, neighbors="approximate")
    assert mined.recall.far >= 0.98
    assert mined.n_triplets == 1200 * 9


def test_the_answer_is_repeatable(classes):
    X, y = classes
    first, second = (mine_triplets(X, y, neighbors="approximate") for _ in range(2))
    np.testing.assert_array_equal(first.to_array(), second.to_array())
    assert first.recall == second.recall


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("n_tiles", [1, 9])
def test_the_least_products_of_tiles(rng, monkeypatch, is_compiled, n_tiles):
    if not is_compiled:
        monkeypatch.setattr("frobmetric.search.approximate.compiled", lambda: None)
    elif kernels.compiled() is None:
        pytest.skip("needs numba (extra `fast`)")
    P = rng.normal(size=(7, 11)).astype(np.float32)
    tiles = rng.normal(size=(12, 11, kernels.WIDTH)).astype(np.float32)
    chosen = rng.permutation(12)[:n_tiles].astype(np.int32)
    every = np.full((7, 12 * kernels.WIDTH), np.inf)
    for t in chosen:
        every[:, t * kernels.WIDTH : (t + 1) * kernels.WIDTH] = P @ tiles[t]
    products, places = nearest_in_tiles(P, tiles, chosen, 4)
    expected = np.sort(every, axis=1)[:, :4]
    np.testing.assert_allclose(np.sort(products, axis=1), expected, rtol=1e-4, atol=1e-5)
    found = np.take_along_axis(every, places.astype(int), axis=1)
    np.testing.assert_allclose(found, products, rtol=1e-4, atol=1e-5)


def test_auto_depends_on_the_size_and_on_faiss(classes, monkeypatch):
    X, y = classes
    assert mine_triplets(X, y, neighbors="auto").recall is None
    monkeypatch.setattr(mining, "MANY_SAMPLES", 500)
    assert mine_triplets(X, y, neighbors="auto").recall is not None
    monkeypatch.setattr(mining, "is_available", lambda: False)
    with pytest.warns(UserWarning, match=r"searched exactly, .*frobmetric\[ann\]"):
        assert mine_triplets(X, y, neighbors="auto").recall is None


def test_a_low_recall_warns(classes, monkeypatch):
    X, y = classes
    monkeypatch.setattr(mining, "share_found", lambda found, exact: (0.5, (0.4, 0.6)))
    with pytest.warns(UserWarning, match=r"near 0.500 \[0.400, 0.600\].*below 0.98"):
        mine_triplets(X, y, neighbors="approximate")


def test_other_kinds_are_refused(classes):
    with pytest.raises(ValueError, match="neighbors='some' is not known; expected one of"):
        mine_triplets(*classes, neighbors="some")


def test_the_estimator_keeps_the_recall(classes, tmp_path):
    metric = FrobMetric(neighbors="approximate").fit(*classes)
    assert "for the mined triplets; recall of mining near" in str(metric.certificate_)
    assert metric.mining_recall_.missed_impostors < 0.1
    save(metric, tmp_path / "metric")
    loaded = load(tmp_path / "metric")
    assert loaded.mining_recall_ == metric.mining_recall_
    assert loaded.certificate_ == metric.certificate_
    assert not hasattr(metric.set_params(neighbors="exact").fit(*classes), "mining_recall_")


def test_joined_triplets_have_the_smallest_recall(classes):
    X, y = classes
    mined, exact = mine_triplets(X, y, neighbors="approximate"), mine_triplets(X, y)
    assert JoinedTriplets((exact, mined)).recall == mined.recall
    assert JoinedTriplets((exact, exact)).recall is None
