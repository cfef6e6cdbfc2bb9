"""Samples and labels in shards, wherever an engine has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .vectors import Sharded


class ShardedTable(NamedTuple):
    """Samples and labels in shards, and names of the features if they have names.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from frobmetric.backends import RowFile, open_shards
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples.npy"
    >>> np.save(path, np.eye(4))
    >>> table = open_shards(RowFile(path), [0, 1, 0, 1])
    >>> len(table.X), table.feature_names is None
    (4, True)
    """

    X: Sharded
    y: Sharded
    feature_names: list[str] | None = None


def split_rows(y: Any, sizes: list[int]) -> list[np.ndarray]:
    """Return the labels of each shard."""
    y = np.asarray(y)
    if y.shape != (sum(sizes),):
        raise ValueError(
            f"y has the shape {y.shape}; expected one label for each of the {sum(sizes)} samples"
        )
    return np.split(y, np.cumsum(sizes)[:-1])
