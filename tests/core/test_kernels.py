"""Compiled and NumPy loops agree, however the work is cut and shared."""

import multiprocessing
import sys
import threading
import types

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import Bilinear, NeighborTriplets, kernels, threads
from frobmetric.core.points import Factored

needs_numba = pytest.mark.skipif(kernels.compiled() is None, reason="needs numba (extra `fast`)")


def _triplets(rng):
    X = rng.normal(size=(400, 30))
    near, far = rng.integers(0, 400, (400, 3)), rng.integers(0, 400, (400, 2))
    return NeighborTriplets(X, np.arange(400), near, far)


def _scores(rng):
    A, B = rng.normal(size=(300, 30)), rng.normal(size=(500, 30))
    anchors, candidates = rng.integers(0, 300, (700, 2)), rng.integers(0, 500, (700, 2))
    return Bilinear(A, B, np.stack([anchors, candidates], axis=2).reshape(700, 4))


@pytest.fixture(params=[_triplets, _scores], ids=["triplets", "scores"])
def constraints(rng, request):
    return request.param(rng)


def both_ways(constraints, rng):
    u, L = rng.normal(size=constraints.shape[0]), rng.normal(size=(30, 7))
    M = L @ L.T
    return constraints.forward(Factored(L)), constraints.forward(M), constraints.adjoint(u)


def test_an_intermediate_result_may_be_cut(monkeypatch):
    constraints = _scores(np.random.default_rng(0))
    u = np.random.default_rng(1).normal(size=constraints.shape[0])
    whole = constraints.adjoint(u)
    monkeypatch.setattr(kernels, "CHUNK", 1000)
    np.testing.assert_allclose(constraints.adjoint(u), whole, atol=1e-11)


@needs_numba
def test_compiled_loops_agree_with_numpy(constraints, monkeypatch):
    fast = both_ways(constraints, np.random.default_rng(1))
    monkeypatch.setattr(kernels, "compiled", lambda: None)
    reference = both_ways(constraints, np.random.default_rng(1))
    for a, b in zip(fast, reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())


def test_results_do_not_depend_on_threads(constraints, monkeypatch):
    monkeypatch.setattr(kernels, "BLOCK", 1000)
    alone = both_ways(constraints, np.random.default_rng(1))
    monkeypatch.setattr(threads, "SMALL_WORK", 0)
    monkeypatch.setattr(threads, "_n_threads", lambda: 3)
    shared = both_ways(constraints, np.random.default_rng(1))
    for a, b in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors_in_a_thread_are_not_lost(monkeypatch):
    monkeypatch.setattr(threads, "SMALL_WORK", 0)
    monkeypatch.setattr(threads, "_n_threads", lambda: 2)

    def fail(rows):
        raise ZeroDivisionError(rows.start)

    with pytest.raises(ZeroDivisionError):
        threads.map_blocks(fail, 10, 3, 1.0)


def test_calls_from_several_threads(constraints):
    expected = both_ways(constraints, np.random.default_rng(1))
    found = []
    workers = [
        threading.Thread(
            target=lambda: found.append(both_ways(constraints, np.random.default_rng(1)))
        )
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    for result in found:
        np.testing.assert_array_equal(result[2], expected[2])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_works_too(constraints):
    expected = both_ways(constraints, np.random.default_rng(1))[2]
    queue = multiprocessing.get_context("fork").SimpleQueue()

    def child():
        queue.put(both_ways(constraints, np.random.default_rng(1))[2])

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    np.testing.assert_array_equal(queue.get(), expected)
    process.join()
    assert process.exitcode == 0


def test_a_broken_numba_is_named_once_and_replaced(monkeypatch, constraints):
    class Broken(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("no compiler here")

    monkeypatch.setitem(sys.modules, "numba", Broken("numba"))
    kernels.compiled.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="numba is installed but does not work"):
            assert kernels.compiled() is None
        assert len(both_ways(constraints, np.random.default_rng(1))) == 3
    finally:
        kernels.compiled.cache_clear()


def test_without_numba_there_is_no_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    kernels.compiled.cache_clear()
    try:
        assert kernels.compiled() is None
    finally:
        kernels.compiled.cache_clear()


def test_sparse_data_give_the_same(rng):
    pairs = _triplets(rng).pairs
    w = rng.normal(size=pairs.shape[0])
    args = (pairs._indptr, pairs._indices, w)
    dense = kernels.laplacian_product(pairs.X, *args)
    np.testing.assert_allclose(
        kernels.laplacian_product(sp.csr_array(pairs.X), *args), dense, atol=1e-10
    )
