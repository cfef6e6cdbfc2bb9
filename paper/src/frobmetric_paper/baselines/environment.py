"""Environments of baselines that need packages which the project must not have."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass

from ..harness.worker import ProgramFailedError
from .base import SETUP, cache_folder


@dataclass(frozen=True)
class Environment:
    """A Python environment in the cache folder, made from the package index."""

    name: str  # of the folder, and in messages
    requirements: tuple[str, ...]

    @property
    def folder(self):
        """Folder of the environment."""
        return cache_folder() / self.name

    def python(self):
        """Return the path of the interpreter."""
        return self.folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def missing(self):
        """Return the reason why the environment cannot be used; empty if it can."""
        is_done = self.python().exists() and self._marker.exists()
        return "" if is_done else f"{self.name} has no environment yet; {SETUP} makes it"

    def install(self):
        """Make the environment from the package index, unless it exists."""
        if not self.missing():
            return
        venv.create(self.folder, with_pip=True)
        run = subprocess.run(
            [self.python(), "-m", "pip", "install", "--quiet", *self.requirements],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            packages = ", ".join(self.requirements)
            raise ProgramFailedError(f"pip could not install {packages}: {run.stderr[-2000:]}")
        self._marker.touch()

    @property
    def _marker(self):
        """File that tells a finished environment from an interrupted installation."""
        return self.folder / "installed"
