"""Fits in several threads of a process: limits on BLAS overlap in any order, and end."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_info, threadpool_limits

from frobmetric import FrobMetric
from frobmetric.core import threads
from frobmetric.core.threads import one_thread, threads_for_order
from frobmetric.runtime.environment import limit_threads

LARGE = threads.LARGE_ORDER


def blas_threads():
    """Return the threads of BLAS; a library such as faiss may bring one that counts by thread."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    shared = [library for library in found if library["threading_layer"] != "openmp"]
    return max((library["num_threads"] for library in shared), default=0)


@pytest.fixture(autouse=True)
def four_threads():
    with threadpool_limits(4, user_api="blas"):
        if blas_threads() != 4:
            pytest.skip("this BLAS does not take four threads")
        yield


@pytest.mark.parametrize("contexts", [(one_thread, one_thread), (lambda: limit_threads(1),) * 2])
def test_blocks_that_overlap_leave_all_threads(contexts):
    """The first thread begins first and ends first, while the second is inside."""
    is_first_in, is_second_in, is_first_out = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with contexts[0]():
            is_first_in.set()
            assert is_second_in.wait(10)
        is_first_out.set()

    def second():
        assert is_first_in.wait(10)
        with contexts[1]():
            is_second_in.set()
            assert is_first_out.wait(10)
            seen.append(blas_threads())

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(first), pool.submit(second)]:
            future.result(20)
    assert seen == [1]
    assert blas_threads() == 4


def test_limits_nest_in_one_thread():
    with limit_threads(3):
        assert blas_threads() == 3
        with one_thread():
            assert blas_threads() == 1
            with one_thread(), threads_for_order(LARGE):
                assert blas_threads() == 3
            assert blas_threads() == 1
        with limit_threads(2):
            assert blas_threads() == 2
            with one_thread(), threads_for_order(LARGE):
                assert blas_threads() == 2
        assert blas_threads() == 3
    assert blas_threads() == 4


def test_limit_never_adds_threads():
    with limit_threads(64):
        assert blas_threads() == 4
    with limit_threads(10**30):
        assert blas_threads() == 4


def test_own_pool_is_not_cut_by_the_limits_of_others():
    with one_thread(), ThreadPoolExecutor(1) as pool:
        assert blas_threads() == 1
        assert pool.submit(threads._n_threads).result() == 4


def test_errors_end_the_limit():
    for context in (one_thread(), limit_threads(1), threads_for_order(LARGE)):
        with pytest.raises(KeyError), context:
            raise KeyError
    assert blas_threads() == 4


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_overlapping_fits_are_those_of_one_after_the_other(n_jobs):
    X, y = load_iris(return_X_y=True)
    rows = [np.arange(start, 150, 3) for start in range(3)]

    def fit(number):
        return FrobMetric(n_jobs=n_jobs).fit(X[rows[number]], y[rows[number]]).components_

    expected = [fit(number) for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(fit, [0, 1, 2] * 4))
    assert blas_threads() == 4
    for number, components in enumerate(found):
        np.testing.assert_allclose(components, expected[number % 3], rtol=1e-9, atol=1e-12)
