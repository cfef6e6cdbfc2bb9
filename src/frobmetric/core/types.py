"""Names of the arrays that the mathematics is written in."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = Array
#: Element of the space of a cone: (n, n) for PSD, flat for a product of blocks.
Symmetric: TypeAlias = Array
#: Row numbers of the data.
Index: TypeAlias = NDArray[np.intp]
#: Increasing row numbers of constraints.
Rows: TypeAlias = Index
#: Data, one sample a row: a dense array or a CSR matrix.
Data: TypeAlias = Any
