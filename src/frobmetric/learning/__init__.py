"""Samples and options become a learned map: coordinates, triplets, problem, solution."""

from .triplets import mine_triplets, triplets_from_pairs

__all__ = ["mine_triplets", "triplets_from_pairs"]
