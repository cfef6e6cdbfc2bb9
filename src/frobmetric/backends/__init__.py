"""Other homes for the data: shards in files, and shards on the workers of a cluster."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..runtime.environment import require
from .files import RowFile, open_memmap
from .table import ShardedTable

__all__ = ["RowFile"]

#: Bytes from which on a memory-mapped array is taken in shards, and not read into memory.
LARGE = 1 << 30


def dask_backend() -> Any:
    """Return the module of the Dask engine, which needs an extra.

    Examples
    --------
    >>> import sys
    >>> from unittest.mock import patch
    >>> from frobmetric.backends import dask_backend
    >>> with patch.dict(sys.modules, {"distributed": None}):  # as if it were not installed
    ...     try:
    ...         dask_backend()
    ...     except ImportError as error:
    ...         print(error)
    this needs distributed; install it with: pip install 'frobmetric[dask]'
    """
    require("distributed", "dask")
    return import_module(".dask", __name__)


def is_collection(X: Any) -> bool:
    """Return whether X is a collection of Dask.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.backends import is_collection
    >>> is_collection(np.eye(3))
    False
    """
    return hasattr(X, "__dask_graph__")


def is_sharded(X: Any) -> bool:
    """Return whether a fit takes X in shards: collections of Dask, and large mapped files.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.backends import is_sharded
    >>> is_sharded(np.eye(3))
    False
    """
    is_mapped = isinstance(X, np.memmap) and X.nbytes >= LARGE and X.ndim == 2
    return is_collection(X) or isinstance(X, RowFile) or is_mapped


def open_shards(X: Any, y: Any) -> ShardedTable:
    """Return samples and labels in shards, where they are.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from frobmetric.backends import RowFile, open_shards
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples.npy"
    >>> np.save(path, np.eye(4))
    >>> open_shards(RowFile(path), [0, 1, 0, 1]).y.shape
    (4,)
    """
    if is_collection(X):
        return dask_backend().open_collection(X, y)
    return X.open(y) if isinstance(X, RowFile) else open_memmap(X, y)
