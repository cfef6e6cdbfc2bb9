"""dlib's vector_normalizer_frobmetric, the other implementation of the paper's method.

Its `train` maximises sum_r u_r - |(S)_+|^2 / 2 over 0 <= u_r <= C / m from u = 0, by L-BFGS with a
box and 10 pairs, until no free component of the gradient exceeds eps = 0.1 (its default) or 5,000
steps are made. That is the dual of P3 as frobmetric has it, on the points as they are given: unlike
dlib's other normalisers it neither whitens nor scales, and the mean that it subtracts only shifts
the mapped points. The prior is off, as by default. So frobmetric can evaluate its matrix.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

from ..harness.worker import ProgramFailedError, Target
from .base import MetricBaseline, cache_folder

DRIVER = Path(__file__).with_name("dlib_driver.cpp")
EPSILON = 0.1
#: Debian's dlib is configured for BLAS and LAPACK; the names are given in case another is not.
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-DDLIB_USE_BLAS=", "-DDLIB_USE_LAPACK=")
#: Flags of each build. Nobody ships -ffast-math: it lets g++ vectorise dlib's sums of products.
BUILDS = {"learn": FLAGS, "learn_fast_math": (*FLAGS, "-ffast-math")}
LIBRARIES = ("-ldlib", "-lopenblas")
PACKAGES = "g++, dlib and OpenBLAS: apt-get install g++ libdlib-dev libopenblas-dev"
_HEADERS = """
#if !__has_include(<dlib/statistics/vector_normalizer_frobmetric.h>)
#error
#elif !__has_include(<openblas_config.h>)
#error
#endif
"""


def missing():
    """Return the reason why the driver cannot be compiled here; empty if it can."""
    if shutil.which("g++") is None:
        return f"there is no g++. It needs {PACKAGES}"
    test = subprocess.run(
        ["g++", "-E", "-x", "c++", "-"], input=_HEADERS, text=True, capture_output=True, check=False
    )
    return f"headers are absent. It needs {PACKAGES}" if test.returncode else ""


def build(name):
    """Return the compiled driver, from the cache if its source and flags have not changed."""
    flags = BUILDS[name]
    key = hashlib.sha256(DRIVER.read_bytes() + " ".join(flags).encode()).hexdigest()[:16]
    program = cache_folder() / f"dlib-{key}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_name(f"{program.name}.{os.getpid()}")
        command = ["g++", *flags, DRIVER, "-o", unfinished, *LIBRARIES]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ProgramFailedError(f"g++ could not compile {DRIVER.name}: {run.stderr[-2000:]}")
        unfinished.replace(program)
    return program


#: Workers call it before the first task.
warm_up = build


def learn(task):
    """Learn by dlib, compiled as usual."""
    return _learn(task, "learn")


def learn_fast_math(task):
    """Learn by dlib, compiled with -ffast-math."""
    return _learn(task, "learn_fast_math")


def _learn(task, name):
    folder, sizes = task["folder"], (*task["X"].shape, len(task["triplets"]))
    numbers = (*sizes, repr(float(task["parameters"]["C"])), EPSILON)
    subprocess.run([build(name), folder, *map(str, numbers)], check=True)
    detail = json.loads(Path(folder, "detail.json").read_text())
    return {"L": np.load(Path(folder, "L.npy"), allow_pickle=False)}, detail


def _baseline(name, function):
    return MetricBaseline(
        name=name,
        target=Target(f"{__name__}:{function}"),
        learns_from="triplets",
        required=("C",),
        missing=missing,
        install=lambda: missing() or build(function),
    )


BASELINES = (_baseline("dlib", "learn"), _baseline("dlib_fast_math", "learn_fast_math"))
