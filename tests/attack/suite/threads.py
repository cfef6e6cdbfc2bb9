"""Threads, forks and repeated fits: the same bits, BLAS threads given back, memory that stays."""

from __future__ import annotations

import gc
import os
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from frobmetric import BoostMetric, FrobMetric, TripletFrobMetric
from frobmetric.runtime.environment import limit_threads

from . import Attack, Findings, choose
from .isolation import call, resident

#: Bytes by which memory may grow from the first half of many fits to the second.
GROWTH = 16 << 20
#: Seconds after which a fork counts as hanging, and for many fits.
LATE, HOUR = 300.0, 3600.0
#: Fits of one run over which memory is measured.
FITS = 500


def blas_threads():
    """Return the numbers of threads of the BLAS libraries."""
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def make_fit(rng):
    """Return a function that fits a small metric and returns the bytes of its answer."""
    n, d = int(rng.integers(20, 60)), int(rng.integers(2, 30))
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + y[:, None]
    options = {"n_jobs": choose(rng, [None, 1, 2])}
    if (kind := choose(rng, [FrobMetric, BoostMetric, TripletFrobMetric])) is TripletFrobMetric:
        tuples = X[rng.permuted(np.tile(np.arange(n), (40, 1)), axis=1)[:, :3]]
        return lambda: kind(C=10.0, **options).fit(tuples).components_.tobytes()
    options["n_passes"] = int(choose(rng, [1, 2]))
    return lambda: kind(**options).fit(X, y).components_.tobytes()


def overlapping(rng):
    """Fit in several threads at once, some of which fail; return None, or what is wrong."""
    fits = [make_fit(rng) for _ in range(3)]
    expected, before = [fit() for fit in fits], blas_threads()
    order = rng.permutation(np.repeat(np.arange(3), 4))

    def work(number):
        if number == order[0]:
            try:
                with limit_threads(1):
                    raise KeyError(number)
            except KeyError:
                pass
        return fits[number]()

    with ThreadPoolExecutor(int(rng.integers(2, 6))) as pool:
        found = list(pool.map(work, order.tolist()))
    if blas_threads() != before:
        return f"BLAS has {blas_threads()} threads, and had {before}"
    different = sum(a != expected[number] for a, number in zip(found, order, strict=True))
    return f"{different} of {len(order)} answers have other bits" if different else None


def repeated(rng):
    """Fit twice in a row, and in another thread; return None, or what is wrong."""
    fit = make_fit(rng)
    answers = [fit(), fit()]
    thread = threading.Thread(target=lambda: answers.append(fit()))
    thread.start()
    thread.join()
    return None if len(set(answers)) == 1 else "a repeated fit has other bits"


def forked(rng):
    """Fit in a fork, also while another thread fits; return None, or what is wrong."""
    fit = make_fit(rng)
    expected = fit()
    is_busy = rng.random() < 0.5
    stop = threading.Event()

    def keep_fitting():
        while not stop.is_set():
            fit()

    thread = threading.Thread(target=keep_fitting)
    if is_busy:
        thread.start()
    try:
        ending = call(lambda: os.write(1, fit().hex().encode()), LATE)
    finally:
        stop.set()
        if is_busy:
            thread.join()
    if ending.is_late:
        return f"a fork hangs{', of a process that is fitting' if is_busy else ''}"
    if ending.code or ending.output != expected.hex():
        return f"a fork ended by code {ending.code} or has other bits: {ending.errors[-200:]}"
    return None


def pickled(rng):
    """Copy a fitted metric by pickle, as processes do; return None, or what is wrong."""
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 3)) + y[:, None]
    metric = FrobMetric(n_passes=1, keep_dual=True).fit(X, y)
    again = pickle.loads(pickle.dumps(metric))
    same = again.transform(X).tobytes() == metric.transform(X).tobytes()
    return None if same and again.certify(X, y) == metric.certify(X, y) else "a copy differs"


def growth(n_fits, seed):
    """Return the bytes by which memory grew from the first half of so many fits to the second.

    Every second five of them are in new threads, two at once. BLAS must keep its threads.
    """
    rng = np.random.default_rng(seed)
    fits = [make_fit(rng) for _ in range(5)]
    sizes, before = [], blas_threads()
    for number in range(n_fits // 5):
        if number % 2:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda fit: fit(), fits))
        else:
            for fit in fits:
                fit()
        gc.collect()
        sizes.append(resident())
        if blas_threads() != before:
            raise RuntimeError(f"BLAS has {blas_threads()} threads, and had {before}")
    half = len(sizes) // 2
    return max(sizes[half:]) - max(sizes[:half])


KINDS = {"overlapping": overlapping, "repeated": repeated, "forked": forked, "pickled": pickled}


def attack_threads(count, seed):
    """Return what threads, forks and repeated fits do."""
    found = Findings()
    with warnings.catch_warnings(), threadpool_limits(2, user_api="blas"):
        warnings.simplefilter("ignore")
        before = blas_threads()
        for number in range(count):
            rng = np.random.default_rng([seed, number])  # each try can be repeated alone
            kind = choose(rng, sorted(KINDS))
            wrong = KINDS[kind](rng)
            if blas_threads() != before:
                wrong = f"BLAS has {blas_threads()} threads, and had {before}"
            if wrong is None:
                found.add(kind, "as it should be")
            else:
                found.add_defect(kind, wrong, f"attack_threads(..., seed={seed}), number {number}")
        _measure_growth(found, min(FITS, 5 * count), seed)
    return found


def _measure_growth(found, n_fits, seed):
    """Add the growth of memory over many fits, in a process of its own."""
    ending = call(lambda: os.write(1, str(growth(n_fits, seed)).encode()), HOUR)
    if ending.code:
        found.add_defect("growth", ending.errors[-300:], f"growth({n_fits}, {seed})")
        return
    grown = int(ending.output)
    found.notes = (
        f"memory grew by {grown / 1e6:.1f} MB over the second half of {n_fits} fits, half of them "
        "in threads"
    )
    if grown > GROWTH:
        found.add_defect("growth", found.notes, f"growth({n_fits}, {seed})")
    else:
        found.add("growth", "no growth")


ATTACKS = [Attack("threads", attack_threads, short=8, long=100)]
