"""metric-learn in an environment of its own: its `fit` fails under scikit-learn 1.8 and newer."""

from __future__ import annotations

import subprocess
import sys
import venv

from .cache import cache_folder
from .in_python import command
from .rival import Rival, RivalFailed

REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.8", "numpy")
SETUP = "python -m frobmetric_paper.rivals.setup"


def metric_learn(name, class_name, **more):
    """The rival that is this class of metric-learn; `more` are further fields of it."""
    return Rival(
        name=name,
        learns_from="labels",
        needs=f"metric-learn with scikit-learn < 1.8; {SETUP} {name}",
        command=lambda task: command(
            "estimator", f"metric_learn:{class_name}", python=python_of_environment()
        )(task),
        stays=True,
        missing=missing,
        install=install,
        **more,
    )


def python_of_environment():
    folder = cache_folder() / "metric-learn"
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def missing():
    done = python_of_environment().exists() and _marker().exists()
    return "" if done else f"metric-learn has no environment yet; {SETUP} makes it"


def install():
    """Make the environment, from the package index, unless it is there."""
    if not missing():
        return
    venv.create(cache_folder() / "metric-learn", with_pip=True)
    run = subprocess.run(
        [python_of_environment(), "-m", "pip", "install", "--quiet", *REQUIREMENTS],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise RivalFailed(f"pip could not install {', '.join(REQUIREMENTS)}: {run.stderr[-2000:]}")
    _marker().touch()


def _marker():
    """Tells a finished environment from one whose installation was interrupted."""
    return cache_folder() / "metric-learn" / "installed"
