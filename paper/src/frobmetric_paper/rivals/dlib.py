"""dlib's vector_normalizer_frobmetric, the other implementation of the paper's method.

Its `train` maximises sum_r u_r - |(S)_+|^2 / 2 over 0 <= u_r <= C / m from u = 0, by L-BFGS with a
box and 10 pairs, until no free component of the gradient exceeds eps = 0.1 (its default) or 5,000
steps are made. That is the dual of P3 as frobmetric has it, on the points as they are given: unlike
dlib's other normalisers it neither whitens nor scales, and the mean that it subtracts only shifts
what it maps. The prior is off, as by default. So frobmetric's objective can judge its matrix.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from .cache import cache_folder
from .rival import Rival, RivalFailed

DRIVER = Path(__file__).with_name("dlib_driver.cpp")
EPSILON = 0.1
#: Debian's dlib is configured for BLAS and LAPACK; the names are given in case another is not.
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-DDLIB_USE_BLAS=", "-DDLIB_USE_LAPACK=")
LIBRARIES = ("-ldlib", "-lopenblas")
PACKAGES = "g++, dlib and OpenBLAS: apt-get install g++ libdlib-dev libopenblas-dev"
_HEADERS = """
#if !__has_include(<dlib/statistics/vector_normalizer_frobmetric.h>)
#error
#elif !__has_include(<openblas_config.h>)
#error
#endif
"""


def compiled_by(name, flags):
    """The rival that is dlib's class, compiled with these flags."""
    return Rival(
        name=name,
        learns_from="triplets",
        required=("C",),
        needs=PACKAGES,
        command=lambda task: [
            str(build(flags)),
            str(task.folder),
            str(task.n_samples),
            str(task.n_features),
            str(task.n_triplets),
            repr(float(task.parameters["C"])),
            str(EPSILON),
        ],
        missing=missing,
        install=lambda: missing() or build(flags),
    )


def missing():
    """Why the driver cannot be compiled here; empty if it can."""
    if shutil.which("g++") is None:
        return f"there is no g++. It needs {PACKAGES}"
    test = subprocess.run(
        ["g++", "-E", "-x", "c++", "-"], input=_HEADERS, text=True, capture_output=True, check=False
    )
    return f"headers are absent. It needs {PACKAGES}" if test.returncode else ""


def build(flags):
    """The compiled driver, from the cache if its source and flags have not changed."""
    key = hashlib.sha256(DRIVER.read_bytes() + " ".join(flags).encode()).hexdigest()[:16]
    program = cache_folder() / f"dlib-{key}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_name(f"{program.name}.{os.getpid()}")
        run = subprocess.run(
            ["g++", *flags, DRIVER, "-o", unfinished, *LIBRARIES],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            raise RivalFailed(f"g++ could not compile {DRIVER.name}: {run.stderr[-2000:]}")
        unfinished.replace(program)
    return program


RIVAL = compiled_by("dlib", FLAGS)
