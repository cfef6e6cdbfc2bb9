"""Fixtures for all tests."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy: scikit-learn skips a check without

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("FROBMETRIC_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"needs the data folder (set FROBMETRIC_DATA; looked at {folder})")
    return folder
