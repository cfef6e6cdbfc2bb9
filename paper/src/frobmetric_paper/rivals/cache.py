"""Where compiled drivers and environments of rivals are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder():
    """`FROBMETRIC_CACHE`, or a folder of the user's cache."""
    given = os.environ.get("FROBMETRIC_CACHE")
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "frobmetric"
