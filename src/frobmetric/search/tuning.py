"""Tuned numbers of the exact search: sizes and limits that change its speed, and no answer."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.kernels import ROWS


@dataclass(frozen=True)
class Tuning:
    """Sizes and limits; `paper/results/neighbors.md` has measurements of the search.

    Attributes
    ----------
    few_distances : int
        Number of distances up to which all of them are computed.
    spare : int
        Number of additional neighbours that a tree finds: ties among this many need no second
        search.
    n_queries : int
        Number of queries of a tree between two reports of progress.
    n_points : int
        Number of points whose products are computed at a time.
    n_more : int
        Number of additional points whose distances are computed to bound the distance of the last
        neighbour.
    many : int
        Number of groups of candidates above which a query is searched again in more detail.
    n_held : int
        Number of products that a thread holds, as one block.
    n_fused : int
        Number of queries that compiled loops take at a time, a multiple of `core.kernels.ROWS`.
    large : float
        Number of operations from which on compiled loops are worth their import.
    fewest : int
        There are at least this many times as many groups as are looked at first.
    trial : int
        Number of queries after which a sketch that settles too few of them is given up.
    """

    few_distances: int = 1 << 15
    spare: int = 8
    n_queries: int = 1 << 13
    n_points: int = 1 << 16
    n_more: int = 6
    many: int = 256
    n_held: int = 6 << 20
    n_fused: int = 40 * ROWS
    large: float = 1e9
    fewest: int = 4
    trial: int = 256


#: Numbers that are used where none are given.
TUNING = Tuning()
