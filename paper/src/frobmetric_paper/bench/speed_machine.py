"""Rows of the speed table about memory, the first call, and the floor that hardware sets."""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from .speed_bench import posed
from .speed_measure import Line, at_most, best_of, timed

CHILD = Path(__file__).with_name("speed_child.py")
GB = 1e9


def _child(*arguments, **environment):
    """What `speed_child.py` prints, in a process of its own."""
    run = subprocess.run(
        [sys.executable, CHILD, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    if run.returncode:
        raise RuntimeError(f"speed_child.py {' '.join(map(str, arguments))}: {run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def memory(bench):
    """The peak of a fresh process that mines and solves."""
    found = _child("memory", 100_000, 164)
    ratio = found["peak"] / GB
    data = found["data"] / GB
    return [
        Line(
            f"memory: n = 100,000, D = 164, {found['n_triplets']:,} triplets mined exactly, C = 1e4",
            f"{ratio:.2f} GB",
            f"X itself {data:.2f}, imports {found['imports'] / GB:.2f}, mining "
            f"{found['mining'] / GB:.2f}; n² {8e10 / GB:.0f}, m·D {900_000 * 164 * 8 / GB:.1f} GB",
            ratio,
            False,
            at_most(2),
            True,
            found["gap"],
            found,
        )
    ], None


def cold_start(bench):
    """The first fit of a process: with nothing compiled, with compiled kernels on disk, warm."""
    with tempfile.TemporaryDirectory() as cache:
        first, later = (_child("cold", bench.folder, NUMBA_CACHE_DIR=cache) for _ in range(2))
    text = "first fit on USPS (C = 1e4), mining included"
    return [
        Line(
            f"{text}, nothing compiled before",
            f"{first['first']:.3g} s",
            f"warm {first['second']:.3g} s",
            first["first"] / first["second"],
            detail=first,
        ),
        Line(
            f"{text}, kernels compiled by an earlier process",
            f"{later['first']:.3g} s",
            f"warm {later['second']:.3g} s; import {later['import']:.3g} s",
            later["first"] / later["second"],
            detail=later,
        ),
    ], None


def floor(bench):
    """One evaluation of the dual against what its arithmetic and its memory traffic must take."""
    lines = []
    for name, C in (("usps", 1e4), ("mnist", 1e5)):
        problem = posed(*bench.triplets(name), C)
        u = problem.loss.upper / 2
        u[np.random.default_rng(0).random(len(u)) < 0.8] = 0.0
        found = best_of(lambda problem=problem, u=u: problem.evaluate(u), 5)
        flops, moved = _work(
            *problem.constraints.shape, len(bench.scaled(name)), found.result.point.rank
        )
        gemm = _gemm_speed(*bench.scaled(name).shape, bench.threads)
        stream = _stream_speed(bench.threads)
        least = max(flops / gemm, moved / stream)
        lines.append(
            Line(
                f"one evaluation, {name}: {flops / 1e9:.2f} GFlop, {moved / 1e9:.3f} GB",
                f"{found.seconds * 1e3:.3g} ms",
                f"floor {least * 1e3:.3g} ms ({gemm / 1e9:.0f} GFlop/s, {stream / 1e9:.1f} GB/s)",
                found.seconds / least,
                detail={
                    "flops": flops,
                    "bytes": moved,
                    "gemm": gemm,
                    "stream": stream,
                    "rank": found.result.point.rank,
                },
            )
        )
    return lines, lambda: problem.evaluate(u)


def _work(m, D, n, rank):
    """Least operations and bytes of `evaluate` with 3 + 3 neighbours, X and u read from memory."""
    pairs = 6 * n
    adjoint = 2 * pairs * D + 2 * n * D * D  # W X, then X.T (W X)
    projection = 10 * D**3
    forward = 2 * n * D * rank + 3 * pairs * rank
    moved = 8 * (2 * n * D + pairs + 2 * m)  # X for each of the two, the lists, u and the margins
    return adjoint + projection + forward, moved


def _gemm_speed(n, D, threads):
    """Operations per second of the largest product in an evaluation, on this many cores.

    Threads of BLAS wait for each other, so on a busy machine one core's speed says more.
    """
    A, B = np.random.default_rng(0).random((2, n, D))
    fastest = {}
    for count in (1, threads):
        with threadpool_limits(count):
            fastest[count] = min(timed(lambda: A.T @ B)[0] for _ in range(10))
    return 2 * n * D * D * max(1 / fastest[threads], threads / fastest[1])


def _stream_speed(threads, size=1 << 25):
    """Bytes per second that all threads together read and write."""
    source, target = np.ones(size), np.empty(size)
    step = -(-size // threads)
    slices = [slice(start, start + step) for start in range(0, size, step)]
    with ThreadPoolExecutor(threads) as pool:

        def copy():
            list(pool.map(lambda s: np.copyto(target[s], source[s]), slices))

        return 2 * 8 * size / min(timed(copy)[0] for _ in range(5))
